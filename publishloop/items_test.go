package publishloop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// polledEvery gives a variable a source that answers with what f makes of the
// number of the call.
func polledEvery(f func(n int32) any) func(*addrspace.NodeSpec) {
	var calls atomic.Int32
	return func(s *addrspace.NodeSpec) {
		s.Source = &addrspace.Source{Read: func(context.Context) (ua.DataValue, error) {
			v, err := ua.ValueOf(f(calls.Add(1)))
			return ua.DataValue{Value: v}, err
		}}
	}
}

// next publishes and returns the values of the cycle that ends at a time.
func (c *client) next(at time.Duration) []any {
	c.w.Helper()
	c.publish()
	c.w.at(at)
	var all []any
	for _, a := range c.ch.take() {
		if a.fault != 0 {
			c.w.Fatalf("%+v", a)
		}
		all = append(all, a.values()...)
	}
	return all
}

func wants(t *testing.T, what string, got []any, want ...any) {
	t.Helper()
	if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestCaseC4ChangeInsideTheGap: a change that comes before the sampling interval
// is over arrives as the next sample, though nothing comes after it.
func TestCaseC4ChangeInsideTheGap(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(40 * time.Millisecond)
		v := w.variable("v", int32(0))
		c.monitor(sub, v, 1, sampling(100), queue(10, true))
		w.at(39 * time.Millisecond)
		wants(t, "first value", c.next(40*time.Millisecond), int32(0))
		w.at(110 * time.Millisecond)
		set(v, int32(1)) // a sample at once
		w.at(140 * time.Millisecond)
		set(v, int32(2))
		w.at(160 * time.Millisecond)
		set(v, int32(3)) // both inside the gap; the newest counts
		wants(t, "first change", c.next(199*time.Millisecond), int32(1))
		wants(t, "inside the gap", c.next(239*time.Millisecond))
		wants(t, "after the gap", c.next(240*time.Millisecond), int32(3))
		wants(t, "silence", c.next(400*time.Millisecond))
	})
}

// TestSamplingSlowerThanPublishing: the sampling interval bounds the rate also
// for a queue of one entry.
func TestSamplingSlowerThanPublishing(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(50 * time.Millisecond)
		v := w.variable("v", int32(0))
		c.monitor(sub, v, 1, sampling(200))
		var seen []any
		for i := range 20 {
			set(v, int32(i+1))
			seen = append(seen, c.next(time.Duration(i+1)*50*time.Millisecond)...)
		}
		if n := len(seen); n < 5 || n > 6 {
			t.Errorf("%d values in a second: %v", n, seen)
		}
	})
}

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

// TestTimestampsToReturn leaves out what was not asked for; 4 is refused.
func TestTimestampsToReturn(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", int32(7))
		for i := range uint32(4) {
			var resp ua.CreateMonitoredItemsResponse
			code := w.m.CreateMonitoredItems(c.q, &ua.CreateMonitoredItemsRequest{
				SubscriptionID: sub, TimestampsToReturn: ua.TimestampsToReturn(i),
				ItemsToCreate: []ua.MonitoredItemCreateRequest{request(v, i), request(v, i+10, queue(5, true)), request(v, i+20, attribute(ua.AttributeIDDisplayName))},
			}, &resp)
			if code != ua.Good {
				t.Fatal(code)
			}
		}
		for _, bad := range []ua.TimestampsToReturn{-1, 4} {
			if code := w.m.CreateMonitoredItems(c.q, &ua.CreateMonitoredItemsRequest{
				SubscriptionID: sub, TimestampsToReturn: bad, ItemsToCreate: []ua.MonitoredItemCreateRequest{request(v, 1)},
			}, &ua.CreateMonitoredItemsResponse{}); code != ua.BadTimestampsToReturnInvalid {
				t.Error(bad, code)
			}
		}
		c.publish()
		w.at(100 * time.Millisecond)
		a := c.one()
		if len(a.changes()) != 12 {
			t.Fatalf("%+v", a)
		}
		for _, ch := range a.changes() {
			which := ua.TimestampsToReturn(ch.ClientHandle % 10)
			source := which == ua.TimestampsToReturnSource || which == ua.TimestampsToReturnBoth
			server := which == ua.TimestampsToReturnServer || which == ua.TimestampsToReturnBoth
			if ch.ClientHandle >= 20 {
				source = false // only values have one
			}
			if (ch.Value.SourceTimestamp != 0) != source || (ch.Value.ServerTimestamp != 0) != server {
				t.Errorf("%v: %+v", which, ch)
			}
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
			{"events", request(number, 1, server, attribute(ua.AttributeIDEventNotifier), filtered(&ua.EventFilter{})), ua.BadMonitoredItemFilterUnsupported},
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

// TestQueueOverflow: the bit is set only in queues larger than one, on the
// oldest value that is left or on the newest (Part 4, 5.13.1.5).
func TestQueueOverflow(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", int32(0))
		c.monitor(sub, v, 1, queue(1, true))
		c.monitor(sub, v, 2, queue(0, false))
		c.monitor(sub, v, 3, queue(3, true))
		c.monitor(sub, v, 4, queue(3, false))
		c.monitor(sub, v, 5, queue(6, false))
		for i := range int32(5) {
			set(v, i+1)
		}
		c.publish()
		w.at(100 * time.Millisecond)
		a := c.one()
		got := map[uint32]string{}
		for _, ch := range a.changes() {
			flag := ""
			if ch.Value.Status.Overflow() {
				flag = "!"
			}
			got[ch.ClientHandle] += fmt.Sprint(ch.Value.Value.Any(), flag, " ")
		}
		want := map[uint32]string{1: "5 ", 2: "5 ", 3: "3! 4 5 ", 4: "0 1 5! ", 5: "0 1 2 3 4 5 "}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if s := w.m.Stats(); s.ValuesLost != 6 {
			t.Errorf("%d values lost", s.ValuesLost)
		}
		if d := w.m.Subscriptions()[0].Diagnostics(); d.MonitoringQueueOverflowCount != 6 || d.MonitoredItemCount != 5 {
			t.Errorf("%+v", d)
		}
		// The bit does not stay, and does not make the value differ.
		set(v, int32(5))
		wants(t, "same value", c.next(200*time.Millisecond))
	})
}

