package events

import (
	"slices"

	"github.com/uahive/uahive/codec/ua"
)

// element is one element of a where clause: an operator with its operands (Part 4,
// 7.7). The operands of an element that are elements themselves stand behind it, so
// that there are no loops, and going through the elements from the last to the
// first has all operands ready; each is evaluated once, however many lead to it.
type element struct {
	operator ua.FilterOperator
	operands []operand
	needed   bool     // the first element leads here
	like     *pattern // of a Like whose pattern is a literal
}

// operand is one of an element, evaluated.
type operand struct {
	kind      operandKind
	element   int
	literal   ua.Variant
	attribute attribute
}

type operandKind uint8

const (
	isLiteral operandKind = iota
	isElement
	isAttribute
)

// operandCounts are the numbers of operands of the operators (Part 4, Tables 118 and
// 119); most is 0 where there is no limit.
var operandCounts = map[ua.FilterOperator]struct{ least, most int }{
	ua.FilterOperatorEquals:             {2, 2},
	ua.FilterOperatorIsNull:             {1, 1},
	ua.FilterOperatorGreaterThan:        {2, 2},
	ua.FilterOperatorLessThan:           {2, 2},
	ua.FilterOperatorGreaterThanOrEqual: {2, 2},
	ua.FilterOperatorLessThanOrEqual:    {2, 2},
	ua.FilterOperatorLike:               {2, 2},
	ua.FilterOperatorNot:                {1, 1},
	ua.FilterOperatorBetween:            {3, 3},
	ua.FilterOperatorInList:             {2, 0},
	ua.FilterOperatorAnd:                {2, 2},
	ua.FilterOperatorOr:                 {2, 2},
	ua.FilterOperatorCast:               {2, 2},
	ua.FilterOperatorOfType:             {1, 1},
	ua.FilterOperatorBitwiseAnd:         {2, 2},
	ua.FilterOperatorBitwiseOr:          {2, 2},
}

// where checks a where clause and makes it ready. The result has an entry for each
// element.
func (c *compiler) where(f *ua.ContentFilter) (elements []element, result ua.ContentFilterResult, good bool) {
	if len(f.Elements) == 0 {
		return nil, result, true
	}
	elements = make([]element, len(f.Elements))
	result.ElementResults = make([]ua.ContentFilterElementResult, len(f.Elements))
	good = true
	for i := range f.Elements {
		result.ElementResults[i] = c.element(&elements[i], &f.Elements[i], i, len(f.Elements))
		good = good && result.ElementResults[i].StatusCode == ua.Good
	}
	if !good {
		return nil, result, false
	}
	elements[0].needed = true
	for i := range elements {
		if !elements[i].needed {
			continue
		}
		for j := range elements[i].operands {
			if o := &elements[i].operands[j]; o.kind == isElement {
				elements[o.element].needed = true
			}
		}
	}
	return elements, result, true
}

func (c *compiler) element(e *element, in *ua.ContentFilterElement, index, count int) (result ua.ContentFilterElementResult) {
	e.operator = in.FilterOperator
	switch e.operator {
	case ua.FilterOperatorInView, ua.FilterOperatorRelatedTo:
		// Of the advanced operators only OfType may be used with events.
		result.StatusCode = ua.BadFilterOperatorUnsupported
		return result
	}
	counts, known := operandCounts[e.operator]
	if !known {
		result.StatusCode = ua.BadFilterOperatorInvalid
		return result
	}
	n := len(in.FilterOperands)
	if n < counts.least || counts.most > 0 && n > counts.most {
		result.StatusCode = ua.BadFilterOperandCountMismatch
		return result
	}
	e.operands = make([]operand, n)
	result.OperandStatusCodes = make([]ua.StatusCode, n)
	for i := range in.FilterOperands {
		code := c.operand(&e.operands[i], &in.FilterOperands[i], index, count)
		if code == ua.Good {
			code = c.fits(e, i)
		}
		result.OperandStatusCodes[i] = code
		if code != ua.Good {
			result.StatusCode = ua.BadFilterOperandInvalid
		}
	}
	return result
}

// operand makes an operand ready.
func (c *compiler) operand(o *operand, in *ua.ExtensionObject, index, count int) ua.StatusCode {
	switch v := in.Value.(type) {
	case *ua.ElementOperand:
		if v.Index <= uint32(index) || int64(v.Index) >= int64(count) {
			return ua.BadFilterElementInvalid
		}
		o.kind, o.element = isElement, int(v.Index)
		return ua.Good
	case *ua.LiteralOperand:
		if valueSize(&v.Value) > c.limits.LiteralBytes {
			return ua.BadFilterLiteralInvalid
		}
		o.kind, o.literal = isLiteral, v.Value.Clone()
		return ua.Good
	case *ua.SimpleAttributeOperand:
		o.kind = isAttribute
		return c.attribute(&o.attribute, v)
	}
	// An AttributeOperand may not be used with events (Part 4, 7.22.3); the rest is
	// no operand at all.
	return ua.BadFilterOperandInvalid
}

// fits reports literals with which an operator has no meaning for any event.
func (c *compiler) fits(e *element, i int) ua.StatusCode {
	o := &e.operands[i]
	if o.kind != isLiteral {
		return ua.Good
	}
	switch {
	case e.operator == ua.FilterOperatorLike && i == 1:
		text, ok := textOf(o.literal)
		if !ok {
			return ua.BadFilterOperandInvalid
		}
		if e.like, ok = parsePattern(text); !ok {
			return ua.BadFilterLiteralInvalid
		}
	case e.operator == ua.FilterOperatorOfType:
		id, ok := localID(o.literal)
		if !ok {
			return ua.BadFilterOperandInvalid
		}
		n := c.space.Node(id)
		if n == nil {
			return ua.BadNodeIDUnknown
		}
		if n.Class() != ua.NodeClassObjectType {
			return ua.BadNotTypeDefinition
		}
	case e.operator == ua.FilterOperatorCast && i == 1:
		id, ok := localID(o.literal)
		if !ok {
			return ua.BadFilterOperandInvalid
		}
		if n := c.space.Node(id); n == nil || n.Class() != ua.NodeClassDataType {
			return ua.BadNodeIDUnknown
		}
	}
	return ua.Good
}

// localID returns a value that is a NodeId or ExpandedNodeId of this server.
func localID(v ua.Variant) (ua.NodeID, bool) {
	if id, ok := ua.As[ua.NodeID](v); ok {
		return id, true
	}
	if x, ok := ua.As[ua.ExpandedNodeID](v); ok && x.IsLocal() {
		return x.NodeID, true
	}
	return ua.NodeID{}, false
}

// Matches reports whether an event passes the where clause: it does when that is
// true, and not when it is false or null. An empty clause passes all. What tells a
// client of lost events passes every filter (Part 4, 7.22.3).
func (f *Filter) Matches(e *Event) bool {
	if len(f.where) == 0 {
		return true
	}
	var space [8]ua.Variant
	results := slices.Grow(space[:0], len(f.where))[:len(f.where)]
	ev := evaluation{f, e, results}
	for i := len(f.where) - 1; i >= 0; i-- {
		if f.where[i].needed {
			results[i] = ev.element(&f.where[i])
		}
	}
	return truth(results[0]) == isTrue
}
