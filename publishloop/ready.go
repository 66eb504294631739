package publishloop

import (
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// readyList holds the items that have something to report, in the order in which
// they got it. It belongs to the subscription's mutex.
type readyList struct {
	head, tail *item
	count      int
}

// add appends an item, whose listed is true, unless it is in the list.
func (l *readyList) add(it *item) {
	if it.linked {
		return
	}
	it.linked, it.next, it.prev = true, nil, l.tail
	if l.tail == nil {
		l.head = it
	} else {
		l.tail.next = it
	}
	l.tail = it
	l.count++
}

// addFirst puts an item in front, whose listed is true and which is in no list.
func (l *readyList) addFirst(it *item) {
	it.linked, it.next, it.prev = true, l.head, nil
	if l.head == nil {
		l.tail = it
	} else {
		l.head.prev = it
	}
	l.head = it
	l.count++
}

// unlink takes an item off the list. It must happen before listed becomes false:
// from then on next belongs to whoever lists the item again.
func (l *readyList) unlink(it *item) {
	if it.prev == nil {
		l.head = it.next
	} else {
		it.prev.next = it.next
	}
	if it.next == nil {
		l.tail = it.prev
	} else {
		it.next.prev = it.prev
	}
	it.linked, it.triggered, it.next, it.prev = false, false, nil, nil
	l.count--
}

// remove takes an item off the list, if it is there, that is not to be reported
// now. Its mutex is held.
func (l *readyList) remove(it *item) {
	it.triggered = false
	if !it.linked {
		return
	}
	l.unlink(it)
	it.listed = false
	if it.extra != nil && it.extra.hasPending {
		it.list()
	}
}

// take takes the oldest value of the first item, and the item off the list when
// that was its last. ok is false when the item had none.
func (l *readyList) take(s *Subscription, dv *ua.DataValue, now ua.DateTime) (handle uint32, ok bool) {
	it := l.head
	it.mu.Lock()
	defer it.mu.Unlock()
	ok = it.dequeue(dv)
	if it.waiting() == 0 {
		l.unlink(it)
		it.listed = false
		if it.extra != nil && it.extra.hasPending {
			it.list() // what is held back becomes a sample in a later cycle
		}
	}
	if ok {
		it.stamp(dv, now)
	}
	return it.handle, ok
}

// putBack undoes a take. In a queue of one entry a value that came meanwhile
// takes its place.
func (l *readyList) putBack(it *item, dv *ua.DataValue) {
	it.mu.Lock()
	defer it.mu.Unlock()
	it.newMeaning = it.newMeaning || dv.Status.SemanticsChanged()
	switch {
	case it.queueSize <= 1, it.extra == nil && !it.queued:
		it.queued = true
	default:
		it.spill()
		it.extra.ring.unpop(dv, int(it.queueSize))
	}
	if !it.listed {
		it.listed = true
		l.addFirst(it)
	}
}

// collect moves what has changed since the last time to the ready list, oldest
// first, and lets triggering items act. mu is held.
func (s *Subscription) collect(now time.Duration) {
	newest := s.changed.Swap(nil)
	var oldest *item
	for newest != nil {
		next := newest.next
		newest.next = oldest
		oldest, newest = newest, next
	}
	for it := oldest; it != nil; {
		next := it.next
		it.next = nil
		if it.closely == 0 && it.mode == ua.MonitoringModeReporting {
			s.ready.add(it)
		} else {
			s.collectClosely(it, now)
		}
		it = next
	}
}

// collectClosely decides about an item that may be on the list for another
// reason than a value to report. mu is held.
func (s *Subscription) collectClosely(it *item, now time.Duration) {
	it.mu.Lock()
	it.settle(now)
	it.closely &^= unsettled
	ready := it.waiting() > 0 && (it.mode == ua.MonitoringModeReporting || it.triggered)
	again, fired := false, false
	if x := it.extra; x != nil {
		again, fired = x.hasPending && !ready, x.fired
		x.fired = false
	}
	it.listed = ready || again
	it.mu.Unlock()
	switch {
	case ready:
		s.ready.add(it)
	case again:
		s.push(it)
	default:
		it.triggered = false
	}
	if fired {
		s.trigger(it)
	}
}

// trigger has the items reported that are linked to a triggering item and only
// sampled (Part 4, 5.13.1.6). Links to items that are deleted go away here.
func (s *Subscription) trigger(it *item) {
	links := it.extra.links
	kept := links[:0]
	for _, to := range links {
		to.mu.Lock()
		if to.closed && to.waiting() == 0 {
			to.mu.Unlock()
			continue
		}
		kept = append(kept, to)
		ready := false
		if to.mode == ua.MonitoringModeSampling && to.waiting() > 0 {
			to.triggered = true
			ready = !to.listed // else it is in the list, or will be collected
			to.listed = true
		}
		to.mu.Unlock()
		if ready {
			s.ready.add(to)
		}
	}
	clear(links[len(kept):])
	it.mu.Lock()
	it.extra.links = kept
	it.mu.Unlock()
}
