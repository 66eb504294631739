package main

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/gopcua/opcua/ua"
)

// typeCase is what is written to Types.Scalar.<name> and Types.Array.<name>,
// each value in turn, and read back.
type typeCase struct {
	name    string
	scalars []any
	arrays  []any
}

// of makes the cases of one type: each value as a scalar; all of them, one of
// them and none of them as an array.
func of[T any](name string, values ...T) typeCase {
	c := typeCase{name: name}
	for _, v := range values {
		c.scalars = append(c.scalars, v)
	}
	c.arrays = []any{append(append([]T{}, values...), values...), values[:1], []T{}}
	return c
}

// typeCases covers every built-in type that a variable of the demo has.
func typeCases() []typeCase {
	const guid = "72962b91-fa75-4ae6-8d28-b404dc7daf63"
	bytes := of[uint8]("Byte", 0, 255)
	// A []byte would go out as a ByteString.
	bytes.arrays = []any{ua.ByteArray{0, 255, 7}, ua.ByteArray{9}, ua.ByteArray{}}
	// This client cannot encode the elements of such an array: it writes their
	// number and then nothing. What it can decode is checked where all is read.
	byteStrings := of("ByteString", []byte{0, 1, 255}, []byte{})
	byteStrings.arrays = []any{[][]byte{}}
	variant := typeCase{
		name:    "Variant",
		scalars: []any{4.5, "text", []uint16{1, 2}},
		arrays:  []any{[]*ua.Variant{ua.MustVariant(int32(7)), ua.MustVariant("mixed"), ua.MustVariant(true)}},
	}
	return []typeCase{
		of("Boolean", true, false),
		of[int8]("SByte", math.MinInt8, math.MaxInt8),
		bytes,
		of[int16]("Int16", math.MinInt16, math.MaxInt16),
		of[uint16]("UInt16", 0, math.MaxUint16),
		of[int32]("Int32", math.MinInt32, math.MaxInt32),
		of[uint32]("UInt32", 0, math.MaxUint32),
		of[int64]("Int64", math.MinInt64, math.MaxInt64),
		of[uint64]("UInt64", 0, math.MaxUint64),
		of("Float", float32(-1.5), float32(math.Inf(1)), 0),
		of("Double", math.Pi, math.Inf(-1), math.SmallestNonzeroFloat64, math.NaN()),
		of("String", "plain", "Grüße 你好 🏭", ""),
		of("DateTime", time.Date(2026, 11, 30, 12, 30, 15, 123456700, time.UTC), time.Unix(0, 0).UTC()),
		of("Guid", ua.NewGUID(guid)),
		byteStrings,
		of("XmlElement", ua.XMLElement("<press id='1'>ü</press>")),
		of(
			"NodeId", ua.NewNumericNodeID(0, 2258), ua.NewNumericNodeID(2, 70000), ua.NewStringNodeID(2, "Plant.Press1"),
			ua.NewGUIDNodeID(2, guid), ua.NewByteStringNodeID(2, []byte{1, 2}),
		),
		of(
			"ExpandedNodeId", ua.NewStringExpandedNodeID(2, "Plant"),
			ua.NewExpandedNodeID(ua.NewStringNodeID(0, "Far"), "urn:elsewhere", 3),
		),
		of("StatusCode", ua.StatusBadNodeIDUnknown, ua.StatusOK),
		of("QualifiedName", &ua.QualifiedName{NamespaceIndex: 2, Name: "name"}, &ua.QualifiedName{Name: "Grüße"}),
		of("LocalizedText", ua.NewLocalizedTextWithLocale("Druck", "de"), ua.NewLocalizedText("no locale")),
		of(
			"ExtensionObject",
			ua.NewExtensionObject(&ua.Range{Low: -1.5, High: 99.25}),
			ua.NewExtensionObject(&ua.EUInformation{
				NamespaceURI: "http://www.opcfoundation.org/UA/units/un/cefact", UnitID: 4408652,
				DisplayName: ua.NewLocalizedText("°C"), Description: ua.NewLocalizedText("degree Celsius"),
			}),
		),
		variant,
	}
}

// same is equality of values that also holds for NaN, for times in different
// zones and for node ids in different encodings.
func same(a, b any) bool {
	switch x := a.(type) {
	case float32:
		y, ok := b.(float32)
		return ok && (x == y || x != x && y != y)
	case float64:
		y, ok := b.(float64)
		return ok && (x == y || x != x && y != y)
	case time.Time:
		y, ok := b.(time.Time)
		return ok && x.Equal(y)
	case *ua.NodeID:
		y, ok := b.(*ua.NodeID)
		return ok && x.String() == y.String()
	case *ua.ExpandedNodeID:
		y, ok := b.(*ua.ExpandedNodeID)
		return ok && x.NodeID.StringID() == y.NodeID.StringID() && x.NodeID.Namespace() == y.NodeID.Namespace() &&
			x.NamespaceURI == y.NamespaceURI && x.ServerIndex == y.ServerIndex
	case *ua.Variant:
		y, ok := b.(*ua.Variant)
		return ok && x.Type() == y.Type() && same(x.Value(), y.Value())
	case *ua.ExtensionObject:
		y, ok := b.(*ua.ExtensionObject)
		return ok && same(x.TypeID, y.TypeID) && reflect.DeepEqual(x.Value, y.Value)
	}
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	if va.Kind() == reflect.Slice && vb.Kind() == reflect.Slice {
		if va.Type() != vb.Type() || va.Len() != vb.Len() {
			return false
		}
		for i := range va.Len() {
			if !same(va.Index(i).Interface(), vb.Index(i).Interface()) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

// describe shows a variant's type, shape and value.
func describe(v *ua.Variant) string {
	if v == nil {
		return "no value"
	}
	return fmt.Sprintf("%v %v %v", v.Type(), v.ArrayDimensions(), v.Value())
}
