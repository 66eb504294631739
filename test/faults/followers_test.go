//go:build faults && linux

package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/loadproc"
)

func init() { roles["followers"] = loadproc.Role(follow) }

// followers is the configuration of a process with real clients, each with a
// secure session and a subscription to variables that the canary writes.
type followers struct {
	loadproc.Place `json:"-"`
	Endpoint       string
	Clients, Items int
	Interval       time.Duration // of publishing
	Session        time.Duration // until the server gives a silent session up
	KeepAlive      time.Duration
	Connect        time.Duration // for one attempt
	Reconnect      bool
	Lifetime       time.Duration // of the subscriptions; 0: as long as the session
}

// flock is such a process.
type flock struct{ *loadproc.Child }

// flockReady is how long connecting takes at most.
const flockReady = 80 * time.Second

func newFlock(t *testing.T, config followers) flock {
	t.Helper()
	f := startFlock(t, config)
	f.Expect(t, "ready", flockReady)
	return f
}

// startFlock is newFlock for those that start several at once.
func startFlock(t *testing.T, config followers) flock {
	t.Helper()
	return flock{loadproc.Start(t, config.Place, "followers", config)}
}

// told is what a process with followers reports.
type told struct {
	Alive    int // clients whose session answered at the end
	Received int
	loadproc.Follower
	Unfinished                                            int // items that have not come to the end
	Reconnects, Republished, Lost, Duplicates, KeepAlives uint64
	Events                                                map[string]int
	Why                                                   map[string]int // clients were disconnected
	Call                                                  string         // the error of the call that was asked for
	CallTook                                              time.Duration
	Since                                                 int // values since a session was replaced last
}

func (r told) String() string {
	return fmt.Sprintf("%d values, %d missing, %d repeated, %d out of order, %d items without the last; %d reconnects, %d messages republished, %d lost, %d twice",
		r.Received, r.Missing, r.Repeated, r.Disordered, r.Unfinished, r.Reconnects, r.Republished, r.Lost, r.Duplicates)
}

// complete fails the test when a follower missed something.
func (r told) complete(t *testing.T, who string) {
	t.Helper()
	t.Logf("%s: %v", who, r)
	if r.Missing+r.Repeated+r.Disordered > 0 || r.Unfinished > 0 || r.Received == 0 {
		t.Errorf("%s did not see every value in order", who)
	}
}

// end says what was written last, waits for it, and ends the process.
func (f flock) end(t *testing.T, last int64) (r told) {
	t.Helper()
	f.Tell(t, "end %d", last)
	f.Read(t, time.Minute, &r)
	if err := f.Wait(t, time.Minute); err != nil {
		t.Errorf("the followers end with %v: %s", err, f.Errors())
	}
	return r
}

// lastWritten is what the canary has written last. It has ended.
func lastWritten(t *testing.T, endpoint string) int64 {
	t.Helper()
	config, err := loadproc.ClientConfig("looker")
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Connect(t.Context(), endpoint, config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	v, err := c.ReadValue(t.Context(), loadproc.Variable(0))
	if err != nil {
		t.Fatal(err)
	}
	n, _ := ua.As[int32](v.Value)
	return int64(n)
}

// leaders is the state of the process with followers.
type leaders struct {
	config  followers
	clients []*client.Client

	mu       sync.Mutex
	items    []loadproc.Follower
	received int
	events   map[string]int
	why      map[string]int
	since    int // values since a session was replaced last
}

func follow(config followers) error {
	l := &leaders{config: config, items: make([]loadproc.Follower, config.Clients*config.Items), events: make(map[string]int), why: make(map[string]int)}
	if err := l.connect(); err != nil {
		return err
	}
	fmt.Println("ready")
	var r told
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "call":
			l.call(&r)
		case "look":
			seen := r
			l.collect(&seen)
			if err := json.NewEncoder(os.Stdout).Encode(seen); err != nil {
				return err
			}
		case "end":
			last, err := strconv.ParseInt(rest, 10, 64)
			if err != nil {
				return err
			}
			l.finish(&r, last)
			return json.NewEncoder(os.Stdout).Encode(r)
		default:
			return fmt.Errorf("there is no command %q", word)
		}
	}
	return errors.New("the test has gone")
}

