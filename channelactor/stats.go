package channelactor

import (
	"slices"
	"sync/atomic"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/codec/ua"
)

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

	// Rejected counts the connections that the server did not let in, or ended
	// before their secure channel was open, by reason. Connections that their
	// peers gave up are not among them.
	Rejected []Rejection
	// Closed counts the secure channels that were open and ended, by reason.
	Closed []Closed
}

// Rejection counts connections that ended for the same reason before their secure
// channel was open.
type Rejection struct {
	// Reason in words, such as "channel limit"; "other" for what is more than the
	// counters tell apart.
	Reason string
	// Status is what was wrong as exactly as the server knows it, its peers are
	// told less. Good where the reason says all.
	Status ua.StatusCode
	Count  uint64
}

// Closed counts secure channels that ended for the same reason.
type Closed struct {
	Reason string // in words
	Count  uint64
}

type counters struct {
	accepted, opened, renewed, refusedBusy, evicted, refusedSecurity atomic.Uint64
	timedOut, slowClosed, protocolErrors, requests                   atomic.Uint64
	bytesIn, bytesOut, panics                                        atomic.Uint64

	rejected actors.Tally // keyed by rejectionKey
	closed   [32]atomic.Uint64
}

// reasons has every reason at a place of its own, for the counters.
var reasons = []reasonCode{
	"other", reasonPeer, reasonClosed, reasonProtocol, reasonSecurity, reasonLimit, reasonPeerLimit, reasonBusy, reasonMemory,
	reasonTimeout, reasonToken, reasonWrite, reasonEvicted, reasonShutdown, reasonRequested, reasonPanic, reasonTrust, reasonRenewed,
}

// rejectionKey puts a status, whose lower half says nothing about what was wrong,
// and a reason into one number.
func rejectionKey(reason int, status ua.StatusCode) uint32 {
	return uint32(status)&0xFFFF0000 | uint32(reason)
}

// count counts the end of a channel that was open, or of a connection that was not.
func (s *Server) count(opened bool, r *CloseReason) {
	switch r.Code {
	case reasonSecurity:
		s.stats.refusedSecurity.Add(1)
	case reasonProtocol:
		s.stats.protocolErrors.Add(1)
	case reasonTimeout, reasonToken:
		s.stats.timedOut.Add(1)
	case reasonWrite:
		s.stats.slowClosed.Add(1)
	case reasonLimit, reasonPeerLimit, reasonBusy, reasonMemory:
		s.stats.refusedBusy.Add(1)
	}
	reason := max(0, slices.Index(reasons, r.Code))
	switch {
	case opened:
		s.stats.closed[reason].Add(1)
	case r.rejects():
		s.stats.rejected.Add(rejectionKey(reason, r.Detail()), 1)
	}
}

// Stats returns the counters of this moment.
func (s *Server) Stats() Stats {
	stats := Stats{
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
	rejected, other := s.stats.rejected.Counts()
	for _, c := range rejected {
		stats.Rejected = append(stats.Rejected, Rejection{
			Reason: string(reasons[c.Key&0xFFFF]), Status: ua.StatusCode(c.Key & 0xFFFF0000), Count: c.N,
		})
	}
	if other > 0 {
		stats.Rejected = append(stats.Rejected, Rejection{Reason: "other", Count: other})
	}
	for i, reason := range reasons {
		if n := s.stats.closed[i].Load(); n > 0 {
			stats.Closed = append(stats.Closed, Closed{string(reason), n})
		}
	}
	return stats
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
