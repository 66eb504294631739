package uahive

import (
	"fmt"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// structPlan is how a struct is encoded and decoded: one pair of functions for
// each field, chosen once, that know its place in memory. Fields follow each
// other without anything between (Part 6, 5.2.6).
type structPlan struct {
	goType     reflect.Type
	fields     []fieldPlan
	definition []ua.StructureField
}

// fieldPlan is a field, or the elements of one.
type fieldPlan struct {
	offset uintptr
	append func(dst []byte, p unsafe.Pointer) []byte
	read   func(d *codec.Decoder, p unsafe.Pointer)
	// least is how many bytes one takes at least, 1 or more: the length of its
	// zero value.
	least int
}

func (p *structPlan) append(dst []byte, at unsafe.Pointer) []byte {
	for i := range p.fields {
		f := &p.fields[i]
		dst = f.append(dst, unsafe.Add(at, f.offset))
	}
	return dst
}

func (p *structPlan) read(d *codec.Decoder, at unsafe.Pointer) {
	for i := range p.fields {
		f := &p.fields[i]
		f.read(d, unsafe.Add(at, f.offset))
	}
}

// planner makes plans. Which types are structures and enumerations is a server's
// own affair; clients go by the Go type alone.
type planner struct {
	// form describes a field's type, nil for clients.
	form func(reflect.Type) (form, error)
	// nested returns the plan of a struct in a field.
	nested func(reflect.Type) (*structPlan, error)
}

// planOf makes the plan of a struct whose fields a server knows.
func (s *Server) planOf(t reflect.Type) (*structPlan, error) {
	p := planner{form: s.formOf}
	p.nested = func(t reflect.Type) (*structPlan, error) {
		if known := s.structure(t); known != nil {
			return known.plan, nil
		}
		return nil, unknownStruct(t)
	}
	return p.plan(t)
}

// clientPlans has the plans of structs by their types.
var clientPlans sync.Map

// clientPlan returns the plan of a struct, or of the elements of a slice.
func clientPlan(t reflect.Type) (*structPlan, error) {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if known, ok := clientPlans.Load(t); ok {
		return known.(*structPlan), nil
	}
	within := make(map[reflect.Type]bool)
	var p planner
	p.nested = func(t reflect.Type) (*structPlan, error) {
		if within[t] {
			return nil, fmt.Errorf("the Go type %s contains itself", t)
		}
		within[t] = true
		defer delete(within, t)
		return p.plan(t)
	}
	plan, err := p.nested(t)
	if err != nil {
		return nil, fmt.Errorf("uahive: Go type %s is not a structure: %w", t, err)
	}
	clientPlans.Store(t, plan)
	return plan, nil
}

func (p *planner) plan(t reflect.Type) (*structPlan, error) {
	if t.Kind() != reflect.Struct || t == timeType || isCoded(t) || t.Implements(matrixType) {
		return nil, fmt.Errorf("the Go type %s: use a struct type of your own", t)
	}
	if t.Name() == "" {
		return nil, fmt.Errorf("the Go type %s: give it a name, like: type Point struct", t)
	}
	if t.NumField() == 0 {
		return nil, fmt.Errorf("the Go type %s: give it a field", t)
	}
	plan := &structPlan{goType: t}
	names := make(map[string]bool, t.NumField())
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() {
			return nil, fmt.Errorf("field %s of %s: begin it with a capital letter", field.Name, t)
		}
		f, description, err := p.field(&field)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", field.Name, err)
		}
		if names[description.Name] {
			return nil, fmt.Errorf("two fields %q: give each a name of its own", description.Name)
		}
		names[description.Name] = true
		f.offset = field.Offset
		plan.fields = append(plan.fields, f)
		plan.definition = append(plan.definition, description)
	}
	return plan, nil
}

