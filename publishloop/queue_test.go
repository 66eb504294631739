package publishloop

import (
	"reflect"
	"testing"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// TestCaseC11TimeoutHint: 0 is no time-out, and the others count from arrival on
// the server's own clock, whatever the client's says.
func TestCaseC11TimeoutHint(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		c.subscribe(10*time.Minute, counting(3, 1, 0))
		c.publishFor(0)
		b := c.publishFor(30_000)
		d := c.publishFor(10_000)
		e := c.publishFor(20_000)
		w.at(9999 * time.Millisecond)
		c.none()
		w.at(10 * time.Second)
		if a := c.one(); a.request != d || a.fault != ua.BadTimeout {
			t.Errorf("%+v", a)
		}
		w.at(20 * time.Second)
		if a := c.one(); a.request != e || a.fault != ua.BadTimeout {
			t.Errorf("%+v", a)
		}
		w.at(40 * time.Second)
		if a := c.one(); a.request != b || a.fault != ua.BadTimeout || a.at != 30*time.Second {
			t.Errorf("%+v", a)
		}
		if c.q.Len() != 1 {
			t.Errorf("%d are parked", c.q.Len())
		}
		w.at(11 * time.Minute)
		if a := c.one(); a.request != 1 || a.fault != 0 {
			t.Errorf("%+v", a)
		}
	})
}

// TestOldestIsRefused: above the limit the oldest request makes room, and the
// limit follows the number of subscriptions (Part 4, 5.14.5.1). Threat V8.
func TestOldestIsRefused(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		c.subscribe(time.Minute)
		for range 20 {
			c.publish()
		}
		c.none()
		last := c.publish()
		if a := c.one(); a.request != 1 || a.fault != ua.BadTooManyPublishRequests {
			t.Errorf("%+v", a)
		}
		for range 14 {
			c.subscribe(time.Minute)
		}
		for range 10 {
			last = c.publish() // 2 x 15 subscriptions
		}
		c.none()
		for range 100_000 {
			last = c.publish()
		}
		if a := c.ch.take(); len(a) != 100_000 || a[99_999].request != last-30 {
			t.Errorf("%d answers", len(a))
		}
		if c.q.Len() != 30 || len(c.q.tickets) > 64 {
			t.Errorf("%d parked in %d places", c.q.Len(), len(c.q.tickets))
		}
	})
}

// TestNoSubscription: only a session without subscriptions is told so, the
// parked requests included when the last one goes.
func TestNoSubscription(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c, other := w.client(), w.client()
		defer c.close()
		defer other.close()
		other.subscribe(time.Second)
		c.publish()
		if a := c.one(); a.fault != ua.BadNoSubscription {
			t.Errorf("%+v", a)
		}
		x, y := c.subscribe(time.Minute), c.subscribe(time.Minute)
		c.publish()
		c.publish()
		var resp ua.DeleteSubscriptionsResponse
		w.m.DeleteSubscriptions(c.q, &ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{x}}, &resp)
		c.none()
		w.m.DeleteSubscriptions(c.q, &ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{y}}, &resp)
		if a := c.ch.take(); len(a) != 2 || a[0].fault != ua.BadNoSubscription || a[1].fault != ua.BadNoSubscription {
			t.Errorf("%+v", a)
		}
	})
}

// TestPriorityAmongLate: the highest priority first, and among equals the one
// that waits longest (Part 4, 5.14.2.2).
func TestPriorityAmongLate(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		priority := func(p uint8) func(*ua.CreateSubscriptionRequest) {
			return func(r *ua.CreateSubscriptionRequest) { r.Priority = p }
		}
		low1 := c.subscribe(100*time.Millisecond, priority(1))
		low2 := c.subscribe(110*time.Millisecond, priority(1))
		high := c.subscribe(120*time.Millisecond, priority(200))
		w.at(130 * time.Millisecond) // all are late for their first message
		var order []uint32
		for range 3 {
			c.publish()
			a := c.one()
			order = append(order, a.resp.SubscriptionID)
		}
		if !reflect.DeepEqual(order, []uint32{high, low1, low2}) {
			t.Errorf("%v, of high %d, low %d and %d", order, high, low1, low2)
		}
	})
}

// TestTakingTurns: with one request in flight, no subscription of the same
// priority starves.
func TestTakingTurns(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		served := make(map[uint32]int)
		var vars []*addrspace.Variable
		for i := range 4 {
			vars = append(vars, w.variable(string(rune('a'+i)), int32(0)))
			c.monitor(c.subscribe(10*time.Millisecond), vars[i], 1)
		}
		for i := range 400 {
			for _, v := range vars {
				set(v, int32(i+1))
			}
			c.publish()
			w.at(time.Duration(i+1) * 10 * time.Millisecond)
			for _, a := range c.ch.take() {
				served[a.resp.SubscriptionID]++
			}
		}
		for id, n := range served {
			if n < 98 {
				t.Errorf("subscription %d was served %d times of 400: %v", id, n, served)
			}
		}
		if len(served) != 4 {
			t.Errorf("%v", served)
		}
	})
}