// TestQueueSizeIsRevised: threat V6.
func TestQueueSizeIsRevised(t *testing.T) {
	run(t, Limits{QueueEntries: 15_000, MonitoredItems: 5}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		v := w.variable("v", int32(0))
		sizes := func(results []ua.MonitoredItemCreateResult) (s []uint32) {
			for _, r := range results {
				s = append(s, r.RevisedQueueSize)
			}
			return s
		}
		big := request(v, 1, queue(math.MaxUint32, true))
		r := c.create(sub, request(v, 1, queue(0, true)), big, big, request(v, 1, queue(5000, true)))
		if s := sizes(r); !reflect.DeepEqual(s, []uint32{1, 10_000, 1, 5000}) {
			t.Errorf("%v", s)
		}
		var resp ua.DeleteMonitoredItemsResponse
		w.m.DeleteMonitoredItems(c.q, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{2}}, &resp)
		r = c.create(sub, big, big, big)
		if r[0].RevisedQueueSize != 10_000 || r[1].StatusCode != ua.Good || r[2].StatusCode != ua.BadTooManyMonitoredItems {
			t.Errorf("%+v", r)
		}
	})
}

// TestLargeValuesShortenTheQueue: a thousand large arrays are not kept, whatever
// the size of the queue.
func TestLargeValuesShortenTheQueue(t *testing.T) {
	run(t, Limits{QueueBytes: 1 << 20}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		v := w.variable("v", make([]float64, 10_000)) // 80,000 bytes
		c.monitor(sub, v, 1, queue(1000, true))
		for i := range 100 {
			x := make([]float64, 10_000)
			x[0] = float64(i + 1)
			set(v, x)
		}
		got := c.next(time.Second)
		if len(got) < 8 || len(got) > 16 || got[len(got)-1].([]float64)[0] != 100 {
			t.Errorf("%d values", len(got))
		}
	})
}

