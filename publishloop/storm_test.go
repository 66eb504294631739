package publishloop

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// strict is a channel that checks what a client relies on: numbers that count up
// per subscription, without gaps, in the order in which messages leave.
type strict struct {
	t   *testing.T
	all *history

	mu   sync.Mutex
	open int // requests without an answer
}

// history is what all clients together saw.
type history struct {
	mu   sync.Mutex
	next map[uint32]uint32
}

func (ch *strict) MaxResponse() int { return 0 }

func (ch *strict) Respond(_ uint32, m Appender) error {
	// The lock is taken first, as a connection would order messages.
	ch.all.mu.Lock()
	defer ch.all.mu.Unlock()
	body := m.AppendTo(nil)
	ch.mu.Lock()
	ch.open--
	ch.mu.Unlock()
	d := codec.NewDecoder(body, nil)
	var typeID ua.NodeID
	typeID.DecodeFrom(d)
	if typeID == ua.NumericID(0, serviceFaultID) {
		return nil
	}
	var r ua.PublishResponse
	r.DecodeFrom(d)
	if d.Err() != nil || d.Remaining() > 0 {
		ch.t.Errorf("decoding: %v", d.Err())
		return nil
	}
	n := r.NotificationMessage.SequenceNumber
	for _, o := range r.NotificationMessage.NotificationData {
		if _, ok := o.Value.(*ua.StatusChangeNotification); ok {
			return nil
		}
	}
	want := max(ch.all.next[r.SubscriptionID], 1)
	if n != want {
		ch.t.Errorf("subscription %d: number %d and not %d", r.SubscriptionID, n, want)
	}
	if len(r.NotificationMessage.NotificationData) > 0 {
		want++
	}
	ch.all.next[r.SubscriptionID] = want
	return nil
}

