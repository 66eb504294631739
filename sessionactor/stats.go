package sessionactor

import (
	"sync/atomic"

	"github.com/uahive/uahive/codec/ua"
)

// maxServices is the number of entries of the service table, and one for requests
// of no service that is known.
const maxServices = 27

// counters are the service's own counters.
type counters struct {
	created, activated, denied, refused, timedOut, evicted, aborted, closed atomic.Uint64
	lockedOut                                                               atomic.Uint64
	panics                                                                  atomic.Uint64
	points                                                                  atomic.Int64 // continuation points that are held now
}

// Stats is a snapshot of the counters of a [Service]. Counters only grow.
type Stats struct {
	Sessions       int    // that exist now, activated or not
	Created        uint64 // sessions that were created
	Activated      uint64 // activations that succeeded, re-bindings included
	Denied         uint64 // activations that were refused
	LockedOut      uint64 // of those, the ones of clients that had to wait after too many bad logins
	Refused        uint64 // sessions refused at the limit
	TimedOut       uint64 // sessions that ended by their time-out
	Evicted        uint64 // sessions that made room before activation
	Aborted        uint64 // sessions that ended before activation, with their channel or by misuse
	Closed         uint64 // sessions that their clients closed, or the end of the server
	Requests       uint64 // requests answered with a response
	FailedRequests uint64 // requests answered with a ServiceFault
	Panics         uint64 // in user code

	ContinuationPoints int // of Browse, that sessions hold now
}

// Stats returns the counters of this moment. [Service.Requests] tells the services
// apart.
func (s *Service) Stats() Stats {
	published, refused := s.config.Subscriptions.PublishTotals()
	return Stats{
		Sessions:       s.sessions.Len(),
		Created:        s.stats.created.Load(),
		Activated:      s.stats.activated.Load(),
		Denied:         s.stats.denied.Load(),
		LockedOut:      s.stats.lockedOut.Load(),
		Refused:        s.stats.refused.Load(),
		TimedOut:       s.stats.timedOut.Load(),
		Evicted:        s.stats.evicted.Load(),
		Aborted:        s.stats.aborted.Load(),
		Closed:         s.stats.closed.Load(),
		Requests:       s.meter.goods() + published,
		FailedRequests: s.meter.bads() + refused,
		Panics:         s.stats.panics.Load(),

		ContinuationPoints: int(s.stats.points.Load()),
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

// ParkedPublishes returns how many Publish requests of all sessions wait for
// something to report. It asks each session.
func (s *Service) ParkedPublishes() int {
	n := 0
	for _, session := range s.sessions.All() {
		n += session.queue.Len()
	}
	return n
}

// sessionCounters are the counters of one session's diagnostics (Part 5, 12.11).
type sessionCounters struct {
	total  [maxServices]atomic.Uint32
	failed atomic.Pointer[failures] // nil until a request fails
}

// failures are the requests of a session that were answered with a fault. Few
// sessions have any.
type failures struct {
	services     [maxServices]atomic.Uint32
	unauthorized atomic.Uint32
}

func (s *Session) count(e *entry, code ua.StatusCode) {
	s.counts.total[e.index].Add(1)
	if code.IsBad() {
		s.counts.fail(e, code)
	}
}

func (c *sessionCounters) fail(e *entry, code ua.StatusCode) {
	f := c.failed.Load()
	if f == nil {
		f = new(failures)
		if !c.failed.CompareAndSwap(nil, f) {
			f = c.failed.Load()
		}
	}
	f.services[e.index].Add(1)
	if code == ua.BadUserAccessDenied {
		f.unauthorized.Add(1)
	}
}

// failures returns what failed; never nil.
func (c *sessionCounters) failures() *failures {
	if f := c.failed.Load(); f != nil {
		return f
	}
	return &noFailures
}

var noFailures failures