// TestModifyMonitoredItem changes filter, queue and handle of a living item.
func TestModifyMonitoredItem(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", int32(0))
		item := c.monitor(sub, v, 1, queue(5, true))
		modify := func(p ua.MonitoringParameters) ua.MonitoredItemModifyResult {
			var resp ua.ModifyMonitoredItemsResponse
			code := w.m.ModifyMonitoredItems(c.q, &ua.ModifyMonitoredItemsRequest{
				SubscriptionID: sub, TimestampsToReturn: ua.TimestampsToReturnBoth,
				ItemsToModify: []ua.MonitoredItemModifyRequest{{MonitoredItemID: item, RequestedParameters: p}},
			}, &resp)
			if code != ua.Good {
				t.Fatal(code)
			}
			return resp.Results[0]
		}
		for i := range int32(4) {
			set(v, i+1)
		}
		if r := modify(ua.MonitoringParameters{ClientHandle: 9, QueueSize: 2, DiscardOldest: true}); r.StatusCode != ua.Good || r.RevisedQueueSize != 2 {
			t.Errorf("%+v", r)
		}
		c.publish()
		w.at(100 * time.Millisecond)
		a := c.one()
		if ch := a.changes(); len(ch) != 2 || ch[0].ClientHandle != 9 || !ch[0].Value.Status.Overflow() || ch[1].Value.Status.Overflow() {
			t.Errorf("%+v", a)
		}
		set(v, int32(5))
		set(v, int32(6))
		modify(ua.MonitoringParameters{ClientHandle: 9, QueueSize: 1})
		wants(t, "queue made one", c.next(200*time.Millisecond), int32(6))
		set(v, int32(7))
		modify(ua.MonitoringParameters{ClientHandle: 9, QueueSize: 4, Filter: ua.ObjectOf(&ua.DataChangeFilter{Trigger: 1, DeadbandType: 1, DeadbandValue: 10})})
		set(v, int32(8))
		set(v, int32(18))
		wants(t, "queue made four, with a deadband", c.next(300*time.Millisecond), int32(7), int32(18))
		if r := modify(ua.MonitoringParameters{Filter: ua.ObjectOf(&ua.EventFilter{})}); r.StatusCode != ua.BadFilterNotAllowed {
			t.Errorf("%+v", r)
		}
	})
}

// TestMonitoringModes: Part 4, 5.13.1.3.
func TestMonitoringModes(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", int32(0))
		item := c.monitor(sub, v, 1, queue(10, true), mode(ua.MonitoringModeDisabled))
		setMode := func(m ua.MonitoringMode) {
			var resp ua.SetMonitoringModeResponse
			w.m.SetMonitoringMode(c.q, &ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoringMode: m, MonitoredItemIDs: []uint32{item}}, &resp)
			if resp.Results[0] != ua.Good {
				t.Fatal(resp.Results)
			}
		}
		set(v, int32(1))
		wants(t, "disabled", c.next(100*time.Millisecond))
		if v.Watchers() != 0 {
			t.Error("a disabled item watches")
		}
		setMode(ua.MonitoringModeSampling)
		set(v, int32(2))
		wants(t, "sampling", c.next(200*time.Millisecond))
		setMode(ua.MonitoringModeReporting)
		wants(t, "what was sampled", c.next(300*time.Millisecond), int32(1), int32(2))
		set(v, int32(3))
		setMode(ua.MonitoringModeSampling)
		wants(t, "sampling again", c.next(400*time.Millisecond))
		setMode(ua.MonitoringModeReporting)
		wants(t, "reporting again", c.next(500*time.Millisecond), int32(3))
		set(v, int32(4))
		setMode(ua.MonitoringModeDisabled)
		set(v, int32(5))
		wants(t, "disabled again", c.next(600*time.Millisecond))
		setMode(ua.MonitoringModeReporting)
		wants(t, "enabled", c.next(700*time.Millisecond), int32(5))
		setMode(ua.MonitoringModeDisabled)
		setMode(ua.MonitoringModeReporting)
		set(v, int32(6))
		wants(t, "disabled and enabled within a cycle", c.next(800*time.Millisecond), int32(5), int32(6))
	})
}

// TestModeChangesBetweenMessages: an item that is taken out of a half delivered
// burst and comes back is neither lost nor delivered twice.
func TestModeChangesBetweenMessages(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100*time.Millisecond, counting(30, 10, 1))
		var items []uint32
		var vars []*addrspace.Variable
		for i := range 4 {
			v := w.variable(string(rune('a'+i)), int32(i))
			vars = append(vars, v)
			items = append(items, c.monitor(sub, v, uint32(i)))
		}
		c.publish()
		w.at(100 * time.Millisecond)
		wants(t, "first", c.ch.take()[0].values(), int32(0))
		var resp ua.SetMonitoringModeResponse
		for _, m := range []ua.MonitoringMode{ua.MonitoringModeDisabled, ua.MonitoringModeReporting} {
			w.m.SetMonitoringMode(c.q, &ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoringMode: m, MonitoredItemIDs: items[1:3]}, &resp)
		}
		var del ua.DeleteMonitoredItemsResponse
		w.m.DeleteMonitoredItems(c.q, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: items[3:]}, &del)
		set(vars[2], int32(22))
		var got []any
		for i := range 4 {
			got = append(got, c.next(time.Duration(i+2)*100*time.Millisecond)...)
		}
		wants(t, "rest", got, int32(1), int32(22))
	})
}

