package main

import (
	"fmt"
	"slices"

	"github.com/uahive/uahive/codec/internal/gen/model"
	"github.com/uahive/uahive/codec/internal/gen/source"
)

const codecPath = "github.com/uahive/uahive/codec"

// types resolves field types to their wire forms.
type types struct {
	model *model.Model
	known map[string]wire
	self  map[string]bool // structures that can contain themselves
}

// newTypes computes, for every structure, the shortest encoding and whether
// its encoder must carry a depth.
func newTypes(m *model.Model) (*types, error) {
	t := &types{model: m, known: map[string]wire{}, self: map[string]bool{}}
	for name, w := range builtins {
		t.known[name] = w
	}
	for _, e := range m.Enums {
		w, err := enumWire(e)
		if err != nil {
			return nil, err
		}
		t.known[e.Name] = w
	}
	for _, st := range m.Structures {
		if err := t.resolve(st, nil); err != nil {
			return nil, err
		}
	}
	t.nesting()
	return t, nil
}

// resolve fills in the wire form of a structure after those that it holds by
// value. An array of itself is fine, since an empty one ends the recursion.
func (t *types) resolve(st *model.Structure, path []string) error {
	if _, ok := t.known[st.Name]; ok {
		return nil
	}
	path = append(path, st.Name)
	w := wire{goType: goName(st.Name)}
	if st.Kind != model.StructurePlain {
		w.min = 4 // the mask or the switch
	}
	for _, f := range st.Fields {
		if inner := t.model.Structure(f.Type); inner != nil && !slices.Contains(path, f.Type) {
			if err := t.resolve(inner, path); err != nil {
				return err
			}
		} else if inner != nil && !f.Array && !f.Optional && st.Kind != model.StructureUnion {
			return fmt.Errorf("structure %s holds itself by value through %v", st.Name, path)
		}
		switch {
		case f.Optional || st.Kind == model.StructureUnion:
		case f.Array:
			w.min += 4
		default:
			w.min += t.known[f.Type].min
		}
	}
	w.append = "%s.AppendTo(dst)"
	t.known[st.Name] = w
	return nil
}

