package client

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

func TestEnoughPublishRequestsArriveAndAllMessagesAreAcknowledged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		_, got := subscribe(t, c, SubscriptionConfig{})
		synctest.Wait()
		if n := p.parked(); n != 2 {
			t.Errorf("%d Publish requests for one subscription", n)
		}
		for v := range int32(5) {
			p.notify(false, v)
		}
		got.check(t, 0, 1, 2, 3, 4)
		if n := p.parked(); n != 2 {
			t.Errorf("%d Publish requests afterwards", n)
		}
		p.mu.Lock()
		var acked []uint32
		for _, a := range p.acks {
			acked = append(acked, a.SequenceNumber)
		}
		p.mu.Unlock()
		if !slices.Equal(acked, []uint32{1, 2, 3, 4, 5}) {
			t.Errorf("acknowledged %v", acked)
		}
		if _, err := c.Subscribe(context.Background(), SubscriptionConfig{}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if n := p.parked(); n != 3 {
			t.Errorf("%d Publish requests for two subscriptions", n)
		}
	})
}

func TestServerThatTakesFewPublishRequests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.on["Publish"] = func(r *peerRequest) ua.Structure {
			p.mu.Lock()
			full := len(r.session.parked) >= 2
			p.mu.Unlock()
			if full {
				return refusal(ua.BadTooManyPublishRequests)
			}
			return p.serve(r)
		}
		cfg := p.config()
		cfg.PublishRequests = 5
		c := p.mustConnect(cfg)
		defer c.Close(context.Background())
		_, got := subscribe(t, c, SubscriptionConfig{})
		for v := range int32(10) {
			p.notify(false, v)
			synctest.Wait()
		}
		got.check(t, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		if n := p.count("Publish"); n > 20 {
			t.Errorf("%d Publish requests", n)
		}
	})
}

func TestLostMessageIsFetchedByRepublish(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		_, got := subscribe(t, c, SubscriptionConfig{})
		p.notify(false, 1)
		p.notify(true, 2)
		p.notify(true, 3)
		p.notify(false, 4)
		got.check(t, 1, 2, 3, 4)
		if s := c.Stats(); s.Republished != 2 || s.Reconnects != 0 || s.Lost != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A subscription that is silent for too long is asked for with Republish: the
// answer says whether it exists. One that does not is created again.
func TestSilentSubscriptionIsLookedAfter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		sub, got := subscribe(t, c, SubscriptionConfig{})
		id := sub.ID()
		p.notify(true, 1) // nobody learns of it
		time.Sleep(time.Minute)
		got.check(t, 1)
		if sub.ID() != id {
			t.Error("the subscription lived and was created again")
		}
		p.mu.Lock()
		clear(p.subs)
		p.mu.Unlock()
		time.Sleep(time.Minute)
		p.notify(false, 2)
		got.check(t, 1, 2)
		if sub.ID() == id || p.count("CreateSubscription") != 2 {
			t.Errorf("subscription %d, was %d; %d created", sub.ID(), id, p.count("CreateSubscription"))
		}
		for range 10 {
			time.Sleep(10 * time.Second)
			p.keepAlive()
		}
		if n := p.count("Republish"); n > 8 {
			t.Errorf("%d Republish requests", n)
		}
	})
}

func TestStatusChangeBadTimeoutCreatesAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		var status ua.StatusCode
		sub, got := subscribe(t, c, SubscriptionConfig{OnStatus: func(s ua.StatusCode) { status = s }})
		p.mu.Lock()
		s := p.subs[sub.ID()]
		delete(p.subs, s.id)
		s.unsent = append(s.unsent, ua.NotificationMessage{SequenceNumber: 1, NotificationData: []ua.ExtensionObject{
			ua.ObjectOf(&ua.StatusChangeNotification{Status: ua.BadTimeout}),
		}})
		p.flush(s)
		p.mu.Unlock()
		synctest.Wait()
		p.notify(false, 7)
		got.check(t, 7)
		if status != ua.BadTimeout {
			t.Errorf("status %v", status)
		}
	})
}

func TestTransferredSubscriptionEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		sub, _ := subscribe(t, c, SubscriptionConfig{})
		p.mu.Lock()
		s := p.subs[sub.ID()]
		s.unsent = append(s.unsent, ua.NotificationMessage{SequenceNumber: 1, NotificationData: []ua.ExtensionObject{
			ua.ObjectOf(&ua.StatusChangeNotification{Status: ua.GoodSubscriptionTransferred}),
		}})
		p.flush(s)
		p.mu.Unlock()
		<-sub.Done()
		if ua.StatusOf(sub.Err()) != ua.GoodSubscriptionTransferred {
			t.Error(sub.Err())
		}
	})
}

