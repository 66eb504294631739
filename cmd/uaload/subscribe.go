package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

// subscribeFlags are the flags of "uaload subscribe". Of shape, clients are the
// sessions that watch, inflight their Publish requests for each subscription,
// and nodes the variables that change.
type subscribeFlags struct {
	target
	shape
	nodeRange
	subscriptions, items, queue int
	rate                        float64 // 0: nothing is written
	publishing, sampling        time.Duration
	keepAlive                   uint32 // count; 0: the client's default
}

func (f *subscribeFlags) parse(c *command, args []string) error {
	set := c.flags()
	f.target.add(set)
	f.shape.add(set, scalars, "variables that change; those that no item watches are left out")
	set.Lookup("clients").Usage = "number of sessions that watch; one more writes"
	set.Lookup("inflight").Usage = "Publish requests that each session keeps at the server for each subscription, and one more"
	set.StringVar(&f.text, "node", fmt.Sprintf("ns=1;i=%d", firstScalar), "the first `node` of those that change")
	set.IntVar(&f.subscriptions, "subscriptions", 1, "subscriptions of each session")
	set.IntVar(&f.items, "items", scalars, "monitored items of each subscription; all subscriptions watch the same variables")
	set.Float64Var(&f.rate, "rate", 10, "changes of each variable per second")
	set.DurationVar(&f.publishing, "publishing", 100*time.Millisecond, "publishing `interval`")
	set.DurationVar(&f.sampling, "sampling", 0, "sampling `interval`: 0 as fast as the server can, -1ns the publishing interval")
	set.IntVar(&f.queue, "queue", 0, "queue `size` of each item; values that find it full are dropped by the server. 0: enough for every change, at least 10")
	if err := parse(set, args); err != nil {
		return err
	}
	return f.check()
}

// fastest is the highest rate of changes that the writer takes on.
const fastest = 10_000

func (f *subscribeFlags) check() error {
	if err := f.target.check(); err != nil {
		return err
	}
	if err := f.shape.check(); err != nil {
		return err
	}
	f.count = f.nodes
	if err := f.nodeRange.check(); err != nil {
		return err
	}
	switch {
	case f.count < f.nodes:
		return wrong("nodes", f.nodes, "write 1: behind a node with such an id there is no next one")
	case f.subscriptions < 1:
		return wrong("subscriptions", f.subscriptions, "write a number from 1 on")
	case f.items < 1:
		return wrong("items", f.items, "write a number from 1 on")
	case !(f.rate > 0 && f.rate <= fastest):
		return wrong("rate", f.rate, "write a number of changes per second above 0, at most %d", fastest)
	case f.publishing <= 0:
		return wrong("publishing", f.publishing, `write an interval like "100ms"`)
	case f.queue < 0:
		return wrong("queue", f.queue, "write a number of values, or 0 for enough")
	}
	if f.queue == 0 {
		// As many as change in three intervals: a publishing cycle may be late.
		f.queue = max(10, int(3*f.rate*f.publishing.Seconds())+1)
	}
	return nil
}

// clientSampling is the sampling interval as the client names it.
func (f *subscribeFlags) clientSampling() time.Duration {
	switch {
	case f.sampling == 0:
		return -1
	case f.sampling < 0:
		return 0
	}
	return f.sampling
}

// subscribeLoad is a running load.
type subscribeLoad struct {
	flags     *subscribeFlags
	writer    *writer
	observers []*observer
	times     *histogram
	phase     atomic.Int32
	failed    chan error
	earlier   counted // what the sessions had counted before this load
	// trouble takes what goes wrong with a session; nil: it ends the load.
	trouble func(error)
}

// revised is what the server made of the intervals and the queue size.
type revised struct {
	interval, sampling time.Duration
	queue              uint32
}

// loadSubscribe has sessions watch variables that another one changes.
func loadSubscribe(ctx context.Context, c *command, args []string, out io.Writer) error {
	f := new(subscribeFlags)
	if err := f.parse(c, args); err != nil {
		return err
	}
	l := &subscribeLoad{flags: f, times: newHistogram(), failed: make(chan error, 1)}
	crew, err := f.connect(ctx, f.clients+1, func(c *client.Config) {
		c.Reconnect.Disabled = true // a lost connection ends the load
		c.PublishRequests = f.inflight
		c.OnEvent = func(e client.Event) {
			if e.Kind == client.Closed && e.Err != nil {
				l.fail(fmt.Errorf("a client has lost its connection: %w", e.Err))
			}
		}
	})
	if err != nil {
		return err
	}
	defer closeAll(crew)
	r, err := l.run(ctx, crew)
	if r == nil {
		return err
	}
	r.Command = c.name
	return printed(r.print(out, f.json), err)
}

// run subscribes and measures. The last of the crew writes.
func (l *subscribeLoad) run(ctx context.Context, crew []*client.Client) (*subscribeResult, error) {
	f := l.flags
	nodes := make([]ua.NodeID, min(f.nodes, f.items))
	for i := range nodes {
		nodes[i] = f.at(i)
	}
	watchers := crew[:len(crew)-1]
	var err error
	if l.writer, err = newWriter(ctx, crew[len(watchers)], nodes, len(nodes)); err != nil {
		return nil, fmt.Errorf("this load cannot start: %w", err)
	}
	got, err := l.subscribe(ctx, watchers, connecting)
	if err != nil {
		return nil, fmt.Errorf("this load cannot start: %w", err)
	}
	if err := l.awaitFirst(ctx, got); err != nil {
		return nil, fmt.Errorf("this load cannot start: %w", err)
	}
	return l.measure(ctx, watchers, got)
}

