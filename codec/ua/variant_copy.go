package ua

import (
	"bytes"
	"slices"
	"strings"
	"unsafe"
)

// Clone returns a deep copy that shares no memory. What is nested deeper than
// MaxDepth becomes null.
func (v Variant) Clone() Variant { return v.cloneDepth(0) }

func (v Variant) cloneDepth(depth int) Variant {
	if depth >= MaxDepth {
		return Variant{}
	}
	if v.ptr == nil {
		return v
	}
	if v.array {
		return v.cloneArray(depth + 1)
	}
	switch v.typ {
	case TypeString, TypeXMLElement:
		return textVariant(v.typ, strings.Clone(v.text()))
	case TypeByteString:
		return bytesVariant(bytes.Clone(v.bytes()))
	case TypeGuid:
		return v // never changed, and never part of a message's memory
	case TypeNodeID:
		return box(v.typ, unbox[NodeID](v).Clone())
	case TypeExpandedNodeID:
		return box(v.typ, unbox[ExpandedNodeID](v).Clone())
	case TypeQualifiedName:
		return box(v.typ, unbox[QualifiedName](v).Clone())
	case TypeLocalizedText:
		return box(v.typ, unbox[LocalizedText](v).Clone())
	case TypeExtensionObject:
		return box(v.typ, unbox[ExtensionObject](v).cloneDepth(depth+1))
	case TypeDataValue:
		return box(v.typ, unbox[DataValue](v).cloneDepth(depth+1))
	case TypeDiagnosticInfo:
		return box(v.typ, unbox[DiagnosticInfo](v).Clone())
	}
	return v
}

func (v Variant) cloneArray(depth int) Variant {
	out := v
	if v.dims != nil {
		dims := slices.Clone(*v.dims)
		out.dims = &dims
	}
	switch size := fixedSize(v.typ); size {
	case 1:
		out.ptr = copyFixed[uint8](v)
	case 2:
		out.ptr = copyFixed[uint16](v)
	case 4:
		out.ptr = copyFixed[uint32](v)
	case 8:
		out.ptr = copyFixed[uint64](v)
	case 16:
		out.ptr = copyFixed[Guid](v)
	default:
		out.ptr = v.copyElems(depth)
	}
	return out
}

// fixedSize returns the size of an element that holds no pointers, 0 for the
// others.
func fixedSize(t TypeID) int {
	switch t {
	case TypeBoolean, TypeSByte, TypeByte:
		return 1
	case TypeInt16, TypeUInt16:
		return 2
	case TypeInt32, TypeUInt32, TypeFloat, TypeStatusCode:
		return 4
	case TypeInt64, TypeUInt64, TypeDouble, TypeDateTime:
		return 8
	case TypeGuid:
		return 16
	}
	return 0
}

func copyFixed[T any](v Variant) unsafe.Pointer {
	s := make([]T, int(v.bits))
	copy(s, elems[T](v))
	return unsafe.Pointer(unsafe.SliceData(s))
}

func (v Variant) copyElems(depth int) unsafe.Pointer {
	switch v.typ {
	case TypeString, TypeXMLElement:
		return mapElems(v, strings.Clone)
	case TypeByteString:
		return mapElems(v, bytes.Clone)
	case TypeNodeID:
		return mapElems(v, NodeID.Clone)
	case TypeExpandedNodeID:
		return mapElems(v, ExpandedNodeID.Clone)
	case TypeQualifiedName:
		return mapElems(v, QualifiedName.Clone)
	case TypeLocalizedText:
		return mapElems(v, LocalizedText.Clone)
	case TypeExtensionObject:
		return mapElems(v, func(e ExtensionObject) ExtensionObject { return e.cloneDepth(depth) })
	case TypeDataValue:
		return mapElems(v, func(e DataValue) DataValue { return e.cloneDepth(depth) })
	case TypeVariant:
		return mapElems(v, func(e Variant) Variant { return e.cloneDepth(depth) })
	case TypeDiagnosticInfo:
		return mapElems(v, DiagnosticInfo.Clone)
	}
	return v.ptr
}

func mapElems[T any](v Variant, clone func(T) T) unsafe.Pointer {
	from := elems[T](v)
	s := make([]T, len(from))
	for i, e := range from {
		s[i] = clone(e)
	}
	return unsafe.Pointer(unsafe.SliceData(s))
}
