package addrspace

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

func TestIndexFindsWhatAMapFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x nodeIndex
		model := map[ua.NodeID]*Node{}
		gen := rapid.Custom(func(t *rapid.T) ua.NodeID {
			n := rapid.Uint32Range(0, 40).Draw(t, "n")
			if rapid.Bool().Draw(t, "string") {
				return ua.StringID(uint16(n%3), strconv.Itoa(int(n)))
			}
			return ua.NumericID(uint16(n%2), n)
		})
		for range rapid.IntRange(0, 400).Draw(t, "steps") {
			nodeID := gen.Draw(t, "id")
			if nodeID.IsNull() {
				continue
			}
			switch n := model[nodeID]; {
			case n == nil:
				n = &Node{id: nodeID}
				x.put(n)
				model[nodeID] = n
			default:
				x.remove(n)
				delete(model, nodeID)
			}
			if x.live != len(model) {
				t.Fatalf("live = %d, want %d", x.live, len(model))
			}
		}
		for nodeID, n := range model {
			if x.get(&nodeID) != n {
				t.Fatalf("get(%v) does not find the node", nodeID)
			}
		}
		for range 50 {
			if nodeID := gen.Draw(t, "look"); x.get(&nodeID) != model[nodeID] {
				t.Fatalf("get(%v) differs from the model", nodeID)
			}
		}
	})
}

func TestNullIDFindsNothing(t *testing.T) {
	s := newSpace(t)
	var null ua.NodeID
	if n := s.Node(null); n != nil {
		t.Errorf("Node(null) = %v", n.id)
	}
	n, err := s.AddNode(NodeSpec{Class: ua.NodeClassObject, BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: "X"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveNode(n.ID()); err != nil {
		t.Fatal(err)
	}
	if s.Node(null) != nil || s.Node(n.ID()) != nil {
		t.Error("a removed slot is found")
	}
}

func TestNodeDoesNotAllocate(t *testing.T) {
	s := newSpace(t)
	fill(t, s, 100, 100)
	numeric, text := ns0ID(id.Server_ServerStatus_CurrentTime), ua.StringID(2, "Plant.Line.Tag0000042")
	if s.Node(numeric) == nil || s.Node(text) == nil {
		t.Fatal("nodes are missing")
	}
	if n := testing.AllocsPerRun(100, func() {
		s.Node(numeric)
		s.Node(text)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNode(b *testing.B) {
	s := newSpace(b)
	fill(b, s, 1000, 1000)
	ids := map[string]ua.NodeID{
		"numeric": ns0ID(id.Server_ServerStatus_CurrentTime),
		"string":  ua.StringID(2, "Plant.Line.Tag0000042"),
	}
	for name, nodeID := range ids {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if s.Node(nodeID) == nil {
					b.Fatal("unknown")
				}
			}
		})
	}
}
