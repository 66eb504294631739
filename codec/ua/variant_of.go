package ua

import (
	"math"
	"reflect"
	"time"
)

// Builtin are the Go types of the built-in types: the elements that a Variant
// may hold. A Variant itself is only an element of arrays.
type Builtin interface {
	bool | int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64 |
		string | DateTime | Guid | []byte | XMLElement | NodeID | ExpandedNodeID | StatusCode |
		QualifiedName | LocalizedText | ExtensionObject | DataValue | Variant | DiagnosticInfo
}

// VariantOf returns a scalar. A Variant is returned as it is, since a Variant
// does not directly contain another one (Part 6, 5.2.2.16). Slices, maps and
// pointers inside v are shared, not copied.
func VariantOf[T Builtin](v T) Variant {
	switch p := any(&v).(type) {
	case *bool:
		return BooleanVariant(*p)
	case *int8:
		return Variant{typ: TypeSByte, bits: uint64(uint8(*p))}
	case *uint8:
		return Variant{typ: TypeByte, bits: uint64(*p)}
	case *int16:
		return Variant{typ: TypeInt16, bits: uint64(uint16(*p))}
	case *uint16:
		return Variant{typ: TypeUInt16, bits: uint64(*p)}
	case *int32:
		return Int32Variant(*p)
	case *uint32:
		return UInt32Variant(*p)
	case *int64:
		return Int64Variant(*p)
	case *uint64:
		return Variant{typ: TypeUInt64, bits: *p}
	case *float32:
		return Variant{typ: TypeFloat, bits: uint64(math.Float32bits(*p))}
	case *float64:
		return DoubleVariant(*p)
	case *string:
		return StringVariant(*p)
	case *DateTime:
		return DateTimeVariant(*p)
	case *[]byte:
		return bytesVariant(*p)
	case *XMLElement:
		return textVariant(TypeXMLElement, string(*p))
	case *StatusCode:
		return Variant{typ: TypeStatusCode, bits: uint64(*p)}
	case *Guid:
		return box(TypeGuid, *p)
	case *NodeID:
		return box(TypeNodeID, *p)
	case *ExpandedNodeID:
		return box(TypeExpandedNodeID, *p)
	case *QualifiedName:
		return box(TypeQualifiedName, *p)
	case *LocalizedText:
		return box(TypeLocalizedText, *p)
	case *ExtensionObject:
		return box(TypeExtensionObject, *p)
	case *DataValue:
		return box(TypeDataValue, *p)
	case *DiagnosticInfo:
		return box(TypeDiagnosticInfo, *p)
	case *Variant:
		return *p
	}
	return Variant{}
}

// box moves a scalar to the heap.
func box[T any](typ TypeID, v T) Variant { return boxed(typ, &v) }

// BooleanVariant returns a scalar Boolean.
func BooleanVariant(v bool) Variant {
	if v {
		return Variant{typ: TypeBoolean, bits: 1}
	}
	return Variant{typ: TypeBoolean}
}

// Int32Variant returns a scalar Int32.
func Int32Variant(v int32) Variant { return Variant{typ: TypeInt32, bits: uint64(uint32(v))} }

// UInt32Variant returns a scalar UInt32.
func UInt32Variant(v uint32) Variant { return Variant{typ: TypeUInt32, bits: uint64(v)} }

// Int64Variant returns a scalar Int64.
func Int64Variant(v int64) Variant { return Variant{typ: TypeInt64, bits: uint64(v)} }

// DoubleVariant returns a scalar Double.
func DoubleVariant(v float64) Variant { return Variant{typ: TypeDouble, bits: math.Float64bits(v)} }

// StringVariant returns a scalar String.
func StringVariant(v string) Variant { return textVariant(TypeString, v) }

// DateTimeVariant returns a scalar DateTime.
func DateTimeVariant(v DateTime) Variant { return Variant{typ: TypeDateTime, bits: uint64(v)} }

// SliceVariant returns an array that shares the memory of s. A nil slice is a
// null array. Note that a []byte becomes an array of Byte here and a
// ByteString in VariantOf.
func SliceVariant[T Builtin](s []T) Variant { return arrayVariant(TypeOf[T](), s) }

