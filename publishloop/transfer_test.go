package publishloop

import (
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

func (c *client) transfer(initial bool, subs ...uint32) []ua.TransferResult {
	c.w.Helper()
	var resp ua.TransferSubscriptionsResponse
	if code := c.w.m.TransferSubscriptions(c.q, &ua.TransferSubscriptionsRequest{SubscriptionIDs: subs, SendInitialValues: initial}, &resp); code != ua.Good {
		c.w.Fatal(code)
	}
	return resp.Results
}

// TestTransfer: the new session gets what follows, the old one is told, and what
// was kept for Republish comes along (Part 4, 5.14.7).
func TestTransfer(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		old, fresh := w.client(), w.client()
		defer old.close()
		defer fresh.close()
		sub := old.subscribe(100 * time.Millisecond)
		v := w.variable("v", int32(1))
		old.monitor(sub, v, 1)
		wants(t, "before", old.next(100*time.Millisecond), int32(1))
		old.publish()
		old.publish()
		set(v, int32(2))
		r := fresh.transfer(true, sub)
		if r[0].StatusCode != ua.Good || len(r[0].AvailableSequenceNumbers) != 1 || r[0].AvailableSequenceNumbers[0] != 1 {
			t.Errorf("%+v", r)
		}
		a := old.ch.take()
		if len(a) != 2 {
			t.Fatalf("%+v", a)
		}
		if status, ok := a[0].status(); !ok || status != ua.GoodSubscriptionTransferred || a[0].resp.SubscriptionID != sub {
			t.Errorf("%+v", a[0])
		}
		if a[1].fault != ua.BadNoSubscription {
			t.Errorf("%+v", a[1])
		}
		wants(t, "after", fresh.next(200*time.Millisecond), int32(2))
		if _, code := w.m.AppendRepublish(nil, fresh.q, sub, 1); code != ua.Good {
			t.Error(code)
		}
		if _, code := w.m.AppendRepublish(nil, old.q, sub, 1); code != ua.BadSubscriptionIDInvalid {
			t.Error(code)
		}
	})
}

// TestTransferOfAnOrphan: a subscription whose session is gone waits for its
// user, and can be late for the new session at once.
func TestTransferOfAnOrphan(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		old, fresh := w.client(), w.client()
		defer fresh.close()
		sub := old.subscribe(100 * time.Millisecond)
		v := w.variable("v", int32(1))
		old.monitor(sub, v, 1)
		wants(t, "before", old.next(100*time.Millisecond), int32(1))
		w.m.SessionClosed(old.q, false, ua.BadSessionClosed)
		set(v, int32(2))
		w.at(250 * time.Millisecond)
		if s := w.m.Stats(); s.Orphans != 1 {
			t.Errorf("%+v", s)
		}
		other := fresh.subscribe(time.Minute)
		fresh.publish()
		if r := fresh.transfer(false, sub); r[0].StatusCode != ua.Good {
			t.Errorf("%+v", r)
		}
		wants(t, "late", valuesOf(fresh.ch.take()), int32(2))
		if s := w.m.Stats(); s.Orphans != 0 || s.Subscriptions != 2 {
			t.Errorf("%+v", s)
		}
		wants(t, "initial values only when asked for", fresh.next(300*time.Millisecond))
		fresh.transfer(true, sub, other) // of its own: allowed, and tells nobody
		w.at(400 * time.Millisecond)
		wants(t, "initial values", valuesOf(fresh.ch.take()), int32(2))
	})
}

func valuesOf(answers []answer) (all []any) {
	for i := range answers {
		all = append(all, answers[i].values()...)
	}
	return all
}

// TestTransferIsForTheSameUser: threat U12.
func TestTransferIsForTheSameUser(t *testing.T) {
	anonymous := Identity{Anonymous: true, Secure: true, Application: "urn:a"}
	for _, tt := range []struct {
		name     string
		from, to Identity
		allowed  bool
	}{
		{"same user", Identity{User: "a"}, Identity{User: "a", Application: "urn:other"}, true},
		{"other user", Identity{User: "a"}, Identity{User: "b"}, false},
		{"anonymous, same application", anonymous, anonymous, true},
		{"anonymous, other application", anonymous, Identity{Anonymous: true, Secure: true, Application: "urn:b"}, false},
		{"anonymous, insecure", anonymous, Identity{Anonymous: true, Application: "urn:a"}, false},
		{"anonymous, both insecure", Identity{Anonymous: true, Application: "urn:a"}, Identity{Anonymous: true, Application: "urn:a"}, false},
		{"anonymous takes a user's", Identity{User: ""}, anonymous, false},
		{"user takes an anonymous one's", anonymous, Identity{User: "", Application: "urn:a", Secure: true}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, Limits{}, func(w *world) {
				from, to := w.client(), w.client()
				defer from.close()
				defer to.close()
				from.q.identity, to.q.identity = &tt.from, &tt.to
				sub := from.subscribe(time.Second)
				from.publish()
				want := ua.BadUserAccessDenied
				if tt.allowed {
					want = ua.Good
				}
				if r := to.transfer(true, sub); r[0].StatusCode != want {
					t.Errorf("%v", r[0].StatusCode)
				}
				if !tt.allowed {
					from.none()
				}
			})
		})
	}
}

// TestTransferRespectsTheLimit: what the new session has no room for stays.
func TestTransferRespectsTheLimit(t *testing.T) {
	run(t, Limits{SubscriptionsPerSession: 1}, func(w *world) {
		from, to := w.client(), w.client()
		defer from.close()
		defer to.close()
		sub := from.subscribe(time.Second)
		to.subscribe(time.Second)
		if r := to.transfer(false, sub); r[0].StatusCode != ua.BadTooManySubscriptions {
			t.Errorf("%+v", r)
		}
		from.publish()
		w.at(time.Second)
		from.one()
	})
}
