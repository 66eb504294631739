package publishloop

import (
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

// eventQueue is what a monitored item has that listens for events (Part 4,
// 5.13.1.5). It keeps the events themselves, which all who listen share; their
// fields are chosen when they leave.
type eventQueue struct {
	filter *events.Filter // written as the item's configuration is

	// Guarded by the item's mutex.
	ring  []eventEntry // count of them from first on
	first int
	count int
	bytes int // that the events hold, each in full
	told  int // of bytes, what the server's total has
	// An event that tells of lost ones, nil for none. It stands before the entry
	// with this number from the front; when the oldest are discarded it is always first.
	overflow   *events.Event
	overflowAt int

	place int // among the items of the node; guarded by notifiers.mu
}

// eventEntry is an event with the filter that chose it and says which of its
// fields the client gets, also when the filter is replaced before it leaves.
type eventEntry struct {
	event  *events.Event
	filter *events.Filter
}

// waiting is the number of events in the queue.
func (q *eventQueue) waiting() int {
	if q.overflow != nil {
		return q.count + 1
	}
	return q.count
}

func (q *eventQueue) at(i int) *eventEntry { return &q.ring[(q.first+i)%len(q.ring)] }

// push appends an event. When size events, or as many bytes as may be kept, are in
// the queue, one is lost: the oldest, or that which was last (Part 4, 5.13.1.5).
// One event is kept however large it is.
func (q *eventQueue) push(e *events.Event, size int, discardOldest bool, bytes int) (lost bool) {
	full := func() bool { return q.count >= size || q.count >= 1 && q.bytes+e.Size() > bytes }
	for q.count > 0 && full() {
		lost = true
		if !discardOldest {
			q.dropLast()
			break
		}
		q.dropFirst()
	}
	if q.count == len(q.ring) {
		q.grow(min(max(2*q.count, 4), max(size, q.count+1)))
	}
	q.count++
	*q.at(q.count - 1) = eventEntry{e, q.filter}
	q.bytes += e.Size()
	if lost {
		q.overflowed(!discardOldest)
	}
	return lost
}

// overflowed has the client told that events were lost, in addition to those in
// the queue: before all of them, or after them where new ones are discarded.
func (q *eventQueue) overflowed(discardNew bool) {
	if q.overflow == nil {
		q.overflow, q.overflowAt = overflowEvent(), 0
	}
	if discardNew {
		q.overflowAt = q.count
	}
}

// overflowEvent tells of lost events (Part 5, 6.4.34).
func overflowEvent() *events.Event {
	e := &events.Event{
		Type: ua.NumericID(0, id.EventQueueOverflowEventType), SourceNode: serverObject,
		SourceName: "Internal/EventQueueOverflow", Severity: 500,
		Message: ua.LocalizedText{Locale: "en", Text: "Events were lost, because the queue of the monitored item was full."},
	}
	e.Complete(ua.DateTimeOf(time.Now()))
	return e
}

func (q *eventQueue) grow(size int) {
	ring := make([]eventEntry, size)
	for i := range q.count {
		ring[i] = *q.at(i)
	}
	q.ring, q.first = ring, 0
}

func (q *eventQueue) dropFirst() {
	e := q.at(0)
	q.bytes -= e.event.Size()
	*e = eventEntry{}
	q.first = (q.first + 1) % len(q.ring)
	q.count--
	if q.overflowAt > 0 {
		q.overflowAt--
	}
}

func (q *eventQueue) dropLast() {
	e := q.at(q.count - 1)
	q.bytes -= e.event.Size()
	*e = eventEntry{}
	q.count--
	q.overflowAt = min(q.overflowAt, q.count)
}

// head returns what leaves next.
func (q *eventQueue) head() (e eventEntry, ok bool) {
	switch {
	case q.overflow != nil && q.overflowAt == 0:
		return eventEntry{q.overflow, q.filter}, true
	case q.count > 0:
		return *q.at(0), true
	}
	return eventEntry{}, false
}

// pop removes what head returned.
func (q *eventQueue) pop() {
	if q.overflow != nil && q.overflowAt == 0 {
		q.overflow = nil
		return
	}
	q.dropFirst()
	if q.count == 0 {
		q.ring, q.first = nil, 0
	}
}

// resize keeps the newest events that a smaller queue holds.
func (q *eventQueue) resize(size int, discardNew bool) {
	lost := false
	for q.count > size {
		q.dropFirst()
		lost = true
	}
	if len(q.ring) > size {
		q.grow(max(q.count, 1))
	}
	if lost {
		q.overflowed(discardNew)
	}
}

// empty forgets all events and their memory.
func (q *eventQueue) empty() {
	q.ring, q.first, q.count, q.bytes, q.overflow, q.overflowAt = nil, 0, 0, 0, nil, 0
}

// retain removes the events that are not wanted any more.
func (q *eventQueue) retain(want func(*events.Event) bool) {
	kept, at := 0, q.overflowAt
	for i := range q.count {
		e := *q.at(i)
		if want(e.event) {
			*q.at(kept) = e
			kept++
			continue
		}
		q.bytes -= e.event.Size()
		if i < q.overflowAt {
			at--
		}
	}
	for i := kept; i < q.count; i++ {
		*q.at(i) = eventEntry{}
	}
	q.count, q.overflowAt = kept, at
}

// tell keeps the total of all queues up to date.
func (q *eventQueue) tell(total *atomic.Int64) {
	if change := q.bytes - q.told; change >= tellFrom || change <= -tellFrom || change != 0 && q.count == 0 {
		total.Add(int64(change))
		q.told = q.bytes
	}
}

// listens says that events are queued. mu is held.
func (it *item) listens() bool {
	return !it.closed && !it.muted() && it.mode != ua.MonitoringModeDisabled
}

// offerEvent queues an event that passes the filter.
func (it *item) offerEvent(e *events.Event) {
	it.mu.Lock()
	defer it.mu.Unlock()
	q := it.extra.events
	if !it.listens() || !q.filter.Matches(e) {
		return
	}
	m := it.sub.manager
	bytes := m.limits.QueueBytes
	if m.queueBytes.Load() >= int64(m.limits.QueueBytesTotal) {
		bytes = min(bytes, tellFrom)
	}
	if q.push(e, int(it.queueSize), !it.discardNew, bytes) {
		it.extra.overflow++
		m.stats.overflows.Add(1)
	}
	q.tell(&m.queueBytes)
	it.eventQueued()
}

// eventQueued has the next publishing cycle look at the item. mu is held.
func (it *item) eventQueued() {
	if x := it.extra; len(x.links) > 0 {
		x.fired = true
		it.list()
		return
	}
	if it.mode == ua.MonitoringModeReporting {
		it.list()
	}
}
