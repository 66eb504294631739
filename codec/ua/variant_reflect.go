package ua

import (
	"math"
	"reflect"
	"time"
	"unsafe"
)

var (
	structureType = reflect.TypeFor[Structure]()
	timeType      = reflect.TypeFor[time.Time]()
	byteSliceType = reflect.TypeFor[[]byte]()
)

// builtinTypes finds the built-in type of a Go type that stands for exactly
// one.
var builtinTypes = map[reflect.Type]TypeID{
	reflect.TypeFor[bool]():            TypeBoolean,
	reflect.TypeFor[int8]():            TypeSByte,
	reflect.TypeFor[uint8]():           TypeByte,
	reflect.TypeFor[int16]():           TypeInt16,
	reflect.TypeFor[uint16]():          TypeUInt16,
	reflect.TypeFor[int32]():           TypeInt32,
	reflect.TypeFor[uint32]():          TypeUInt32,
	reflect.TypeFor[int64]():           TypeInt64,
	reflect.TypeFor[uint64]():          TypeUInt64,
	reflect.TypeFor[float32]():         TypeFloat,
	reflect.TypeFor[float64]():         TypeDouble,
	reflect.TypeFor[string]():          TypeString,
	reflect.TypeFor[DateTime]():        TypeDateTime,
	reflect.TypeFor[Guid]():            TypeGuid,
	reflect.TypeFor[[]byte]():          TypeByteString,
	reflect.TypeFor[XMLElement]():      TypeXMLElement,
	reflect.TypeFor[NodeID]():          TypeNodeID,
	reflect.TypeFor[ExpandedNodeID]():  TypeExpandedNodeID,
	reflect.TypeFor[StatusCode]():      TypeStatusCode,
	reflect.TypeFor[QualifiedName]():   TypeQualifiedName,
	reflect.TypeFor[LocalizedText]():   TypeLocalizedText,
	reflect.TypeFor[ExtensionObject](): TypeExtensionObject,
	reflect.TypeFor[DataValue]():       TypeDataValue,
	reflect.TypeFor[Variant]():         TypeVariant,
	reflect.TypeFor[DiagnosticInfo]():  TypeDiagnosticInfo,
}

// TypeOfGo returns the built-in type that values of the Go type t are held
// as, following the rules of ValueOf for one element; TypeNull when there is
// none.
func TypeOfGo(t reflect.Type) TypeID {
	if t == nil {
		return TypeNull
	}
	if id, ok := builtinTypes[t]; ok {
		return id
	}
	switch t {
	case timeType:
		return TypeDateTime
	case durationType:
		return TypeDouble
	}
	if t.Implements(structureType) || reflect.PointerTo(t).Implements(structureType) {
		return TypeExtensionObject
	}
	switch t.Kind() {
	case reflect.Bool:
		return TypeBoolean
	case reflect.Int8:
		return TypeSByte
	case reflect.Uint8:
		return TypeByte
	case reflect.Int16:
		return TypeInt16
	case reflect.Uint16:
		return TypeUInt16
	case reflect.Int32:
		return TypeInt32
	case reflect.Uint32:
		return TypeUInt32
	case reflect.Int64, reflect.Int:
		return TypeInt64
	case reflect.Uint64, reflect.Uint:
		return TypeUInt64
	case reflect.Float32:
		return TypeFloat
	case reflect.Float64:
		return TypeDouble
	case reflect.String:
		return TypeString
	case reflect.Slice:
		if t.ConvertibleTo(byteSliceType) && t.Elem().Kind() == reflect.Uint8 {
			return TypeByteString
		}
	}
	return TypeNull
}

// reflectValue is the slow part of ValueOf.
func reflectValue(r reflect.Value) (Variant, error) {
	t := r.Type()
	if id := TypeOfGo(t); id != TypeNull {
		return reflectScalar(id, r)
	}
	switch t.Kind() {
	case reflect.Pointer:
		if r.IsNil() {
			return Variant{}, nil
		}
		if TypeOfGo(t.Elem()) != TypeNull {
			return reflectValue(r.Elem())
		}
	case reflect.Slice, reflect.Array:
		return reflectArray(r)
	}
	return Variant{}, BadTypeMismatch
}