// TestDeadChannel: requests of a channel that ended are forgotten; a message that
// met a dead channel stays for Republish.
func TestDeadChannel(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		c.monitor(sub, w.variable("v", int32(5)), 1)
		c.publish()
		old := c.ch
		old.die()
		w.at(100 * time.Millisecond)
		if c.q.Len() != 0 {
			t.Errorf("%d parked", c.q.Len())
		}
		body, code := w.m.AppendRepublish(nil, c.q, sub, 1)
		if code != ua.Good || len(body) == 0 {
			t.Error(code)
		}

		c.ch = &channel{w: w}
		c.publish()
		fresh := c.ch
		c.ch = old
		c.publish()
		c.q.Drop(old)
		if c.q.Len() != 1 {
			t.Errorf("%d parked", c.q.Len())
		}
		c.ch = fresh
		w.at(1100 * time.Millisecond)
		c.one()
		if s := w.m.Stats(); s.PublishDropped != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// TestCancel answers the parked requests with a handle (Part 4, 5.7.5).
func TestCancel(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		c.subscribe(time.Minute)
		c.publish()
		id := c.publish()
		c.publish()
		if n := c.q.Cancel(1000 + id); n != 1 {
			t.Errorf("%d cancelled", n)
		}
		if a := c.one(); a.request != id || a.fault != ua.BadRequestCancelledByClient {
			t.Errorf("%+v", a)
		}
		if n := c.q.Cancel(4711); n != 0 || c.q.Len() != 2 {
			t.Errorf("%d cancelled, %d parked", n, c.q.Len())
		}
	})
}

// TestSessionClosedAnswersParked: closing a session answers what is parked, and
// what comes after.
func TestSessionClosedAnswersParked(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		c.subscribe(time.Minute)
		c.publish()
		w.m.SessionClosed(c.q, true, ua.BadSessionClosed)
		w.m.SessionClosed(c.q, true, ua.BadSessionClosed)
		c.publish()
		if a := c.ch.take(); len(a) != 2 || a[0].fault != ua.BadSessionClosed || a[1].fault != ua.BadSessionClosed {
			t.Errorf("%+v", a)
		}
		var resp ua.CreateSubscriptionResponse
		if code := w.m.CreateSubscription(c.q, &ua.CreateSubscriptionRequest{}, &resp); code != ua.BadSessionClosed {
			t.Error(code)
		}
	})
}

// TestTooManyAcknowledgements: a million of them are refused as one. Threat V9.
func TestTooManyAcknowledgements(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		c.subscribe(time.Minute)
		c.publish(make([]ua.SubscriptionAcknowledgement, 10_001)...)
		if a := c.one(); a.fault != ua.BadTooManyOperations {
			t.Errorf("%+v", a)
		}
	})
}

// TestSubscriptionLimits: quotas of a session and of the server, and that they
// come back. Threat V7.
func TestSubscriptionLimits(t *testing.T) {
	run(t, Limits{Subscriptions: 5, SubscriptionsPerSession: 3, Orphans: 2}, func(w *world) {
		create := func(c *client) ua.StatusCode {
			return w.m.CreateSubscription(c.q, &ua.CreateSubscriptionRequest{RequestedPublishingInterval: 1000}, &ua.CreateSubscriptionResponse{})
		}
		a, b := w.client(), w.client()
		defer b.close()
		var codes []ua.StatusCode
		for range 4 {
			codes = append(codes, create(a))
		}
		for range 3 {
			codes = append(codes, create(b))
		}
		want := []ua.StatusCode{ua.Good, ua.Good, ua.Good, ua.BadTooManySubscriptions, ua.Good, ua.Good, ua.BadTooManySubscriptions}
		if !reflect.DeepEqual(codes, want) {
			t.Fatal(codes)
		}
		w.m.SessionClosed(a.q, false, ua.BadSessionClosed)
		if s := w.m.Stats(); s.Orphans != 2 || s.Subscriptions != 4 {
			t.Errorf("%+v", s)
		}
		time.Sleep(10 * time.Second) // lifetime 3 x 1 x 1 s
		if s := w.m.Stats(); s.Orphans != 0 || s.Subscriptions != 0 {
			t.Errorf("%+v", s)
		}
	})
}
