package addrspace

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// object adds a test object below parent (null: nowhere).
func object(t testing.TB, s *Space, name string, parent ua.NodeID) *Node {
	t.Helper()
	n, err := s.AddNode(NodeSpec{
		ID: ua.StringID(2, name), Class: ua.NodeClassObject,
		BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: name}, Parent: parent,
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

type half struct {
	typ, target ua.NodeID
	inverse     bool
}

func halves(n *Node) []half {
	var out []half
	for _, r := range n.References().All() {
		out = append(out, half{r.Type.id, r.Target.id, r.Inverse})
	}
	return out
}

// The model is a list per node, in the order of adding.
func TestReferencesFollowANaiveModel(t *testing.T) {
	types := []uint32{id.Organizes, id.HasComponent, id.HasEventSource, id.GeneratesEvent}
	rapid.Check(t, func(rt *rapid.T) {
		s := bareSpace(t)
		const nodes = 6
		ids := make([]ua.NodeID, nodes)
		model := map[ua.NodeID][]half{}
		for i := range ids {
			n := object(t, s, fmt.Sprintf("N%d", i), ua.NodeID{})
			ids[i] = n.id
			model[n.id] = halves(n)
		}
		remove := func(from ua.NodeID, h half) bool {
			i := slices.Index(model[from], h)
			if i >= 0 {
				model[from] = slices.Delete(model[from], i, i+1)
			}
			return i >= 0
		}
		steps := rapid.IntRange(1, 300).Draw(rt, "steps")
		for range steps {
			a := rapid.SampledFrom(ids).Draw(rt, "source")
			b := rapid.SampledFrom(ids).Draw(rt, "target")
			typ := ns0ID(rapid.SampledFrom(types).Draw(rt, "type"))
			forward, inverse := half{typ, b, false}, half{typ, a, true}
			if rapid.IntRange(0, 9).Draw(rt, "kind") < 6 {
				var want error
				switch {
				case a == b && s.IsSubtypeOf(typ, ns0ID(id.HierarchicalReferences)):
					want = ua.BadReferenceNotAllowed
				case slices.Contains(model[a], forward):
					want = ua.BadDuplicateReferenceNotAllowed
				default:
					if a == b {
						model[a] = append(model[a], forward, inverse)
					} else {
						model[a] = append(model[a], forward)
						model[b] = append(model[b], inverse)
					}
				}
				if err := s.AddReference(a, typ, b); !errors.Is(err, want) {
					rt.Fatalf("AddReference(%v, %v, %v) = %v, want %v", a, typ, b, err, want)
				}
			} else {
				var want error
				if remove(a, forward) {
					remove(b, inverse)
				} else {
					want = ua.BadNoMatch
				}
				if err := s.RemoveReference(a, typ, b); !errors.Is(err, want) {
					rt.Fatalf("RemoveReference(%v, %v, %v) = %v, want %v", a, typ, b, err, want)
				}
			}
		}
		for _, nodeID := range ids {
			if got := halves(s.Node(nodeID)); !slices.Equal(got, model[nodeID]) {
				rt.Fatalf("%v has %v, want %v", nodeID, got, model[nodeID])
			}
		}
		// Removing a node leaves nothing of it in the others.
		if err := s.RemoveNode(ids[0]); err != nil {
			rt.Fatal(err)
		}
		for _, nodeID := range ids[1:] {
			want := slices.DeleteFunc(slices.Clone(model[nodeID]), func(h half) bool { return h.target == ids[0] })
			if got := halves(s.Node(nodeID)); !slices.Equal(got, want) {
				rt.Fatalf("after removal %v has %v, want %v", nodeID, got, want)
			}
		}
		checkMirrors(rt, s)
	})
}

// checkMirrors verifies that the two halves of every reference know each other.
func checkMirrors(t interface{ Fatalf(string, ...any) }, s *Space) {
	for n := range s.index.table.Load().all() {
		dead := 0
		items := n.halves()
		for pos := range items {
			it := &items[pos]
			other := it.target.Load()
			if other == nil {
				dead++
				continue
			}
			back := &other.halves()[it.mirror]
			if back.target.Load() != n || back.mirror != uint32(pos) || back.meta != it.meta^1 {
				t.Fatalf("%v position %d: the other half at %v does not point back", n.id, pos, other.id)
			}
		}
		if dead != n.deadRefs() {
			t.Fatalf("%v counts %d removed references, has %d", n.id, n.deadRefs(), dead)
		}
		// What a Browse says of the node is what its parts say.
		var d description
		s.mu.Lock()
		d = s.describe(n, n.BrowseName(), n.DisplayName(), n.TypeDefinition())
		s.mu.Unlock()
		if d != n.description() {
			t.Fatalf("%v is described by %x, want %x", n.id, n.description(), d)
		}
	}
}

func TestNS0MirrorsAreConsistent(t *testing.T) { checkMirrors(t, newSpace(t)) }

func TestReferenceErrors(t *testing.T) {
	s := newSpace(t)
	a, b := object(t, s, "A", ua.NodeID{}).id, object(t, s, "B", ua.NodeID{}).id
	organizes, unknown := ns0ID(id.Organizes), ua.NumericID(2, 99999)
	for _, tt := range []struct {
		name                string
		source, typ, target ua.NodeID
		want                error
		wantRemove          error
	}{
		{"unknown source", unknown, organizes, b, ua.BadSourceNodeIDInvalid, ua.BadSourceNodeIDInvalid},
		{"unknown target", a, organizes, unknown, ua.BadTargetNodeIDInvalid, ua.BadTargetNodeIDInvalid},
		{"unknown type", a, unknown, b, ua.BadReferenceTypeIDInvalid, ua.BadReferenceTypeIDInvalid},
		{"type is no reference type", a, b, b, ua.BadReferenceTypeIDInvalid, ua.BadReferenceTypeIDInvalid},
		{"own parent", a, organizes, a, ua.BadReferenceNotAllowed, ua.BadNoMatch},
		{"subtype across classes", ns0ID(id.BaseObjectType), ns0ID(id.HasSubtype), ns0ID(id.Double), ua.BadReferenceNotAllowed, ua.BadNoMatch},
		{"second supertype", ns0ID(id.String), ns0ID(id.HasSubtype), ns0ID(id.Double), ua.BadReferenceNotAllowed, ua.BadNoMatch},
		{"loop of types", ns0ID(id.Double), ns0ID(id.HasSubtype), ns0ID(id.BaseDataType), ua.BadReferenceNotAllowed, ua.BadNoMatch},
	} {
		if err := s.AddReference(tt.source, tt.typ, tt.target); !errors.Is(err, tt.want) {
			t.Errorf("%s: AddReference = %v, want %v", tt.name, err, tt.want)
		}
		if err := s.RemoveReference(tt.source, tt.typ, tt.target); !errors.Is(err, tt.wantRemove) {
			t.Errorf("%s: RemoveReference = %v, want %v", tt.name, err, tt.wantRemove)
		}
	}
}

// A continuation point keeps a snapshot and a position.
func TestSnapshotKeepsItsOrderWhileTheNodeChanges(t *testing.T) {
	s := newSpace(t)
	folder := object(t, s, "Folder", ua.NodeID{})
	organizes := ns0ID(id.Organizes)
	var names []string
	for i := range 100 {
		n := object(t, s, fmt.Sprintf("C%03d", i), ua.NodeID{})
		if err := s.AddReference(folder.id, organizes, n.id); err != nil {
			t.Fatal(err)
		}
		names = append(names, n.BrowseName().Name)
	}
	types, ok := s.ReferenceTypes(ns0ID(id.HierarchicalReferences), true)
	if !ok {
		t.Fatal("no set")
	}
	refs := folder.References()
	var got []string
	pos := 0
	for step := 0; ; step++ {
		r, next, ok := refs.Next(pos, ua.BrowseDirectionForward, types)
		if !ok {
			break
		}
		got = append(got, r.Target.BrowseName().Name)
		pos = next
		// While browsing: a new child at each step, and the first one goes.
		n := object(t, s, fmt.Sprintf("New%03d", step), ua.NodeID{})
		if err := s.AddReference(folder.id, organizes, n.id); err != nil {
			t.Fatal(err)
		}
		if step == 0 {
			if err := s.RemoveReference(folder.id, organizes, r.Target.id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(got, names) {
		t.Errorf("browsed %v", got)
	}
	if n := len(halves(folder)); n != 1+99+100 {
		t.Errorf("the folder has %d references", n)
	}
}

func TestNextFilters(t *testing.T) {
	s := newSpace(t)
	server := s.Node(ns0ID(id.Server))
	count := func(d ua.BrowseDirection, refType uint32, sub bool) int {
		types, ok := s.ReferenceTypes(ns0ID(refType), sub)
		if !ok {
			t.Fatalf("reference type %d is unknown", refType)
		}
		n, pos := 0, 0
		for {
			_, next, ok := server.References().Next(pos, d, types)
			if !ok {
				return n
			}
			n, pos = n+1, next
		}
	}
	if n := count(ua.BrowseDirectionForward, id.HasTypeDefinition, false); n != 1 {
		t.Errorf("%d type definitions", n)
	}
	if n := count(ua.BrowseDirectionInverse, id.Organizes, false); n != 1 {
		t.Errorf("organized by %d", n)
	}
	if n := count(ua.BrowseDirectionForward, id.HierarchicalReferences, false); n != 0 {
		t.Errorf("%d references of the abstract type itself", n)
	}
	children := count(ua.BrowseDirectionForward, id.HierarchicalReferences, true)
	if both := count(ua.BrowseDirectionBoth, id.HierarchicalReferences, true); both != children+1 || children < 10 {
		t.Errorf("%d children, %d in both directions", children, both)
	}
	if n := testing.AllocsPerRun(100, func() {
		types, _ := s.ReferenceTypes(ns0ID(id.HierarchicalReferences), true)
		refs := server.References()
		for pos := 0; ; {
			_, next, ok := refs.Next(pos, ua.BrowseDirectionForward, types)
			if !ok {
				break
			}
			pos = next
		}
	}); n != 0 {
		t.Errorf("browsing allocates %v times", n)
	}
}

// Threat V13: nodes come and go while clients browse. Every browse sees whole
// nodes and both ends of each reference.
func TestBrowseWhileNodesComeAndGo(t *testing.T) {
	s := newSpace(t)
	folder := object(t, s, "Folder", ns0ID(id.ObjectsFolder))
	types, _ := s.ReferenceTypes(ns0ID(id.HierarchicalReferences), true)
	var stop atomic.Bool
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for !stop.Load() {
				refs := folder.References()
				for pos := 0; ; {
					r, next, ok := refs.Next(pos, ua.BrowseDirectionForward, types)
					if !ok {
						break
					}
					pos = next
					n := r.Target
					if n.BrowseName().Name == "" || n.DisplayName().Text == "" {
						t.Error("a node without a name")
					}
					if n.TypeDefinition() == nil && !n.Deleted() {
						t.Error("a node without a type definition")
					}
					if s.Node(n.id) != n && !n.Deleted() {
						// The flag is set before the id is forgotten.
						t.Error("a listed node is not found by its id")
					}
				}
			}
		})
	}
	for w := range 2 {
		writers.Go(func() {
			for round := range 60 {
				var ids []ua.NodeID
				for i := range 40 {
					n, err := s.AddNode(NodeSpec{
						ID:    ua.StringID(2, fmt.Sprintf("W%d.%d.%d", w, round, i)),
						Class: ua.NodeClassVariable, BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: "V"},
						Parent: folder.id, Value: ua.Int32Variant(1),
					})
					if err != nil {
						t.Error(err)
						return
					}
					n.SetAttribute(ua.AttributeIDDisplayName, ua.VariantOf(ua.LocalizedText{Text: "Changed"}))
					ids = append(ids, n.id)
				}
				for _, nodeID := range ids {
					if err := s.RemoveNode(nodeID); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	writers.Wait()
	stop.Store(true)
	readers.Wait()
	if n := len(halves(folder)); n != 2 {
		t.Errorf("%d references are left", n)
	}
	checkMirrors(t, s)
}

// Removing the children of a large folder one by one, in any order, is linear.
func TestLargeFolderIsEmptiedInLinearTime(t *testing.T) {
	const n = 50_000
	s := newSpace(t)
	fill(t, s, n, n)
	folder := s.Node(ua.StringID(2, "Plant.Line.Tag0000000")).References()
	r, _, ok := folder.Next(0, ua.BrowseDirectionInverse, nil)
	if !ok {
		t.Fatal("no parent")
	}
	parent := r.Target
	start := time.Now()
	for i := range n {
		if err := s.RemoveNode(ua.StringID(2, fmt.Sprintf("Plant.Line.Tag%07d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if left := len(halves(parent)); left != 2 {
		t.Errorf("%d references are left", left)
	}
	if s.Len() != newSpace(t).Len()+1 {
		t.Errorf("%d nodes are left", s.Len())
	}
}

func BenchmarkBrowse100Children(b *testing.B) {
	s := newSpace(b)
	fill(b, s, 100, 100)
	r, _, _ := s.Node(ua.StringID(2, "Plant.Line.Tag0000000")).References().Next(0, ua.BrowseDirectionInverse, nil)
	types, _ := s.ReferenceTypes(ns0ID(id.HierarchicalReferences), true)
	for b.Loop() {
		refs := r.Target.References()
		for pos := 0; ; {
			x, next, ok := refs.Next(pos, ua.BrowseDirectionForward, types)
			if !ok {
				break
			}
			_ = x.Target.TypeDefinition()
			pos = next
		}
	}
}