func (p *planner) field(field *reflect.StructField) (plan fieldPlan, def ua.StructureField, err error) {
	def.Name, def.Description.Text = tagOf(field)
	wide := false
	if p.form != nil {
		f, err := p.form(field.Type)
		if err != nil {
			return plan, def, err
		}
		def.DataType, def.ValueRank, wide = f.dataType, f.rank, f.wide
		if f.rank == rankAny {
			def.ValueRank = rankScalar // a Variant may hold anything all the same
		}
		if f.rank > 0 {
			def.ArrayDimensions = make([]uint32, f.rank) // any lengths
		}
	}
	plan, err = p.coder(field.Type, wide)
	return plan, def, err
}

// coder chooses the functions for a Go type. wide says that it is an enumeration
// of an int, or a slice of one.
func (p *planner) coder(t reflect.Type, wide bool) (fieldPlan, error) {
	switch {
	case t == timeType:
		return scalarPlan(8, func(dst []byte, v time.Time) []byte { return codec.AppendInt64(dst, int64(ua.DateTimeOf(v))) },
			func(d *codec.Decoder) time.Time { return ua.DateTime(d.Int64()).Time() }), nil
	case t == durationType:
		return scalarPlan(8, func(dst []byte, v time.Duration) []byte { return codec.AppendFloat64(dst, milliseconds(v)) },
			func(d *codec.Decoder) time.Duration { return duration(d.Float64()) }), nil
	case isCoded(t):
		return codedPlan(t), nil
	case t.Implements(matrixType):
		return fieldPlan{}, fmt.Errorf("the Go type %s: use a slice", t)
	}
	switch t.Kind() {
	case reflect.Bool:
		return scalarPlan(1, codec.AppendBool, (*codec.Decoder).Bool), nil
	case reflect.Int8:
		return scalarPlan(1, codec.AppendInt8, (*codec.Decoder).Int8), nil
	case reflect.Uint8:
		return scalarPlan(1, codec.AppendUint8, (*codec.Decoder).Uint8), nil
	case reflect.Int16:
		return scalarPlan(2, codec.AppendInt16, (*codec.Decoder).Int16), nil
	case reflect.Uint16:
		return scalarPlan(2, codec.AppendUint16, (*codec.Decoder).Uint16), nil
	case reflect.Int32:
		return scalarPlan(4, codec.AppendInt32, (*codec.Decoder).Int32), nil
	case reflect.Uint32:
		return scalarPlan(4, codec.AppendUint32, (*codec.Decoder).Uint32), nil
	case reflect.Int64:
		return scalarPlan(8, codec.AppendInt64, (*codec.Decoder).Int64), nil
	case reflect.Uint64:
		return scalarPlan(8, codec.AppendUint64, (*codec.Decoder).Uint64), nil
	case reflect.Int:
		if wide {
			return scalarPlan(4, func(dst []byte, v int) []byte { return codec.AppendInt32(dst, narrow(v)) },
				func(d *codec.Decoder) int { return int(d.Int32()) }), nil
		}
		return scalarPlan(8, func(dst []byte, v int) []byte { return codec.AppendInt64(dst, int64(v)) },
			func(d *codec.Decoder) int { return int(d.Int64()) }), nil
	case reflect.Uint:
		return scalarPlan(8, func(dst []byte, v uint) []byte { return codec.AppendUint64(dst, uint64(v)) },
			func(d *codec.Decoder) uint { return uint(d.Uint64()) }), nil
	case reflect.Float32:
		return scalarPlan(4, codec.AppendFloat32, (*codec.Decoder).Float32), nil
	case reflect.Float64:
		return scalarPlan(8, codec.AppendFloat64, (*codec.Decoder).Float64), nil
	case reflect.String:
		return scalarPlan(4, codec.AppendString, (*codec.Decoder).String), nil
	case reflect.Struct:
		nested, err := p.nested(t)
		if err != nil {
			return fieldPlan{}, err
		}
		return nested.asField(), nil
	case reflect.Slice:
		return p.slice(t, wide)
	}
	return fieldPlan{}, fmt.Errorf("the Go type %s: use a value or a slice of values", t)
}

