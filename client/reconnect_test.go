package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// collected gathers the values of changes.
type collected struct {
	mu   sync.Mutex
	list []int32
}

func (c *collected) add(ch Change) {
	v, _ := ua.As[int32](ch.Value.Value)
	c.mu.Lock()
	c.list = append(c.list, v)
	c.mu.Unlock()
}

func (c *collected) check(t *testing.T, want ...int32) {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.list, want) {
		t.Errorf("changes %v, want %v", c.list, want)
	}
}

func subscribe(t *testing.T, c *Client, cfg SubscriptionConfig) (*Subscription, *collected) {
	t.Helper()
	sub, err := c.Subscribe(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	got := new(collected)
	if _, err := sub.Monitor(context.Background(), got.add, Value(ua.NumericID(1, 7))); err != nil {
		t.Fatal(err)
	}
	return sub, got
}

// Part 4, 6.7: a new channel carries the session; what was sent in vain is
// fetched by Republish, nothing comes twice.
func TestBrokenConnectionKeepsSessionAndMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		var log eventLog
		cfg := p.secureConfig()
		cfg.OnEvent = log.add
		c := p.mustConnect(cfg)
		defer c.Close(context.Background())
		_, got := subscribe(t, c, SubscriptionConfig{})
		id := c.SessionID()
		p.notify(false, 1)
		p.notify(false, 2)
		synctest.Wait()
		p.notify(true, 3) // on its way when the connection breaks
		p.notify(true, 4)
		p.cut()
		time.Sleep(time.Second)
		got.check(t, 1, 2, 3, 4)
		p.notify(false, 5)
		got.check(t, 1, 2, 3, 4, 5)
		if c.SessionID() != id || log.String() != "connected, disconnected, session resumed" {
			t.Errorf("session %v, was %v; %s", c.SessionID(), id, log.String())
		}
		if s := c.Stats(); s.Reconnects != 1 || s.Republished != 2 || s.Lost != 0 {
			t.Errorf("%+v", s)
		}
		if n := p.count("CreateSubscription"); n != 1 {
			t.Errorf("%d subscriptions were created", n)
		}
	})
}

func TestLostSessionIsReplacedAndSubscriptionsTransferred(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		var log eventLog
		cfg := p.secureConfig()
		cfg.OnEvent = log.add
		c := p.mustConnect(cfg)
		defer c.Close(context.Background())
		_, got := subscribe(t, c, SubscriptionConfig{})
		p.notify(false, 1)
		synctest.Wait()
		p.notify(true, 2)
		p.forget(true)
		p.cut()
		time.Sleep(time.Second)
		got.check(t, 1, 2)
		p.notify(false, 3)
		got.check(t, 1, 2, 3)
		if log.String() != "connected, disconnected, session replaced" {
			t.Error(log.String())
		}
		if n := p.count("CreateSubscription"); n != 1 {
			t.Errorf("%d subscriptions were created", n)
		}
	})
}

func TestRestartedServerGetsSubscriptionsAndItemsAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		var log eventLog
		cfg := p.secureConfig()
		cfg.OnEvent = log.add
		c := p.mustConnect(cfg)
		defer c.Close(context.Background())
		sub, got := subscribe(t, c, SubscriptionConfig{Interval: 123 * time.Millisecond})
		before := sub.ID()
		p.notify(false, 1)
		synctest.Wait()
		p.forget(false)
		p.cut()
		time.Sleep(time.Second)
		synctest.Wait()
		if sub.ID() == before || sub.Interval() != 123*time.Millisecond {
			t.Errorf("subscription %d every %v", sub.ID(), sub.Interval())
		}
		p.notify(false, 2)
		got.check(t, 1, 2)
		if log.String() != "connected, disconnected, session replaced, subscription restored" {
			t.Error(log.String())
		}
		p.mu.Lock()
		items := p.subs[sub.ID()].items
		p.mu.Unlock()
		if len(items) != 1 || items[0].ItemToMonitor.NodeID != ua.NumericID(1, 7) {
			t.Errorf("items %v", items)
		}
	})
}

