package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// A client that subscribes to the server's status sees the shutdown and the
// seconds that are left, then its channel ends with BadShutdown (Part 5, 6.3.4
// and 12.10). Everything of the server has ended within five seconds; the bubble
// fails when a goroutine is left.
func TestShutdownIsAnnounced(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		sub := subscribe(s, 100)
		state, left := ua.NumericID(0, id.Server_ServerStatus_State), ua.NumericID(0, id.Server_ServerStatus_SecondsTillShutdown)
		watch(t, s, sub, monitor(state, 1), monitor(left, 2))
		publish(s)
		for range 10 {
			s.Start(&ua.PublishRequest{})
		}
		start := time.Now()
		w.cancel()
		var sawShutdown, sawSeconds bool
		for {
			_, answer, err := s.Next(10 * time.Second)
			if err != nil {
				var e *uasc.ErrorMessage
				if !errors.As(err, &e) || e.Code != ua.BadShutdown {
					t.Errorf("the channel ended with %v", err)
				}
				break
			}
			resp, ok := answer.(*ua.PublishResponse)
			if !ok {
				continue // a parked request that is answered at the end
			}
			for _, n := range changes(t, resp) {
				value := fmt.Sprint(n.Value.Value.Any())
				switch n.ClientHandle {
				case 1:
					sawShutdown = sawShutdown || value == fmt.Sprint(int32(ua.ServerStateShutdown))
				case 2:
					sawSeconds = sawSeconds || value == "2"
				}
			}
		}
		if !sawShutdown || !sawSeconds {
			t.Errorf("saw the state: %v, the seconds: %v", sawShutdown, sawSeconds)
		}
		if took := time.Since(start); took < 2*time.Second || took > 3*time.Second {
			t.Errorf("the channel ended after %v", took)
		}
		if _, err := w.net.Dial(); err == nil {
			t.Error("the server still listens")
		}
		w.stop()
		if stats := w.Stats(); len(stats.Goroutines) > 0 || stats.Channels.Channels > 0 || stats.Sessions.Sessions > 0 || stats.Subscriptions.Subscriptions > 0 {
			t.Errorf("left: %+v", stats)
		}
	}, func(c *uahive.Config) { c.ShutdownDelay = 2 * time.Second })
}

// A shutdown in the middle of everything ends everything. Threat R5.
func TestShutdownUnderLoad(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		slow := w.method("slow", false, func(ctx context.Context, _ *addrspace.Call) error {
			<-ctx.Done()
			return ctx.Err()
		})
		v := w.variable("v", int32(0))
		var sessions []*rawpeer.Session
		for i := range 50 {
			s := w.session()
			sub := subscribe(s, float64(10+i))
			watch(t, s, sub, monitor(w.node("v"), 1))
			for range 5 {
				s.Start(&ua.PublishRequest{})
			}
			s.Start(callOf(objects, slow))
			sessions = append(sessions, s)
		}
		w.bare(rawpeer.Config{})
		w.dial().CreateSession()
		for i := range int32(20) {
			v.Store(ua.DataValue{Value: ua.VariantOf(i)})
			time.Sleep(7 * time.Millisecond)
		}
		start := time.Now()
		w.stop()
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("the shutdown took %v", took)
		}
		for _, s := range sessions {
			for {
				_, _, err := s.Next(time.Second)
				if errors.Is(err, rawpeer.ErrQuiet) {
					t.Fatal("a channel is still open")
				}
				if err != nil {
					break
				}
			}
		}
	})
}

// Callbacks that ignore their context hold a shutdown up for five seconds and no
// longer.
func TestShutdownDoesNotWaitForStuckCallbacks(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		stuck := w.method("stuck", false, func(context.Context, *addrspace.Call) error {
			<-release
			return nil
		})
		s := w.session()
		s.Start(callOf(objects, stuck))
		synctest.Wait()
		start := time.Now()
		w.cancel()
		<-w.served
		if took := time.Since(start); took < 4*time.Second || took > 5*time.Second {
			t.Errorf("the shutdown took %v", took)
		}
		w.served = nil
		close(release)
	})
}

