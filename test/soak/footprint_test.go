//go:build soak

package soak

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// footprint is what the server's page tells.
type footprint struct {
	Goroutines     int            `json:"goroutines"`
	ByKind         map[string]int `json:"goroutines_by_kind"`
	HeapBytes      uint64         `json:"heap_bytes"`
	StackBytes     uint64         `json:"stack_bytes"`
	OpenFiles      int            `json:"open_files"`
	Channels       int            `json:"channels"`
	Sessions       int            `json:"sessions"`
	Subscriptions  int            `json:"subscriptions"`
	MonitoredItems int            `json:"monitored_items"`
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

// busy says what of sessions is still there.
func (f footprint) busy() string {
	var left []string
	for name, n := range map[string]int{
		"channels": f.Channels, "sessions": f.Sessions, "subscriptions": f.Subscriptions, "monitored items": f.MonitoredItems,
	} {
		if n > 0 {
			left = append(left, fmt.Sprintf("%d %s", n, name))
		}
	}
	return strings.Join(left, ", ")
}

// above says what there is more than before, after so many sessions.
func (f footprint) above(before footprint, sessions int) string {
	var left []string
	if busy := f.busy(); busy != "" {
		left = append(left, busy)
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

// look asks the server's page.
func (s *server) look(t *testing.T, query string) (f footprint) {
	t.Helper()
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(s.page + query)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&f); err != nil {
		t.Fatal(err)
	}
	return f
}

// settleMost is how long a server may take to clean up.
const settleMost = 30 * time.Second

// settle waits until nothing is left, and returns what the server holds then.
func (s *server) settle(t *testing.T, left func(footprint) string) footprint {
	t.Helper()
	for end := time.Now().Add(settleMost); ; time.Sleep(time.Second) {
		f := s.look(t, "?gc")
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

// watch looks at the server now and then. The function that it returns ends that
// and returns the most that was seen of each thing.
func (s *server) watch(t *testing.T) (stop func() footprint) {
	quit, done := make(chan struct{}), make(chan struct{})
	var most footprint
	go func() { // ends with stop
		defer close(done)
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-quit:
				return
			}
			f := s.look(t, "")
			most.Goroutines = max(most.Goroutines, f.Goroutines)
			most.HeapBytes = max(most.HeapBytes, f.HeapBytes)
			most.StackBytes = max(most.StackBytes, f.StackBytes)
			most.OpenFiles = max(most.OpenFiles, f.OpenFiles)
			most.Channels = max(most.Channels, f.Channels)
			most.Sessions = max(most.Sessions, f.Sessions)
			most.Subscriptions = max(most.Subscriptions, f.Subscriptions)
			most.MonitoredItems = max(most.MonitoredItems, f.MonitoredItems)
		}
	}()
	return func() footprint {
		close(quit)
		<-done
		return most
	}
}
