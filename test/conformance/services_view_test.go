package conformance

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

var (
	objects      = ua.NumericID(0, id.ObjectsFolder)
	hierarchical = ua.NumericID(0, id.HierarchicalReferences)
	unknownNode  = ua.NumericID(0, 999_999)
)

// Each operation of a Browse has a status of its own (Part 4, 5.9.2.4).
func TestBrowseStatusCodes(t *testing.T) {
	forward := ua.BrowseDirectionForward
	rows := []struct {
		what string
		op   ua.BrowseDescription
		want ua.StatusCode
	}{
		{"all", ua.BrowseDescription{NodeID: objects, BrowseDirection: ua.BrowseDirectionBoth}, ua.Good},
		{"unknown node", ua.BrowseDescription{NodeID: unknownNode, BrowseDirection: forward}, ua.BadNodeIDUnknown},
		{"null node", ua.BrowseDescription{BrowseDirection: forward}, ua.BadNodeIDUnknown},
		{"direction 3", ua.BrowseDescription{NodeID: objects, BrowseDirection: 3}, ua.BadBrowseDirectionInvalid},
		{"direction -1", ua.BrowseDescription{NodeID: objects, BrowseDirection: -1}, ua.BadBrowseDirectionInvalid},
		{"direction 2^31-1", ua.BrowseDescription{NodeID: objects, BrowseDirection: math.MaxInt32}, ua.BadBrowseDirectionInvalid},
		{"unknown reference type", ua.BrowseDescription{NodeID: objects, ReferenceTypeID: unknownNode}, ua.BadReferenceTypeIDInvalid},
		{"an object as reference type", ua.BrowseDescription{NodeID: objects, ReferenceTypeID: objects}, ua.BadReferenceTypeIDInvalid},
		{"a data type as reference type", ua.BrowseDescription{NodeID: objects, ReferenceTypeID: ua.NumericID(0, id.Int32)}, ua.BadReferenceTypeIDInvalid},
		{"a reference type", ua.BrowseDescription{NodeID: objects, ReferenceTypeID: hierarchical, IncludeSubtypes: true}, ua.Good},
		{"unknown classes", ua.BrowseDescription{NodeID: objects, NodeClassMask: 0xFFFF_FF00}, ua.Good},
	}
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		req := &ua.BrowseRequest{}
		for _, row := range rows {
			req.NodesToBrowse = append(req.NodesToBrowse, row.op)
		}
		for i, r := range rawpeer.Do[*ua.BrowseResponse](s, req).Results {
			expect(t, rows[i].what, r.StatusCode, rows[i].want)
			if rows[i].want != ua.Good && len(r.References) > 0 {
				t.Errorf("%s: %d references", rows[i].what, len(r.References))
			}
		}
		for what, row := range map[string]struct {
			view ua.ViewDescription
			want ua.StatusCode
		}{
			"unknown view":          {ua.ViewDescription{ViewID: unknownNode}, ua.BadViewIDUnknown},
			"an object as view":     {ua.ViewDescription{ViewID: objects}, ua.BadViewIDUnknown},
			"a view":                {ua.ViewDescription{ViewID: w.node("view")}, ua.Good},
			"a view of two moments": {ua.ViewDescription{ViewID: w.node("view"), Timestamp: 1, ViewVersion: 1}, ua.BadViewParameterMismatch},
		} {
			if w.Space().Node(w.node("view")) == nil {
				w.add("view", addrspace.NodeSpec{Class: ua.NodeClassView, Parent: ua.NumericID(0, id.ViewsFolder)})
			}
			expect(t, what, s.Result(&ua.BrowseRequest{View: row.view, NodesToBrowse: req.NodesToBrowse[:1]}), row.want)
		}
	})
}

