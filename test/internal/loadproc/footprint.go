//go:build linux

package loadproc

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive"
)

// Footprint is what the server's page tells of it.
type Footprint struct {
	Goroutines     int            `json:"goroutines"`
	ByKind         map[string]int `json:"goroutines_by_kind"`
	HeapBytes      uint64         `json:"heap_bytes"`
	StackBytes     uint64         `json:"stack_bytes"`
	OpenFiles      int            `json:"open_files"`
	Channels       int            `json:"channels"`
	Sessions       int            `json:"sessions"`
	Subscriptions  int            `json:"subscriptions"`
	MonitoredItems int            `json:"monitored_items"`
	Stats          uahive.Stats   `json:"stats"`
}

const (
	// spareGoroutines may be there at one look and not at another: those of the
	// page, and workers that idle for a while.
	spareGoroutines = 8
	spareFiles      = 2
	// spareHeap and heapEach are for what is kept for the next ones. Go keeps the
	// descriptor of each goroutine that has ended, about 540 bytes, and a session
	// has three; and maps do not shrink.
	spareHeap = 1 << 20
	heapEach  = 2 << 10
)

// Counts returns what clients make a server hold, by name.
func (f Footprint) Counts() map[string]int {
	return map[string]int{
		"channels": f.Channels, "sessions": f.Sessions, "subscriptions": f.Subscriptions, "monitored items": f.MonitoredItems,
		"continuation points": f.Stats.Sessions.ContinuationPoints, "bytes of unfinished messages": int(f.Stats.Channels.AssemblyBytes),
	}
}

// Busy says what of clients is still there.
func (f Footprint) Busy() string { return f.More(Footprint{}) }

// More says what of clients there is beyond before, or nothing.
func (f Footprint) More(before Footprint) string {
	var left []string
	had := before.Counts()
	for name, n := range f.Counts() {
		if n > had[name] {
			left = append(left, fmt.Sprintf("%d %s", n-had[name], name))
		}
	}
	slices.Sort(left)
	return strings.Join(left, ", ")
}

// Above says what there is more than before, after so many sessions have been
// there in between.
func (f Footprint) Above(before Footprint, sessions int) string {
	var left []string
	if more := f.More(before); more != "" {
		left = append(left, more)
	}
	if f.Goroutines > before.Goroutines+spareGoroutines {
		left = append(left, fmt.Sprintf("%d goroutines, there were %d (%v, %v)", f.Goroutines, before.Goroutines, f.ByKind, before.ByKind))
	}
	if f.OpenFiles > before.OpenFiles+spareFiles {
		left = append(left, fmt.Sprintf("%d open files, there were %d", f.OpenFiles, before.OpenFiles))
	}
	if f.HeapBytes > before.HeapBytes+spareHeap+uint64(sessions)*heapEach {
		left = append(left, fmt.Sprintf("%d KiB of heap, there were %d", f.HeapBytes>>10, before.HeapBytes>>10))
	}
	return strings.Join(left, ", ")
}

func (f Footprint) String() string {
	return fmt.Sprintf("%d goroutines, %d files, %d channels, %d sessions, %d subscriptions, %d items, %d continuation points, heap %d KiB",
		f.Goroutines, f.OpenFiles, f.Channels, f.Sessions, f.Subscriptions, f.MonitoredItems, f.Stats.Sessions.ContinuationPoints, f.HeapBytes>>10)
}

// pages asks for pages on connections of their own, which the server does not
// keep.
var pages = http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}

// Look asks the server what it holds.
func (s *Server) Look(t testing.TB) Footprint { t.Helper(); return s.ask(t, "") }

// LookClean is Look after a garbage collection.
func (s *Server) LookClean(t testing.TB) Footprint { t.Helper(); return s.ask(t, "?gc") }

func (s *Server) ask(t testing.TB, query string) (f Footprint) {
	t.Helper()
	resp, err := pages.Get(s.Page + query)
	if err != nil {
		t.Fatalf("%v: %s", err, s.Errors())
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&f); err != nil {
		t.Fatal(err)
	}
	return f
}

// Await looks until wrong says nothing of what the server holds, and fails the
// test with what it says when that takes too long.
func (s *Server) Await(t testing.TB, most time.Duration, wrong func(Footprint) string) Footprint {
	t.Helper()
	for end := time.Now().Add(most); ; time.Sleep(100 * time.Millisecond) {
		f := s.Look(t)
		what := wrong(f)
		if what == "" {
			return f
		}
		if time.Now().After(end) {
			t.Errorf("after %v the server still has %s", most, what)
			return f
		}
	}
}

// settleMost is how long a server may take to clean up.
const settleMost = 30 * time.Second

// Settle waits until nothing is left, and returns what the server holds then.
func (s *Server) Settle(t testing.TB, left func(Footprint) string) Footprint {
	t.Helper()
	for end := time.Now().Add(settleMost); ; time.Sleep(time.Second) {
		f := s.LookClean(t)
		what := left(f)
		if what == "" {
			return f
		}
		if time.Now().After(end) {
			t.Errorf("after %v the server still has %s", settleMost, what)
			return f
		}
	}
}

// Returned waits until the server holds no more than before, after so many
// sessions, and returns what it holds.
func (s *Server) Returned(t testing.TB, before Footprint, sessions int) Footprint {
	t.Helper()
	return s.Settle(t, func(f Footprint) string { return f.Above(before, sessions) })
}

// Sample looks at the server now and then. The function that it returns ends that
// and returns the most that was seen of each thing.
func (s *Server) Sample(t testing.TB, every time.Duration) (stop func() Footprint) {
	quit, done := make(chan struct{}), make(chan struct{})
	var most Footprint
	go func() { // ends with stop
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-quit:
				return
			}
			resp, err := pages.Get(s.Page)
			if err != nil {
				continue // whoever looks next will say so
			}
			var f Footprint
			err = json.NewDecoder(resp.Body).Decode(&f)
			resp.Body.Close()
			if err == nil {
				most.rise(f)
			}
		}
	}()
	return func() Footprint {
		close(quit)
		<-done
		return most
	}
}

// rise takes over what is more.
func (f *Footprint) rise(next Footprint) {
	f.Goroutines = max(f.Goroutines, next.Goroutines)
	f.HeapBytes = max(f.HeapBytes, next.HeapBytes)
	f.StackBytes = max(f.StackBytes, next.StackBytes)
	f.OpenFiles = max(f.OpenFiles, next.OpenFiles)
	f.Channels = max(f.Channels, next.Channels)
	f.Sessions = max(f.Sessions, next.Sessions)
	f.Subscriptions = max(f.Subscriptions, next.Subscriptions)
	f.MonitoredItems = max(f.MonitoredItems, next.MonitoredItems)
	lane, nextLane := &f.Stats.Lane, next.Stats.Lane
	lane.Waiting, lane.Wait = max(lane.Waiting, nextLane.Waiting), max(lane.Wait, nextLane.Wait)
}
