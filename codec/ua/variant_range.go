package ua

import (
	"slices"
	"unicode/utf8"
	"unsafe"
)

// Slice returns the part of the value that r selects (Part 4, 7.27). A part of
// an array is an array with as many dimensions, a part of a String is a
// String, counted in characters, and a part of a ByteString a ByteString. For
// arrays of Strings and ByteStrings one more dimension selects inside the
// elements. A range that reaches beyond the end gives what there is; one that
// begins there, or has the wrong number of dimensions, BadIndexRangeNoData.
func (v Variant) Slice(r NumericRange) (Variant, StatusCode) {
	if len(r) == 0 {
		return v, Good
	}
	if !v.array {
		if len(r) != 1 {
			return Variant{}, BadIndexRangeNoData
		}
		return v.sliceScalar(r[0])
	}
	dims := v.Dimensions()
	inner := len(r) == len(dims)+1 && (v.typ == TypeString || v.typ == TypeByteString)
	if len(r) != len(dims) && !inner {
		return Variant{}, BadIndexRangeNoData
	}
	b, ok := blockOf(r, dims, true)
	if !ok {
		return Variant{}, BadIndexRangeNoData
	}
	out := Variant{typ: v.typ, array: true, bits: uint64(b.len())}
	out.ptr = arrayOps[v.typ].cut(v, b)
	if len(dims) > 1 {
		sizes := make([]int32, len(dims))
		for i, c := range b.count {
			sizes[i] = int32(c)
		}
		out.dims = &sizes
	}
	if inner {
		return out.sliceInside(r[len(r)-1])
	}
	return out, Good
}

// sliceScalar takes a part of a String or ByteString.
func (v Variant) sliceScalar(r IndexRange) (Variant, StatusCode) {
	switch v.typ {
	case TypeString:
		if s, ok := substring(v.text(), r); ok {
			return StringVariant(s), Good
		}
	case TypeByteString:
		if from, to, ok := r.clip(int(v.bits)); ok {
			return bytesVariant(v.bytes()[from:to:to]), Good
		}
	}
	return Variant{}, BadIndexRangeNoData
}

// sliceInside takes a part of each element of an array that was made for it.
// An element that is too short becomes empty; when all are, there is no data.
func (v Variant) sliceInside(r IndexRange) (Variant, StatusCode) {
	found := false
	if v.typ == TypeString {
		s := elems[string](v)
		for i := range s {
			part, ok := substring(s[i], r)
			s[i] = part
			found = found || ok
		}
	} else {
		s := elems[[]byte](v)
		for i := range s {
			from, to, ok := r.clip(len(s[i]))
			s[i] = s[i][from:to:to]
			found = found || ok
		}
	}
	if !found {
		return Variant{}, BadIndexRangeNoData
	}
	return v, Good
}

// substring selects characters, so that the result is valid UTF-8 too.
func substring(s string, r IndexRange) (string, bool) {
	from, to, ok := byteRange(s, r)
	return s[from:to], ok
}

