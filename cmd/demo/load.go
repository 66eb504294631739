package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

const (
	// publishInterval is that of the demo's own subscriptions.
	publishInterval = 500 * time.Millisecond
	// openingAtOnce is how many sessions are opened at the same time. Each takes
	// a few private-key operations on both sides, so more would only wait.
	openingAtOnce = 8
	// readPause is the time between two Reads whose latency is measured.
	readPause = 50 * time.Millisecond
)

// load is the demo's own sessions: one client each, all in this process.
type load struct {
	endpoint string
	config   client.Config
	values   []ua.NodeID // to subscribe to, in turns

	notifications atomic.Uint64
	delays        *latency // of publishes
	reads         *latency

	mu sync.Mutex
	// Guarded by mu.
	clients []*client.Client
}

// newLoad prepares sessions to a server in this process. They share one
// certificate and its key, as the instances of one client application do.
func newLoad(ctx context.Context, srv *uahive.Server, security string, values []ua.NodeID) (*load, error) {
	l := &load{endpoint: srv.EndpointURL(), values: values, delays: newLatency(), reads: newLatency()}
	l.config = client.Config{
		ApplicationURI: "urn:uahive:demo:client", ApplicationName: "uahive demo session", Security: client.NoSecurity,
	}
	if security != "None" {
		store, err := pki.Memory(pki.Config{ApplicationURI: l.config.ApplicationURI})
		if err != nil {
			return nil, err
		}
		// The two know each other, as after an administrator's visit.
		if err := store.Trust(srv.PKI().Certificate().DER); err != nil {
			return nil, err
		}
		if err := srv.PKI().Trust(store.Certificate().DER); err != nil {
			return nil, err
		}
		l.config.PKI = store
		l.config.Security = client.Security{Policy: security, Mode: ua.MessageSecurityModeSignAndEncrypt}
	}
	// Discovering once saves each session two connections.
	endpoints, err := client.Discover(ctx, l.endpoint, l.config)
	if err != nil {
		return nil, fmt.Errorf("asking the server for its endpoints: %w", err)
	}
	l.config.Endpoints = endpoints
	return l, nil
}

// open opens sessions, and tells after each how many there are. It stops at the
// first error; sessions that exist stay.
func (l *load) open(ctx context.Context, sessions int, progress func(opened int)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, opened atomic.Int64
	var workers sync.WaitGroup
	for range min(openingAtOnce, sessions) {
		workers.Go(func() {
			for n := int(next.Add(1)); n <= sessions && ctx.Err() == nil; n = int(next.Add(1)) {
				if err := l.openOne(ctx, n); err != nil {
					cancel(fmt.Errorf("opening session %d: %w", n, err))
					return
				}
				progress(int(opened.Add(1)))
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// openOne opens a session with a subscription to one value.
func (l *load) openOne(ctx context.Context, n int) error {
	config := l.config
	config.SessionName = fmt.Sprintf("demo %d", n)
	c, err := client.Connect(ctx, l.endpoint, config)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.clients = append(l.clients, c)
	l.mu.Unlock()
	// Changes are only counted, so the connection's own goroutine can do it.
	sub, err := c.Subscribe(ctx, client.SubscriptionConfig{Interval: publishInterval, Inline: true})
	if err != nil {
		return err
	}
	late := lateness{interval: sub.Interval()}
	items, err := sub.Monitor(ctx, func(client.Change) {
		l.notifications.Add(1)
		if delay, ok := late.of(time.Now()); ok {
			l.delays.record(delay)
		}
	}, client.Value(l.values[n%len(l.values)]))
	if err != nil {
		return err
	}
	return items[0].Status().Err()
}

// readLoop measures Reads, one at a time, until the context ends.
func (l *load) readLoop(ctx context.Context) {
	pause := time.NewTicker(readPause)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		c := l.any()
		if c == nil {
			continue
		}
		start := time.Now()
		if _, err := c.ReadValue(ctx, l.values[rand.IntN(len(l.values))]); err == nil {
			l.reads.record(time.Since(start))
		}
	}
}

func (l *load) any() *client.Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.clients) == 0 {
		return nil
	}
	return l.clients[rand.IntN(len(l.clients))]
}

// parked is the number of Publish requests that wait at the server, and lost the
// number of messages that never came.
func (l *load) parked() (parked int, lost uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.clients {
		s := c.Stats()
		parked += s.ParkedPublishes
		lost += s.Lost + s.Dropped
	}
	return parked, lost
}

// close ends all sessions, as many at a time as were opened at a time.
func (l *load) close(ctx context.Context) {
	l.mu.Lock()
	clients := l.clients
	l.clients = nil
	l.mu.Unlock()
	var workers sync.WaitGroup
	var next atomic.Int64
	for range min(openingAtOnce, len(clients)) {
		workers.Go(func() {
			for n := int(next.Add(1)); n <= len(clients); n = int(next.Add(1)) {
				// The server forgets a session that could not say goodbye.
				_ = clients[n-1].Close(ctx)
			}
		})
	}
	workers.Wait()
}
