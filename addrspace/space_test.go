package addrspace

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newSpace returns a space with namespace 0 and a namespace 2 for test nodes.
func newSpace(t testing.TB) *Space {
	t.Helper()
	s := New(Options{ApplicationURI: "urn:test:app"})
	if err := s.LoadNS0(); err != nil {
		t.Fatal(err)
	}
	ns, err := s.AddNamespace("urn:test:model")
	if err != nil || ns != 2 {
		t.Fatalf("AddNamespace = %d, %v", ns, err)
	}
	return s
}

// bareSpace returns a space with a few reference types and BaseObjectType only,
// for tests that need many spaces.
func bareSpace(t testing.TB) *Space {
	t.Helper()
	s := New(Options{ApplicationURI: "urn:test:app"})
	if _, err := s.AddNamespace("urn:test:model"); err != nil {
		t.Fatal(err)
	}
	add := func(n uint32, class ua.NodeClass, super uint32) {
		spec := NodeSpec{ID: ns0ID(n), Class: class, BrowseName: ua.QualifiedName{Name: "T"}}
		if super != 0 {
			spec.Parent, spec.ReferenceType = ns0ID(super), ns0ID(id.HasSubtype)
		}
		if _, err := s.AddNode(spec); err != nil {
			t.Fatal(err)
		}
	}
	add(id.HierarchicalReferences, ua.NodeClassReferenceType, 0)
	add(id.HasSubtype, ua.NodeClassReferenceType, 0)
	if err := s.AddReference(ns0ID(id.HierarchicalReferences), ns0ID(id.HasSubtype), ns0ID(id.HasSubtype)); err != nil {
		t.Fatal(err)
	}
	add(id.HasTypeDefinition, ua.NodeClassReferenceType, 0)
	add(id.GeneratesEvent, ua.NodeClassReferenceType, 0)
	for _, n := range []uint32{id.Organizes, id.HasComponent, id.HasProperty, id.HasEventSource} {
		add(n, ua.NodeClassReferenceType, id.HierarchicalReferences)
	}
	add(id.BaseObjectType, ua.NodeClassObjectType, 0)
	return s
}
