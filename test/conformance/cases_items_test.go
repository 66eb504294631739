package conformance

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// A change inside of the sampling interval is the sample at its end, though
// nothing changes any more (Part 4, 5.13.1.2). Case C4: servers that sampled
// only on writes dropped the value of 50 ms for good.
func TestCaseC04_AChangeInsideTheIntervalIsTheNextSample(t *testing.T) {
	for _, queue := range []uint32{1, 10} {
		t.Run(fmt.Sprintf("queue %d", queue), func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world) {
				s := w.session()
				v := w.variable("v", int32(0))
				sub := subscribe(s, 50)
				item := monitor(w.node("v"), 1)
				item.RequestedParameters.SamplingInterval, item.RequestedParameters.QueueSize = 100, queue
				watch(t, s, sub, item)
				publish(s)
				time.Sleep(time.Second)

				start := time.Now()
				v.Store(ua.DataValue{Value: ua.VariantOf(int32(1))})
				time.Sleep(50 * time.Millisecond)
				v.Store(ua.DataValue{Value: ua.VariantOf(int32(2))})
				var got []string
				for len(got) < 2 {
					list := values(changes(t, publish(s)))
					if len(list) == 0 && time.Since(start) > time.Second {
						break
					}
					got = append(got, list...)
				}
				if !slices.Equal(got, []string{"1", "2"}) {
					t.Errorf("reported %v", got)
				}
				if at := time.Since(start); at < 100*time.Millisecond || at > 200*time.Millisecond {
					t.Errorf("the value of 50 ms was reported at %v", at)
				}
			})
		})
	}
}

// The SourceTimestamp of a static value is stable, the ServerTimestamp is the
// time of the Read (Part 4, 7.11), and an item that reports timestamps as well
// reports such a value once (Part 4, 7.22.2). Case C5: servers that stamped on
// each read kept such items talking.
func TestCaseC05_TimestampsOfAStaticVariable(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		w.variable("v", int32(1))
		first := readValue(s, w.node("v"))
		time.Sleep(time.Second)
		second := readValue(s, w.node("v"))
		if first.SourceTimestamp == 0 || second.SourceTimestamp != first.SourceTimestamp {
			t.Errorf("source timestamps %v, then %v", first.SourceTimestamp, second.SourceTimestamp)
		}
		if now := ua.DateTimeOf(time.Now()); second.ServerTimestamp != now {
			t.Errorf("server timestamp %v at %v", second.ServerTimestamp, now)
		}
		expect(t, "write", writeValue(t, s, w.node("v"), int32(2)), ua.Good)
		if third := readValue(s, w.node("v")); third.SourceTimestamp <= first.SourceTimestamp {
			t.Errorf("the source timestamp did not change with the value")
		}

		sub := subscribe(s, 100)
		item := monitor(w.node("v"), 1)
		item.RequestedParameters.QueueSize = 10
		item.RequestedParameters.Filter = ua.ObjectOf(&ua.DataChangeFilter{Trigger: ua.DataChangeTriggerStatusValueTimestamp})
		watch(t, s, sub, item)
		count := 0
		for start := time.Now(); time.Since(start) < 5*time.Second; {
			count += len(changes(t, publish(s)))
		}
		if count != 1 {
			t.Errorf("%d notifications in 5 s", count)
		}
	})
}