func TestChangesChannelEndsWithTheSubscription(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		sub, err := c.Subscribe(context.Background(), SubscriptionConfig{})
		if err != nil {
			t.Fatal(err)
		}
		items, err := sub.Monitor(context.Background(), nil, MonitorItem{Node: ua.NumericID(1, 7), Tag: "seven"})
		if err != nil {
			t.Fatal(err)
		}
		p.notify(false, 1)
		p.notify(false, 2)
		synctest.Wait()
		for want := range int32(2) { // what came before Changes is there
			ch := <-sub.Changes()
			if v, _ := ua.As[int32](ch.Value.Value); v != want+1 || ch.Item != items[0] || ch.Item.Tag != "seven" {
				t.Errorf("change %v of %v", v, ch.Item.Tag)
			}
		}
		p.notify(false, 3) // nobody takes it
		synctest.Wait()
		if err := sub.Close(context.Background()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if _, ok := <-sub.Changes(); ok {
			t.Error("a change after Close")
		}
		if n := p.parked(); n == 0 {
			t.Error("parked requests are the server's to end")
		}
	})
}

func TestSlowConsumer(t *testing.T) {
	for _, tt := range []struct {
		overflow Overflow
		want     []int32
		dropped  uint64
	}{
		{DropOldest, []int32{0, 7, 8, 9}, 6},
		{DropNewest, []int32{0, 1, 2, 3}, 6},
		{Hold, []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 0},
	} {
		bubble(t, func(t *testing.T) {
			p := newPeer(t)
			c := p.mustConnect(p.config())
			defer c.Close(context.Background())
			sub, err := c.Subscribe(context.Background(), SubscriptionConfig{Queue: 3, Overflow: tt.overflow})
			if err != nil {
				t.Fatal(err)
			}
			got, gate := new(collected), make(chan bool)
			_, err = sub.Monitor(context.Background(), func(ch Change) { <-gate; got.add(ch) }, Value(ua.NumericID(1, 7)))
			if err != nil {
				t.Fatal(err)
			}
			for v := range int32(10) {
				p.notify(false, v)
				synctest.Wait()
			}
			if tt.overflow == Hold {
				if n := p.parked(); n != 0 {
					t.Errorf("%d Publish requests while holding", n)
				}
			}
			if err := c.Ping(context.Background()); err != nil {
				t.Errorf("a slow consumer holds up the connection: %v", err)
			}
			close(gate)
			got.check(t, tt.want...)
			defer func() {
				if c.held != 0 {
					t.Error("still holding")
				}
			}()
			if n := c.Stats().Dropped; n != tt.dropped {
				t.Errorf("policy %d: %d dropped", tt.overflow, n)
			}
		})
	}
}

func TestInlineConsumerMaySendRequests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		h := &ringing{c: c, left: 3, t: t}
		sub, err := c.Subscribe(context.Background(), SubscriptionConfig{Inline: true})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		_, err = sub.Monitor(context.Background(), func(Change) {
			if n++; n == 1 {
				if err := c.Send(stateRead, h); err != nil {
					t.Error(err)
				}
			}
		}, Value(ua.NumericID(1, 7)), Value(ua.NumericID(1, 8)))
		if err != nil {
			t.Fatal(err)
		}
		p.notify(false, 1, 2)
		synctest.Wait()
		if n != 2 || h.left != 0 {
			t.Errorf("%d changes, %d requests left", n, h.left)
		}
	})
}

func TestRefusedItemsSayWhy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.on["CreateMonitoredItems"] = func(*peerRequest) ua.Structure {
			return &ua.CreateMonitoredItemsResponse{Results: []ua.MonitoredItemCreateResult{
				{StatusCode: ua.BadNodeIDUnknown}, {MonitoredItemID: 5, RevisedSamplingInterval: 250, RevisedQueueSize: 3},
			}}
		}
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		sub, err := c.Subscribe(context.Background(), SubscriptionConfig{})
		if err != nil {
			t.Fatal(err)
		}
		items, err := sub.Monitor(context.Background(), nil, Value(ua.NumericID(1, 7)), Value(ua.NumericID(1, 8)))
		if err != nil {
			t.Fatal(err)
		}
		sampling, queue := items[1].Revised()
		if items[0].Status() != ua.BadNodeIDUnknown || items[1].ID() != 5 || sampling != 250*time.Millisecond || queue != 3 {
			t.Errorf("%v, %v %v %v", items[0].Status(), items[1].ID(), sampling, queue)
		}
		p.handle("CreateMonitoredItems", func(*peerRequest) ua.Structure { return refusal(ua.BadTooManyMonitoredItems) })
		if _, err = sub.Monitor(context.Background(), nil, Value(ua.NumericID(1, 7))); ua.StatusOf(err) != ua.BadTooManyMonitoredItems {
			t.Error(err)
		}
		sub.mu.Lock()
		defer sub.mu.Unlock()
		if len(sub.items) != 1 {
			t.Errorf("%d items are remembered", len(sub.items))
		}
	})
}

func TestEventsArriveWithTheirFields(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		sub, err := c.Subscribe(context.Background(), SubscriptionConfig{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = sub.Monitor(context.Background(), nil, MonitorItem{
			Node: ua.NumericID(0, 2253), Attribute: ua.AttributeIDEventNotifier, Filter: new(ua.EventFilter),
		})
		if err != nil {
			t.Fatal(err)
		}
		p.mu.Lock()
		s := p.subs[sub.ID()]
		s.seq++
		s.unsent = append(s.unsent, ua.NotificationMessage{SequenceNumber: 1, NotificationData: []ua.ExtensionObject{
			ua.ObjectOf(&ua.EventNotificationList{Events: []ua.EventFieldList{
				{ClientHandle: 1, EventFields: []ua.Variant{ua.StringVariant("boiling")}},
			}}),
		}})
		p.flush(s)
		p.mu.Unlock()
		ch := <-sub.Changes()
		if len(ch.Fields) != 1 || ch.Fields[0].Any() != "boiling" {
			t.Errorf("fields %v", ch.Fields)
		}
	})
}

