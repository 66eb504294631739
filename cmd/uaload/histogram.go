package main

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longest is the largest time that the histogram tells apart, in microseconds.
// What took longer counts as this.
const longest = 60_000_000

// histogram counts times in microseconds. All clients share one, since each of
// it takes 150 KB, which a thousand clients would sweep through the caches; they
// bring their times in batches.
type histogram struct {
	batch int // how many times are brought at once; 0: as many as a batch holds
	mu    sync.Mutex
	// Guarded by mu.
	h      *hdrhistogram.Histogram
	recent *hdrhistogram.Histogram // since the last call of window; nil: not kept
}

func newHistogram() *histogram {
	return &histogram{h: hdrhistogram.New(1, longest, 3)}
}

// newWindowed makes a histogram that can tell the times of the last moments
// apart. It is for times that are too far between for batches.
func newWindowed() *histogram {
	h := newHistogram()
	h.batch, h.recent = 1, hdrhistogram.New(1, longest, 3)
	return h
}

// window returns percentiles of what has come since the last call, and how many
// times that were.
func (h *histogram) window() (l latency, n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n = h.recent.TotalCount()
	l = percentiles(h.recent)
	h.recent.Reset()
	return l, n
}

// times is a batch of times in microseconds, of one owner.
type times struct {
	n   int
	all [128]uint32
}

// record adds a time, rounded to microseconds. What is shorter than one counts
// as one, the smallest time that a histogram can hold.
func (t *times) record(d time.Duration, into *histogram) {
	us := (d + time.Microsecond/2) / time.Microsecond
	t.all[t.n] = uint32(min(max(us, 1), longest))
	if t.n++; t.n == len(t.all) || t.n == into.batch {
		t.flush(into)
	}
}

// flush brings the batch into the histogram.
func (t *times) flush(into *histogram) {
	into.mu.Lock()
	defer into.mu.Unlock()
	for _, us := range t.all[:t.n] {
		_ = into.h.RecordValue(int64(us)) // it is within the bounds
		if into.recent != nil {
			_ = into.recent.RecordValue(int64(us))
		}
	}
	t.n = 0
}

// latency holds percentiles in microseconds.
type latency struct {
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

func (h *histogram) latency() latency {
	h.mu.Lock()
	defer h.mu.Unlock()
	return percentiles(h.h)
}

func percentiles(h *hdrhistogram.Histogram) latency {
	return latency{
		P50: h.ValueAtPercentile(50), P90: h.ValueAtPercentile(90), P99: h.ValueAtPercentile(99),
		P999: h.ValueAtPercentile(99.9), Max: h.Max(),
	}
}
