package events

import (
	"cmp"
	"math"
	"strings"

	"github.com/uahive/uahive/codec/ua"
)

// precedence ranks the types to which operands of different types are converted: that
// of the lower rank becomes that of the higher, which has the smaller number (Part 4,
// 7.7.3). Types that are not in it convert to nothing.
var precedence = [...]uint8{
	ua.TypeDouble: 1, ua.TypeFloat: 2, ua.TypeInt64: 3, ua.TypeUInt64: 4, ua.TypeInt32: 5, ua.TypeUInt32: 6,
	ua.TypeStatusCode: 7, ua.TypeInt16: 8, ua.TypeUInt16: 9, ua.TypeSByte: 10, ua.TypeByte: 11, ua.TypeBoolean: 12,
	ua.TypeGuid: 13, ua.TypeString: 14, ua.TypeExpandedNodeID: 15, ua.TypeNodeID: 16, ua.TypeLocalizedText: 17,
	ua.TypeQualifiedName: 18,
}

func rank(t ua.TypeID) uint8 {
	if int(t) < len(precedence) {
		return precedence[t]
	}
	return 0
}

// common converts two values to the same type. ok is false where there is none.
func common(a, b ua.Variant) (_, _ ua.Variant, ok bool) {
	if a.IsArray() != b.IsArray() {
		// An array of one element and a scalar convert into each other.
		a, b = scalar(a), scalar(b)
	}
	if a.Type() == b.Type() {
		return a, b, a.IsArray() == b.IsArray()
	}
	ra, rb := rank(a.Type()), rank(b.Type())
	if ra == 0 || rb == 0 || a.IsArray() || b.IsArray() {
		return a, b, false
	}
	if ra < rb {
		b, ok = convert(b, a.Type(), false)
	} else {
		a, ok = convert(a, b.Type(), false)
	}
	return a, b, ok
}

// scalar returns the element of an array that has one, and other values as they are.
func scalar(v ua.Variant) ua.Variant {
	if v.IsArray() && v.Len() == 1 {
		if e, ok := v.Element(0); ok {
			return e
		}
	}
	return v
}

// isNull reports whether a value is null, or the null value of a type of ids.
func isNull(v ua.Variant) bool {
	switch v.Type() {
	case ua.TypeNull:
		return true
	case ua.TypeNodeID:
		id, ok := ua.As[ua.NodeID](v)
		return ok && id.IsNull()
	case ua.TypeExpandedNodeID:
		id, ok := ua.As[ua.ExpandedNodeID](v)
		return ok && id.IsNull()
	}
	return false
}

// equal is the Equals operator: false where the values have no common type.
func equal(a, b ua.Variant) bool {
	if a.IsNull() || b.IsNull() {
		return a.IsNull() && b.IsNull()
	}
	a, b, ok := common(a, b)
	if !ok {
		return false
	}
	if c, ok := compare(a, b); ok {
		return c == 0
	}
	if x, ok := a.Float(); ok && math.IsNaN(x) {
		return false
	}
	if y, ok := b.Float(); ok && math.IsNaN(y) {
		return false
	}
	return a.Equal(b)
}

// order compares two values that have an order; ok is false where they have none.
func order(a, b ua.Variant) (c int, ok bool) {
	if a.IsNull() || b.IsNull() {
		return 0, false
	}
	if a, b, ok = common(a, b); !ok {
		return 0, false
	}
	return compare(a, b)
}

// compare compares two scalars of one ordered type.
func compare(a, b ua.Variant) (c int, ok bool) {
	if a.IsArray() || b.IsArray() {
		return 0, false
	}
	if x, ok := a.Int(); ok {
		y, _ := b.Int()
		return cmp.Compare(x, y), true
	}
	if x, ok := a.Uint(); ok {
		y, _ := b.Uint()
		return cmp.Compare(x, y), true
	}
	if x, ok := a.Float(); ok {
		y, _ := b.Float()
		if math.IsNaN(x) || math.IsNaN(y) {
			return 0, false
		}
		return cmp.Compare(x, y), true
	}
	switch a.Type() {
	case ua.TypeBoolean:
		x, _ := ua.As[bool](a)
		y, _ := ua.As[bool](b)
		return cmp.Compare(number(x), number(y)), true
	case ua.TypeString:
		x, _ := ua.As[string](a)
		y, _ := ua.As[string](b)
		return strings.Compare(x, y), true
	case ua.TypeDateTime:
		x, _ := ua.As[ua.DateTime](a)
		y, _ := ua.As[ua.DateTime](b)
		return cmp.Compare(x, y), true
	case ua.TypeStatusCode:
		x, _ := ua.As[ua.StatusCode](a)
		y, _ := ua.As[ua.StatusCode](b)
		return cmp.Compare(x, y), true
	}
	return 0, false
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// textOf returns a value as text, if it converts to it.
func textOf(v ua.Variant) (string, bool) {
	v, ok := convert(scalar(v), ua.TypeString, false)
	if !ok {
		return "", false
	}
	return ua.As[string](v)
}
