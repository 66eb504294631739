package ua

import (
	"unsafe"
)

// Variant holds a value of any built-in type: a scalar, an array, or a matrix
// with two or more dimensions (Part 6, 5.2.2.16). The zero value is null.
//
// It is a small value that is passed by copy and treated as immutable: what it
// refers to is shared between copies and must not be changed. Scalars of up
// to 8 bytes, Strings, ByteStrings and one-dimensional arrays are held without
// a further allocation.
//
// Variants are compared with Equal; the == operator is not available.
type Variant struct {
	_ [0]func()
	// ptr is the data of a String, ByteString or array, or the address of a
	// scalar that does not fit into bits.
	ptr unsafe.Pointer
	// dims are the dimensions of a matrix, otherwise nil.
	dims *[]int32
	// bits is a scalar of up to 8 bytes, or the length of what ptr refers to.
	bits  uint64
	typ   TypeID
	array bool
}

// Type returns the built-in type of the value or of its elements; TypeNull
// for a null Variant.
func (v Variant) Type() TypeID { return v.typ }

// IsNull reports whether there is no value at all. A null array has a type
// and is not null in this sense.
func (v Variant) IsNull() bool { return v.typ == TypeNull }

// IsArray reports whether the value is an array or a matrix.
func (v Variant) IsArray() bool { return v.array }

// IsScalar reports whether the value is neither null nor an array.
func (v Variant) IsScalar() bool { return v.typ != TypeNull && !v.array }

// Len returns the number of elements, over all dimensions; 1 for a scalar and
// 0 for null.
func (v Variant) Len() int {
	switch {
	case v.array:
		return int(v.bits)
	case v.typ == TypeNull:
		return 0
	}
	return 1
}

// Dimensions returns nil for a scalar, the length of an array, or the
// dimensions of a matrix. The slice must not be changed.
func (v Variant) Dimensions() []int32 {
	switch {
	case v.dims != nil:
		return *v.dims
	case v.array:
		return []int32{int32(v.bits)}
	}
	return nil
}

// Rank returns the number of dimensions: 0 for a scalar or null, 1 for an
// array, 2 or more for a matrix.
func (v Variant) Rank() int {
	switch {
	case v.dims != nil:
		return len(*v.dims)
	case v.array:
		return 1
	}
	return 0
}

// elems views the elements of an array as what they are. T is the type that
// belongs to v.typ.
func elems[T any](v Variant) []T { return unsafe.Slice((*T)(v.ptr), int(v.bits)) }

// arrayVariant is the opposite of elems.
func arrayVariant[T any](typ TypeID, s []T) Variant {
	return Variant{ptr: unsafe.Pointer(unsafe.SliceData(s)), bits: uint64(len(s)), typ: typ, array: true}
}

// text views a scalar String or XmlElement.
func (v Variant) text() string { return unsafe.String((*byte)(v.ptr), int(v.bits)) }

// bytes views a scalar ByteString.
func (v Variant) bytes() []byte { return unsafe.Slice((*byte)(v.ptr), int(v.bits)) }

func textVariant(typ TypeID, s string) Variant {
	return Variant{ptr: unsafe.Pointer(unsafe.StringData(s)), bits: uint64(len(s)), typ: typ}
}

func bytesVariant(b []byte) Variant {
	return Variant{ptr: unsafe.Pointer(unsafe.SliceData(b)), bits: uint64(len(b)), typ: TypeByteString}
}

// boxed returns a Variant that refers to a scalar which does not fit.
func boxed[T any](typ TypeID, p *T) Variant { return Variant{ptr: unsafe.Pointer(p), typ: typ} }

// unbox is the opposite of boxed.
func unbox[T any](v Variant) *T { return (*T)(v.ptr) }
