package conformance

import (
	"math"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// The first message of a subscription is due at the end of its first publishing
// interval, a keep-alive when there is nothing else; its number is the one that
// the next notification will have (Part 4, 5.14.1.1). Case C1: servers that
// counted the keep-alives first answered after ten intervals.
func TestCaseC01_FirstMessageAtTheEndOfTheFirstInterval(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		start := time.Now()
		sub := subscribe(s, 500)
		resp := publish(s)
		if took := time.Since(start); took != 500*time.Millisecond {
			t.Errorf("answered after %v", took)
		}
		m := resp.NotificationMessage
		if resp.SubscriptionID != sub || m.SequenceNumber != 1 || len(m.NotificationData) != 0 {
			t.Errorf("not a keep-alive with number 1: %+v", resp)
		}
		if len(resp.AvailableSequenceNumbers) != 0 {
			t.Errorf("a keep-alive is kept: %v", resp.AvailableSequenceNumbers)
		}
		// It did not use the number up.
		w.variable("v", int32(1))
		watch(t, s, sub, monitor(w.node("v"), 1))
		if n := publish(s).NotificationMessage.SequenceNumber; n != 1 {
			t.Errorf("the first notification has number %d", n)
		}
	})
}

// With MaxKeepAliveCount 1 every interval brings a keep-alive (Part 4,
// 5.14.2.2). Case C2: servers that followed the state table to the letter sent
// one in every second.
func TestCaseC02_KeepAliveCountOneMeansEveryInterval(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		start := time.Now()
		rawpeer.Do[*ua.CreateSubscriptionResponse](s, &ua.CreateSubscriptionRequest{
			RequestedPublishingInterval: 1000, RequestedLifetimeCount: 100, RequestedMaxKeepAliveCount: 1, PublishingEnabled: true,
		})
		waiting := []uint32{s.Start(&ua.PublishRequest{}), s.Start(&ua.PublishRequest{})}
		for cycle := 1; cycle <= 6; cycle++ {
			resp := rawpeer.Wait[*ua.PublishResponse](s, waiting[0])
			waiting = append(waiting[1:], s.Start(&ua.PublishRequest{}))
			if at := time.Since(start); at != time.Duration(cycle)*time.Second {
				t.Errorf("keep-alive %d after %v", cycle, at)
			}
			if len(resp.NotificationMessage.NotificationData) != 0 {
				t.Errorf("keep-alive %d has data", cycle)
			}
		}
	})
}

// MoreNotifications is true on all messages of a burst but the last (Part 4,
// 5.14.5.2). Case C3: servers lost the rest of a burst that was larger than
// their message queue, or said false in the middle.
func TestCaseC03_MoreNotificationsUntilTheLast(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		const items = 60 // more than the server keeps for retransmission
		s := w.session()
		sub := rawpeer.Do[*ua.CreateSubscriptionResponse](s, &ua.CreateSubscriptionRequest{
			RequestedPublishingInterval: 100, RequestedLifetimeCount: 1000, RequestedMaxKeepAliveCount: 10,
			MaxNotificationsPerPublish: 1, PublishingEnabled: true,
		}).SubscriptionID
		var requests []ua.MonitoredItemCreateRequest
		writes := &ua.WriteRequest{}
		for i := range uint32(items) {
			name := string(rune('A' + i))
			w.variable(name, int32(0))
			requests = append(requests, monitor(w.node(name), i))
			writes.NodesToWrite = append(writes.NodesToWrite, ua.WriteValue{
				NodeID: w.node(name), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.VariantOf(int32(1))},
			})
		}
		watch(t, s, sub, requests...)
		for round := range 2 {
			if round == 1 {
				rawpeer.Do[*ua.WriteResponse](s, writes)
			}
			seen := make(map[uint32]bool)
			for i := range items {
				resp := publish(s)
				list := changes(t, resp)
				if len(list) != 1 {
					t.Fatalf("round %d, message %d has %d notifications", round, i, len(list))
				}
				seen[list[0].ClientHandle] = true
				if want := i < items-1; resp.MoreNotifications != want {
					t.Errorf("round %d, message %d: MoreNotifications %v", round, i, resp.MoreNotifications)
				}
			}
			if len(seen) != items {
				t.Errorf("round %d: %d of %d items reported", round, len(seen), items)
			}
		}
	})
}

