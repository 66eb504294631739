package publishloop

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// TestCaseC1FirstMessageIsKeepAlive: the first message is due at the end of the
// first publishing interval, and a keep-alive when there is no data.
func TestCaseC1FirstMessageIsKeepAlive(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(500 * time.Millisecond)
		id := c.publish()
		w.at(499 * time.Millisecond)
		c.none()
		w.at(500 * time.Millisecond)
		a := c.one()
		if a.request != id || a.resp.SubscriptionID != sub || a.resp.NotificationMessage.SequenceNumber != 1 ||
			len(a.resp.NotificationMessage.NotificationData) != 0 || a.resp.MoreNotifications || len(a.resp.AvailableSequenceNumbers) != 0 ||
			a.resp.ResponseHeader.RequestHandle != 1000+id {
			t.Errorf("%+v", a)
		}
		if at := a.resp.NotificationMessage.PublishTime.Time().Sub(w.start); at != 500*time.Millisecond {
			t.Errorf("published after %v", at)
		}
	})
}

// TestCaseC2KeepAliveEachCycle: MaxKeepAliveCount 1 is one keep-alive per cycle.
func TestCaseC2KeepAliveEachCycle(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		c.subscribe(time.Second, counting(3, 1, 0))
		c.publish()
		c.publish()
		w.at(1500 * time.Millisecond)
		c.one()
		w.at(2500 * time.Millisecond)
		if a := c.one(); a.at != 2*time.Second || a.resp.NotificationMessage.SequenceNumber != 1 {
			t.Errorf("%+v", a)
		}
	})
}

// TestCaseC3MoreNotifications: one notification in each message, more items than
// the session has tickets; MoreNotifications is true on all but the last.
func TestCaseC3MoreNotifications(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100*time.Millisecond, counting(0, 0, 1))
		const items = 30
		for i := range uint32(items) {
			c.monitor(sub, w.variable(string(rune('A'+i)), int32(i)), i)
		}
		for range 10 {
			c.publish()
		}
		w.at(100 * time.Millisecond)
		got := c.ch.take()
		if len(got) != 10 {
			t.Fatalf("%d answers at the first tick", len(got))
		}
		for len(got) < items {
			c.publish()
			got = append(got, c.one()) // at once, not at the next tick
		}
		if at := got[items-1].at; at != 100*time.Millisecond {
			t.Errorf("the last message left after %v", at)
		}
		for i := range got {
			ch := got[i].changes()
			if len(ch) != 1 || ch[0].ClientHandle != uint32(i) || got[i].resp.NotificationMessage.SequenceNumber != uint32(i+1) ||
				got[i].resp.MoreNotifications != (i < items-1) {
				t.Fatalf("message %d: %+v", i, got[i])
			}
		}
		c.publish()
		c.none()
	})
}

