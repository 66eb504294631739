package ua

import (
	"bytes"
	"slices"
)

// Equal reports whether both hold the same type and value and would be
// encoded alike. Floating-point numbers are compared by their bits: a NaN
// equals itself, and 0 differs from -0.
func (v Variant) Equal(o Variant) bool { return v.equalDepth(o, 0) }

func (v Variant) equalDepth(o Variant, depth int) bool {
	if v.typ != o.typ || v.array != o.array || v.bits != o.bits {
		return false
	}
	if v.ptr == o.ptr && v.dims == o.dims {
		return true
	}
	if depth >= MaxDepth {
		return true // both are null at this depth
	}
	if v.array {
		return v.equalArray(o, depth+1)
	}
	switch v.typ {
	case TypeString, TypeXMLElement:
		return v.text() == o.text()
	case TypeByteString:
		return (v.ptr == nil) == (o.ptr == nil) && bytes.Equal(v.bytes(), o.bytes())
	case TypeGuid:
		return *unbox[Guid](v) == *unbox[Guid](o)
	case TypeNodeID:
		return *unbox[NodeID](v) == *unbox[NodeID](o)
	case TypeExpandedNodeID:
		return *unbox[ExpandedNodeID](v) == *unbox[ExpandedNodeID](o)
	case TypeQualifiedName:
		return *unbox[QualifiedName](v) == *unbox[QualifiedName](o)
	case TypeLocalizedText:
		return *unbox[LocalizedText](v) == *unbox[LocalizedText](o)
	case TypeExtensionObject:
		return unbox[ExtensionObject](v).equalDepth(*unbox[ExtensionObject](o), depth+1)
	case TypeDataValue:
		return unbox[DataValue](v).equalDepth(*unbox[DataValue](o), depth+1)
	case TypeDiagnosticInfo:
		return unbox[DiagnosticInfo](v).Equal(*unbox[DiagnosticInfo](o))
	}
	return true
}

func (v Variant) equalArray(o Variant, depth int) bool {
	if (v.ptr == nil) != (o.ptr == nil) || (v.dims == nil) != (o.dims == nil) {
		return false
	}
	if v.dims != nil && !slices.Equal(*v.dims, *o.dims) {
		return false
	}
	if size := fixedSize(v.typ); size != 0 {
		a, b := v, o
		a.bits *= uint64(size)
		b.bits *= uint64(size)
		return bytes.Equal(a.bytes(), b.bytes())
	}
	switch v.typ {
	case TypeString, TypeXMLElement:
		return slices.Equal(elems[string](v), elems[string](o))
	case TypeByteString:
		return slices.EqualFunc(elems[[]byte](v), elems[[]byte](o), func(a, b []byte) bool {
			return (a == nil) == (b == nil) && bytes.Equal(a, b)
		})
	case TypeNodeID:
		return slices.Equal(elems[NodeID](v), elems[NodeID](o))
	case TypeExpandedNodeID:
		return slices.Equal(elems[ExpandedNodeID](v), elems[ExpandedNodeID](o))
	case TypeQualifiedName:
		return slices.Equal(elems[QualifiedName](v), elems[QualifiedName](o))
	case TypeLocalizedText:
		return slices.Equal(elems[LocalizedText](v), elems[LocalizedText](o))
	case TypeExtensionObject:
		return slices.EqualFunc(elems[ExtensionObject](v), elems[ExtensionObject](o), func(a, b ExtensionObject) bool { return a.equalDepth(b, depth) })
	case TypeDataValue:
		return slices.EqualFunc(elems[DataValue](v), elems[DataValue](o), func(a, b DataValue) bool { return a.equalDepth(b, depth) })
	case TypeVariant:
		return slices.EqualFunc(elems[Variant](v), elems[Variant](o), func(a, b Variant) bool { return a.equalDepth(b, depth) })
	case TypeDiagnosticInfo:
		return slices.EqualFunc(elems[DiagnosticInfo](v), elems[DiagnosticInfo](o), DiagnosticInfo.Equal)
	}
	return true
}
