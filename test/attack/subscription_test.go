package attack

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// Monitored items, subscriptions and links without number: the quotas hold, and
// are whole again when all is deleted, however it ended.
func TestThreat_V6_V7_V10_Quotas(t *testing.T) {
	x := newTarget(t, onTCP, func(c *uahive.Config) {
		c.Limits.Subscriptions.MonitoredItems, c.Limits.Subscriptions.QueueEntries, c.Limits.Subscriptions.TriggeringLinks = 5000, 20_000, 100
		c.Limits.Subscriptions.Subscriptions, c.Limits.Subscriptions.SubscriptionsPerSession, c.Limits.Subscriptions.Orphans = 60, 30, 10
		c.Limits.Subscriptions.MaxLifetime = time.Second
	})
	m := measure()
	for round := range 3 {
		s := x.open().Session()
		sub := subscribe(s, 10_000)
		good, full := 0, 0
		many := slices.Repeat([]ua.MonitoredItemCreateRequest{item(node(int32Node)), item(node(9999)), item(node(waitingNode))}, 1000)
		for i := range many {
			many[i].RequestedParameters.QueueSize = 1<<32 - 1
			if i%7 == 0 {
				many[i].RequestedParameters.Filter = ua.ObjectOf(&ua.DataChangeFilter{Trigger: 9})
			}
			if i%11 == 0 {
				many[i].MonitoringMode = 77
			}
			if i%13 == 0 {
				many[i].ItemToMonitor.IndexRange = "9:1"
			}
		}
		var ids []uint32
		for range 4 {
			for _, r := range rawpeer.Do[*ua.CreateMonitoredItemsResponse](s, &ua.CreateMonitoredItemsRequest{SubscriptionID: sub, ItemsToCreate: many}).Results {
				switch r.StatusCode {
				case ua.Good:
					good++
					ids = append(ids, r.MonitoredItemID)
				case ua.BadTooManyMonitoredItems:
					full++
				}
			}
		}
		if good != 5000 || full == 0 {
			t.Fatalf("round %d: %d items, %d refused at the limit", round, good, full)
		}
		links := rawpeer.Do[*ua.SetTriggeringResponse](s, &ua.SetTriggeringRequest{SubscriptionID: sub, TriggeringItemID: ids[0], LinksToAdd: ids[:5000]})
		added := 0
		for _, code := range links.AddResults {
			if code == ua.Good {
				added++
			}
		}
		if added != 100 || links.AddResults[0] != ua.BadMonitoredItemIDInvalid {
			t.Errorf("%d links, to itself: %v", added, links.AddResults[0])
		}
		s.Result(&ua.SetTriggeringRequest{SubscriptionID: sub, TriggeringItemID: ids[1], LinksToAdd: ids[:2]}) // a cycle
		x.server.Space().Node(node(int32Node)).Variable().Store(ua.DataValue{Value: ua.VariantOf(int32(round + 100))})
		switch round {
		case 0:
			rawpeer.Do[*ua.DeleteSubscriptionsResponse](s, &ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{sub, sub}})
		case 1:
			s.Close()
		case 2:
			rawpeer.Do[*ua.DeleteMonitoredItemsResponse](s, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: append(ids, ids...)})
		}
		eventually(t, "the items are gone", func() bool { return x.server.Stats().Subscriptions.MonitoredItems == 0 })
	}

	// Subscriptions of sessions that go and leave them.
	for range 10 {
		s := x.open().Session()
		made := 0
		for range 40 {
			code := s.Result(&ua.CreateSubscriptionRequest{RequestedPublishingInterval: 100, RequestedLifetimeCount: 1<<32 - 1, RequestedMaxKeepAliveCount: 1<<32 - 1})
			if code == ua.Good {
				made++
			} else if code != ua.BadTooManySubscriptions {
				t.Fatal(code)
			}
		}
		if made > 30 {
			t.Errorf("%d subscriptions in a session", made)
		}
		rawpeer.Do[*ua.CloseSessionResponse](s, &ua.CloseSessionRequest{DeleteSubscriptions: false})
	}
	if n := x.server.Stats().Subscriptions.Subscriptions; n > 11 {
		t.Errorf("%d subscriptions are left, 10 may be", n)
	}
	eventually(t, "they expire", func() bool {
		n := x.server.Stats()
		return n.Subscriptions.Subscriptions <= 1 && n.Goroutines["subscription"] <= 1
	})
	m.check(t, 100, 10)
}

