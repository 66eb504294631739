package publishloop

import (
	"sync"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// item is one monitored item (Part 4, 5.13.1). What changes its value calls
// ValueChanged, or sampled where the value has to be asked for; what it has to
// report is taken from it in a publishing cycle.
//
// Most items have no filter of their own, and one value waiting at most, which is
// the last: they need nothing but this struct. The rest is in extras.
//
// A change and a publishing cycle find the item cold, as a rule: what both need
// stands in the first two of its three cache lines.
type item struct {
	sub   *Subscription // immutable
	extra *extras       // guarded by mu; nil when not needed
	mu    sync.Mutex
	// Guarded by mu. The configuration is written with Subscription.mu held as
	// well, so that either is enough to read it.
	handle     uint32
	queueSize  uint32
	mode       ua.MonitoringMode
	timestamps ua.TimestampsToReturn
	muteCode   ua.StatusCode // reported in place of values unless it is Good
	discardNew bool          // the DiscardOldest parameter, negated
	gapped     bool          // interval is a minimum gap that has to be watched
	closed     bool          // deleted, or its node is gone: nothing is reported any more
	listed     bool          // is in the list of changed items, or in the ready list
	hasLast    bool
	queued     bool // last is all that waits to be reported; the ring is empty then
	newMeaning bool // the next notification carries the SemanticsChanged bit

	// Guarded by Subscription.mu.
	linked    bool    // is in the ready list
	triggered bool    // another item had it reported though it is only sampled
	closely   reasons // to look at it closely when collecting
	started   bool    // its source delivers
	deleted   bool
	place     uint32 // in the ready list

	attribute ua.AttributeID // immutable

	last ua.DataValue    // that passed the filter; guarded by mu
	node *addrspace.Node // nil when a manager answers for the node; immutable

	// Immutable.
	source  source     // where values come from
	managed *ua.NodeID // of the node, when a manager answers for it
	id      uint32

	semantic *semantic // guarded by Subscription.mu

	// Guarded by mu as the configuration is.
	asked    *poll // while the scheduler asks for values
	interval time.Duration
}

// reasons is why an item on the list of changed items may not just be reported.
type reasons uint8

const (
	special   reasons = 1 << iota // its configuration needs extras; also written with mu held
	unsettled                     // its mode or queue was changed
)

// nodeID returns the id of the node that is monitored.
func (it *item) nodeID() ua.NodeID {
	if it.node == nil {
		return *it.managed
	}
	return it.node.ID()
}

// muted says that a Bad status was reported in place of values. mu is held.
func (it *item) muted() bool { return it.muteCode != ua.Good }

// extras is what only some items have.
type extras struct {
	filter   filter
	indexes  ua.NumericRange
	ring     ring // the queue, while more than the last value waits
	overflow uint32

	// With a gap: the newest change that came too early to be a sample, and the
	// time of the last sample.
	pending    ua.DataValue
	hasPending bool
	sampledAt  time.Duration

	events *eventQueue // of an item that listens for events, nil for others

	links []*item // items that are reported when this one triggers
	fired bool    // something was queued since the links were looked at
}

// source is where the values of an item come from. Its methods are called with
// the subscription locked; changes may arrive before start has returned.
type source interface {
	// start begins to deliver values, the current one first.
	start(it *item)
	// stop ends that. No value arrives after it has returned, except from a call
	// that was under way.
	stop(it *item)
}

// ValueChanged implements [addrspace.Watcher]. It takes the item's own mutex and
// wakes nobody.
func (it *item) ValueChanged(dv *ua.DataValue) {
	it.mu.Lock()
	if it.gapped {
		it.offerAfterGap(dv)
	} else {
		it.offer(dv)
	}
	it.mu.Unlock()
}

// NodeDeleted implements [addrspace.Watcher]: one notification says so, and
// nothing comes after it (Part 4, 5.13.1.6).
func (it *item) NodeDeleted() {
	it.mu.Lock()
	if !it.closed {
		it.report(&ua.DataValue{Status: ua.BadNodeIDUnknown})
		it.closed = true
	}
	it.mu.Unlock()
}

// first takes the current value of a source that has begun to deliver. A change
// that was delivered meanwhile is newer.
func (it *item) first(dv *ua.DataValue) {
	it.mu.Lock()
	if !it.hasLast {
		if it.gapped {
			it.extra.sampledAt = it.sub.manager.now()
		}
		it.offer(dv)
	}
	it.mu.Unlock()
}

// offerAfterGap makes a change a sample when the sampling interval has passed
// since the last one. Else it is held back, and becomes the sample that the end
// of the interval would have taken: the next change or the next publishing cycle
// sees to that, whichever comes first. mu is held.
func (it *item) offerAfterGap(dv *ua.DataValue) {
	now := it.sub.manager.now()
	it.settle(now)
	x := it.extra
	if now-x.sampledAt >= it.interval {
		x.sampledAt = now
		it.offer(dv)
		return
	}
	x.pending, x.hasPending = *dv, true
	it.list()
}

// settle turns a change that was held back into the sample that it is once its
// interval has passed. mu is held.
func (it *item) settle(now time.Duration) {
	x := it.extra
	if x == nil || !x.hasPending || now-x.sampledAt < it.interval {
		return
	}
	x.hasPending = false
	x.sampledAt += it.interval
	it.offer(&x.pending)
	x.pending = ua.DataValue{}
}

// offer takes a sample: it is queued when it passes the filter. mu is held.
func (it *item) offer(dv *ua.DataValue) {
	if it.closed || it.muted() || it.mode == ua.MonitoringModeDisabled {
		return
	}
	x := it.extra
	if x == nil {
		if it.hasLast && it.last.Status == dv.Status && !differs(&it.last.Value, &dv.Value) {
			return
		}
		it.enqueue(dv)
		return
	}
	var part ua.DataValue
	if x.indexes != nil {
		part = *dv
		if !part.Value.IsNull() {
			var code ua.StatusCode
			if part.Value, code = part.Value.Slice(x.indexes); code != ua.Good {
				part.Value, part.Status = ua.Variant{}, code
			}
		}
		dv = &part
	}
	if it.hasLast && !x.filter.passes(&it.last, dv) {
		return
	}
	it.enqueue(dv)
}

// report queues a value whatever the filter says. mu is held.
func (it *item) report(dv *ua.DataValue) {
	if !it.closed && it.mode != ua.MonitoringModeDisabled {
		it.enqueue(dv)
	}
}

// enqueue puts a value into the queue. mu is held.
func (it *item) enqueue(dv *ua.DataValue) {
	if it.queueSize <= 1 {
		it.last, it.hasLast, it.queued = *dv, true, true
		if it.node != nil {
			it.last.ServerTimestamp = 0 // see stamp
		}
	} else {
		it.spill()
		it.last, it.hasLast = *dv, true
		if it.last.ServerTimestamp == 0 && it.timestamps != ua.TimestampsToReturnSource && it.timestamps != ua.TimestampsToReturnNeither {
			it.last.ServerTimestamp = ua.DateTimeOf(time.Now())
		}
		if it.extra == nil || it.extra.ring.count == 0 {
			it.queued = true
		} else if it.push(&it.last, !it.discardNew) {
			it.extra.overflow++
			it.sub.manager.stats.overflows.Add(1)
		}
	}
	if x := it.extra; x != nil && len(x.links) > 0 {
		x.fired = true
		it.list()
		return
	}
	if it.mode == ua.MonitoringModeReporting {
		it.list()
	}
}

// repeat queues the last value again, which the server knows to be current now. mu
// is held.
func (it *item) repeat() {
	last := it.last
	last.ServerTimestamp = 0
	it.enqueue(&last)
}

// spill moves the last value, where it is all that waits, into the ring: another
// comes before or behind it. mu is held.
func (it *item) spill() {
	if !it.queued {
		return
	}
	it.queued = false
	if it.extra == nil {
		it.extra = new(extras)
	}
	it.push(&it.last, true)
}

// push puts a value into the ring, and reports whether others were lost. When the queues of all items hold as much as they may, large
// values push out those before them. mu is held.
func (it *item) push(dv *ua.DataValue, discardOldest bool) (lost bool) {
	m, r := it.sub.manager, &it.extra.ring
	bytes := m.limits.QueueBytes
	if m.queueBytes.Load() >= int64(m.limits.QueueBytesTotal) {
		bytes = min(bytes, tellFrom)
	}
	lost = r.push(dv, int(it.queueSize), discardOldest, bytes)
	r.tell(&m.queueBytes)
	return lost
}

// list puts the item on its subscription's list of changed items, once. mu is held.
func (it *item) list() {
	if it.listed {
		return
	}
	it.listed = true
	it.sub.changed.add(it)
}

// waiting is the number of values in the queue. mu is held.
func (it *item) waiting() int {
	switch {
	case it.queued:
		return 1
	case it.extra == nil:
		return 0
	case it.extra.events != nil:
		return it.extra.events.waiting()
	}
	return it.extra.ring.count
}

// dequeue takes the oldest value out of the queue. mu is held.
func (it *item) dequeue(dv *ua.DataValue) bool {
	switch {
	case it.queued:
		it.queued = false
		*dv = it.last
	case it.extra != nil && it.extra.ring.pop(dv):
		it.extra.ring.tell(&it.sub.manager.queueBytes)
	default:
		return false
	}
	if it.newMeaning {
		it.newMeaning = false
		dv.Status = dv.Status.WithSemanticsChanged()
	}
	return true
}

// stamp leaves the timestamps that the client asked for (Part 4, 5.11.2.2). The
// server knew a value that changes by exception to be current until it left.
func (it *item) stamp(dv *ua.DataValue, now ua.DateTime) {
	switch it.timestamps {
	case ua.TimestampsToReturnSource:
		dv.ServerTimestamp, dv.ServerPicoseconds = 0, 0
	case ua.TimestampsToReturnServer:
		dv.SourceTimestamp, dv.SourcePicoseconds = 0, 0
	case ua.TimestampsToReturnNeither:
		dv.SourceTimestamp, dv.SourcePicoseconds = 0, 0
		dv.ServerTimestamp, dv.ServerPicoseconds = 0, 0
		return
	}
	if it.timestamps != ua.TimestampsToReturnSource && dv.ServerTimestamp == 0 {
		dv.ServerTimestamp = now
	}
	if it.attribute != ua.AttributeIDValue {
		dv.SourceTimestamp, dv.SourcePicoseconds = 0, 0
	}
}

// clear empties the queue and forgets the last value, so that the next one is
// reported (Part 4, 5.13.1.3). mu is held.
func (it *item) clear() {
	it.last, it.hasLast, it.queued = ua.DataValue{}, false, false
	if x := it.extra; x != nil {
		if x.events != nil {
			x.events.empty()
			x.events.tell(&it.sub.manager.queueBytes)
		}
		x.ring.empty()
		x.ring.tell(&it.sub.manager.queueBytes)
		x.pending, x.hasPending, x.fired = ua.DataValue{}, false, false
	}
}
