package publishloop

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// ticket is a Publish request that waits for something to deliver. It holds no
// goroutine and no credit.
type ticket struct {
	to       Responder
	deadline time.Duration // on the manager's clock; 0 means none
	id       uint32
	handle   uint32
	results  results
}

// results are the outcomes of the acknowledgements in one Publish request.
// Nearly always all are Good, and then nothing is allocated for them.
type results struct {
	bad   *[]badResult
	count int32
}

type badResult struct {
	index  int32
	status ua.StatusCode
}

func (r *results) add(status ua.StatusCode) {
	if status != ua.Good {
		if r.bad == nil {
			r.bad = new([]badResult)
		}
		*r.bad = append(*r.bad, badResult{r.count, status})
	}
	r.count++
}

// Queue holds the parked Publish requests of one session, and which of the
// session's subscriptions wait for one. It is a leaf: nothing is called while
// its mutex is held.
type Queue struct {
	manager *Manager

	// arrivals counts Publish requests. Subscriptions look at it to see whether
	// their client is alive.
	arrivals atomic.Uint32

	mu sync.Mutex
	// Guarded by mu.
	identity *Identity // never changed, only replaced
	closed   bool
	subs     []*Subscription
	tickets  []ticket // a ring: count of them from first on
	first    int
	count    int
	late     []waiting
	waited   uint64 // order in which subscriptions became late
	changes  []statusChange
	timer    *time.Timer // for the earliest deadline, nil until one is needed
	armed    time.Duration
}

// waiting is a subscription that takes the next ticket.
type waiting struct {
	sub      *Subscription
	priority uint8
	since    uint64
}

// statusChange is a StatusChangeNotification that waits for a ticket because its
// subscription is gone or belongs to another session now.
type statusChange struct {
	subscription uint32
	seq          uint32
	status       ua.StatusCode
}

// Limit returns the number of Publish requests that the session may have waiting.
func (q *Queue) Limit() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.limit()
}

func (q *Queue) limit() int { return max(q.manager.limits.PublishRequests, 2*len(q.subs)) }

// Publish takes a Publish request: it executes the acknowledgements, and answers
// the request at once when something waits for it, or parks it. Every answer,
// also that of an older request that has to make room, leaves through the
// responder of its request. The request is not used after the call.
func (q *Queue) Publish(requestID uint32, req *ua.PublishRequest, to Responder) {
	m := q.manager
	now := m.now()
	q.arrivals.Add(1)
	m.stats.publishRequests.Add(1)
	t := ticket{to: to, id: requestID, handle: req.RequestHeader.RequestHandle}
	if hint := req.RequestHeader.TimeoutHint; hint != 0 {
		t.deadline = now + time.Duration(hint)*time.Millisecond
	}
	if len(req.SubscriptionAcknowledgements) > m.limits.Acknowledgements {
		m.refuse(&t, ua.BadTooManyOperations)
		return
	}
	for _, ack := range req.SubscriptionAcknowledgements {
		t.results.add(m.acknowledge(q, ack.SubscriptionID, ack.SequenceNumber))
	}
	q.put(t, now)
}

// put parks a ticket and serves the subscriptions that wait for one.
func (q *Queue) put(t ticket, now time.Duration) {
	m := q.manager
	var oldest ticket
	q.mu.Lock()
	switch {
	case q.closed:
		q.mu.Unlock()
		m.refuse(&t, ua.BadSessionClosed)
		return
	case len(q.changes) > 0:
		change := q.changes[0]
		q.changes = q.changes[:copy(q.changes, q.changes[1:])]
		q.mu.Unlock()
		m.sendStatusChange(&t, change)
		return
	case len(q.subs) == 0:
		q.mu.Unlock()
		m.refuse(&t, ua.BadNoSubscription)
		return
	}
	if q.count >= q.limit() {
		oldest = q.pop()
	}
	q.push(t)
	q.arm(t.deadline, now)
	next := q.match()
	q.mu.Unlock()

	if oldest.to != nil {
		m.stats.tooManyPublish.Add(1)
		m.refuse(&oldest, ua.BadTooManyPublishRequests)
	}
	for next != nil {
		next.serve(PublishArrived)
		q.mu.Lock()
		next = q.match()
		q.mu.Unlock()
	}
}

// match takes the subscription that is served next off the list of those that
// wait, when there is a ticket for it: the highest priority, and among equals
// the one that waits longest (Part 4, 5.14.1.1 and 5.14.2.2).
func (q *Queue) match() *Subscription {
	if q.count == 0 || len(q.late) == 0 {
		return nil
	}
	best := 0
	for i, w := range q.late[1:] {
		b := q.late[best]
		if w.priority > b.priority || w.priority == b.priority && w.since < b.since {
			best = i + 1
		}
	}
	sub := q.late[best].sub
	q.late[best] = q.late[len(q.late)-1]
	q.late[len(q.late)-1] = waiting{}
	q.late = q.late[:len(q.late)-1]
	return sub
}

// take returns a ticket for a subscription, or notes that the subscription
// waits for one. Tickets whose time is over are answered on the way: they are
// returned in expired and the caller answers them after it has released its locks.
func (q *Queue) take(sub *Subscription, priority uint8, now time.Duration, expired *[]ticket) (ticket, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire(now, expired)
	if q.count > 0 {
		q.unwait(sub)
		return q.pop(), true
	}
	if !q.closed {
		q.wait(sub, priority)
	}
	return ticket{}, false
}

func (q *Queue) wait(sub *Subscription, priority uint8) {
	for i := range q.late {
		if q.late[i].sub == sub {
			q.late[i].priority = priority
			return
		}
	}
	q.waited++
	q.late = append(q.late, waiting{sub, priority, q.waited})
}

