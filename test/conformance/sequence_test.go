package conformance

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// Whatever the rhythms of writing and publishing are, the values of an item come
// in their order and once, a gap is marked by the overflow bit at its place, the
// numbers of messages go up by one, and a keep-alive names the number that comes
// next (Part 4, 5.13.1.5, 5.14.1.1 and 7.8).
func TestValuesAndNumbersInOrder(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		for range 20 {
			checkOrder(t, w, random)
		}
	})
}

func checkOrder(t *testing.T, w *world, random *rand.Rand) {
	s := w.session()
	most := random.Uint32N(4)
	sub := rawpeer.Do[*ua.CreateSubscriptionResponse](s, &ua.CreateSubscriptionRequest{
		RequestedPublishingInterval: float64(20 + random.IntN(200)), RequestedLifetimeCount: 1000,
		RequestedMaxKeepAliveCount: 1 + random.Uint32N(4), MaxNotificationsPerPublish: most, PublishingEnabled: true,
	}).SubscriptionID
	const items = 4
	var vars [items]*addrspace.Variable
	var queue [items]uint32
	var requests []ua.MonitoredItemCreateRequest
	for i := range uint32(items) {
		name := s.ID.String() + string(rune('a'+i))
		vars[i] = w.variable(name, int32(0))
		queue[i] = 1 + random.Uint32N(8)
		item := monitor(w.node(name), i)
		item.RequestedParameters.QueueSize = queue[i]
		requests = append(requests, item)
	}
	watch(t, s, sub, requests...)

	var stored, last [items]int32
	for i := range last {
		last[i] = -1
	}
	number := uint32(1)
	var unacknowledged []ua.SubscriptionAcknowledgement
	check := func(resp *ua.PublishResponse) {
		m := resp.NotificationMessage
		if m.SequenceNumber != number {
			t.Fatalf("message %d where %d was due", m.SequenceNumber, number)
		}
		list := changes(t, resp)
		if len(list) == 0 {
			return // a keep-alive does not use the number up
		}
		number++
		unacknowledged = append(unacknowledged, ua.SubscriptionAcknowledgement{SubscriptionID: sub, SequenceNumber: m.SequenceNumber})
		if most > 0 && len(list) > int(most) {
			t.Fatalf("%d notifications of at most %d", len(list), most)
		}
		for _, n := range list {
			i := n.ClientHandle
			value, _ := ua.As[int32](n.Value.Value)
			lost := value != last[i]+1
			switch {
			case value <= last[i]:
				t.Fatalf("item %d: value %d after %d", i, value, last[i])
			case queue[i] == 1 && n.Value.Status.Overflow():
				t.Fatalf("item %d: the overflow bit on a queue of one", i)
			case queue[i] > 1 && n.Value.Status.Overflow() != lost:
				t.Fatalf("item %d with a queue of %d: value %d after %d, overflow bit %v", i, queue[i], value, last[i], n.Value.Status.Overflow())
			}
			last[i] = value
		}
	}
	write := func() {
		i := random.IntN(items)
		stored[i]++
		vars[i].Store(ua.DataValue{Value: ua.VariantOf(stored[i])})
	}
	for range 300 {
		switch random.IntN(8) {
		case 0, 1, 2:
			write()
		case 3:
			for range random.IntN(20) {
				write()
			}
		case 4:
			time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
		default:
			acks := unacknowledged
			unacknowledged = nil
			resp := publish(s, acks...)
			for _, code := range resp.Results {
				expect(t, "acknowledging", code, ua.Good)
			}
			check(resp)
		}
	}
	for last != stored { // what is still queued comes
		check(publish(s))
	}
	s.Close()
	s.Conn.Close()
}
