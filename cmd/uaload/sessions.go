package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

// sessionsFlags are the flags of "uaload sessions". What is written and watched
// is that of "uaload subscribe" with one subscription and one item for each
// session.
type sessionsFlags struct {
	subscribeFlags
	every                   time.Duration // between two writes; 0: nothing is written
	late                    time.Duration
	connecting, subscribing int
	timeline                string
}

const (
	// keepAliveCount is short, so that keep-alives show soon after the last change;
	// idleKeepAliveCount is what clients ask for that expect none.
	keepAliveCount     = 3
	idleKeepAliveCount = 10
)

func (f *sessionsFlags) parse(c *command, args []string) error {
	set := c.flags()
	f.target.add(set)
	f.subscriptions, f.items, f.nodes, f.count = 1, 1, 1, 1
	set.IntVar(&f.clients, "sessions", 500, "number of sessions, each with a connection of its own; one more writes")
	set.DurationVar(&f.duration, "duration", time.Minute, "how long to measure")
	set.DurationVar(&f.warmup, "warmup", 2*time.Second, "how long to run before measuring; what arrives is checked as well")
	set.DurationVar(&f.every, "write", 500*time.Millisecond, "`interval` at which the value is written that all sessions watch; 0: never, the sessions are idle")
	set.StringVar(&f.text, "node", fmt.Sprintf("ns=1;i=%d", firstScalar), "the `node` that is written and watched")
	set.DurationVar(&f.publishing, "publishing", time.Second, "publishing `interval`")
	set.IntVar(&f.queue, "queue", 10, "queue `size` of each item")
	set.IntVar(&f.inflight, "inflight", 2, "Publish requests that each session keeps at the server, at least 2")
	keepAlive := set.Uint("keep-alive", 0, fmt.Sprintf("publishing intervals without a change until a keep-alive; 0: %d, or %d where nothing is written", keepAliveCount, idleKeepAliveCount))
	set.DurationVar(&f.late, "late", 300*time.Millisecond, "how much longer than the publishing interval the slowest hundredth of the values may take")
	set.IntVar(&f.connecting, "connecting", connecting, "sessions that are established at once")
	set.IntVar(&f.subscribing, "subscribing", 64, "sessions that subscribe at once")
	set.StringVar(&f.timeline, "timeline", "", "`file` that gets a line of CSV each second")
	if err := parse(set, args); err != nil {
		return err
	}
	f.keepAlive = uint32(min(*keepAlive, 1<<31))
	return f.check()
}

func (f *sessionsFlags) check() error {
	if err := f.target.check(); err != nil {
		return err
	}
	if err := f.nodeRange.check(); err != nil {
		return err
	}
	switch {
	case f.clients < 1:
		return wrong("sessions", f.clients, "write a number from 1 on")
	case f.duration <= 0:
		return wrong("duration", f.duration, `write a time like "10s"`)
	case f.warmup < 0:
		return wrong("warmup", f.warmup, `write a time like "2s", or 0`)
	case f.every < 0 || f.every > 0 && f.every < time.Millisecond:
		return wrong("write", f.every, `write an interval from "1ms" on, or 0 for idle sessions`)
	case f.publishing <= 0:
		return wrong("publishing", f.publishing, `write an interval like "1s"`)
	case f.queue < 1:
		return wrong("queue", f.queue, "write a number of values from 1 on")
	case f.inflight < 2 || f.inflight > mostInFlight:
		return wrong("inflight", f.inflight, "write a number from 2 to %d", mostInFlight)
	case f.late < 0:
		return wrong("late", f.late, `write a time like "300ms"`)
	case f.connecting < 1:
		return wrong("connecting", f.connecting, "write a number from 1 on")
	case f.subscribing < 1:
		return wrong("subscribing", f.subscribing, "write a number from 1 on")
	}
	if err := enoughFiles(f.clients + reservedFiles); err != nil {
		return wrong("sessions", f.clients, "%v", err)
	}
	if f.every > 0 {
		f.rate = float64(time.Second) / float64(f.every)
	}
	if f.keepAlive == 0 {
		f.keepAlive = keepAliveCount
		if f.every == 0 {
			f.keepAlive = idleKeepAliveCount
		}
	}
	return nil
}

// sessionsLoad is a running load.
type sessionsLoad struct {
	subscribeLoad
	*sessionsFlags
	crowd    crowd
	timeline *timeline
	summary  summary // of the server, as the writer reads it
	r        *sessionsResult
}