// TestCaseC6UnknownIDs: every operation on something unknown has its own code,
// and the rest of the request is served.
func TestCaseC6UnknownIDs(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		item := c.monitor(sub, w.variable("v", 1.0), 1)

		var del ua.DeleteMonitoredItemsResponse
		if code := w.m.DeleteMonitoredItems(c.q, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub + 1, MonitoredItemIDs: []uint32{item}}, &del); code != ua.BadSubscriptionIDInvalid {
			t.Error(code)
		}
		var mod ua.ModifyMonitoredItemsResponse
		if code := w.m.ModifyMonitoredItems(c.q, &ua.ModifyMonitoredItemsRequest{
			SubscriptionID: sub, ItemsToModify: []ua.MonitoredItemModifyRequest{{MonitoredItemID: item + 7}, {MonitoredItemID: item}},
		}, &mod); code != ua.Good || mod.Results[0].StatusCode != ua.BadMonitoredItemIDInvalid || mod.Results[1].StatusCode != ua.Good {
			t.Error(code, mod.Results)
		}
		var set ua.SetMonitoringModeResponse
		if code := w.m.SetMonitoringMode(c.q, &ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{0, item, math.MaxUint32}}, &set); code != ua.Good ||
			!reflect.DeepEqual(set.Results, []ua.StatusCode{ua.BadMonitoredItemIDInvalid, ua.Good, ua.BadMonitoredItemIDInvalid}) {
			t.Error(code, set.Results)
		}
		if code := w.m.SetMonitoringMode(c.q, &ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoringMode: 3, MonitoredItemIDs: []uint32{item}}, &set); code != ua.BadMonitoringModeInvalid {
			t.Error(code)
		}
		if code := w.m.DeleteMonitoredItems(c.q, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{item, item, 99}}, &del); code != ua.Good ||
			!reflect.DeepEqual(del.Results, []ua.StatusCode{ua.Good, ua.BadMonitoredItemIDInvalid, ua.BadMonitoredItemIDInvalid}) {
			t.Error(code, del.Results)
		}
		if _, code := w.m.AppendRepublish(nil, c.q, sub, 4711); code != ua.BadMessageNotAvailable {
			t.Error(code)
		}
		if _, code := w.m.AppendRepublish(nil, c.q, sub+9, 1); code != ua.BadSubscriptionIDInvalid {
			t.Error(code)
		}
		var transfer ua.TransferSubscriptionsResponse
		if code := w.m.TransferSubscriptions(c.q, &ua.TransferSubscriptionsRequest{SubscriptionIDs: []uint32{sub + 1, sub}}, &transfer); code != ua.Good ||
			transfer.Results[0].StatusCode != ua.BadSubscriptionIDInvalid || transfer.Results[1].StatusCode != ua.Good {
			t.Error(code, transfer.Results)
		}
		var ds ua.DeleteSubscriptionsResponse
		if code := w.m.DeleteSubscriptions(c.q, &ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{sub, sub}}, &ds); code != ua.Good ||
			!reflect.DeepEqual(ds.Results, []ua.StatusCode{ua.Good, ua.BadSubscriptionIDInvalid}) {
			t.Error(code, ds.Results)
		}
		for name, code := range map[string]ua.StatusCode{
			"DeleteSubscriptions":   w.m.DeleteSubscriptions(c.q, &ua.DeleteSubscriptionsRequest{}, &ds),
			"SetPublishingMode":     w.m.SetPublishingMode(c.q, &ua.SetPublishingModeRequest{}, &ua.SetPublishingModeResponse{}),
			"TransferSubscriptions": w.m.TransferSubscriptions(c.q, &ua.TransferSubscriptionsRequest{}, &transfer),
			"CreateMonitoredItems":  w.m.CreateMonitoredItems(c.q, &ua.CreateMonitoredItemsRequest{}, &ua.CreateMonitoredItemsResponse{}),
			"ModifyMonitoredItems":  w.m.ModifyMonitoredItems(c.q, &ua.ModifyMonitoredItemsRequest{}, &mod),
			"SetMonitoringMode":     w.m.SetMonitoringMode(c.q, &ua.SetMonitoringModeRequest{}, &set),
			"DeleteMonitoredItems":  w.m.DeleteMonitoredItems(c.q, &ua.DeleteMonitoredItemsRequest{}, &del),
			"SetTriggering":         w.m.SetTriggering(c.q, &ua.SetTriggeringRequest{}, &ua.SetTriggeringResponse{}),
		} {
			if code != ua.BadNothingToDo {
				t.Errorf("empty %s: %v", name, code)
			}
		}
	})
}

// TestCaseC7OddIntervals creates subscriptions with what real clients send.
func TestCaseC7OddIntervals(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		for _, interval := range []float64{0, 0.4, math.NaN(), -1, math.Inf(1), math.Inf(-1), 1e300} {
			for _, count := range []uint32{0, 1, math.MaxUint32} {
				var resp ua.CreateSubscriptionResponse
				code := w.m.CreateSubscription(c.q, &ua.CreateSubscriptionRequest{
					RequestedPublishingInterval: interval, RequestedLifetimeCount: count, RequestedMaxKeepAliveCount: count,
				}, &resp)
				if code != ua.Good || !(resp.RevisedPublishingInterval >= 10) || resp.RevisedPublishingInterval > 15*60_000 ||
					resp.RevisedMaxKeepAliveCount == 0 || resp.RevisedLifetimeCount < 3*resp.RevisedMaxKeepAliveCount {
					t.Errorf("%v, %d: %v, %+v", interval, count, code, resp)
				}
				var mod ua.ModifySubscriptionResponse
				if code := w.m.ModifySubscription(c.q, &ua.ModifySubscriptionRequest{
					SubscriptionID: resp.SubscriptionID, RequestedPublishingInterval: interval, RequestedLifetimeCount: count, RequestedMaxKeepAliveCount: count,
				}, &mod); code != ua.Good || mod.RevisedPublishingInterval != resp.RevisedPublishingInterval {
					t.Errorf("modify %v, %d: %v, %+v", interval, count, code, mod)
				}
			}
		}
		time.Sleep(2 * time.Second) // the timers live
	})
}