func TestSubscribeFailsWithTheServersReason(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.on["CreateSubscription"] = func(*peerRequest) ua.Structure { return refusal(ua.BadTooManySubscriptions) }
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		_, err := c.Subscribe(context.Background(), SubscriptionConfig{})
		var code ua.StatusCode
		if !errors.As(err, &code) || code != ua.BadTooManySubscriptions {
			t.Error(err)
		}
		if n := p.count("Publish"); n != 0 {
			t.Errorf("%d Publish requests without a subscription", n)
		}
	})
}

// The revised numbers are the peer's: none may end in a panic or a hot loop.
func TestAbsurdRevisedValues(t *testing.T) {
	zero := 0.0
	for _, interval := range []float64{0, -1, 1e300, 1 / zero, -1 / zero, zero / zero} {
		bubble(t, func(t *testing.T) {
			p := newPeer(t)
			p.on["CreateSubscription"] = func(r *peerRequest) ua.Structure {
				resp := p.serve(r).(*ua.CreateSubscriptionResponse)
				resp.RevisedPublishingInterval = interval
				resp.RevisedLifetimeCount, resp.RevisedMaxKeepAliveCount = 1<<32-1, 1<<32-1
				return resp
			}
			p.on["CreateSession"] = func(r *peerRequest) ua.Structure {
				resp := p.serve(r).(*ua.CreateSessionResponse)
				resp.RevisedSessionTimeout = interval
				return resp
			}
			c := p.mustConnect(p.config())
			defer c.Close(context.Background())
			sub, _ := subscribe(t, c, SubscriptionConfig{})
			time.Sleep(10 * time.Minute)
			if i := sub.Interval(); i <= 0 || i > 24*time.Hour {
				t.Errorf("interval %v for %v", i, interval)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if n := len(p.requests); n > 200 {
				t.Errorf("%d requests in ten minutes", n)
			}
		})
	}
}

func TestItemsAreCreatedInPartsThatTheServerTakes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.on["CreateMonitoredItems"] = func(r *peerRequest) ua.Structure {
			if len(r.body.(*ua.CreateMonitoredItemsRequest).ItemsToCreate) > 100 {
				return refusal(ua.BadTooManyOperations)
			}
			return p.serve(r)
		}
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		sub, err := c.Subscribe(context.Background(), SubscriptionConfig{})
		if err != nil {
			t.Fatal(err)
		}
		items := make([]MonitorItem, 2500)
		for i := range items {
			items[i] = Value(ua.NumericID(1, uint32(i)))
		}
		made, err := sub.Monitor(context.Background(), nil, items...)
		if err != nil || made[0].ID() == 0 || made[2499].ID() == 0 {
			t.Error(err)
		}
	})
}

// Ending a subscription that held up the Publish requests lets the others go on.
func TestHeldSubscriptionLetsGoWhenItEnds(t *testing.T) {
	for _, consumer := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			p := newPeer(t)
			c := p.mustConnect(p.config())
			defer c.Close(context.Background())
			held, err := c.Subscribe(context.Background(), SubscriptionConfig{Queue: 1, Overflow: Hold})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = held.Monitor(context.Background(), nil, Value(ua.NumericID(1, 7))); err != nil {
				t.Fatal(err)
			}
			if consumer {
				held.Changes() // its goroutine waits with a change in hand
			}
			_, got := subscribe(t, c, SubscriptionConfig{})
			p.notify(false, 1)
			p.notify(false, 2)
			p.notify(false, 3)
			p.notify(false, 4)
			synctest.Wait()
			if err := held.Close(context.Background()); err != nil {
				t.Error(err)
			}
			p.notify(false, 5)
			got.check(t, 1, 2, 3, 4, 5)
		})
	}
}

// A program can see that a subscription is alive while it has nothing to tell,
// and that the server refuses to publish.
func TestKeepAlivesAndRefusalsAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		subscribe(t, c, SubscriptionConfig{})
		synctest.Wait()
		before := c.Stats()
		p.notify(false, 1)
		p.keepAlive()
		p.keepAlive()
		synctest.Wait()
		after := c.Stats()
		if n := after.KeepAlives - before.KeepAlives; n != 2 {
			t.Errorf("%d keep-alives, want 2", n)
		}
		if after.PublishFailures != 0 {
			t.Errorf("%d failures", after.PublishFailures)
		}
		p.handle("Publish", func(*peerRequest) ua.Structure { return refusal(ua.BadInternalError) })
		p.notify(false, 2)
		synctest.Wait()
		if n := c.Stats().PublishFailures; n == 0 {
			t.Error("a refusal does not count")
		}
	})
}
