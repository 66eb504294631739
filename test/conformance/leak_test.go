package conformance

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// Connections, sessions, subscriptions and items that come and go leave nothing
// behind, however they go. Threats S2, U7 and V7: servers that kept a little of
// each ran out after days.
func TestNothingIsLeftBehind(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		w.variable("v", int32(1))
		own := clientPKI(t, clientKey())
		visit := func(i int) {
			// Not by w.dial, whose clean-up would keep every connection.
			conn, err := w.dialer()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			config := rawpeer.Config{}
			if i%10 == 0 {
				config = w.secure(own, uasc.ModeSignAndEncrypt)
			}
			p := rawpeer.Connect(visitor{t}, conn, config)
			s := p.CreateSession()
			if i%3 == 0 {
				return // never activated
			}
			expect(t, "activation", s.Activate(anonymous), ua.Good)
			sub := subscribe(s, 100)
			watch(t, s, sub, monitor(w.node("v"), 1), deadband(w.node("v"), 1))
			rawpeer.Do[*ua.BrowseResponse](s, browseAll(serverNode, 1)) // a continuation point
			rawpeer.Do[*ua.RegisterNodesResponse](s, &ua.RegisterNodesRequest{NodesToRegister: []ua.NodeID{serverNode}})
			publish(s)
			s.Start(&ua.PublishRequest{})
			switch i % 4 {
			case 0:
				s.Close()
			case 1:
				rawpeer.Do[*ua.DeleteSubscriptionsResponse](s, &ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{sub}})
				s.Close()
			case 2:
				s.Close()
				if !p.Config.Policy.Secure() {
					p.Write(chunk(p, 'C', 1000, 99)) // in the middle of a message
				}
			default:
				p.Config.Patience = 0
				s.Start(&ua.CloseSessionRequest{DeleteSubscriptions: true})
			}
		}
		heap := func() uint64 {
			synctest.Wait()
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		for i := range 200 {
			visit(i)
		}
		// What is left behind grows each time; what pools keep does not.
		const visits = 400
		grown, before := int64(0), heap()
		for range 4 {
			for i := range visits {
				visit(i)
			}
			after := heap()
			grown, before = int64(after)-int64(before), after
			if grown < visits*300 {
				break
			}
		}
		if grown >= visits*300 {
			t.Errorf("the memory grows by %d bytes in %d visits, each time", grown, visits)
		}
		if stats := w.Stats(); stats.Sessions.Sessions != 0 || stats.Channels.Channels != 0 || stats.Subscriptions.Subscriptions != 0 {
			t.Errorf("left: %+v", stats)
		}
	})
}

// visitor is a test whose clean-ups are not wanted.
type visitor struct{ *testing.T }

func (visitor) Cleanup(func()) {}
