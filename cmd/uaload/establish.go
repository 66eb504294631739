package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

// crowd are the sessions of a load that goes on when some of them fail.
type crowd struct {
	leaving atomic.Bool // they are being closed

	mu sync.Mutex
	// Guarded by mu.
	members []*client.Client
	at      []time.Duration // when each was established, from the beginning on
	begun   time.Time
	errors  tally
	lost    int64 // connections that broke
	refused int   // attempts in a row that failed
	retries int64 // attempts that a busy server had come again
}

// retriesMost is how often a session obeys a server that is busy.
const retriesMost = 50

// connect opens a session. Where the server is busy and says when to come back,
// it does.
func (w *crowd) connect(ctx context.Context, endpoint string, config client.Config) (*client.Client, error) {
	for retries := 0; ; retries++ {
		c, err := client.Connect(ctx, endpoint, config)
		wait, busy := comeBack(err)
		if !busy || retries == retriesMost {
			return c, err
		}
		w.mu.Lock()
		w.retries++
		w.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, err
		}
	}
}

// comeBack is when a busy server wants to see a client again.
func comeBack(err error) (time.Duration, bool) {
	switch ua.StatusOf(err).Code() {
	case ua.BadServerTooBusy, ua.BadTcpServerTooBusy:
		return client.RetryAfter(err)
	}
	return 0, false // one that is full will not have room soon
}

// patience is how many attempts in a row may fail until no more are made: a
// server that has reached its limit is not asked for the rest.
const patience = 20

// configure changes what the sessions of the crowd have in common.
func (w *crowd) configure(publishes int) func(*client.Config) {
	return func(c *client.Config) {
		c.Reconnect.Disabled = true // a lost connection is a lost session
		c.PublishRequests = publishes
		c.OnEvent = func(e client.Event) {
			if e.Kind == client.Closed && e.Err != nil && !w.leaving.Load() {
				w.trouble(e.Err)
				w.mu.Lock()
				w.lost++
				w.mu.Unlock()
			}
		}
	}
}

// trouble counts an error of a session.
func (w *crowd) trouble(err error) { w.count(ua.StatusOf(err), 1) }

func (w *crowd) count(status ua.StatusCode, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range n {
		w.errors.add(status)
	}
}

// clients are the sessions that were established.
func (w *crowd) clients() []*client.Client {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.members[:len(w.members):len(w.members)]
}

// joined takes a session in. It returns how many there are, and since when.
func (w *crowd) joined(c *client.Client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.members = append(w.members, c)
	w.at = append(w.at, time.Since(w.begun))
	w.refused = 0
}

func (w *crowd) rejected(err error) (enough bool) {
	w.trouble(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused++
	return w.refused >= patience
}

// forget returns what the sessions have had trouble with, and how many broke,
// since the last time.
func (w *crowd) forget() (errors tally, lost int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	errors, lost = w.errors, w.lost
	w.errors, w.lost = nil, 0
	return errors, lost
}

// leave closes all sessions but n. Those that have broken cannot be closed, which
// was counted when they broke.
func (w *crowd) leave(n int) {
	w.mu.Lock()
	gone := w.members[min(n, len(w.members)):]
	w.members = w.members[:len(w.members)-len(gone)]
	w.mu.Unlock()
	closeAll(gone)
}

// rate is how many sessions per second were established when the crowd grew last.
func (w *crowd) rate() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.at) == 0 {
		return 0
	}
	return float64(len(w.at)) / max(w.at[len(w.at)-1], time.Microsecond).Seconds()
}

func (w *crowd) size() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.members)
}

// recent is how many sessions per second were established of late.
func (w *crowd) recent() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	const last = 200
	n := len(w.at)
	from := time.Duration(0)
	if n > last {
		from = w.at[n-1-last]
	}
	return float64(min(n, last)) / max(time.Since(w.begun)-from, time.Millisecond).Seconds()
}

// establish opens the sessions. It returns an error if there is none at all.
func (l *sessionsLoad) establish(ctx context.Context, config client.Config) error {
	m := meter{server: process(l.pid)}
	if err := m.start(); err != nil {
		return err
	}
	err := l.crowd.grow(ctx, &l.target, config, l.clients, l.connecting)
	elapsed := time.Since(l.crowd.begun)
	err = errors.Join(err, m.stop())
	l.r.established(&l.crowd, elapsed, &m)
	return err
}

// grow opens n more sessions, a few at a time, until the server takes no more.
// It returns an error if the crowd has no session then.
func (w *crowd) grow(ctx context.Context, t *target, config client.Config, n, several int) error {
	w.mu.Lock()
	w.begun, w.at, w.refused = time.Now(), w.at[:0], 0
	w.mu.Unlock()
	before := w.size()
	bar := newProgress("establishing", t.json)
	defer bar.end()
	var (
		mu   sync.Mutex
		last error
	)
	err := each(ctx, n, several, func(ctx context.Context, _ int) error {
		c, err := w.connect(ctx, t.endpoint, config)
		switch {
		case err == nil:
			w.joined(c)
			return nil
		case ctx.Err() != nil:
			return errInterrupted
		}
		mu.Lock()
		last = err
		mu.Unlock()
		if w.rejected(err) {
			return errRefused
		}
		return nil
	}, func(int) {
		done, rate := w.size()-before, w.recent()
		left := time.Duration(float64(n-done) / max(rate, 0.1) * float64(time.Second))
		bar.show("%s %d of %d sessions, %.0f/s, %v left", gauge(done, n), done, n, rate, left.Round(time.Second))
	})
	switch {
	case errors.Is(err, errRefused) && w.size() > 0:
		return nil // the result says how many there are, and why no more
	case err == nil && w.size() == 0 || errors.Is(err, errRefused):
		return fmt.Errorf("no session can be established: %w", last)
	}
	return err
}

// errRefused ends the attempts at a server that takes no more sessions.
var errRefused = errors.New("the server takes no more sessions")

// gauge draws a share.
func gauge(done, of int) string {
	const wide = 24
	bar := []byte("[........................]")
	for i := range wide * done / max(of, 1) {
		bar[1+i] = '#'
	}
	return string(bar)
}
