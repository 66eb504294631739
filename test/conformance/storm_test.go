package conformance

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// storm is one client that does what comes to its mind.
type storm struct {
	t      *testing.T
	w      *world
	random *rand.Rand
	s      *rawpeer.Session
	mine   []uint32 // subscriptions that were this session's
	items  []uint32 // monitored items of some subscription
	// Shared by all.
	subs *sync.Map // ids of subscriptions, of whoever
	got  *atomic.Uint64
}

// login makes a session of the one user that all clients are.
func (c *storm) login(p *rawpeer.Peer) {
	c.s = p.CreateSession()
	if code := c.s.Activate(named(c.t, c.s, "ann", "secret of ann")); code != ua.Good {
		c.t.Errorf("activation: %v", code)
	}
	c.mine = nil
}

func (c *storm) item() uint32 {
	if len(c.items) == 0 {
		return 1
	}
	return c.items[c.random.IntN(len(c.items))]
}

// send sends a request and lets somebody else read the answer.
func (c *storm) send(req ua.Request) { c.s.Start(req) }

func (c *storm) subscription() uint32 {
	if len(c.mine) > 0 && c.random.IntN(8) > 0 {
		return c.mine[c.random.IntN(len(c.mine))]
	}
	var picked uint32
	skip := c.random.IntN(5)
	c.subs.Range(func(k, _ any) bool {
		picked = k.(uint32)
		skip--
		return skip >= 0
	})
	return picked
}

func (c *storm) variable() ua.NodeID { return c.w.node(fmt.Sprint("v", c.random.IntN(10))) }

// drain reads what has come.
func (c *storm) drain() {
	for {
		_, answer, err := c.s.Next(time.Millisecond)
		if err != nil {
			return
		}
		switch resp := answer.(type) {
		case *ua.CreateSubscriptionResponse:
			c.subs.Store(resp.SubscriptionID, true)
			c.mine = append(c.mine, resp.SubscriptionID)
		case *ua.CreateMonitoredItemsResponse:
			for _, r := range resp.Results {
				c.items = append(c.items, r.MonitoredItemID)
			}
			c.items = c.items[max(0, len(c.items)-20):]
		case *ua.PublishResponse:
			c.got.Add(uint64(len(resp.NotificationMessage.NotificationData)))
		case *ua.ServiceFault:
			if code := resp.ResponseHeader.ServiceResult; code == ua.BadInternalError {
				c.t.Errorf("an answer is %v", code)
			}
		}
	}
}

func (c *storm) step() {
	sub := c.subscription()
	switch c.random.IntN(15) {
	case 0:
		if len(c.mine) > 3 {
			c.send(&ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{sub}})
			return
		}
		c.send(&ua.CreateSubscriptionRequest{
			RequestedPublishingInterval: float64(10 * (1 + c.random.IntN(10))), RequestedLifetimeCount: 3 + c.random.Uint32N(100),
			RequestedMaxKeepAliveCount: 1 + c.random.Uint32N(5), PublishingEnabled: true, MaxNotificationsPerPublish: c.random.Uint32N(3),
		})
	case 1, 2:
		req := &ua.CreateMonitoredItemsRequest{SubscriptionID: sub, TimestampsToReturn: ua.TimestampsToReturnBoth}
		for range 1 + c.random.IntN(5) {
			item := monitor(c.variable(), c.random.Uint32())
			item.RequestedParameters.QueueSize = c.random.Uint32N(5)
			item.RequestedParameters.SamplingInterval = float64(c.random.IntN(100) - 1)
			item.MonitoringMode = ua.MonitoringMode(min(2, c.random.IntN(5)))
			req.ItemsToCreate = append(req.ItemsToCreate, item)
		}
		c.send(req)
	case 3:
		c.send(&ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{c.item(), c.item()}})
	case 4:
		c.send(&ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoringMode: ua.MonitoringMode(c.random.IntN(3)), MonitoredItemIDs: []uint32{c.item()}})
	case 5:
		c.send(&ua.ModifyMonitoredItemsRequest{SubscriptionID: sub, ItemsToModify: []ua.MonitoredItemModifyRequest{{
			MonitoredItemID: c.item(), RequestedParameters: ua.MonitoringParameters{QueueSize: c.random.Uint32N(6), SamplingInterval: float64(c.random.IntN(100))},
		}}})
	case 6, 7, 8:
		for range c.random.IntN(4) {
			c.send(&ua.PublishRequest{
				RequestHeader:                ua.RequestHeader{TimeoutHint: c.random.Uint32N(300)},
				SubscriptionAcknowledgements: []ua.SubscriptionAcknowledgement{{SubscriptionID: sub, SequenceNumber: c.random.Uint32N(10)}},
			})
		}
	case 9:
		c.send(&ua.RepublishRequest{SubscriptionID: sub, RetransmitSequenceNumber: c.random.Uint32N(10)})
	case 10:
		c.send(&ua.ModifySubscriptionRequest{SubscriptionID: sub, RequestedPublishingInterval: float64(10 + c.random.IntN(200)), RequestedLifetimeCount: 10, RequestedMaxKeepAliveCount: 3})
	case 11:
		c.send(&ua.SetTriggeringRequest{SubscriptionID: sub, TriggeringItemID: c.item(), LinksToAdd: []uint32{c.item()}, LinksToRemove: []uint32{c.item()}})
	case 12:
		c.send(&ua.WriteRequest{NodesToWrite: []ua.WriteValue{{
			NodeID: c.variable(), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.VariantOf(c.random.Int32())},
		}}})
	case 13:
		c.send(callOf(objects, c.w.node("slow")))
		if c.random.IntN(2) == 0 {
			c.send(&ua.CancelRequest{RequestHandle: c.random.Uint32N(1000)})
		}
	case 14:
		c.upheaval()
	}
	switch c.random.IntN(6) {
	case 0:
		c.drain()
	case 1:
		time.Sleep(time.Duration(c.random.IntN(50)) * time.Millisecond)
	}
}

