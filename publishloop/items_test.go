package publishloop

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

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
