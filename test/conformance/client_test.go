package conformance

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

// line is the way from a client to a server, which a test can cut.
type line struct {
	mu     sync.Mutex
	dialer func() (net.Conn, error)
	conns  []net.Conn
}

func (l *line) dial(context.Context, string, string) (net.Conn, error) {
	l.mu.Lock()
	dialer := l.dialer
	l.mu.Unlock()
	conn, err := dialer()
	if err == nil {
		l.mu.Lock()
		l.conns = append(l.conns, conn)
		l.mu.Unlock()
	}
	return conn, err
}

// cut breaks all connections.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

// follow connects a client of this project and returns what it has seen of a
// value so far.
func follow(t *testing.T, w *world, l *line, config client.Config) (seen func() []int32, c *client.Client) {
	t.Helper()
	config.Dial = l.dial
	c, err := client.Connect(t.Context(), "opc.tcp://127.0.0.1:4840", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	sub, err := c.Subscribe(t.Context(), client.SubscriptionConfig{Interval: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var list []int32
	item := client.Value(w.node("v"))
	item.Queue, item.Sampling = 1000, -1
	_, err = sub.Monitor(t.Context(), func(change client.Change) {
		mu.Lock()
		defer mu.Unlock()
		if n, ok := ua.As[int32](change.Value.Value); ok {
			list = append(list, n)
		}
	}, item)
	if err != nil {
		t.Fatal(err)
	}
	return func() []int32 {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}, c
}

// Connections that break, again and again, cost the subscriber no value and
// bring none twice: the session is activated on a new channel, and what was not
// received is asked for again (Part 4, 5.14.1.1 and 6.7).
func TestNoValueIsLostOverBrokenConnections(t *testing.T) {
	for name, config := range map[string]func(w *world) client.Config{
		"None": func(*world) client.Config { return client.Config{Security: client.NoSecurity} },
		"SignAndEncrypt": func(w *world) client.Config {
			return client.Config{PKI: clientPKI(t, clientKey()), TrustAll: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world) {
				random := rand.New(rand.NewPCG(3, 4))
				v := w.variable("v", int32(0))
				l := &line{dialer: w.dialer}
				seen, _ := follow(t, w, l, config(w))
				const last = 2000
				for n := int32(1); n <= last; n++ {
					v.Store(ua.DataValue{Value: ua.VariantOf(n)})
					time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
					if random.IntN(100) == 0 {
						l.cut()
					}
				}
				time.Sleep(20 * time.Second)
				got := seen()
				for i, n := range got {
					if n != int32(i) {
						t.Fatalf("value %d came where %d was due, of %d", n, i, len(got))
					}
				}
				if len(got) != last+1 {
					t.Errorf("%d values came, of %d", len(got), last+1)
				}
			})
		})
	}
}

// A server that starts again is found again, with a new session and the same
// subscriptions.
func TestAServerThatStartsAgain(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		w.variable("v", int32(1))
		l := &line{dialer: w.dialer}
		seen, c := follow(t, w, l, client.Config{Security: client.NoSecurity})
		before := c.SessionID()
		time.Sleep(time.Second)
		w.stop()
		time.Sleep(10 * time.Second) // nobody is there

		again := newWorld(t)
		again.variable("v", int32(2))
		again.net = listen(again)
		l.mu.Lock()
		l.dialer = again.net.Dial
		l.mu.Unlock()
		time.Sleep(time.Minute)
		if got := seen(); !slices.Equal(got, []int32{1, 2}) {
			t.Errorf("saw %v", got)
		}
		if c.SessionID() == before {
			t.Error("the session is the old one")
		}
		again.Space().Node(again.node("v")).Variable().Store(ua.DataValue{Value: ua.VariantOf(int32(3))})
		time.Sleep(time.Second)
		if got := seen(); !slices.Equal(got, []int32{1, 2, 3}) {
			t.Errorf("saw %v", got)
		}
		c.Close(context.Background())
		synctest.Wait()
		if n := again.Stats().Sessions.Sessions; n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}