// holdSessions establishes sessions with one subscription and one monitored item
// each, all on a value that one more session writes, checks that each of them
// gets every value, and measures what they cost the server.
func holdSessions(ctx context.Context, c *command, args []string, out io.Writer) error {
	f := new(sessionsFlags)
	if err := f.parse(c, args); err != nil {
		return err
	}
	l := &sessionsLoad{
		subscribeLoad: subscribeLoad{flags: &f.subscribeFlags, times: newWindowed(), failed: make(chan error, 1)},
		sessionsFlags: f,
		r:             &sessionsResult{Sessions: f.clients},
	}
	l.trouble = l.crowd.trouble
	err := l.run(ctx)
	if l.r.Established == 0 && err != nil {
		return err
	}
	l.r.Command = c.name
	return printed(l.r.print(out, f.json, f.pid > 0), err)
}

// run goes through the phases. Each of them fills its part of the result.
func (l *sessionsLoad) run(ctx context.Context) (err error) {
	if l.pid > 0 {
		if l.r.RSSBefore, err = process(l.pid).rss(); err != nil {
			return err
		}
	}
	config, err := l.discover(ctx, l.crowd.configure(l.inflight))
	if err != nil {
		return err
	}
	first, err := client.Connect(ctx, l.endpoint, config)
	if err != nil {
		return fmt.Errorf("the session that writes cannot connect: %w", err)
	}
	defer closeAll([]*client.Client{first})
	if err := l.prepare(ctx, first); err != nil {
		return fmt.Errorf("this load cannot start: %w", err)
	}
	if l.timeline, err = newTimeline(l.sessionsFlags.timeline, l.sample); err != nil {
		return wrong("timeline", l.sessionsFlags.timeline, "write the name of a file that can be made (%v)", err)
	}
	defer func() { err = errors.Join(err, l.timeline.stop()) }()

	err = l.hold(ctx, config)
	l.timeline.enter("closing")
	l.crowd.leaving.Store(true)
	for status, n := range closeAll(l.crowd.clients()) {
		l.crowd.count(status, n)
	}
	l.r.SessionsAfter = l.summary.read(ctx)
	l.r.take(l)
	return errors.Join(err, l.r.failure(l))
}

// prepare has the first session look at the node and at the server.
func (l *sessionsLoad) prepare(ctx context.Context, c *client.Client) (err error) {
	l.summary.client = c
	l.r.SessionsBefore = l.summary.read(ctx)
	l.r.earlier = l.summary.cumulated(ctx)
	if l.every > 0 {
		l.writer, err = newWriter(ctx, c, []ua.NodeID{l.first}, 1)
		return err
	}
	l.writer = idleWriter()
	return nil
}

// hold establishes the sessions and keeps them until the load is over.
func (l *sessionsLoad) hold(ctx context.Context, config client.Config) error {
	l.timeline.enter("establishing")
	if err := l.establish(ctx, config); err != nil {
		return err
	}
	l.r.sessionsDuring(l.summary.read(ctx))
	watchers := l.crowd.clients()

	l.timeline.enter("subscribing")
	start := time.Now()
	got, err := l.subscribe(ctx, watchers, l.subscribing)
	l.r.SubscribeSeconds = time.Since(start).Seconds()
	if err == nil {
		err = l.awaitFirst(ctx, got)
	}
	if err != nil {
		return err
	}

	l.timeline.enter("measuring")
	m, err := l.change(ctx)
	if err == nil {
		l.timeline.enter("quiet")
		l.awaitLast(ctx, got)
		err = l.quiet(ctx, watchers, got)
	}
	l.r.RSSClient, _ = ownRSS()
	l.r.sessionsDuring(l.summary.read(ctx))
	l.r.subscribeResult = *l.result(&m, watchers, got)
	l.r.PublishFailures = int64(countedBy(watchers).publishFailures)
	l.r.RSSAfter = m.meter.rss
	return err
}

// quiet waits while nothing changes: each session is to get a keep-alive then
// (Part 4, 5.14.1.1). Where nothing is written, that was so all the time.
func (l *sessionsLoad) quiet(ctx context.Context, watchers []*client.Client, got revised) error {
	// The first one comes behind so many intervals without a change, and they are
	// counted from the last message.
	silence := time.Duration(l.keepAlive+1)*got.interval + l.late
	if l.every > 0 {
		before := keepAlives(watchers)
		sum := func() (n int64) {
			for _, k := range keepAlives(watchers) {
				n += int64(k)
			}
			return n
		}
		if err := watch(ctx, silence, l.failed, newProgress("waiting for keep-alives", l.json), "keep-alives", sum); err != nil {
			return err
		}
		l.r.quietSessions(before, keepAlives(watchers))
	} else if l.warmup+l.duration >= silence {
		l.r.quietSessions(make([]uint64, len(watchers)), keepAlives(watchers))
	}
	return nil
}

func keepAlives(watchers []*client.Client) []uint64 {
	n := make([]uint64, len(watchers))
	for i, c := range watchers {
		n[i] = c.Stats().KeepAlives
	}
	return n
}
