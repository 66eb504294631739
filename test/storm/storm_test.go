//go:build storm

package storm

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

var (
	clients  = flag.Int("storm.clients", 200, "number of clients that connect at once")
	patience = flag.Duration("storm.timeout", 5*time.Second, "time after which a client gives an attempt up")
	limit    = flag.Duration("storm.limit", 3*time.Minute, "time in which all clients must be in")
)

func TestMain(m *testing.M) {
	if endpoint := os.Getenv(canaryOf); endpoint != "" {
		watch(endpoint)
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

// footprint is what the server's page says of it.
type footprint struct {
	OpenFiles     int            `json:"open_files"`
	ByKind        map[string]int `json:"goroutines_by_kind"`
	Channels      int            `json:"channels"`
	Sessions      int            `json:"sessions"`
	Subscriptions int            `json:"subscriptions"`
	Stats         uahive.Stats   `json:"stats"`
}

func look(t *testing.T, page string) (f footprint) {
	t.Helper()
	resp, err := http.Get(page)
	if err != nil {
		t.Error(err)
		return f
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&f); err != nil {
		t.Error(err)
	}
	return f
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
	store, err := pki.Memory(pki.Config{ApplicationURI: "urn:uahive:storm", AcceptAll: true})
	if err != nil {
		t.Fatal(err)
	}
	config := stormConfig(store)
	if config.Endpoints, err = client.Discover(t.Context(), endpoint, config); err != nil {
		t.Fatal(err)
	}
	return &crowd{endpoint: endpoint, config: config, others: make(map[string]int)}
}

func stormConfig(store *pki.Store) client.Config {
	return client.Config{
		Security: client.Security{Policy: "Basic256Sha256", Mode: ua.MessageSecurityModeSignAndEncrypt}, PKI: store,
		TrustAll: true, IgnoreHostname: true, AllowEndpointMismatch: true, ApplicationName: "storm",
		ConnectTimeout: *patience, SessionTimeout: 10 * time.Minute,
	}
}

// Thousands of clients that connect at once and retry end in exactly that many
// sessions, and nobody who was there before is disturbed.
func TestStorm(t *testing.T) {
	s := serve(t, *clients+100)
	before := look(t, s.page+"?gc")
	canary := newCanary(t, s.endpoint)
	quiet := look(t, s.page)
	w := newCrowd(t, s.endpoint)
	ctx, cancel := context.WithTimeout(t.Context(), *limit)
	defer cancel()

	// What the server holds while they come.
	var most, deepest int // sessions, and what waits in the lane
	var longest time.Duration
	ended, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			f := look(t, s.page)
			most, longest = max(most, f.Sessions), max(longest, f.Stats.Lane.Wait)
			deepest = max(deepest, f.Stats.Lane.Waiting)
			select {
			case <-ended:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	w.start = time.Now()
	var group sync.WaitGroup
	for range *clients {
		group.Go(func() { w.enter(ctx) })
	}
	group.Wait()
	took := time.Since(w.start)
	time.Sleep(time.Second) // of what timed out at the last moment
	close(ended)
	<-sampled
	full := look(t, s.page)
	lane := full.Stats.Lane
	slices.Sort(w.waits)
	t.Logf("%d of %d clients in after %.1f s: %d attempts, %d timed out, %d refused (%d with a hint)", len(w.in), *clients, took.Seconds(),
		w.attempts.Load(), w.timeouts.Load(), w.refused.Load(), w.hinted.Load())
	if n := len(w.waits); n > 0 {
		t.Logf("in after: median %v, p99 %v", w.waits[n/2].Round(time.Millisecond), w.waits[n*99/100].Round(time.Millisecond))
	}
	t.Logf("lane: %d operations of %v, %d refused, %d dropped; at most %d waiting, %v", lane.Worked-quiet.Stats.Lane.Worked,
		lane.Average.Round(time.Microsecond), lane.Refused, lane.Unheard, deepest, longest.Round(time.Millisecond))
	for text, n := range w.others {
		t.Logf("%d times: %s", n, text)
	}
	want := *clients + quiet.Sessions
	if len(w.in) != *clients || full.Sessions != want {
		t.Errorf("%d clients are in, and the server has %d sessions instead of %d", len(w.in), full.Sessions, want)
	}
	if most > want {
		t.Errorf("the server had %d sessions at a time, %d of %d clients", most, want, want)
	}
	if got := len(w.others); got > 0 {
		t.Errorf("%d kinds of other errors", got)
	}

	report := canary.end(t)
	t.Logf("canary: %d values, p50 %.0f ms, p99 %.0f ms, most %.0f ms; %d missing", report.Received, report.P50, report.P99, report.Most, report.Missing)
	if report.Missing != 0 || report.Received == 0 || report.P99 >= 1000 || report.Error != "" {
		t.Errorf("the session that was there before was disturbed: %+v", report)
	}
	w.leave()
	left := awaitEmpty(t, s.page, before)
	if left.Sessions != 0 || left.Channels != 0 || left.Subscriptions != 0 || left.OpenFiles > before.OpenFiles+2 {
		t.Errorf("left behind: %+v, before: %+v", left, before)
	}
	s.stop(t)
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

// awaitEmpty waits until the server has let go of everything.
func awaitEmpty(t *testing.T, page string, before footprint) (f footprint) {
	for range 100 {
		f = look(t, page+"?gc")
		if f.Sessions == 0 && f.Channels == 0 && f.OpenFiles <= before.OpenFiles+2 {
			return f
		}
		time.Sleep(100 * time.Millisecond)
	}
	return f
}

func (f footprint) String() string {
	return fmt.Sprintf("%d sessions, %d channels, %d subscriptions, %d files, goroutines %v", f.Sessions, f.Channels, f.Subscriptions, f.OpenFiles, f.ByKind)
}
