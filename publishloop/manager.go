package publishloop

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// Config is what a [Manager] needs. Group is required, and Space wherever
// monitored items are created; Pool wherever values have sources that wait.
type Config struct {
	// Space holds the nodes that are monitored.
	Space *addrspace.Space
	// Pool runs calls to the sources of values.
	Pool *actors.Pool
	// Group starts the goroutines of subscriptions.
	Group *actors.Group
	// Limits bounds what clients can take.
	Limits Limits
	// Hooks are told what becomes of subscriptions.
	Hooks Hooks
	// Logger gets life-cycle events. The zero value logs nothing.
	Logger zerolog.Logger
}

// Manager holds the subscriptions of a server, those without a session included.
type Manager struct {
	// Immutable.
	limits Limits
	space  *addrspace.Space
	pool   *actors.Pool
	group  *actors.Group
	log    zerolog.Logger
	hooks  Hooks
	epoch  time.Time // start of the manager's clock, which is monotonic
	subs   *actors.Registry[uint32, *Subscription]
	polls  *scheduler
	beats  beats
	stats  counters

	semantics semantics
	reports   reports

	// Quotas, taken and given with take.
	subscriptions, orphans, items, entries, keptBytes, queueBytes atomic.Int64

	mu sync.Mutex
	// Guarded by mu.
	closed     bool
	lastID     uint32
	deliverers map[uint16]*deliverer
}

// New returns a manager without subscriptions. Close ends its goroutines.
func New(config Config) *Manager {
	m := &Manager{
		limits: config.Limits.withDefaults(), space: config.Space, pool: config.Pool, group: config.Group,
		log: config.Logger, hooks: config.Hooks, epoch: time.Now(),
		subs: actors.NewRegistry[uint32, *Subscription](actors.HashUint32),
	}
	// The first id cannot be foreseen, so that a client cannot name the
	// subscriptions of others by counting; the ids after it count up, so that an
	// id is not used again soon.
	var seed [4]byte
	rand.Read(seed[:])
	m.lastID = binary.LittleEndian.Uint32(seed[:])
	m.polls = newScheduler(m)
	m.beats.manager, m.beats.byInterval = m, make(map[time.Duration][]*beat)
	m.semantics.watched = make(map[*addrspace.Variable]*semantic)
	return m
}

// now returns the time on the manager's clock, which starts above 0 so that 0
// can mean no time.
func (m *Manager) now() time.Duration { return time.Since(m.epoch) + time.Second }

// take takes n of a quota unless that would exceed it.
func take(quota *atomic.Int64, n, limit int) bool {
	for {
		used := quota.Load()
		if used+int64(n) > int64(limit) {
			return false
		}
		if quota.CompareAndSwap(used, used+int64(n)) {
			return true
		}
	}
}

// NewQueue returns the queue of a new session.
func (m *Manager) NewQueue(identity Identity) *Queue {
	return &Queue{manager: m, identity: &identity}
}

// IdentityChanged tells of another user of a session, or of other rights of the
// same. What the session's monitored items may read is checked again.
func (m *Manager) IdentityChanged(q *Queue, identity Identity) {
	q.mu.Lock()
	q.identity = &identity
	subs := slices.Clone(q.subs)
	q.mu.Unlock()
	for _, s := range subs {
		s.recheck(q, &identity)
	}
}

// SessionClosed ends the queue of a session. Parked Publish requests are
// answered with the code. The subscriptions are deleted, or stay without a
// session until another takes them over or their lifetime ends (Part 4, 5.7.4).
func (m *Manager) SessionClosed(q *Queue, deleteSubscriptions bool, code ua.StatusCode) {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return
	}
	q.closed = true
	subs, tickets := q.subs, q.popAll()
	q.subs, q.late, q.changes, q.tickets = nil, nil, nil, nil
	if q.timer != nil {
		q.timer.Stop()
	}
	q.mu.Unlock()
	m.refuseAll(tickets, code)
	for _, s := range subs {
		if deleteSubscriptions || !take(&m.orphans, 1, m.limits.Orphans) {
			m.delete(s, q)
			continue
		}
		s.mu.Lock()
		if s.queue == q && s.state.Phase != Closed {
			s.queue, s.orphan = nil, true
			s.mu.Unlock()
			continue
		}
		s.mu.Unlock()
		m.orphans.Add(-1)
	}
}

