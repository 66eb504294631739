package channelactor

import "sync/atomic"

// Stats is a snapshot of the counters of a [Server]. Counters only grow.
type Stats struct {
	Channels        int    // connections that are open now
	Accepted        uint64 // connections that were accepted
	Opened          uint64 // secure channels that were opened
	Renewed         uint64 // security tokens that were renewed
	RefusedBusy     uint64 // connections refused at a limit
	Evicted         uint64 // channels without a session that made room for another
	RefusedSecurity uint64 // channels refused for their certificate, policy or signature
	TimedOut        uint64 // channels that kept a deadline waiting
	SlowClosed      uint64 // channels closed because the peer did not read
	ProtocolErrors  uint64 // channels closed for what the peer sent
	Requests        uint64 // requests that were handed to the service
	BytesIn         uint64
	BytesOut        uint64
	Panics          uint64 // bugs that ended a channel
	AssemblyBytes   int64  // held by unfinished messages now
}

type counters struct {
	accepted, opened, renewed, refusedBusy, evicted, refusedSecurity atomic.Uint64
	timedOut, slowClosed, protocolErrors, requests                   atomic.Uint64
	bytesIn, bytesOut, panics                                        atomic.Uint64
}

// Stats returns the counters of this moment.
func (s *Server) Stats() Stats {
	return Stats{
		Channels:        s.admission.len(),
		Accepted:        s.stats.accepted.Load(),
		Opened:          s.stats.opened.Load(),
		Renewed:         s.stats.renewed.Load(),
		RefusedBusy:     s.stats.refusedBusy.Load(),
		Evicted:         s.stats.evicted.Load(),
		RefusedSecurity: s.stats.refusedSecurity.Load(),
		TimedOut:        s.stats.timedOut.Load(),
		SlowClosed:      s.stats.slowClosed.Load(),
		ProtocolErrors:  s.stats.protocolErrors.Load(),
		Requests:        s.stats.requests.Load(),
		BytesIn:         s.stats.bytesIn.Load(),
		BytesOut:        s.stats.bytesOut.Load(),
		Panics:          s.stats.panics.Load(),
		AssemblyBytes:   s.budget.Used(),
	}
}

// channelBudget is the budget as one channel sees it: those without an activated
// session share one half, so that strangers cannot use up what users need.
type channelBudget Channel

// Take implements [uasc.Budget].
func (c *channelBudget) Take(n int) bool {
	budget := c.server.budget
	if c.sessions.Load() == 0 {
		return budget.TakeWithin(n, budget.Limit()/2)
	}
	return budget.Take(n)
}

// Give implements [uasc.Budget].
func (c *channelBudget) Give(n int) { c.server.budget.Give(n) }