// TypeOf returns the built-in type that T stands for.
func TypeOf[T Builtin]() TypeID {
	var p *T
	switch any(p).(type) {
	case *bool:
		return TypeBoolean
	case *int8:
		return TypeSByte
	case *uint8:
		return TypeByte
	case *int16:
		return TypeInt16
	case *uint16:
		return TypeUInt16
	case *int32:
		return TypeInt32
	case *uint32:
		return TypeUInt32
	case *int64:
		return TypeInt64
	case *uint64:
		return TypeUInt64
	case *float32:
		return TypeFloat
	case *float64:
		return TypeDouble
	case *string:
		return TypeString
	case *DateTime:
		return TypeDateTime
	case *Guid:
		return TypeGuid
	case *[]byte:
		return TypeByteString
	case *XMLElement:
		return TypeXMLElement
	case *NodeID:
		return TypeNodeID
	case *ExpandedNodeID:
		return TypeExpandedNodeID
	case *StatusCode:
		return TypeStatusCode
	case *QualifiedName:
		return TypeQualifiedName
	case *LocalizedText:
		return TypeLocalizedText
	case *ExtensionObject:
		return TypeExtensionObject
	case *DataValue:
		return TypeDataValue
	case *DiagnosticInfo:
		return TypeDiagnosticInfo
	}
	return TypeVariant
}

// MatrixVariant returns a matrix with the given dimensions, whose elements are
// in s with the last index running fastest; it shares the memory of s. One
// dimension gives an array, and so do dimensions with a 0 among them, since
// they cannot be encoded (Part 6, 5.2.2.16). BadOutOfRange says that a
// dimension is negative or that their product is not the number of elements.
func MatrixVariant[T Builtin](s []T, dims ...int32) (Variant, error) {
	v := SliceVariant(s)
	n, ok := product(dims)
	if !ok || n != len(s) || len(dims) > maxRank {
		return Variant{}, BadOutOfRange
	}
	return v.withDims(append([]int32(nil), dims...)), nil
}

// withDims makes a matrix of an array, given dimensions that fit. Dimensions
// that would not be written are not kept: fewer than two, or one of them 0.
func (v Variant) withDims(dims []int32) Variant {
	if len(dims) < 2 || v.bits == 0 {
		return v
	}
	v.dims = &dims
	return v
}

// product multiplies dimensions; ok is false when there are none, one is
// negative, or the product exceeds what an array can have.
func product(dims []int32) (n int, ok bool) {
	if len(dims) == 0 {
		return 0, false
	}
	p := int64(1)
	for _, d := range dims {
		if d < 0 {
			return 0, false
		}
		// Both factors are below 2^31 here, so the product cannot overflow.
		if p *= int64(d); p > math.MaxInt32 {
			// A later 0 would make it fit again, but such dimensions
			// describe nothing that anyone has.
			return 0, false
		}
	}
	return int(p), true
}

// ValueOf converts a Go value: everything that VariantOf and SliceVariant
// take, time.Time and slices of it, time.Duration and slices of it (as the
// standard's Duration: a Double in milliseconds), int and uint (as Int64 and UInt64),
// structures of the standard and their slices (as ExtensionObjects), types
// whose underlying type is a number, bool or string, such as enumerations,
// and their slices, Go arrays and slices of slices with equal lengths (as
// matrices), and []any (as an array of Variants). nil gives the null Variant,
// other types BadTypeMismatch.
func ValueOf(x any) (Variant, error) { return valueOf(x, 0) }

func valueOf(x any, depth int) (Variant, error) {
	switch x := x.(type) {
	case nil:
		return Variant{}, nil
	case Variant:
		return x, nil
	case bool:
		return BooleanVariant(x), nil
	case int32:
		return Int32Variant(x), nil
	case uint32:
		return UInt32Variant(x), nil
	case int64:
		return Int64Variant(x), nil
	case float64:
		return DoubleVariant(x), nil
	case float32:
		return VariantOf(x), nil
	case string:
		return StringVariant(x), nil
	case []byte:
		return bytesVariant(x), nil
	case time.Time:
		return DateTimeVariant(DateTimeOf(x)), nil
	case time.Duration:
		return durationVariant(x), nil
	case Structure:
		return VariantOf(ObjectOf(x)), nil
	case []any:
		return anyValues(x, depth+1)
	}
	return reflectValue(reflect.ValueOf(x))
}

func anyValues(x []any, depth int) (Variant, error) {
	if x == nil {
		return SliceVariant([]Variant(nil)), nil
	}
	if depth >= MaxDepth {
		return Variant{}, BadEncodingLimitsExceeded // a slice in itself has no end
	}
	s := make([]Variant, len(x))
	for i, e := range x {
		var err error
		if s[i], err = valueOf(e, depth); err != nil {
			return Variant{}, err
		}
	}
	return SliceVariant(s), nil
}