// A session without requests ends after its time-out. Its subscriptions stay until
// their own lifetime is over, for a session that takes them over (Part 4, 5.7.2.1).
func TestSessionTimeout(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		p := w.dial()
		keep := p.Session() // keeps the channel
		req := p.CreateRequest()
		req.RequestedSessionTimeout = 20_000
		s := p.CreateSessionWith(req)
		expect(t, "activation", s.Activate(anonymous), ua.Good)
		subscribe(s, 1000)
		for range 5 { // each request counts
			time.Sleep(15 * time.Second)
			readValue(s, serverNode)
		}
		publish(s)
		waiting := s.Start(&ua.PublishRequest{})
		start := time.Now()
		for ; ; waiting = s.Start(&ua.PublishRequest{}) {
			if code := s.ResultOf(waiting); code != ua.Good {
				t.Fatalf("publishing keeps a session alive: %v after %v", code, time.Since(start))
			}
			if time.Since(start) > time.Minute {
				break
			}
		}
		readValue(s, serverNode)
		time.Sleep(19 * time.Second)
		if n := w.Stats().Sessions.Sessions; n != 2 {
			t.Errorf("%d sessions before the time-out", n)
		}
		readValue(keep, serverNode)
		time.Sleep(2 * time.Second)
		if stats := w.Stats(); stats.Sessions.Sessions != 1 || stats.Sessions.TimedOut != 1 || stats.Subscriptions.Orphans != 1 {
			t.Errorf("after the time-out: %+v, %+v", stats.Sessions, stats.Subscriptions)
		}
		expect(t, "using it", s.Result(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}}), ua.BadSessionIDInvalid)
		time.Sleep(1000 * time.Second)
		if stats := w.Stats().Subscriptions; stats.Subscriptions+stats.Orphans != 0 {
			t.Errorf("after the subscription's lifetime: %+v", stats)
		}
	})
}

// A session that is never activated ends after 30 s, and with its channel at once
// (threats T1 and U7).
func TestUnactivatedSessionsEnd(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		p := w.dial()
		p.Session()
		s := p.CreateSession()
		time.Sleep(29 * time.Second)
		if n := w.Stats().Sessions.Sessions; n != 2 {
			t.Errorf("%d sessions", n)
		}
		time.Sleep(2 * time.Second)
		expect(t, "activation after 31 s", s.Activate(anonymous), ua.BadSessionIDInvalid)

		lost := w.dial()
		lost.CreateSession()
		lost.Conn.Close()
		synctest.Wait()
		if n := w.Stats().Sessions.Sessions; n != 1 {
			t.Errorf("%d sessions", n)
		}
	})
}

// When there is no place for a session, the oldest that was never activated makes
// room; activated ones never do (threat U7).
func TestTooManySessions(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		p := w.dial()
		active := []*rawpeer.Session{p.Session(), p.Session()}
		oldest, newer := p.CreateSession(), p.CreateSession()
		newest := p.CreateSession() // the fifth of four
		expect(t, "the oldest", oldest.Activate(anonymous), ua.BadSessionIDInvalid)
		expect(t, "the newer", newer.Activate(anonymous), ua.Good)
		expect(t, "the newest", newest.Activate(anonymous), ua.Good)
		expect(t, "a fifth", (&rawpeer.Session{Peer: p}).Result(p.CreateRequest()), ua.BadTooManySessions)
		for _, s := range append(active, newer, newest) {
			readValue(s, serverNode)
		}
		newest.Close()
		p.Session()
	}, func(c *uahive.Config) { c.Limits.Sessions = 4 })
}

// When there is no place for a connection, the oldest without an activated
// session makes room; where all have one, the new connection is refused (Part 4,
// 5.6.2, and Part 2, 5.1.2.3). Threat T2.
func TestTooManyConnections(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		active := []*rawpeer.Session{w.session(), w.session()}
		oldest := w.dial()
		newer := w.dial()
		newest := w.dial() // the fifth of four
		expect(t, "the oldest", oldest.Refusal(), ua.BadTcpServerTooBusy)
		active = append(active, newer.Session(), newest.Session())
		p := w.bare(rawpeer.Config{})
		expect(t, "a fifth", p.Refusal(), ua.BadTcpServerTooBusy)
		for _, s := range active {
			readValue(s, serverNode)
		}
	}, func(c *uahive.Config) { c.Limits.Channels.Channels = 4 })
}

