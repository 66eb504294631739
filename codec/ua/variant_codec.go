package ua

import (
	"encoding/binary"

	"github.com/uahive/uahive/codec"
)

// The bits of a Variant's encoding byte beside the type.
const (
	variantTypeMask = 0x3f
	variantDims     = 0x40
	variantArray    = 0x80
)

// AppendTo appends the encoding. What is nested deeper than MaxDepth is
// written as null.
func (v Variant) AppendTo(dst []byte) []byte { return v.appendDepth(dst, 0) }

func (v Variant) appendDepth(dst []byte, depth int) []byte {
	if depth >= MaxDepth {
		return append(dst, 0)
	}
	if v.array {
		return v.appendArray(dst, depth)
	}
	switch v.typ {
	case TypeBoolean, TypeSByte, TypeByte:
		return append(dst, byte(v.typ), byte(v.bits))
	case TypeInt16, TypeUInt16:
		return append(dst, byte(v.typ), byte(v.bits), byte(v.bits>>8))
	case TypeInt32, TypeUInt32, TypeFloat, TypeStatusCode:
		return binary.LittleEndian.AppendUint32(append(dst, byte(v.typ)), uint32(v.bits))
	case TypeInt64, TypeUInt64, TypeDouble, TypeDateTime:
		return binary.LittleEndian.AppendUint64(append(dst, byte(v.typ)), v.bits)
	case TypeString, TypeXMLElement:
		return codec.AppendStringValue(append(dst, byte(v.typ)), v.text())
	case TypeByteString:
		return codec.AppendBytes(append(dst, byte(v.typ)), v.bytes())
	}
	return v.appendBoxed(dst, depth)
}

// appendBoxed writes null and the scalars that do not fit into the Variant.
func (v Variant) appendBoxed(dst []byte, depth int) []byte {
	dst = append(dst, byte(v.typ))
	switch v.typ {
	case TypeGuid:
		dst = unbox[Guid](v).AppendTo(dst)
	case TypeNodeID:
		dst = unbox[NodeID](v).AppendTo(dst)
	case TypeExpandedNodeID:
		dst = unbox[ExpandedNodeID](v).AppendTo(dst)
	case TypeQualifiedName:
		dst = unbox[QualifiedName](v).AppendTo(dst)
	case TypeLocalizedText:
		dst = unbox[LocalizedText](v).AppendTo(dst)
	case TypeExtensionObject:
		dst = unbox[ExtensionObject](v).appendDepth(dst, depth+1)
	case TypeDataValue:
		dst = unbox[DataValue](v).appendDepth(dst, depth+1)
	case TypeDiagnosticInfo:
		dst = unbox[DiagnosticInfo](v).AppendTo(dst)
	}
	return dst
}

func (v Variant) appendArray(dst []byte, depth int) []byte {
	mask := byte(v.typ) | variantArray
	if v.dims != nil {
		mask |= variantDims
	}
	dst = append(dst, mask)
	if v.ptr == nil {
		dst = codec.AppendInt32(dst, -1)
	} else {
		dst = codec.AppendInt32(dst, int32(v.bits))
		dst = v.appendElements(dst, depth+1)
	}
	if v.dims != nil {
		dst = codec.AppendSlice(dst, *v.dims)
	}
	return dst
}

