package addrspace

import (
	"slices"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// typeKind says how values of a DataType look on the wire.
type typeKind uint8

const (
	kindUnknown     typeKind = iota
	kindBuiltin              // a concrete built-in type or a subtype of one
	kindAny                  // BaseDataType: every value
	kindNumber               // Number: every numeric built-in type
	kindInteger              // Integer: every signed integer type
	kindUInteger             // UInteger: every unsigned integer type
	kindEnumeration          // Enumeration or a subtype of it: Int32
	kindStructure            // Structure or a subtype of it: ExtensionObject
)

// DataTypeKind returns the built-in type in which values of a DataType are
// encoded: the built-in type itself for it and its subtypes, Int32 for
// enumerations, ExtensionObject for structures, and Variant for the abstract
// types that several built-in types fit (BaseDataType, Number, Integer,
// UInteger). It returns TypeNull for what is not a DataType node.
func (s *Space) DataTypeKind(dataType ua.NodeID) ua.TypeID {
	if n := s.index.get(&dataType); n != nil && n.class == classDataType {
		_, builtin := n.typeKind()
		return builtin
	}
	return ua.TypeNull
}

// typeKind walks up to the first type of namespace 0 that decides.
func (n *Node) typeKind() (typeKind, ua.TypeID) {
	for range maxTypeDepth {
		if n == nil {
			break
		}
		if n.id.Namespace() == 0 && n.id.Type() == ua.IDTypeNumeric {
			switch v := n.id.Numeric(); v {
			case id.BaseDataType:
				return kindAny, ua.TypeVariant
			case id.Number:
				return kindNumber, ua.TypeVariant
			case id.Integer:
				return kindInteger, ua.TypeVariant
			case id.UInteger:
				return kindUInteger, ua.TypeVariant
			case id.Enumeration:
				return kindEnumeration, ua.TypeInt32
			case id.Structure:
				return kindStructure, ua.TypeExtensionObject
			default:
				if v >= uint32(ua.TypeBoolean) && v <= uint32(ua.TypeDiagnosticInfo) {
					return kindBuiltin, ua.TypeID(v)
				}
			}
		}
		n = n.Supertype()
	}
	return kindUnknown, ua.TypeNull
}

// accepts reports whether a built-in type may stand for values of this kind.
func (k typeKind) accepts(builtin, actual ua.TypeID) bool {
	switch k {
	case kindAny:
		return true
	case kindNumber:
		return isSigned(actual) || isUnsigned(actual) || actual == ua.TypeFloat || actual == ua.TypeDouble
	case kindInteger:
		return isSigned(actual)
	case kindUInteger:
		return isUnsigned(actual)
	case kindUnknown:
		return false
	default:
		return actual == builtin
	}
}

func isSigned(t ua.TypeID) bool {
	switch t {
	case ua.TypeSByte, ua.TypeInt16, ua.TypeInt32, ua.TypeInt64:
		return true
	}
	return false
}

func isUnsigned(t ua.TypeID) bool {
	switch t {
	case ua.TypeByte, ua.TypeUInt16, ua.TypeUInt32, ua.TypeUInt64:
		return true
	}
	return false
}

// nullable says which built-in types have a null value (Part 6, 5.1.2, Table 1).
func nullable(t ua.TypeID) bool {
	switch t {
	case ua.TypeBoolean, ua.TypeSByte, ua.TypeByte, ua.TypeInt16, ua.TypeUInt16, ua.TypeInt32, ua.TypeUInt32,
		ua.TypeInt64, ua.TypeUInt64, ua.TypeFloat, ua.TypeDouble, ua.TypeStatusCode:
		return false
	}
	return true
}

// EncodedDataType returns the DataType whose values are encoded with the given
// encoding id (the TypeId of an ExtensionObject), or nil. It follows the
// inverse HasEncoding reference of the encoding node.
func (s *Space) EncodedDataType(encoding ua.NodeID) *Node {
	n := s.index.get(&encoding)
	if n == nil {
		return nil
	}
	if n.class == classDataType {
		return n // some peers name the DataType itself
	}
	items := n.halves()
	for i := range items {
		if it := &items[i]; it.meta == refHasEncoding<<1|1 {
			if t := it.target.Load(); t != nil && t.class == classDataType {
				return t
			}
		}
	}
	return nil
}

// enumValues returns the values that an enumeration's definition names, in
// ascending order, or nil when it is not known.
func (n *Node) enumValues() []int32 {
	for range maxTypeDepth {
		if n == nil {
			return nil
		}
		if a := n.attrs.Load(); a != nil && a.enum != nil {
			return a.enum
		}
		n = n.Supertype()
	}
	return nil
}

// enumOf extracts the values of an EnumDefinition.
func enumOf(def ua.Structure) []int32 {
	e, ok := def.(*ua.EnumDefinition)
	if !ok || len(e.Fields) == 0 {
		return nil
	}
	values := make([]int32, 0, len(e.Fields))
	for i := range e.Fields {
		values = append(values, int32(e.Fields[i].Value))
	}
	slices.Sort(values)
	return values
}