// TestTriggering: Part 4, 5.13.1.6.
func TestTriggering(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		trigger, a, b := w.variable("trigger", int32(100)), w.variable("a", int32(0)), w.variable("b", int32(50))
		main := c.monitor(sub, trigger, 1)
		itemA := c.monitor(sub, a, 2, queue(5, true), mode(ua.MonitoringModeSampling))
		itemB := c.monitor(sub, b, 3, mode(ua.MonitoringModeSampling))
		link := func(from uint32, add, remove []uint32) ([]ua.StatusCode, []ua.StatusCode) {
			var resp ua.SetTriggeringResponse
			if code := w.m.SetTriggering(c.q, &ua.SetTriggeringRequest{SubscriptionID: sub, TriggeringItemID: from, LinksToAdd: add, LinksToRemove: remove}, &resp); code != ua.Good {
				t.Fatal(code)
			}
			return resp.AddResults, resp.RemoveResults
		}
		added, removed := link(main, []uint32{itemA, itemB, itemA, 999, main}, []uint32{itemA})
		if !reflect.DeepEqual(added, []ua.StatusCode{ua.Good, ua.Good, ua.Good, ua.BadMonitoredItemIDInvalid, ua.BadMonitoredItemIDInvalid}) ||
			!reflect.DeepEqual(removed, []ua.StatusCode{ua.BadMonitoredItemIDInvalid}) {
			t.Errorf("%v, %v", added, removed)
		}
		wants(t, "what was queued before the link does not trigger", c.next(100*time.Millisecond), int32(100))
		set(a, int32(1))
		set(a, int32(2))
		wants(t, "not triggered", c.next(200*time.Millisecond))
		set(trigger, int32(101))
		wants(t, "triggered", c.next(300*time.Millisecond), int32(101), int32(0), int32(1), int32(2), int32(50))
		set(a, int32(3))
		wants(t, "only once", c.next(400*time.Millisecond))

		// A triggering item that only samples is not reported itself.
		var resp ua.SetMonitoringModeResponse
		w.m.SetMonitoringMode(c.q, &ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoringMode: ua.MonitoringModeSampling, MonitoredItemIDs: []uint32{main}}, &resp)
		set(trigger, int32(102))
		wants(t, "sampling trigger", c.next(500*time.Millisecond), int32(3))

		// Cycles end.
		link(itemA, []uint32{itemB, main}, nil)
		link(itemB, []uint32{itemA}, nil)
		set(a, int32(4))
		set(b, int32(51))
		if got := c.next(600 * time.Millisecond); len(got) != 3 {
			t.Errorf("cycle: %v", got)
		}
		wants(t, "after the cycle", c.next(700*time.Millisecond))

		// A deleted item takes its links along.
		var del ua.DeleteMonitoredItemsResponse
		w.m.DeleteMonitoredItems(c.q, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{itemA}}, &del)
		set(trigger, int32(103))
		set(b, int32(52))
		wants(t, "after the deletion", c.next(800*time.Millisecond), int32(52))
		if _, removed := link(main, nil, []uint32{itemA, itemB}); !reflect.DeepEqual(removed, []ua.StatusCode{ua.BadMonitoredItemIDInvalid, ua.Good}) {
			t.Errorf("%v", removed)
		}
		set(trigger, int32(104))
		set(b, int32(53))
		wants(t, "unlinked", c.next(900*time.Millisecond))
		if code := w.m.SetTriggering(c.q, &ua.SetTriggeringRequest{SubscriptionID: sub, TriggeringItemID: 77, LinksToAdd: []uint32{itemB}}, &ua.SetTriggeringResponse{}); code != ua.BadMonitoredItemIDInvalid {
			t.Error(code)
		}
	})
}

// TestTriggeringLimit: threat V10.
func TestTriggeringLimit(t *testing.T) {
	run(t, Limits{TriggeringLinks: 3}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", int32(0))
		var ids []uint32
		for i := range uint32(6) {
			ids = append(ids, c.monitor(sub, v, i))
		}
		var resp ua.SetTriggeringResponse
		w.m.SetTriggering(c.q, &ua.SetTriggeringRequest{SubscriptionID: sub, TriggeringItemID: ids[0], LinksToAdd: ids[1:]}, &resp)
		if !reflect.DeepEqual(resp.AddResults, []ua.StatusCode{ua.Good, ua.Good, ua.Good, ua.BadTooManyOperations, ua.BadTooManyOperations}) {
			t.Errorf("%v", resp.AddResults)
		}
	})
}

