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
			n := rapid.Uint32Range(0, 400).Draw(t, "n")
			if rapid.Bool().Draw(t, "string") {
				return ua.StringID(uint16(n%3), strconv.Itoa(int(n)))
			}
			return ua.NumericID(uint16(n%2), n)
		})
		for range rapid.IntRange(0, 2000).Draw(t, "steps") {
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

// A look-up costs the same however many nodes there are: what it looks at is
// counted, so that no slow machine fails this.
func TestLookUpsLookAtOneGroup(t *testing.T) {
	for _, n := range []int{1_000, 250_000} {
		for name, nodeID := range map[string]func(i int) ua.NodeID{
			"sequence":  func(i int) ua.NodeID { return ua.NumericID(2, uint32(i+1)) },
			"even":      func(i int) ua.NodeID { return ua.NumericID(2, uint32(2*i+2)) },
			"blocks":    func(i int) ua.NodeID { return ua.NumericID(uint16(i%3), uint32(i/100*4096+i%100+1)) },
			"thousands": func(i int) ua.NodeID { return ua.NumericID(2, uint32(i+1)*4000) },
			"text":      func(i int) ua.NodeID { return ua.StringID(2, strconv.Itoa(i)) },
		} {
			if n > 1_000 && testing.Short() {
				continue
			}
			var x nodeIndex
			nodes := make([]Node, n)
			for i := range nodes {
				nodes[i].id = nodeID(i)
				x.put(&nodes[i])
			}
			table := x.table.Load()
			looked, most := 0, 0
			for i := range nodes {
				groups := table.distance(&nodes[i])
				looked, most = looked+groups, max(most, groups)
			}
			if mean := float64(looked) / float64(n); mean > 1.5 || most > 64 {
				t.Errorf("%d nodes, %s: %.2f groups on average, %d at most", n, name, mean, most)
			}
			for i := range nodes {
				if i%3 != 0 {
					x.remove(&nodes[i])
				}
			}
			for i := range nodes {
				want := &nodes[i]
				if i%3 != 0 {
					want = nil
				}
				if x.get(&nodes[i].id) != want {
					t.Fatalf("%d nodes, %s: %v is wrong after others were removed", n, name, nodes[i].id)
				}
			}
		}
	}
}

// distance returns how many groups a look-up of a node looks at.
func (t *indexTable) distance(n *Node) int {
	for i, groups := hashID(&n.id)&t.mask, 1; ; i, groups = (i+1)&t.mask, groups+1 {
		for place := range groupSlots {
			if t.groups[i].nodes[place].Load() == n {
				return groups
			}
		}
	}
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