// Any publishing interval and any counts are revised, never refused, and the
// lifetime is at least three times the keep-alive count (Part 4, 5.14.2.2).
// Case C7: NaN and 1e300 have stopped timers and overflowed durations.
func TestCaseC07_ExtremeSubscriptionParametersAreRevised(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		for _, interval := range []float64{
			0, 0.4, math.NaN(), -1, math.Inf(1), math.Inf(-1), 1e300, math.SmallestNonzeroFloat64, math.MaxFloat64,
		} {
			for _, lifetime := range []uint32{0, 1, math.MaxUint32} {
				for _, keepAlive := range []uint32{0, 1, math.MaxUint32} {
					resp := rawpeer.Do[*ua.CreateSubscriptionResponse](s, &ua.CreateSubscriptionRequest{
						RequestedPublishingInterval: interval, RequestedLifetimeCount: lifetime,
						RequestedMaxKeepAliveCount: keepAlive, PublishingEnabled: true,
					})
					checkRevised(t, resp.RevisedPublishingInterval, resp.RevisedLifetimeCount, resp.RevisedMaxKeepAliveCount)
					modified := rawpeer.Do[*ua.ModifySubscriptionResponse](s, &ua.ModifySubscriptionRequest{
						SubscriptionID: resp.SubscriptionID, RequestedPublishingInterval: interval,
						RequestedLifetimeCount: lifetime, RequestedMaxKeepAliveCount: keepAlive,
					})
					checkRevised(t, modified.RevisedPublishingInterval, modified.RevisedLifetimeCount, modified.RevisedMaxKeepAliveCount)
					rawpeer.Do[*ua.DeleteSubscriptionsResponse](s, &ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{resp.SubscriptionID}})
				}
			}
		}
		// The same of sampling intervals and queue sizes.
		w.variable("v", 1.0)
		sub := subscribe(s, 100)
		for _, interval := range []float64{0, 0.4, math.NaN(), -1, math.Inf(1), math.Inf(-1), 1e300} {
			for _, size := range []uint32{0, 1, 2, math.MaxUint32} {
				item := monitor(w.node("v"), 1)
				item.RequestedParameters.SamplingInterval, item.RequestedParameters.QueueSize = interval, size
				r := rawpeer.Do[*ua.CreateMonitoredItemsResponse](s, &ua.CreateMonitoredItemsRequest{
					SubscriptionID: sub, TimestampsToReturn: ua.TimestampsToReturnBoth, ItemsToCreate: []ua.MonitoredItemCreateRequest{item},
				}).Results[0]
				if r.StatusCode != ua.Good || !(r.RevisedSamplingInterval >= 0 && r.RevisedSamplingInterval <= 86_400_000) || r.RevisedQueueSize < 1 {
					t.Errorf("sampling %v, queue %d: %+v", interval, size, r)
				}
			}
		}
	})
}

func checkRevised(t *testing.T, interval float64, lifetime, keepAlive uint32) {
	t.Helper()
	if !(interval > 0 && interval <= 86_400_000) || keepAlive < 1 || uint64(lifetime) < 3*uint64(keepAlive) {
		t.Errorf("revised to %v ms, lifetime %d, keep-alive %d", interval, lifetime, keepAlive)
	}
}