func (v Variant) appendElements(dst []byte, depth int) []byte {
	switch v.typ {
	case TypeBoolean, TypeSByte, TypeByte:
		return append(dst, v.bytes()...)
	case TypeInt16, TypeUInt16:
		return codec.AppendElements(dst, elems[uint16](v))
	case TypeInt32, TypeUInt32, TypeFloat, TypeStatusCode:
		return codec.AppendElements(dst, elems[uint32](v))
	case TypeInt64, TypeUInt64, TypeDouble, TypeDateTime:
		return codec.AppendElements(dst, elems[uint64](v))
	case TypeString, TypeXMLElement:
		for _, s := range elems[string](v) {
			dst = codec.AppendStringValue(dst, s)
		}
	case TypeByteString:
		for _, b := range elems[[]byte](v) {
			dst = codec.AppendBytes(dst, b)
		}
	case TypeGuid:
		for _, g := range elems[Guid](v) {
			dst = g.AppendTo(dst)
		}
	case TypeNodeID:
		for _, n := range elems[NodeID](v) {
			dst = n.AppendTo(dst)
		}
	case TypeExpandedNodeID:
		for _, n := range elems[ExpandedNodeID](v) {
			dst = n.AppendTo(dst)
		}
	case TypeQualifiedName:
		for _, q := range elems[QualifiedName](v) {
			dst = q.AppendTo(dst)
		}
	case TypeLocalizedText:
		for _, t := range elems[LocalizedText](v) {
			dst = t.AppendTo(dst)
		}
	case TypeExtensionObject:
		s := elems[ExtensionObject](v)
		for i := range s {
			dst = s[i].appendDepth(dst, depth)
		}
	case TypeDataValue:
		s := elems[DataValue](v)
		for i := range s {
			dst = s[i].appendDepth(dst, depth)
		}
	case TypeVariant:
		for _, e := range elems[Variant](v) {
			dst = e.appendDepth(dst, depth)
		}
	case TypeDiagnosticInfo:
		s := elems[DiagnosticInfo](v)
		for i := range s {
			dst = s[i].AppendTo(dst)
		}
	}
	return dst
}

// numberSize has, for each encoding byte of a scalar that fits into 8 bytes,
// its size.
var numberSize = [256]uint8{
	TypeBoolean: 1, TypeSByte: 1, TypeByte: 1, TypeInt16: 2, TypeUInt16: 2, TypeInt32: 4, TypeUInt32: 4, TypeInt64: 8, TypeUInt64: 8,
	TypeFloat: 4, TypeDouble: 8, TypeDateTime: 8, TypeStatusCode: 4,
}

// DecodeFrom reads a Variant. A null one is not a level of nesting, so that
// what an encoder cut off at its limit can be read.
func (v *Variant) DecodeFrom(d *codec.Decoder) {
	mask := d.Uint8()
	if mask == 0 {
		*v = Variant{}
		return
	}
	if !d.Enter() {
		*v = Variant{}
		d.Leave()
		return
	}
	if size := numberSize[mask]; size != 0 {
		bits := d.Bits(int(size))
		if mask == byte(TypeBoolean) && bits != 0 {
			bits = 1 // any byte but 0 is true (Part 6, 5.2.2.1)
		}
		*v = Variant{typ: TypeID(mask), bits: bits}
		d.Leave()
		return
	}
	*v = Variant{}
	typ := TypeID(mask & variantTypeMask)
	if typ > TypeDiagnosticInfo && typ <= 31 {
		// Reserved types are taken for ByteStrings (Part 6, 5.2.2.16).
		typ = TypeByteString
	}
	if mask&(variantArray|variantDims) == 0 {
		v.decodeScalar(d, typ)
	} else {
		v.decodeArray(d, typ, mask)
	}
	if d.Err() != nil {
		*v = Variant{}
	}
	d.Leave()
}

// decodeScalar reads all but null and the numbers of numberSize.
func (v *Variant) decodeScalar(d *codec.Decoder, typ TypeID) {
	v.typ = typ
	switch typ {
	case TypeString, TypeXMLElement:
		*v = textVariant(typ, d.String())
	case TypeByteString:
		*v = bytesVariant(d.Bytes())
	case TypeGuid:
		p := new(Guid)
		p.DecodeFrom(d)
		*v = boxed(typ, p)
	case TypeNodeID:
		p := new(NodeID)
		p.DecodeFrom(d)
		*v = boxed(typ, p)
	case TypeExpandedNodeID:
		p := new(ExpandedNodeID)
		p.DecodeFrom(d)
		*v = boxed(typ, p)
	case TypeQualifiedName:
		p := new(QualifiedName)
		p.DecodeFrom(d)
		*v = boxed(typ, p)
	case TypeLocalizedText:
		p := new(LocalizedText)
		p.DecodeFrom(d)
		*v = boxed(typ, p)
	case TypeExtensionObject:
		p := new(ExtensionObject)
		p.DecodeFrom(d)
		*v = boxed(typ, p)
	case TypeDataValue:
		p := new(DataValue)
		p.DecodeFrom(d)
		*v = boxed(typ, p)
	case TypeDiagnosticInfo:
		p := new(DiagnosticInfo)
		p.DecodeFrom(d)
		*v = boxed(typ, p)
	default:
		// Among them a Variant: one does not directly contain another.
		d.Fail(codec.ErrDecoding)
	}
}