// TestCaseC8SubscriptionIDs: ids never collide, are not used again, and differ
// from one server to the next.
func TestCaseC8SubscriptionIDs(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		a, b := c.subscribe(time.Second), c.subscribe(time.Second)
		if !w.m.delete(w.m.Subscriptions()[0], nil) {
			t.Error("not deleted")
		}
		d := c.subscribe(time.Second)
		if a == b || b == d || a == d || a == 0 || b == 0 || d == 0 {
			t.Errorf("ids %d, %d, %d", a, b, d)
		}
		first := make(map[uint32]bool)
		for range 8 {
			m := New(Config{Group: w.group})
			first[m.lastID] = true
		}
		if len(first) < 7 {
			t.Errorf("first ids of 8 servers: %v", first)
		}
		// The id after 4,294,967,295 is not 0.
		w.m.lastID = math.MaxUint32
		if id := c.subscribe(time.Second); id == 0 {
			t.Error("id 0")
		}
	})
}

// TestLifetimeExpires: without a sign of the client the subscription ends, and
// the client hears of it with its next Publish (Part 4, 5.14.1.1).
func TestLifetimeExpires(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second, counting(3, 1, 0))
		w.at(2500 * time.Millisecond)
		if w.m.Stats().Subscriptions != 1 {
			t.Fatal("ended early")
		}
		w.at(3 * time.Second)
		if s := w.m.Stats(); s.Subscriptions != 0 || s.SubscriptionsExpired != 1 {
			t.Fatalf("%+v", s)
		}
		c.publish()
		a := c.one()
		if status, ok := a.status(); !ok || status != ua.BadTimeout || a.resp.SubscriptionID != sub || a.resp.NotificationMessage.SequenceNumber != 1 {
			t.Errorf("%+v", a)
		}
		c.publish()
		if a := c.one(); a.fault != ua.BadNoSubscription {
			t.Errorf("%+v", a)
		}
	})
}

// TestAnyServiceCallIsASignOfLife: a call that names the subscription restarts
// its lifetime (Part 4, 5.14.1.2).
func TestAnyServiceCallIsASignOfLife(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second, counting(3, 1, 0))
		for i := 1; i < 10; i++ {
			w.at(time.Duration(i)*2*time.Second + time.Millisecond)
			w.m.AppendRepublish(nil, c.q, sub, 1)
		}
		if w.m.Stats().Subscriptions != 1 {
			t.Error("ended")
		}
	})
}

// TestCyclesDoNotDrift: the timer keeps to the grid of the subscription's creation.
func TestCyclesDoNotDrift(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		w.at(123 * time.Millisecond)
		c.subscribe(100*time.Millisecond, counting(3, 1, 0))
		for i := 1; i <= 200; i++ {
			c.publish()
			w.at(123*time.Millisecond + time.Duration(i)*100*time.Millisecond)
			if a := c.one(); a.at != time.Since(w.start) {
				t.Fatalf("cycle %d at %v", i, a.at)
			}
		}
	})
}

// TestModifyTakesEffectAtOnce: an hour's interval that is made short does not
// wait for the hour.
func TestModifyTakesEffectAtOnce(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(10 * time.Minute)
		c.publish()
		w.at(time.Second)
		var resp ua.ModifySubscriptionResponse
		w.m.ModifySubscription(c.q, &ua.ModifySubscriptionRequest{SubscriptionID: sub, RequestedPublishingInterval: 100, RequestedMaxKeepAliveCount: 1}, &resp)
		w.at(1100 * time.Millisecond)
		if a := c.one(); a.at != 1100*time.Millisecond {
			t.Errorf("at %v", a.at)
		}
	})
}

