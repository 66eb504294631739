package publishloop

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// TestCaseC5StatusValueTimestamp: a static variable gives exactly one
// notification, and a timestamp alone gives one with this trigger only.
func TestCaseC5StatusValueTimestamp(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", int32(7))
		c.monitor(sub, v, 1, filtered(&ua.DataChangeFilter{Trigger: ua.DataChangeTriggerStatusValueTimestamp}))
		c.monitor(sub, v, 2)
		c.monitor(sub, v, 3, filtered(&ua.DataChangeFilter{Trigger: ua.DataChangeTriggerStatus}))
		for range 10 {
			c.publish()
		}
		w.at(5 * time.Second)
		n := 0
		for _, a := range c.ch.take() {
			for _, ch := range a.changes() {
				n++
				if ch.Value.SourceTimestamp != ua.DateTimeOf(w.start) || ch.Value.ServerTimestamp != ua.DateTimeOf(w.start.Add(100*time.Millisecond)) {
					t.Errorf("%+v", ch)
				}
			}
		}
		if n != 3 {
			t.Errorf("%d notifications", n)
		}
		dv := v.Load()
		dv.SourceTimestamp++
		v.Store(dv)
		c.publish()
		time.Sleep(time.Second)
		handles := func() (h []uint32) {
			for _, a := range c.ch.take() {
				for _, ch := range a.changes() {
					h = append(h, ch.ClientHandle)
				}
			}
			return h
		}
		if h := handles(); !reflect.DeepEqual(h, []uint32{1}) {
			t.Errorf("a new timestamp: %v", h)
		}
		set(v, int32(8))
		time.Sleep(time.Second)
		if h := handles(); !reflect.DeepEqual(h, []uint32{1, 2}) {
			t.Errorf("a new value: %v", h)
		}
		dv = v.Load()
		dv.Status = ua.UncertainLastUsableValue
		v.Store(dv)
		time.Sleep(time.Second)
		if h := handles(); !reflect.DeepEqual(h, []uint32{1, 2, 3}) {
			t.Errorf("a new status: %v", h)
		}
	})
}

// TestCaseC10Deadband: absolute deadbands on unsigned numbers, on arrays and
// with NaN. A change has to exceed the deadband.
func TestCaseC10Deadband(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name   string
		band   float64
		values []any
		passes []bool
	}{
		{"uint32", 1, []any{uint32(7), uint32(5), uint32(4), uint32(6), uint32(0), uint32(math.MaxUint32)}, []bool{true, true, false, false, true, true}},
		{"uint64", 1, []any{uint64(0), uint64(math.MaxUint64), uint64(math.MaxUint64 - 1), uint64(0)}, []bool{true, true, false, true}},
		{"int64", 10, []any{int64(math.MinInt64), int64(math.MaxInt64), int64(math.MaxInt64 - 10), int64(math.MinInt64)}, []bool{true, true, false, true}},
		{"int8", 100, []any{int8(-100), int8(0), int8(1), int8(127), int8(-128)}, []bool{true, false, true, true, true}},
		{"byte", 0, []any{uint8(1), uint8(1), uint8(2)}, []bool{true, false, true}},
		{"double", 0.5, []any{1.0, 1.5, 1.51, 0.9, nan, nan, math.Inf(1), math.Inf(1), 3.0}, []bool{true, false, true, true, true, false, true, false, true}},
		{"float", 1, []any{float32(1), float32(2), float32(2.5), float32(nan)}, []bool{true, false, true, true}},
		{"doubles", 1, []any{[]float64{1, 2}, []float64{2, 3}, []float64{1, 3.5}, []float64{1, 3.5, 0}, []float64{nan, 3.5, 0}, []float64{nan, 4, 0}}, []bool{true, false, true, true, true, false}},
		{"uint32s", 1, []any{[]uint32{7, 5}, []uint32{6, 6}, []uint32{5, 7}, []uint32{}}, []bool{true, false, true, true}},
		{"int16s", 3, []any{[]int16{-32768}, []int16{32767}, []int16{32764}}, []bool{true, true, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f filter
			f.deadband, f.limit = true, tt.band
			var last ua.DataValue
			for i, x := range tt.values {
				v, err := ua.ValueOf(x)
				if err != nil {
					t.Fatal(err)
				}
				dv := ua.DataValue{Value: v}
				passes := i == 0 || f.passes(&last, &dv)
				if passes != tt.passes[i] {
					t.Errorf("%v after %v: %v", x, last.Value.Any(), passes)
				}
				if passes {
					last = dv
				}
				worse := dv
				worse.Status = ua.UncertainInitialValue
				if !f.passes(&dv, &worse) {
					t.Error("a new status does not pass")
				}
			}
		})
	}
}

