package publishloop

import (
	"slices"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// readyList holds the items that have something to report, in the order in which
// they got it. It belongs to the subscription's mutex. An item knows its place, so
// that any of them can leave; where one did, there is a gap until it is first.
type readyList struct {
	items []*item // from first on; that one is no gap unless the list is empty
	first int
	count int
	base  uint32 // the place of items[0]; places may wrap around
}

// add appends an item, whose listed is true, unless it is in the list.
func (l *readyList) add(it *item) {
	if it.linked {
		return
	}
	if len(l.items) == cap(l.items) && l.count <= len(l.items)/2 {
		l.squeeze()
	}
	it.linked, it.place = true, l.base+uint32(len(l.items))
	l.items = append(l.items, it)
	l.count++
}

// addFirst puts an item in front, whose listed is true and which is in no list.
func (l *readyList) addFirst(it *item) {
	if l.first == 0 {
		l.items = slices.Insert(l.items, 0, nil)
		l.base--
	} else {
		l.first--
	}
	it.linked, it.place = true, l.base+uint32(l.first)
	l.items[l.first] = it
	l.count++
}

// squeeze gives those that are left places without gaps.
func (l *readyList) squeeze() {
	kept := l.items[:0]
	for _, it := range l.items {
		if it != nil {
			it.place = l.base + uint32(len(kept))
			kept = append(kept, it)
		}
	}
	clear(l.items[len(kept):])
	l.items, l.first = kept, 0
}

// head is the first item, nil when there is none.
func (l *readyList) head() *item {
	if l.count == 0 {
		return nil
	}
	return l.items[l.first]
}

// unlink takes an item off the list.
func (l *readyList) unlink(it *item) {
	it.linked, it.triggered = false, false
	l.items[it.place-l.base] = nil
	if l.count--; l.count == 0 {
		l.items, l.first = l.items[:0], 0
		return
	}
	for l.items[l.first] == nil {
		l.first++
	}
}

// drop forgets all items.
func (l *readyList) drop() {
	for _, it := range l.items[l.first:] {
		if it != nil {
			it.linked = false
		}
	}
	*l = readyList{}
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
	it := l.head()
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
	changed := s.changed.swap(s.spareList)
	if changed == nil {
		return
	}
	for _, it := range changed {
		if it.closely == 0 && it.mode == ua.MonitoringModeReporting {
			s.ready.add(it)
		} else {
			s.collectClosely(it, now)
		}
	}
	clear(changed)
	s.spareList = changed[:0]
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
		s.changed.add(it)
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