// A session that timed out while the connection held is noticed by the first
// answer that says so.
func TestSessionThatEndsUnderAConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.secureConfig())
		defer c.Close(context.Background())
		p.forget(false)
		if err := c.Ping(context.Background()); ua.StatusOf(err) != ua.BadSessionIDInvalid {
			t.Error(err)
		}
		if err := c.Ping(context.Background()); err != nil {
			t.Errorf("after the session was replaced: %v", err)
		}
	})
}

func TestRequestsInFlightFailAndNewOnesWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.on["Call"] = func(*peerRequest) ua.Structure { return nil }
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		p.refuse = func(n int) *uasc.ErrorMessage {
			if n < 6 {
				return &uasc.ErrorMessage{Code: ua.BadTcpInternalError}
			}
			return nil
		}
		failed := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), ua.NodeID{}, ua.NodeID{})
			failed <- err
		}()
		synctest.Wait()
		p.cut()
		err := <-failed
		var broken *ConnectionError
		if !errors.As(err, &broken) || ua.StatusOf(err) != ua.BadConnectionClosed {
			t.Errorf("request in flight: %v", err)
		}
		if err := c.Ping(context.Background()); err != nil {
			t.Errorf("new request: %v", err)
		}
		p.refuse = func(int) *uasc.ErrorMessage { return &uasc.ErrorMessage{Code: ua.BadTcpInternalError} }
		p.cut()
		synctest.Wait()
		if err := c.Send(stateRead, nil); !errors.Is(err, ErrNotConnected) {
			t.Errorf("Send: %v", err)
		}
		start := time.Now()
		if err := c.Ping(context.Background()); !errors.Is(err, ErrNotConnected) || time.Since(start) != 10*time.Second {
			t.Errorf("while away: %v after %v", err, time.Since(start))
		}
	})
}

func TestDeadPeerIsNoticedByTheKeepAlive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		p.mu.Lock()
		p.mute = true
		p.mu.Unlock()
		time.Sleep(15 * time.Second)
		p.mu.Lock()
		p.mute = false
		p.mu.Unlock()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := c.Stats().Reconnects; n != 1 {
			t.Errorf("%d reconnects", n)
		}
	})
}

func TestBusyServerIsLeftAloneForAsLongAsItSays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		var tries []time.Duration
		var broken time.Time
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		p.refuse = func(int) *uasc.ErrorMessage {
			tries = append(tries, time.Since(broken))
			if len(tries) < 3 {
				return &uasc.ErrorMessage{Code: ua.BadTcpServerTooBusy, Reason: "too many connections; retry-after=20s"}
			}
			return nil
		}
		broken = time.Now()
		p.cut()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if len(tries) < 3 || tries[1]-tries[0] < 20*time.Second || tries[2]-tries[1] < 20*time.Second || tries[2] > time.Minute {
			t.Errorf("tried after %v", tries)
		}
		if err := c.Ping(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestReconnectEndsAfterTheConfiguredAttempts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		var log eventLog
		cfg := p.config()
		cfg.OnEvent = log.add
		cfg.Reconnect.Attempts = 3
		c := p.mustConnect(cfg)
		sub, _ := subscribe(t, c, SubscriptionConfig{})
		p.refuse = func(int) *uasc.ErrorMessage { return &uasc.ErrorMessage{Code: ua.BadTcpInternalError} }
		p.cut()
		time.Sleep(time.Minute)
		synctest.Wait()
		if log.String() != "connected, disconnected, attempt failed, attempt failed, closed" {
			t.Error(log.String())
		}
		if err := c.Ping(context.Background()); !errors.Is(err, ErrClosed) || ua.StatusOf(err) != ua.BadTcpInternalError {
			t.Error(err)
		}
		<-sub.Done()
		if !errors.Is(sub.Err(), ErrClosed) {
			t.Error(sub.Err())
		}
	})
}