// Publish requests without number, for nothing, or with bogus acknowledgements.
func TestThreat_V8_V9_PublishFlood(t *testing.T) {
	x := newTarget(t, onTCP)
	x.watch()
	p := x.open()
	s := p.Session()
	if code := s.Result(&ua.PublishRequest{}); code != ua.BadNoSubscription {
		t.Errorf("without a subscription: %v", code)
	}
	sub := subscribe(s, 50)
	rawpeer.Do[*ua.CreateMonitoredItemsResponse](s, &ua.CreateMonitoredItemsRequest{SubscriptionID: sub, ItemsToCreate: []ua.MonitoredItemCreateRequest{item(node(bytesNode))}})
	m := measure()
	flood := scale(5000, 100_000)
	outcomes := make(map[ua.StatusCode]int)
	acks := slices.Repeat([]ua.SubscriptionAcknowledgement{{SubscriptionID: sub, SequenceNumber: 7}, {SubscriptionID: 1}}, 500)
	for i := range flood {
		req := &ua.PublishRequest{}
		if i%50 == 0 {
			req.SubscriptionAcknowledgements = acks
		}
		if i%3 == 0 {
			req.RequestHeader.TimeoutHint = 1
		}
		s.Start(req)
		if i%20 == 19 {
			for range 10 {
				if _, answer, err := p.Next(10 * time.Second); err == nil {
					outcomes[answer.(ua.Response).Header().ServiceResult]++
				} else {
					t.Fatal(err)
				}
			}
		}
	}
	if code := s.Result(&ua.PublishRequest{SubscriptionAcknowledgements: slices.Repeat(acks, 50)}); code != ua.BadTooManyOperations {
		t.Errorf("50,000 acknowledgements: %v", code)
	}
	t.Logf("%v", outcomes)
	if outcomes[ua.BadTooManyPublishRequests] == 0 {
		t.Error("none was too many")
	}
	// Never acknowledged, large, and often.
	value := x.server.Space().Node(node(bytesNode)).Variable()
	for i := range 300 {
		value.Store(ua.DataValue{Value: ua.VariantOf(bytes.Repeat([]byte{byte(i)}, 200_000))})
		s.Start(&ua.PublishRequest{})
		if i%10 == 0 {
			time.Sleep(20 * time.Millisecond) // so that cycles pass
		}
	}
	m.check(t, 150, 60)
	if code := s.Result(&ua.RepublishRequest{SubscriptionID: sub, RetransmitSequenceNumber: 1 << 31}); code != ua.BadMessageNotAvailable {
		t.Errorf("Republish: %v", code)
	}
}

// Queues of many items that nobody reads do not fill the memory with what a
// client writes, and what they held is free again.
func TestThreat_V6_ParkedValues(t *testing.T) {
	x := newTarget(t, onTCP, func(c *uahive.Config) {
		c.Limits.Subscriptions.QueueBytes, c.Limits.Subscriptions.QueueBytesTotal = 16<<20, 32<<20
	})
	s := x.open().Session()
	sub := rawpeer.Do[*ua.CreateSubscriptionResponse](s, &ua.CreateSubscriptionRequest{RequestedPublishingInterval: 60_000, RequestedLifetimeCount: 100}).SubscriptionID
	many := slices.Repeat([]ua.MonitoredItemCreateRequest{item(node(stringNode)), item(node(stringArray)), item(node(anyNode)), item(node(bytesNode))}, 5)
	for i := range many {
		many[i].RequestedParameters.QueueSize, many[i].RequestedParameters.DiscardOldest = 10_000, i%2 == 0
	}
	ids := rawpeer.Do[*ua.CreateMonitoredItemsResponse](s, &ua.CreateMonitoredItemsRequest{SubscriptionID: sub, ItemsToCreate: many}).Results
	m := measure()
	write := func(text string) {
		var ops []ua.WriteValue
		for n, v := range map[uint32]ua.Variant{
			stringNode: ua.VariantOf(text), stringArray: ua.SliceVariant([]string{text}), bytesNode: ua.VariantOf([]byte(text)),
			anyNode: ua.SliceVariant([]ua.Variant{ua.VariantOf(text)}),
		} {
			ops = append(ops, ua.WriteValue{NodeID: node(n), AttributeID: 13, Value: ua.DataValue{Value: v}})
		}
		rawpeer.Do[*ua.WriteResponse](s, &ua.WriteRequest{NodesToWrite: ops})
	}
	for i := range 200 {
		write(fmt.Sprint(i))
	}
	for i := range 200 {
		write(fmt.Sprint(i) + strings.Repeat("x", 500_000))
	}
	if n := x.server.Stats().Subscriptions.QueueBytes; n > 64<<20 || n < 4<<20 {
		t.Errorf("%d bytes are queued", n)
	}
	write("small")
	var all []uint32
	for _, r := range ids {
		all = append(all, r.MonitoredItemID)
	}
	rawpeer.Do[*ua.DeleteMonitoredItemsResponse](s, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: all})
	if n := x.server.Stats().Subscriptions.QueueBytes; n != 0 {
		t.Errorf("%d bytes are queued by nobody", n)
	}
	m.check(t, 250, 20)
}
