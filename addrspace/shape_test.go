package addrspace

import (
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// Part 4, 5.11.4.2 and Part 3, 5.6.2: which values a variable takes.
func TestValuesThatFit(t *testing.T) {
	s := newSpace(t)
	matrix, err := ua.MatrixVariant([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	object := func(x ua.Structure) ua.Variant { return ua.VariantOf(ua.ObjectOf(x)) }
	rng := object(&ua.Range{Low: 1, High: 2})
	unknown := ua.VariantOf(ua.ExtensionObject{TypeID: ua.NumericID(2, 77), Raw: []byte{1}, Encoding: ua.EncodingBinary})
	for _, tt := range []struct {
		name     string
		dataType uint32
		rank     int32
		dims     []uint32
		value    ua.Variant
		want     ua.StatusCode
	}{
		{"same type", id.Double, -1, nil, ua.DoubleVariant(1), ua.Good},
		{"other number", id.Double, -1, nil, ua.VariantOf(float32(1)), ua.BadTypeMismatch},
		{"text for number", id.Double, -1, nil, ua.StringVariant("1"), ua.BadTypeMismatch},
		{"subtype of a built-in type", id.Duration, -1, nil, ua.DoubleVariant(1), ua.Good},
		{"UtcTime", id.UtcTime, -1, nil, ua.DateTimeVariant(1), ua.Good},
		{"LocaleId", id.LocaleId, -1, nil, ua.StringVariant("en"), ua.Good},

		{"BaseDataType takes all", id.BaseDataType, -1, nil, ua.StringVariant("x"), ua.Good},
		{"BaseDataType takes arrays", id.BaseDataType, -1, nil, ua.SliceVariant([]int8{1}), ua.Good},
		{"array of BaseDataType", id.BaseDataType, 1, nil, ua.SliceVariant([]ua.Variant{ua.StringVariant("x"), ua.DoubleVariant(1)}), ua.Good},
		{"scalar for an array of BaseDataType", id.BaseDataType, 1, nil, ua.DoubleVariant(1), ua.BadTypeMismatch},
		{"Number takes Float", id.Number, -1, nil, ua.VariantOf(float32(1)), ua.Good},
		{"Number takes Byte", id.Number, -1, nil, ua.VariantOf(uint8(1)), ua.Good},
		{"Number takes no Boolean", id.Number, -1, nil, ua.BooleanVariant(true), ua.BadTypeMismatch},
		{"Number takes no DateTime", id.Number, -1, nil, ua.DateTimeVariant(1), ua.BadTypeMismatch},
		{"Integer takes SByte", id.Integer, -1, nil, ua.VariantOf(int8(1)), ua.Good},
		{"Integer takes no UInt16", id.Integer, -1, nil, ua.VariantOf(uint16(1)), ua.BadTypeMismatch},
		{"UInteger takes UInt64", id.UInteger, -1, nil, ua.VariantOf(uint64(1)), ua.Good},
		{"UInteger takes no Int64", id.UInteger, -1, nil, ua.Int64Variant(1), ua.BadTypeMismatch},
		{"UInteger takes no Double", id.UInteger, -1, nil, ua.DoubleVariant(1), ua.BadTypeMismatch},
		{"Number array as Variants", id.Number, 1, nil, ua.SliceVariant([]ua.Variant{ua.DoubleVariant(1), ua.Int32Variant(1)}), ua.Good},
		{"Number array with a text", id.Number, 1, nil, ua.SliceVariant([]ua.Variant{ua.StringVariant("1")}), ua.BadTypeMismatch},
		{"Double array as Variants", id.Double, 1, nil, ua.SliceVariant([]ua.Variant{ua.DoubleVariant(1)}), ua.BadTypeMismatch},

		{"enumeration", id.ServerState, -1, nil, ua.Int32Variant(int32(ua.ServerStateShutdown)), ua.Good},
		{"enumeration beyond its definition", id.ServerState, -1, nil, ua.Int32Variant(99), ua.BadOutOfRange},
		{"enumeration array", id.ServerState, 1, nil, ua.SliceVariant([]int32{0, 1}), ua.Good},
		{"enumeration array beyond", id.ServerState, 1, nil, ua.SliceVariant([]int32{0, -1}), ua.BadOutOfRange},
		{"enumeration as UInt32", id.ServerState, -1, nil, ua.UInt32Variant(1), ua.BadTypeMismatch},
		{"any enumeration", id.Enumeration, -1, nil, ua.Int32Variant(12345), ua.Good},

		{"structure", id.Range, -1, nil, rng, ua.Good},
		{"another structure", id.Range, -1, nil, object(&ua.EUInformation{}), ua.BadTypeMismatch},
		{"Structure takes all", id.Structure, -1, nil, rng, ua.Good},
		{"Structure takes unknown ones", id.Structure, -1, nil, unknown, ua.Good},
		{"unknown for a known type", id.Range, -1, nil, unknown, ua.BadTypeMismatch},
		{"null structure", id.Range, -1, nil, ua.VariantOf(ua.ExtensionObject{}), ua.Good},
		{"derived structure", id.UserIdentityToken, -1, nil, object(&ua.AnonymousIdentityToken{}), ua.Good},
		{"structure array", id.Range, 1, nil, ua.SliceVariant([]ua.ExtensionObject{ua.ObjectOf(&ua.Range{})}), ua.Good},
		{"structure array with another", id.Range, 1, nil, ua.SliceVariant([]ua.ExtensionObject{ua.ObjectOf(&ua.Range{}), ua.ObjectOf(&ua.Argument{})}), ua.BadTypeMismatch},
		{"number for a structure", id.Range, -1, nil, ua.DoubleVariant(1), ua.BadTypeMismatch},

		{"array for a scalar", id.Double, -1, nil, ua.SliceVariant([]float64{1}), ua.BadTypeMismatch},
		{"scalar for an array", id.Double, 1, nil, ua.DoubleVariant(1), ua.BadTypeMismatch},
		{"array", id.Double, 1, nil, ua.SliceVariant([]float64{1}), ua.Good},
		{"empty array", id.Double, 1, nil, ua.SliceVariant([]float64{}), ua.Good},
		{"matrix for an array", id.Double, 1, nil, matrix, ua.BadTypeMismatch},
		{"matrix", id.Double, 2, nil, matrix, ua.Good},
		{"array for a matrix", id.Double, 2, nil, ua.SliceVariant([]float64{1}), ua.BadTypeMismatch},
		{"any rank, scalar", id.Double, -2, nil, ua.DoubleVariant(1), ua.Good},
		{"any rank, matrix", id.Double, -2, nil, matrix, ua.Good},
		{"scalar or array, array", id.Double, -3, nil, ua.SliceVariant([]float64{1}), ua.Good},
		{"scalar or array, matrix", id.Double, -3, nil, matrix, ua.BadTypeMismatch},
		{"one or more dimensions, matrix", id.Double, 0, nil, matrix, ua.Good},
		{"one or more dimensions, scalar", id.Double, 0, nil, ua.DoubleVariant(1), ua.BadTypeMismatch},
		{"within the dimensions", id.Double, 2, []uint32{2, 0}, matrix, ua.Good},
		{"beyond a dimension", id.Double, 2, []uint32{2, 2}, matrix, ua.BadTypeMismatch},
		{"array within its length", id.Double, 1, []uint32{3}, ua.SliceVariant([]float64{1, 2}), ua.Good},
		{"array beyond its length", id.Double, 1, []uint32{1}, ua.SliceVariant([]float64{1, 2}), ua.BadTypeMismatch},

		{"ByteString for an array of Byte", id.Byte, 1, nil, ua.VariantOf([]byte{1, 2}), ua.Good},
		{"ByteString for a Byte", id.Byte, -1, nil, ua.VariantOf([]byte{1, 2}), ua.BadTypeMismatch},
		{"array of Byte for a ByteString", id.ByteString, -1, nil, ua.SliceVariant([]byte{1, 2}), ua.BadTypeMismatch},

		{"null for a number", id.Double, -1, nil, ua.Variant{}, ua.BadTypeMismatch},
		{"null for an enumeration", id.ServerState, -1, nil, ua.Variant{}, ua.BadTypeMismatch},
		{"null for Number", id.Number, -1, nil, ua.Variant{}, ua.BadTypeMismatch},
		{"null for a text", id.String, -1, nil, ua.Variant{}, ua.Good},
		{"null for a structure", id.Range, -1, nil, ua.Variant{}, ua.Good},
		{"null for BaseDataType", id.BaseDataType, -1, nil, ua.Variant{}, ua.Good},
		{"null for an array", id.Double, 1, nil, ua.Variant{}, ua.Good},
	} {
		sh := shape{dataType: s.Node(ns0ID(tt.dataType)), rank: tt.rank, dimensions: tt.dims}
		if _, got := sh.check(s, tt.value); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	sh := shape{dataType: s.Node(ns0ID(id.UserIdentityToken)), rank: -1, exact: true}
	if _, got := sh.check(s, object(&ua.AnonymousIdentityToken{})); got != ua.BadTypeMismatch {
		t.Errorf("a subtype where none is allowed: %v", got)
	}
	sh = shape{dataType: s.Node(ns0ID(id.Byte)), rank: 1}
	if v, _ := sh.check(s, ua.VariantOf([]byte{1, 2})); !v.Equal(ua.SliceVariant([]byte{1, 2})) {
		t.Error("a ByteString is not stored as an array of Byte")
	}
}

func TestDataTypeKinds(t *testing.T) {
	s := newSpace(t)
	for _, tt := range []struct {
		dataType uint32
		want     ua.TypeID
	}{
		{id.Boolean, ua.TypeBoolean},
		{id.DateTime, ua.TypeDateTime},
		{id.UtcTime, ua.TypeDateTime},
		{id.Duration, ua.TypeDouble},
		{id.ImagePNG, ua.TypeByteString},
		{id.Structure, ua.TypeExtensionObject},
		{id.Range, ua.TypeExtensionObject},
		{id.ServerState, ua.TypeInt32},
		{id.Enumeration, ua.TypeInt32},
		{id.BaseDataType, ua.TypeVariant},
		{id.Number, ua.TypeVariant},
		{id.Integer, ua.TypeVariant},
		{id.UInteger, ua.TypeVariant},
		{id.AccessLevelType, ua.TypeByte},
		{id.BaseObjectType, ua.TypeNull},
		{4_000_000, ua.TypeNull},
	} {
		if got := s.DataTypeKind(ns0ID(tt.dataType)); got != tt.want {
			t.Errorf("%d is a %v, want %v", tt.dataType, got, tt.want)
		}
	}
}

// Every DataType of the standard leads to a built-in type, and every encoding
// node to its DataType.
func TestNS0TypesAreComplete(t *testing.T) {
	s := newSpace(t)
	encodings := 0
	for n := range s.index.table.Load().all() {
		switch n.class {
		case classDataType:
			if kind, builtin := n.typeKind(); kind == kindUnknown {
				t.Errorf("DataType %v %s is a %v", n.id, n.BrowseName().Name, builtin)
			}
		case classObject, classVariable:
			if n.TypeDefinition() == nil {
				t.Errorf("%v %s has no type definition", n.id, n.BrowseName().Name)
			}
			if n.BrowseName().Name == "Default Binary" {
				encodings++
				if s.EncodedDataType(n.id) == nil {
					t.Errorf("%v encodes nothing", n.id)
				}
			}
		}
	}
	if encodings < 100 {
		t.Errorf("%d binary encodings", encodings)
	}
}