func TestReconnectCanBeDisabled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		cfg := p.config()
		cfg.Reconnect.Disabled = true
		c := p.mustConnect(cfg)
		p.cut()
		synctest.Wait()
		if err := c.Ping(context.Background()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

func TestCloseEndsReconnecting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.config())
		p.refuse = func(int) *uasc.ErrorMessage { return &uasc.ErrorMessage{Code: ua.BadTcpInternalError} }
		p.cut()
		time.Sleep(5 * time.Second)
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// The server may come back with a new certificate.
func TestReconnectDiscoversAgainWhenTheServerChanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.secureConfig())
		defer c.Close(context.Background())
		p.mu.Lock()
		p.endpoints = slices.Delete(slices.Clone(p.endpoints), len(p.endpoints)-1, len(p.endpoints))
		p.mu.Unlock()
		p.forget(false)
		p.cut()
		time.Sleep(5 * time.Second)
		if err := c.Ping(context.Background()); err != nil {
			t.Error(err)
		}
		if e := c.Endpoint(); e.SecurityMode != ua.MessageSecurityModeSign {
			t.Errorf("endpoint %v %v", e.SecurityPolicyURI, e.SecurityMode)
		}
	})
}

func TestConnectHonoursItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		far := make(chan net.Conn, 10)
		cfg := p.config()
		cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
			a, b := net.Pipe()
			far <- b
			return a, nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := Connect(ctx, peerURL, cfg); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		cfg.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, fmt.Errorf("no route") }
		var broken *ConnectionError
		if _, err := Connect(context.Background(), peerURL, cfg); !errors.As(err, &broken) || broken.Op != opDial {
			t.Error(err)
		}
	})
}

// A Publish before the transfer would be answered BadNoSubscription. A
// connection that breaks during the transfer leaves it to the next one.
func TestPublishWaitsForTheTransferWhichMayTakeTwoAttempts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		sub, got := subscribe(t, c, SubscriptionConfig{})
		id := sub.ID()
		synctest.Wait()
		before := p.count("Publish")
		p.handle("TransferSubscriptions", func(*peerRequest) ua.Structure { return nil })
		p.forget(true)
		p.cut()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := p.count("Publish"); n != before || p.count("TransferSubscriptions") != 1 {
			t.Errorf("%d Publish requests before the transfer", n-before)
		}
		p.handle("TransferSubscriptions", nil)
		p.cut()
		time.Sleep(2 * time.Second)
		p.notify(false, 1)
		got.check(t, 1)
		if sub.ID() != id || p.count("TransferSubscriptions") != 2 || p.count("CreateSession") != 2 {
			t.Errorf("subscription %d, was %d; %d transfers in %d sessions", sub.ID(), id,
				p.count("TransferSubscriptions"), p.count("CreateSession"))
		}
	})
}

// One BadNoSubscription may have crossed the creation of a subscription; one
// that goes on says that the server has lost it.
func TestServerThatLostItsSubscriptions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		sub, got := subscribe(t, c, SubscriptionConfig{})
		id := sub.ID()
		time.Sleep(time.Second)
		synctest.Wait()
		p.mu.Lock()
		clear(p.subs)
		for _, s := range p.sessions {
			for _, r := range s.parked {
				go r.reply(refusal(ua.BadNoSubscription))
			}
			s.parked = nil
		}
		p.mu.Unlock()
		p.handle("Publish", func(r *peerRequest) ua.Structure {
			p.mu.Lock()
			none := len(p.subs) == 0
			p.mu.Unlock()
			if none {
				return refusal(ua.BadNoSubscription)
			}
			return p.serve(r)
		})
		time.Sleep(5 * time.Second)
		p.notify(false, 1)
		got.check(t, 1)
		if sub.ID() == id || p.count("CreateSubscription") != 2 {
			t.Errorf("%d subscriptions created", p.count("CreateSubscription"))
		}
	})
}
