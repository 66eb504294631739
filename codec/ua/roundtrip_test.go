package ua

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/uahive/uahive/codec"
)

func texts() *rapid.Generator[string] { return rapid.StringN(0, 8, 40) }

func blobsOrNil() *rapid.Generator[[]byte] {
	return rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 8), rapid.Just([]byte(nil)))
}

func guids() *rapid.Generator[Guid] {
	return rapid.Custom(func(t *rapid.T) Guid {
		return Guid(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "guid"))
	})
}

func nodeIDs() *rapid.Generator[NodeID] {
	return rapid.Custom(func(t *rapid.T) NodeID {
		ns := rapid.Uint16().Draw(t, "namespace")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return StringID(ns, texts().Draw(t, "text"))
		case 1:
			return GUIDID(ns, guids().Draw(t, "guid"))
		case 2:
			return OpaqueID(ns, blobsOrNil().Draw(t, "opaque"))
		}
		return NumericID(ns, rapid.Uint32().Draw(t, "number"))
	})
}

func expandedNodeIDs() *rapid.Generator[ExpandedNodeID] {
	return rapid.Custom(func(t *rapid.T) ExpandedNodeID {
		return ExpandedNodeID{nodeIDs().Draw(t, "id"), texts().Draw(t, "uri"), rapid.Uint32().Draw(t, "server")}
	})
}

func qualifiedNames() *rapid.Generator[QualifiedName] {
	return rapid.Custom(func(t *rapid.T) QualifiedName {
		return QualifiedName{rapid.Uint16().Draw(t, "namespace"), texts().Draw(t, "name")}
	})
}

func localizedTexts() *rapid.Generator[LocalizedText] {
	return rapid.Custom(func(t *rapid.T) LocalizedText {
		return LocalizedText{texts().Draw(t, "locale"), texts().Draw(t, "text")}
	})
}

func statusCodes() *rapid.Generator[StatusCode] { return rapid.Map(rapid.Uint32(), toStatus) }
func toStatus(n uint32) StatusCode              { return StatusCode(n) }
func dateTimes() *rapid.Generator[DateTime]     { return rapid.Map(rapid.Int64(), toDateTime) }
func toDateTime(n int64) DateTime               { return DateTime(n) }

func dataValues(depth int) *rapid.Generator[DataValue] {
	return rapid.Custom(func(t *rapid.T) DataValue {
		v := DataValue{
			Value: anyVariant(depth-1).Draw(t, "value"), Status: statusCodes().Draw(t, "status"),
			SourceTimestamp: dateTimes().Draw(t, "source"), ServerTimestamp: dateTimes().Draw(t, "server"),
		}
		if v.SourceTimestamp != 0 {
			v.SourcePicoseconds = rapid.Uint16Range(0, 9999).Draw(t, "picoseconds")
		}
		return v
	})
}

func extensionObjects(depth int) *rapid.Generator[ExtensionObject] {
	return rapid.Custom(func(t *rapid.T) ExtensionObject {
		switch rapid.IntRange(0, 4).Draw(t, "object") {
		case 0:
			return ExtensionObject{}
		case 1:
			return ExtensionObject{TypeID: StringID(1, "T"), Raw: blobsOrNil().Draw(t, "raw"), Encoding: EncodingXML}
		case 2:
			return ExtensionObject{TypeID: NumericID(1, 886), Raw: blobsOrNil().Draw(t, "raw"), Encoding: EncodingBinary}
		case 3:
			return ObjectOf(&LiteralOperand{Value: anyVariant(depth-1).Draw(t, "literal")})
		}
		return ObjectOf(&Range{rapid.Float64().Draw(t, "low"), 1})
	})
}

func diagnosticInfos() *rapid.Generator[DiagnosticInfo] {
	return rapid.Custom(func(t *rapid.T) DiagnosticInfo {
		v := DiagnosticInfo{
			Mask: 0x3f, SymbolicID: rapid.Int32().Draw(t, "symbol"), AdditionalInfo: texts().Draw(t, "info"),
			InnerStatusCode: statusCodes().Draw(t, "status"),
		}
		if rapid.Bool().Draw(t, "inner") {
			v.InnerDiagnosticInfo = &DiagnosticInfo{}
		}
		return v
	})
}

// some draws a scalar, an array or a matrix.
func some[T Builtin](t *rapid.T, g *rapid.Generator[T]) Variant {
	shape := rapid.IntRange(0, 3).Draw(t, "shape")
	if TypeOf[T]() == TypeVariant && shape == 0 {
		shape = 1 // a Variant is only an element
	}
	switch shape {
	case 0:
		return VariantOf(g.Draw(t, "scalar"))
	case 1:
		return SliceVariant(rapid.SliceOfN(g, 0, 4).Draw(t, "array"))
	case 2:
		return SliceVariant([]T(nil))
	}
	rows, columns := rapid.Int32Range(1, 3).Draw(t, "rows"), rapid.Int32Range(1, 3).Draw(t, "columns")
	n := int(rows * columns)
	return must(MatrixVariant(rapid.SliceOfN(g, n, n).Draw(t, "matrix"), rows, columns))
}

