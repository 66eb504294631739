package uahive

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/uahive/uahive/codec/ua"
)

// converter turns values of a Go type into what is stored, and back. Both
// directions copy what they refer to, so that neither side sees the other change
// it; strings are immutable and shared. It is chosen once for each variable,
// which leaves one indirect call for each value.
type converter[T any] struct {
	encode func(T) ua.Variant
	decode func(ua.Variant) (T, bool)
}

// converters has the converter of each Go type in use: a million variables of a
// few types share a few of them.
var converters sync.Map // from reflect.Type to *converter[T]

// converterOf returns the converter of a Go type that formOf accepts.
func converterOf[T any]() *converter[T] {
	t := reflect.TypeFor[T]()
	if c, ok := converters.Load(t); ok {
		return c.(*converter[T])
	}
	made := newConverter[T]()
	c, _ := converters.LoadOrStore(t, &made)
	return c.(*converter[T])
}

// converterFor returns the converter of a Go type with that form on a server.
// What AddEnumeration and AddStructure made is the server's own.
func converterFor[T any](s *Server, f form) *converter[T] {
	if f.structure == nil && !f.wide {
		return converterOf[T]()
	}
	t := reflect.TypeFor[T]()
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	if c, ok := s.model.converters[t]; ok {
		return c.(*converter[T])
	}
	var c converter[T]
	switch {
	case f.structure != nil:
		c = converter[T]{
			func(v T) ua.Variant { return f.structure.encode(reflect.ValueOf(&v).Elem()) },
			func(v ua.Variant) (out T, ok bool) {
				ok = f.structure.decode(reflect.ValueOf(&out).Elem(), v)
				return out, ok
			},
		}
	case f.rank == rankScalar:
		c = of[T, int](func(n int) ua.Variant { return ua.Int32Variant(narrow(n)) }, signed[int](ua.TypeInt32))
	default:
		c = of[T, []int](encodeWide, decodeWide)
	}
	if s.model.converters == nil {
		s.model.converters = make(map[reflect.Type]any)
	}
	s.model.converters[t] = &c
	return &c
}

func newConverter[T any]() converter[T] {
	var c any
	switch any((*T)(nil)).(type) {
	case *ua.DateTime:
		c = scalar[ua.DateTime]()
	case *ua.StatusCode:
		c = scalar[ua.StatusCode]()
	case *ua.XMLElement:
		c = scalar[ua.XMLElement]()
	case *ua.Guid:
		c = scalar[ua.Guid]()
	case *ua.NodeID:
		c = scalar[ua.NodeID]()
	case *ua.ExpandedNodeID:
		c = scalar[ua.ExpandedNodeID]()
	case *ua.QualifiedName:
		c = scalar[ua.QualifiedName]()
	case *ua.LocalizedText:
		c = scalar[ua.LocalizedText]()
	case *time.Time:
		c = converter[time.Time]{
			func(t time.Time) ua.Variant { return ua.DateTimeVariant(ua.DateTimeOf(t)) }, ua.As[time.Time],
		}
	case *time.Duration:
		c = converter[time.Duration]{
			func(d time.Duration) ua.Variant { return ua.DoubleVariant(milliseconds(d)) },
			func(v ua.Variant) (time.Duration, bool) { ms, ok := ua.As[float64](v); return duration(ms), ok },
		}
	case *ua.Variant:
		c = converter[ua.Variant]{ua.Variant.Clone, func(v ua.Variant) (ua.Variant, bool) { return v.Clone(), true }}
	case *[]byte:
		c = converter[[]byte]{
			func(b []byte) ua.Variant { return ua.VariantOf(bytes.Clone(b)) },
			func(v ua.Variant) ([]byte, bool) {
				b, ok := ua.As[[]byte](v)
				return bytes.Clone(b), ok && !v.IsArray()
			},
		}
	case *ByteArray:
		c = converter[ByteArray]{
			func(b ByteArray) ua.Variant { return ua.SliceVariant([]byte(bytes.Clone(b))) },
			func(v ua.Variant) (ByteArray, bool) {
				b, ok := ua.As[[]byte](v)
				return bytes.Clone(b), ok && v.IsArray()
			},
		}
	case *[]float64:
		c = array[float64]()
	case *[]float32:
		c = array[float32]()
	case *[]int64:
		c = array[int64]()
	case *[]uint64:
		c = array[uint64]()
	case *[]int32:
		c = array[int32]()
	case *[]uint32:
		c = array[uint32]()
	case *[]int16:
		c = array[int16]()
	case *[]uint16:
		c = array[uint16]()
	case *[]int8:
		c = array[int8]()
	case *[]bool:
		c = array[bool]()
	case *[]string:
		c = array[string]()
	case *[]time.Duration:
		c = converter[[]time.Duration]{encodeDurations, decodeDurations}
	case *[]time.Time:
		c = converter[[]time.Time]{encodeTimes, decodeTimes}
	default:
		return otherConverter[T]()
	}
	return c.(converter[T])
}

