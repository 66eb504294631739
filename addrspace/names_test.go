package addrspace

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

func collect(n *Node, text string, d ua.BrowseDirection, types *ReferenceTypes) []*Node {
	return slices.Collect(n.Named(name(text), d, types))
}

// Looking up by name finds what a walk over all references finds, in the same
// order, in lists with and without an index.
func TestNamedFollowsAWalk(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := bareSpace(t)
		folder := object(t, s, "Folder", ua.NodeID{})
		organizes, _ := s.ReferenceTypes(ns0ID(id.Organizes), true)
		var children []*Node
		compare := func() {
			for i := range 8 {
				text := fmt.Sprintf("C%d", i)
				var want []*Node
				for _, r := range folder.References().All() {
					if !r.Inverse && organizes.Has(r.Type) && r.Target.BrowseName() == name(text) {
						want = append(want, r.Target)
					}
				}
				if got := collect(folder, text, ua.BrowseDirectionForward, organizes); !slices.Equal(got, want) {
					rt.Fatalf("%s: %d found, want %d", text, len(got), len(want))
				}
				if got := collect(folder, text, ua.BrowseDirectionInverse, nil); len(got) != 0 {
					rt.Fatalf("%s: %d inverse", text, len(got))
				}
			}
		}
		for range rapid.IntRange(1, 5).Draw(rt, "rounds") {
			for range rapid.IntRange(0, 200).Draw(rt, "add") {
				n, err := s.AddNode(NodeSpec{
					Class: ua.NodeClassObject, Parent: folder.id, ReferenceType: ns0ID(id.Organizes),
					BrowseName: name(fmt.Sprintf("C%d", rapid.IntRange(0, 9).Draw(rt, "name"))),
				})
				if err != nil {
					rt.Fatal(err)
				}
				children = append(children, n)
			}
			compare()
			for range min(len(children), rapid.IntRange(0, 100).Draw(rt, "change")) {
				i := rapid.IntRange(0, len(children)-1).Draw(rt, "child")
				if rapid.Bool().Draw(rt, "rename") {
					children[i].SetAttribute(ua.AttributeIDBrowseName, ua.VariantOf(name("C7")))
					continue
				}
				if err := s.RemoveNode(children[i].id); err != nil {
					rt.Fatal(err)
				}
				children = slices.Delete(children, i, i+1)
			}
			compare()
		}
	})
}

func TestNamedWhileChildrenAreAdded(t *testing.T) {
	s := bareSpace(t)
	folder := object(t, s, "Folder", ua.NodeID{})
	const n = 3000
	var wg sync.WaitGroup
	added := make(chan int, n)
	wg.Go(func() {
		defer close(added)
		for i := range n {
			text := fmt.Sprintf("C%d", i)
			if _, err := s.AddNode(NodeSpec{
				Class: ua.NodeClassObject, Parent: folder.id, ReferenceType: ns0ID(id.Organizes), BrowseName: name(text),
			}); err != nil {
				t.Error(err)
			}
			added <- i
		}
	})
	for range 2 {
		wg.Go(func() {
			for i := range added {
				if got := collect(folder, fmt.Sprintf("C%d", i), ua.BrowseDirectionForward, nil); len(got) != 1 {
					t.Errorf("child %d: %d found", i, len(got))
				}
			}
		})
	}
	wg.Wait()
}

// Threat V4: a step of a browse path costs the same in a large folder.
func BenchmarkNamedIn100000(b *testing.B) {
	s := newSpace(b)
	fill(b, s, 100_000, 100_000)
	r, _, _ := s.Node(ua.StringID(2, "Plant.Line.Tag0000000")).References().Next(0, ua.BrowseDirectionInverse, nil)
	for b.Loop() {
		if len(collect(r.Target, "Tag0077777", ua.BrowseDirectionForward, nil)) != 1 {
			b.Fatal()
		}
	}
}