// Timestamps that were not asked for are omitted, and what is no
// TimestampsToReturn is refused (Part 4, 7.39). Case C5.
func TestCaseC05_TimestampsToReturn(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		w.variable("v", int32(1))
		for _, row := range []struct {
			timestamps     ua.TimestampsToReturn
			source, server bool
		}{
			{ua.TimestampsToReturnSource, true, false},
			{ua.TimestampsToReturnServer, false, true},
			{ua.TimestampsToReturnBoth, true, true},
			{ua.TimestampsToReturnNeither, false, false},
		} {
			read := rawpeer.Do[*ua.ReadResponse](s, &ua.ReadRequest{
				TimestampsToReturn: row.timestamps, NodesToRead: []ua.ReadValueID{valueOf(w.node("v"))},
			}).Results[0]
			sub := subscribe(s, 100)
			rawpeer.Do[*ua.CreateMonitoredItemsResponse](s, &ua.CreateMonitoredItemsRequest{
				SubscriptionID: sub, TimestampsToReturn: row.timestamps,
				ItemsToCreate: []ua.MonitoredItemCreateRequest{monitor(w.node("v"), 1)},
			})
			reported := changes(t, publish(s))[0].Value
			rawpeer.Do[*ua.DeleteSubscriptionsResponse](s, &ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{sub}})
			for what, dv := range map[string]ua.DataValue{"read": read, "reported": reported} {
				if (dv.SourceTimestamp != 0) != row.source || (dv.ServerTimestamp != 0) != row.server {
					t.Errorf("%v %s with source %v, server %v", row.timestamps, what, dv.SourceTimestamp, dv.ServerTimestamp)
				}
			}
		}
		sub := subscribe(s, 100)
		for _, bad := range []ua.TimestampsToReturn{4, 99, -1} {
			expect(t, "Read", s.Result(&ua.ReadRequest{
				TimestampsToReturn: bad, NodesToRead: []ua.ReadValueID{valueOf(w.node("v"))},
			}), ua.BadTimestampsToReturnInvalid)
			expect(t, "CreateMonitoredItems", s.Result(&ua.CreateMonitoredItemsRequest{
				SubscriptionID: sub, TimestampsToReturn: bad, ItemsToCreate: []ua.MonitoredItemCreateRequest{monitor(w.node("v"), 1)},
			}), ua.BadTimestampsToReturnInvalid)
			expect(t, "ModifyMonitoredItems", s.Result(&ua.ModifyMonitoredItemsRequest{
				SubscriptionID: sub, TimestampsToReturn: bad, ItemsToModify: []ua.MonitoredItemModifyRequest{{MonitoredItemID: 1}},
			}), ua.BadTimestampsToReturnInvalid)
		}
	})
}

// Unknown ids are answered one by one (Part 4, 5.13 and 5.14). Case C6: servers
// that looked up without checking went down.
func TestCaseC06_UnknownIds(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		w.variable("v", int32(1))
		sub := subscribe(s, 100)
		known := watch(t, s, sub, monitor(w.node("v"), 1))[0]
		for _, unknown := range []uint32{0, known + 1000, math.MaxUint32} {
			ids := []uint32{unknown, known, unknown}
			want := []ua.StatusCode{ua.BadMonitoredItemIDInvalid, ua.Good, ua.BadMonitoredItemIDInvalid}
			mode := rawpeer.Do[*ua.SetMonitoringModeResponse](s, &ua.SetMonitoringModeRequest{
				SubscriptionID: sub, MonitoringMode: ua.MonitoringModeReporting, MonitoredItemIDs: ids,
			})
			if !slices.Equal(mode.Results, want) {
				t.Errorf("SetMonitoringMode: %v", mode.Results)
			}
			modify := &ua.ModifyMonitoredItemsRequest{SubscriptionID: sub}
			for _, id := range ids {
				modify.ItemsToModify = append(modify.ItemsToModify, ua.MonitoredItemModifyRequest{
					MonitoredItemID: id, RequestedParameters: ua.MonitoringParameters{ClientHandle: 1},
				})
			}
			for i, r := range rawpeer.Do[*ua.ModifyMonitoredItemsResponse](s, modify).Results {
				expect(t, "ModifyMonitoredItems", r.StatusCode, want[i])
			}
			deleted := rawpeer.Do[*ua.DeleteMonitoredItemsResponse](s, &ua.DeleteMonitoredItemsRequest{
				SubscriptionID: sub, MonitoredItemIDs: []uint32{unknown, known, known},
			})
			if want := []ua.StatusCode{ua.BadMonitoredItemIDInvalid, ua.Good, ua.BadMonitoredItemIDInvalid}; !slices.Equal(deleted.Results, want) {
				t.Errorf("DeleteMonitoredItems: %v", deleted.Results)
			}
			known = watch(t, s, sub, monitor(w.node("v"), 1))[0]
		}
		for _, unknown := range []uint32{0, sub + 1, sub ^ 0x8000_0000} {
			for _, req := range []ua.Request{
				&ua.SetMonitoringModeRequest{SubscriptionID: unknown, MonitoredItemIDs: []uint32{1}},
				&ua.ModifyMonitoredItemsRequest{SubscriptionID: unknown, ItemsToModify: make([]ua.MonitoredItemModifyRequest, 1)},
				&ua.DeleteMonitoredItemsRequest{SubscriptionID: unknown, MonitoredItemIDs: []uint32{1}},
				&ua.RepublishRequest{SubscriptionID: unknown, RetransmitSequenceNumber: 1},
				&ua.ModifySubscriptionRequest{SubscriptionID: unknown},
			} {
				expect(t, fmt.Sprintf("%T", req), s.Result(req), ua.BadSubscriptionIDInvalid)
			}
			transfer := rawpeer.Do[*ua.TransferSubscriptionsResponse](s, &ua.TransferSubscriptionsRequest{SubscriptionIDs: []uint32{unknown}})
			expect(t, "TransferSubscriptions", transfer.Results[0].StatusCode, ua.BadSubscriptionIDInvalid)
		}
		expect(t, "Republish of an unknown number",
			s.Result(&ua.RepublishRequest{SubscriptionID: sub, RetransmitSequenceNumber: 999}), ua.BadMessageNotAvailable)
		readValue(s, w.node("v")) // the server lives
	})
}

