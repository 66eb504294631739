package addrspace

import (
	"errors"
	"strings"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

func name(text string) ua.QualifiedName { return ua.QualifiedName{NamespaceIndex: 2, Name: text} }

// Part 4, 5.8.2.4; threat V13.
func TestAddNodeErrors(t *testing.T) {
	s := New(Options{Limits: Limits{Nodes: 1 << 20}})
	if err := s.LoadNS0(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddNamespace("urn:test:model"); err != nil {
		t.Fatal(err)
	}
	before := s.Len()
	objects := ns0ID(id.ObjectsFolder)
	for _, tt := range []struct {
		name string
		spec NodeSpec
		want ua.StatusCode
	}{
		{"no class", NodeSpec{BrowseName: name("X")}, ua.BadNodeClassInvalid},
		{"two classes", NodeSpec{BrowseName: name("X"), Class: 3}, ua.BadNodeClassInvalid},
		{"no name", NodeSpec{Class: ua.NodeClassObject}, ua.BadBrowseNameInvalid},
		{"long name", NodeSpec{Class: ua.NodeClassObject, BrowseName: name(strings.Repeat("x", 64<<10))}, ua.BadBrowseNameInvalid},
		{"name of an unknown namespace", NodeSpec{Class: ua.NodeClassObject, BrowseName: ua.QualifiedName{NamespaceIndex: 9, Name: "X"}}, ua.BadBrowseNameInvalid},
		{"id of an unknown namespace", NodeSpec{Class: ua.NodeClassObject, BrowseName: name("X"), ID: ua.NumericID(9, 1)}, ua.BadNodeIDRejected},
		{"id exists", NodeSpec{Class: ua.NodeClassObject, BrowseName: name("X"), ID: objects}, ua.BadNodeIDExists},
		{"unknown parent", NodeSpec{Class: ua.NodeClassObject, BrowseName: name("X"), Parent: ua.NumericID(2, 9)}, ua.BadParentNodeIDInvalid},
		{"unknown reference type", NodeSpec{Class: ua.NodeClassObject, BrowseName: name("X"), Parent: objects, ReferenceType: ua.NumericID(2, 9)}, ua.BadReferenceTypeIDInvalid},
		{"no reference type", NodeSpec{Class: ua.NodeClassObject, BrowseName: name("X"), Parent: objects, ReferenceType: objects}, ua.BadReferenceTypeIDInvalid},
		{"reference not hierarchical", NodeSpec{Class: ua.NodeClassObject, BrowseName: name("X"), Parent: objects, ReferenceType: ns0ID(id.HasTypeDefinition)}, ua.BadReferenceNotAllowed},
		{"unknown type", NodeSpec{Class: ua.NodeClassObject, BrowseName: name("X"), TypeDefinition: ua.NumericID(2, 9)}, ua.BadTypeDefinitionInvalid},
		{"type of the wrong class", NodeSpec{Class: ua.NodeClassObject, BrowseName: name("X"), TypeDefinition: ns0ID(id.BaseDataVariableType)}, ua.BadTypeDefinitionInvalid},
		{"unknown data type", NodeSpec{Class: ua.NodeClassVariable, BrowseName: name("X"), DataType: ua.NumericID(2, 9)}, ua.BadNodeAttributesInvalid},
		{"data type of the wrong class", NodeSpec{Class: ua.NodeClassVariable, BrowseName: name("X"), DataType: objects}, ua.BadNodeAttributesInvalid},
		{"value of another type", NodeSpec{Class: ua.NodeClassVariable, BrowseName: name("X"), DataType: ns0ID(id.Double), Value: ua.Int32Variant(1)}, ua.BadTypeMismatch},
		{"rank and dimensions", NodeSpec{Class: ua.NodeClassVariable, BrowseName: name("X"), ValueRank: new(int32(1)), Dimensions: []uint32{1, 2}}, ua.BadNodeAttributesInvalid},
		{"rank", NodeSpec{Class: ua.NodeClassVariable, BrowseName: name("X"), ValueRank: new(int32(-4))}, ua.BadNodeAttributesInvalid},
		{"subtype of another class", NodeSpec{Class: ua.NodeClassReferenceType, BrowseName: name("X"), Parent: ns0ID(id.BaseDataType), ReferenceType: ns0ID(id.HasSubtype)}, ua.BadReferenceNotAllowed},
	} {
		_, err := s.AddNode(tt.spec)
		var code ua.StatusCode
		if !errors.As(err, &code) || code != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if s.Len() != before {
		t.Errorf("%d nodes came from refused additions", s.Len()-before)
	}
	checkMirrors(t, s)
}

func TestNumberOfNodesIsLimited(t *testing.T) {
	probe := newSpace(t).Len()
	s := New(Options{Limits: Limits{Nodes: probe + 1}})
	if err := s.LoadNS0(); err != nil {
		t.Fatal(err)
	}
	add := func() error {
		_, err := s.AddNode(NodeSpec{Class: ua.NodeClassObject, BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: "X"}})
		return err
	}
	if err := add(); err != nil {
		t.Fatal(err)
	}
	if err := add(); !errors.Is(err, ua.BadOutOfMemory) {
		t.Errorf("beyond the limit: %v", err)
	}
}

func TestDefaultsOfNewNodes(t *testing.T) {
	s := newSpace(t)
	add := func(spec NodeSpec) *Node {
		t.Helper()
		n, err := s.AddNode(spec)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	parentOf := func(n *Node) Reference {
		r, _, ok := n.References().Next(0, ua.BrowseDirectionInverse, nil)
		if !ok {
			t.Fatalf("%v has no parent", n.id)
		}
		return r
	}
	dev := add(NodeSpec{Class: ua.NodeClassObject, BrowseName: name("Device"), Parent: ns0ID(id.ObjectsFolder)})
	if dev.ID() != ua.NumericID(2, 1) || dev.TypeDefinition().ID() != ns0ID(id.BaseObjectType) {
		t.Errorf("%v of type %v", dev.ID(), dev.TypeDefinition().ID())
	}
	if r := parentOf(dev); r.Type.ID() != ns0ID(id.Organizes) || r.Target.ID() != ns0ID(id.ObjectsFolder) {
		t.Errorf("below a folder: %v of %v", r.Type.ID(), r.Target.ID())
	}
	temp := add(NodeSpec{Class: ua.NodeClassVariable, BrowseName: name("Temperature"), Parent: dev.ID(), Value: ua.DoubleVariant(1)})
	v := temp.Variable()
	if r := parentOf(temp); r.Type.ID() != ns0ID(id.HasComponent) {
		t.Errorf("below an object: %v", r.Type.ID())
	}
	if temp.TypeDefinition().ID() != ns0ID(id.BaseDataVariableType) || v.DataType() != ns0ID(id.Double) ||
		v.ValueRank() != -1 || v.AccessLevel() != ua.AccessLevelTypeCurrentRead || v.UserAccessLevel() != v.AccessLevel() {
		t.Errorf("variable: %v %v %v %v", temp.TypeDefinition().ID(), v.DataType(), v.ValueRank(), v.AccessLevel())
	}
	if temp.DisplayName() != (ua.LocalizedText{Text: "Temperature"}) || temp.BrowseName() != name("Temperature") {
		t.Errorf("names: %v, %v", temp.DisplayName(), temp.BrowseName())
	}
	if v.Node() != temp || temp.Space() != s || dev.Variable() != nil || dev.Component(name("Temperature")) != temp {
		t.Error("nodes do not find each other")
	}
	arr := add(NodeSpec{Class: ua.NodeClassVariable, BrowseName: name("A"), Value: ua.SliceVariant([]int32{1})}).Variable()
	if arr.ValueRank() != 1 || arr.DataType() != ns0ID(id.Int32) {
		t.Errorf("array: rank %v of %v", arr.ValueRank(), arr.DataType())
	}
	info := add(NodeSpec{Class: ua.NodeClassVariable, BrowseName: name("E"), Value: ua.SliceVariant([]ua.ExtensionObject{ua.ObjectOf(&ua.EUInformation{})})}).Variable()
	if info.DataType() != ns0ID(id.EUInformation) {
		t.Errorf("structure: %v", info.DataType())
	}
	dims := add(NodeSpec{Class: ua.NodeClassVariable, BrowseName: name("D"), DataType: ns0ID(id.Float), Dimensions: []uint32{2, 3}}).Variable()
	if dims.ValueRank() != 2 {
		t.Errorf("with dimensions: rank %v", dims.ValueRank())
	}
	sub := add(NodeSpec{Class: ua.NodeClassObjectType, BrowseName: name("DeviceType"), Parent: ns0ID(id.BaseObjectType)})
	if !s.IsSubtypeOf(sub.ID(), ns0ID(id.BaseObjectType)) || sub.Supertype().ID() != ns0ID(id.BaseObjectType) {
		t.Error("a type below a type is no subtype of it")
	}
}

func TestFreeIDsAreNotTaken(t *testing.T) {
	s := newSpace(t)
	for _, n := range []uint32{1, 3} {
		if _, err := s.AddNode(NodeSpec{ID: ua.NumericID(2, n), Class: ua.NodeClassObject, BrowseName: name("X")}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []uint32{2, 4, 5} {
		n, err := s.AddNode(NodeSpec{Class: ua.NodeClassObject, BrowseName: name("X")})
		if err != nil || n.ID() != ua.NumericID(2, want) {
			t.Errorf("AddNode = %v, %v; want %d", n.ID(), err, want)
		}
	}
}
