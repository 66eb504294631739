//go:build faults && linux

package faults

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/loadproc"
)

var deaf = flag.Int("faults.deaf", 10, "number of clients that stop reading, among as many that go on")

const (
	// The deaf watch an array of 256 KiB: the 20 notifications that they asked for
	// are more than the 2.6 MB that the kernel queues for a connection within the
	// machine, so that the server notices.
	arrayElements = 64 << 10
	publishes     = 20
	arrayPeriod   = 500 * time.Millisecond
	// writeTimeout is the server's for a peer that takes nothing.
	writeTimeout = 10 * time.Second
)

var array = ua.NumericID(1, 2001)

// Clients that do not read what they asked for are thrown out when the write
// time-out is over, and nobody else is: neither those who get the same, nor those
// who get something else.
func TestOnlyClientsThatStopReadingAreClosed(t *testing.T) {
	t.Parallel()
	s := begin(t, 2**deaf+1, loadproc.ServerConfig{Args: []string{"-array-sizes", fmt.Sprint(arrayElements)}})
	config, err := loadproc.ClientConfig("hearing")
	if err != nil {
		t.Fatal(err)
	}
	config.Reconnect.Disabled = true
	ctx := t.Context()
	writer, err := client.Connect(ctx, s.Endpoint, config)
	if err != nil {
		t.Fatal(err)
	}
	hearing := listen(t, s.Endpoint, config, *deaf)
	r, err := newRaw(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	// The session outlives the connection, so that it is the connection's time-out
	// that is seen.
	r.receive, r.timeout = 4<<10, 2*writeTimeout
	for range *deaf {
		watch(r.session(t), array, arrayPeriod, publishes) // and reads nothing any more
	}
	s.Await(t, 5*time.Second, func(f loadproc.Footprint) string {
		return more(2**deaf+1-(f.Channels-s.before.Channels), "clients to wait for")
	})

	start := time.Now()
	stop, written := make(chan struct{}), make(chan int64)
	go func() { // ends with stop
		tick := time.NewTicker(arrayPeriod)
		defer tick.Stop()
		values := make([]int32, arrayElements)
		for n := int64(1); ; n++ {
			values[0] = int32(n)
			if err := writer.WriteValue(ctx, array, values); err != nil {
				t.Error(err)
			}
			select {
			case <-tick.C:
			case <-stop:
				written <- n
				return
			}
		}
	}()
	// A notification that nobody takes waits to be sent, and waits for Republish:
	// it may be in memory twice, but not more often.
	time.Sleep(writeTimeout)
	waiting := s.LookClean(t)
	each := int64(waiting.HeapBytes-s.before.HeapBytes) / int64(*deaf)
	t.Logf("a client that does not read takes %d KiB of heap, and asked for %d KiB", each>>10, publishes*arrayElements*4>>10)
	if each > 2*publishes*arrayElements*4 {
		t.Errorf("a client that does not read takes %d bytes of heap", each)
	}
	var first, last time.Duration
	closed := s.Await(t, 3*writeTimeout, func(f loadproc.Footprint) string {
		last = time.Since(start)
		if f.Stats.Channels.SlowClosed > 0 && first == 0 {
			first = last
		}
		return more(*deaf-int(f.Stats.Channels.SlowClosed), "clients that do not read")
	})
	t.Logf("%d of %d clients stopped reading; thrown out from %.1f s to %.1f s after the first value: %v", *deaf, 2**deaf, first.Seconds(), last.Seconds(), closed)
	if first < writeTimeout {
		t.Errorf("a client was thrown out after %v, before the write time-out of %v", first, writeTimeout)
	}
	freed := s.Await(t, 2*writeTimeout+5*time.Second, func(f loadproc.Footprint) string {
		return more(f.Sessions-s.before.Sessions-*deaf-1, "sessions of clients that do not read") +
			more(f.Subscriptions-s.before.Subscriptions-*deaf, "subscriptions of clients that do not read")
	})
	if got := int(freed.Stats.Channels.SlowClosed); got != *deaf || freed.Sessions-s.before.Sessions != *deaf+1 {
		t.Errorf("%d channels were closed for their peers' slowness, and %d clients did not read: %v", got, *deaf, freed)
	}
	t.Logf("after %.1f s without their sessions: %v", time.Since(start).Seconds(), freed)
	close(stop)
	hearing.check(t, <-written)
	if err := writer.Close(ctx); err != nil {
		t.Error(err)
	}
	s.end(t, 2**deaf+1)
}

// audience is clients that read.
type audience struct {
	clients []*client.Client
	mu      sync.Mutex
	heard   []loadproc.Follower
}

func listen(t *testing.T, endpoint string, config client.Config, n int) *audience {
	t.Helper()
	a := &audience{heard: make([]loadproc.Follower, n)}
	ctx := t.Context()
	for i := range n {
		c, err := client.Connect(ctx, endpoint, config)
		if err != nil {
			t.Fatal(err)
		}
		a.clients = append(a.clients, c)
		sub, err := c.Subscribe(ctx, client.SubscriptionConfig{Interval: arrayPeriod, Inline: true})
		if err != nil {
			t.Fatal(err)
		}
		seen := func(ch client.Change) {
			if values, ok := ua.As[[]int32](ch.Value.Value); ok && len(values) == arrayElements && values[0] > 0 {
				a.mu.Lock()
				a.heard[i].Take(int64(values[0]))
				a.mu.Unlock()
			}
		}
		if _, err := sub.Monitor(ctx, seen, client.MonitorItem{Node: array, Queue: 10, Sampling: -1}); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// check waits for the last value, and fails the test where one is missing.
func (a *audience) check(t *testing.T, last int64) {
	t.Helper()
	time.Sleep(3 * arrayPeriod)
	for i, c := range a.clients {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("client %d: %v", i, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t.Logf("%d clients that read got %d arrays each", len(a.heard), last)
	for i := range a.heard {
		f := &a.heard[i]
		f.End(last)
		if f.Missing+f.Repeated+f.Disordered > 0 {
			t.Errorf("client %d: %+v", i, *f)
		}
	}
}