// deadband returns an item with an absolute deadband.
func deadband(node ua.NodeID, limit float64) ua.MonitoredItemCreateRequest {
	item := monitor(node, 1)
	item.RequestedParameters.QueueSize = 100
	item.RequestedParameters.Filter = ua.ObjectOf(&ua.DataChangeFilter{
		Trigger: ua.DataChangeTriggerStatusValue, DeadbandType: uint32(ua.DeadbandTypeAbsolute), DeadbandValue: limit,
	})
	return item
}

// A change is reported when the absolute value of its difference to the last
// reported value exceeds the deadband; of arrays when that of any element does
// (Part 4, 7.22.2). Case C10: 5 after 7 was 4294967294 apart for servers that
// subtracted in UInt32, and NaN stopped the reports of others.
func TestCaseC10_AbsoluteDeadband(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	rows := []struct {
		name   string
		limit  float64
		values []any
		want   []string
	}{
		{"UInt32", 1, []any{uint32(7), uint32(5), uint32(6), uint32(4), uint32(3), uint32(0)}, []string{"7", "5", "3", "0"}},
		{"UInt32 from end to end", 4294967294, []any{uint32(0), uint32(math.MaxUint32), uint32(1)}, []string{"0", "4294967295"}},
		{"Int64 from end to end", 1, []any{int64(math.MinInt64), int64(math.MaxInt64), int64(math.MaxInt64 - 1)}, []string{"-9223372036854775808", "9223372036854775807"}},
		{"Double with NaN", 1, []any{1.0, nan, nan, 1.5, 2.0, 3.0}, []string{"1", "NaN", "1.5", "3"}},
		{"Double with Inf", 1, []any{1.0, inf, inf, 1.0}, []string{"1", "+Inf", "1"}},
		{
			"array", 1,
			[]any{[]uint32{7, 7}, []uint32{7, 6}, []uint32{7, 5}, []uint32{6, 4}, []uint32{6, 4, 0}},
			[]string{"[7 7]", "[7 5]", "[6 4 0]"},
		},
	}
	inTime(t, func(t *testing.T, w *world) {
		for _, row := range rows {
			s := w.session()
			v := w.variable(row.name, row.values[0])
			sub := subscribe(s, 100)
			watch(t, s, sub, deadband(w.node(row.name), row.limit))
			got := values(changes(t, publish(s)))
			for _, value := range row.values[1:] {
				v.Store(ua.DataValue{Value: variant(t, value)})
			}
			got = append(got, values(changes(t, publish(s)))...)
			if !slices.Equal(got, row.want) {
				t.Errorf("%s: reported %v, want %v", row.name, got, row.want)
			}
		}
	})
}

