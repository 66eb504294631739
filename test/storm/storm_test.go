//go:build storm

package storm

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/loadproc"
)

var (
	clients  = flag.Int("storm.clients", 200, "number of clients that connect at once")
	patience = flag.Duration("storm.timeout", 5*time.Second, "time after which a client gives an attempt up")
	limit    = flag.Duration("storm.limit", 3*time.Minute, "time in which all clients must be in")
)

func TestMain(m *testing.M) {
	loadproc.Play(nil)
	flag.Parse()
	os.Exit(m.Run())
}

// crowd is the clients and what they met.
type crowd struct {
	endpoint string
	config   client.Config
	start    time.Time

	attempts, timeouts, refused, hinted atomic.Int64
	mu                                  sync.Mutex
	others                              map[string]int // other errors
	in                                  []*client.Client
	waits                               []time.Duration // from the start until in
}

// enter connects one client, which tries again as real ones do: after a time that
// the server said, or a short one that grows.
func (w *crowd) enter(ctx context.Context) {
	pause := 200 * time.Millisecond
	for ctx.Err() == nil {
		w.attempts.Add(1)
		attempt, cancel := context.WithTimeout(ctx, *patience)
		c, err := client.Connect(attempt, w.endpoint, w.config)
		late := attempt.Err() != nil
		cancel()
		if err == nil {
			w.mu.Lock()
			w.in = append(w.in, c)
			w.waits = append(w.waits, time.Since(w.start))
			w.mu.Unlock()
			return
		}
		wait := pause/2 + rand.N(pause)
		pause = min(2*pause, 5*time.Second)
		hint, hinted := client.RetryAfter(err)
		code := ua.StatusOf(err).Code()
		switch {
		case hinted:
			w.hinted.Add(1)
			w.refused.Add(1)
			wait = hint + rand.N(hint/8)
		case code == ua.BadServerTooBusy || code == ua.BadTcpServerTooBusy:
			w.refused.Add(1)
		case late:
			w.timeouts.Add(1)
		default:
			w.mu.Lock()
			w.others[err.Error()]++
			w.mu.Unlock()
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

func newCrowd(t *testing.T, endpoint string) *crowd {
	t.Helper()
	config, err := loadproc.ClientConfig("storm")
	if err != nil {
		t.Fatal(err)
	}
	config.ConnectTimeout = *patience
	if config.Endpoints, err = client.Discover(t.Context(), endpoint, config); err != nil {
		t.Fatal(err)
	}
	return &crowd{endpoint: endpoint, config: config, others: make(map[string]int)}
}

// Thousands of clients that connect at once and retry end in exactly that many
// sessions, and nobody who was there before is disturbed.
func TestStorm(t *testing.T) {
	s := loadproc.Serve(t, loadproc.ServerConfig{Sessions: *clients + 100})
	before := s.LookClean(t)
	canary := loadproc.NewCanary(t, loadproc.CanaryConfig{Endpoint: s.Endpoint, Patience: *patience})
	quiet := s.Look(t)
	w := newCrowd(t, s.Endpoint)
	ctx, cancel := context.WithTimeout(t.Context(), *limit)
	defer cancel()

	stop := s.Sample(t, 100*time.Millisecond) // what the server holds while they come
	w.start = time.Now()
	var group sync.WaitGroup
	for range *clients {
		group.Go(func() { w.enter(ctx) })
	}
	group.Wait()
	took := time.Since(w.start)
	time.Sleep(time.Second) // of what timed out at the last moment
	most := stop()
	full := s.Look(t)
	lane := full.Stats.Lane
	slices.Sort(w.waits)
	t.Logf("%d of %d clients in after %.1f s: %d attempts, %d timed out, %d refused (%d with a hint)", len(w.in), *clients, took.Seconds(),
		w.attempts.Load(), w.timeouts.Load(), w.refused.Load(), w.hinted.Load())
	if n := len(w.waits); n > 0 {
		t.Logf("in after: median %v, p99 %v", w.waits[n/2].Round(time.Millisecond), w.waits[n*99/100].Round(time.Millisecond))
	}
	t.Logf("lane: %d operations of %v, %d refused, %d dropped; at most %d waiting, %v", lane.Worked-quiet.Stats.Lane.Worked,
		lane.Average.Round(time.Microsecond), lane.Refused, lane.Unheard, most.Stats.Lane.Waiting, most.Stats.Lane.Wait.Round(time.Millisecond))
	for text, n := range w.others {
		t.Logf("%d times: %s", n, text)
	}
	want := *clients + quiet.Sessions
	if len(w.in) != *clients || full.Sessions != want {
		t.Errorf("%d clients are in, and the server has %d sessions instead of %d", len(w.in), full.Sessions, want)
	}
	if most.Sessions > want {
		t.Errorf("the server had %d sessions at a time, %d of %d clients", most.Sessions, want, want)
	}
	if got := len(w.others); got > 0 {
		t.Errorf("%d kinds of other errors", got)
	}

	canary.End(t, time.Second)
	w.leave()
	left := s.Returned(t, before, want)
	t.Logf("before: %v", before)
	t.Logf("after:  %v", left)
	s.Stop(t, 5*time.Second)
}

// leave closes all clients, some at a time.
func (w *crowd) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	next := make(chan *client.Client)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for c := range next {
				_ = c.Close(ctx)
			}
		})
	}
	for _, c := range w.in {
		next <- c
	}
	close(next)
	group.Wait()
}
