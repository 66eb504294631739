package main

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// holder holds the requests of a connection until the timer that all connections of one interval share goes off: what a
// server that publishes cannot do without, and no more.
type holder struct {
	conn     net.Conn
	response []byte
	requests atomic.Int64
	beat     *beat
}

// beat answers one request of each of its connections per interval.
type beat struct {
	mu      sync.Mutex
	holders map[*holder]struct{}
}

var (
	beatsMu sync.Mutex
	beats   = make(map[time.Duration]*beat)
)

func hold(conn net.Conn, response []byte, interval time.Duration) *holder {
	beatsMu.Lock()
	defer beatsMu.Unlock()
	b := beats[interval]
	if b == nil {
		b = &beat{holders: make(map[*holder]struct{})}
		beats[interval] = b
		go b.run(interval)
	}
	h := &holder{conn: conn, response: response, beat: b}
	b.mu.Lock()
	b.holders[h] = struct{}{}
	b.mu.Unlock()
	return h
}

func (h *holder) drop() {
	h.beat.mu.Lock()
	delete(h.beat.holders, h)
	h.beat.mu.Unlock()
}

// run ends with the process.
func (b *beat) run(interval time.Duration) {
	for range time.Tick(interval) {
		b.mu.Lock()
		for h := range b.holders {
			if h.requests.Load() > 0 {
				h.requests.Add(-1)
				_, _ = h.conn.Write(h.response) // a connection that is gone is dropped by its reader
			}
		}
		b.mu.Unlock()
	}
}
