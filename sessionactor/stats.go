package sessionactor

import (
	"sync/atomic"

	"github.com/uahive/uahive/codec/ua"
)

// maxServices is more than the service table has entries.
const maxServices = 48

// counters are the service's own counters.
type counters struct {
	created, activated, denied, refused, timedOut, evicted, aborted, closed atomic.Uint64
	requests, failed, panics                                                atomic.Uint64
}

// Stats is a snapshot of the counters of a [Service]. Counters only grow.
type Stats struct {
	Sessions       int    // that exist now, activated or not
	Created        uint64 // sessions that were created
	Activated      uint64 // activations that succeeded, re-bindings included
	Denied         uint64 // activations that were refused
	Refused        uint64 // sessions refused at the limit
	TimedOut       uint64 // sessions that ended by their time-out
	Evicted        uint64 // sessions that made room before activation
	Aborted        uint64 // sessions that ended before activation, with their channel or by misuse
	Requests       uint64 // requests answered with a response
	FailedRequests uint64 // requests answered with a ServiceFault
	Panics         uint64 // in user code
}

// Stats returns the counters of this moment.
func (s *Service) Stats() Stats {
	return Stats{
		Sessions:       s.sessions.Len(),
		Created:        s.stats.created.Load(),
		Activated:      s.stats.activated.Load(),
		Denied:         s.stats.denied.Load(),
		Refused:        s.stats.refused.Load(),
		TimedOut:       s.stats.timedOut.Load(),
		Evicted:        s.stats.evicted.Load(),
		Aborted:        s.stats.aborted.Load(),
		Requests:       s.stats.requests.Load(),
		FailedRequests: s.stats.failed.Load(),
		Panics:         s.stats.panics.Load(),
	}
}

func (c *counters) ended(cause endCause) {
	switch cause {
	case endTimeout:
		c.timedOut.Add(1)
	case endEvicted:
		c.evicted.Add(1)
	case endChannel, endExpelled:
		c.aborted.Add(1)
	default:
		c.closed.Add(1)
	}
}

func (s *Service) count(_ *entry, code ua.StatusCode) {
	if code.IsBad() {
		s.stats.failed.Add(1)
		return
	}
	s.stats.requests.Add(1)
}

// sessionCounters are the counters of one session's diagnostics (Part 5, 12.11).
type sessionCounters struct {
	total, failed [maxServices]atomic.Uint32
	unauthorized  atomic.Uint32
}

func (s *Session) count(e *entry, code ua.StatusCode) {
	s.counts.total[e.index].Add(1)
	if !code.IsBad() {
		return
	}
	s.counts.failed[e.index].Add(1)
	if code == ua.BadUserAccessDenied {
		s.counts.unauthorized.Add(1)
	}
}
