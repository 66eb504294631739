package conformance

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// doubles are the numbers that a client can send where one is expected.
var doubles = []float64{
	0, math.Copysign(0, -1), 1, 0.4, -1, 1e300, -1e300, math.MaxFloat64, math.SmallestNonzeroFloat64,
	math.Inf(1), math.Inf(-1), math.NaN(), math.MaxInt64, math.MaxUint32, 9223372036854.775807,
}

// Of too many Publish requests the oldest is answered, and the new one waits
// (Part 4, 5.14.5.1): a client whose newest were refused would never get to send
// its acknowledgements.
func TestTheOldestPublishMakesRoom(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		subscribe(s, 60_000)
		var ids []uint32
		for range 25 {
			ids = append(ids, s.Start(&ua.PublishRequest{}))
		}
		for _, id := range ids[:5] {
			expect(t, "oldest", s.ResultOf(id), ua.BadTooManyPublishRequests)
		}
		s.Quiet(time.Second)
		// The limit exceeds the number of subscriptions.
		for range 99 {
			subscribe(s, 60_000)
		}
		for range 100 {
			s.Start(&ua.PublishRequest{})
		}
		s.Quiet(time.Second)
	})
}

// BadNoSubscription is for a session without any subscription (Part 4,
// 5.14.5.3), also for requests that wait when the last one goes.
func TestPublishWithoutASubscription(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		other := w.session()
		subscribe(other, 100)
		s := w.session()
		expect(t, "none yet", s.Result(&ua.PublishRequest{}), ua.BadNoSubscription)
		a, b := subscribe(s, 1000), subscribe(s, 1000)
		waiting := []uint32{s.Start(&ua.PublishRequest{}), s.Start(&ua.PublishRequest{})}
		remove := func(id uint32) {
			rawpeer.Do[*ua.DeleteSubscriptionsResponse](s, &ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{id}})
		}
		remove(a)
		s.Quiet(500 * time.Millisecond)
		remove(b)
		for _, id := range waiting {
			expect(t, "waiting", s.ResultOf(id), ua.BadNoSubscription)
		}
		expect(t, "none any more", s.Result(&ua.PublishRequest{}), ua.BadNoSubscription)
	})
}

// The overflow bit is set for queues larger than one, on the value at the end
// where others were lost: the oldest that is left when old values are discarded,
// the newest when new ones are (Part 4, 7.11.1 and 5.13.1.5).
func TestOverflowBit(t *testing.T) {
	rows := []struct {
		queue    uint32
		discard  bool // the oldest
		want     []string
		overflow []bool
	}{
		{1, true, []string{"5"}, []bool{false}},
		{1, false, []string{"5"}, []bool{false}},
		{3, true, []string{"3", "4", "5"}, []bool{true, false, false}},
		{3, false, []string{"1", "2", "5"}, []bool{false, false, true}},
		{5, true, []string{"1", "2", "3", "4", "5"}, make([]bool, 5)},
		{5, false, []string{"1", "2", "3", "4", "5"}, make([]bool, 5)},
	}
	inTime(t, func(t *testing.T, w *world) {
		for i, row := range rows {
			s, name := w.session(), fmt.Sprint("v", i)
			v := w.variable(name, int32(0))
			sub := subscribe(s, 100)
			item := monitor(w.node(name), 1)
			item.RequestedParameters.QueueSize, item.RequestedParameters.DiscardOldest = row.queue, row.discard
			watch(t, s, sub, item)
			if first := changes(t, publish(s)); len(first) != 1 || first[0].Value.Status != ua.Good {
				t.Fatalf("first: %+v", first)
			}
			for i := int32(1); i <= 5; i++ {
				v.Store(ua.DataValue{Value: ua.VariantOf(i)})
			}
			list := changes(t, publish(s))
			var overflow []bool
			for _, n := range list {
				overflow = append(overflow, n.Value.Status.Overflow())
				if n.Value.Status.Code() != ua.Good {
					t.Errorf("status %v", n.Value.Status)
				}
			}
			if !slices.Equal(values(list), row.want) || !slices.Equal(overflow, row.overflow) {
				t.Errorf("queue %d, discard oldest %v: %v %v, want %v %v", row.queue, row.discard, values(list), overflow, row.want, row.overflow)
			}
		}
	})
}