// otherConverter knows types by their kind, and the rest through package ua.
func otherConverter[T any]() converter[T] {
	t := reflect.TypeFor[T]()
	if t.Implements(matrixType) {
		return converter[T]{
			func(v T) ua.Variant { return any(v).(matrix).variant() },
			func(v ua.Variant) (out T, ok bool) { return out, any(&out).(matrixSetter).from(v) },
		}
	}
	if ua.TypeOfGo(t) == ua.TypeNull || ua.TypeOfGo(t) == ua.TypeExtensionObject {
		return anyConverter[T]()
	}
	switch t.Kind() {
	case reflect.Bool:
		return of[T, bool](ua.BooleanVariant, ua.As[bool])
	case reflect.Int8:
		return of[T, int8](ua.VariantOf[int8], signed[int8](ua.TypeSByte))
	case reflect.Int16:
		return of[T, int16](ua.VariantOf[int16], signed[int16](ua.TypeInt16))
	case reflect.Int32:
		return of[T, int32](ua.Int32Variant, ua.As[int32])
	case reflect.Int64:
		return of[T, int64](ua.Int64Variant, ua.As[int64])
	case reflect.Int:
		return of[T, int](func(n int) ua.Variant { return ua.Int64Variant(int64(n)) }, signed[int](ua.TypeInt64))
	case reflect.Uint8:
		return of[T, uint8](ua.VariantOf[uint8], unsigned[uint8](ua.TypeByte))
	case reflect.Uint16:
		return of[T, uint16](ua.VariantOf[uint16], unsigned[uint16](ua.TypeUInt16))
	case reflect.Uint32:
		return of[T, uint32](ua.UInt32Variant, ua.As[uint32])
	case reflect.Uint64:
		return of[T, uint64](ua.VariantOf[uint64], unsigned[uint64](ua.TypeUInt64))
	case reflect.Uint:
		return of[T, uint](func(n uint) ua.Variant { return ua.VariantOf(uint64(n)) }, unsigned[uint](ua.TypeUInt64))
	case reflect.Float32:
		return of[T, float32](ua.VariantOf[float32], func(v ua.Variant) (float32, bool) {
			f, ok := v.Float()
			return float32(f), ok && v.Type() == ua.TypeFloat
		})
	case reflect.Float64:
		return of[T, float64](ua.DoubleVariant, ua.As[float64])
	case reflect.String:
		return of[T, string](ua.StringVariant, ua.As[string])
	}
	return anyConverter[T]()
}

// of makes the converter of a type from that of its underlying type.
func of[T, E any](encode func(E) ua.Variant, decode func(ua.Variant) (E, bool)) converter[T] {
	// T has E as its underlying type, so both have one layout. Converting with
	// reflection would allocate for each value.
	return converter[T]{
		encode: func(v T) ua.Variant { return encode(*(*E)(unsafe.Pointer(&v))) },
		decode: func(v ua.Variant) (T, bool) {
			e, ok := decode(v)
			return *(*T)(unsafe.Pointer(&e)), ok
		},
	}
}

