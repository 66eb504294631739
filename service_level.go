package uahive

import (
	"time"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/codec/ua"
)

// The sub-ranges of ServiceLevel (Part 4, 6.6.2.4.2).
const (
	levelMaintenance = 0
	levelLeast       = 2 // of Degraded; 1 would say that there are no data
	levelDegraded    = 199
	levelHealthy     = 200
	levelBest        = 255
)

// load is how much of what the server can do is taken, in parts that are 0 when
// idle and 1 where the next newcomer is refused.
type load struct {
	handshakes float64 // time that waits in the lane, of what may wait
	calls      float64 // calls that wait for the worker pool, of those that may
	sessions   float64 // of those that may exist
	// turnedAway is how long the last of those stays away who were refused at the
	// lane, of the longest time that anybody is sent away.
	turnedAway float64
}

// longestAway is the longest time that a refused client is sent away.
const longestAway = 30 * time.Second

func loadOf(lane actors.LaneStats, pool actors.PoolStats, sessions, limit int) load {
	share := func(part, whole float64) float64 {
		if whole <= 0 {
			return 0
		}
		return min(max(part/whole, 0), 1)
	}
	return load{
		handshakes: share(float64(lane.Wait), float64(lane.MaxWait)),
		calls:      share(float64(pool.Waiting), float64(pool.Queue)),
		sessions:   share(float64(sessions), float64(limit)),
		turnedAway: share(float64(lane.Away), float64(longestAway)),
	}
}

// level turns a load into a ServiceLevel, which falls as any part of it rises.
// While there is room for everybody the server is Healthy: 255 when idle, 200
// where the largest of handshakes, calls and sessions reaches its limit. Once
// newcomers are refused it is Degraded, from 199 at first to 2 when they are sent
// away for half a minute. Clients with a choice of servers go where it is highest
// (Part 4, 6.6.2.4.5).
func (l load) level() uint8 {
	full := max(l.handshakes, l.calls, l.sessions)
	switch {
	case l.turnedAway > 0:
		return uint8(levelDegraded - (levelDegraded-levelLeast)*l.turnedAway)
	case full >= 1:
		return levelDegraded
	}
	// Rounded up: a few sessions of ten thousand are no load.
	return levelBest - uint8((levelBest-levelHealthy)*full)
}

// serviceLevel is the level of this moment. A server that shuts down wants its
// clients to leave.
func (s *Server) serviceLevel() uint8 {
	s.mu.Lock()
	state := s.state
	s.mu.Unlock()
	if state == ua.ServerStateShutdown {
		return levelMaintenance
	}
	return loadOf(s.lane.Stats(), s.pool.Stats(), s.sessions.Len(), s.sessions.Limits().Sessions).level()
}