// A status change passes any deadband (Part 4, 7.22.2).
func TestAStatusChangePassesTheDeadband(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		v := w.variable("v", 1.0)
		sub := subscribe(s, 100)
		watch(t, s, sub, deadband(w.node("v"), 100))
		publish(s)
		for _, status := range []ua.StatusCode{ua.UncertainLastUsableValue, ua.BadSensorFailure, ua.Good} {
			v.Store(ua.DataValue{Value: ua.VariantOf(1.5), Status: status})
			list := changes(t, publish(s))
			if len(list) != 1 || list[0].Value.Status != status {
				t.Errorf("%v: reported %v", status, list)
			}
		}
	})
}

// Items hold no goroutine, whatever their sampling intervals are, and deleting
// them frees all. Case C13: servers with a timer or a thread for each sampling
// interval ran out of both.
func TestCaseC13_TenThousandSamplingIntervals(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		const items = 10_000
		s := w.session()
		w.variable("memory", 1.0)
		w.add("polled", addrspace.NodeSpec{
			Class: ua.NodeClassVariable, Value: ua.VariantOf(1.0),
			Source: &addrspace.Source{Read: func(context.Context) (ua.DataValue, error) {
				return ua.DataValue{Value: ua.VariantOf(2.0)}, nil
			}},
		})
		for _, node := range []string{"memory", "polled"} {
			sub := subscribe(s, 1000)
			// What works in the first place is there before counting.
			rawpeer.Do[*ua.DeleteMonitoredItemsResponse](s, &ua.DeleteMonitoredItemsRequest{
				SubscriptionID: sub, MonitoredItemIDs: watch(t, s, sub, monitor(w.node(node), 0)),
			})
			synctest.Wait()
			before := runtime.NumGoroutine()
			requests := make([]ua.MonitoredItemCreateRequest, items)
			for i := range requests {
				requests[i] = monitor(w.node(node), uint32(i))
				requests[i].RequestedParameters.SamplingInterval = 100 + float64(i)/10
			}
			ids := watch(t, s, sub, requests...)
			if n := len(changes(t, publish(s))); n == 0 {
				t.Error("nothing was reported")
			}
			synctest.Wait()
			// The worker pool may have grown, by no more than its size.
			if grown := runtime.NumGoroutine() - before; grown > 70 {
				t.Errorf("%s: %d goroutines more", node, grown)
			}
			if n := w.Stats().Subscriptions.MonitoredItems; n != items {
				t.Errorf("%d items", n)
			}
			rawpeer.Do[*ua.DeleteMonitoredItemsResponse](s, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: ids})
			rawpeer.Do[*ua.DeleteSubscriptionsResponse](s, &ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{sub}})
			if n := w.Stats().Subscriptions.MonitoredItems; n != 0 {
				t.Errorf("%d items are left", n)
			}
			if n := w.Space().Node(w.node(node)).Variable().Watchers(); n != 0 {
				t.Errorf("%d watchers are left", n)
			}
			time.Sleep(time.Minute) // idle workers end
			if after := runtime.NumGoroutine(); after > before {
				t.Errorf("%s: %d goroutines before, %d after", node, before, after)
			}
		}
	})
}

// The items of a node that is deleted say so once (Part 4, 5.13.1.6). Case C18:
// servers went on reporting the last value, or repeated the bad status each cycle.
func TestCaseC18_ADeletedNodeIsReportedOnce(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		w.variable("v", int32(1))
		w.variable("other", int32(1))
		sub := subscribe(s, 100)
		watch(t, s, sub, monitor(w.node("v"), 1), monitor(w.node("other"), 2))
		publish(s)
		if err := w.Space().RemoveNode(w.node("v")); err != nil {
			t.Fatal(err)
		}
		list := changes(t, publish(s))
		if len(list) != 1 || list[0].ClientHandle != 1 || list[0].Value.Status != ua.BadNodeIDUnknown {
			t.Fatalf("reported %+v", list)
		}
		for start := time.Now(); time.Since(start) < 5*time.Second; {
			if list := changes(t, publish(s)); len(list) > 0 {
				t.Fatalf("later %+v", list)
			}
		}
		// The node comes back under its id: the item is of the old one.
		w.variable("v", int32(2))
		expect(t, "write", writeValue(t, s, w.node("other"), int32(2)), ua.Good)
		if list := changes(t, publish(s)); len(list) != 1 || list[0].ClientHandle != 2 {
			t.Errorf("reported %+v", list)
		}
	})
}