// TestIndexRanges: a part of an array is monitored; one that has no data now may
// have some later.
func TestIndexRanges(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", []int32{0, 1, 2, 3})
		c.monitor(sub, v, 1, indexes("1:2"), queue(10, true))
		c.monitor(sub, v, 2, indexes("4"), queue(10, true))
		set(v, []int32{9, 1, 2, 9}) // outside
		set(v, []int32{9, 1, 7, 9})
		wants(t, "range", c.next(100*time.Millisecond), []int32{1, 2}, []int32{1, 7}, ua.BadIndexRangeNoData)
		set(v, []int32{9, 1, 7, 9, 5})
		wants(t, "data at last", c.next(200*time.Millisecond), []int32{5})
		fixed := w.variable("fixed", []int32{1, 2, 3}, func(s *addrspace.NodeSpec) { s.Dimensions = []uint32{3} })
		if r := c.create(sub, request(fixed, 3, indexes("3:4")), request(fixed, 3, indexes("2:4"))); r[0].StatusCode != ua.BadIndexRangeNoData || r[1].StatusCode != ua.Good {
			t.Errorf("%+v", r)
		}
	})
}

// TestCaseC18NodeDeleted: one notification, then silence.
func TestCaseC18NodeDeleted(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", int32(0))
		item := c.monitor(sub, v, 1)
		c.monitor(sub, v, 2, attribute(ua.AttributeIDDisplayName), sampling(50))
		p := w.variable("p", int32(0), polledEvery(func(int32) any { return int32(5) }))
		c.monitor(sub, p, 3, sampling(50))
		w.at(99 * time.Millisecond)
		if got := c.next(100 * time.Millisecond); len(got) != 3 {
			t.Errorf("%v", got)
		}
		for _, x := range []*addrspace.Variable{v, p} {
			if err := w.space.RemoveNode(x.Node().ID()); err != nil {
				t.Fatal(err)
			}
		}
		var got []any
		for i := range 10 {
			got = append(got, c.next(time.Duration(i+2)*100*time.Millisecond)...)
			set(v, int32(i+10))
		}
		wants(t, "deleted", got, ua.BadNodeIDUnknown, ua.BadNodeIDUnknown, ua.BadNodeIDUnknown)
		// Enabling it again says so again.
		var resp ua.SetMonitoringModeResponse
		w.m.SetMonitoringMode(c.q, &ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{item}}, &resp)
		var del ua.DeleteMonitoredItemsResponse
		if w.m.DeleteMonitoredItems(c.q, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{item}}, &del); del.Results[0] != ua.Good {
			t.Error(del.Results)
		}
	})
}

// TestOtherAttributes are reported when they change.
func TestOtherAttributes(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", int32(0))
		c.monitor(sub, v, 1, attribute(ua.AttributeIDDisplayName), sampling(50))
		if got := c.next(100 * time.Millisecond); len(got) != 1 || got[0].(ua.LocalizedText).Text != "v" {
			t.Errorf("%v", got)
		}
		v.Node().SetAttribute(ua.AttributeIDDisplayName, ua.VariantOf(ua.LocalizedText{Text: "new"}))
		if got := c.next(200 * time.Millisecond); len(got) != 1 || got[0].(ua.LocalizedText).Text != "new" {
			t.Errorf("%v", got)
		}
		wants(t, "unchanged", c.next(1100*time.Millisecond))
	})
}

// TestPolledSource: a source that has to be asked is asked in the sampling
// interval; an error is a status, a panic too.
func TestPolledSource(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		var calls atomic.Int32
		v := w.variable("v", int32(0), func(s *addrspace.NodeSpec) {
			s.Source = &addrspace.Source{Read: func(context.Context) (ua.DataValue, error) {
				switch n := calls.Add(1); n {
				case 2:
					return ua.DataValue{}, fmt.Errorf("no contact: %w", ua.BadNoCommunication)
				case 3:
					return ua.DataValue{}, errors.New("secret")
				case 4:
					panic("secret")
				default:
					return ua.DataValue{Value: ua.Int32Variant(min(n, 5))}, nil
				}
			}}
		})
		r := c.create(sub, request(v, 1, sampling(100), queue(20, true)), request(v, 2, sampling(0), mode(ua.MonitoringModeDisabled)))
		if r[0].RevisedSamplingInterval != 100 || r[1].RevisedSamplingInterval != 50 {
			t.Errorf("%+v", r)
		}
		wants(t, "polled", c.next(time.Second), int32(1), ua.BadNoCommunication, ua.BadInternalError, int32(5))
		if n := calls.Load(); n < 9 || n > 11 {
			t.Errorf("%d calls in a second", n)
		}
		w.at(4 * time.Second)
		if n := calls.Load(); n < 38 || n > 41 {
			t.Errorf("%d calls in four seconds", n)
		}
	})
}

