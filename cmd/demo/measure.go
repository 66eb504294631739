package main

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// latency collects durations: all of them, and those of the last ten seconds.
type latency struct {
	mu     sync.Mutex
	all    *hdrhistogram.Histogram
	recent *hdrhistogram.WindowedHistogram
}

const (
	longestLatency = int64(time.Minute / time.Microsecond)
	latencyDigits  = 2
	recentSeconds  = 10
)

func newLatency() *latency {
	return &latency{
		all:    hdrhistogram.New(1, longestLatency, latencyDigits),
		recent: hdrhistogram.NewWindowed(recentSeconds, 1, longestLatency, latencyDigits),
	}
}

func (l *latency) record(d time.Duration) {
	us := min(max(d.Microseconds(), 1), longestLatency)
	l.mu.Lock()
	defer l.mu.Unlock()
	// The value is in the histograms' range, so there is no error.
	_ = l.all.RecordValue(us)
	_ = l.recent.Current.RecordValue(us)
}

// percentiles are the two that are shown, and how many values they are of.
type percentiles struct {
	p50, p99 time.Duration
	count    int64
}

func percentilesOf(h *hdrhistogram.Histogram) percentiles {
	at := func(q float64) time.Duration { return time.Duration(h.ValueAtQuantile(q)) * time.Microsecond }
	return percentiles{p50: at(50), p99: at(99), count: h.TotalCount()}
}

// lately returns what the last seconds were like; it is to be called once a
// second, since it forgets the oldest one.
func (l *latency) lately() percentiles {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := percentilesOf(l.recent.Merge())
	l.recent.Rotate()
	return p
}

func (l *latency) total() percentiles {
	l.mu.Lock()
	defer l.mu.Unlock()
	return percentilesOf(l.all)
}

// lateness tells how late the messages of one subscription arrive. The server
// publishes at fixed times that only it knows, one interval apart; the luckiest
// message so far stands for them. What is counted is thus everything that
// varies on the way: timers, queues, encryption, both ends of the network.
type lateness struct {
	interval time.Duration
	arrived  []time.Time // the first messages, to learn the publishing times from
	known    bool
	due      time.Time // one of the publishing times
}

// learning is how many messages it takes to know the publishing times.
const learning = 6

// of returns the delay of a message that arrives now, once the times are known.
func (l *lateness) of(now time.Time) (delay time.Duration, ok bool) {
	if l.interval <= 0 {
		return 0, false
	}
	if !l.known {
		l.learn(now)
		return 0, false
	}
	since := now.Sub(l.due)
	if delay = since - since.Round(l.interval); delay < 0 {
		l.due = now // luckier than all before
		delay = 0
	}
	return delay, true
}

// learn takes the one of the first arrivals that is nearest to all others, on the
// circle that publishing times go round: a few that are very late do not matter
// then. The very first does not count, since it comes when it is asked for.
func (l *lateness) learn(now time.Time) {
	if l.arrived = append(l.arrived, now); len(l.arrived) <= learning {
		return
	}
	least := time.Duration(-1)
	for _, candidate := range l.arrived[1:] {
		sum := time.Duration(0)
		for _, other := range l.arrived[1:] {
			apart := other.Sub(candidate)
			sum += (apart - apart.Round(l.interval)).Abs()
		}
		if least < 0 || sum < least {
			least, l.due = sum, candidate
		}
	}
	l.known, l.arrived = true, nil
}

// memoryInUse is what lives on the heap, as of the last collection, and on
// stacks.
func memoryInUse() int64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() + samples[1].Value.Uint64())
}

// collectedMemory is memoryInUse after a collection.
func collectedMemory() int64 {
	runtime.GC()
	return memoryInUse()
}
