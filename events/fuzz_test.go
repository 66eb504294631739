package events

import (
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

var fuzzSpace = sync.OnceValue(func() *addrspace.Space {
	space := addrspace.New(addrspace.Options{})
	if err := space.LoadNS0(); err != nil {
		panic(err)
	}
	return space
})

// FuzzEventFilter takes a filter as a client sends it the whole way: it is decoded,
// compiled, and applied to events (threats.md V5). Whatever it is, that ends soon, in a
// small stack, with memory in proportion to the message, and the answer says the same
// of each clause and operand as the filter has.
func FuzzEventFilter(f *testing.F) {
	seed := func(filter *ua.EventFilter) { f.Add(filter.AppendTo(nil)) }
	seed(where())
	seed(where(el(ua.FilterOperatorEquals, field("Severity"), uint16(400))))
	seed(where(el(ua.FilterOperatorAnd, ref(1), ref(2)), el(ua.FilterOperatorOr, ref(2), true), el(ua.FilterOperatorOfType, ua.NumericID(0, id.AuditEventType))))
	seed(where(el(ua.FilterOperatorNot, ref(1)), el(ua.FilterOperatorLike, field("SourceName"), "%a_[^x-z]\\%")))
	seed(where(el(ua.FilterOperatorBetween, ref(1), int8(-1), 1e300), el(ua.FilterOperatorCast, ref(2), ua.NumericID(0, id.SByte)), el(ua.FilterOperatorBitwiseAnd, field("Severity"), uint64(1<<63))))
	seed(where(el(ua.FilterOperatorInList, field("Time"), "2020-01-01T00:00:00Z", ua.Guid{1}, []string{"x"}, nil, ua.VariantOf(ua.StatusCode(1<<31)))))
	seed(where(el(ua.FilterOperatorIsNull, ranged(field("NewValue"), "1:2")), el(ua.FilterOperatorBitwiseOr, int16(-5), uint32(9))))
	seed(where(el(ua.FilterOperatorEquals, ref(0), ref(7)), el(99), el(ua.FilterOperatorInView, 1), el(ua.FilterOperatorEquals, &ua.AttributeOperand{}, &ua.Range{})))
	seed(&ua.EventFilter{SelectClauses: []ua.SimpleAttributeOperand{*field("Message"), *of(id.ConditionType, &ua.SimpleAttributeOperand{AttributeID: 1}), *field("AckedState", "Id"), *field("No")}})

	other := &Event{Type: ua.NumericID(0, id.EventQueueOverflowEventType), Fields: []Field{
		FieldOf("NewValue", ua.VariantOf(ua.LocalizedText{Text: "%"})), FieldOf("Comment", ua.SliceVariant([]string{"17"})),
	}}
	other.Complete(1)
	list := []*Event{anEvent(), other}
	old := debug.SetMaxStack(1 << 20)
	f.Cleanup(func() { debug.SetMaxStack(old) })
	limits := Limits{}.WithDefaults()
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = slices.Clone(raw) // it belongs to the engine
		space := fuzzSpace()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		var in ua.EventFilter
		d := codec.NewDecoder(raw, nil)
		in.DecodeFrom(d)
		if d.Err() != nil {
			return
		}
		filter, result, code := Compile(space, &in, limits)
		if result != nil {
			if len(result.SelectClauseResults) != len(in.SelectClauses) || len(result.WhereClauseResult.ElementResults) != len(in.WhereClause.Elements) {
				t.Errorf("a result of another shape: %+v", result)
			}
			result.AppendTo(nil)
		}
		if (filter == nil) != (code != ua.Good) {
			t.Fatalf("%v with filter %v", code, filter)
		}
		if filter != nil {
			clear(raw) // the filter must not lie in the memory of the request
			for _, e := range list {
				first := filter.Matches(e)
				if filter.Matches(e) != first {
					t.Error("the same event passes once")
				}
				d := codec.NewDecoder(filter.AppendFields(nil, e, 1<<16), nil)
				if got := decodeFields(d); d.Err() != nil || d.Remaining() != 0 || len(got) != filter.Fields() {
					t.Errorf("%d fields, want %d: %v", len(got), filter.Fields(), d.Err())
				}
			}
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(300*len(raw)+4<<20) {
			t.Errorf("%d bytes for a message of %d", n, len(raw))
		}
	})
}