// TestNaNIsReportedOnce: without a deadband too (Part 4, 7.10).
func TestNaNIsReportedOnce(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", 1.0)
		c.monitor(sub, v, 1, queue(10, true))
		other := math.Float64frombits(math.Float64bits(math.NaN()) + 1)
		for _, x := range []float64{math.NaN(), other, math.NaN(), 2, math.Copysign(0, -1), 0} {
			set(v, x)
		}
		if got := c.next(100 * time.Millisecond); len(got) != 4 || got[2] != 2.0 || got[3] != 0.0 {
			t.Errorf("%v", got)
		}
	})
}

// euRange adds the property.
func (w *world) euRange(v *addrspace.Variable, low, high float64) *addrspace.Variable {
	n, err := w.space.AddNode(addrspace.NodeSpec{
		Class: ua.NodeClassVariable, BrowseName: ua.QualifiedName{Name: "EURange"}, ID: ua.StringID(2, v.Node().ID().String()+".EURange"),
		Parent: v.Node().ID(), ReferenceType: ua.NumericID(0, id.HasProperty), AccessLevel: addrspace.ReadWrite,
		Value: ua.VariantOf(ua.ObjectOf(&ua.Range{Low: low, High: high})), DataType: ua.NumericID(0, id.Range),
	})
	if err != nil {
		w.Fatal(err)
	}
	return n.Variable()
}

// TestPercentDeadbandAndSemanticsChanged: a percentage of the EURange (Part 8,
// 7.2); a new range is announced with the SemanticsChanged bit, and counts.
func TestPercentDeadbandAndSemanticsChanged(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", 0.0)
		property := w.euRange(v, -100, 100)
		percent := func(p float64) func(*ua.MonitoredItemCreateRequest) {
			return filtered(&ua.DataChangeFilter{Trigger: ua.DataChangeTriggerStatusValue, DeadbandType: uint32(ua.DeadbandTypePercent), DeadbandValue: p})
		}
		item := c.monitor(sub, v, 1, percent(10), queue(10, true))
		for _, x := range []float64{20, 20.1, 40, 0} {
			set(v, x)
		}
		wants(t, "10 % of 200", c.next(100*time.Millisecond), 0.0, 20.1, 0.0)

		property.Store(ua.DataValue{Value: ua.VariantOf(ua.ObjectOf(&ua.Range{Low: 0, High: 10}))})
		c.publish()
		w.at(200 * time.Millisecond)
		a := c.one()
		if ch := a.changes(); len(ch) != 1 || !ch[0].Value.Status.SemanticsChanged() || !ch[0].Value.Status.IsGood() {
			t.Errorf("%+v", a)
		}
		set(v, 1.5)
		c.publish()
		w.at(300 * time.Millisecond)
		a = c.one()
		if ch := a.changes(); len(ch) != 1 || ch[0].Value.Status != ua.Good {
			t.Errorf("%+v", a)
		}

		var resp ua.DeleteMonitoredItemsResponse
		w.m.DeleteMonitoredItems(c.q, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{item}}, &resp)
		if property.Watchers() != 0 || v.Watchers() != 0 {
			t.Errorf("%d and %d watchers are left", property.Watchers(), v.Watchers())
		}
	})
}

