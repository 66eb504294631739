package addrspace

import (
	"errors"
	"slices"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

func TestRemoveTreeSparesWhatOthersHold(t *testing.T) {
	s := newSpace(t)
	before := s.Len()
	shelf := object(t, s, "Shelf", ns0ID(id.ObjectsFolder))
	dev := object(t, s, "Device", ns0ID(id.ObjectsFolder))
	part := object(t, s, "Part", dev.id)
	screw := object(t, s, "Screw", part.id)
	shared := object(t, s, "Shared", part.id)
	twice := object(t, s, "Twice", part.id)
	if err := s.AddReference(shelf.id, ns0ID(id.Organizes), shared.id); err != nil {
		t.Fatal(err)
	}
	// Held twice, but only from inside.
	if err := s.AddReference(dev.id, ns0ID(id.Organizes), twice.id); err != nil {
		t.Fatal(err)
	}
	var w recorder
	value := variableOf(t, s, NodeSpec{Parent: screw.id, Value: ua.Int64Variant(1)})
	value.Watch(&w)
	n, err := s.RemoveTree(dev.id)
	if err != nil || n != 5 {
		t.Errorf("RemoveTree = %d, %v", n, err)
	}
	if w.gone != 1 {
		t.Errorf("the watcher was told %d times", w.gone)
	}
	if shared.Deleted() || s.Node(shared.id) != shared {
		t.Error("a node that another folder organizes is gone")
	}
	if s.Len() != before+2 {
		t.Errorf("%d nodes are left", s.Len()-before)
	}
	if refs := halves(shared); len(refs) != 2 {
		t.Errorf("the spared node has %v", refs)
	}
	checkMirrors(t, s)
	if _, err := s.RemoveTree(dev.id); !errors.Is(err, ua.BadNodeIDUnknown) {
		t.Errorf("again: %v", err)
	}
	if err := s.RemoveNode(dev.id); !errors.Is(err, ua.BadNodeIDUnknown) {
		t.Errorf("RemoveNode of what is gone: %v", err)
	}
}

func TestModelChangesAreTold(t *testing.T) {
	s := newSpace(t)
	var got []ModelChange
	s.OnModelChange(func(c ModelChange) {
		got = append(got, c)
		s.Len() // no lock is held
	})
	dev := object(t, s, "Device", ns0ID(id.ObjectsFolder))
	v := variableOf(t, s, NodeSpec{ID: ua.StringID(2, "V"), DataType: ns0ID(id.Int32), Value: ua.Int32Variant(1)})
	if err := s.AddReference(dev.id, ns0ID(id.HasComponent), v.Node().ID()); err != nil {
		t.Fatal(err)
	}
	if code := v.Node().SetAttribute(ua.AttributeIDDataType, ua.VariantOf(ns0ID(id.Integer))); code != ua.Good {
		t.Fatal(code)
	}
	if err := s.RemoveReference(dev.id, ns0ID(id.HasComponent), v.Node().ID()); err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveNode(dev.id); err != nil {
		t.Fatal(err)
	}
	s.OnModelChange(nil)
	object(t, s, "Silent", ns0ID(id.ObjectsFolder))
	devType, varType := ns0ID(id.BaseObjectType), ns0ID(id.BaseDataVariableType)
	want := []ModelChange{
		{dev.id, devType, NodeAdded},
		{v.Node().ID(), varType, NodeAdded},
		{dev.id, devType, ReferenceAdded},
		{v.Node().ID(), varType, DataTypeChanged},
		{dev.id, devType, ReferenceDeleted},
		{dev.id, devType, NodeDeleted},
	}
	if !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}
