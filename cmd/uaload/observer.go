package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

// observer is one subscription with its monitored items. It counts what arrives
// against what the writer has written. Changes arrive on the goroutine that
// reads the connection.
type observer struct {
	// Immutable.
	load  *subscribeLoad
	first int // of the writer's nodes, which the first item watches

	sub *client.Subscription // once it is made; of the one who subscribes

	mu sync.Mutex
	// Guarded by mu.
	items         []observed
	silent        int // items whose first value has not come yet
	notifications int64
	measured      int64 // of them, while measuring
	strange       int64 // numbers that nobody wrote in this run
	overflows     int64 // values behind which the server dropped others
	errors        tally
	times         times
}

// observed is one monitored item.
type observed struct {
	sequence
	started bool // its first value has come, which it had before the run
}

// subscribe makes the subscription on the server and returns what the server
// made of the intervals and the queue.
func (o *observer) subscribe(ctx context.Context, c *client.Client) (revised, error) {
	f := o.load.flags
	sub, err := c.Subscribe(ctx, client.SubscriptionConfig{
		Interval: f.publishing, KeepAliveCount: f.keepAlive, Inline: true,
		OnStatus: func(status ua.StatusCode) {
			o.load.report(fmt.Errorf("the server has ended a subscription: %w", status))
		},
	})
	if err != nil {
		return revised{}, err
	}
	o.sub = sub
	o.items, o.silent = make([]observed, f.items), f.items
	specs := make([]client.MonitorItem, f.items)
	for i := range specs {
		specs[i] = client.Value(f.at(o.node(i)))
		specs[i].Queue, specs[i].Sampling = uint32(f.queue), f.clientSampling()
		specs[i].OnChange = func(change client.Change) { o.take(i, &change.Value) }
		o.items[i].last = o.load.writer.before
	}
	made, err := sub.Monitor(ctx, nil, specs...)
	if err != nil {
		return revised{}, err
	}
	r := revised{interval: sub.Interval()}
	for i, it := range made {
		if status := it.Status(); status.IsBad() {
			return r, fmt.Errorf("node %v cannot be monitored: %w", specs[i].Node, status)
		}
		r.sampling, r.queue = it.Revised()
	}
	return r, nil
}

// node is which of the writer's nodes an item watches.
func (o *observer) node(item int) int { return (o.first + item) % o.load.writer.nodes() }

// unsubscribe deletes the subscription on the server, if there is one.
func (o *observer) unsubscribe(ctx context.Context) error {
	if o.sub == nil {
		return nil
	}
	return o.sub.Close(ctx)
}

// take takes one notification.
func (o *observer) take(item int, v *ua.DataValue) {
	now := time.Now()
	w := o.load.writer
	written := w.written.Load()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.notifications++
	measuring := o.load.phase.Load() == measuring
	if measuring {
		o.measured++
	}
	if v.Status.Overflow() {
		o.overflows++
	}
	it := &o.items[item]
	if v.Status.IsBad() {
		o.errors.add(v.Status)
		return
	}
	if !it.started {
		it.started = true
		o.silent--
		return
	}
	n, ok := number(v.Value)
	if !ok || n <= w.before || n > written {
		o.strange++
		return
	}
	if it.take(n) && measuring {
		o.times.record(w.since(o.node(item), n, now), o.load.times)
	}
}

// behind is how many items have not seen a number yet.
func (o *observer) behind(written int64) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for i := range o.items {
		if o.items[i].last < written {
			n++
		}
	}
	return n
}

func (o *observer) count() (notifications int64, silent int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.notifications, o.silent
}

// report adds the counters to a result. Nothing is written any more.
func (o *observer) report(r *subscribeResult) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.times.flush(o.load.times)
	w := o.load.writer
	written, unwritten := w.written.Load(), w.failedNumbers()
	for i := range o.items {
		it := &o.items[i]
		it.end(written)
		lost := unwritten[o.node(i)]
		r.Expected += written - w.before - int64(len(lost))
		r.Missing += it.missing(lost)
		r.Repeated += it.repeated
		r.Disordered += it.disordered
	}
	r.Notifications += o.measured
	r.Strange += o.strange
	r.Overflows += o.overflows
	o.errors.into(r.Errors)
}
