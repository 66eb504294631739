package audit

import (
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/events"
)

// Config is what a [Trail] needs. Fields that are nil are left out.
type Config struct {
	// ServerID is the server's ApplicationUri.
	ServerID string
	// Report gives an event to the clients that listen, and must not wait.
	Report func(e *events.Event)
	// Heard says whether any client listens at all.
	Heard func() bool
	// Tell gives an entry to the program, and must not wait.
	Tell func(e *Entry)
	// Line begins a line in the log about a host, or returns nil when there were
	// enough. Lines are written about what concerns security.
	Line func(host string) *zerolog.Event
	// FailuresPerSecond is how many refusals of one host are recorded in a second.
	// Default 100.
	FailuresPerSecond int
}

// Trail takes entries to all who want them. A nil *Trail is one that is switched
// off, and may be asked. All methods may be called from any goroutine and with any
// lock held: none waits.
type Trail struct {
	config  Config
	shares  shares
	counts  atomic.Uint64
	dropped atomic.Uint64
}

// New returns a trail.
func New(config Config) *Trail {
	if config.FailuresPerSecond == 0 {
		config.FailuresPerSecond = 100
	}
	return &Trail{config: config, shares: shares{most: config.FailuresPerSecond}}
}

// Wanted reports whether anybody would see an entry about a Write or a Call. There
// can be a million of those in a second, and the log has no lines about them.
func (t *Trail) Wanted() bool {
	return t != nil && (t.config.Tell != nil || t.config.Heard != nil && t.config.Heard())
}

// Admits counts a refusal of a host that a stranger can cause as often as it likes, and
// reports whether it is to be recorded. What is above the share of the host is dropped
// and counted: so one host neither makes the server work for each of its attempts, nor
// fills the queues of those who listen, where what others do would be lost.
func (t *Trail) Admits(host string) bool {
	if t == nil {
		return false
	}
	if !t.shares.take(host, time.Now()) {
		t.dropped.Add(1)
		return false
	}
	return true
}

// Record takes an entry to all who want it and returns its EventID, nil where nobody
// did. The entry belongs to the trail from now on.
func (t *Trail) Record(e *Entry) []byte {
	if t == nil {
		return nil
	}
	t.counts.Add(1)
	e.ServerID = t.config.ServerID
	if t.config.Line != nil && e.security() {
		t.log(e)
	}
	heard := t.config.Report != nil && (t.config.Heard == nil || t.config.Heard())
	if !heard && t.config.Tell == nil {
		return nil
	}
	event := e.event(time.Now())
	e.EventID, e.size = event.ID, event.Size()
	if heard {
		t.config.Report(event)
	}
	if t.config.Tell != nil {
		t.config.Tell(e)
	}
	return event.ID
}

func (t *Trail) log(e *Entry) {
	line := t.config.Line(e.Host)
	if line == nil {
		return
	}
	line.Str("type", e.TypeName()).Str("source", e.SourceName).Stringer("status", e.Result).Str("peer", e.Peer)
	if e.ClientUserID != "" {
		line.Str("user", e.ClientUserID)
	}
	if e.ClientEntryID != "" {
		line.Str("client_entry", e.ClientEntryID)
	}
	if session, ok := ua.As[ua.NodeID](e.Value("SessionId")); ok && !session.IsNull() {
		line.Stringer("session", session)
	}
	line.Msg("audit")
}

// Stats are the counters of a trail.
type Stats struct {
	// Recorded is the number of entries since the start.
	Recorded uint64
	// Dropped is the number of refusals that were not recorded, since their hosts had
	// too many of them.
	Dropped uint64
}

// Stats returns the counters of this moment.
func (t *Trail) Stats() Stats {
	if t == nil {
		return Stats{}
	}
	return Stats{Recorded: t.counts.Load(), Dropped: t.dropped.Load()}
}
