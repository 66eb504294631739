package uahive

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// AddStructure makes a structured DataType of a struct type, whose fields are
// those of the struct, in their order. Variables, method arguments and results,
// fields of other structures, and slices of all of them may have that Go type from
// then on, so it comes before them.
//
//	type Point struct {
//		X, Y  float64
//		Label string `ua:"Name,what the operator calls it"`
//	}
//
//	uahive.AddStructure[Point](ns, "Point")
//	uahive.AddVariable(ns, "Origin", Point{Label: "origin"})
//
// A field is exported and has a type that [AddVariable] takes, as a value and not
// as a pointer, or a slice of one; a [Matrix] cannot be a field. A structure in it
// was added before, so that none contains itself. A tag changes the name that
// clients see and adds a description.
//
// The DataType is a subtype of Structure, with a StructureDefinition by which
// clients can decode it, and an object for its Default Binary encoding (Part 3,
// 5.8.2 and 8.48), whose id is that of the DataType followed by ".Default Binary".
// It returns the id of the DataType, and the null id when it could not be made
// (see [ModelError]).
//
// Values are encoded when they are set and decoded when the program gets them, by
// a plan that is made once; reading them costs clients and server nothing more.
// What a client writes or passes is decoded before it is accepted
// (BadTypeMismatch). A client in Go sees an opaque ua.ExtensionObject, for
// [DecodeStructure] and [EncodeStructure]. Servers in one process share nothing:
// each may add the type in a namespace of its own.
func AddStructure[T any](n *Namespace, name string, opts ...NodeOption) ua.NodeID {
	const operation = "AddStructure"
	root := n.parent()
	if root.failed != nil {
		return ua.NodeID{}
	}
	at, s, goType := root.child(name), root.srv, reflect.TypeFor[T]()
	refuse := func(problem, instead string) ua.NodeID {
		at.refuse(&ModelError{Operation: operation, Path: name, Problem: problem, Instead: instead})
		return ua.NodeID{}
	}
	if s.structure(goType) != nil {
		return refuse(fmt.Sprintf("Go type %s is a structure already", goType), "add it once")
	}
	plan, err := s.planOf(goType)
	if err != nil {
		return refuse("not a type for a structure", err.Error())
	}
	spec := addrspace.NodeSpec{
		ID: ua.StringID(at.ns, at.path), Class: ua.NodeClassDataType,
		BrowseName: ua.QualifiedName{NamespaceIndex: at.ns, Name: name}, Parent: ua.NumericID(0, id.Structure),
	}
	for _, opt := range opts {
		opt.apply(&spec)
	}
	// The definition names the encoding, which comes first therefore.
	encoding := at.child("Default Binary")
	encoding.add(operation, addrspace.NodeSpec{
		ID: at.partID(spec.ID, "Default Binary"), Class: ua.NodeClassObject,
		BrowseName:     ua.QualifiedName{Name: "Default Binary"},
		TypeDefinition: ua.NumericID(0, id.DataTypeEncodingType),
	})
	if encoding.failed != nil {
		return ua.NodeID{}
	}
	spec.Definition = &ua.StructureDefinition{
		DefaultEncodingID: encoding.ID(), BaseDataType: ua.NumericID(0, id.Structure),
		StructureType: ua.StructureTypeStructure, Fields: plan.definition,
	}
	at.add(operation, spec)
	if at.failed != nil {
		encoding.Remove()
		return ua.NodeID{}
	}
	if err := s.space.AddReference(at.ID(), ua.NumericID(0, id.HasEncoding), encoding.ID()); err != nil {
		at.failed = &ModelError{
			Operation: operation, Path: name, Problem: "no reference to its encoding", Instead: "keep its nodes", Err: err,
		}
		s.fail(at.failed)
		return ua.NodeID{}
	}
	m := &s.model
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.structs == nil {
		m.structs = make(map[reflect.Type]*structType)
	}
	m.structs[goType] = &structType{plan: plan, dataType: at.ID(), encoding: encoding.ID()}
	return at.ID()
}

// structType is what AddStructure makes of a Go type: its plan and its ids.
type structType struct {
	plan               *structPlan
	dataType, encoding ua.NodeID
}

// encode makes the value of a struct or of a slice of structs, which is
// addressable. The result shares no memory with it.
func (t *structType) encode(src reflect.Value) ua.Variant {
	if src.Kind() == reflect.Struct {
		return ua.VariantOf(t.object(t.plan.append(nil, src.Addr().UnsafePointer())))
	}
	if src.IsNil() {
		return ua.SliceVariant[ua.ExtensionObject](nil)
	}
	objects := make([]ua.ExtensionObject, src.Len())
	var bodies []byte
	for i := range objects {
		start := len(bodies)
		bodies = t.plan.append(bodies, src.Index(i).Addr().UnsafePointer())
		// The bodies share one block, or two where it grew.
		objects[i] = t.object(bodies[start:len(bodies):len(bodies)])
	}
	return ua.SliceVariant(objects)
}

