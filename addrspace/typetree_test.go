package addrspace

import (
	"sync"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

func TestSubtypes(t *testing.T) {
	s := newSpace(t)
	for _, tt := range []struct {
		sub, super uint32
		want       bool
	}{
		{id.HasProperty, id.HierarchicalReferences, true},
		{id.HasProperty, id.HasProperty, true},
		{id.HierarchicalReferences, id.HasProperty, false},
		{id.HasTypeDefinition, id.HierarchicalReferences, false},
		{id.FolderType, id.BaseObjectType, true},
		{id.AnalogItemType, id.BaseVariableType, true},
		{id.Int32, id.Integer, true},
		{id.Int32, id.UInteger, false},
		{4_000_000, id.Integer, false},
		{id.Server, id.ServerType, false},
	} {
		if got := s.IsSubtypeOf(ns0ID(tt.sub), ns0ID(tt.super)); got != tt.want {
			t.Errorf("IsSubtypeOf(%d, %d) = %v", tt.sub, tt.super, got)
		}
	}
}

func TestReferenceTypeSets(t *testing.T) {
	s := newSpace(t)
	if set, ok := s.ReferenceTypes(ua.NodeID{}, true); set != nil || !ok {
		t.Error("the null id is not every type")
	}
	if _, ok := s.ReferenceTypes(ns0ID(id.BaseObjectType), true); ok {
		t.Error("a set of an object type")
	}
	if _, ok := s.ReferenceTypes(ua.NumericID(2, 999), true); ok {
		t.Error("a set of an unknown type")
	}
	table := s.index.table.Load()
	for _, root := range []uint32{id.References, id.HierarchicalReferences, id.HasComponent, id.HasProperty} {
		for _, sub := range []bool{true, false} {
			set, ok := s.ReferenceTypes(ns0ID(root), sub)
			if !ok {
				t.Fatal(root)
			}
			for n := range table.all() {
				if n.class != classReferenceType {
					continue
				}
				want := n.id == ns0ID(root) || sub && s.IsSubtypeOf(n.id, ns0ID(root))
				if set.Has(n) != want {
					t.Errorf("set of %d, subtypes %v: Has(%v) = %v", root, sub, n.id, !want)
				}
			}
		}
	}
}

// The sets follow the hierarchy while it changes under readers.
func TestReferenceTypesFollowChanges(t *testing.T) {
	s := newSpace(t)
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			set, _ := s.ReferenceTypes(ns0ID(id.HierarchicalReferences), true)
			if !set.Has(s.Node(ns0ID(id.HasComponent))) {
				t.Error("HasComponent is not hierarchical")
			}
		}
	})
	for range 100 {
		n, err := s.AddNode(NodeSpec{Class: ua.NodeClassReferenceType, BrowseName: name("R"), Parent: ns0ID(id.HasComponent)})
		if err != nil {
			t.Fatal(err)
		}
		set, ok := s.ReferenceTypes(ns0ID(id.HierarchicalReferences), true)
		if !ok || !set.Has(n) {
			t.Fatal("a new reference type is missing in the set")
		}
		if err := s.RemoveReference(ns0ID(id.HasComponent), ns0ID(id.HasSubtype), n.ID()); err != nil {
			t.Fatal(err)
		}
		if set, _ := s.ReferenceTypes(ns0ID(id.HierarchicalReferences), true); set.Has(n) {
			t.Fatal("a type that is no subtype any more is in the set")
		}
		if err := s.RemoveNode(n.ID()); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	wg.Wait()
}

func BenchmarkIsSubtypeOf(b *testing.B) {
	s := newSpace(b)
	sub, super := ns0ID(id.AnalogItemType), ns0ID(id.BaseVariableType)
	for b.Loop() {
		if !s.IsSubtypeOf(sub, super) {
			b.Fatal()
		}
	}
}