// upheaval is what happens to sessions as a whole.
func (c *storm) upheaval() {
	switch c.random.IntN(8) {
	case 0: // the connection breaks, the session goes on
		c.s.Conn.Close()
		c.s = c.s.On(c.w.dial())
		if c.s.Activate(named(c.t, c.s, "ann", "secret of ann")) != ua.Good {
			c.login(c.s.Peer)
		}
	case 1: // the session ends, its subscriptions may stay
		c.send(&ua.CloseSessionRequest{DeleteSubscriptions: c.random.IntN(2) == 0})
		left := c.mine
		c.login(c.s.Peer)
		if len(left) > 0 {
			c.send(&ua.TransferSubscriptionsRequest{SubscriptionIDs: left, SendInitialValues: true})
			c.mine = left
		}
	case 2:
		c.send(&ua.TransferSubscriptionsRequest{SubscriptionIDs: []uint32{c.subscription(), c.subscription()}})
	}
}

// Many clients do everything at once, with values changing and nodes coming and
// going; nothing is left when they have gone. Threats R1 to R4: most crashes of
// servers under load were two of these at the same time.
func TestEverythingAtOnce(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		for i := range 10 {
			w.variable(fmt.Sprint("v", i), int32(0))
		}
		w.method("slow", false, func(ctx context.Context, _ *addrspace.Call) error {
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
			return ctx.Err()
		})
		synctest.Wait()
		own := w.Stats().Goroutines // those that live as long as the server
		subs := new(sync.Map)
		var clients sync.WaitGroup
		var over atomic.Bool
		var got atomic.Uint64
		for i := range uint64(8) {
			c := &storm{t: t, w: w, random: rand.New(rand.NewPCG(seed, i)), subs: subs, got: &got}
			c.login(w.dial())
			clients.Go(func() {
				for range 400 {
					c.step()
				}
				c.drain()
				if i%2 == 0 {
					c.send(&ua.CloseSessionRequest{DeleteSubscriptions: true})
					c.drain()
				}
				c.s.Conn.Close()
			})
		}
		var writers sync.WaitGroup
		writers.Go(func() {
			random := rand.New(rand.NewPCG(seed, 100))
			for !over.Load() {
				name := fmt.Sprint("v", random.IntN(10))
				switch n := w.Space().Node(w.node(name)); {
				case n == nil:
					w.variable(name, random.Int32())
				case random.IntN(50) == 0:
					w.Space().RemoveNode(n.ID())
				default:
					n.Variable().Store(ua.DataValue{Value: ua.VariantOf(random.Int32())})
				}
				time.Sleep(time.Duration(random.IntN(5)) * time.Millisecond)
			}
		})
		clients.Wait()
		over.Store(true)
		writers.Wait()
		time.Sleep(2 * time.Hour) // sessions time out, orphans expire
		synctest.Wait()
		if n := got.Load(); n < 20 {
			t.Errorf("only %d notifications came: this was no storm", n)
		}
		stats := w.Stats()
		if stats.Channels.Channels != 0 || stats.Channels.AssemblyBytes != 0 || stats.Sessions.Sessions != 0 ||
			stats.Subscriptions.Subscriptions != 0 || stats.Subscriptions.MonitoredItems != 0 || !maps.Equal(stats.Goroutines, own) {
			t.Errorf("left: %+v", stats)
		}
		for i := range 10 {
			if n := w.Space().Node(w.node(fmt.Sprint("v", i))); n != nil && n.Variable().Watchers() != 0 {
				t.Errorf("v%d has %d watchers", i, n.Variable().Watchers())
			}
		}
	}, withUsers)
}