// scalarPlan is for fields with the layout of T.
func scalarPlan[T any](least int, add func([]byte, T) []byte, read func(*codec.Decoder) T) fieldPlan {
	return fieldPlan{
		append: func(dst []byte, p unsafe.Pointer) []byte { return add(dst, *(*T)(p)) },
		read:   func(d *codec.Decoder, p unsafe.Pointer) { *(*T)(p) = read(d) },
		least:  least,
	}
}

func (p *structPlan) asField() fieldPlan {
	least := 0
	for i := range p.fields {
		least += p.fields[i].least
	}
	return fieldPlan{append: p.append, read: p.read, least: least}
}

// coded are the types of package ua that have an encoding of their own.
type coded interface {
	AppendTo(dst []byte) []byte
	DecodeFrom(d *codec.Decoder)
}

var codedType = reflect.TypeFor[coded]()

func isCoded(t reflect.Type) bool {
	return t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(codedType)
}

func codedPlan(t reflect.Type) fieldPlan {
	at := func(p unsafe.Pointer) coded { return reflect.NewAt(t, p).Interface().(coded) }
	return fieldPlan{
		append: func(dst []byte, p unsafe.Pointer) []byte { return at(p).AppendTo(dst) },
		read:   func(d *codec.Decoder, p unsafe.Pointer) { at(p).DecodeFrom(d) },
		least:  max(1, len(reflect.New(t).Interface().(coded).AppendTo(nil))),
	}
}

func (p *planner) slice(t reflect.Type, wide bool) (fieldPlan, error) {
	element := t.Elem()
	if element.Kind() == reflect.Uint8 {
		// An array of Byte and a ByteString are the same on the wire.
		return scalarPlan(4, codec.AppendBytes, (*codec.Decoder).Bytes), nil
	}
	if element != durationType && !isCoded(element) {
		switch element.Kind() {
		case reflect.Int16:
			return blockPlan[int16](), nil
		case reflect.Uint16:
			return blockPlan[uint16](), nil
		case reflect.Int32:
			return blockPlan[int32](), nil
		case reflect.Uint32:
			return blockPlan[uint32](), nil
		case reflect.Int64:
			return blockPlan[int64](), nil
		case reflect.Uint64:
			return blockPlan[uint64](), nil
		case reflect.Float32:
			return blockPlan[float32](), nil
		case reflect.Float64:
			return blockPlan[float64](), nil
		case reflect.Slice:
			if element != bytesType {
				return fieldPlan{}, fmt.Errorf("the Go type %s: use a slice of a scalar type", t)
			}
		}
	}
	each, err := p.coder(element, wide)
	if err != nil {
		return fieldPlan{}, err
	}
	return elementsPlan(t, each), nil
}

// blockPlan is for slices that are copied as one block.
func blockPlan[E codec.Fixed]() fieldPlan {
	return scalarPlan(4, codec.AppendSlice[E], func(d *codec.Decoder) []E { return codec.ReadSlice[E](d, nil) })
}

// elementsPlan is for slices of anything else.
func elementsPlan(t reflect.Type, each fieldPlan) fieldPlan {
	size := t.Elem().Size()
	return fieldPlan{
		append: func(dst []byte, p unsafe.Pointer) []byte {
			s := reflect.NewAt(t, p).Elem()
			if s.IsNil() {
				return codec.AppendArrayLen(dst, -1)
			}
			dst = codec.AppendArrayLen(dst, s.Len())
			first := s.UnsafePointer()
			for i := range s.Len() {
				dst = each.append(dst, unsafe.Add(first, uintptr(i)*size))
			}
			return dst
		},
		read: func(d *codec.Decoder, p unsafe.Pointer) {
			n := d.ArrayLen(each.least)
			if n < 0 || d.Err() != nil {
				return // stays nil
			}
			s := reflect.MakeSlice(t, n, n)
			first := s.UnsafePointer()
			for i := 0; i < n && d.Err() == nil; i++ {
				each.read(d, unsafe.Add(first, uintptr(i)*size))
			}
			reflect.NewAt(t, p).Elem().Set(s)
		},
		least: 4,
	}
}
