package addrspace

import (
	"slices"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// shape is what a value has to fit: DataType, ValueRank and ArrayDimensions of
// a variable, a variable type or a method argument.
type shape struct {
	dataType   *Node
	rank       int32
	dimensions []uint32
	exact      bool // no subtypes (AccessLevelEx, bit NoSubDataTypes)
}

// The ValueRank values below 1 (Part 3, 5.6.2).
const (
	rankScalarOrOneDimension = -3
	rankAny                  = -2
	rankScalar               = -1
	rankOneOrMoreDimensions  = 0
)

// check reports whether a value fits (Part 4, 5.11.4.2), and returns it in the
// form to store: a ByteString that is given for an array of Byte becomes one,
// since both are the same on the wire. The status is BadTypeMismatch, or
// BadOutOfRange for a number that the enumeration does not define.
func (sh *shape) check(s *Space, v ua.Variant) (ua.Variant, ua.StatusCode) {
	kind, builtin := sh.dataType.typeKind()
	if v.IsNull() {
		return v, sh.checkNull(kind, builtin)
	}
	if v.Type() == ua.TypeByteString && !v.IsArray() && builtin == ua.TypeByte && sh.rank != rankScalar {
		bytes, _ := ua.As[[]byte](v)
		v = ua.SliceVariant(bytes)
	}
	if code := sh.checkElements(s, kind, builtin, &v); code != ua.Good {
		return v, code
	}
	if kind == kindAny && sh.rank == rankScalar {
		// Part 3, 8.7: the rank says nothing about the content of a
		// BaseDataType, which may be an array itself.
		return v, ua.Good
	}
	return v, sh.checkRank(&v)
}

// checkNull allows no value where the type has a null value, and for
// variables that may be arrays (Part 6, 5.1.2).
func (sh *shape) checkNull(kind typeKind, builtin ua.TypeID) ua.StatusCode {
	switch {
	case kind == kindUnknown:
		return ua.BadTypeMismatch
	case sh.rank != rankScalar, kind == kindAny, kind == kindStructure:
		return ua.Good
	case kind == kindBuiltin && nullable(builtin):
		return ua.Good
	}
	return ua.BadTypeMismatch
}

func (sh *shape) checkElements(s *Space, kind typeKind, builtin ua.TypeID, v *ua.Variant) ua.StatusCode {
	if v.Type() == ua.TypeVariant && kind != kindAny {
		// An array of an abstract numeric type is an array of Variants.
		return sh.checkVariants(s, kind, builtin, v)
	}
	if !kind.accepts(builtin, v.Type()) {
		return ua.BadTypeMismatch
	}
	switch kind {
	case kindEnumeration:
		return sh.checkEnum(v)
	case kindStructure:
		return sh.checkStructures(s, v)
	}
	return ua.Good
}

func (sh *shape) checkVariants(s *Space, kind typeKind, builtin ua.TypeID, v *ua.Variant) ua.StatusCode {
	switch kind {
	case kindNumber, kindInteger, kindUInteger:
	default:
		return ua.BadTypeMismatch
	}
	elements, _ := ua.As[[]ua.Variant](*v)
	for i := range elements {
		if elements[i].IsArray() || !kind.accepts(builtin, elements[i].Type()) {
			return ua.BadTypeMismatch
		}
	}
	return ua.Good
}

// checkEnum refuses numbers that the enumeration does not define, where its
// definition is known (Part 3, 5.8.3: such a value is BadOutOfRange).
func (sh *shape) checkEnum(v *ua.Variant) ua.StatusCode {
	values := sh.dataType.enumValues()
	if values == nil {
		return ua.Good
	}
	if n, ok := v.Int(); ok {
		if _, found := slices.BinarySearch(values, int32(n)); !found {
			return ua.BadOutOfRange
		}
		return ua.Good
	}
	elements, _ := ua.As[[]int32](*v)
	for _, n := range elements {
		if _, found := slices.BinarySearch(values, n); !found {
			return ua.BadOutOfRange
		}
	}
	return ua.Good
}

// checkStructures compares the encodings with the DataType. A null structure
// fits every type; a type that the space does not know fits only Structure.
func (sh *shape) checkStructures(s *Space, v *ua.Variant) ua.StatusCode {
	if x, ok := ua.As[ua.ExtensionObject](*v); ok {
		return sh.checkStructure(s, &x)
	}
	elements, _ := ua.As[[]ua.ExtensionObject](*v)
	for i := range elements {
		if code := sh.checkStructure(s, &elements[i]); code != ua.Good {
			return code
		}
	}
	return ua.Good
}

func (sh *shape) checkStructure(s *Space, x *ua.ExtensionObject) ua.StatusCode {
	want := sh.dataType.id
	if x.IsNull() || want == ns0ID(id.Structure) {
		return ua.Good
	}
	t := s.EncodedDataType(objectType(x))
	if t == nil || t != sh.dataType && (sh.exact || !t.isSubtypeOf(want)) {
		return ua.BadTypeMismatch
	}
	return ua.Good
}

// objectType returns the encoding id of an ExtensionObject.
func objectType(x *ua.ExtensionObject) ua.NodeID {
	if x.Value != nil {
		return x.Value.EncodingID()
	}
	return x.TypeID
}

func (sh *shape) checkRank(v *ua.Variant) ua.StatusCode {
	rank := int32(v.Rank())
	ok := false
	switch sh.rank {
	case rankAny:
		ok = true
	case rankScalarOrOneDimension:
		ok = rank <= 1
	case rankScalar:
		ok = rank == 0
	case rankOneOrMoreDimensions:
		ok = rank >= 1
	default:
		ok = rank == sh.rank
	}
	if !ok {
		return ua.BadTypeMismatch
	}
	if len(sh.dimensions) == 0 || rank == 0 {
		return ua.Good
	}
	for i, n := range v.Dimensions() {
		// 0 stands for a dimension of any length.
		if i < len(sh.dimensions) && sh.dimensions[i] != 0 && uint32(n) > sh.dimensions[i] {
			return ua.BadTypeMismatch
		}
	}
	return ua.Good
}

// valueSize returns about how many bytes a value takes when it is encoded.
func valueSize(v *ua.Variant) int {
	size := 0
	switch v.Type() {
	case ua.TypeNull:
		return 0
	case ua.TypeBoolean, ua.TypeSByte, ua.TypeByte:
		size = 1
	case ua.TypeInt16, ua.TypeUInt16:
		size = 2
	case ua.TypeInt32, ua.TypeUInt32, ua.TypeFloat, ua.TypeStatusCode:
		size = 4
	case ua.TypeInt64, ua.TypeUInt64, ua.TypeDouble, ua.TypeDateTime:
		size = 8
	case ua.TypeGuid:
		size = 16
	case ua.TypeString:
		return textSize[string](v)
	case ua.TypeXMLElement:
		return textSize[ua.XMLElement](v)
	case ua.TypeByteString:
		return textSize[[]byte](v)
	default:
		b := codec.GetBuffer(0)
		b.B = v.AppendTo(b.B[:0])
		size = len(b.B)
		b.Release()
		return size
	}
	return size * v.Len()
}

func textSize[T interface{ ~string | ~[]byte }](v *ua.Variant) int {
	if x, ok := ua.As[T](*v); ok && !v.IsArray() {
		return len(x) + 4
	}
	elements, _ := ua.As[[]T](*v)
	size := 0
	for i := range elements {
		size += len(elements[i]) + 4
	}
	return size
}