// Cancel answers parked Publish requests of the session with that handle
// (Part 4, 5.7.5).
func TestCancelOfPublish(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s, other := w.session(), w.session()
		subscribe(s, 10_000)
		subscribe(other, 10_000)
		start := func(s *rawpeer.Session, handle uint32) uint32 {
			req := &ua.PublishRequest{}
			req.RequestHeader.RequestHandle = handle
			return s.Start(req)
		}
		ids := []uint32{start(s, 500), start(s, 501), start(s, 500)}
		foreign := start(other, 500)
		expect(t, "Cancel", cancelOf(t, s, 500, 2), ua.Good)
		expect(t, "cancelled", s.ResultOf(ids[0]), ua.BadRequestCancelledByClient)
		expect(t, "cancelled", s.ResultOf(ids[2]), ua.BadRequestCancelledByClient)
		expect(t, "another handle", s.ResultOf(ids[1]), ua.Good)
		expect(t, "another session", other.ResultOf(foreign), ua.Good)
	})
}

// A panic of the program's Authenticate refuses that one activation.
func TestAuthenticatePanics(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.dial().CreateSession()
		if code := s.Activate(named(t, s, "panic", "x")); !code.IsBad() {
			t.Errorf("%v", code)
		}
		expect(t, "the next activation", s.Activate(named(t, s, "ann", "x")), ua.Good)
	}, func(c *uahive.Config) {
		c.Authenticate = func(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
			if c.UserName == "panic" {
				panic("a bug of the program")
			}
			return &uahive.User{Name: c.UserName}, nil
		}
	})
}

// Several requests of one session and its end in one segment: all are answered,
// nothing breaks (threat R1).
func TestPublishAndCloseSessionInOneSegment(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		for range 20 {
			s := w.session()
			subscribe(s, 100)
			var all []byte
			var ids []uint32
			for _, req := range []ua.Request{
				&ua.PublishRequest{}, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}},
				&ua.CloseSessionRequest{DeleteSubscriptions: true}, &ua.PublishRequest{}, &ua.CreateSubscriptionRequest{},
			} {
				ids = append(ids, s.NextID())
				all = append(all, s.Seal(uasc.TypeMessage, ids[len(ids)-1], s.Prepare(s.Token, req))...)
			}
			s.Write(all)
			if code := s.ResultOf(ids[0]); code != ua.BadSessionClosed && code != ua.BadNoSubscription {
				t.Errorf("the parked Publish: %v", code)
			}
			expect(t, "Read", s.ResultOf(ids[1]), ua.Good)
			expect(t, "CloseSession", s.ResultOf(ids[2]), ua.Good)
			for _, id := range ids[3:] {
				s.Wait(id) // answered one way or the other
			}
			s.Conn.Close()
		}
		synctest.Wait()
		if stats := w.Stats(); stats.Sessions.Sessions != 0 || stats.Subscriptions.Subscriptions != 0 {
			t.Errorf("left: %+v", stats)
		}
	})
}

// ActivateSession and CloseSession in one segment are served one after the other
// (threat R7: the nonce of one was used by two).
func TestConcurrentActivations(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		own := clientPKI(t, clientKey())
		s := w.dialWith(w.secure(own, uasc.ModeSign)).CreateSession()
		var all []byte
		var ids []uint32
		for range 5 { // all signed over the same nonce
			ids = append(ids, s.NextID())
			all = append(all, s.Seal(uasc.TypeMessage, ids[len(ids)-1], s.Prepare(s.Token, s.ActivateRequest(anonymous)))...)
		}
		closing := s.NextID()
		all = append(all, s.Seal(uasc.TypeMessage, closing, s.Prepare(s.Token, &ua.CloseSessionRequest{}))...)
		s.Write(all)
		good := 0
		for _, id := range ids {
			switch code := s.ResultOf(id); code {
			case ua.Good:
				good++
			case ua.BadApplicationSignatureInvalid, ua.BadSessionClosed, ua.BadSessionIDInvalid:
			default:
				t.Errorf("activation: %v", code)
			}
		}
		if good > 1 {
			t.Errorf("%d activations with one nonce", good)
		}
		expect(t, "CloseSession", s.ResultOf(closing), ua.Good)
	})
}