func (t *structType) object(body []byte) ua.ExtensionObject {
	return ua.ExtensionObject{TypeID: t.encoding, Encoding: ua.EncodingBinary, Raw: body}
}

// decode fills a struct or a slice of structs from a value; null is the zero
// value.
func (t *structType) decode(dst reflect.Value, v ua.Variant) bool {
	return t.plan.value(dst, v, t.is, true)
}

// is reports whether an id names the type. Some peers name the DataType.
func (t *structType) is(typeID ua.NodeID) bool { return typeID == t.encoding || typeID == t.dataType }

// check is asked about what clients write: it must be of the type itself, and
// well-formed.
func (t *structType) check(v ua.Variant) ua.StatusCode {
	goType := t.plan.goType
	if v.IsArray() {
		goType = reflect.SliceOf(goType)
	}
	if !v.IsNull() && !t.plan.value(reflect.New(goType).Elem(), v, t.is, false) {
		return ua.BadTypeMismatch
	}
	return ua.Good
}

// value decodes a structure, or an array of structures. lenient replaces texts
// that are not UTF-8.
func (p *structPlan) value(dst reflect.Value, v ua.Variant, is func(ua.NodeID) bool, lenient bool) bool {
	if x, ok := ua.As[ua.ExtensionObject](v); ok {
		return dst.Kind() == reflect.Struct && p.body(dst.Addr().UnsafePointer(), &x, is, lenient)
	}
	objects, ok := ua.As[[]ua.ExtensionObject](v)
	if !ok || dst.Kind() != reflect.Slice {
		return false
	}
	if objects == nil {
		return true
	}
	out := reflect.MakeSlice(dst.Type(), len(objects), len(objects))
	for i := range objects {
		if !p.body(out.Index(i).Addr().UnsafePointer(), &objects[i], is, lenient) {
			return false
		}
	}
	dst.Set(out)
	return true
}

// body decodes what an ExtensionObject holds; a null one is the zero value.
func (p *structPlan) body(dst unsafe.Pointer, x *ua.ExtensionObject, is func(ua.NodeID) bool, lenient bool) bool {
	body, typeID := x.Raw, x.TypeID
	switch {
	case x.IsNull():
		return true
	case x.Value != nil: // somebody registered a type of that id
		body, typeID = x.Value.AppendTo(nil), x.Value.EncodingID()
	case x.Encoding != ua.EncodingBinary:
		return false
	}
	if !is(typeID) {
		return false
	}
	// The body was bounded as a part of its message, or made here.
	limits := codec.Limits{
		MaxStringLength: len(body), MaxByteStringLength: len(body), MaxArrayLength: len(body), ReplaceInvalidUTF8: lenient,
	}
	d := codec.NewDecoder(body, &limits)
	p.read(d, dst)
	return d.Finish() == nil
}

// DecodeStructure gives a client in Go the struct, or slice of structs, that a
// server's value holds, where both know the Go type: the server by [AddStructure].
// It goes by the fields alone and not by the value's type id, since namespaces
// have other indexes on other servers; a value that does not fit the fields is
// ua.BadTypeMismatch. An error that is no StatusCode says why T cannot be one.
// Enumerations in T are types of int32, for an int is taken for an Int64.
func DecodeStructure[T any](v ua.Variant) (T, error) {
	var out T
	plan, err := clientPlan(reflect.TypeFor[T]())
	if err != nil {
		return out, err
	}
	if !plan.value(reflect.ValueOf(&out).Elem(), v, func(ua.NodeID) bool { return true }, false) {
		var zero T
		return zero, ua.BadTypeMismatch
	}
	return out, nil
}

// EncodeStructure makes the value to write or to pass to a method of a struct, or
// of a slice of structs. The encoding is the TypeID of an ExtensionObject that was
// read, or the id that [AddStructure] says. Its error says why T cannot be one.
func EncodeStructure[T any](encoding ua.NodeID, value T) (ua.Variant, error) {
	plan, err := clientPlan(reflect.TypeFor[T]())
	if err != nil {
		return ua.Variant{}, err
	}
	t := structType{plan: plan, encoding: encoding}
	return t.encode(reflect.ValueOf(&value).Elem()), nil
}