// TestStorm runs publishing, value changes, transfers, deletions and closing
// sessions against each other, on real time. Threats R1 and R4. What it checks:
// no race, no deadlock, numbers without gaps, every request answered, nothing left.
func TestStorm(t *testing.T) {
	w := newWorld(t, Limits{MinPublishingInterval: time.Millisecond})
	defer w.end()
	vars := make([]*addrspace.Variable, 8)
	for i := range vars {
		vars[i] = w.variable(string(rune('a'+i)), int32(0))
		w.euRange(vars[i], 0, 100)
	}
	all := &history{next: make(map[uint32]uint32)}
	stop := make(chan struct{})
	stopped := func() bool {
		select {
		case <-stop:
			return true
		default:
			return false
		}
	}
	var wg sync.WaitGroup
	for i, v := range vars {
		wg.Go(func() {
			for n := int32(1); !stopped(); n++ {
				if i%2 == 0 {
					set(v, n)
				} else {
					w.space.Update(func(tx *addrspace.Tx) error { tx.Set(v, ua.Int32Variant(n)); return nil })
				}
				time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
			}
		})
	}
	var subs sync.Map
	for g := range 6 {
		wg.Go(func() {
			for !stopped() {
				ch := &strict{t: t, all: all}
				q := w.m.NewQueue(Identity{User: "u"})
				for op := range 400 {
					switch rand.IntN(16) {
					case 0:
						var resp ua.CreateSubscriptionResponse
						if w.m.CreateSubscription(q, &ua.CreateSubscriptionRequest{
							RequestedPublishingInterval: float64(1 + rand.IntN(3)), RequestedLifetimeCount: 3000, RequestedMaxKeepAliveCount: 3,
							MaxNotificationsPerPublish: uint32(rand.IntN(4)), PublishingEnabled: true, Priority: uint8(rand.IntN(3)),
						}, &resp) == ua.Good {
							subs.Store(resp.SubscriptionID, g)
							var items ua.CreateMonitoredItemsResponse
							var reqs []ua.MonitoredItemCreateRequest
							for i, v := range vars {
								reqs = append(reqs, request(v, uint32(i), queue(uint32(rand.IntN(4)), true), sampling(float64(rand.IntN(3)*2)), mode(ua.MonitoringMode(rand.IntN(3)))))
							}
							w.m.CreateMonitoredItems(q, &ua.CreateMonitoredItemsRequest{SubscriptionID: resp.SubscriptionID, ItemsToCreate: reqs}, &items)
							var trig ua.SetTriggeringResponse
							w.m.SetTriggering(q, &ua.SetTriggeringRequest{SubscriptionID: resp.SubscriptionID, TriggeringItemID: 1, LinksToAdd: []uint32{2, 3, 4}}, &trig)
						}
					case 1:
						subs.Range(func(id, _ any) bool {
							var resp ua.TransferSubscriptionsResponse
							w.m.TransferSubscriptions(q, &ua.TransferSubscriptionsRequest{SubscriptionIDs: []uint32{id.(uint32)}, SendInitialValues: op%2 == 0}, &resp)
							return rand.IntN(3) > 0
						})
					case 2:
						subs.Range(func(id, _ any) bool {
							if rand.IntN(4) == 0 {
								var resp ua.DeleteSubscriptionsResponse
								w.m.DeleteSubscriptions(q, &ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{id.(uint32)}}, &resp)
								if resp.Results[0] == ua.Good {
									subs.Delete(id)
								}
								return false
							}
							return true
						})
					case 3:
						subs.Range(func(id, _ any) bool {
							sub := id.(uint32)
							ids := []uint32{1, 2, 3, 4, 5}
							var resp ua.SetMonitoringModeResponse
							w.m.SetMonitoringMode(q, &ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoringMode: ua.MonitoringMode(rand.IntN(3)), MonitoredItemIDs: ids[rand.IntN(4):]}, &resp)
							var mod ua.ModifyMonitoredItemsResponse
							w.m.ModifyMonitoredItems(q, &ua.ModifyMonitoredItemsRequest{SubscriptionID: sub, ItemsToModify: []ua.MonitoredItemModifyRequest{{
								MonitoredItemID: uint32(1 + rand.IntN(8)), RequestedParameters: ua.MonitoringParameters{QueueSize: uint32(rand.IntN(5)), SamplingInterval: float64(rand.IntN(4))},
							}}}, &mod)
							if rand.IntN(8) == 0 {
								var del ua.DeleteMonitoredItemsResponse
								w.m.DeleteMonitoredItems(q, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{uint32(1 + rand.IntN(8))}}, &del)
							}
							w.m.ResendData(q, sub)
							return rand.IntN(2) == 0
						})
					case 4:
						w.m.IdentityChanged(q, Identity{User: "u"})
						for _, s := range w.m.Subscriptions() {
							s.Diagnostics()
						}
					default:
						ch.mu.Lock()
						ch.open++
						ch.mu.Unlock()
						req := &ua.PublishRequest{RequestHeader: ua.RequestHeader{TimeoutHint: uint32(rand.IntN(3) * 20)}}
						subs.Range(func(id, _ any) bool {
							all.mu.Lock()
							n := all.next[id.(uint32)]
							all.mu.Unlock()
							req.SubscriptionAcknowledgements = append(req.SubscriptionAcknowledgements, ua.SubscriptionAcknowledgement{SubscriptionID: id.(uint32), SequenceNumber: n})
							return rand.IntN(2) == 0
						})
						q.Publish(uint32(op), req, ch)
						time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
					}
				}
				w.m.SessionClosed(q, rand.IntN(2) == 0, ua.BadSessionClosed)
				ch.mu.Lock()
				if ch.open != 0 {
					t.Errorf("%d requests are not answered", ch.open)
				}
				ch.mu.Unlock()
			}
		})
	}
	time.Sleep(1500 * time.Millisecond)
	close(stop)
	wg.Wait()
}

// TestStoppedReaderStopsNobody: a client whose channel takes nothing any more
// neither blocks a writer nor another client. Case C16, as far as it is ours.
func TestStoppedReaderStopsNobody(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		deaf, c := w.client(), w.client()
		defer deaf.close()
		defer c.close()
		v := w.variable("v", int32(0))
		for _, x := range []*client{deaf, c} {
			x.monitor(x.subscribe(10*time.Millisecond), v, 1, queue(100, true))
		}
		stuck := &blocked{release: make(chan struct{})}
		deaf.q.Publish(1, &ua.PublishRequest{}, stuck)
		for i := range 100 {
			for n := range int32(10) {
				set(v, int32(i)*10+n+1)
			}
			want, at := 10, time.Duration(i+1)*10*time.Millisecond
			if i == 0 {
				// Both share a beat until one holds up the other for half a cycle.
				want, at = 11, at+5*time.Millisecond
			}
			if got := c.next(at); len(got) != want {
				t.Fatalf("cycle %d: %d values", i, len(got))
			}
		}
		// Requests for the stuck subscription are parked behind it and not lost.
		deaf.publish()
		close(stuck.release)
		time.Sleep(20 * time.Millisecond)
		if a := deaf.one(); len(a.changes()) != 100 {
			t.Errorf("%d values", len(a.changes()))
		}
	})
}

// blocked is a channel whose Respond hangs, which it must not; even then.
type blocked struct{ release chan struct{} }

func (b *blocked) MaxResponse() int { return 0 }

func (b *blocked) Respond(uint32, Appender) error {
	<-b.release
	return nil
}
