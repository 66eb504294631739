package uahive

import (
	"runtime"
	"time"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/audit"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/publishloop"
	"github.com/uahive/uahive/sessionactor"
)

// Stats is a snapshot of a server's counters.
type Stats struct {
	Uptime        time.Duration
	Channels      channelactor.Stats
	Sessions      sessionactor.Stats
	Subscriptions publishloop.Stats
	// Pool is the worker pool that runs calls into the program: its size, how
	// many calls are active, how many wait.
	Pool actors.PoolStats
	// Lane is where private-key operations take turns.
	Lane actors.LaneStats
	// Goroutines of the server by what they are: "reader", "channel", "session",
	// "subscription", "trust", "events".
	Goroutines map[string]int
	// Panics of the program's callbacks and managers since the start. Each cost
	// one operation.
	Panics uint64
	// Requests says, for each service that was asked, how many requests had which
	// service result, and how long they took.
	Requests []sessionactor.Requests
	// ParkedPublishes is the number of Publish requests that wait for something to
	// report.
	ParkedPublishes int
	// HooksDropped is the number of events that [Hooks] were not told, since too many
	// waited for them.
	HooksDropped uint64
	// Audit counts the entries of the audit trail.
	Audit audit.Stats
	// AuditDropped is the number of entries that [Config].Audit was not told, since too
	// many waited for it.
	AuditDropped uint64
	// Nodes is the number of nodes in the address space.
	Nodes int
}

// Stats returns the counters of this moment. It asks each session for its parked
// requests: once a second is nothing, a thousand times is not.
func (s *Server) Stats() Stats {
	sessions := s.sessions.Stats()
	return Stats{
		Uptime:        time.Since(s.start),
		Channels:      s.channels.Stats(),
		Sessions:      sessions,
		Subscriptions: s.subs.Stats(),
		Pool:          s.pool.Stats(),
		Lane:          s.lane.Stats(),
		Goroutines:    s.group.Running(),
		Panics:        s.model.panics.Load() + sessions.Panics,
		Nodes:         s.space.Len(),

		Requests:        s.sessions.Requests(),
		ParkedPublishes: s.sessions.ParkedPublishes(),
		HooksDropped:    s.herald.dropped.Load(),
		Audit:           s.auditor.trail.Stats(),
		AuditDropped:    s.auditor.dropped.Load(),
	}
}

// SessionDiagnostics returns what the standard counts of each session (Part 5,
// 12.11), in no order. Clients are shown what their users may see.
func (s *Server) SessionDiagnostics() []ua.SessionDiagnosticsDataType {
	sessions := s.sessions.Sessions()
	list := make([]ua.SessionDiagnosticsDataType, len(sessions))
	for i, session := range sessions {
		list[i] = session.Diagnostics()
	}
	return list
}

// laneSize is how many private-key operations run at once: all cores but one,
// so that sessions that exist go on while new ones are made.
func laneSize() int { return max(1, runtime.GOMAXPROCS(0)-1) }

// laneFollow is how often a client comes back to the lane that has begun to open
// a channel: for the answer, for CreateSession, and for ActivateSession.
const laneFollow = 3