func (v *Variant) decodeArray(d *codec.Decoder, typ TypeID, mask byte) {
	if mask&variantArray == 0 {
		d.Fail(codec.ErrDecoding) // dimensions of a scalar
		return
	}
	switch typ {
	case TypeBoolean:
		*v = fixed[bool](d, typ)
	case TypeSByte, TypeByte:
		*v = fixed[uint8](d, typ)
	case TypeInt16, TypeUInt16:
		*v = fixed[uint16](d, typ)
	case TypeInt32, TypeUInt32, TypeFloat, TypeStatusCode:
		*v = fixed[uint32](d, typ)
	case TypeInt64, TypeUInt64, TypeDouble, TypeDateTime:
		*v = fixed[uint64](d, typ)
	case TypeString, TypeXMLElement:
		n := d.ArrayLen(4)
		s := makeElems[string](n)
		for i := range s {
			s[i] = d.String()
		}
		*v = arrayVariant(typ, s)
	case TypeByteString:
		n := d.ArrayLen(4)
		s := makeElems[[]byte](n)
		for i := range s {
			s[i] = d.Bytes()
		}
		*v = arrayVariant(typ, s)
	case TypeGuid:
		*v = decodeElems[Guid](d, typ, 16)
	case TypeNodeID:
		*v = decodeElems[NodeID](d, typ, 2)
	case TypeExpandedNodeID:
		*v = decodeElems[ExpandedNodeID](d, typ, 2)
	case TypeQualifiedName:
		*v = decodeElems[QualifiedName](d, typ, 6)
	case TypeLocalizedText:
		*v = decodeElems[LocalizedText](d, typ, 1)
	case TypeExtensionObject:
		*v = decodeElems[ExtensionObject](d, typ, 3)
	case TypeDataValue:
		*v = decodeElems[DataValue](d, typ, 1)
	case TypeVariant:
		*v = decodeElems[Variant](d, typ, 1)
	case TypeDiagnosticInfo:
		*v = decodeElems[DiagnosticInfo](d, typ, 1)
	default:
		d.Fail(codec.ErrDecoding)
		return
	}
	if mask&variantDims != 0 {
		v.decodeDims(d)
	}
}

// decodeDims reads the dimensions and checks that they describe exactly the
// elements that were read.
func (v *Variant) decodeDims(d *codec.Decoder) {
	n := max(d.ArrayLen(4), 0)
	if n > maxRank {
		d.Fail(codec.ErrLimits)
	}
	dims := codec.ReadElements[int32](d, nil, n)
	if d.Err() != nil {
		return
	}
	if count, ok := product(dims); !ok || count != int(v.bits) {
		d.Fail(codec.ErrDecoding)
		return
	}
	*v = v.withDims(dims)
}

// makeElems returns nil for a null array and otherwise n elements.
func makeElems[T any](n int) []T {
	if n < 0 {
		return nil
	}
	return make([]T, n)
}

// fixed reads an array that is copied as a block. T has the size of the
// elements.
func fixed[T codec.Fixed](d *codec.Decoder, typ TypeID) Variant {
	return arrayVariant(typ, codec.ReadSlice[T](d, nil))
}

// decodable is a built-in type with a decoder of its own.
type decodable[T any] interface {
	*T
	DecodeFrom(d *codec.Decoder)
}

func decodeElems[T any, P decodable[T]](d *codec.Decoder, typ TypeID, minSize int) Variant {
	n := d.ArrayLen(minSize)
	s := makeElems[T](n)
	for i := range s {
		P(&s[i]).DecodeFrom(d)
		if d.Err() != nil {
			return Variant{}
		}
	}
	return arrayVariant(typ, s)
}
