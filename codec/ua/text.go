package ua

import (
	"fmt"
	"strconv"
)

// String returns a short text of the value. Texts are quoted, long arrays are
// cut.
func (v Variant) String() string { return string(v.appendText(nil, 0)) }

func (v Variant) appendText(b []byte, depth int) []byte {
	if v.typ == TypeNull {
		return append(b, "null"...)
	}
	if depth >= MaxDepth || len(b) > maxTextLength {
		return append(b, "..."...)
	}
	if !v.array {
		return v.appendScalarText(b, depth)
	}
	if v.dims != nil {
		for i, d := range *v.dims {
			if i == maxTextElements {
				b = append(b, "..."...)
				break
			}
			b = append(strconv.AppendInt(append(b, '['), int64(d), 10), ']')
		}
	}
	n := v.Len()
	b = append(b, '[')
	for i := range min(n, maxTextElements) {
		if len(b) > maxTextLength {
			break
		}
		if i > 0 {
			b = append(b, ' ')
		}
		b = v.element(i).appendText(b, depth+1)
	}
	if n > maxTextElements {
		b = append(b, " ... of "...)
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}

func (v Variant) appendScalarText(b []byte, depth int) []byte {
	switch v.typ {
	case TypeString, TypeXMLElement:
		return appendQuoted(b, v.text())
	case TypeByteString:
		s := v.bytes()
		b = append(b, "0x"...)
		for _, c := range s[:min(len(s), 2*maxTextElements)] {
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
		if len(s) > 2*maxTextElements {
			b = append(b, "... of "...)
			b = strconv.AppendInt(b, int64(len(s)), 10)
		}
		return b
	case TypeNodeID:
		return appendQuoted(b, unbox[NodeID](v).String())
	case TypeExpandedNodeID:
		return appendQuoted(b, unbox[ExpandedNodeID](v).String())
	case TypeQualifiedName:
		return appendQuoted(b, unbox[QualifiedName](v).String())
	case TypeLocalizedText:
		return appendQuoted(b, unbox[LocalizedText](v).Text)
	case TypeDataValue:
		return unbox[DataValue](v).appendText(b, depth+1)
	case TypeExtensionObject:
		return unbox[ExtensionObject](v).appendText(b, depth+1)
	}
	return fmt.Append(b, v.Any())
}

func appendQuoted(b []byte, s string) []byte {
	const limit = 256
	if len(s) > limit {
		b = strconv.AppendQuote(b, s[:limit])
		return append(b, "..."...)
	}
	return strconv.AppendQuote(b, s)
}

// element returns one element of an array as a scalar that shares its memory.
func (v Variant) element(i int) Variant {
	switch v.typ {
	case TypeBoolean, TypeSByte, TypeByte:
		return Variant{typ: v.typ, bits: uint64(elems[uint8](v)[i])}
	case TypeInt16, TypeUInt16:
		return Variant{typ: v.typ, bits: uint64(elems[uint16](v)[i])}
	case TypeInt32, TypeUInt32, TypeFloat, TypeStatusCode:
		return Variant{typ: v.typ, bits: uint64(elems[uint32](v)[i])}
	case TypeInt64, TypeUInt64, TypeDouble, TypeDateTime:
		return Variant{typ: v.typ, bits: elems[uint64](v)[i]}
	case TypeString, TypeXMLElement:
		return textVariant(v.typ, elems[string](v)[i])
	case TypeByteString:
		return bytesVariant(elems[[]byte](v)[i])
	case TypeGuid:
		return boxed(v.typ, &elems[Guid](v)[i])
	case TypeNodeID:
		return boxed(v.typ, &elems[NodeID](v)[i])
	case TypeExpandedNodeID:
		return boxed(v.typ, &elems[ExpandedNodeID](v)[i])
	case TypeQualifiedName:
		return boxed(v.typ, &elems[QualifiedName](v)[i])
	case TypeLocalizedText:
		return boxed(v.typ, &elems[LocalizedText](v)[i])
	case TypeExtensionObject:
		return boxed(v.typ, &elems[ExtensionObject](v)[i])
	case TypeDataValue:
		return boxed(v.typ, &elems[DataValue](v)[i])
	case TypeVariant:
		return elems[Variant](v)[i]
	case TypeDiagnosticInfo:
		return boxed(v.typ, &elems[DiagnosticInfo](v)[i])
	}
	return Variant{}
}

// Element returns the element at index i, counted over all dimensions, as a
// scalar; of an array of Variants the Variant itself. ok is false when there
// is no such element.
func (v Variant) Element(i int) (e Variant, ok bool) {
	if !v.array || i < 0 || i >= int(v.bits) {
		return Variant{}, false
	}
	return v.element(i), true
}

// String returns the value, its status and its source time.
func (v DataValue) String() string { return string(v.appendText(nil, 0)) }

func (v *DataValue) appendText(b []byte, depth int) []byte {
	b = v.Value.appendText(b, depth)
	b = append(b, " ("...)
	b = append(b, v.Status.String()...)
	if v.SourceTimestamp != 0 {
		b = append(b, ", "...)
		b = append(b, v.SourceTimestamp.String()...)
	}
	return append(b, ')')
}

func clip(s string) string { return s[:min(len(s), 256)] }

// String returns the additional information and the inner status.
func (v DiagnosticInfo) String() string {
	return fmt.Sprintf("DiagnosticInfo(%s, %q)", v.InnerStatusCode, clip(v.AdditionalInfo))
}