// A value goes with an Uncertain or Bad status, in Read and in notifications
// (Part 4, 7.11.2), and the status comes back when it does.
func TestUncertainAndBadValuesAreDelivered(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		v := w.variable("v", int32(0))
		sub := subscribe(s, 100)
		watch(t, s, sub, monitor(w.node("v"), 1))
		publish(s)
		for i, status := range []ua.StatusCode{ua.UncertainLastUsableValue, ua.BadSensorFailure, ua.BadOutOfService, ua.Good} {
			v.Store(ua.DataValue{Value: ua.VariantOf(int32(i)), Status: status})
			if dv := readValue(s, w.node("v")); dv.Status != status || !dv.Value.Equal(ua.VariantOf(int32(i))) {
				t.Errorf("read %v", dv)
			}
			list := changes(t, publish(s))
			if len(list) != 1 || list[0].Value.Status != status || !list[0].Value.Value.Equal(ua.VariantOf(int32(i))) {
				t.Errorf("reported %+v", list)
			}
		}
		// A new status with the old value is a change.
		v.Store(ua.DataValue{Value: ua.VariantOf(int32(3)), Status: ua.UncertainSensorNotAccurate})
		if list := changes(t, publish(s)); len(list) != 1 || list[0].Value.Status != ua.UncertainSensorNotAccurate {
			t.Errorf("reported %+v", list)
		}
	})
}

// A message stays available until it is acknowledged, and is the same when it is
// asked for again (Part 4, 5.14.1.1 and 5.14.6).
func TestRetransmission(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		v := w.variable("v", int32(0))
		sub := subscribe(s, 100)
		watch(t, s, sub, monitor(w.node("v"), 1))
		sent := make(map[uint32][]byte)
		var last *ua.PublishResponse
		for i := int32(1); i <= 5; i++ {
			last = publish(s)
			sent[last.NotificationMessage.SequenceNumber] = last.NotificationMessage.AppendTo(nil)
			v.Store(ua.DataValue{Value: ua.VariantOf(i)})
		}
		if want := []uint32{1, 2, 3, 4, 5}; !slices.Equal(last.AvailableSequenceNumbers, want) {
			t.Errorf("available %v", last.AvailableSequenceNumbers)
		}
		for n, body := range sent {
			again := rawpeer.Do[*ua.RepublishResponse](s, &ua.RepublishRequest{SubscriptionID: sub, RetransmitSequenceNumber: n})
			if string(again.NotificationMessage.AppendTo(nil)) != string(body) {
				t.Errorf("message %d is another one", n)
			}
		}
		resp := publish(s,
			ua.SubscriptionAcknowledgement{SubscriptionID: sub, SequenceNumber: 2},
			ua.SubscriptionAcknowledgement{SubscriptionID: sub, SequenceNumber: 2},
			ua.SubscriptionAcknowledgement{SubscriptionID: sub, SequenceNumber: 4},
			ua.SubscriptionAcknowledgement{SubscriptionID: sub, SequenceNumber: 99},
			ua.SubscriptionAcknowledgement{SubscriptionID: sub + 1, SequenceNumber: 1})
		want := []ua.StatusCode{ua.Good, ua.BadSequenceNumberUnknown, ua.Good, ua.BadSequenceNumberUnknown, ua.BadSubscriptionIDInvalid}
		if !slices.Equal(resp.Results, want) {
			t.Errorf("results %v", resp.Results)
		}
		if want := []uint32{1, 3, 5, 6}; !slices.Equal(resp.AvailableSequenceNumbers, want) {
			t.Errorf("available %v", resp.AvailableSequenceNumbers)
		}
	})
}

// A subscription whose client is silent for its lifetime ends, and the session is
// told (Part 4, 5.14.1.1).
func TestASubscriptionExpires(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		sub := rawpeer.Do[*ua.CreateSubscriptionResponse](s, &ua.CreateSubscriptionRequest{
			RequestedPublishingInterval: 1000, RequestedLifetimeCount: 3, RequestedMaxKeepAliveCount: 1, PublishingEnabled: true,
		}).SubscriptionID
		keep := subscribe(s, 1000)
		time.Sleep(4 * time.Second)
		var status *ua.StatusChangeNotification
		for range 3 {
			resp := publish(s)
			if data := resp.NotificationMessage.NotificationData; len(data) > 0 && resp.SubscriptionID == sub {
				status, _ = data[0].Value.(*ua.StatusChangeNotification)
				break
			}
		}
		if status == nil || status.Status != ua.BadTimeout {
			t.Fatalf("status change %+v", status)
		}
		expect(t, "using it", s.Result(&ua.ModifySubscriptionRequest{SubscriptionID: sub}), ua.BadSubscriptionIDInvalid)
		expect(t, "using the other", s.Result(&ua.ModifySubscriptionRequest{SubscriptionID: keep}), ua.Good)
	})
}