func signed[E ~int8 | ~int16 | ~int](t ua.TypeID) func(ua.Variant) (E, bool) {
	return func(v ua.Variant) (E, bool) {
		n, ok := v.Int()
		return E(n), ok && v.Type() == t && int64(E(n)) == n
	}
}

func unsigned[E ~uint8 | ~uint16 | ~uint64 | ~uint](t ua.TypeID) func(ua.Variant) (E, bool) {
	return func(v ua.Variant) (E, bool) {
		n, ok := v.Uint()
		return E(n), ok && v.Type() == t && uint64(E(n)) == n
	}
}

// scalar is for built-in types that hold nothing which can be changed.
func scalar[T ua.Builtin]() converter[T] { return converter[T]{ua.VariantOf[T], ua.As[T]} }

// array is for slices of what can be copied by itself.
func array[E ua.Builtin]() converter[[]E] {
	return converter[[]E]{
		encode: func(s []E) ua.Variant { return ua.SliceVariant(slices.Clone(s)) },
		decode: func(v ua.Variant) ([]E, bool) { s, ok := ua.As[[]E](v); return slices.Clone(s), ok },
	}
}

// anyConverter is for structures and what else package ua converts.
func anyConverter[T any]() converter[T] {
	return converter[T]{
		encode: func(v T) ua.Variant {
			variant, err := ua.ValueOf(v)
			if err != nil {
				// formOf accepts only types that ValueOf converts.
				panic("uahive: no variant of a " + reflect.TypeFor[T]().String() + ": " + err.Error())
			}
			return variant.Clone()
		},
		decode: func(v ua.Variant) (T, bool) { return ua.As[T](v.Clone()) },
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// duration is the opposite of milliseconds. What a Duration cannot hold becomes
// the nearest that it can; NaN is 0.
func duration(ms float64) time.Duration {
	const limit = float64(1<<63-1) / float64(time.Millisecond)
	switch {
	case ms != ms:
		return 0
	case ms >= limit:
		return 1<<63 - 1
	case ms <= -limit:
		return -1 << 63
	}
	return time.Duration(ms * float64(time.Millisecond))
}

func encodeDurations(s []time.Duration) ua.Variant {
	var ms []float64
	if s != nil {
		ms = make([]float64, len(s))
	}
	for i, d := range s {
		ms[i] = milliseconds(d)
	}
	return ua.SliceVariant(ms)
}

func decodeDurations(v ua.Variant) ([]time.Duration, bool) {
	ms, ok := ua.As[[]float64](v)
	if ms == nil {
		return nil, ok
	}
	s := make([]time.Duration, len(ms))
	for i := range ms {
		s[i] = duration(ms[i])
	}
	return s, ok
}

func encodeTimes(s []time.Time) ua.Variant {
	var ticks []ua.DateTime
	if s != nil {
		ticks = make([]ua.DateTime, len(s))
	}
	for i, t := range s {
		ticks[i] = ua.DateTimeOf(t)
	}
	return ua.SliceVariant(ticks)
}

func decodeTimes(v ua.Variant) ([]time.Time, bool) {
	ticks, ok := ua.As[[]ua.DateTime](v)
	if ticks == nil {
		return nil, ok
	}
	s := make([]time.Time, len(ticks))
	for i := range ticks {
		s[i] = ticks[i].Time()
	}
	return s, ok
}

// narrow makes an Int32 of an int. What an Int32 cannot hold is no value of an
// enumeration, and neither is the nearest that it can, as a rule.
func narrow(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

func encodeWide(s []int) ua.Variant {
	var values []int32
	if s != nil {
		values = make([]int32, len(s))
	}
	for i, n := range s {
		values[i] = narrow(n)
	}
	return ua.SliceVariant(values)
}

func decodeWide(v ua.Variant) ([]int, bool) {
	values, ok := ua.As[[]int32](v)
	if values == nil {
		return nil, ok
	}
	s := make([]int, len(values))
	for i, n := range values {
		s[i] = int(n)
	}
	return s, ok
}