// TestSlowSourceIsNotAskedTwice: while a call is under way there is no other, and
// other items do not wait for it.
func TestSlowSourceIsNotAskedTwice(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		var running, most atomic.Int32
		slow := w.variable("slow", int32(0), func(s *addrspace.NodeSpec) {
			s.Source = &addrspace.Source{Read: func(context.Context) (ua.DataValue, error) {
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(700 * time.Millisecond)
				running.Add(-1)
				return ua.DataValue{Value: ua.Int32Variant(1)}, nil
			}}
		})
		quick := w.variable("quick", int32(0), polledEvery(func(n int32) any { return n }))
		c.monitor(sub, slow, 1, sampling(100))
		c.monitor(sub, quick, 2, sampling(100), queue(20, true))
		if got := c.next(time.Second); len(got) < 9 {
			t.Errorf("%v", got)
		}
		if most.Load() != 1 {
			t.Errorf("%d calls at once", most.Load())
		}
		time.Sleep(time.Second)
	})
}

// TestCaseC13ManySamplingIntervals: ten thousand items with as many intervals add
// no goroutine, and leave nothing behind.
func TestCaseC13ManySamplingIntervals(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		const n = 10_000
		var calls atomic.Int64
		v := w.variable("v", int64(0), func(s *addrspace.NodeSpec) {
			s.Source = &addrspace.Source{Inline: true, Read: func(context.Context) (ua.DataValue, error) {
				return ua.DataValue{Value: ua.Int64Variant(calls.Add(1))}, nil
			}}
		})
		var reqs []ua.MonitoredItemCreateRequest
		for i := range uint32(n) {
			reqs = append(reqs, request(v, i, sampling(1000+float64(i)/10)))
		}
		var ids []uint32
		for _, r := range c.create(sub, reqs...) {
			ids = append(ids, r.MonitoredItemID)
		}
		w.at(3 * time.Second)
		if g := w.group.Running(); g["subscription"] != 1 || g["sampling"] != 1 || len(g) != 2 {
			t.Errorf("%v", g)
		}
		if calls.Load() < n {
			t.Errorf("%d calls", calls.Load())
		}
		var resp ua.DeleteMonitoredItemsResponse
		w.m.DeleteMonitoredItems(c.q, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: ids}, &resp)
		w.at(4 * time.Second)
		if g := w.group.Running(); g["sampling"] != 0 || len(w.m.polls.queue) != 0 || w.m.Stats().MonitoredItems != 0 {
			t.Errorf("%v, %d in the queue", g, len(w.m.polls.queue))
		}
		before := calls.Load()
		w.at(10 * time.Second)
		if calls.Load() != before {
			t.Error("deleted items are still asked for")
		}
	})
}

// TestMinimumSamplingInterval: the attribute bounds the rate (Part 3, 5.6.2).
func TestMinimumSamplingInterval(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		low := 250.0
		v := w.variable("v", int32(0), func(s *addrspace.NodeSpec) { s.MinimumSamplingInterval = &low })
		for req, want := range map[float64]float64{0: 250, 100: 250, 300: 300, -1: 1000} {
			if r := c.create(sub, request(v, 1, sampling(req)))[0]; r.RevisedSamplingInterval != want {
				t.Errorf("%v is revised to %v", req, r.RevisedSamplingInterval)
			}
		}
	})
}

// tags is a manager of a namespace.
type tags struct {
	mu      sync.Mutex
	reads   int
	largest int
	watched map[string]addrspace.Watcher
}

func (m *tags) Read(_ context.Context, items []addrspace.ReadItem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	m.largest = max(m.largest, len(items))
	for i := range items {
		if items[i].NodeID.Text() != "unknown" {
			items[i].Result = ua.DataValue{Value: ua.Int32Variant(int32(m.reads))}
		}
	}
}

// drivers is one that delivers changes by itself.
type drivers struct{ tags }

func (m *drivers) Watch(_ context.Context, items []addrspace.WatchItem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range items {
		if items[i].NodeID.Text() == "unknown" {
			continue
		}
		m.watched[items[i].NodeID.Text()] = items[i].Watcher
		items[i].Current, items[i].Result = ua.DataValue{Value: ua.Int32Variant(1)}, ua.Good
	}
}

func (m *drivers) Unwatch(items []addrspace.WatchItem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range items {
		delete(m.watched, items[i].NodeID.Text())
	}
}