// TestRepublishAndAcknowledge keeps a message until it is acknowledged, and
// delivers the same bytes again (Part 4, 5.14.6).
func TestRepublishAndAcknowledge(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", int32(0))
		c.monitor(sub, v, 1)
		for i := range int32(3) {
			set(v, i+1)
			c.publish()
			w.at(time.Duration(i+1) * 100 * time.Millisecond)
		}
		got := c.ch.take()
		if len(got) != 3 || !reflect.DeepEqual(got[2].resp.AvailableSequenceNumbers, []uint32{1, 2, 3}) {
			t.Fatalf("%+v", got)
		}
		body, code := w.m.AppendRepublish(nil, c.q, sub, 2)
		if code != ua.Good {
			t.Fatal(code)
		}
		var again ua.NotificationMessage
		d := codec.NewDecoder(body, nil)
		again.DecodeFrom(d)
		if d.Err() != nil || d.Remaining() != 0 || !reflect.DeepEqual(again.AppendTo(nil), got[1].resp.NotificationMessage.AppendTo(nil)) {
			t.Errorf("%+v, and first %+v", again, got[1].resp.NotificationMessage)
		}
		set(v, int32(9))
		c.publish(ua.SubscriptionAcknowledgement{SubscriptionID: sub, SequenceNumber: 1}, ua.SubscriptionAcknowledgement{SubscriptionID: sub, SequenceNumber: 77},
			ua.SubscriptionAcknowledgement{SubscriptionID: sub + 1, SequenceNumber: 2}, ua.SubscriptionAcknowledgement{SubscriptionID: sub, SequenceNumber: 2})
		w.at(400 * time.Millisecond)
		a := c.one()
		if want := []ua.StatusCode{ua.Good, ua.BadSequenceNumberUnknown, ua.BadSubscriptionIDInvalid, ua.Good}; !reflect.DeepEqual(a.resp.Results, want) {
			t.Errorf("results %v", a.resp.Results)
		}
		if !reflect.DeepEqual(a.resp.AvailableSequenceNumbers, []uint32{3, 4}) {
			t.Errorf("available %v", a.resp.AvailableSequenceNumbers)
		}
		if _, code := w.m.AppendRepublish(nil, c.q, sub, 1); code != ua.BadMessageNotAvailable {
			t.Error(code)
		}
	})
}

// TestCaseC12ForeignSequenceNumbers: acknowledging or republishing for another
// session's subscription is refused and removes nothing.
func TestCaseC12ForeignSequenceNumbers(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		owner, thief := w.client(), w.client()
		defer owner.close()
		defer thief.close()
		sub := owner.subscribe(100 * time.Millisecond)
		owner.monitor(sub, w.variable("v", int32(0)), 1)
		owner.publish()
		thief.subscribe(100 * time.Millisecond)
		thief.publish(ua.SubscriptionAcknowledgement{SubscriptionID: sub, SequenceNumber: 1})
		w.at(100 * time.Millisecond)
		owner.one()
		thief.publish(ua.SubscriptionAcknowledgement{SubscriptionID: sub, SequenceNumber: 1})
		if _, code := w.m.AppendRepublish(nil, thief.q, sub, 1); code != ua.BadSubscriptionIDInvalid {
			t.Error(code)
		}
		if a := thief.ch.take(); len(a) != 1 || !reflect.DeepEqual(a[0].resp.Results, []ua.StatusCode{ua.BadSubscriptionIDInvalid}) {
			t.Errorf("%+v", a)
		}
		if body, code := w.m.AppendRepublish(nil, owner.q, sub, 1); code != ua.Good || len(body) == 0 {
			t.Error(code)
		}
	})
}

// TestRetransmissionIsBounded: a client that never acknowledges costs a bounded
// number of messages and bytes. Threat V9.
func TestRetransmissionIsBounded(t *testing.T) {
	run(t, Limits{RetransmissionBytes: 12_000}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(10 * time.Millisecond)
		v := w.variable("v", int32(0))
		c.monitor(sub, v, 1)
		var last answer
		for i := range int32(200) {
			set(v, i+1)
			c.publish()
			w.at(time.Duration(i+1) * 10 * time.Millisecond)
			last = c.one()
		}
		if n := len(last.resp.AvailableSequenceNumbers); n != 40 { // twice the 20 Publish requests
			t.Errorf("%d messages are kept", n)
		}
		if last.resp.AvailableSequenceNumbers[39] != 200 {
			t.Errorf("%v", last.resp.AvailableSequenceNumbers)
		}
		b := w.variable("b", make([]byte, 1000))
		c.monitor(sub, b, 2)
		for i := range 10 {
			x := make([]byte, 1000)
			x[0] = byte(i + 1)
			set(b, x)
			c.publish()
			w.at(2*time.Second + time.Duration(i+1)*10*time.Millisecond)
			last = c.one()
		}
		if s := w.m.Stats(); s.KeptBytes > 12_000 || s.KeptBytes < 8000 {
			t.Errorf("%d bytes are kept", s.KeptBytes)
		}
	})
}