// subscribe makes all subscriptions, several at a time.
func (l *subscribeLoad) subscribe(ctx context.Context, watchers []*client.Client, several int) (got revised, err error) {
	f := l.flags
	n := len(watchers) * f.subscriptions
	// Each takes up where the one before ends, until all nodes are watched and it
	// begins again with the first.
	l.observers = make([]*observer, n)
	for i := range l.observers {
		session, nth := i%len(watchers), i/len(watchers)
		l.observers[i] = &observer{load: l, first: (session*f.subscriptions + nth) * f.items % l.writer.nodes()}
	}
	var mu sync.Mutex
	bar := newProgress("subscribing", f.json)
	defer bar.end()
	err = each(ctx, n, several, func(ctx context.Context, i int) error {
		r, err := l.observers[i].subscribe(ctx, watchers[i%len(watchers)])
		mu.Lock()
		got = r
		mu.Unlock()
		return err
	}, func(done int) { bar.show("%d of %d subscriptions", done, n) })
	return got, err
}

// unsubscribe deletes all subscriptions that there are, several at a time.
func (l *subscribeLoad) unsubscribe(ctx context.Context, several int) error {
	return each(ctx, len(l.observers), several, func(ctx context.Context, i int) error {
		return l.observers[i].unsubscribe(ctx)
	}, nil)
}

// firstMost is how long the first values may take, beyond the publishing interval.
const firstMost = 15 * time.Second

// awaitFirst waits until every item has brought the value that its variable has.
func (l *subscribeLoad) awaitFirst(ctx context.Context, got revised) error {
	end := time.Now().Add(firstMost + 2*got.interval)
	for {
		silent := 0
		for _, o := range l.observers {
			_, n := o.count()
			silent += n
		}
		if silent == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d items have brought no first value", silent, len(l.observers)*l.flags.items)
		}
		if err := watch(ctx, l.glance(), l.failed, &progress{}, "", l.received); err != nil {
			return err
		}
	}
}

// glance is how long to wait before all observers are looked at again: that
// must not become a load of its own where they, or their items, are many.
func (l *subscribeLoad) glance() time.Duration {
	n := time.Duration(len(l.observers))
	return 5*time.Millisecond + n*5*time.Microsecond + n*time.Duration(l.flags.items)*50*time.Nanosecond
}

// measure writes and counts.
func (l *subscribeLoad) measure(ctx context.Context, watchers []*client.Client, got revised) (*subscribeResult, error) {
	m, err := l.change(ctx)
	if err == nil {
		l.awaitLast(ctx, got)
	}
	r := l.result(&m, watchers, got)
	select {
	case late := <-l.failed:
		err = errors.Join(err, late)
	default:
	}
	if err == nil {
		err = r.failure()
	}
	return r, err
}

// measured is what was seen from outside while measuring.
type measured struct {
	meter   meter
	elapsed time.Duration
	changes int64
}

// change has the writer write, and measures while it does, behind a warm-up.
func (l *subscribeLoad) change(ctx context.Context) (m measured, err error) {
	f, w := l.flags, l.writer
	writing, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	defer func() {
		stop()
		<-done
	}()
	go func() { // ends with stop
		defer close(done)
		if f.rate == 0 {
			return
		}
		if err := w.run(writing, f.rate); err != nil {
			l.fail(fmt.Errorf("the writer failed: %w", err))
		}
	}()
	m.meter.server = process(f.pid)
	if err = watch(ctx, f.warmup, l.failed, newProgress("warming up", f.json), "notifications", l.received); err != nil {
		return m, err
	}
	if err = m.meter.start(); err != nil {
		return m, err
	}
	start, before := time.Now(), w.written.Load()
	l.phase.Store(measuring)
	err = watch(ctx, f.duration, l.failed, newProgress("measuring", f.json), "notifications", l.received)
	l.phase.Store(stopped)
	m.elapsed = time.Since(start)
	m.changes = (w.written.Load() - before) * int64(w.nodes())
	return m, errors.Join(err, m.meter.stop())
}

// result puts together what writer, observers and clients have counted. Nothing
// is written any more.
func (l *subscribeLoad) result(m *measured, watchers []*client.Client, got revised) *subscribeResult {
	r := newSubscribeResult(l.flags, got, m.elapsed, m.changes)
	for _, o := range l.observers {
		o.report(r)
	}
	r.take(l.writer, countedBy(watchers).since(l.earlier))
	r.explain()
	r.Latency = l.times.latency()
	r.perNotification(&m.meter)
	return r
}

// awaitLast waits for the values that are still to come. It gives up when
// nothing has come for a while.
func (l *subscribeLoad) awaitLast(ctx context.Context, got revised) {
	patience := max(3*got.interval, 2*time.Second)
	written := l.writer.written.Load()
	before, since := l.received(), time.Now()
	for time.Since(since) < patience && ctx.Err() == nil {
		behind := 0
		for _, o := range l.observers {
			behind += o.behind(written)
		}
		if behind == 0 {
			return
		}
		time.Sleep(l.glance())
		if n := l.received(); n != before {
			before, since = n, time.Now()
		}
	}
}

// received is the number of notifications so far.
func (l *subscribeLoad) received() int64 {
	sum := int64(0)
	for _, o := range l.observers {
		n, _ := o.count()
		sum += n
	}
	return sum
}

// report tells of trouble with a session.
func (l *subscribeLoad) report(err error) {
	if l.trouble != nil {
		l.trouble(err)
		return
	}
	l.fail(err)
}

// fail ends the load early. Only the first reason counts.
func (l *subscribeLoad) fail(err error) {
	select {
	case l.failed <- err:
	default:
	}
}
