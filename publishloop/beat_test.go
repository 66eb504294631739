package publishloop

import (
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// beating returns the subscriptions of each beat of an interval.
func (w *world) beating(interval time.Duration) (sizes []int) {
	w.m.beats.mu.Lock()
	defer w.m.beats.mu.Unlock()
	for _, b := range w.m.beats.byInterval[interval] {
		sizes = append(sizes, len(b.members))
	}
	return sizes
}

// TestBeatsJoin: the first cycle of each subscription is as long as its interval
// says, or an eighth shorter; then all of one interval end their cycles together.
func TestBeatsJoin(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		const interval = 400 * time.Millisecond
		created := []time.Duration{0, 30 * time.Millisecond, 130 * time.Millisecond, 300 * time.Millisecond}
		first := []time.Duration{400 * time.Millisecond, 400 * time.Millisecond, 530 * time.Millisecond, 700 * time.Millisecond}
		var clients []*client
		for i, at := range created {
			w.at(at)
			c := w.client()
			defer c.close()
			c.subscribe(interval, counting(30, 1, 0)) // a message in each cycle
			for range 10 {
				c.publish()
			}
			clients = append(clients, c)
			if i == 1 && len(w.beating(interval)) != 1 {
				t.Errorf("beats of %v, want one", w.beating(interval))
			}
		}
		other := w.client()
		defer other.close()
		other.subscribe(interval / 2)
		w.at(2010 * time.Millisecond)
		if got := w.group.Running()["subscription"]; got != 2 {
			t.Errorf("%d goroutines for two intervals", got)
		}
		for i, c := range clients {
			answers := c.ch.take()
			if len(answers) < 4 || answers[0].at != first[i] {
				t.Fatalf("subscription %d: first of %d messages after %v, want %v", i, len(answers), answers[0].at, first[i])
			}
			for k := 1; k < len(answers); k++ {
				gap := answers[k].at - answers[k-1].at
				if gap > interval || k > 1 && gap != interval {
					t.Errorf("subscription %d: cycle %d took %v", i, k, gap)
				}
			}
			if last := answers[len(answers)-1].at; last != 2*time.Second {
				t.Errorf("subscription %d: last message after %v", i, last)
			}
		}
	})
}

// TestBeatsAreFull: no beat has more subscriptions than it may, and those that
// end make room for others.
func TestBeatsAreFull(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		const interval = 100 * time.Millisecond
		var clients []*client
		for i := range beatSize + 8 {
			w.at(time.Duration(i) * time.Millisecond)
			c := w.client()
			defer c.close()
			c.subscribe(interval)
			clients = append(clients, c)
		}
		w.at(500 * time.Millisecond)
		if got := w.beating(interval); len(got) != 2 || got[0]+got[1] != beatSize+8 || max(got[0], got[1]) > beatSize {
			t.Errorf("beats of %v", got)
		}
		for _, c := range clients[:20] {
			c.close()
		}
		w.at(800 * time.Millisecond)
		if got := w.beating(interval); len(got) != 1 || got[0] != beatSize-12 || w.group.Running()["subscription"] != 1 {
			t.Errorf("beats of %v after %d have ended", got, 20)
		}
	})
}

// TestBeatFollowsModify: the first cycle of a new interval begins with
// ModifySubscription, and none of the old interval ends after it.
func TestBeatFollowsModify(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		id := c.subscribe(100*time.Millisecond, counting(30, 1, 0))
		for range 10 {
			c.publish()
		}
		w.at(150 * time.Millisecond)
		var resp ua.ModifySubscriptionResponse
		w.m.ModifySubscription(c.q, &ua.ModifySubscriptionRequest{
			SubscriptionID: id, RequestedPublishingInterval: 400, RequestedLifetimeCount: 30, RequestedMaxKeepAliveCount: 1,
		}, &resp)
		w.at(1000 * time.Millisecond)
		var at []time.Duration
		for _, a := range c.ch.take() {
			at = append(at, a.at/time.Millisecond)
		}
		if len(at) != 3 || at[0] != 100 || at[1] != 550 || at[2] != 950 {
			t.Errorf("messages after %d ms", at)
		}
		if n := w.group.Running()["subscription"]; n != 1 {
			t.Errorf("%d goroutines", n)
		}
	})
}

// slowly is a responder that takes its time, as an overloaded machine does.
type slowly struct {
	*channel
	delay time.Duration
}

func (s *slowly) Respond(id uint32, m Appender) error {
	time.Sleep(s.delay)
	return s.channel.Respond(id, m)
}

// TestBeatSplits: what takes long does not hold up others for long.
func TestBeatSplits(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		const interval = 100 * time.Millisecond
		work := &slowly{delay: 3 * time.Millisecond}
		var clients []*client
		for range 8 {
			c := w.client()
			defer c.close()
			c.subscribe(interval, counting(1000, 1, 0))
			clients = append(clients, c)
		}
		for round := range 20 {
			if round == 10 {
				if got := w.beating(interval); len(got) < 4 {
					t.Errorf("beats of %v while each message takes %v", got, work.delay)
				}
				work = &slowly{} // from now on there is nothing to do
			}
			for _, c := range clients {
				c.id++
				c.q.Publish(c.id, new(ua.PublishRequest), &slowly{c.ch, work.delay})
			}
			w.at(time.Duration(round+1)*interval + interval/2)
		}
		w.at(6 * time.Second)
		if got := w.beating(interval); len(got) != 1 {
			t.Errorf("beats of %v when there is nothing to do", got)
		}
		for i, c := range clients {
			answers := c.ch.take()
			if len(answers) != 20 {
				t.Errorf("subscription %d: %d messages", i, len(answers))
			}
		}
	})
}
