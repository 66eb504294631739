package ua

import (
	"math"
	"reflect"
	"time"
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
// return, and beyond that time.Time for a DateTime, time.Duration and slices of
// it for a Double in milliseconds, types whose underlying type is the same
// number, bool or string (an enumeration from an Int32, for instance) and
// slices of them, and structures or pointers to structures from an
// ExtensionObject and slices of them. It does not convert between numbers.
func As[T any](v Variant) (T, bool) {
	var out T
	ok := true
	switch p := any(&out).(type) {
	case *bool:
		ok = v.typ == TypeBoolean && !v.array
		*p = ok && v.bits != 0
	case *int32:
		if ok = v.typ == TypeInt32 && !v.array; ok {
			*p = int32(v.bits)
		}
	case *uint32:
		if ok = v.typ == TypeUInt32 && !v.array; ok {
			*p = uint32(v.bits)
		}
	case *int64:
		if ok = v.typ == TypeInt64 && !v.array; ok {
			*p = int64(v.bits)
		}
	case *float64:
		if ok = v.typ == TypeDouble && !v.array; ok {
			*p = math.Float64frombits(v.bits)
		}
	case *string:
		if ok = v.typ == TypeString && !v.array; ok {
			*p = v.text()
		}
	case *time.Time:
		if ok = v.typ == TypeDateTime && !v.array; ok {
			*p = DateTime(v.bits).Time()
		}
	case *time.Duration:
		if ok = v.typ == TypeDouble && !v.array; ok {
			*p = asDuration(math.Float64frombits(v.bits))
		}
	case *[]time.Duration:
		*p, ok = asDurations(v)
	case *Variant:
		*p = v
	default:
		return asAny[T](v)
	}
	return out, ok
}

// asAny is the part of As that goes through an interface.
func asAny[T any](v Variant) (T, bool) {
	var zero T
	x := v.Any()
	if x == nil {
		return zero, false
	}
	if t, ok := x.(T); ok {
		return t, true
	}
	if o, ok := x.(ExtensionObject); ok {
		if p, ok := any(o.Value).(*T); ok && p != nil {
			return *p, true
		}
		t, ok := o.Value.(T)
		return t, ok
	}
	want := reflect.TypeFor[T]()
	// The layout alone does not say the type: a DateTime is an int64 to Go.
	if !v.array {
		if !fixedKind(want) || TypeOfGo(want) != v.typ {
			return zero, false
		}
		return reflect.ValueOf(x).Convert(want).Interface().(T), true
	}
	if want.Kind() != reflect.Slice || TypeOfGo(want.Elem()) != v.typ {
		return zero, false
	}
	if v.typ == TypeExtensionObject {
		r, ok := structureSlice(want, elems[ExtensionObject](v))
		if !ok {
			return zero, false
		}
		return r.Interface().(T), true
	}
	if !fixedKind(want.Elem()) {
		return zero, false
	}
	if v.ptr == nil {
		return zero, true
	}
	return reflect.SliceAt(want.Elem(), v.ptr, int(v.bits)).Interface().(T), true
}

// structureSlice collects the structures of ExtensionObjects that are all of
// the type that the slice holds.
func structureSlice(want reflect.Type, s []ExtensionObject) (reflect.Value, bool) {
	out := reflect.MakeSlice(want, len(s), len(s))
	for i := range s {
		if s[i].Value == nil {
			return out, false
		}
		x := reflect.ValueOf(s[i].Value)
		if x.Type() == reflect.PointerTo(want.Elem()) && !x.IsNil() {
			x = x.Elem()
		}
		if !x.Type().AssignableTo(want.Elem()) {
			return out, false
		}
		out.Index(i).Set(x)
	}
	return out, true
}