// TestPublishingDisabled holds notifications back and sends keep-alives.
func TestPublishingDisabled(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100*time.Millisecond, counting(6, 2, 0), func(r *ua.CreateSubscriptionRequest) { r.PublishingEnabled = false })
		v := w.variable("v", int32(0))
		c.monitor(sub, v, 1)
		for range 5 {
			c.publish()
		}
		w.at(100 * time.Millisecond)
		if a := c.one(); len(a.changes()) != 0 {
			t.Errorf("%+v", a)
		}
		var resp ua.SetPublishingModeResponse
		if code := w.m.SetPublishingMode(c.q, &ua.SetPublishingModeRequest{PublishingEnabled: true, SubscriptionIDs: []uint32{sub, sub + 1}}, &resp); code != ua.Good ||
			!reflect.DeepEqual(resp.Results, []ua.StatusCode{ua.Good, ua.BadSubscriptionIDInvalid}) {
			t.Error(code, resp.Results)
		}
		w.at(200 * time.Millisecond)
		if a := c.one(); !reflect.DeepEqual(a.values(), []any{int32(0)}) {
			t.Errorf("%+v", a)
		}
	})
}

// TestMessagesFitThePeer ends a message at the size that the peer takes, and
// delivers the rest with the next tickets. Threat V2.
func TestMessagesFitThePeer(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		c.ch.limit = 8192
		sub := c.subscribe(100 * time.Millisecond)
		for i := range uint32(20) {
			c.monitor(sub, w.variable(string(rune('a'+i)), make([]byte, 1500)), i)
		}
		for range 10 {
			c.publish()
		}
		w.at(100 * time.Millisecond)
		seen := 0
		got := c.ch.take()
		for i, a := range got {
			for _, ch := range a.changes() {
				if ch.ClientHandle != uint32(seen) {
					t.Fatalf("handle %d at place %d", ch.ClientHandle, seen)
				}
				seen++
			}
			if a.resp.MoreNotifications != (i < len(got)-1) || a.fault != 0 {
				t.Errorf("message %d of %d: %v", i, len(got), a.resp.MoreNotifications)
			}
		}
		if seen != 20 || len(got) != 4 {
			t.Errorf("%d values in %d messages", seen, len(got))
		}
		// A single value that is too large is refused, not the channel.
		c.monitor(sub, w.variable("huge", make([]byte, 10_000)), 99)
		w.at(200 * time.Millisecond)
		if a := c.one(); a.fault != ua.BadResponseTooLarge {
			t.Errorf("%+v", a)
		}
	})
}

// TestRetransmissionTotal: over all subscriptions; each still keeps its newest.
func TestRetransmissionTotal(t *testing.T) {
	run(t, Limits{RetransmissionTotal: 80_000}, func(w *world) {
		v := w.variable("v", make([]byte, 1000))
		var last []answer
		for i := range 10 {
			c := w.client()
			defer c.close()
			c.monitor(c.subscribe(100*time.Millisecond, counting(3000, 10, 0)), v, 1)
			for n := range 5 {
				x := make([]byte, 1000)
				x[0], x[1] = byte(i+1), byte(n)
				set(v, x)
				c.publish()
				time.Sleep(100 * time.Millisecond)
			}
			last = c.ch.take()
		}
		if n := len(last[len(last)-1].resp.AvailableSequenceNumbers); n > 2 {
			t.Errorf("the last subscription keeps %d", n)
		}
		if s := w.m.Stats(); s.KeptBytes > 124_000 {
			t.Errorf("%d bytes", s.KeptBytes)
		}
	})
}

// TestCloseEndsEverything: what is parked is answered, and no goroutine stays.
func TestCloseEndsEverything(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		c.subscribe(time.Minute)
		c.publish()
		w.m.Close()
		w.m.SessionClosed(c.q, true, ua.BadShutdown)
		if a := c.one(); a.fault != ua.BadNoSubscription {
			t.Errorf("%+v", a)
		}
	})
}