// TestManagers: items of a node manager are read in batches, or delivered.
func TestManagers(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		plc, bus := new(tags), &drivers{tags{watched: make(map[string]addrspace.Watcher)}}
		for _, uri := range []string{"urn:test:plc", "urn:test:bus"} {
			if _, err := w.space.AddNamespace(uri); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.space.Mount(3, plc), w.space.Mount(4, bus)); err != nil {
			t.Fatal(err)
		}
		tag := func(ns uint16, name string, handle uint32) ua.MonitoredItemCreateRequest {
			return ua.MonitoredItemCreateRequest{
				ItemToMonitor:       ua.ReadValueID{NodeID: ua.StringID(ns, name), AttributeID: ua.AttributeIDValue},
				MonitoringMode:      ua.MonitoringModeReporting,
				RequestedParameters: ua.MonitoringParameters{ClientHandle: handle, SamplingInterval: 1000, QueueSize: 10, DiscardOldest: true},
			}
		}
		var reqs []ua.MonitoredItemCreateRequest
		for i := range uint32(100) {
			reqs = append(reqs, tag(3, fmt.Sprint("t", i), i))
		}
		r := c.create(sub, append(reqs, tag(3, "unknown", 200), tag(4, "x", 300), tag(4, "unknown", 400))...)
		c.publish()
		w.at(100 * time.Millisecond)
		a := c.one()
		got := make(map[uint32]any)
		for i, ch := range a.changes() {
			got[ch.ClientHandle] = a.values()[i]
		}
		if len(got) != 103 || got[200] != ua.BadNodeIDUnknown || got[300] != int32(1) || got[400] != ua.BadNodeIDUnknown {
			t.Errorf("%v", got)
		}
		w.at(1150 * time.Millisecond)
		bus.mu.Lock()
		bus.watched["x"].ValueChanged(&ua.DataValue{Value: ua.Int32Variant(2)})
		bus.mu.Unlock()
		found := false
		for _, v := range c.next(1200 * time.Millisecond) {
			found = found || v == int32(2)
		}
		if !found {
			t.Error("the delivered change did not arrive")
		}
		var resp ua.DeleteMonitoredItemsResponse
		w.m.DeleteMonitoredItems(c.q, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{r[101].MonitoredItemID}}, &resp)
		w.at(1300 * time.Millisecond)
		bus.mu.Lock()
		if len(bus.watched) != 0 {
			t.Errorf("%v", bus.watched)
		}
		bus.mu.Unlock()
		plc.mu.Lock()
		before := plc.reads
		plc.mu.Unlock()
		w.at(11300 * time.Millisecond)
		plc.mu.Lock()
		if n := plc.reads - before; n < 9 || n > 70 {
			t.Errorf("%d reads for 100 items in ten seconds", n)
		}
		plc.mu.Unlock()
	})
}

// TestRightsAreChecked: creating an item that may not be read succeeds and
// reports why (Part 4, 5.13.2.1); a change of rights is followed. Threat U11.
func TestRightsAreChecked(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		denied := ua.BadUserAccessDenied
		access := func(n *addrspace.Node, _ ua.AttributeID) ua.StatusCode {
			if n.BrowseName().Name == "secret" {
				return denied
			}
			return ua.Good
		}
		c.q.identity.Access = access
		sub := c.subscribe(100 * time.Millisecond)
		secret, open := w.variable("secret", int32(7)), w.variable("open", int32(1))
		blind := w.variable("blind", int32(1), func(s *addrspace.NodeSpec) { s.AccessLevel = ua.AccessLevelExTypeCurrentWrite })
		c.monitor(sub, secret, 1)
		c.monitor(sub, open, 2)
		c.monitor(sub, blind, 3)
		wants(t, "rights", c.next(100*time.Millisecond), ua.BadUserAccessDenied, int32(1), ua.BadNotReadable)
		set(secret, int32(8))
		wants(t, "no values leak", c.next(200*time.Millisecond))
		denied = ua.Good
		w.m.IdentityChanged(c.q, Identity{User: "admin", Access: access})
		wants(t, "granted", c.next(300*time.Millisecond), int32(8))
		set(secret, int32(9))
		denied = ua.BadUserAccessDenied
		w.m.IdentityChanged(c.q, Identity{User: "somebody", Access: access})
		wants(t, "taken away with what was queued", c.next(400*time.Millisecond), ua.BadUserAccessDenied)
		set(secret, int32(10))
		wants(t, "silent", c.next(500*time.Millisecond))
	})
}