func reflectScalar(id TypeID, r reflect.Value) (Variant, error) {
	switch id {
	case TypeBoolean:
		return BooleanVariant(r.Bool()), nil
	case TypeSByte, TypeInt16, TypeInt32, TypeInt64:
		return Variant{typ: id, bits: uint64(r.Int()) & widthMask(id)}, nil
	case TypeByte, TypeUInt16, TypeUInt32, TypeUInt64, TypeStatusCode:
		return Variant{typ: id, bits: r.Uint()}, nil
	case TypeFloat:
		return VariantOf(float32(r.Float())), nil
	case TypeDouble:
		if r.Type() == durationType {
			return durationVariant(time.Duration(r.Int())), nil
		}
		return DoubleVariant(r.Float()), nil
	case TypeString, TypeXMLElement:
		return textVariant(id, r.String()), nil
	case TypeByteString:
		return bytesVariant(r.Bytes()), nil
	case TypeDateTime:
		if t, ok := r.Interface().(time.Time); ok {
			return DateTimeVariant(DateTimeOf(t)), nil
		}
		return DateTimeVariant(DateTime(r.Int())), nil
	case TypeExtensionObject:
		if x, ok := r.Interface().(ExtensionObject); ok {
			return VariantOf(x), nil
		}
		return VariantOf(ObjectOf(structureIn(r))), nil
	case TypeVariant:
		return r.Interface().(Variant), nil
	}
	// The rest are exactly the types of this package, which are boxed.
	p := reflect.New(r.Type())
	p.Elem().Set(r)
	return Variant{ptr: p.UnsafePointer(), typ: id}, nil
}

// widthMask keeps the bits of an integer type, since a Variant stores no sign
// extension.
func widthMask(id TypeID) uint64 {
	switch id {
	case TypeSByte:
		return 0xff
	case TypeInt16:
		return 0xffff
	case TypeInt32:
		return 0xffff_ffff
	}
	return math.MaxUint64
}

// structureIn gets at the Structure in a value or behind the address of a copy.
func structureIn(r reflect.Value) Structure {
	if s, ok := r.Interface().(Structure); ok {
		return s
	}
	p := reflect.New(r.Type())
	p.Elem().Set(r)
	return p.Interface().(Structure)
}

// reflectArray flattens nested slices and arrays into one array or matrix.
func reflectArray(r reflect.Value) (Variant, error) {
	var dims []int32
	t := r.Type()
	for at := r; ; t = t.Elem() {
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array || TypeOfGo(t) != TypeNull {
			break
		}
		if len(dims) == maxRank {
			return Variant{}, BadTypeMismatch
		}
		n := 0
		if at.IsValid() {
			n = at.Len()
		}
		if n > math.MaxInt32 {
			return Variant{}, BadEncodingLimitsExceeded
		}
		dims = append(dims, int32(n))
		if n > 0 {
			at = at.Index(0)
		} else {
			at = reflect.Value{}
		}
	}
	id := TypeOfGo(t)
	if id == TypeNull {
		return Variant{}, BadTypeMismatch
	}
	if len(dims) == 1 && r.Kind() == reflect.Slice {
		// Elements with the layout of the built-in type are shared.
		if _, exact := builtinTypes[t]; exact || fixedKind(t) {
			return Variant{ptr: r.UnsafePointer(), bits: uint64(r.Len()), typ: id, array: true}, nil
		}
		if r.IsNil() {
			return Variant{typ: id, array: true}, nil
		}
	}
	n, ok := product(dims)
	if !ok {
		return Variant{}, BadTypeMismatch
	}
	flat := reflect.MakeSlice(reflect.SliceOf(goTypes[id]), 0, n)
	flat, err := flatten(flat, r, id, dims)
	if err != nil {
		return Variant{}, err
	}
	v := Variant{ptr: flat.UnsafePointer(), bits: uint64(flat.Len()), typ: id, array: true}
	return v.withDims(dims), nil
}

// fixedKind reports whether a named type has the memory layout of the
// built-in type that TypeOfGo gives it.
func fixedKind(t reflect.Type) bool {
	if t == durationType {
		return false
	}
	switch t.Kind() {
	case reflect.Int, reflect.Uint:
		return unsafe.Sizeof(int(0)) == 8
	case reflect.Bool, reflect.Int8, reflect.Uint8, reflect.Int16, reflect.Uint16, reflect.Int32,
		reflect.Uint32, reflect.Int64, reflect.Uint64, reflect.Float32, reflect.Float64, reflect.String:
		return true
	}
	return false
}

// goTypes is the opposite of builtinTypes.
var goTypes = func() (t [TypeDiagnosticInfo + 1]reflect.Type) {
	for goType, id := range builtinTypes {
		t[id] = goType
	}
	return t
}()

func flatten(dst, r reflect.Value, id TypeID, dims []int32) (reflect.Value, error) {
	if len(dims) == 0 {
		v, err := reflectScalar(id, r)
		if err != nil {
			return dst, err
		}
		e := reflect.New(goTypes[id]).Elem()
		if id == TypeVariant {
			e.Set(reflect.ValueOf(v))
		} else {
			e.Set(reflect.ValueOf(v.Any()))
		}
		return reflect.Append(dst, e), nil
	}
	if r.Len() != int(dims[0]) {
		return dst, BadTypeMismatch
	}
	for i := range r.Len() {
		var err error
		if dst, err = flatten(dst, r.Index(i), id, dims[1:]); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
