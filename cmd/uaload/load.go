package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/client"
)

// work is what a load asks of the server: requests that are prepared once and
// sent over and over, and how their answers are judged.
type work struct {
	requests []*client.Prepared // each slot sends them in turn
	// verify decodes an answer completely and says what is wrong with it. The
	// first answer of each client is verified.
	verify func(body []byte) error
	// check judges every other answer as far as that is cheap: it must not take
	// from the server the CPU time that is to be measured. Bad results of single
	// operations go into the tally. It reports whether all is well.
	check func(body []byte, bad *tally) bool
	// after, if not nil, looks at the server once the load has ended, and returns
	// what is to be noted beside the result.
	after func(ctx context.Context, c *client.Client) (note string, err error)
}

// The phases of a load.
const (
	warming = iota
	measuring
	stopped
)

// load keeps a number of requests in flight on each of a number of clients.
type load struct {
	work  *work
	lanes []*lane
	times *histogram
	phase atomic.Int32
	ended atomic.Int64 // slots that send no more
	// failed gets what ends the load early: a lost connection, or an answer that
	// is no answer to the request.
	failed chan error
}

// runLoad connects, has plan look at the server and prepare the requests, and
// measures. The result is not nil if the load got as far as running.
func runLoad(ctx context.Context, t *target, s *shape, plan func(ctx context.Context, c *client.Client) (*work, error)) (*result, error) {
	crew, err := t.connect(ctx, s.clients, func(c *client.Config) {
		c.Reconnect.Disabled = true // a lost connection ends the load
		c.MaxInFlight = s.inflight + 64
	})
	if err != nil {
		return nil, err
	}
	defer closeAll(crew)
	w, err := plan(ctx, crew[0])
	if err != nil {
		return nil, fmt.Errorf("this load cannot start: %w", err)
	}
	l := &load{work: w, times: newHistogram(), failed: make(chan error, 1)}
	for i, c := range crew {
		l.lanes = append(l.lanes, newLane(l, c, i, s.inflight))
	}
	r, err := l.measure(ctx, t, s)
	if err == nil && w.after != nil {
		var note string
		if note, err = w.after(ctx, crew[0]); note != "" {
			r.Notes = append(r.Notes, note)
		}
	}
	return r, err
}

// measure runs through the phases, and takes the difference of all counters
// over the middle one.
func (l *load) measure(ctx context.Context, t *target, s *shape) (*result, error) {
	for _, lane := range l.lanes {
		lane.start()
	}
	err := watch(ctx, s.warmup, l.failed, newProgress("warming up", t.json), "answers", l.handled)
	var (
		meter   = meter{server: process(t.pid)}
		elapsed time.Duration
	)
	if err == nil {
		if err = meter.start(); err == nil {
			start := time.Now()
			l.phase.Store(measuring)
			err = watch(ctx, s.duration, l.failed, newProgress("measuring", t.json), "answers", l.handled)
			l.phase.Store(stopped)
			elapsed = time.Since(start)
			err = errors.Join(err, meter.stop())
		}
	}
	l.phase.Store(stopped)
	unanswered := l.drain(t.timeout)
	r := newResult(t, s, elapsed)
	for _, lane := range l.lanes {
		lane.report(r)
	}
	r.Unanswered = unanswered
	r.Latency = l.times.latency()
	r.perRequest(&meter)
	if err == nil && r.Requests == 0 && r.Failures == 0 {
		err = fmt.Errorf("no request was answered within %v", s.duration)
	}
	if err == nil {
		err = r.failure()
	}
	return r, err
}

// drainMost bounds how long the end of a load takes.
const drainMost = 5 * time.Second

// drain waits for the answers that are still to come, and returns how many did
// not.
func (l *load) drain(timeout time.Duration) int64 {
	total := int64(0)
	for _, lane := range l.lanes {
		total += int64(len(lane.slots))
	}
	for end := time.Now().Add(min(timeout, drainMost)); l.ended.Load() < total && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return total - l.ended.Load()
}

// fail ends the load early. Only the first reason counts.
func (l *load) fail(err error) {
	select {
	case l.failed <- err:
	default:
	}
}

// handled is the number of answers so far, in the phase.
func (l *load) handled() int64 {
	n := int64(0)
	for _, lane := range l.lanes {
		lane.mu.Lock()
		n += lane.handled
		lane.mu.Unlock()
	}
	return n
}
