package events

import (
	"github.com/uahive/uahive/codec/ua"
)

// evaluation is a where clause that is applied to one event. results are the
// values of the elements behind the one that is looked at.
type evaluation struct {
	filter  *Filter
	event   *Event
	results []ua.Variant
}

// operand returns the value of an operand, null where there is none: also for a
// field that has a status in place of its value.
func (ev *evaluation) operand(o *operand) ua.Variant {
	v, status := ev.raw(o)
	if status {
		return ua.Variant{}
	}
	return v
}

// raw returns the value of an operand, and whether it is a status that stands in
// place of a value.
func (ev *evaluation) raw(o *operand) (v ua.Variant, status bool) {
	switch o.kind {
	case isElement:
		return ev.results[o.element], false
	case isAttribute:
		v, code := o.attribute.value(ev.filter.types, ev.event)
		if code != ua.Good {
			return ua.Variant{}, false
		}
		return v, v.Type() == ua.TypeStatusCode && !v.IsArray() && !o.attribute.code
	}
	return o.literal, false
}

// element returns the value of an element (Part 4, 7.7.3).
func (ev *evaluation) element(el *element) ua.Variant {
	o := el.operands
	switch el.operator {
	case ua.FilterOperatorEquals:
		return truthOf(equal(ev.operand(&o[0]), ev.operand(&o[1])))
	case ua.FilterOperatorIsNull:
		v, status := ev.raw(&o[0])
		return truthOf(status || isNull(v))
	case ua.FilterOperatorGreaterThan:
		c, ok := order(ev.operand(&o[0]), ev.operand(&o[1]))
		return truthOf(ok && c > 0)
	case ua.FilterOperatorLessThan:
		c, ok := order(ev.operand(&o[0]), ev.operand(&o[1]))
		return truthOf(ok && c < 0)
	case ua.FilterOperatorGreaterThanOrEqual:
		c, ok := order(ev.operand(&o[0]), ev.operand(&o[1]))
		return truthOf(ok && c >= 0)
	case ua.FilterOperatorLessThanOrEqual:
		c, ok := order(ev.operand(&o[0]), ev.operand(&o[1]))
		return truthOf(ok && c <= 0)
	case ua.FilterOperatorLike:
		return truthOf(ev.matches(el))
	case ua.FilterOperatorNot:
		return truth(ev.operand(&o[0])).not().variant()
	case ua.FilterOperatorBetween:
		v := ev.operand(&o[0])
		low, ok := order(v, ev.operand(&o[1]))
		high, also := order(v, ev.operand(&o[2]))
		return truthOf(ok && also && low >= 0 && high <= 0)
	case ua.FilterOperatorInList:
		v := ev.operand(&o[0])
		for i := range o[1:] {
			if equal(v, ev.operand(&o[1+i])) {
				return truthOf(true)
			}
		}
		return truthOf(false)
	case ua.FilterOperatorAnd:
		return truth(ev.operand(&o[0])).and(truth(ev.operand(&o[1]))).variant()
	case ua.FilterOperatorOr:
		return truth(ev.operand(&o[0])).or(truth(ev.operand(&o[1]))).variant()
	case ua.FilterOperatorCast:
		return ev.cast(ev.operand(&o[0]), ev.operand(&o[1]))
	case ua.FilterOperatorOfType:
		id, ok := localID(ev.operand(&o[0]))
		return truthOf(ok && ev.filter.types.IsSubtypeOf(ev.event.Type, id))
	case ua.FilterOperatorBitwiseAnd:
		return bitwise(ev.operand(&o[0]), ev.operand(&o[1]), func(a, b uint64) uint64 { return a & b })
	case ua.FilterOperatorBitwiseOr:
		return bitwise(ev.operand(&o[0]), ev.operand(&o[1]), func(a, b uint64) uint64 { return a | b })
	}
	return ua.Variant{}
}

// matches is the Like operator. It is false where an operand is no text.
func (ev *evaluation) matches(el *element) bool {
	text, ok := textOf(ev.operand(&el.operands[0]))
	if !ok {
		return false
	}
	like := el.like
	if like == nil {
		source, ok := textOf(ev.operand(&el.operands[1]))
		if !ok {
			return false
		}
		if like, ok = parsePattern(source); !ok {
			return false
		}
	}
	return like.matches(text)
}

// cast converts a value to the built-in type of a DataType; null where that fails.
func (ev *evaluation) cast(v, dataType ua.Variant) ua.Variant {
	id, ok := localID(dataType)
	if !ok {
		return ua.Variant{}
	}
	converted, _ := convert(scalar(v), ev.filter.types.DataTypeKind(id), true)
	return converted
}

// bitwise combines two integers, and gives the result the type of the larger (Part 4,
// Table 118); null where one is no integer.
func bitwise(a, b ua.Variant, combine func(a, b uint64) uint64) ua.Variant {
	a, b = scalar(a), scalar(b)
	size := max(integerSize(a.Type()), integerSize(b.Type()))
	if a.IsArray() || b.IsArray() || integerSize(a.Type()) == 0 || integerSize(b.Type()) == 0 {
		return ua.Variant{}
	}
	typ := a.Type()
	if integerSize(typ) < size {
		typ = b.Type()
	}
	return integerVariant(typ, combine(integerBits(a), integerBits(b)))
}

// logic is a truth value of three-valued logic (Part 4, Tables 123 and 124 of the
// operators And and Or).
type logic uint8

const (
	isUnknown logic = iota
	isFalse
	isTrue
)

// truth returns a value as one of logic: unknown unless it is a Boolean or converts
// to one.
func truth(v ua.Variant) logic {
	v, ok := convert(scalar(v), ua.TypeBoolean, false)
	if !ok {
		return isUnknown
	}
	if b, _ := ua.As[bool](v); b {
		return isTrue
	}
	return isFalse
}

func (l logic) not() logic {
	switch l {
	case isTrue:
		return isFalse
	case isFalse:
		return isTrue
	}
	return isUnknown
}

func (l logic) and(o logic) logic {
	switch {
	case l == isFalse || o == isFalse:
		return isFalse
	case l == isTrue && o == isTrue:
		return isTrue
	}
	return isUnknown
}

func (l logic) or(o logic) logic {
	switch {
	case l == isTrue || o == isTrue:
		return isTrue
	case l == isFalse && o == isFalse:
		return isFalse
	}
	return isUnknown
}

func (l logic) variant() ua.Variant {
	if l == isUnknown {
		return ua.Variant{}
	}
	return ua.BooleanVariant(l == isTrue)
}

func truthOf(b bool) ua.Variant { return ua.BooleanVariant(b) }
