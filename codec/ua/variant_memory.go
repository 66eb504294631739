package ua

import "github.com/uahive/uahive/codec"

// Memory returns the encoded elements of an array of numbers, Booleans or times
// as the memory that they lie in. It is nil for every other value, and where
// memory and encoding differ. The bytes must not be changed.
func (v Variant) Memory() []byte {
	if !v.array || v.ptr == nil {
		return nil
	}
	var b []byte
	switch v.typ {
	case TypeBoolean, TypeSByte, TypeByte:
		b = elems[byte](v)
	case TypeInt16, TypeUInt16:
		b, _ = codec.Memory(elems[uint16](v))
	case TypeInt32, TypeUInt32, TypeFloat, TypeStatusCode:
		b, _ = codec.Memory(elems[uint32](v))
	case TypeInt64, TypeUInt64, TypeDouble, TypeDateTime:
		b, _ = codec.Memory(elems[uint64](v))
	}
	return b
}

// AppendArrayHead appends what stands in front of the elements in the encoding
// of an array that is not null, and AppendArrayTail what stands behind them.
func (v Variant) AppendArrayHead(dst []byte) []byte {
	mask := byte(v.typ) | variantArray
	if v.dims != nil {
		mask |= variantDims
	}
	return codec.AppendInt32(append(dst, mask), int32(v.bits))
}

// AppendArrayTail appends the dimensions of a matrix, and nothing for an array.
func (v Variant) AppendArrayTail(dst []byte) []byte {
	if v.dims == nil {
		return dst
	}
	return codec.AppendSlice(dst, *v.dims)
}

// Keep is Clone for a value that was decoded: what may lie in the memory of a
// message is copied, while arrays of fixed-size elements are kept, since a
// [codec.Decoder] puts them where nothing else is.
func (v Variant) Keep() Variant {
	if v.array && fixedSize(v.typ) != 0 {
		return v
	}
	return v.Clone()
}
