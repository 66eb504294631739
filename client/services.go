package client

import (
	"context"
	"fmt"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// ValueID names the value of a node, to be read.
func ValueID(node ua.NodeID) ua.ReadValueID {
	return ua.ReadValueID{NodeID: node, AttributeID: ua.AttributeIDValue}
}

// Read reads attributes of nodes, with both timestamps (Part 4, 5.11.2). The
// results are in the order of the nodes; a node that cannot be read has a Bad
// status in its result. Servers limit the number of nodes in one call.
func (c *Client) Read(ctx context.Context, nodes ...ua.ReadValueID) ([]ua.DataValue, error) {
	req := ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturnBoth, NodesToRead: nodes}
	var resp ua.ReadResponse
	if err := c.Do(ctx, &req, &resp); err != nil {
		return nil, err
	}
	return resp.Results, sameCount("Read", len(nodes), len(resp.Results))
}

// ReadValues reads the values of nodes; see Read.
func (c *Client) ReadValues(ctx context.Context, nodes ...ua.NodeID) ([]ua.DataValue, error) {
	list := make([]ua.ReadValueID, len(nodes))
	for i, n := range nodes {
		list[i] = ValueID(n)
	}
	return c.Read(ctx, list...)
}

// ReadValue reads the value of one node. A Bad status of the value is an error
// as well; the DataValue is returned with it.
func (c *Client) ReadValue(ctx context.Context, node ua.NodeID) (ua.DataValue, error) {
	results, err := c.Read(ctx, ValueID(node))
	if err != nil {
		return ua.DataValue{}, err
	}
	if err := results[0].Status.Err(); err != nil {
		return results[0], fmt.Errorf("client: Read %v: %w", node, ofContext(ctx, err))
	}
	return results[0], nil
}

// Write writes attributes of nodes (Part 4, 5.11.4) and returns a status for
// each.
func (c *Client) Write(ctx context.Context, values ...ua.WriteValue) ([]ua.StatusCode, error) {
	req := ua.WriteRequest{NodesToWrite: values}
	var resp ua.WriteResponse
	if err := c.Do(ctx, &req, &resp); err != nil {
		return nil, err
	}
	return resp.Results, sameCount("Write", len(values), len(resp.Results))
}

// WriteValue writes the value of one node. The value is a ua.DataValue, a
// ua.Variant or anything that ua.ValueOf takes; its type must be that of the
// node, since OPC UA does not convert. Without a DataValue neither status nor
// timestamps are written.
func (c *Client) WriteValue(ctx context.Context, node ua.NodeID, value any) error {
	dv, ok := value.(ua.DataValue)
	if !ok {
		v, err := toVariant(value)
		if err != nil {
			return wrap("Write", err)
		}
		dv.Value = v
	}
	results, err := c.Write(ctx, ua.WriteValue{NodeID: node, AttributeID: ua.AttributeIDValue, Value: dv})
	if err != nil {
		return err
	}
	if err := results[0].Err(); err != nil {
		return fmt.Errorf("client: Write %v: %w", node, ofContext(ctx, err))
	}
	return nil
}

func toVariant(value any) (ua.Variant, error) {
	if v, ok := value.(ua.Variant); ok {
		return v, nil
	}
	return ua.ValueOf(value)
}

// CallError is the Bad result of a method.
type CallError struct {
	Method ua.NodeID
	Status ua.StatusCode
	// Arguments has a status for each argument if Status is
	// BadInvalidArgument; else it may be empty.
	Arguments []ua.StatusCode
}

func (e *CallError) Error() string {
	if len(e.Arguments) == 0 {
		return fmt.Sprintf("client: Call %v: %v", e.Method, e.Status)
	}
	return fmt.Sprintf("client: Call %v: %v %v", e.Method, e.Status, e.Arguments)
}

// Unwrap returns the status.
func (e *CallError) Unwrap() error { return e.Status }