// Browse filters by direction, type and class, and fills in only what the result
// mask asks for (Part 4, 5.9.2.2).
func TestBrowseFilters(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		w.add("object", addrspace.NodeSpec{Class: ua.NodeClassObject})
		w.variable("variable", int32(1))
		count := func(op ua.BrowseDescription) []ua.ReferenceDescription {
			t.Helper()
			if op.NodeID.IsNull() {
				op.NodeID = objects
			}
			r := rawpeer.Do[*ua.BrowseResponse](s, &ua.BrowseRequest{NodesToBrowse: []ua.BrowseDescription{op}}).Results[0]
			expect(t, "Browse", r.StatusCode, ua.Good)
			return r.References
		}
		all := uint32(ua.BrowseResultMaskAll)
		both := count(ua.BrowseDescription{BrowseDirection: ua.BrowseDirectionBoth, ResultMask: all})
		forward := count(ua.BrowseDescription{BrowseDirection: ua.BrowseDirectionForward, ResultMask: all})
		inverse := count(ua.BrowseDescription{BrowseDirection: ua.BrowseDirectionInverse, ResultMask: all})
		if len(both) != len(forward)+len(inverse) || len(inverse) == 0 || len(forward) < 3 {
			t.Errorf("%d both, %d forward, %d inverse", len(both), len(forward), len(inverse))
		}
		for _, ref := range inverse {
			if ref.IsForward {
				t.Errorf("forward: %+v", ref)
			}
		}
		if n := len(count(ua.BrowseDescription{ReferenceTypeID: hierarchical})); n != 0 {
			t.Errorf("%d references of the abstract type alone", n)
		}
		if n := len(count(ua.BrowseDescription{ReferenceTypeID: ua.NumericID(0, id.HasTypeDefinition)})); n != 1 {
			t.Errorf("%d type definitions", n)
		}
		for _, ref := range count(ua.BrowseDescription{NodeClassMask: uint32(ua.NodeClassVariable), ResultMask: all}) {
			if ref.NodeClass != ua.NodeClassVariable {
				t.Errorf("class %v", ref.NodeClass)
			}
		}
		for _, ref := range count(ua.BrowseDescription{}) {
			if want := (ua.ReferenceDescription{NodeID: ref.NodeID}); ref != want {
				t.Errorf("fields that were not asked for: %+v", ref)
			}
		}
		for _, ref := range forward {
			if ref.BrowseName.Name == "variable" {
				want := ua.ReferenceDescription{
					ReferenceTypeID: ua.NumericID(0, id.Organizes), IsForward: true,
					NodeID: ua.ExpandedNodeID{NodeID: w.node("variable")}, BrowseName: ua.QualifiedName{NamespaceIndex: w.ns, Name: "variable"},
					DisplayName: ua.LocalizedText{Text: "variable"}, NodeClass: ua.NodeClassVariable,
					TypeDefinition: ua.ExpandedNodeID{NodeID: ua.NumericID(0, id.BaseDataVariableType)},
				}
				if ref != want {
					t.Errorf("%+v", ref)
				}
			}
		}
	})
}

// element is one step of a path in namespace 0.
func element(name string) ua.RelativePathElement {
	return ua.RelativePathElement{ReferenceTypeID: hierarchical, IncludeSubtypes: true, TargetName: ua.QualifiedName{Name: name}}
}

