//go:build faults && linux

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/loadproc"
)

func init() { roles["patrons"] = loadproc.Role(patronize) }

// patrons is the configuration of clients that are busy when the server ends.
type patrons struct {
	Endpoint string
	Clients  int
	InFlight int // Reads that each has under way
}

// farewell is what such clients report.
type farewell struct {
	Answered int
	Ends     map[string]int // of connections, by status
	Refusals map[string]int // of Reads that the end took
	States   map[string]int // of the server, as they were told
	Took     float64        // seconds from the first end to the last answer
}

// A server that is told to end while its clients are busy does so within five
// seconds, with nothing of its own left running; each client is told why, whatever it
// sends meanwhile, and none waits for an answer that does not come (Part 4, 7.38.2;
// Part 6, 7.1.5).
func TestShutdownUnderLoadIsQuickAndSaysWhy(t *testing.T) {
	for _, c := range []struct {
		name  string
		delay time.Duration
	}{
		{"at once", 0},
		{"announced", 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			const clients = 100
			s := loadproc.Serve(t, loadproc.ServerConfig{
				Program: serverProgram(t), Sessions: clients, Args: []string{"-shutdown-delay", c.delay.String()},
			})
			busy := loadproc.Start(t, loadproc.Place{}, "patrons", patrons{Endpoint: s.Endpoint, Clients: clients, InFlight: 20})
			busy.Expect(t, "ready", flockReady)
			time.Sleep(time.Second)
			f := s.Look(t)
			if f.Sessions != clients || f.Subscriptions != clients {
				t.Errorf("the server has %v", f)
			}
			// It ends with code 0 only if all of its goroutines have ended.
			took := s.Stop(t, 5*time.Second)
			var r farewell
			busy.Read(t, 20*time.Second, &r)
			t.Logf("%d clients with %d Reads under way each; the server ended in %.2f s; %d Reads answered", clients, 20, took.Seconds(), r.Answered)
			t.Logf("connections ended with %v, Reads with %v, the last after %.2f s; states %v", r.Ends, r.Refusals, r.Took, r.States)
			if n := r.Ends[ua.BadShutdown.Error()]; n != clients || r.Answered == 0 {
				t.Errorf("%d of %d connections ended with %v, with %d Reads answered before", n, clients, ua.BadShutdown, r.Answered)
			}
			if r.Took > 5 {
				t.Errorf("a client waited %.1f s for an answer", r.Took)
			}
			if took < c.delay {
				t.Errorf("the server ended after %v, and said that it takes %v", took, c.delay)
			}
			if n := r.States[ua.ServerStateShutdown.String()]; c.delay > 0 && n < clients {
				t.Errorf("%d of %d clients have seen that the server shuts down", n, clients)
			}
			if err := busy.Wait(t, 20*time.Second); err != nil {
				t.Errorf("the clients end with %v: %s", err, busy.Errors())
			}
		})
	}
}

// patronize is the process. It ends when all connections have.
func patronize(config patrons) error {
	cfg, err := loadproc.ClientConfig("patron")
	if err != nil {
		return err
	}
	var (
		mu    sync.Mutex
		first time.Time
		r     = farewell{Ends: make(map[string]int), Refusals: make(map[string]int), States: make(map[string]int)}
		ended sync.WaitGroup
		work  sync.WaitGroup
	)
	ctx := context.Background()
	cfg.Reconnect.Disabled = true
	cfg.KeepAlive = 10 * time.Second // a busy machine is no reason to leave
	cfg.OnEvent = func(e client.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch e.Kind {
		case client.Closed:
			if first.IsZero() {
				first = time.Now()
			}
			r.Ends[reasonOf(e.Err)]++
			ended.Done()
		case client.ServerStateChanged:
			r.States[e.ServerState.String()]++
		}
	}
	if cfg.Endpoints, err = client.Discover(ctx, config.Endpoint, cfg); err != nil {
		return err
	}
	for k := range config.Clients {
		ended.Add(1)
		c, err := client.Connect(ctx, config.Endpoint, cfg)
		if err != nil {
			return err
		}
		sub, err := c.Subscribe(ctx, client.SubscriptionConfig{Interval: 200 * time.Millisecond, Inline: true})
		if err != nil {
			return err
		}
		if _, err := sub.Monitor(ctx, func(client.Change) {}, client.MonitorItem{Node: loadproc.Variable(k % 100)}); err != nil {
			return err
		}
		state := client.MonitorItem{Node: ua.NumericID(0, 2259)} // Server_ServerStatus_State
		watched := func(ch client.Change) {
			n, _ := ua.As[int32](ch.Value.Value)
			mu.Lock()
			r.States[ua.ServerState(n).String()]++
			mu.Unlock()
		}
		if _, err := sub.Monitor(ctx, watched, state); err != nil {
			return err
		}
		for range config.InFlight {
			work.Go(func() {
				for {
					_, err := c.ReadValue(ctx, loadproc.Variable(k%100))
					mu.Lock()
					if err != nil {
						r.Refusals[reasonOf(err)]++
						mu.Unlock()
						return
					}
					r.Answered++
					mu.Unlock()
				}
			})
		}
	}
	fmt.Println("ready")
	ended.Wait()
	work.Wait()
	mu.Lock()
	r.Took = time.Since(first).Seconds()
	err = json.NewEncoder(os.Stdout).Encode(r)
	mu.Unlock()
	return err
}

// reasonOf is the status of an error as a name.
func reasonOf(err error) string {
	if err == nil {
		return ua.Good.Error()
	}
	return ua.StatusOf(err).Code().Error()
}
