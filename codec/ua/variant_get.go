package ua

import (
	"math"
	"reflect"
)

// Any returns the value as its Go type: a scalar, a slice for arrays and
// matrices, or nil. Slices are the stored ones and must not be changed.
func (v Variant) Any() any {
	if v.array {
		return v.anySlice()
	}
	switch v.typ {
	case TypeBoolean:
		return v.bits != 0
	case TypeSByte:
		return int8(v.bits)
	case TypeByte:
		return uint8(v.bits)
	case TypeInt16:
		return int16(v.bits)
	case TypeUInt16:
		return uint16(v.bits)
	case TypeInt32:
		return int32(v.bits)
	case TypeUInt32:
		return uint32(v.bits)
	case TypeInt64:
		return int64(v.bits)
	case TypeUInt64:
		return v.bits
	case TypeFloat:
		return math.Float32frombits(uint32(v.bits))
	case TypeDouble:
		return math.Float64frombits(v.bits)
	case TypeString:
		return v.text()
	case TypeDateTime:
		return DateTime(v.bits)
	case TypeGuid:
		return *unbox[Guid](v)
	case TypeByteString:
		return v.bytes()
	case TypeXMLElement:
		return XMLElement(v.text())
	case TypeNodeID:
		return *unbox[NodeID](v)
	case TypeExpandedNodeID:
		return *unbox[ExpandedNodeID](v)
	case TypeStatusCode:
		return StatusCode(v.bits)
	case TypeQualifiedName:
		return *unbox[QualifiedName](v)
	case TypeLocalizedText:
		return *unbox[LocalizedText](v)
	case TypeExtensionObject:
		return *unbox[ExtensionObject](v)
	case TypeDataValue:
		return *unbox[DataValue](v)
	case TypeDiagnosticInfo:
		return *unbox[DiagnosticInfo](v)
	}
	return nil
}

func (v Variant) anySlice() any {
	switch v.typ {
	case TypeBoolean:
		return elems[bool](v)
	case TypeSByte:
		return elems[int8](v)
	case TypeByte:
		return elems[uint8](v)
	case TypeInt16:
		return elems[int16](v)
	case TypeUInt16:
		return elems[uint16](v)
	case TypeInt32:
		return elems[int32](v)
	case TypeUInt32:
		return elems[uint32](v)
	case TypeInt64:
		return elems[int64](v)
	case TypeUInt64:
		return elems[uint64](v)
	case TypeFloat:
		return elems[float32](v)
	case TypeDouble:
		return elems[float64](v)
	case TypeString:
		return elems[string](v)
	case TypeDateTime:
		return elems[DateTime](v)
	case TypeGuid:
		return elems[Guid](v)
	case TypeByteString:
		return elems[[]byte](v)
	case TypeXMLElement:
		return elems[XMLElement](v)
	case TypeNodeID:
		return elems[NodeID](v)
	case TypeExpandedNodeID:
		return elems[ExpandedNodeID](v)
	case TypeStatusCode:
		return elems[StatusCode](v)
	case TypeQualifiedName:
		return elems[QualifiedName](v)
	case TypeLocalizedText:
		return elems[LocalizedText](v)
	case TypeExtensionObject:
		return elems[ExtensionObject](v)
	case TypeDataValue:
		return elems[DataValue](v)
	case TypeVariant:
		return elems[Variant](v)
	case TypeDiagnosticInfo:
		return elems[DiagnosticInfo](v)
	}
	return nil
}

// As returns the value as a T. It takes exactly the Go type that Any would
// return, and beyond that types whose underlying type is the same number,
// bool or string (an enumeration from an Int32, for instance) and pointers to
// structures from an ExtensionObject. It does not convert between numbers.
func As[T any](v Variant) (T, bool) {
	var out T
	ok := true
	switch p := any(&out).(type) {
	case *bool:
		ok = v.typ == TypeBoolean && !v.array
		*p = v.bits != 0
	case *int32:
		ok = v.typ == TypeInt32 && !v.array
		*p = int32(v.bits)
	case *uint32:
		ok = v.typ == TypeUInt32 && !v.array
		*p = uint32(v.bits)
	case *int64:
		ok = v.typ == TypeInt64 && !v.array
		*p = int64(v.bits)
	case *float64:
		ok = v.typ == TypeDouble && !v.array
		*p = math.Float64frombits(v.bits)
	case *string:
		if ok = v.typ == TypeString && !v.array; ok {
			*p = v.text()
		}
	case *Variant:
		*p = v
	default:
		return asAny[T](v)
	}
	if !ok {
		var zero T
		return zero, false
	}
	return out, true
}

// asAny is the part of As that goes through an interface.
func asAny[T any](v Variant) (T, bool) {
	x := v.Any()
	if t, ok := x.(T); ok {
		return t, true
	}
	var zero T
	if o, ok := x.(ExtensionObject); ok {
		t, ok := o.Value.(T)
		return t, ok
	}
	want := reflect.TypeFor[T]()
	if x == nil || !fixedKind(want) || want.Kind() != reflect.TypeOf(x).Kind() {
		return zero, false
	}
	// A kind alone does not say the type: a DateTime is an int64 to Go.
	if TypeOfGo(want) != v.typ {
		return zero, false
	}
	return reflect.ValueOf(x).Convert(want).Interface().(T), true
}
