package uahive

import (
	"fmt"
	"reflect"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// form is how values of a Go type are described to clients.
type form struct {
	dataType ua.NodeID
	rank     int32
	// builtin is the type on the wire of a value or its elements; TypeVariant
	// stands for any.
	builtin ua.TypeID
}

// The ValueRank values that Go types have (Part 3, 5.6.2).
const (
	rankScalar int32 = -1
	rankAny    int32 = -2
	rankMatrix int32 = 0 // one or more dimensions
)

var (
	timeType      = reflect.TypeFor[time.Time]()
	durationType  = reflect.TypeFor[time.Duration]()
	variantType   = reflect.TypeFor[ua.Variant]()
	objectType    = reflect.TypeFor[ua.ExtensionObject]()
	bytesType     = reflect.TypeFor[[]byte]()
	byteArrayType = reflect.TypeFor[ByteArray]()
	structureType = reflect.TypeFor[ua.Structure]()
	matrixType    = reflect.TypeFor[matrix]()
	namedType     = reflect.TypeFor[interface{ DataTypeNodeID() ua.NodeID }]()
)

// formOf finds the DataType and rank for a Go type. The error says what to use
// instead.
func (s *Server) formOf(t reflect.Type) (form, error) {
	if f, err := s.elementForm(t); err != nil || f.builtin != ua.TypeNull {
		return f, err
	}
	switch {
	case t == byteArrayType:
		return form{ua.NumericID(0, id.Byte), 1, ua.TypeByte}, nil
	case t.Implements(matrixType):
		f, err := s.elementForm(reflect.Zero(t).Interface().(matrix).element())
		f.rank = rankMatrix
		return f, err
	case t.Kind() == reflect.Slice:
		f, err := s.elementForm(t.Elem())
		if err == nil && f.builtin == ua.TypeNull {
			err = fmt.Errorf("elements of the Go type %s: use a slice of a scalar type, or uahive.Matrix for more dimensions", t.Elem())
		}
		f.rank = 1
		return f, err
	case t.Kind() == reflect.Array:
		return form{}, fmt.Errorf("the Go type %s: use a slice", t)
	case t.Kind() == reflect.Interface:
		return form{}, fmt.Errorf("the Go type %s: use ua.Variant for values of any type", t)
	case t.Kind() == reflect.Struct:
		return form{}, fmt.Errorf("the Go type %s: make it a ua.Structure and call ua.RegisterStructure", t)
	}
	return form{}, fmt.Errorf("the Go type %s: use a type that package ua has a built-in type for", t)
}

// elementForm is formOf for scalars. It returns TypeNull for what is none.
func (s *Server) elementForm(t reflect.Type) (form, error) {
	switch {
	case t == variantType:
		return form{ua.NumericID(0, id.BaseDataType), rankAny, ua.TypeVariant}, nil
	case t == durationType:
		return form{ua.NumericID(0, id.Duration), rankScalar, ua.TypeDouble}, nil
	case t == byteArrayType:
		return form{}, nil
	}
	builtin := ua.TypeOfGo(t)
	if builtin == ua.TypeByteString && t != bytesType {
		return form{}, fmt.Errorf("the Go type %s: use []byte for a ByteString, or uahive.ByteArray", t)
	}
	f := form{ua.NumericID(0, uint32(builtin)), rankScalar, builtin}
	if builtin == ua.TypeExtensionObject && t != objectType {
		dataType, err := s.structureType(t)
		f.dataType = dataType
		return f, err
	}
	if dataType, ok := s.enumeration(t); ok {
		f.dataType = dataType
	} else if t.Implements(namedType) {
		f.dataType = reflect.Zero(t).Interface().(interface{ DataTypeNodeID() ua.NodeID }).DataTypeNodeID()
	}
	return f, nil
}

// structureType returns the DataType of a ua.Structure, given as itself or by
// pointer.
func (s *Server) structureType(t reflect.Type) (ua.NodeID, error) {
	if t.Kind() == reflect.Interface {
		return ua.NodeID{}, fmt.Errorf("the Go type %s: use ua.ExtensionObject for structures of any type", t)
	}
	pointer := t
	if t.Kind() != reflect.Pointer {
		pointer = reflect.PointerTo(t)
	}
	encoding := reflect.New(pointer.Elem()).Interface().(ua.Structure).EncodingID()
	if ua.NewStructure(encoding) == nil {
		return ua.NodeID{}, fmt.Errorf("the Go type %s: call ua.RegisterStructure for its encoding %s first", t, encoding)
	}
	dataType := s.space.EncodedDataType(encoding)
	if dataType == nil {
		return ua.NodeID{}, fmt.Errorf("the Go type %s: add its DataType and the encoding %s to the address space first", t, encoding)
	}
	return dataType.ID(), nil
}

// AddEnumeration makes an enumeration of a Go type: the values 0, 1, 2, ... have
// these names. Variables and method arguments of that Go type have it as their
// DataType from then on, so it comes before them. Clients cannot write other
// values than these (Part 3, 5.8.3). It returns the id of the new DataType.
func AddEnumeration[E ~int32](n *Namespace, name string, values ...string) ua.NodeID {
	const operation = "AddEnumeration"
	root := n.parent()
	if root.failed != nil {
		return ua.NodeID{}
	}
	at := root.child(name)
	goType := reflect.TypeFor[E]()
	refuse := func(problem, instead string) ua.NodeID {
		at.refuse(&ModelError{Operation: operation, Path: name, Problem: problem, Instead: instead})
		return ua.NodeID{}
	}
	if goType == reflect.TypeFor[int32]() {
		return refuse("int32 has a meaning already", "define a type of your own, like: type State int32")
	}
	if len(values) == 0 {
		return refuse("no values", "name at least one")
	}
	if _, ok := at.srv.enumeration(goType); ok {
		return refuse(fmt.Sprintf("Go type %s is an enumeration already", goType), "add it once")
	}
	def := &ua.EnumDefinition{Fields: make([]ua.EnumField, len(values))}
	texts := make([]ua.LocalizedText, len(values))
	for i, v := range values {
		texts[i] = ua.LocalizedText{Text: v}
		def.Fields[i] = ua.EnumField{Value: int64(i), Name: v, DisplayName: texts[i]}
	}
	at.add(operation, addrspace.NodeSpec{
		ID: ua.StringID(at.ns, at.path), Class: ua.NodeClassDataType,
		BrowseName: ua.QualifiedName{NamespaceIndex: at.ns, Name: name},
		Parent:     ua.NumericID(0, id.Enumeration), Definition: def,
	})
	if at.failed != nil {
		return ua.NodeID{}
	}
	at.addProperty(operation, property{"EnumStrings", ua.SliceVariant(texts)})
	m := &at.srv.model
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.enums == nil {
		m.enums = make(map[reflect.Type]ua.NodeID)
	}
	m.enums[goType] = at.at.ID()
	return at.at.ID()
}