// anyVariant draws Variants of all types and shapes.
func anyVariant(depth int) *rapid.Generator[Variant] {
	return rapid.Custom(func(t *rapid.T) Variant {
		last := TypeDiagnosticInfo
		if depth <= 0 {
			last = TypeLocalizedText
		}
		typ := TypeID(rapid.IntRange(0, int(last)).Draw(t, "type"))
		switch typ {
		case TypeBoolean:
			return some(t, rapid.Bool())
		case TypeSByte:
			return some(t, rapid.Int8())
		case TypeByte:
			return some(t, rapid.Uint8())
		case TypeInt16:
			return some(t, rapid.Int16())
		case TypeUInt16:
			return some(t, rapid.Uint16())
		case TypeInt32:
			return some(t, rapid.Int32())
		case TypeUInt32:
			return some(t, rapid.Uint32())
		case TypeInt64:
			return some(t, rapid.Int64())
		case TypeUInt64:
			return some(t, rapid.Uint64())
		case TypeFloat:
			return some(t, rapid.Float32())
		case TypeDouble:
			return some(t, rapid.Float64())
		case TypeString:
			return some(t, texts())
		case TypeDateTime:
			return some(t, dateTimes())
		case TypeGuid:
			return some(t, guids())
		case TypeByteString:
			return some(t, blobsOrNil())
		case TypeXMLElement:
			return some(t, rapid.Map(texts(), func(s string) XMLElement { return XMLElement(s) }))
		case TypeNodeID:
			return some(t, nodeIDs())
		case TypeExpandedNodeID:
			return some(t, expandedNodeIDs())
		case TypeStatusCode:
			return some(t, statusCodes())
		case TypeQualifiedName:
			return some(t, qualifiedNames())
		case TypeLocalizedText:
			return some(t, localizedTexts())
		case TypeExtensionObject:
			return some(t, extensionObjects(depth))
		case TypeDataValue:
			return some(t, dataValues(depth))
		case TypeVariant:
			return some(t, anyVariant(depth-1))
		case TypeDiagnosticInfo:
			return some(t, diagnosticInfos())
		}
		return Variant{}
	})
}

// Whatever is written is read back as an equal value, and clones and texts
// exist for it.
func TestVariantRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyVariant(3).Draw(t, "value")
		raw := v.AppendTo(nil)
		d := codec.NewDecoder(raw, nil)
		d.Alias(rapid.Bool().Draw(t, "alias"))
		var got Variant
		got.DecodeFrom(d)
		if d.Err() != nil || d.Remaining() != 0 {
			t.Fatalf("%v: %v, %d bytes left", v, d.Err(), d.Remaining())
		}
		if !got.Equal(v) || !v.Equal(got) || got.Rank() != v.Rank() {
			t.Fatalf("read %v, wrote %v", got, v)
		}
		clone := got.Clone()
		clear(raw)
		if !clone.Equal(v) {
			t.Fatalf("cloned %v to %v", v, clone)
		}
		// A []byte alone says ByteString, and a slice does not say its rank.
		again, err := ValueOf(v.Any())
		if err != nil || v.Rank() < 2 && v.Type() != TypeByte && !again.Equal(v) {
			t.Fatalf("ValueOf(%#v) = %v, %v", v.Any(), again, err)
		}
		_ = v.String()
	})
}

// Every combination of the fields of a DataValue, with room in the buffer and
// without, is written alike and read back.
func TestDataValueRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := dataValues(2).Draw(t, "value")
		raw := v.AppendTo(nil)
		if roomy := v.AppendTo(make([]byte, 0, len(raw)+64)); !bytes.Equal(raw, roomy) {
			t.Fatalf("% x and % x", raw, roomy)
		}
		var got DataValue
		d := codec.NewDecoder(raw, nil)
		if got.DecodeFrom(d); d.Finish() != nil || !got.Equal(v) || !got.Clone().Equal(v) {
			t.Fatalf("read %v, wrote %v: %v", got, v, d.Err())
		}
	})
}

func TestNodeIDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := expandedNodeIDs().Draw(t, "id")
		var got ExpandedNodeID
		got.DecodeFrom(codec.NewDecoder(e.AppendTo(nil), nil))
		if got != e {
			t.Fatalf("read %v, wrote %v", got, e)
		}
		n := e.NodeID
		if got, err := ParseNodeID(n.String()); err != nil || got != n || got.Hash() != n.Hash() {
			t.Fatalf("parsed %v of %v: %v", got, n, err)
		}
		if e.NamespaceURI != "" {
			e.NodeID.ns = 0 // the URI takes its place in the text
		}
		if got, err := ParseExpandedNodeID(e.String()); err != nil || got != e {
			t.Fatalf("parsed %v of %v: %v", got, e, err)
		}
	})
}

// What an application keeps in a structure outlives a round trip through an
// ExtensionObject, also when the type is not known.
func TestRegisteredStructure(t *testing.T) {
	id := NumericID(9, 4711)
	in := ObjectOf(&custom{id: id, text: "hello"})
	raw := in.AppendTo(nil)

	var opaque ExtensionObject
	d := codec.NewDecoder(raw, nil)
	if opaque.DecodeFrom(d); d.Err() != nil || opaque.Value != nil || opaque.TypeID != id {
		t.Fatalf("unknown type read as %v, %v", opaque, d.Err())
	}
	if !bytes.Equal(opaque.AppendTo(nil), raw) || !opaque.Equal(in) || !in.Clone().Equal(opaque) {
		t.Error("an opaque body is not written as it came")
	}

	RegisterStructure(id, func() Structure { return &custom{id: id} })
	var known ExtensionObject
	d = codec.NewDecoder(raw, nil)
	if known.DecodeFrom(d); d.Err() != nil {
		t.Fatal(d.Err())
	}
	if c, ok := known.Value.(*custom); !ok || c.text != "hello" {
		t.Errorf("known type read as %#v", known.Value)
	}
	clone := known.Clone()
	if c, ok := clone.Value.(*custom); !ok || c == known.Value || c.text != "hello" {
		t.Errorf("cloned to %#v", clone.Value)
	}
}

type custom struct {
	id   NodeID
	text string
}

func (c *custom) EncodingID() NodeID          { return c.id }
func (c *custom) AppendTo(dst []byte) []byte  { return codec.AppendString(dst, c.text) }
func (c *custom) DecodeFrom(d *codec.Decoder) { c.text = d.String() }
