package publishloop

import (
	"sync"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// Subscription is one subscription: the state of Part 4, 5.14.1, its monitored
// items, and the messages that were not acknowledged yet. Its publishing timer
// is that of its beat.
type Subscription struct {
	// Immutable.
	manager *Manager
	id      uint32

	changed changedList // what has something to report since the last cycle; has a lock of its own

	mu sync.Mutex
	// Guarded by mu.
	state      State
	queue      *Queue    // nil when the session is gone
	identity   *Identity // of the session that has or had the subscription last
	orphan     bool      // counted as one
	priority   uint8
	interval   time.Duration
	seen       uint32  // Queue.arrivals at the last cycle
	sending    bool    // a goroutine is delivering out with mu released
	cycle      bool    // a cycle ended meanwhile
	items      []*item // by ascending id
	lastItem   uint32
	eventItems int // of items, those that listen for events
	ready      readyList
	spareList  []*item   // memory for changed
	kept       []message // sent and not acknowledged, oldest first
	keptSize   int
	spare      []byte // memory of an acknowledged message
	counts     counts

	// Owned by the goroutine that set sending.
	out delivery

	beat *beat // guarded by beats.mu
}

// message is a NotificationMessage that is kept for Republish.
type message struct {
	seq  uint32
	body []byte
	buf  *codec.Buffer // owns a large body, nil for others
}

// delivery is an encoded PublishResponse and the ticket that it answers.
type delivery struct {
	ticket ticket
	buf    *codec.Buffer
}

func (d *delivery) AppendTo(dst []byte) []byte { return append(dst, d.buf.B...) }

// ID returns the SubscriptionId.
func (s *Subscription) ID() uint32 { return s.id }

// serve gives a Tick or PublishArrived to the state machine and delivers what is
// due, one message after the other. Only one goroutine delivers at a time, so
// that messages leave in the order of their numbers; another leaves a note and
// goes, and its ticket stays in the queue.
func (s *Subscription) serve(kind Kind) {
	m := s.manager
	var late []ticket // that waited for too long
	s.mu.Lock()
	if kind == Tick {
		s.cycle = true
	}
	if s.sending {
		s.mu.Unlock()
		return
	}
	expired := false
	for {
		action, more := s.advance(&late)
		if action&IssueTimeout != 0 {
			expired = true
		}
		if !more {
			break
		}
		if action&(ReturnNotifications|ReturnKeepAlive) == 0 {
			continue
		}
		s.sending = true
		s.mu.Unlock()
		m.sent(s.out.ticket.to.Respond(s.out.ticket.id, &s.out), &s.out.ticket, ua.Good)
		s.out.buf.Release()
		s.mu.Lock()
		s.out = delivery{}
		s.sending = false
	}
	s.mu.Unlock()
	m.refuseAll(late, ua.BadTimeout)
	if expired {
		m.stats.expired.Add(1)
		m.log.Info().Uint32("subscription", s.id).Msg("subscription expired")
		m.finish(s, ua.BadTimeout)
	}
}

// advance makes one step of the state machine, and puts the message that comes
// out of it, if any, into out. more says that another step may follow.
func (s *Subscription) advance(late *[]ticket) (action Action, more bool) {
	now := s.manager.now()
	ev := Event{Kind: PublishArrived}
	if s.cycle {
		s.cycle = false
		ev.Kind = Tick
		ev.Client = s.clientSeen()
	} else if !s.state.Awaits() {
		return 0, false
	}
	if space := s.manager.space; space != nil {
		space.BeginView()
		defer space.EndView()
	}
	s.collect(now)
	if s.ready.count == 0 {
		s.state.MoreNotifications = false // the rest was deleted or disabled
	}
	ev.Available = s.ready.count > 0
	var t ticket
	if s.state.Wants(ev) && s.queue != nil {
		t, ev.Ticket = s.queue.take(s, s.priority, now, late)
	}
	if ev.Kind == PublishArrived && !ev.Ticket {
		return 0, false
	}
	before := s.state.Phase
	action = Step(&s.state, ev)
	switch {
	case action&(ReturnNotifications|ReturnKeepAlive) != 0:
		s.counts.publish++
		s.out = delivery{t, s.encode(&t, action&ReturnNotifications != 0)}
	case before != Late && s.state.Phase == Late:
		s.counts.late++
	}
	return action, s.state.Phase != Closed
}

// clientSeen reports whether the session's client gave a sign of life since the
// last cycle.
func (s *Subscription) clientSeen() bool {
	if s.queue == nil {
		return false
	}
	arrivals := s.queue.arrivals.Load()
	seen := arrivals != s.seen || s.queue.Len() > 0
	s.seen = arrivals
	return seen
}

// active notes that the client named the subscription in a service call. mu is held.
func (s *Subscription) active() { Step(&s.state, Event{Kind: Activity}) }