// nesting marks the structures that reach a type that can nest, or themselves.
func (t *types) nesting() {
	for _, st := range t.model.Structures {
		if t.reaches(st, st.Name, map[string]bool{}) {
			t.self[st.Name] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for _, st := range t.model.Structures {
			w := t.known[st.Name]
			if w.depth {
				continue
			}
			deep := t.self[st.Name]
			for _, f := range st.Fields {
				deep = deep || t.known[f.Type].depth
			}
			if deep {
				w.depth, w.append = true, "%s.appendDepth(dst, depth)"
				t.known[st.Name] = w
				changed = true
			}
		}
	}
}

func (t *types) reaches(st *model.Structure, name string, seen map[string]bool) bool {
	for _, f := range st.Fields {
		inner := t.model.Structure(f.Type)
		if inner == nil {
			continue
		}
		if f.Type == name {
			return true
		}
		if !seen[f.Type] {
			seen[f.Type] = true
			if t.reaches(inner, name, seen) {
				return true
			}
		}
	}
	return false
}

// fieldGoType returns the Go type of a field. Fields that may be absent are
// pointers, except arrays, whose nil says the same.
func (t *types) fieldGoType(st *model.Structure, f *model.Field) string {
	goType := t.known[f.Type].goType
	if f.Name == "AttributeId" && f.Type == "UInt32" {
		goType = "AttributeID"
	}
	switch {
	case f.Array:
		return "[]" + goType
	case f.Optional || st.Kind == model.StructureUnion:
		return "*" + goType
	}
	return goType
}

// emit prints the structures into one file.
func (t *types) emit(list []*model.Structure) *source.File {
	f := &source.File{Package: "ua", Imports: []string{codecPath}}
	for _, st := range list {
		t.declare(f, st)
		t.encoder(f, st)
		t.decoder(f, st)
	}
	return f
}

func (t *types) declare(f *source.File, st *model.Structure) {
	name := goName(st.Name)
	f.P("// %s is %s.", name, describe(st))
	switch st.Kind {
	case model.StructureOptional:
		f.P("// A field that is nil is absent (Part 6, 5.2.7).")
	case model.StructureUnion:
		f.P("// Switch numbers the field that is set; 0 means none (Part 6, 5.2.8).")
	}
	if st.Kind == model.StructurePlain && len(st.Fields) == 0 {
		f.P("type %s struct{}", name)
	} else {
		f.P("type %s struct {", name)
		if st.Kind == model.StructureUnion {
			f.P("Switch uint32")
		}
		for _, field := range st.Fields {
			f.P("%s %s", goName(field.Name), t.fieldGoType(st, field))
		}
		f.P("}")
	}
	f.P("")
	f.P("var _ Structure = (*%s)(nil)", name)
	f.P("")
	f.P("// EncodingID returns the id of the binary encoding, i=%d.", st.EncodingID)
	f.P("func (*%s) EncodingID() NodeID { return NumericID(0, %d) }", name, st.EncodingID)
	f.P("")
	f.P("// DataTypeNodeID returns the id of the data type, i=%d.", st.DataTypeID)
	f.P("func (*%s) DataTypeNodeID() NodeID { return NumericID(0, %d) }", name, st.DataTypeID)
	f.P("")
	for _, field := range st.Fields {
		if field.Type == "RequestHeader" || field.Type == "ResponseHeader" {
			f.P("// Header returns the header of the message.")
			f.P("func (x *%s) Header() *%s { return &x.%s }", name, field.Type, goName(field.Name))
			f.P("")
		}
	}
}

func describe(st *model.Structure) string {
	kind := "the structure"
	switch st.Kind {
	case model.StructureOptional:
		kind = "the structure with optional fields"
	case model.StructureUnion:
		kind = "the union"
	}
	where := ""
	if st.Part != 0 {
		where = fmt.Sprintf(" of Part %d", st.Part)
	}
	return kind + " of that name" + where
}

func (t *types) encoder(f *source.File, st *model.Structure) {
	name := goName(st.Name)
	f.P("// AppendTo appends the binary encoding to dst.")
	if t.known[st.Name].depth {
		f.P("func (x *%s) AppendTo(dst []byte) []byte { return x.appendDepth(dst, 0) }", name)
		f.P("")
		f.P("func (x *%s) appendDepth(dst []byte, depth int) []byte {", name)
	} else if len(st.Fields) == 0 && st.Kind == model.StructurePlain {
		f.P("func (*%s) AppendTo(dst []byte) []byte { return dst }", name)
		f.P("")
		return
	} else {
		f.P("func (x *%s) AppendTo(dst []byte) []byte {", name)
	}
	if t.self[st.Name] {
		// The shortest encoding of any type consists of zero bytes, so that
		// what is cut off here still decodes.
		f.P("if depth >= MaxDepth {")
		f.P("return append(dst, make([]byte, %d)...)", t.known[st.Name].min)
		f.P("}")
		f.P("depth++")
	}
	switch st.Kind {
	case model.StructurePlain:
		for _, field := range st.Fields {
			t.appendField(f, field, "x."+goName(field.Name))
		}
	case model.StructureOptional:
		f.P("var mask uint32")
		for _, field := range st.Fields {
			if field.Optional {
				f.P("if x.%s != nil {", goName(field.Name))
				f.P("mask |= 1 << %d", field.Switch)
				f.P("}")
			}
		}
		f.P("dst = codec.AppendUint32(dst, mask)")
		for _, field := range st.Fields {
			if !field.Optional {
				t.appendField(f, field, "x."+goName(field.Name))
				continue
			}
			f.P("if x.%s != nil {", goName(field.Name))
			t.appendOptional(f, field, "x."+goName(field.Name))
			f.P("}")
		}
	case model.StructureUnion:
		f.P("switch {")
		for _, field := range st.Fields {
			f.P("case x.Switch == %d && x.%s != nil:", field.Switch, goName(field.Name))
			f.P("dst = codec.AppendUint32(dst, %d)", field.Switch)
			t.appendOptional(f, field, "x."+goName(field.Name))
		}
		f.P("default:")
		f.P("dst = codec.AppendUint32(dst, 0)")
		f.P("}")
	}
	f.P("return dst")
	f.P("}")
	f.P("")
}

// appendOptional writes a field that is behind a pointer unless it is an array.
func (t *types) appendOptional(f *source.File, field *model.Field, value string) {
	w := t.known[field.Type]
	if field.Array && !w.fixed {
		t.appendElements(f, field, value)
		return
	}
	if !field.Array && w.read != "" {
		value = "*" + value
	}
	t.appendField(f, field, value)
}

func (t *types) appendField(f *source.File, field *model.Field, value string) {
	w := t.known[field.Type]
	switch {
	case !field.Array:
		f.P("dst = "+w.append, t.plain(field, value))
	case w.fixed:
		f.P("dst = codec.AppendSlice(dst, %s)", value)
	default:
		f.P("if %s == nil {", value)
		f.P("dst = codec.AppendArrayLen(dst, -1)")
		f.P("} else {")
		t.appendElements(f, field, value)
		f.P("}")
	}
}

// appendElements writes an array that is not null.
func (t *types) appendElements(f *source.File, field *model.Field, value string) {
	layout := t.known[field.Type].append
	if field.Type == "String" {
		layout = "codec.AppendStringValue(dst, %s)"
	}
	f.P("dst = codec.AppendArrayLen(dst, len(%s))", value)
	f.P("for i := range %s {", value)
	f.P("dst = "+layout, value+"[i]")
	f.P("}")
}

// plain converts the fields that have a named type of ours over a plain one.
func (t *types) plain(field *model.Field, value string) string {
	if field.Name == "AttributeId" && field.Type == "UInt32" {
		return "uint32(" + value + ")"
	}
	return value
}

func (t *types) decoder(f *source.File, st *model.Structure) {
	name := goName(st.Name)
	f.P("// DecodeFrom reads the binary encoding, reusing the memory of x.")
	if len(st.Fields) == 0 && st.Kind == model.StructurePlain {
		f.P("func (*%s) DecodeFrom(*codec.Decoder) {}", name)
		f.P("")
		return
	}
	f.P("func (x *%s) DecodeFrom(d *codec.Decoder) {", name)
	if isRequest(st) {
		// A server has read the header before it knows what the rest is.
		t.readField(f, st.Fields[0])
		f.P("x.DecodeParameters(d)")
		f.P("}")
		f.P("")
		f.P("// DecodeParameters reads what stands behind the header.")
		f.P("func (x *%s) DecodeParameters(d *codec.Decoder) {", name)
		for _, field := range st.Fields[1:] {
			t.readField(f, field)
		}
		f.P("}")
		f.P("")
		return
	}
	if t.self[st.Name] {
		f.P("if !d.Enter() {")
		f.P("d.Leave()")
		f.P("return")
		f.P("}")
	}
	switch st.Kind {
	case model.StructurePlain:
		for _, field := range st.Fields {
			t.readField(f, field)
		}
	case model.StructureOptional:
		t.readOptional(f, st)
	case model.StructureUnion:
		t.readUnion(f, st)
	}
	if t.self[st.Name] {
		f.P("d.Leave()")
	}
	f.P("}")
	f.P("")
}

func isRequest(st *model.Structure) bool {
	return len(st.Fields) > 0 && st.Fields[0].Type == "RequestHeader"
}

func (t *types) readOptional(f *source.File, st *model.Structure) {
	var bits uint32
	for _, field := range st.Fields {
		if field.Optional {
			bits |= 1 << field.Switch
		}
	}
	f.P("mask := d.Uint32()")
	f.P("if mask&^%#x != 0 {", bits)
	f.P("d.Fail(codec.ErrDecoding) // a field that we do not know, of unknown size")
	f.P("}")
	for _, field := range st.Fields {
		if !field.Optional {
			t.readField(f, field)
			continue
		}
		f.P("if mask&(1<<%d) != 0 {", field.Switch)
		t.readPointer(f, field)
		f.P("} else {")
		f.P("x.%s = nil", goName(field.Name))
		f.P("}")
	}
}

func (t *types) readUnion(f *source.File, st *model.Structure) {
	f.P("*x = %s{Switch: d.Uint32()}", goName(st.Name))
	f.P("switch x.Switch {")
	f.P("case 0:")
	for _, field := range st.Fields {
		f.P("case %d:", field.Switch)
		t.readPointer(f, field)
	}
	f.P("default:")
	f.P("d.Fail(codec.ErrDecoding)")
	f.P("}")
}

// readPointer reads a field that is present; an empty array stays distinct
// from an absent one.
func (t *types) readPointer(f *source.File, field *model.Field) {
	name := "x." + goName(field.Name)
	if field.Array {
		t.readField(f, field)
		f.P("if %s == nil {", name)
		f.P("%s = []%s{}", name, t.known[field.Type].goType)
		f.P("}")
		return
	}
	w := t.known[field.Type]
	f.P("%s = new(%s)", name, w.goType) // never reused: a copy of x may share it
	if w.read != "" {
		f.P("*%s = %s", name, w.read)
	} else {
		f.P("%s.DecodeFrom(d)", name)
	}
}

func (t *types) readField(f *source.File, field *model.Field) {
	w := t.known[field.Type]
	name := "x." + goName(field.Name)
	switch {
	case !field.Array && w.read == "":
		f.P("%s.DecodeFrom(d)", name)
	case !field.Array && field.Name == "AttributeId" && field.Type == "UInt32":
		f.P("%s = AttributeID(%s)", name, w.read)
	case !field.Array:
		f.P("%s = %s", name, w.read)
	case w.fixed:
		f.P("%s = codec.ReadSlice(d, %s)", name, name)
	default:
		f.P("%s = grow(%s, d.ArrayLen(%d))", name, name, max(w.min, 1))
		f.P("for i := range %s {", name)
		if w.read != "" {
			f.P("%s[i] = %s", name, w.read)
		} else {
			f.P("%s[i].DecodeFrom(d)", name)
			f.P("if d.Err() != nil {")
			f.P("break")
			f.P("}")
		}
		f.P("}")
	}
}
