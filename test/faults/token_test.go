//go:build faults && linux

package faults

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/loadproc"
)

var renewing = flag.Duration("faults.renewing", 10*time.Second, "how long clients work with tokens that live for a second")

func init() { roles["renewers"] = loadproc.Role(renew) }

const (
	renewers = 4
	// inFlight requests wait for an answer at any time, on each connection.
	inFlight  = 50
	tokenLife = time.Second
)

// renewal is the configuration of a process of clients whose tokens are short.
type renewal struct{ Endpoint string }

// renewed is what such a process reports.
type renewed struct {
	Sent, Answered uint64
	Errors         map[string]int
	Renewals       uint64
	Broken         map[string]int // connections, by the reason
	loadproc.Follower
	Received int
}

// A channel whose token is renewed each second, while fifty requests are under
// way on it and notifications come, loses none of them (Part 4, 5.6.2; Part 6,
// 6.7.2.3): no request stays without its answer, no value is missing.
func TestTokensThatLiveForASecondLoseNothing(t *testing.T) {
	s := begin(t, renewers, loadproc.ServerConfig{Args: []string{"-min-token-lifetime", tokenLife.String()}})
	c := loadproc.Start(t, loadproc.Place{}, "renewers", renewal{Endpoint: s.Endpoint})
	c.Expect(t, "ready", flockReady)
	began := s.Look(t).Stats.Channels.Renewed
	time.Sleep(*renewing)
	during := s.Look(t)
	s.canary.End(t, *canaryP99)
	c.Tell(t, "%d", lastWritten(t, s.Endpoint))
	var r renewed
	c.Read(t, time.Minute, &r)
	if err := c.Wait(t, time.Minute); err != nil {
		t.Errorf("the clients end with %v: %s", err, c.Errors())
	}
	t.Logf("%d clients with %d requests in flight each, for %v: %d sent, %d answered, %d renewals (the server counts %d)", renewers, inFlight, *renewing,
		r.Sent, r.Answered, r.Renewals, during.Stats.Channels.Renewed-began)
	t.Logf("%d values, %+v", r.Received, r.Follower)
	if r.Sent != r.Answered || len(r.Errors)+len(r.Broken) > 0 {
		t.Errorf("%d of %d requests were answered, others failed with %v, connections broke with %v; the server closed channels for %v", r.Answered, r.Sent, r.Errors,
			r.Broken, s.Look(t).Stats.Channels.Closed)
	}
	// Renewed at three quarters of its life; a busy machine may be late by as much.
	if want := uint64(renewers * (*renewing).Seconds() / 2); during.Stats.Channels.Renewed-began < want {
		t.Errorf("only %d renewals, want at least %d", during.Stats.Channels.Renewed-began, want)
	}
	if r.Received == 0 || r.Missing+r.Repeated+r.Disordered > 0 {
		t.Errorf("the clients did not see every value in order: %d, %+v", r.Received, r.Follower)
	}
	s.leave(t, renewers+1)
}

// renew is the process. It ends when it is told which value was the last.
func renew(config renewal) error {
	cfg, err := loadproc.ClientConfig("renewer")
	if err != nil {
		return err
	}
	var (
		mu     sync.Mutex
		report = renewed{Errors: make(map[string]int), Broken: make(map[string]int)}
		items  [renewers]loadproc.Follower
	)
	cfg.TokenLifetime = tokenLife
	cfg.Reconnect.Disabled = true
	cfg.OnEvent = func(e client.Event) {
		if e.Kind == client.Disconnected || e.Kind == client.Closed && e.Err != nil {
			mu.Lock()
			report.Broken[fmt.Sprint(e.Err)]++
			mu.Unlock()
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var clients []*client.Client
	var work sync.WaitGroup
	for k := range renewers {
		c, err := client.Connect(ctx, config.Endpoint, cfg)
		if err != nil {
			return err
		}
		clients = append(clients, c)
		sub, err := c.Subscribe(ctx, client.SubscriptionConfig{Interval: 100 * time.Millisecond, Inline: true})
		if err != nil {
			return err
		}
		seen := func(ch client.Change) {
			n, _ := ua.As[int32](ch.Value.Value)
			mu.Lock()
			defer mu.Unlock()
			items[k].Take(int64(n))
			report.Received++
		}
		if _, err := sub.Monitor(ctx, seen, client.MonitorItem{Node: loadproc.Variable(k), Queue: 1000, Sampling: -1}); err != nil {
			return err
		}
	}
	over := make(chan struct{})
	for _, c := range clients {
		for i := range inFlight {
			work.Go(func() {
				var sent, answered uint64
				failures := make(map[string]int)
				for open := true; open; {
					sent++
					// Some of them are long: their chunks straddle a renewal.
					nodes := make([]ua.ReadValueID, 1+i%10*100)
					for n := range nodes {
						nodes[n] = ua.ReadValueID{NodeID: loadproc.Variable(n % 100), AttributeID: ua.AttributeIDValue}
					}
					values, err := c.Read(context.Background(), nodes...)
					switch {
					case err != nil:
						failures[err.Error()]++
						open = false
					case len(values) != len(nodes):
						failures["an answer with the wrong number of values"]++
					default:
						answered++
					}
					select {
					case <-over:
						open = false
					default:
					}
				}
				mu.Lock()
				report.Sent += sent
				report.Answered += answered
				for text, n := range failures {
					report.Errors[text] += n
				}
				mu.Unlock()
			})
		}
	}
	fmt.Println("ready")
	var last int64
	if _, err := fmt.Fscan(os.Stdin, &last); err != nil && err != io.EOF {
		return err
	}
	close(over)
	work.Wait()
	time.Sleep(time.Second) // the last values are still on their way
	mu.Lock()
	for k, c := range clients {
		report.Renewals += c.Stats().Renewals
		f := &items[k]
		f.End(last)
		report.Missing += f.Missing
		report.Repeated += f.Repeated
		report.Disordered += f.Disordered
	}
	err = json.NewEncoder(os.Stdout).Encode(report)
	mu.Unlock()
	for _, c := range clients {
		_ = c.Close(context.Background())
	}
	return err
}
