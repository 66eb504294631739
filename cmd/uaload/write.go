package main

import (
	"context"
	"fmt"
	"io"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

// versions is the least number of different values that are written to a node.
// Two do for arrays, which take memory.
const versions = 8

func loadWrite(ctx context.Context, c *command, args []string, out io.Writer) error {
	f, chosen, err := valueCommand(c, args)
	if err != nil {
		return err
	}
	return f.run(ctx, c, out, chosen, "", writeWork)
}

// writeWork prepares Write requests with numbers of the type that the nodes
// have, a different one in each request, and sends the first to see that the
// server takes it.
func writeWork(f *valueFlags, ctx context.Context, c *client.Client, value ua.Variant) (*work, error) {
	lists := named(f.nodeRange, f.nodes)
	least := versions
	if value.IsArray() {
		least = 2
	}
	for n := len(lists); len(lists) < least && f.nodes <= preparedNodes/least; {
		lists = append(lists, lists[len(lists)%n])
	}
	var requests []*ua.WriteRequest
	for n, list := range lists {
		written, err := like(value, int64(n+1))
		if err != nil {
			return nil, err
		}
		r := new(ua.WriteRequest)
		for _, i := range list {
			r.NodesToWrite = append(r.NodesToWrite, ua.WriteValue{
				NodeID: f.at(i), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: written},
			})
		}
		requests = append(requests, r)
	}
	var first ua.WriteResponse
	if err := c.Do(ctx, requests[0], &first); err != nil {
		return nil, err
	}
	if err := checkWritten(first.Results, f.nodes); err != nil {
		return nil, err
	}
	prepared, err := prepare(requests)
	return &work{
		requests: prepared,
		verify: func(body []byte) error {
			var resp ua.WriteResponse
			if err := decode(body, &resp); err != nil {
				return err
			}
			return checkWritten(resp.Results, f.nodes)
		},
		check: func(body []byte, bad *tally) bool { return checkStatuses(body, f.nodes, bad) },
		after: func(ctx context.Context, c *client.Client) (string, error) {
			return readBack(ctx, c, requests)
		},
	}, err
}

func checkWritten(results []ua.StatusCode, nodes int) error {
	if err := sameCount(nodes, len(results)); err != nil {
		return err
	}
	for i, status := range results {
		if status.IsBad() {
			return fmt.Errorf("node %d of %d in a request cannot be written: %w", i+1, nodes, status)
		}
	}
	return nil
}

// readBack sees whether a node has one of the values that were written to it. It
// has not where others write to it as well, so that this is no error.
func readBack(ctx context.Context, c *client.Client, requests []*ua.WriteRequest) (note string, err error) {
	node := requests[0].NodesToWrite[0].NodeID
	dv, err := c.ReadValue(ctx, node)
	if err != nil {
		return "", err
	}
	for _, r := range requests {
		for i := range r.NodesToWrite {
			if w := &r.NodesToWrite[i]; w.NodeID == node && w.Value.Value.Equal(dv.Value) {
				return "", nil
			}
		}
	}
	return fmt.Sprintf("node %v has a value in the end that this load did not write: unless others write to it, the server has lost writes that it said are good", node), nil
}
