package events

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// convert converts a scalar to another built-in type, by the implicit conversions of
// Part 4, 7.7.3, and on demand by the explicit ones as well. ok is false where there
// is no such conversion, or where it fails for the value.
func convert(v ua.Variant, to ua.TypeID, explicit bool) (converted ua.Variant, ok bool) {
	from := v.Type()
	switch {
	case v.IsArray() || from == ua.TypeNull:
		return ua.Variant{}, false
	case from == to:
		return v, true
	case isNumeric(to):
		if !explicit && !implicitNumber(from, to) {
			return ua.Variant{}, false
		}
		return toNumber(v, to)
	}
	switch to {
	case ua.TypeString:
		return toText(v, explicit)
	case ua.TypeBoolean:
		return toBoolean(v, explicit)
	case ua.TypeStatusCode:
		return toStatus(v, explicit)
	case ua.TypeNodeID:
		return toNodeID(v, explicit)
	}
	switch text, isText := ua.As[string](v); {
	case to == ua.TypeGuid && isText:
		g, err := ua.ParseGuid(text)
		return ua.VariantOf(g), err == nil
	case to == ua.TypeExpandedNodeID && isText:
		id, err := ua.ParseExpandedNodeID(text)
		return ua.VariantOf(id), err == nil
	case to == ua.TypeLocalizedText && isText && explicit:
		return ua.VariantOf(ua.LocalizedText{Text: text}), true
	case to == ua.TypeQualifiedName && isText && explicit:
		return ua.VariantOf(ua.QualifiedName{Name: text}), true
	case to == ua.TypeDateTime && isText && explicit:
		t, err := time.Parse(time.RFC3339Nano, text)
		return ua.DateTimeVariant(ua.DateTimeOf(t)), err == nil
	}
	switch to {
	case ua.TypeExpandedNodeID:
		if id, ok := ua.As[ua.NodeID](v); ok {
			return ua.VariantOf(id.Expanded()), true
		}
	case ua.TypeLocalizedText:
		if name, ok := ua.As[ua.QualifiedName](v); ok {
			return ua.VariantOf(ua.LocalizedText{Text: name.Name}), true
		}
	case ua.TypeGuid:
		if b, ok := ua.As[[]byte](v); ok && explicit && len(b) == 16 {
			return ua.VariantOf(ua.Guid(b)), true
		}
	case ua.TypeByteString:
		if g, ok := ua.As[ua.Guid](v); ok && explicit {
			return ua.VariantOf(g[:]), true
		}
	}
	return ua.Variant{}, false
}

// isNumeric reports whether a type is one of the integer or floating-point types.
func isNumeric(t ua.TypeID) bool { return t >= ua.TypeSByte && t <= ua.TypeDouble }

// integerSize is the size of an integer type in bytes, and 0 for other types.
func integerSize(t ua.TypeID) int {
	switch t {
	case ua.TypeSByte, ua.TypeByte:
		return 1
	case ua.TypeInt16, ua.TypeUInt16:
		return 2
	case ua.TypeInt32, ua.TypeUInt32:
		return 4
	case ua.TypeInt64, ua.TypeUInt64:
		return 8
	}
	return 0
}

func isUnsigned(t ua.TypeID) bool {
	switch t {
	case ua.TypeByte, ua.TypeUInt16, ua.TypeUInt32, ua.TypeUInt64:
		return true
	}
	return false
}

// implicitNumber reports whether a type converts to a number without being asked
// (Part 4, Table 121): where it is at most as large, and from text and Boolean.
func implicitNumber(from, to ua.TypeID) bool {
	switch from {
	case ua.TypeBoolean, ua.TypeString:
		return true
	case ua.TypeStatusCode:
		return to == ua.TypeInt32 || to == ua.TypeInt64 || to == ua.TypeUInt32 || to == ua.TypeUInt64
	case ua.TypeFloat:
		return to == ua.TypeDouble
	}
	size := integerSize(from)
	if size == 0 {
		return false
	}
	if integerSize(to) == 0 {
		return true // to a floating-point type
	}
	// An integer of the same size with a sign, or without, is tried as well: it fails
	// for values that it does not have.
	if integerSize(to) > size {
		return true
	}
	return integerSize(to) == size && isUnsigned(from) != isUnsigned(to)
}