// byteRange finds the bytes of the characters that r selects.
func byteRange(s string, r IndexRange) (from, to int, ok bool) {
	if _, _, ok = r.clip(len(s)); !ok {
		return 0, 0, false // there are at most as many characters as bytes
	}
	index := 0
	from = -1
	for at := 0; at < len(s); index++ {
		if index == r.Low {
			from = at
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
		if index == r.High {
			return from, at, true
		}
	}
	if from < 0 {
		return 0, 0, false
	}
	return from, len(s), true
}

// WithRange returns the value with the part that r selects replaced by part
// (Part 4, 7.27). The range must lie inside the value, otherwise
// BadIndexRangeNoData; part must have the same type (BadTypeMismatch) and
// exactly the selected size (BadIndexRangeDataMismatch). v itself does not
// change; the result shares the elements of both.
func (v Variant) WithRange(r NumericRange, part Variant) (Variant, StatusCode) {
	if len(r) == 0 {
		return part, Good
	}
	if v.typ == TypeNull {
		return Variant{}, BadIndexRangeNoData
	}
	if part.typ != v.typ {
		return Variant{}, BadTypeMismatch
	}
	if !v.array {
		return v.withScalarRange(r, part)
	}
	dims := v.Dimensions()
	inner := len(r) == len(dims)+1 && (v.typ == TypeString || v.typ == TypeByteString)
	if len(r) != len(dims) && !inner {
		return Variant{}, BadIndexRangeNoData
	}
	b, ok := blockOf(r, dims, false)
	if !ok {
		return Variant{}, BadIndexRangeNoData
	}
	if !part.array || !b.fits(part.Dimensions()) {
		return Variant{}, BadIndexRangeDataMismatch
	}
	if inner {
		merged, code := v.mergeInside(b, r[len(r)-1], part)
		if code != Good {
			return Variant{}, code
		}
		part = merged
	}
	out := v
	out.ptr = arrayOps[v.typ].paste(v, b, part)
	return out, Good
}

// fits reports whether dims are the sizes of the block.
func (b block) fits(dims []int32) bool {
	return slices.EqualFunc(b.count, dims, func(c int, d int32) bool { return c == int(d) })
}

func (v Variant) withScalarRange(r NumericRange, part Variant) (Variant, StatusCode) {
	if len(r) != 1 || v.typ != TypeString && v.typ != TypeByteString {
		return Variant{}, BadIndexRangeNoData
	}
	if part.array {
		return Variant{}, BadIndexRangeDataMismatch
	}
	if v.typ == TypeString {
		s, code := replaceText(v.text(), r[0], part.text())
		if code != Good {
			return Variant{}, code
		}
		return StringVariant(s), Good
	}
	b, code := replaceBytes(v.bytes(), r[0], part.bytes())
	if code != Good {
		return Variant{}, code
	}
	return bytesVariant(b), Good
}

// mergeInside makes whole elements of the parts of elements.
func (v Variant) mergeInside(b block, r IndexRange, part Variant) (Variant, StatusCode) {
	out := Variant{typ: v.typ, array: true, bits: uint64(b.len())}
	out.ptr = arrayOps[v.typ].cut(v, b)
	if v.typ == TypeString {
		s, p := elems[string](out), elems[string](part)
		for i := range s {
			merged, code := replaceText(s[i], r, p[i])
			if code != Good {
				return Variant{}, code
			}
			s[i] = merged
		}
		return out, Good
	}
	s, p := elems[[]byte](out), elems[[]byte](part)
	for i := range s {
		merged, code := replaceBytes(s[i], r, p[i])
		if code != Good {
			return Variant{}, code
		}
		s[i] = merged
	}
	return out, Good
}

func replaceText(s string, r IndexRange, part string) (string, StatusCode) {
	from, to, ok := byteRange(s, r)
	switch {
	case !ok || utf8.RuneCountInString(s[from:to]) != r.High-r.Low+1:
		return "", BadIndexRangeNoData
	case utf8.RuneCountInString(part) != r.High-r.Low+1:
		return "", BadIndexRangeDataMismatch
	}
	return s[:from] + part + s[to:], Good
}

func replaceBytes(b []byte, r IndexRange, part []byte) ([]byte, StatusCode) {
	from, to, ok := r.clip(len(b))
	switch {
	case !ok || to <= r.High:
		return nil, BadIndexRangeNoData
	case len(part) != to-from:
		return nil, BadIndexRangeDataMismatch
	}
	b = slices.Clone(b)
	copy(b[from:], part)
	return b, Good
}

// arrayOp are the operations on arrays that depend on the element's type only
// by how its memory is copied.
type arrayOp struct {
	cut   func(v Variant, b block) unsafe.Pointer
	paste func(v Variant, b block, part Variant) unsafe.Pointer
}

func opFor[T any]() arrayOp {
	return arrayOp{
		cut: func(v Variant, b block) unsafe.Pointer {
			from, s := elems[T](v), make([]T, 0, b.len())
			b.runs(func(offset, n int) { s = append(s, from[offset:offset+n]...) })
			return unsafe.Pointer(unsafe.SliceData(s))
		},
		paste: func(v Variant, b block, part Variant) unsafe.Pointer {
			s, p := slices.Clone(elems[T](v)), elems[T](part)
			b.runs(func(offset, n int) {
				copy(s[offset:], p[:n])
				p = p[n:]
			})
			return unsafe.Pointer(unsafe.SliceData(s))
		},
	}
}

var arrayOps = [...]arrayOp{
	TypeBoolean:         opFor[uint8](),
	TypeSByte:           opFor[uint8](),
	TypeByte:            opFor[uint8](),
	TypeInt16:           opFor[uint16](),
	TypeUInt16:          opFor[uint16](),
	TypeInt32:           opFor[uint32](),
	TypeUInt32:          opFor[uint32](),
	TypeInt64:           opFor[uint64](),
	TypeUInt64:          opFor[uint64](),
	TypeFloat:           opFor[uint32](),
	TypeDouble:          opFor[uint64](),
	TypeString:          opFor[string](),
	TypeDateTime:        opFor[uint64](),
	TypeGuid:            opFor[Guid](),
	TypeByteString:      opFor[[]byte](),
	TypeXMLElement:      opFor[string](),
	TypeNodeID:          opFor[NodeID](),
	TypeExpandedNodeID:  opFor[ExpandedNodeID](),
	TypeStatusCode:      opFor[uint32](),
	TypeQualifiedName:   opFor[QualifiedName](),
	TypeLocalizedText:   opFor[LocalizedText](),
	TypeExtensionObject: opFor[ExtensionObject](),
	TypeDataValue:       opFor[DataValue](),
	TypeVariant:         opFor[Variant](),
	TypeDiagnosticInfo:  opFor[DiagnosticInfo](),
}