// Call calls a method of an object (Part 4, 5.12.2) and returns its results.
// Arguments are ua.Variants or anything that ua.ValueOf takes. A Bad result is
// a *CallError.
func (c *Client) Call(ctx context.Context, object, method ua.NodeID, args ...any) ([]ua.Variant, error) {
	inputs := make([]ua.Variant, len(args))
	for i, arg := range args {
		v, err := toVariant(arg)
		if err != nil {
			return nil, wrap(fmt.Sprintf("Call: argument %d", i), err)
		}
		inputs[i] = v
	}
	req := ua.CallRequest{MethodsToCall: []ua.CallMethodRequest{{ObjectID: object, MethodID: method, InputArguments: inputs}}}
	var resp ua.CallResponse
	if err := c.Do(ctx, &req, &resp); err != nil {
		return nil, err
	}
	if err := sameCount("Call", 1, len(resp.Results)); err != nil {
		return nil, err
	}
	r := &resp.Results[0]
	if r.StatusCode.IsBad() {
		return nil, ofContext(ctx, &CallError{Method: method, Status: r.StatusCode, Arguments: r.InputArgumentResults})
	}
	return r.OutputArguments, nil
}

// Translate follows browse names from a node, along hierarchical references,
// and returns the node at the end (Part 4, 5.9.4).
func (c *Client) Translate(ctx context.Context, start ua.NodeID, names ...ua.QualifiedName) (ua.NodeID, error) {
	path := ua.BrowsePath{StartingNode: start}
	for _, name := range names {
		path.RelativePath.Elements = append(path.RelativePath.Elements, ua.RelativePathElement{
			ReferenceTypeID: ua.NumericID(0, id.HierarchicalReferences),
			IncludeSubtypes: true,
			TargetName:      name,
		})
	}
	results, err := c.TranslatePaths(ctx, path)
	if err != nil {
		return ua.NodeID{}, err
	}
	r := &results[0]
	if err := r.StatusCode.Err(); err != nil {
		return ua.NodeID{}, wrap("Translate", err)
	}
	for _, t := range r.Targets {
		if t.RemainingPathIndex == 1<<32-1 && t.TargetID.ServerIndex == 0 && t.TargetID.NamespaceURI == "" {
			return t.TargetID.NodeID, nil
		}
	}
	return ua.NodeID{}, wrap("Translate", ua.BadNoMatch)
}

// TranslatePaths translates browse paths to nodes (Part 4, 5.9.4).
func (c *Client) TranslatePaths(ctx context.Context, paths ...ua.BrowsePath) ([]ua.BrowsePathResult, error) {
	req := ua.TranslateBrowsePathsToNodeIDsRequest{BrowsePaths: paths}
	var resp ua.TranslateBrowsePathsToNodeIDsResponse
	if err := c.Do(ctx, &req, &resp); err != nil {
		return nil, err
	}
	return resp.Results, sameCount("TranslateBrowsePathsToNodeIds", len(paths), len(resp.Results))
}

// RegisterNodes asks the server to prepare for frequent access to nodes and
// returns the ids to use instead (Part 4, 5.9.5). They are good for this
// session only, see [Replaced].
func (c *Client) RegisterNodes(ctx context.Context, nodes ...ua.NodeID) ([]ua.NodeID, error) {
	req := ua.RegisterNodesRequest{NodesToRegister: nodes}
	var resp ua.RegisterNodesResponse
	if err := c.Do(ctx, &req, &resp); err != nil {
		return nil, err
	}
	return resp.RegisteredNodeIDs, sameCount("RegisterNodes", len(nodes), len(resp.RegisteredNodeIDs))
}

// UnregisterNodes undoes RegisterNodes.
func (c *Client) UnregisterNodes(ctx context.Context, nodes ...ua.NodeID) error {
	req := ua.UnregisterNodesRequest{NodesToUnregister: nodes}
	var resp ua.UnregisterNodesResponse
	return c.Do(ctx, &req, &resp)
}

// NamespaceIndex returns the index that the server uses for a namespace.
func (c *Client) NamespaceIndex(ctx context.Context, uri string) (uint16, error) {
	dv, err := c.ReadValue(ctx, ua.NumericID(0, id.Server_NamespaceArray))
	if err != nil {
		return 0, err
	}
	uris, _ := ua.As[[]string](dv.Value)
	for i, u := range uris {
		if u == uri {
			return uint16(i), nil
		}
	}
	return 0, fmt.Errorf("client: server has no namespace %q: %w", uri, ua.BadNotFound)
}

// sameCount checks that there is a result for each operation.
func sameCount(service string, want, got int) error {
	if want != got {
		return fmt.Errorf("client: %s: %d results for %d operations: %w", service, got, want, ua.BadUnknownResponse)
	}
	return nil
}
