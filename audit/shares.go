package audit

import (
	"sync"
	"time"
)

// maxHosts is how many hosts have a share of their own in one second. Those that come
// after them have one together, so that no number of hosts takes memory.
const maxHosts = 1024

// shares gives each host the same number of refusals in a second.
type shares struct {
	most int // immutable

	mu sync.Mutex // a leaf
	// Guarded by mu.
	since  time.Time // begin of the second
	hosts  map[string]int
	others int
}

func (s *shares) take(host string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.since) >= time.Second {
		s.since, s.others = now, 0
		clear(s.hosts)
	}
	taken, known := s.hosts[host]
	if !known && len(s.hosts) >= maxHosts {
		s.others++
		return s.others <= s.most
	}
	if s.hosts == nil {
		s.hosts = make(map[string]int)
	}
	s.hosts[host] = taken + 1
	return taken < s.most
}
