package events

import (
	"strings"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// Limits bound the filters of clients. A field that is zero has the default that
// its comment states.
type Limits struct {
	// SelectClauses of one filter, each of which is looked up in every event that
	// passes. Default 500.
	SelectClauses int
	// WhereOperands of one filter, over all elements. Each is looked at for every
	// event. Default 500.
	WhereOperands int
	// LiteralBytes is the size of the largest literal, encoded. Default 64 KiB.
	LiteralBytes int
}

// WithDefaults returns the limits with every zero replaced.
func (l Limits) WithDefaults() Limits {
	for p, v := range map[*int]int{&l.SelectClauses: 500, &l.WhereOperands: 500, &l.LiteralBytes: 64 << 10} {
		if *p <= 0 {
			*p = v
		}
	}
	return l
}

// Filter is an EventFilter as it is applied (Part 4, 7.22.3). It is immutable and
// may be used from any goroutine.
type Filter struct {
	types   *addrspace.Space
	selects []attribute
	where   []element
	size    int
}

// Compile checks a filter and makes it ready for use. Nothing of the request is
// kept. The limits are those of [Limits.WithDefaults].
//
// A select clause that cannot be served leaves its field null in all events, and
// result says why; result is nil when all is well. The filter is refused, with
// BadEventFilterInvalid, when no clause can be served, or for any error in the where
// clause; result then says what is wrong where.
func Compile(space *addrspace.Space, f *ua.EventFilter, limits Limits) (filter *Filter, result *ua.EventFilterResult, status ua.StatusCode) {
	if len(f.SelectClauses) == 0 {
		return nil, nil, ua.BadEventFilterInvalid
	}
	operands := 0
	for i := range f.WhereClause.Elements {
		operands += 1 + len(f.WhereClause.Elements[i].FilterOperands)
	}
	if len(f.SelectClauses) > limits.SelectClauses || operands > 2*limits.WhereOperands {
		return nil, nil, ua.BadMonitoredItemFilterUnsupported
	}
	c := compiler{space: space, limits: limits}
	filter = &Filter{types: space, selects: make([]attribute, len(f.SelectClauses))}
	result = &ua.EventFilterResult{SelectClauseResults: make([]ua.StatusCode, len(f.SelectClauses))}
	good := 0
	for i := range f.SelectClauses {
		code := c.attribute(&filter.selects[i], &f.SelectClauses[i])
		result.SelectClauseResults[i] = code
		if code == ua.Good {
			good++
		}
	}
	where, whereResult, whereGood := c.where(&f.WhereClause)
	filter.where, result.WhereClauseResult = where, whereResult
	filter.size = filter.measure()
	switch {
	case good == 0 || !whereGood:
		return nil, result, ua.BadEventFilterInvalid
	case good == len(filter.selects):
		return filter, nil, ua.Good
	}
	return filter, result, ua.Good
}

// Size is about the memory that the filter holds.
func (f *Filter) Size() int { return f.size }

func (f *Filter) measure() int {
	size := 128
	for i := range f.selects {
		size += f.selects[i].size()
	}
	for i := range f.where {
		size += 64
		for j := range f.where[i].operands {
			o := &f.where[i].operands[j]
			size += o.attribute.size() + 64
			if !o.literal.IsNull() {
				size += valueSize(&o.literal)
			}
		}
	}
	return size
}

// Fields is the number of values that AppendFields appends.
func (f *Filter) Fields() int { return len(f.selects) }

// AppendFields appends the values of the select clauses as an array of Variants. One
// with which all would take more than the given number of bytes is replaced by a
// StatusCode that says so (Part 4, 7.22.3).
func (f *Filter) AppendFields(dst []byte, e *Event, most int) []byte {
	dst = codec.AppendUint32(dst, uint32(len(f.selects)))
	start := len(dst)
	for i := range f.selects {
		before := len(dst)
		v, code := f.selects[i].value(f.types, e)
		if code != ua.Good {
			v = ua.VariantOf(code)
		}
		dst = v.AppendTo(dst)
		if len(dst)-start > most && len(dst)-before > 5 {
			v = ua.VariantOf(ua.BadEncodingLimitsExceeded)
			dst = v.AppendTo(dst[:before])
		}
	}
	return dst
}

// cloneNames copies browse names, which may lie in the memory of a request.
func cloneNames(names []ua.QualifiedName) []ua.QualifiedName {
	clone := make([]ua.QualifiedName, len(names))
	for i, n := range names {
		clone[i] = ua.QualifiedName{NamespaceIndex: n.NamespaceIndex, Name: strings.Clone(n.Name)}
	}
	return clone
}