// TestFilterCodes: each bad filter has its own code (Part 4, 5.13.2.4 and 7.22,
// Part 8, 7.2).
func TestFilterCodes(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		number, text := w.variable("number", 1.0), w.variable("text", "x")
		band := func(kind uint32, value float64) func(*ua.MonitoredItemCreateRequest) {
			return filtered(&ua.DataChangeFilter{Trigger: ua.DataChangeTriggerStatusValue, DeadbandType: kind, DeadbandValue: value})
		}
		server := func(r *ua.MonitoredItemCreateRequest) { r.ItemToMonitor.NodeID = ua.NumericID(0, id.Server) }
		for _, tt := range []struct {
			name string
			req  ua.MonitoredItemCreateRequest
			code ua.StatusCode
		}{
			{"absolute", request(number, 1, band(1, 2)), ua.Good},
			{"absolute on text", request(text, 1, band(1, 2)), ua.BadFilterNotAllowed},
			{"negative", request(number, 1, band(1, -1)), ua.BadDeadbandFilterInvalid},
			{"NaN", request(number, 1, band(1, math.NaN())), ua.BadDeadbandFilterInvalid},
			{"infinite", request(number, 1, band(1, math.Inf(1))), ua.BadDeadbandFilterInvalid},
			{"percent without EURange", request(number, 1, band(2, 10)), ua.BadDeadbandFilterInvalid},
			{"unknown deadband", request(number, 1, band(3, 10)), ua.BadMonitoredItemFilterInvalid},
			{"unknown trigger", request(number, 1, filtered(&ua.DataChangeFilter{Trigger: 3})), ua.BadMonitoredItemFilterInvalid},
			{"aggregate", request(number, 1, filtered(&ua.AggregateFilter{})), ua.BadMonitoredItemFilterUnsupported},
			{"event filter on a value", request(number, 1, filtered(&ua.EventFilter{})), ua.BadFilterNotAllowed},
			{"not a filter", request(number, 1, filtered(&ua.Range{})), ua.BadMonitoredItemFilterInvalid},
			{"filter on another attribute", request(number, 1, attribute(ua.AttributeIDDisplayName), band(0, 0)), ua.BadFilterNotAllowed},
			{"events", request(number, 1, server, attribute(ua.AttributeIDEventNotifier), filtered(&ua.EventFilter{})), ua.BadEventFilterInvalid},
			{"events without filter", request(number, 1, server, attribute(ua.AttributeIDEventNotifier)), ua.BadFilterNotAllowed},
			{"EventNotifier of a variable", request(number, 1, attribute(ua.AttributeIDEventNotifier)), ua.BadAttributeIDInvalid},
			{"attribute 0", request(number, 1, attribute(0)), ua.BadAttributeIDInvalid},
			{"attribute 28", request(number, 1, attribute(28)), ua.BadAttributeIDInvalid},
			{"attribute of another class", request(number, 1, attribute(ua.AttributeIDSymmetric)), ua.BadAttributeIDInvalid},
			{"value of an object", request(number, 1, server), ua.BadAttributeIDInvalid},
			{"mode", request(number, 1, mode(3)), ua.BadMonitoringModeInvalid},
			{"range syntax", request(number, 1, indexes("2:1")), ua.BadIndexRangeInvalid},
			{"range of a scalar", request(number, 1, indexes("0:1")), ua.BadIndexRangeNoData},
			{"unknown node", request(number, 1, func(r *ua.MonitoredItemCreateRequest) { r.ItemToMonitor.NodeID = ua.StringID(2, "?") }), ua.BadNodeIDUnknown},
			{"null node", request(number, 1, func(r *ua.MonitoredItemCreateRequest) { r.ItemToMonitor.NodeID = ua.NodeID{} }), ua.BadNodeIDInvalid},
			{"encoding of a number", request(number, 1, func(r *ua.MonitoredItemCreateRequest) {
				r.ItemToMonitor.DataEncoding = ua.QualifiedName{Name: "Default Binary"}
			}), ua.BadDataEncodingInvalid},
			{"encoding XML", request(number, 1, func(r *ua.MonitoredItemCreateRequest) {
				r.ItemToMonitor.DataEncoding = ua.QualifiedName{Name: "Default XML"}
			}), ua.BadDataEncodingUnsupported},
			{"encoding nonsense", request(number, 1, func(r *ua.MonitoredItemCreateRequest) { r.ItemToMonitor.DataEncoding = ua.QualifiedName{Name: "x"} }), ua.BadDataEncodingInvalid},
		} {
			if r := c.create(sub, tt.req)[0]; r.StatusCode != tt.code {
				t.Errorf("%s: %v, want %v", tt.name, r.StatusCode, tt.code)
			}
		}
		if s := w.m.Stats(); s.MonitoredItems != 1 {
			t.Errorf("%d items count", s.MonitoredItems)
		}
	})
}
