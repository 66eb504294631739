package uahive

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// signature is the plan by which a struct of arguments is read and written. It
// is made once for each method.
type signature struct {
	arguments []argument
}

// argument is one field.
type argument struct {
	ua.Argument
	field  int
	decode func(dst reflect.Value, v ua.Variant) bool
	encode func(src reflect.Value) ua.Variant
}

var errNoStruct = errors.New("take and return structs whose fields are the arguments, or struct{}")

// signatureOf makes the plan for a struct type.
func (s *Server) signatureOf(t reflect.Type) (signature, error) {
	var plan signature
	if t.Kind() != reflect.Struct || t == timeType || reflect.PointerTo(t).Implements(structureType) || s.structure(t) != nil {
		return plan, errNoStruct
	}
	names := make(map[string]bool, t.NumField())
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() {
			return plan, fmt.Errorf("field %s of %s: begin it with a capital letter", field.Name, t)
		}
		f, err := s.formOf(field.Type)
		if err != nil {
			return plan, fmt.Errorf("field %s: %w", field.Name, err)
		}
		a := argument{field: i}
		switch {
		case f.structure != nil:
			a.decode, a.encode = f.structure.decode, f.structure.encode
		case f.wide && f.rank == rankScalar:
			a.decode = intoScalar(ua.TypeInt32)
			a.encode = func(src reflect.Value) ua.Variant { return ua.Int32Variant(narrow(int(src.Int()))) }
		case f.wide:
			a.decode = intoSlice(ua.TypeInt32)
			a.encode = func(src reflect.Value) ua.Variant {
				return encodeWide(*(*[]int)(src.Addr().UnsafePointer()))
			}
		default:
			a.decode, a.encode = decoderOf(field.Type), encodeField
		}
		a.Name, a.Description.Text = tagOf(&field)
		if names[a.Name] {
			return plan, fmt.Errorf("two arguments %q: give each a name of its own", a.Name)
		}
		names[a.Name] = true
		a.DataType, a.ValueRank = f.dataType, f.rank
		if f.rank > 0 {
			a.ArrayDimensions = make([]uint32, f.rank) // any lengths
		}
		plan.arguments = append(plan.arguments, a)
	}
	return plan, nil
}

// tagOf returns the name and description of a field.
func tagOf(field *reflect.StructField) (name, description string) {
	name, description, _ = strings.Cut(field.Tag.Get("ua"), ",")
	if name == "" {
		name = field.Name
	}
	return name, description
}

// decode fills a struct and returns the index of the first argument that does
// not fit, -1 when all do. The values' memory belongs to the call.
func (s signature) decode(dst reflect.Value, values []ua.Variant) int {
	for i := range s.arguments {
		a := &s.arguments[i]
		// A null value stays the zero value.
		if !values[i].IsNull() && !a.decode(dst.Field(a.field), values[i]) {
			return i
		}
	}
	return -1
}

// encode returns the values of a struct. What they refer to was made by the
// method for this call.
func (s signature) encode(src reflect.Value) []ua.Variant {
	if len(s.arguments) == 0 {
		return nil
	}
	values := make([]ua.Variant, len(s.arguments))
	for i := range s.arguments {
		a := &s.arguments[i]
		values[i] = a.encode(src.Field(a.field))
	}
	return values
}

// results are the statuses of all inputs when one of them is wrong.
func (s signature) results(wrong *ArgumentError) []ua.StatusCode {
	results := make([]ua.StatusCode, len(s.arguments))
	for i := range s.arguments {
		if s.arguments[i].Name == wrong.Argument {
			results[i] = wrong.status()
		}
	}
	return results
}

// encodeField is ua.ValueOf with the types that this package adds.
func encodeField(r reflect.Value) ua.Variant {
	switch x := r.Interface().(type) {
	case matrix:
		return x.variant()
	case time.Duration:
		return ua.DoubleVariant(milliseconds(x))
	case []time.Duration:
		return encodeDurations(x)
	case ByteArray:
		return ua.SliceVariant([]byte(x))
	default:
		v, err := ua.ValueOf(x)
		if err != nil {
			// formOf accepts only types that ValueOf converts.
			panic("uahive: no variant of a " + r.Type().String() + ": " + err.Error())
		}
		return v
	}
}

