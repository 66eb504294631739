package addrspace

import (
	"strings"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// Part 3, 5.2 to 5.8: the mandatory attributes of each NodeClass.
func TestMandatoryAttributes(t *testing.T) {
	s := newSpace(t)
	view, err := s.AddNode(NodeSpec{Class: ua.NodeClassView, BrowseName: name("View"), ContainsNoLoops: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		node ua.NodeID
		has  []ua.AttributeID
	}{
		{ns0ID(id.Server), []ua.AttributeID{ua.AttributeIDEventNotifier}},
		{ns0ID(id.Server_ServerArray), []ua.AttributeID{
			ua.AttributeIDValue, ua.AttributeIDDataType, ua.AttributeIDValueRank, ua.AttributeIDAccessLevel,
			ua.AttributeIDUserAccessLevel, ua.AttributeIDHistorizing, ua.AttributeIDArrayDimensions, ua.AttributeIDAccessLevelEx,
		}},
		{ns0ID(id.Server_GetMonitoredItems), []ua.AttributeID{ua.AttributeIDExecutable, ua.AttributeIDUserExecutable}},
		{ns0ID(id.BaseObjectType), []ua.AttributeID{ua.AttributeIDIsAbstract}},
		{ns0ID(id.BaseVariableType), []ua.AttributeID{ua.AttributeIDIsAbstract, ua.AttributeIDDataType, ua.AttributeIDValueRank}},
		{ns0ID(id.HasComponent), []ua.AttributeID{ua.AttributeIDIsAbstract, ua.AttributeIDSymmetric, ua.AttributeIDInverseName}},
		{ns0ID(id.Range), []ua.AttributeID{ua.AttributeIDIsAbstract, ua.AttributeIDDataTypeDefinition}},
		{view.ID(), []ua.AttributeID{ua.AttributeIDContainsNoLoops, ua.AttributeIDEventNotifier}},
	} {
		n := s.Node(tt.node)
		base := []ua.AttributeID{
			ua.AttributeIDNodeID, ua.AttributeIDNodeClass, ua.AttributeIDBrowseName, ua.AttributeIDDisplayName,
			ua.AttributeIDWriteMask, ua.AttributeIDUserWriteMask,
		}
		has := map[ua.AttributeID]bool{}
		for _, a := range append(base, tt.has...) {
			has[a] = true
			if _, code := n.Attribute(a); code != ua.Good {
				t.Errorf("%v %s has no %v", n.ID(), n.BrowseName(), a)
			}
		}
		for a := ua.AttributeID(0); a < 40; a++ {
			v, code := n.Attribute(a)
			switch {
			case code == ua.Good && !has[a] && a != ua.AttributeIDRolePermissions && a != ua.AttributeIDAccessRestrictions:
				t.Errorf("%v %s has %v = %v", n.ID(), n.BrowseName(), a, v.Any())
			case code != ua.Good && code != ua.BadAttributeIDInvalid:
				t.Errorf("%v: %v", a, code)
			}
		}
	}
}

func TestAttributesOfNS0(t *testing.T) {
	s := newSpace(t)
	check := func(node uint32, a ua.AttributeID, want ua.Variant) {
		t.Helper()
		got, code := s.Node(ns0ID(node)).Attribute(a)
		if code != ua.Good || !got.Equal(want) {
			t.Errorf("%d %v = %v, %v; want %v", node, a, got.Any(), code, want.Any())
		}
	}
	check(id.Server, ua.AttributeIDNodeClass, ua.Int32Variant(1))
	check(id.Server, ua.AttributeIDNodeID, ua.VariantOf(ns0ID(id.Server)))
	check(id.Server, ua.AttributeIDEventNotifier, ua.VariantOf(uint8(1)))
	check(id.HasComponent, ua.AttributeIDInverseName, ua.VariantOf(ua.LocalizedText{Text: "ComponentOf"}))
	check(id.References, ua.AttributeIDSymmetric, ua.BooleanVariant(true))
	check(id.BaseDataType, ua.AttributeIDIsAbstract, ua.BooleanVariant(true))
	check(id.Server_NamespaceArray, ua.AttributeIDDataType, ua.VariantOf(ns0ID(id.String)))
	check(id.Server_NamespaceArray, ua.AttributeIDValueRank, ua.Int32Variant(1))
	check(id.Server_NamespaceArray, ua.AttributeIDValue, ua.SliceVariant([]string{NamespaceUA, "urn:test:app", "urn:test:model"}))
	check(id.ServerState_EnumStrings, ua.AttributeIDValue, s.Node(ns0ID(id.ServerState_EnumStrings)).Variable().Load().Value)
	def, code := s.Node(ns0ID(id.Range)).Attribute(ua.AttributeIDDataTypeDefinition)
	x, ok := ua.As[*ua.StructureDefinition](def)
	if code != ua.Good || !ok || len(x.Fields) != 2 || x.Fields[0].Name != "Low" || x.DefaultEncodingID != ns0ID(id.Range_Encoding_DefaultBinary) {
		t.Errorf("definition of Range: %+v, %v", x, code)
	}
}

func TestSetAttribute(t *testing.T) {
	s := newSpace(t)
	add := func(spec NodeSpec) ua.NodeID {
		spec.BrowseName = name("N")
		n, err := s.AddNode(spec)
		if err != nil {
			t.Fatal(err)
		}
		return n.ID()
	}
	object := add(NodeSpec{Class: ua.NodeClassObject})
	variable := add(NodeSpec{Class: ua.NodeClassVariable, Value: ua.SliceVariant([]float64{1}), AccessLevel: ReadWrite})
	varType := add(NodeSpec{Class: ua.NodeClassVariableType, DataType: ns0ID(id.Double), Parent: ns0ID(id.BaseDataVariableType)})
	refType := add(NodeSpec{Class: ua.NodeClassReferenceType, Parent: ns0ID(id.Organizes)})
	dataType := add(NodeSpec{Class: ua.NodeClassDataType, Parent: ns0ID(id.Enumeration)})
	method := add(NodeSpec{Class: ua.NodeClassMethod})
	view := add(NodeSpec{Class: ua.NodeClassView})
	text := ua.VariantOf(ua.LocalizedText{Locale: "de", Text: "Neu"})
	permission := ua.SliceVariant([]ua.ExtensionObject{ua.ObjectOf(&ua.RolePermissionType{RoleID: ns0ID(id.WellKnownRole_Operator), Permissions: 1})})
	for _, tt := range []struct {
		node  ua.NodeID
		attr  ua.AttributeID
		value ua.Variant
		want  ua.StatusCode
	}{
		{object, ua.AttributeIDDisplayName, text, ua.Good},
		{object, ua.AttributeIDDescription, text, ua.Good},
		{object, ua.AttributeIDDisplayName, ua.StringVariant("x"), ua.BadTypeMismatch},
		{object, ua.AttributeIDBrowseName, ua.VariantOf(name("Other")), ua.Good},
		{object, ua.AttributeIDBrowseName, ua.VariantOf(name(strings.Repeat("x", 600))), ua.BadBrowseNameInvalid},
		{object, ua.AttributeIDBrowseName, ua.VariantOf(ua.QualifiedName{NamespaceIndex: 7, Name: "x"}), ua.BadBrowseNameInvalid},
		{object, ua.AttributeIDEventNotifier, ua.VariantOf(uint8(1)), ua.Good},
		{object, ua.AttributeIDWriteMask, ua.UInt32Variant(uint32(ua.AttributeWriteMaskDisplayName)), ua.Good},
		{object, ua.AttributeIDRolePermissions, permission, ua.Good},
		{object, ua.AttributeIDUserRolePermissions, permission, ua.BadNotWritable},
		{object, ua.AttributeIDRolePermissions, ua.SliceVariant([]ua.ExtensionObject{{}}), ua.BadTypeMismatch},
		{object, ua.AttributeIDAccessRestrictions, ua.VariantOf(uint16(3)), ua.Good},
		{object, ua.AttributeIDNodeID, ua.VariantOf(object), ua.BadNotWritable},
		{object, ua.AttributeIDValue, ua.DoubleVariant(1), ua.BadAttributeIDInvalid},
		{object, 99, ua.DoubleVariant(1), ua.BadAttributeIDInvalid},
		{variable, ua.AttributeIDValue, ua.DoubleVariant(1), ua.BadNotWritable},
		{variable, ua.AttributeIDDataType, ua.VariantOf(ns0ID(id.Number)), ua.Good},
		{variable, ua.AttributeIDDataType, ua.VariantOf(object), ua.BadOutOfRange},
		{variable, ua.AttributeIDDataType, ua.StringVariant("x"), ua.BadTypeMismatch},
		{variable, ua.AttributeIDArrayDimensions, ua.SliceVariant([]uint32{5}), ua.Good},
		{variable, ua.AttributeIDArrayDimensions, ua.SliceVariant([]uint32{5, 6}), ua.BadOutOfRange},
		{variable, ua.AttributeIDValueRank, ua.Int32Variant(-2), ua.Good},
		{variable, ua.AttributeIDValueRank, ua.Int32Variant(-9), ua.BadOutOfRange},
		{variable, ua.AttributeIDAccessLevel, ua.VariantOf(uint8(1)), ua.Good},
		{variable, ua.AttributeIDUserAccessLevel, ua.VariantOf(uint8(1)), ua.Good},
		{variable, ua.AttributeIDAccessLevelEx, ua.UInt32Variant(3), ua.Good},
		{variable, ua.AttributeIDMinimumSamplingInterval, ua.DoubleVariant(100), ua.Good},
		{variable, ua.AttributeIDMinimumSamplingInterval, ua.DoubleVariant(-1), ua.BadOutOfRange},
		{variable, ua.AttributeIDHistorizing, ua.BooleanVariant(true), ua.Good},
		{variable, ua.AttributeIDHistorizing, ua.Int32Variant(1), ua.BadTypeMismatch},
		{varType, ua.AttributeIDValue, ua.DoubleVariant(2), ua.Good},
		{varType, ua.AttributeIDValue, ua.StringVariant("x"), ua.BadTypeMismatch},
		{varType, ua.AttributeIDDataType, ua.VariantOf(ns0ID(id.Float)), ua.Good},
		{varType, ua.AttributeIDValueRank, ua.Int32Variant(1), ua.Good},
		{varType, ua.AttributeIDArrayDimensions, ua.SliceVariant([]uint32{3}), ua.Good},
		{varType, ua.AttributeIDIsAbstract, ua.BooleanVariant(true), ua.Good},
		{refType, ua.AttributeIDSymmetric, ua.BooleanVariant(true), ua.Good},
		{refType, ua.AttributeIDInverseName, text, ua.Good},
		{refType, ua.AttributeIDIsAbstract, ua.BooleanVariant(true), ua.Good},
		{dataType, ua.AttributeIDDataTypeDefinition, ua.VariantOf(ua.ObjectOf(&ua.EnumDefinition{Fields: []ua.EnumField{{Value: 1, Name: "One"}}})), ua.Good},
		{dataType, ua.AttributeIDDataTypeDefinition, ua.VariantOf(ua.ExtensionObject{}), ua.BadTypeMismatch},
		{method, ua.AttributeIDExecutable, ua.BooleanVariant(false), ua.Good},
		{method, ua.AttributeIDUserExecutable, ua.BooleanVariant(false), ua.Good},
		{view, ua.AttributeIDContainsNoLoops, ua.BooleanVariant(true), ua.Good},
		{view, ua.AttributeIDEventNotifier, ua.VariantOf(uint8(4)), ua.Good},
	} {
		n := s.Node(tt.node)
		if got := n.SetAttribute(tt.attr, tt.value); got != tt.want {
			t.Errorf("%v %v: %v, want %v", n.Class(), tt.attr, got, tt.want)
			continue
		}
		if tt.want != ua.Good {
			continue
		}
		if got, code := n.Attribute(tt.attr); code != ua.Good || !got.Equal(tt.value) {
			if tt.attr != ua.AttributeIDUserAccessLevel && tt.attr != ua.AttributeIDUserWriteMask {
				t.Errorf("%v %v = %v, %v after it was set", n.Class(), tt.attr, got.Any(), code)
			}
		}
	}
	if kind := s.DataTypeKind(dataType); kind != ua.TypeInt32 {
		t.Errorf("a new enumeration is a %v", kind)
	}
	sh := shape{dataType: s.Node(dataType), rank: -1}
	if _, code := sh.check(s, ua.Int32Variant(2)); code != ua.BadOutOfRange {
		t.Errorf("a value beyond a definition that was set: %v", code)
	}
}

// Part 4, 5.11.4 and Part 3, 8.60.
func TestWriteAttributeAsksTheMask(t *testing.T) {
	s := newSpace(t)
	n, err := s.AddNode(NodeSpec{
		Class: ua.NodeClassObject, BrowseName: name("N"),
		WriteMask:     ua.AttributeWriteMaskDisplayName | ua.AttributeWriteMaskDescription | ua.AttributeWriteMaskEventNotifier,
		UserWriteMask: ua.AttributeWriteMaskDisplayName | ua.AttributeWriteMaskDescription,
	})
	if err != nil {
		t.Fatal(err)
	}
	text := ua.DataValue{Value: ua.VariantOf(ua.LocalizedText{Text: "Neu"})}
	stamped := text
	stamped.SourceTimestamp = 1
	for _, tt := range []struct {
		attr ua.AttributeID
		dv   ua.DataValue
		rng  string
		want ua.StatusCode
	}{
		{ua.AttributeIDDisplayName, text, "", ua.Good},
		{ua.AttributeIDDescription, text, "", ua.Good}, // not there before
		{ua.AttributeIDDisplayName, text, "1", ua.BadWriteNotSupported},
		{ua.AttributeIDDisplayName, stamped, "", ua.BadWriteNotSupported},
		{ua.AttributeIDDisplayName, ua.DataValue{Value: ua.StringVariant("x")}, "", ua.BadTypeMismatch},
		{ua.AttributeIDEventNotifier, ua.DataValue{Value: ua.VariantOf(uint8(1))}, "", ua.BadUserAccessDenied},
		{ua.AttributeIDBrowseName, ua.DataValue{Value: ua.VariantOf(name("X"))}, "", ua.BadNotWritable},
		{ua.AttributeIDNodeID, ua.DataValue{Value: ua.VariantOf(n.ID())}, "", ua.BadNotWritable},
		{ua.AttributeIDHistorizing, ua.DataValue{Value: ua.BooleanVariant(true)}, "", ua.BadAttributeIDInvalid},
		{0, text, "", ua.BadAttributeIDInvalid},
		{1 << 31, text, "", ua.BadAttributeIDInvalid},
	} {
		if got := n.WriteAttribute(nil, tt.attr, &tt.dv, rangeOf(t, tt.rng)); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.attr, got, tt.want)
		}
	}
	if n.DisplayName().Text != "Neu" {
		t.Errorf("DisplayName = %v", n.DisplayName())
	}
}
