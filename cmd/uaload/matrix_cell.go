package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// errPatience ends what takes too long in a cell.
var errPatience = errors.New("it took too long")

// measure runs one cell. What goes wrong in it is in its row; an error ends the
// whole matrix.
func (m *matrix) measure(ctx context.Context, c cell) (*row, error) {
	r := newRow(c, m.crew)
	if m.crew.established < c.sessions {
		m.blame(r)
		r.fault(true, "%d of %d sessions were established", m.crew.established, c.sessions)
		return r, nil
	}
	flags, err := m.of(c)
	if err != nil {
		return nil, err
	}
	l := &subscribeLoad{flags: flags, times: newHistogram(), failed: make(chan error, 1), trouble: m.crowd.trouble}
	memory := m.resident(ctx)
	got, err := m.fill(ctx, l, r)
	if err == nil {
		err = m.load(ctx, l, r, got)
	} else {
		m.crowd.leave(0) // nobody knows what the server has made
	}
	if c.total() >= fewItems && err == nil {
		r.rssEach = share(m.resident(ctx)-memory, c.total())
	}
	m.empty(ctx, l, r)
	m.blame(r)
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	r.fault(err != nil, "%v", err)
	return r, nil
}

// blame takes in what the sessions have had trouble with since the last look.
func (m *matrix) blame(r *row) {
	errors, lost := m.crowd.forget()
	errors.into(r.failed)
	r.fault(lost > 0, "%d sessions were lost", lost)
	if lost > 0 {
		m.crowd.leave(0)
	}
}

// writesMost and writesFew bound how many values one Write of a cell changes.
// More than writesMost in one request are not for every server. Fewer are spread
// over the time that a change takes, as those of a plant are, in so many requests:
// where all items change in one moment, the delay is how long that takes.
const (
	writesMost = 1000
	writesFew  = 10
	spread     = 10
)

// perWrite is how many of the nodes of a cell one Write request changes.
func perWrite(nodes int) int {
	return min(max((nodes+spread-1)/spread, writesFew), writesMost, nodes)
}

// fill makes the subscriptions of a cell with their items, and waits until every
// item has brought its first value.
func (m *matrix) fill(ctx context.Context, l *subscribeLoad, r *row) (got revised, err error) {
	nodes := make([]ua.NodeID, r.nodes)
	for i := range nodes {
		nodes[i] = m.at(i)
	}
	if l.writer, err = newWriter(ctx, m.writer, nodes, perWrite(r.nodes)); err != nil {
		return got, err
	}
	l.writer.wander = true
	limited, cancel := context.WithTimeoutCause(ctx, m.patience, errPatience)
	defer cancel()
	start := time.Now()
	got, err = l.subscribe(limited, m.crowd.clients()[:r.sessions], m.subscribing)
	r.create = time.Since(start).Seconds()
	if cause := context.Cause(limited); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return got, fmt.Errorf("the items cannot be made: %w", err)
	}
	l.earlier = countedBy(m.crowd.clients())
	return got, l.awaitFirst(ctx, got)
}

// load has the values change, and measures.
func (m *matrix) load(ctx context.Context, l *subscribeLoad, r *row, got revised) error {
	watchers := m.crowd.clients()
	spent, err := l.change(ctx)
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, m.patience)
		l.awaitLast(limited, got)
		cancel()
	}
	r.take(l.result(&spent, watchers, got))
	r.changes = l.writer.written.Load() - l.writer.before
	failures := countedBy(watchers).since(l.earlier).publishFailures
	r.fault(failures > 0, "%d Publish requests failed", failures)
	return err
}

// empty deletes the subscriptions of a cell, and sees that nothing of them is
// left on the server.
func (m *matrix) empty(ctx context.Context, l *subscribeLoad, r *row) {
	limited, cancel := context.WithTimeoutCause(ctx, m.patience, errPatience)
	defer cancel()
	if m.crowd.size() > 0 {
		start := time.Now()
		err := l.unsubscribe(limited, m.subscribing)
		r.remove = time.Since(start).Seconds()
		if err != nil {
			r.fault(true, "subscriptions cannot be deleted: %v", err)
			m.crowd.leave(0) // they go with their sessions
		}
	}
	left := m.settle(limited)
	r.fault(left != nil, "%v", left)
}