func (q *Queue) unwait(sub *Subscription) {
	for i := range q.late {
		if q.late[i].sub == sub {
			last := len(q.late) - 1
			q.late[i] = q.late[last]
			q.late[last] = waiting{}
			q.late = q.late[:last]
			return
		}
	}
}

// expire removes the tickets whose time is over. All are looked at, as a client
// may give every request another time-out.
func (q *Queue) expire(now time.Duration, expired *[]ticket) {
	if q.armed == 0 || now < q.armed {
		return // no ticket's time ends before that
	}
	earliest := time.Duration(0)
	q.keep(func(t *ticket) bool {
		if t.deadline == 0 {
			return true
		}
		if t.deadline <= now {
			*expired = append(*expired, *t)
			return false
		}
		if earliest == 0 || t.deadline < earliest {
			earliest = t.deadline
		}
		return true
	})
	q.armed = 0
	q.arm(earliest, now)
}

// keep removes the tickets that want refuses and returns how many they were.
func (q *Queue) keep(want func(*ticket) bool) int {
	kept := 0
	for i := range q.count {
		if t := q.at(i); want(t) {
			*q.at(kept) = *t
			kept++
		}
	}
	removed := q.count - kept
	for i := kept; i < q.count; i++ {
		*q.at(i) = ticket{}
	}
	q.count = kept
	return removed
}

// arm sees that expired tickets are answered though no subscription's cycle
// comes by. The timer runs for the earliest deadline known and is left running
// when that ticket is used, so that a busy session does not set a timer for
// every request.
func (q *Queue) arm(deadline, now time.Duration) {
	if deadline == 0 || q.armed != 0 && q.armed <= deadline {
		return
	}
	q.armed = deadline
	if q.timer == nil {
		q.timer = time.AfterFunc(deadline-now, q.tick)
	} else {
		q.timer.Reset(deadline - now)
	}
}

// tick answers the tickets whose time is over. It runs on the goroutine of the
// timer, and ends with it.
func (q *Queue) tick() {
	var expired []ticket
	q.mu.Lock()
	q.expire(q.manager.now(), &expired)
	q.mu.Unlock()
	q.manager.refuseAll(expired, ua.BadTimeout)
}

func (q *Queue) at(i int) *ticket { return &q.tickets[(q.first+i)%len(q.tickets)] }

func (q *Queue) push(t ticket) {
	if q.count == len(q.tickets) {
		grown := make([]ticket, max(2, 2*q.count))
		for i := range q.count {
			grown[i] = *q.at(i)
		}
		q.tickets, q.first = grown, 0
	}
	q.count++
	*q.at(q.count - 1) = t
}

func (q *Queue) pop() ticket {
	t := *q.at(0)
	*q.at(0) = ticket{}
	q.first = (q.first + 1) % len(q.tickets)
	q.count--
	return t
}

// popAll empties the queue.
func (q *Queue) popAll() []ticket {
	all := make([]ticket, 0, q.count)
	for q.count > 0 {
		all = append(all, q.pop())
	}
	return all
}

// Len returns the number of parked Publish requests.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count
}

// Subscriptions returns the number of subscriptions of the session.
func (q *Queue) Subscriptions() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.subs)
}

// Drop forgets the parked Publish requests of a channel that has ended. They
// cannot be answered any more.
func (q *Queue) Drop(to Responder) {
	q.mu.Lock()
	n := q.keep(func(t *ticket) bool { return t.to != to })
	q.mu.Unlock()
	q.manager.stats.droppedPublish.Add(uint64(n))
}

// Cancel answers the parked Publish requests that carry the request handle with
// BadRequestCancelledByClient and returns how many there were (Part 4, 5.7.5).
func (q *Queue) Cancel(handle uint32) int {
	var cancelled []ticket
	q.mu.Lock()
	q.keep(func(t *ticket) bool {
		if t.handle == handle {
			cancelled = append(cancelled, *t)
			return false
		}
		return true
	})
	q.mu.Unlock()
	q.manager.refuseAll(cancelled, ua.BadRequestCancelledByClient)
	return len(cancelled)
}

// announce gives a StatusChangeNotification to the session: with a parked ticket
// at once, else with the next. It is also what tells parked requests that the
// last subscription is gone.
func (q *Queue) announce(change statusChange) {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return
	}
	if q.count == 0 {
		if len(q.changes) >= q.manager.limits.StatusChanges {
			q.changes = q.changes[:copy(q.changes, q.changes[1:])]
		}
		q.changes = append(q.changes, change)
		q.mu.Unlock()
		return
	}
	t := q.pop()
	q.mu.Unlock()
	q.manager.sendStatusChange(&t, change)
}

// add gives a subscription to the session.
func (q *Queue) add(sub *Subscription) ua.StatusCode {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ua.BadSessionClosed
	}
	if len(q.subs) >= q.manager.limits.SubscriptionsPerSession {
		return ua.BadTooManySubscriptions
	}
	q.subs = append(q.subs, sub)
	return ua.Good
}

// remove takes a subscription from the session. When it was the last, nothing
// can answer the parked tickets any more: they are returned, to be refused with
// BadNoSubscription (Part 4, 5.14.1.4, DeleteClientPublReqQueue).
func (q *Queue) remove(sub *Subscription) []ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unwait(sub)
	for i, s := range q.subs {
		if s == sub {
			last := len(q.subs) - 1
			q.subs[i] = q.subs[last]
			q.subs[last] = nil
			q.subs = q.subs[:last]
			if last == 0 {
				return q.popAll()
			}
			return nil
		}
	}
	return nil
}