// Each path has a status of its own (Part 4, 5.9.4.4). Threat V4: paths that
// bounce forward and back used up stack and time.
func TestTranslateStatusCodes(t *testing.T) {
	path := func(start ua.NodeID, elements ...ua.RelativePathElement) ua.BrowsePath {
		return ua.BrowsePath{StartingNode: start, RelativePath: ua.RelativePath{Elements: elements}}
	}
	inverse := element("Objects")
	inverse.IsInverse = true
	noSubtypes := element("Server")
	noSubtypes.IncludeSubtypes = false
	unknownType := element("Server")
	unknownType.ReferenceTypeID = unknownNode
	anyType := ua.RelativePathElement{TargetName: ua.QualifiedName{Name: "Server"}}
	otherNamespace := element("Server")
	otherNamespace.TargetName.NamespaceIndex = 1
	var bounce []ua.RelativePathElement
	for range 50 {
		bounce = append(bounce, element("Server"), inverse)
	}
	rows := []struct {
		what string
		path ua.BrowsePath
		want ua.StatusCode
		ends []ua.NodeID
	}{
		{"one step", path(objects, element("Server")), ua.Good, []ua.NodeID{serverNode}},
		{"three steps", path(objects, element("Server"), element("ServerStatus"), element("State")), ua.Good, []ua.NodeID{ua.NumericID(0, id.Server_ServerStatus_State)}},
		{"backwards", path(serverNode, inverse), ua.Good, []ua.NodeID{objects}},
		{"any reference", path(objects, anyType), ua.Good, []ua.NodeID{serverNode}},
		{"unknown start", path(unknownNode, element("Server")), ua.BadNodeIDUnknown, nil},
		{"no elements", path(objects), ua.BadNothingToDo, nil},
		{"no such name", path(objects, element("Nobody")), ua.BadNoMatch, nil},
		{"no such name at the end", path(objects, element("Server"), element("Nobody")), ua.BadNoMatch, nil},
		{"another namespace", path(objects, otherNamespace), ua.BadNoMatch, nil},
		{"the abstract type alone", path(objects, noSubtypes), ua.BadNoMatch, nil},
		{"unknown reference type", path(objects, unknownType), ua.BadNoMatch, nil},
		{"no name in the middle", path(objects, element(""), element("ServerStatus")), ua.BadBrowseNameInvalid, nil},
		{"no name at the end", path(objects, element("Server"), element("")), ua.BadBrowseNameInvalid, nil},
		{"forward and back", path(objects, bounce...), ua.Good, []ua.NodeID{objects}},
		{"too long", path(objects, append(bounce, element("Server"))...), ua.BadTooManyOperations, nil},
		{
			"two targets", path(ua.StringID(2, "twins"), ua.RelativePathElement{TargetName: ua.QualifiedName{NamespaceIndex: 2, Name: "twin"}}), ua.Good,
			[]ua.NodeID{ua.StringID(2, "twin0"), ua.StringID(2, "twin1")},
		},
		{"too many targets", path(ua.StringID(2, "many"), ua.RelativePathElement{TargetName: ua.QualifiedName{NamespaceIndex: 2, Name: "twin"}}), ua.BadTooManyMatches, nil},
	}
	inTime(t, func(t *testing.T, w *world) {
		if w.ns != 2 {
			t.Fatalf("namespace %d", w.ns)
		}
		for parent, n := range map[string]int{"twins": 2, "many": 1001} {
			w.add(parent, addrspace.NodeSpec{Class: ua.NodeClassObject})
			for i := range n {
				name := fmt.Sprint("twin", i)
				if parent == "many" {
					name = "many" + name
				}
				_, err := w.Space().AddNode(addrspace.NodeSpec{
					Class: ua.NodeClassObject, ID: w.node(name), Parent: w.node(parent), BrowseName: ua.QualifiedName{NamespaceIndex: w.ns, Name: "twin"},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		s := w.session()
		req := &ua.TranslateBrowsePathsToNodeIDsRequest{}
		for _, row := range rows {
			req.BrowsePaths = append(req.BrowsePaths, row.path)
		}
		for i, r := range rawpeer.Do[*ua.TranslateBrowsePathsToNodeIDsResponse](s, req).Results {
			expect(t, rows[i].what, r.StatusCode, rows[i].want)
			var ends []ua.NodeID
			for _, target := range r.Targets {
				ends = append(ends, target.TargetID.NodeID)
				if target.RemainingPathIndex != math.MaxUint32 {
					t.Errorf("%s: remaining %d", rows[i].what, target.RemainingPathIndex)
				}
			}
			if !slices.Equal(ends, rows[i].ends) {
				t.Errorf("%s: %v", rows[i].what, ends)
			}
		}
	})
}

// RegisterNodes and UnregisterNodes: ids that were never registered are ignored,
// a session's number is bounded (Part 4, 5.9.5 and 5.9.6). Threat V15.
func TestRegisterNodes(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		register := func(n int) *ua.RegisterNodesRequest {
			return &ua.RegisterNodesRequest{NodesToRegister: slices.Repeat([]ua.NodeID{serverNode}, n)}
		}
		resp := rawpeer.Do[*ua.RegisterNodesResponse](s, register(3))
		if len(resp.RegisteredNodeIDs) != 3 {
			t.Fatalf("%v", resp.RegisteredNodeIDs)
		}
		for _, alias := range resp.RegisteredNodeIDs {
			if dv := rawpeer.Do[*ua.ReadResponse](s, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{{NodeID: alias, AttributeID: ua.AttributeIDNodeClass}}}).Results[0]; dv.Status != ua.Good {
				t.Errorf("reading by the registered id: %v", dv.Status)
			}
		}
		expect(t, "a null id", s.Result(&ua.RegisterNodesRequest{NodesToRegister: []ua.NodeID{{}}}), ua.BadNodeIDInvalid)
		expect(t, "too many in all", s.Result(register(8)), ua.BadTooManyOperations)
		expect(t, "unregistering unknown ones", s.Result(&ua.UnregisterNodesRequest{NodesToUnregister: []ua.NodeID{unknownNode, {}}}), ua.Good)
		expect(t, "unregistering", s.Result(&ua.UnregisterNodesRequest{NodesToUnregister: resp.RegisteredNodeIDs}), ua.Good)
		expect(t, "after that", s.Result(register(10)), ua.Good)
	}, func(c *uahive.Config) { c.Limits.Services.RegisteredNodes = 10 })
}