// TestResendDataAndGetMonitoredItems: Part 5, 9.1 and 9.2.
func TestResendDataAndGetMonitoredItems(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c, other := w.client(), w.client()
		defer c.close()
		defer other.close()
		sub := c.subscribe(100 * time.Millisecond)
		a, b := w.variable("a", int32(1)), w.variable("b", int32(2))
		ia := c.monitor(sub, a, 71)
		ib := c.monitor(sub, b, 72, queue(5, true))
		c.monitor(sub, b, 73, mode(ua.MonitoringModeSampling))
		wants(t, "first", c.next(100*time.Millisecond), int32(1), int32(2))
		set(b, int32(3))
		if code := w.m.ResendData(c.q, sub); code != ua.Good {
			t.Error(code)
		}
		if got := c.next(200 * time.Millisecond); len(got) != 2 {
			t.Errorf("%v", got)
		}
		servers, clients, code := w.m.GetMonitoredItems(c.q, sub)
		if code != ua.Good || len(servers) != 3 || servers[0] != ia || servers[1] != ib || !reflect.DeepEqual(clients, []uint32{71, 72, 73}) {
			t.Error(servers, clients, code)
		}
		if _, _, code := w.m.GetMonitoredItems(other.q, sub); code != ua.BadUserAccessDenied {
			t.Error(code)
		}
		if code := w.m.ResendData(other.q, sub+5); code != ua.BadSubscriptionIDInvalid {
			t.Error(code)
		}
	})
}

// TestTransactionsAreNotTorn: a message holds all of an Update or nothing of it.
func TestTransactionsAreNotTorn(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(10 * time.Millisecond)
		a, b := w.variable("a", int32(0)), w.variable("b", int32(0))
		c.monitor(sub, a, 1)
		c.monitor(sub, b, 2)
		c.next(10 * time.Millisecond)
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := int32(1); ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				w.space.Update(func(tx *addrspace.Tx) error {
					tx.Set(a, ua.Int32Variant(i))
					tx.Set(b, ua.Int32Variant(i))
					return nil
				})
				time.Sleep(time.Millisecond)
			}
		}()
		for i := range 50 {
			time.Sleep(10 * time.Millisecond)
			c.publish()
			for _, x := range c.ch.take() {
				if got := x.values(); len(got) > 0 && (len(got) != 2 || got[0] != got[1]) {
					t.Errorf("cycle %d: %v", i, got)
				}
			}
		}
		close(stop)
		<-done
	})
}

// TestPanicInAnInlineSource costs that one value, though it is asked on the
// scheduler's own goroutine.
func TestPanicInAnInlineSource(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		var calls atomic.Int32
		v := w.variable("v", int32(0), func(s *addrspace.NodeSpec) {
			s.Source = &addrspace.Source{Inline: true, Read: func(context.Context) (ua.DataValue, error) {
				if calls.Add(1) == 1 {
					panic("first")
				}
				return ua.DataValue{Value: ua.Int32Variant(7)}, nil
			}}
		})
		c.monitor(sub, v, 1, queue(10, true), sampling(100))
		wants(t, "panic", c.next(time.Second), ua.BadInternalError, int32(7))
	})
}

// TestSourceTimestampOfPolledValues: a source without timestamps gives a value
// the time at which it was first seen (Part 4, 7.11.3).
func TestSourceTimestampOfPolledValues(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		v := w.variable("v", int32(0), polledEvery(func(n int32) any { return n / 100 }))
		c.monitor(sub, v, 1, queue(50, true), sampling(100), filtered(&ua.DataChangeFilter{Trigger: ua.DataChangeTriggerStatusValueTimestamp}))
		wants(t, "one notification", c.next(5*time.Second), int32(0))
	})
}

// TestManagerThatPanics: its items say that nothing was delivered, and others go on.
func TestManagerThatPanics(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		if _, err := w.space.AddNamespace("urn:test:bus"); err != nil {
			t.Fatal(err)
		}
		if err := w.space.Mount(3, panics{}); err != nil {
			t.Fatal(err)
		}
		c.create(sub, ua.MonitoredItemCreateRequest{
			ItemToMonitor: ua.ReadValueID{NodeID: ua.StringID(3, "x"), AttributeID: ua.AttributeIDValue}, MonitoringMode: ua.MonitoringModeReporting,
		})
		c.monitor(sub, w.variable("v", int32(1)), 2)
		got := c.next(100 * time.Millisecond)
		if len(got) != 2 || !slices.Contains(got, any(int32(1))) || !slices.Contains(got, any(ua.BadNodeIDUnknown)) {
			t.Errorf("%v", got)
		}
	})
}

type panics struct{}

func (panics) Watch(context.Context, []addrspace.WatchItem) { panic("watch") }
func (panics) Unwatch([]addrspace.WatchItem)                { panic("unwatch") }
