//go:build storm

package storm

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/loadproc"
)

// crowdRole is a process with many clients.
const crowdRole = "crowd"

// crowdConfig says what a process of clients does.
type crowdConfig struct {
	Endpoint string
	Clients  int
	Patience time.Duration // after which an attempt is given up
	Limit    time.Duration // in which all must be in
	Sealing  int           // how many clients prepare a request to open a channel at once
}

// crowdReport is what the clients of a process met. Times are in ms.
type crowdReport struct {
	In, Attempts, Timeouts, Refused, Hinted int
	Others                                  map[string]int // other errors
	Waits                                   []float64      // from the start until in
	Refusals                                []float64      // from the beginning of an attempt until it was refused
	// Usable is how many of them could read a value when all were in, and Lost how
	// many connections broke.
	Usable, Lost int
}

// add takes the report of another process in.
func (r *crowdReport) add(o crowdReport) {
	r.In += o.In
	r.Attempts += o.Attempts
	r.Timeouts += o.Timeouts
	r.Refused += o.Refused
	r.Hinted += o.Hinted
	r.Usable += o.Usable
	r.Lost += o.Lost
	for text, n := range o.Others {
		r.Others[text] += n
	}
	r.Waits = append(r.Waits, o.Waits...)
	r.Refusals = append(r.Refusals, o.Refusals...)
}

// crowd is the clients of one process.
type crowd struct {
	crowdConfig
	config  client.Config
	gate    chan struct{} // holds one for each client that prepares its request
	start   time.Time
	leaving atomic.Bool

	mu sync.Mutex
	// Guarded by mu.
	report crowdReport
	in     []*client.Client
}

// rush is the process. It says when it is ready, lets all its clients connect
// when it is told a line, reports, and lets them leave when its standard input
// ends.
func rush(config crowdConfig) error {
	w := &crowd{crowdConfig: config, gate: make(chan struct{}, config.Sealing), report: crowdReport{Others: make(map[string]int)}}
	var err error
	if w.config, err = loadproc.ClientConfig("storm"); err != nil {
		return err
	}
	w.config.ConnectTimeout = config.Limit // patience counts from the dialling
	w.config.Reconnect.Disabled = true     // a connection that breaks later is a fault
	w.config.OnEvent = func(e client.Event) {
		if e.Kind == client.Closed && e.Err != nil && !w.leaving.Load() {
			w.mu.Lock()
			w.report.Lost++
			w.mu.Unlock()
		}
	}
	if w.config.Endpoints, err = client.Discover(context.Background(), config.Endpoint, w.config); err != nil {
		return err
	}
	w.config.Dial = w.dial
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), config.Limit)
	defer cancel()
	w.start = time.Now()
	var group sync.WaitGroup
	for range config.Clients {
		group.Go(func() { w.enter(ctx) })
	}
	group.Wait()
	fmt.Println("over")
	w.use()
	w.mu.Lock()
	err = json.NewEncoder(os.Stdout).Encode(w.report)
	w.mu.Unlock()
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, in)
	w.leaving.Store(true)
	w.each(func(ctx context.Context, c *client.Client) { _ = c.Close(ctx) })
	return nil
}

// enter connects one client, which tries again as real ones do: after a time that
// the server said, or a short one that grows.
func (w *crowd) enter(ctx context.Context) {
	pause := 200 * time.Millisecond
	for ctx.Err() == nil {
		a := &attempt{gate: w.gate}
		a.Context, a.cancel = context.WithCancel(ctx)
		c, err := client.Connect(a, w.Endpoint, w.config)
		late := a.Err() != nil
		a.end()
		if wait := w.result(c, err, late, a.began, &pause); wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
			continue
		}
		return
	}
}

// result counts an attempt, and returns when to make the next one: 0 for never,
// since it was the last.
func (w *crowd) result(c *client.Client, err error, late bool, began time.Time, pause *time.Duration) time.Duration {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &w.report
	r.Attempts++
	if err == nil {
		w.in = append(w.in, c)
		r.In++
		r.Waits = append(r.Waits, milliseconds(now.Sub(w.start)))
		return 0
	}
	wait := *pause/2 + rand.N(*pause)
	*pause = min(2**pause, 5*time.Second)
	hint, hinted := client.RetryAfter(err)
	code := ua.StatusOf(err).Code()
	switch {
	case hinted:
		r.Hinted++
		r.Refused++
		r.Refusals = append(r.Refusals, milliseconds(now.Sub(began)))
		return hint + rand.N(hint/8)
	case code == ua.BadServerTooBusy || code == ua.BadTcpServerTooBusy:
		r.Refused++
	case late:
		r.Timeouts++
	default:
		r.Others[err.Error()]++
	}
	return wait
}

// use has each client read a value once: a session that its client cannot use is
// none.
func (w *crowd) use() {
	var usable atomic.Int64
	w.each(func(ctx context.Context, c *client.Client) {
		if dv, err := c.ReadValue(ctx, loadproc.Variable(0)); err == nil && !dv.Status.IsBad() {
			usable.Add(1)
		}
	})
	w.mu.Lock()
	w.report.Usable = int(usable.Load())
	w.mu.Unlock()
}

// each does something with all clients that are in, some at a time.
func (w *crowd) each(do func(context.Context, *client.Client)) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w.mu.Lock()
	in := slices.Clone(w.in)
	w.mu.Unlock()
	next := make(chan *client.Client)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for c := range next {
				do(ctx, c)
			}
		})
	}
	for _, c := range in {
		next <- c
	}
	close(next)
	group.Wait()
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// quantile is that of values that it sorts, 0 of none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(q*float64(len(values))), len(values)-1)]
}