// decoderOf returns the function that writes a value into a field of a type that
// formOf accepts.
func decoderOf(t reflect.Type) func(dst reflect.Value, v ua.Variant) bool {
	switch t {
	case timeType:
		return intoAs[time.Time]
	case durationType:
		return into(converterOf[time.Duration]())
	case byteArrayType:
		return into(converterOf[ByteArray]())
	case variantType:
		return intoAs[ua.Variant]
	case reflect.TypeFor[[]time.Duration]():
		return into(converterOf[[]time.Duration]())
	case reflect.TypeFor[[]time.Time]():
		return into(converterOf[[]time.Time]())
	}
	if t.Implements(matrixType) {
		return func(dst reflect.Value, v ua.Variant) bool { return dst.Addr().Interface().(matrixSetter).from(v) }
	}
	builtin := ua.TypeOfGo(t)
	switch {
	case builtin == ua.TypeExtensionObject:
		return intoStructure
	case builtin != ua.TypeNull:
		return intoScalar(builtin)
	}
	return intoSlice(ua.TypeOfGo(t.Elem()))
}

func into[T any](c *converter[T]) func(reflect.Value, ua.Variant) bool {
	return func(dst reflect.Value, v ua.Variant) bool {
		x, ok := c.decode(v)
		if ok {
			*dst.Addr().Interface().(*T) = x
		}
		return ok
	}
}

// intoAs is into without a copy: inputs belong to the call.
func intoAs[T any](dst reflect.Value, v ua.Variant) bool {
	x, ok := ua.As[T](v)
	if ok {
		*dst.Addr().Interface().(*T) = x
	}
	return ok
}

// intoScalar writes values of one built-in type into fields with that type or
// one that it underlies.
func intoScalar(builtin ua.TypeID) func(reflect.Value, ua.Variant) bool {
	return func(dst reflect.Value, v ua.Variant) bool {
		if v.Type() != builtin || v.IsArray() {
			return false
		}
		switch dst.Kind() {
		case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
			if n, ok := v.Int(); ok {
				dst.SetInt(n)
				return !dst.OverflowInt(n)
			}
		case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
			if n, ok := v.Uint(); ok {
				dst.SetUint(n)
				return !dst.OverflowUint(n)
			}
		case reflect.Float32, reflect.Float64:
			f, _ := v.Float()
			dst.SetFloat(f)
			return true
		case reflect.Bool:
			b, _ := ua.As[bool](v)
			dst.SetBool(b)
			return true
		}
		return assign(dst, reflect.ValueOf(v.Any()))
	}
}

func assign(dst, x reflect.Value) bool {
	switch {
	case x.Type().AssignableTo(dst.Type()):
		dst.Set(x)
	case x.Type().ConvertibleTo(dst.Type()):
		dst.Set(x.Convert(dst.Type()))
	default:
		return false
	}
	return true
}

// intoStructure writes a structure into a field that holds it by value, by
// pointer, or as an ExtensionObject.
func intoStructure(dst reflect.Value, v ua.Variant) bool {
	x, ok := ua.As[ua.ExtensionObject](v)
	return ok && setStructure(dst, &x)
}

func setStructure(dst reflect.Value, x *ua.ExtensionObject) bool {
	if dst.Type() == objectType {
		dst.Set(reflect.ValueOf(*x))
		return true
	}
	if x.IsNull() {
		return true // stays the zero value
	}
	if x.Value == nil {
		return false
	}
	s := reflect.ValueOf(x.Value)
	switch {
	case s.Type() == dst.Type():
		dst.Set(s)
	case s.Type() == reflect.PointerTo(dst.Type()):
		dst.Set(s.Elem())
	default:
		return false
	}
	return true
}

// intoSlice writes an array of one built-in type into a slice.
func intoSlice(element ua.TypeID) func(reflect.Value, ua.Variant) bool {
	return func(dst reflect.Value, v ua.Variant) bool {
		if v.Type() != element || !v.IsArray() {
			return false
		}
		s := reflect.ValueOf(v.Any())
		if s.Type().AssignableTo(dst.Type()) {
			dst.Set(s)
			return true
		}
		out := reflect.MakeSlice(dst.Type(), s.Len(), s.Len())
		for i := range s.Len() {
			if element == ua.TypeExtensionObject {
				if !setStructure(out.Index(i), s.Index(i).Addr().Interface().(*ua.ExtensionObject)) {
					return false
				}
			} else if !assign(out.Index(i), s.Index(i)) {
				return false
			}
		}
		dst.Set(out)
		return true
	}
}