// toNumber converts to a numeric type, and fails for what the type does not have.
func toNumber(v ua.Variant, to ua.TypeID) (ua.Variant, bool) {
	if x, ok := v.Int(); ok {
		return numberOf(x < 0, magnitude(x), float64(x), to)
	}
	if x, ok := v.Uint(); ok {
		return numberOf(false, x, float64(x), to)
	}
	if x, ok := v.Float(); ok {
		return fromFloat(x, to)
	}
	switch v.Type() {
	case ua.TypeBoolean:
		b, _ := ua.As[bool](v)
		return numberOf(false, uint64(number(b)), float64(number(b)), to)
	case ua.TypeStatusCode:
		code, _ := ua.As[ua.StatusCode](v)
		switch to {
		case ua.TypeUInt16:
			// The upper half, without the bits of information.
			return ua.VariantOf(uint16(code >> 16)), true
		case ua.TypeInt32:
			return ua.Int32Variant(int32(code)), true
		case ua.TypeInt64, ua.TypeUInt32, ua.TypeUInt64:
			return numberOf(false, uint64(code), float64(code), to)
		}
		return ua.Variant{}, false
	case ua.TypeString:
		text, _ := ua.As[string](v)
		return parseNumber(strings.TrimSpace(text), to)
	}
	return ua.Variant{}, false
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func parseNumber(text string, to ua.TypeID) (ua.Variant, bool) {
	const longest = 64 // no number has more digits that count
	if len(text) > longest {
		return ua.Variant{}, false
	}
	if integerSize(to) > 0 {
		if x, err := strconv.ParseInt(text, 10, 64); err == nil {
			return numberOf(x < 0, magnitude(x), float64(x), to)
		}
		if x, err := strconv.ParseUint(text, 10, 64); err == nil {
			return numberOf(false, x, float64(x), to)
		}
		return ua.Variant{}, false
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return ua.Variant{}, false
	}
	return fromFloat(x, to)
}

// numberOf returns an integer as a number of a type, if that has it.
func numberOf(negative bool, magnitude uint64, float float64, to ua.TypeID) (ua.Variant, bool) {
	switch to {
	case ua.TypeDouble:
		return ua.DoubleVariant(float), true
	case ua.TypeFloat:
		return ua.VariantOf(float32(float)), true
	}
	bits := 8 * integerSize(to)
	if bits == 0 {
		return ua.Variant{}, false
	}
	if isUnsigned(to) {
		if negative || bits < 64 && magnitude>>bits != 0 {
			return ua.Variant{}, false
		}
		return integerVariant(to, magnitude), true
	}
	most := uint64(1)<<(bits-1) - 1
	if negative {
		if magnitude > most+1 {
			return ua.Variant{}, false
		}
		return integerVariant(to, -magnitude), true
	}
	if magnitude > most {
		return ua.Variant{}, false
	}
	return integerVariant(to, magnitude), true
}

// fromFloat rounds to the nearest integer where an integer is wanted.
func fromFloat(x float64, to ua.TypeID) (ua.Variant, bool) {
	switch to {
	case ua.TypeDouble:
		return ua.DoubleVariant(x), true
	case ua.TypeFloat:
		if f := float32(x); !math.IsInf(float64(f), 0) || math.IsInf(x, 0) {
			return ua.VariantOf(f), true
		}
		return ua.Variant{}, false
	}
	x = math.Round(x)
	if !(math.Abs(x) < 1<<64) {
		return ua.Variant{}, false
	}
	return numberOf(x < 0, uint64(math.Abs(x)), x, to)
}

// integerBits returns an integer as the bits of one of 64.
func integerBits(v ua.Variant) uint64 {
	if x, ok := v.Int(); ok {
		return uint64(x)
	}
	x, _ := v.Uint()
	return x
}

// integerVariant returns the lowest of the bits as a value of an integer type.
func integerVariant(t ua.TypeID, bits uint64) ua.Variant {
	switch t {
	case ua.TypeSByte:
		return ua.VariantOf(int8(bits))
	case ua.TypeByte:
		return ua.VariantOf(uint8(bits))
	case ua.TypeInt16:
		return ua.VariantOf(int16(bits))
	case ua.TypeUInt16:
		return ua.VariantOf(uint16(bits))
	case ua.TypeInt32:
		return ua.VariantOf(int32(bits))
	case ua.TypeUInt32:
		return ua.VariantOf(uint32(bits))
	case ua.TypeInt64:
		return ua.VariantOf(int64(bits))
	case ua.TypeUInt64:
		return ua.VariantOf(bits)
	}
	return ua.Variant{}
}

// toText converts to a String: ids and names and texts at once, numbers on demand.
func toText(v ua.Variant, explicit bool) (ua.Variant, bool) {
	switch x := v.Any().(type) {
	case ua.LocalizedText:
		return ua.StringVariant(x.Text), true
	case ua.QualifiedName:
		if x.NamespaceIndex != 0 {
			return ua.StringVariant(strconv.Itoa(int(x.NamespaceIndex)) + ":" + x.Name), true
		}
		return ua.StringVariant(x.Name), true
	case ua.NodeID:
		return ua.StringVariant(x.String()), true
	case ua.ExpandedNodeID:
		return ua.StringVariant(x.String()), true
	}
	if !explicit {
		return ua.Variant{}, false
	}
	if x, ok := v.Int(); ok {
		return ua.StringVariant(strconv.FormatInt(x, 10)), true
	}
	if x, ok := v.Uint(); ok {
		return ua.StringVariant(strconv.FormatUint(x, 10)), true
	}
	switch x := v.Any().(type) {
	case bool:
		return ua.StringVariant(strconv.FormatBool(x)), true
	case float32:
		return ua.StringVariant(strconv.FormatFloat(float64(x), 'g', -1, 32)), true
	case float64:
		return ua.StringVariant(strconv.FormatFloat(x, 'g', -1, 64)), true
	case ua.Guid:
		return ua.StringVariant(x.String()), true
	case ua.DateTime:
		return ua.StringVariant(x.Time().UTC().Format(time.RFC3339Nano)), true
	case ua.StatusCode:
		return ua.StringVariant(strconv.FormatUint(uint64(x), 10)), true
	}
	return ua.Variant{}, false
}

func toBoolean(v ua.Variant, explicit bool) (ua.Variant, bool) {
	if text, ok := ua.As[string](v); ok {
		switch {
		case text == "1" || strings.EqualFold(text, "true"):
			return ua.BooleanVariant(true), true
		case text == "0" || strings.EqualFold(text, "false"):
			return ua.BooleanVariant(false), true
		}
		return ua.Variant{}, false
	}
	if !explicit {
		return ua.Variant{}, false
	}
	if x, ok := v.Float(); ok {
		return ua.BooleanVariant(x != 0), true
	}
	if integerSize(v.Type()) > 0 {
		return ua.BooleanVariant(integerBits(v) != 0), true
	}
	return ua.Variant{}, false
}

// toStatus converts integers: from UInt16 and what converts to it at once, others on
// demand.
func toStatus(v ua.Variant, explicit bool) (ua.Variant, bool) {
	switch x := v.Any().(type) {
	case uint16:
		return ua.VariantOf(ua.StatusCode(x) << 16), true
	case int32:
		return ua.VariantOf(ua.StatusCode(x)), explicit
	case uint32:
		return ua.VariantOf(ua.StatusCode(x)), explicit
	case int64:
		return ua.VariantOf(ua.StatusCode(x)), explicit && x >= 0 && x <= math.MaxUint32
	case uint64:
		return ua.VariantOf(ua.StatusCode(x)), explicit && x <= math.MaxUint32
	case string:
		n, err := strconv.ParseUint(x, 10, 32)
		return ua.VariantOf(ua.StatusCode(n)), explicit && err == nil
	}
	return ua.Variant{}, false
}

func toNodeID(v ua.Variant, explicit bool) (ua.Variant, bool) {
	if text, ok := ua.As[string](v); ok {
		id, err := ua.ParseNodeID(text)
		return ua.VariantOf(id), err == nil
	}
	if x, ok := ua.As[ua.ExpandedNodeID](v); ok && explicit && x.IsLocal() {
		return ua.VariantOf(x.NodeID), true
	}
	return ua.Variant{}, false
}