// connectors is how many clients connect at once. The server has one core for
// that, and the clients the other.
const connectors = 8

func (l *leaders) connect() error {
	config, err := loadproc.ClientConfig("follower")
	if err != nil {
		return err
	}
	ctx := context.Background()
	config.SessionTimeout, config.KeepAlive, config.ConnectTimeout = l.config.Session, l.config.KeepAlive, l.config.Connect
	config.Reconnect = client.Backoff{Disabled: !l.config.Reconnect, Max: 2 * time.Second}
	config.OnEvent = l.happened
	if config.Endpoints, err = client.Discover(ctx, l.config.Endpoint, config); err != nil {
		return err
	}
	l.clients = make([]*client.Client, l.config.Clients)
	failed := make(chan error, connectors)
	next := make(chan int)
	var group sync.WaitGroup
	for range connectors {
		group.Go(func() {
			for k := range next {
				if err := l.begin(ctx, k, config); err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			}
		})
	}
	for k := range l.clients {
		next <- k
	}
	close(next)
	group.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// begin connects a client and lets it watch its variables.
func (l *leaders) begin(ctx context.Context, k int, config client.Config) error {
	c, err := client.Connect(ctx, l.config.Endpoint, config)
	if err != nil {
		return err
	}
	l.clients[k] = c
	sub, err := c.Subscribe(ctx, client.SubscriptionConfig{
		Interval: l.config.Interval, LifetimeCount: uint32(l.config.Lifetime / l.config.Interval), Inline: true,
	})
	if err != nil {
		return err
	}
	wanted := make([]client.MonitorItem, l.config.Items)
	for i := range wanted {
		n := k*l.config.Items + i
		wanted[i] = client.MonitorItem{Node: loadproc.Variable(n % 100), Tag: n, Queue: 2000, Sampling: -1}
	}
	_, err = sub.Monitor(ctx, l.seen, wanted...)
	return err
}

// seen takes a change.
func (l *leaders) seen(c client.Change) {
	n, _ := ua.As[int32](c.Value.Value)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items[c.Item.Tag.(int)].Take(int64(n))
	l.received++
	l.since++
}

// happened takes an event of a client.
func (l *leaders) happened(e client.Event) {
	if e.Kind == client.Connected {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events[e.Kind.String()]++
	if e.Kind == client.Disconnected && e.Err != nil {
		l.why[e.Err.Error()]++
	}
	if e.Kind == client.Replaced {
		l.since = 0
	}
}

// call makes the first client call the server, and keeps what that said.
func (l *leaders) call(r *told) {
	began := time.Now()
	if err := l.clients[0].Ping(context.Background()); err != nil {
		r.Call = err.Error()
	}
	r.CallTook = time.Since(began)
}

// collect adds up what was seen.
func (l *leaders) collect(r *told) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Received, r.Since, r.Events, r.Why = l.received, l.since, l.events, l.why
	for _, f := range l.items {
		r.Missing += f.Missing
		r.Repeated += f.Repeated
		r.Disordered += f.Disordered
	}
	for _, c := range l.clients {
		s := c.Stats()
		r.Reconnects += s.Reconnects
		r.Republished += s.Republished
		r.Lost += s.Lost
		r.Duplicates += s.Duplicates
		r.KeepAlives += s.KeepAlives
	}
}

// settled is how long the last values may be on their way.
const settled = 20 * time.Second

// finish waits for the last values, adds up what was seen, and closes the
// clients.
func (l *leaders) finish(r *told, last int64) {
	for end := time.Now().Add(settled); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if l.unfinished(last) == 0 {
			break
		}
	}
	r.Unfinished = l.unfinished(last)
	l.collect(r)
	ctx, cancel := context.WithTimeout(context.Background(), settled)
	defer cancel()
	for _, c := range l.clients {
		if c.Ping(ctx) == nil {
			r.Alive++
		}
		_ = c.Close(ctx)
	}
}

func (l *leaders) unfinished(last int64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, f := range l.items {
		if f.Last != last {
			n++
		}
	}
	return n
}
