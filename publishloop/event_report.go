package publishloop

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

// reports are the events that were reported and not yet distributed. Distributing
// costs as much as there are listeners, and asks who may see what; so it has a
// goroutine of its own while there is something to distribute, and whoever
// reports goes on at once.
type reports struct {
	heard atomic.Int64 // monitored items that listen

	mu sync.Mutex // a leaf
	// Guarded by mu.
	waiting []*events.Event
	bytes   int
	running bool
	lost    bool // events, because too many waited

	notifiers notifiers
}

var serverObject = ua.NumericID(0, id.Server)

// Report gives an event to all monitored items that listen for it. The event is
// completed and must not be changed any more. Report may be called from any
// goroutine, with any lock held: it takes only a lock that is never held for long
// and neither waits nor calls anybody, and where nobody listens at all it is one
// look at a counter. Events reach each listener in the order of their reports.
//
// When more events wait to be distributed than Limits.Events, or more memory than
// Limits.EventBytes, an event is dropped, counted in Stats.EventsDropped, and all
// who listen are told that events were lost.
func (m *Manager) Report(e *events.Event) {
	if m.reports.heard.Load() == 0 {
		return
	}
	e.Complete(ua.DateTimeOf(time.Now()))
	m.stats.reported.Add(1)
	r := &m.reports
	r.mu.Lock()
	if len(r.waiting) > 0 && (len(r.waiting) >= m.limits.Events || r.bytes+e.Size() > m.limits.EventBytes) {
		r.lost = true
		m.stats.eventsDropped.Add(1)
	} else {
		r.waiting = append(r.waiting, e)
		r.bytes += e.Size()
	}
	start := !r.running
	r.running = true
	r.mu.Unlock()
	if start && !m.group.Go("events", m.distribute) {
		r.mu.Lock() // the server has ended, and with it whoever listened
		r.running, r.waiting, r.bytes, r.lost = false, nil, 0, false
		r.mu.Unlock()
	}
}

// Heard reports whether anybody listens for events, so that the work of making
// one can be saved.
func (m *Manager) Heard() bool { return m.reports.heard.Load() != 0 }

// distribute hands out what was reported until there is nothing more.
func (m *Manager) distribute() {
	r := &m.reports
	var batch []*events.Event
	var d distribution
	for {
		r.mu.Lock()
		clear(batch)
		batch, r.waiting = r.waiting, batch[:0]
		lost := r.lost
		r.bytes, r.lost = 0, false
		if len(batch) == 0 && !lost {
			r.running, r.waiting = false, nil
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		for _, e := range batch {
			d.event(m, e)
		}
		if lost {
			d.loss(m)
		}
	}
}

// notifiers holds the monitored items that listen, by the node that they monitor.
type notifiers struct {
	mu sync.Mutex // taken after Subscription.mu, and a leaf
	// Guarded by mu.
	items map[*addrspace.Node][]*item
}

// notifier is the source of events: what is reported reaches its items.
type notifier struct{ manager *Manager }

func (n notifier) start(it *item) {
	ns := &n.manager.reports.notifiers
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if ns.items == nil {
		ns.items = make(map[*addrspace.Node][]*item)
	}
	list := ns.items[it.node]
	it.extra.events.place = len(list)
	ns.items[it.node] = append(list, it)
	n.manager.reports.heard.Add(1)
}

func (n notifier) stop(it *item) {
	ns := &n.manager.reports.notifiers
	ns.mu.Lock()
	defer ns.mu.Unlock()
	list := ns.items[it.node]
	last := len(list) - 1
	place := it.extra.events.place
	list[place] = list[last]
	list[place].extra.events.place = place
	list[last] = nil
	if last == 0 {
		delete(ns.items, it.node)
	} else {
		ns.items[it.node] = list[:last]
	}
	n.manager.reports.heard.Add(-1)
}

// appendOf appends the items that monitor a node.
func (ns *notifiers) appendOf(dst []*item, n *addrspace.Node) []*item {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	return append(dst, ns.items[n]...)
}

// appendAll appends all items.
func (ns *notifiers) appendAll(dst []*item) []*item {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	for _, list := range ns.items {
		dst = append(dst, list...)
	}
	return dst
}

// onlyAt reports whether no other node than this is monitored.
func (ns *notifiers) onlyAt(n *addrspace.Node) bool {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	return len(ns.items) == 0 || len(ns.items) == 1 && ns.items[n] != nil
}
