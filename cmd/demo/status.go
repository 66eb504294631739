package main

import (
	"context"
	"fmt"
	"time"

	"github.com/uahive/uahive"
)

const (
	statusEvery = time.Second
	// pipeEvery is how often a line is written where nothing can be refreshed.
	pipeEvery = 5 * time.Second
)

// status follows the numbers of the server and the demo's own sessions.
type status struct {
	srv     *uahive.Server
	load    *load // nil without sessions of our own
	screen  *screen
	started time.Time
	// perSession is the memory that opening one session took, on both sides.
	perSession int64 // 0 when it was not measured

	sent     uint64    // notifications at the last look
	looked   time.Time // when that was
	peakRate float64
}

// numbers are what one look shows.
type numbers struct {
	uahive.Stats
	rate          float64 // notifications/s
	delays, reads percentiles
	parked        int
	lost          uint64
}

// run shows the status until the context ends.
func (st *status) run(ctx context.Context) {
	st.looked, st.sent = time.Now(), st.srv.Stats().Subscriptions.NotificationsSent
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	written := time.Now()
	for {
		select {
		case <-ctx.Done():
			st.screen.leave()
			return
		case now := <-tick.C:
			n := st.look(now)
			st.screen.show(st.block(&n)...)
			if !st.screen.terminal && now.Sub(written) >= pipeEvery {
				st.screen.printf("%s", st.line(&n))
				written = now
			}
		}
	}
}

// look takes the numbers of this moment.
func (st *status) look(now time.Time) numbers {
	n := numbers{Stats: st.srv.Stats()}
	if seconds := now.Sub(st.looked).Seconds(); seconds > 0 {
		n.rate = float64(n.Subscriptions.NotificationsSent-st.sent) / seconds
	}
	st.looked, st.sent = now, n.Subscriptions.NotificationsSent
	st.peakRate = max(st.peakRate, n.rate)
	if st.load != nil {
		n.delays, n.reads = st.load.delays.lately(), st.load.reads.lately()
		n.parked, n.lost = st.load.parked()
	}
	return n
}

// block is the live display.
func (st *status) block(n *numbers) []string {
	lines := []string{
		fmt.Sprintf("  sessions        %-10d channels %d", n.Sessions.Sessions, n.Channels.Channels),
		fmt.Sprintf("  subscriptions   %-10d monitored items %d", n.Subscriptions.Subscriptions, n.Subscriptions.MonitoredItems),
		fmt.Sprintf("  notifications   %-10s lost %d", perSecond(n.rate), n.lost+n.Subscriptions.ValuesLost),
	}
	if st.load != nil {
		lines = append(lines,
			fmt.Sprintf("  publish delay   %s", n.delays.columns()),
			fmt.Sprintf("  Read latency    %s", n.reads.columns()))
		if st.perSession > 0 {
			lines = append(lines, fmt.Sprintf("  memory          %-10s per session, both ends", size(st.perSession)))
		}
	}
	return append(lines,
		fmt.Sprintf("  pool            %-10s parked publishes %d", fmt.Sprintf("%d/%d", n.Pool.Active, n.Pool.Size), n.parked),
		fmt.Sprintf("  running         %-10s Ctrl-C ends", time.Since(st.started).Round(time.Second)))
}

// line is the display in a pipe.
func (st *status) line(n *numbers) string {
	text := fmt.Sprintf("sessions=%d notifications/s=%.0f lost=%d", n.Sessions.Sessions, n.rate, n.lost+n.Subscriptions.ValuesLost)
	if st.load != nil {
		text += fmt.Sprintf(" publish-delay: %s, Read: %s", n.delays, n.reads)
		if st.perSession > 0 {
			text += ", memory/session=" + size(st.perSession)
		}
	}
	return text + fmt.Sprintf(" pool-active=%d/%d parked=%d", n.Pool.Active, n.Pool.Size, n.parked)
}

// summary is what is said at the end.
func (st *status) summary() []string {
	n := st.srv.Stats()
	lines := []string{fmt.Sprintf("ran for %s: %d sessions, %d requests, %d notifications",
		time.Since(st.started).Round(100*time.Millisecond), n.Sessions.Created,
		n.Sessions.Requests, n.Subscriptions.NotificationsSent)}
	if st.peakRate > 0 {
		lines[0] += fmt.Sprintf(" (at most %s)", perSecond(st.peakRate))
	}
	if st.load != nil {
		delays, reads := st.load.delays.total(), st.load.reads.total()
		if delays.count > 0 && reads.count > 0 {
			lines = append(lines,
				fmt.Sprintf("publish delay %s of %d; Read latency %s of %d", delays, delays.count, reads, reads.count))
		}
		if st.perSession > 0 {
			lines = append(lines,
				fmt.Sprintf("memory per session %s (server and client, heap and stacks)", size(st.perSession)))
		}
	}
	return lines
}

// String is what a line has; without values there is nothing to say.
func (p percentiles) String() string {
	if p.count == 0 {
		return "unknown yet"
	}
	return fmt.Sprintf("p50=%s p99=%s", rough(p.p50), rough(p.p99))
}

// columns is String for the block.
func (p percentiles) columns() string {
	if p.count == 0 {
		return "..."
	}
	return fmt.Sprintf("p50 %-6s p99 %s", rough(p.p50), rough(p.p99))
}

// rough rounds a time to what can be read at a glance.
func rough(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}

func perSecond(rate float64) string { return fmt.Sprintf("%.0f/s", rate) }

func size(bytes int64) string {
	switch {
	case bytes >= 10<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(bytes)/1024)
	}
	return fmt.Sprintf("%d B", bytes)
}
