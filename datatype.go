package uahive

import (
	"fmt"
	"reflect"
	"time"

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
	// structure is what AddStructure made of the Go type or of the type of its
	// elements, nil for others.
	structure *structType
	// wide says that it is an enumeration of an int, which is an Int32 to
	// clients.
	wide bool
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
		return form{dataType: ua.NumericID(0, id.Byte), rank: 1, builtin: ua.TypeByte}, nil
	case t.Implements(matrixType):
		f, err := s.elementForm(reflect.Zero(t).Interface().(matrix).element())
		f.rank = rankMatrix
		return f, err
	case t.Kind() == reflect.Slice:
		f, err := s.elementForm(t.Elem())
		if err == nil && f.builtin == ua.TypeNull {
			if t.Elem().Kind() == reflect.Struct {
				return f, unknownStruct(t.Elem())
			}
			err = fmt.Errorf("elements of the Go type %s: use a slice of a scalar type, or uahive.Matrix for more dimensions", t.Elem())
		}
		f.rank = 1
		return f, err
	case t.Kind() == reflect.Array:
		return form{}, fmt.Errorf("the Go type %s: use a slice", t)
	case t.Kind() == reflect.Interface:
		return form{}, fmt.Errorf("the Go type %s: use ua.Variant for values of any type", t)
	case t.Kind() == reflect.Struct:
		return form{}, unknownStruct(t)
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		return form{}, fmt.Errorf("the Go type %s: use %s, without a pointer", t, t.Elem())
	}
	return form{}, fmt.Errorf("the Go type %s: use a type that package ua has a built-in type for", t)
}

func unknownStruct(t reflect.Type) error {
	return fmt.Errorf("the Go type %s: call uahive.AddStructure[%s] first, which makes it a DataType", t, t)
}

// elementForm is formOf for scalars. It returns TypeNull for what is none.
func (s *Server) elementForm(t reflect.Type) (form, error) {
	switch {
	case t == variantType:
		return form{dataType: ua.NumericID(0, id.BaseDataType), rank: rankAny, builtin: ua.TypeVariant}, nil
	case t == durationType:
		return form{dataType: ua.NumericID(0, id.Duration), rank: rankScalar, builtin: ua.TypeDouble}, nil
	case t == byteArrayType:
		return form{}, nil
	}
	if structure := s.structure(t); structure != nil {
		return form{
			dataType: structure.dataType, rank: rankScalar, builtin: ua.TypeExtensionObject, structure: structure,
		}, nil
	}
	builtin := ua.TypeOfGo(t)
	if builtin == ua.TypeByteString && t != bytesType {
		return form{}, fmt.Errorf("the Go type %s: use []byte for a ByteString, or uahive.ByteArray", t)
	}
	f := form{dataType: ua.NumericID(0, uint32(builtin)), rank: rankScalar, builtin: builtin}
	if builtin == ua.TypeExtensionObject && t != objectType {
		dataType, err := s.structureType(t)
		f.dataType = dataType
		return f, err
	}
	if dataType, ok := s.enumeration(t); ok {
		f.dataType, f.builtin, f.wide = dataType, ua.TypeInt32, t.Kind() == reflect.Int
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
