package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// timeline writes a line of CSV each second: what a load that lasts looks like
// over time. Without a file it does nothing.
type timeline struct {
	file   *os.File
	out    *bufio.Writer
	begun  time.Time
	sample func() moment
	quit   chan struct{}
	ended  sync.WaitGroup

	mu    sync.Mutex
	phase string // guarded by mu
}

// moment is a line of the timeline, without its time and phase.
type moment struct {
	established   int
	notifications int64 // so far
	p50, p99      int64 // delay in microseconds of what came within the second; 0: nothing
	serverCPU     time.Duration
	serverRSS     int64
}

const timelineHeader = "seconds,phase,established,notifications,delay_p50_ms,delay_p99_ms,server_cpu_percent,server_rss_bytes"

func newTimeline(name string, sample func() moment) (*timeline, error) {
	t := &timeline{begun: time.Now(), sample: sample, phase: "establishing", quit: make(chan struct{})}
	if name == "" {
		return t, nil
	}
	var err error
	if t.file, err = os.Create(name); err != nil {
		return nil, err
	}
	t.out = bufio.NewWriter(t.file)
	fmt.Fprintln(t.out, timelineHeader)
	t.ended.Go(t.write) // ends with stop
	return t, nil
}

// enter names what the load does from now on.
func (t *timeline) enter(phase string) {
	t.mu.Lock()
	t.phase = phase
	t.mu.Unlock()
}

func (t *timeline) write() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	before, at := t.sample(), time.Now()
	for {
		select {
		case <-tick.C:
		case <-t.quit:
			return
		}
		m, now := t.sample(), time.Now()
		t.mu.Lock()
		phase := t.phase
		t.mu.Unlock()
		percent := 100 * (m.serverCPU - before.serverCPU).Seconds() / now.Sub(at).Seconds()
		fmt.Fprintf(t.out, "%.1f,%s,%d,%d,%s,%s,%.1f,%d\n", now.Sub(t.begun).Seconds(), phase, m.established,
			m.notifications-before.notifications, delay(m.p50), delay(m.p99), percent, m.serverRSS)
		before, at = m, now
	}
}

// delay is empty where nothing was measured.
func delay(us int64) string {
	if us == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", float64(us)/1000)
}

// stop writes what is left. It may be called on nil.
func (t *timeline) stop() error {
	if t == nil || t.file == nil {
		return nil
	}
	close(t.quit)
	t.ended.Wait()
	return errors.Join(t.out.Flush(), t.file.Close())
}

// sample is what the timeline shows of a load.
func (l *sessionsLoad) sample() (m moment) {
	m.established = l.crowd.size()
	if l.phase.Load() != warming {
		m.notifications = l.received()
	}
	if d, n := l.times.window(); n > 0 {
		m.p50, m.p99 = d.P50, d.P99
	}
	if l.pid > 0 {
		m.serverCPU, _ = process(l.pid).cpu()
		m.serverRSS, _ = process(l.pid).rss()
	}
	return m
}
