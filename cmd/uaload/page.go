package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof" // the handlers under /debug/pprof
	"os"
	"runtime"
	"runtime/debug"

	"github.com/uahive/uahive"
)

// footprint is what the server holds, as the page /stats tells it. Whoever looks
// before and after a load sees whether anything was left behind.
type footprint struct {
	Goroutines     int            `json:"goroutines"`
	ByKind         map[string]int `json:"goroutines_by_kind"`
	HeapBytes      uint64         `json:"heap_bytes"` // in use
	HeapObjects    uint64         `json:"heap_objects"`
	StackBytes     uint64         `json:"stack_bytes"`
	OpenFiles      int            `json:"open_files"` // -1: not known
	Channels       int            `json:"channels"`
	Sessions       int            `json:"sessions"`
	Subscriptions  int            `json:"subscriptions"`
	MonitoredItems int            `json:"monitored_items"`
	Stats          uahive.Stats   `json:"stats"`
}

func newFootprint(srv *uahive.Server) footprint {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	s := srv.Stats()
	return footprint{
		Goroutines: runtime.NumGoroutine(), ByKind: s.Goroutines,
		HeapBytes: mem.HeapAlloc, HeapObjects: mem.HeapObjects, StackBytes: mem.StackInuse, OpenFiles: openFiles(),
		Channels: s.Channels.Channels, Sessions: s.Sessions.Sessions,
		Subscriptions: s.Subscriptions.Subscriptions, MonitoredItems: s.Subscriptions.MonitoredItems,
		Stats: s,
	}
}

// openFiles counts the descriptors of this process, the one that it takes to
// look at them left out.
func openFiles() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(list) - 1
}

// page serves profiles, and /stats in JSON; /stats?gc collects garbage before.
func page(srv *uahive.Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/debug/pprof/", http.DefaultServeMux)
	mux.HandleFunc("/stats", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("gc") {
			runtime.GC() // twice, since what pools hold survives once
			runtime.GC()
			debug.FreeOSMemory()
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(newFootprint(srv)) // to somebody who has gone
	})
	return mux
}

// startPage listens for whoever wants to see the page. It ends with the process.
func startPage(address string, srv *uahive.Server) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%w: %w", wrong("pprof", address, "write an address of this machine with a port that is free"), err)
	}
	fmt.Fprintf(os.Stderr, "uaload: profiles at http://%s/debug/pprof/, counters at http://%[1]s/stats\n", l.Addr())
	server := &http.Server{Handler: page(srv)}
	go func() { _ = server.Serve(l) }()
	return nil
}