// Close ends all subscriptions. Queues end with [Manager.SessionClosed]. The
// goroutines are waited for with the Group.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	for _, s := range m.subs.All() {
		m.delete(s, nil)
	}
	m.polls.close()
}

func (m *Manager) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// add makes the id of a new subscription and registers it.
func (m *Manager) add(s *Subscription) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	for {
		m.lastID++
		if m.lastID == 0 {
			continue
		}
		s.id = m.lastID
		if _, used := m.subs.LoadOrStore(s.id, s); !used {
			return true
		}
	}
}

// find returns a subscription of the session, locked.
func (m *Manager) find(q *Queue, id uint32) (*Subscription, bool) {
	s, ok := m.subs.Load(id)
	if !ok {
		return nil, false
	}
	s.mu.Lock()
	if s.queue != q || s.state.Phase == Closed {
		s.mu.Unlock()
		return nil, false
	}
	return s, true
}

// delete ends a subscription. With a queue, only when it belongs to that session.
func (m *Manager) delete(s *Subscription, q *Queue) bool {
	s.mu.Lock()
	if s.state.Phase == Closed || q != nil && s.queue != q {
		s.mu.Unlock()
		return false
	}
	Step(&s.state, Event{Kind: Deleted})
	s.mu.Unlock()
	m.finish(s, ua.Good)
	return true
}

// finish lets go of everything that a closed subscription held. Whoever brought
// its state to Closed calls it, once and with no lock held. With a status, the
// session is told by a StatusChangeNotification.
func (m *Manager) finish(s *Subscription, status ua.StatusCode) {
	m.subs.Delete(s.id)
	m.subscriptions.Add(-1)
	s.mu.Lock()
	items, q, orphan, identity := s.items, s.queue, s.orphan, s.identity
	change := statusChange{subscription: s.id, seq: s.state.TakeSeqNum(), status: status}
	m.keptBytes.Add(-int64(s.keptSize))
	for i := range s.kept {
		s.kept[i].release()
	}
	s.items, s.kept, s.keptSize, s.spare, s.queue = nil, nil, 0, nil, nil
	s.ready.drop()
	m.beats.leave(s)
	s.mu.Unlock()
	if orphan {
		m.orphans.Add(-1)
	}
	for _, it := range items {
		it.end()
	}
	if q != nil {
		if status != ua.Good {
			q.announce(change)
		}
		m.refuseAll(q.remove(s), ua.BadNoSubscription)
	}
	if m.hooks.Deleted != nil {
		m.hooks.Deleted(s.id, identity.Session, status)
	}
}

// refuse answers a Publish request with a ServiceFault.
func (m *Manager) refuse(t *ticket, status ua.StatusCode) {
	m.sent(t.to.Respond(t.id, &fault{t.handle, status, ua.DateTimeOf(time.Now())}), t, status)
}

func (m *Manager) refuseAll(tickets []ticket, status ua.StatusCode) {
	for i := range tickets {
		m.refuse(&tickets[i], status)
	}
}

// sent looks at the outcome of an answer, and counts it. A message that the peer does not take
// is answered with a fault; one for a channel that ended is lost, and the client
// finds it again with Republish.
func (m *Manager) sent(err error, t *ticket, status ua.StatusCode) {
	if ua.StatusOf(err) == ua.BadResponseTooLarge {
		status = ua.BadResponseTooLarge
		err = t.to.Respond(t.id, &fault{t.handle, ua.BadResponseTooLarge, ua.DateTimeOf(time.Now())})
	}
	switch {
	case err != nil:
		m.stats.droppedPublish.Add(1)
	case status == ua.Good:
		m.stats.answered.Add(1)
	default:
		m.stats.refused.Add(uint32(status), 1)
	}
}

// acknowledge removes a message from the retransmission queue of a subscription
// of the session (Part 4, 5.14.5).
func (m *Manager) acknowledge(q *Queue, id, seq uint32) ua.StatusCode {
	s, ok := m.find(q, id)
	if !ok {
		return ua.BadSubscriptionIDInvalid
	}
	defer s.mu.Unlock()
	if !s.forget(seq) {
		return ua.BadSequenceNumberUnknown
	}
	return ua.Good
}

// Subscriptions returns the subscriptions of this moment by ascending id.
func (m *Manager) Subscriptions() []*Subscription {
	var list []*Subscription
	for _, s := range m.subs.All() {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *Subscription) int { return cmp.Compare(a.id, b.id) })
	return list
}