// A SubscriptionId is unique in the server (Part 4, 5.14.2.2), and the first
// cannot be guessed. Case C8: servers that numbered by the count of subscriptions
// gave an id twice.
func TestCaseC08_SubscriptionIdsNeverCollide(t *testing.T) {
	var first [2]uint32
	for i := range first {
		inTime(t, func(t *testing.T, w *world) {
			s, other := w.session(), w.session()
			a, b := subscribe(s, 100), subscribe(s, 100)
			first[i] = a
			rawpeer.Do[*ua.DeleteSubscriptionsResponse](s, &ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{a}})
			seen := map[uint32]bool{a: true, b: true}
			for range 20 {
				for _, s := range []*rawpeer.Session{s, other} {
					c := subscribe(s, 100)
					if seen[c] || c == 0 {
						t.Fatalf("id %d was given before, or is 0", c)
					}
					seen[c] = true
				}
			}
		})
	}
	if first[0] == first[1] {
		t.Errorf("two servers began with the same id %d", first[0])
	}
}

// A TimeoutHint of 0 is no time-out, and the client's clock does not matter for
// one (Part 4, 7.33). Case C11: servers compared the request's Timestamp with
// their own clock and let every Publish of a client expire at once.
func TestCaseC11_TheClientsClockDoesNotMatter(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		subscribe(s, 10_000)
		for _, shift := range []time.Duration{-time.Hour, time.Hour, -1000 * time.Hour} {
			for _, hint := range []uint32{0, 60_000, math.MaxUint32} {
				start := time.Now()
				req := &ua.PublishRequest{}
				req.RequestHeader.Timestamp = ua.DateTimeOf(start.Add(shift))
				req.RequestHeader.TimeoutHint = hint
				n := s.Start(req)
				s.Quiet(time.Second)
				rawpeer.Wait[*ua.PublishResponse](s, n)
			}
		}
		// The hint counts from the arrival, on the server's clock.
		start := time.Now()
		req := &ua.PublishRequest{}
		req.RequestHeader.Timestamp = ua.DateTimeOf(start.Add(-time.Hour))
		req.RequestHeader.TimeoutHint = 1500
		expect(t, "the hint's end", s.Result(req), ua.BadTimeout)
		if took := time.Since(start); took != 1500*time.Millisecond {
			t.Errorf("timed out after %v", took)
		}
	}, keepAliveEachCycle)
}

// keepAliveEachCycle bounds the lifetime so that the server revises a keep-alive
// count of 10 to 1 where the interval is 10 s.
func keepAliveEachCycle(c *uahive.Config) { c.Limits.Subscriptions.MaxLifetime = 40 * time.Second }

// A session acknowledges and asks again for messages of its own subscriptions
// only (Part 4, 5.14.5 and 5.14.6). Case C12: servers that kept one list for all
// sessions let one remove the messages of another.
func TestCaseC12_MessagesOfAnotherSession(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		owner, thief := w.session(), w.session()
		w.variable("v", int32(1))
		sub := subscribe(owner, 100)
		watch(t, owner, sub, monitor(w.node("v"), 1))
		n := publish(owner).NotificationMessage.SequenceNumber

		subscribe(thief, 100)
		resp := publish(thief, ua.SubscriptionAcknowledgement{SubscriptionID: sub, SequenceNumber: n})
		expect(t, "acknowledging for another session", resp.Results[0], ua.BadSubscriptionIDInvalid)
		republish := &ua.RepublishRequest{SubscriptionID: sub, RetransmitSequenceNumber: n}
		expect(t, "republishing for another session", thief.Result(republish), ua.BadSubscriptionIDInvalid)

		again := rawpeer.Do[*ua.RepublishResponse](owner, &ua.RepublishRequest{SubscriptionID: sub, RetransmitSequenceNumber: n})
		if again.NotificationMessage.SequenceNumber != n || len(again.NotificationMessage.NotificationData) != 1 {
			t.Errorf("the message is not what it was: %+v", again.NotificationMessage)
		}
		expect(t, "the owner's acknowledgement",
			publish(owner, ua.SubscriptionAcknowledgement{SubscriptionID: sub, SequenceNumber: n}).Results[0], ua.Good)
		expect(t, "republishing what was acknowledged",
			owner.Result(&ua.RepublishRequest{SubscriptionID: sub, RetransmitSequenceNumber: n}), ua.BadMessageNotAvailable)
	})
}
