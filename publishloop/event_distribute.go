package publishloop

import (
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

// maxNotifiers is how many nodes above the source of one event are looked at, so
// that a model with very many paths does not hold up all events.
const maxNotifiers = 1_000

var hasEventSource = ua.NumericID(0, id.HasEventSource)

// distribution is the memory of the goroutine that distributes events.
type distribution struct {
	items []*item
	nodes []*addrspace.Node
	seen  map[*addrspace.Node]struct{}
	who   *Identity // of the last item that was asked about, and what it may see
	may   bool
}

// event gives an event to the items that listen for it.
func (d *distribution) event(m *Manager, e *events.Event) {
	clear(d.items)
	d.items = d.items[:0]
	server := m.space.Node(serverObject)
	ns := &m.reports.notifiers
	// The Server object is the root of all notifiers: it gets every event, whether
	// or not references lead there from the source (Part 3, 5.5.1; Part 5, 8.3.2).
	d.items = ns.appendOf(d.items, server)
	if !ns.onlyAt(server) {
		for _, n := range d.above(m, e.SourceNode) {
			if n != server {
				d.items = ns.appendOf(d.items, n)
			}
		}
	}
	d.who = nil
	for _, it := range d.items {
		if d.mayReceive(it, e) {
			it.offerEvent(e)
		}
	}
}

// above returns the node and all nodes from which HasNotifier and HasEventSource
// references lead to it.
func (d *distribution) above(m *Manager, source ua.NodeID) []*addrspace.Node {
	first := m.space.Node(source)
	types, ok := m.space.ReferenceTypes(hasEventSource, true)
	if first == nil || !ok {
		return nil
	}
	if d.seen == nil {
		d.seen = make(map[*addrspace.Node]struct{})
	}
	clear(d.seen)
	clear(d.nodes)
	d.nodes = append(d.nodes[:0], first)
	d.seen[first] = struct{}{}
	for i := 0; i < len(d.nodes); i++ {
		refs := d.nodes[i].References()
		for pos := 0; ; {
			ref, next, ok := refs.Next(pos, ua.BrowseDirectionInverse, types)
			if !ok {
				break
			}
			pos = next
			if _, again := d.seen[ref.Target]; again {
				continue
			}
			if len(d.nodes) >= maxNotifiers {
				return d.nodes
			}
			d.seen[ref.Target] = struct{}{}
			d.nodes = append(d.nodes, ref.Target)
		}
	}
	return d.nodes
}

// mayReceive asks whether the user of an item's subscription may see an event. Items
// of one subscription stand together, as a rule, and are asked about once.
func (d *distribution) mayReceive(it *item, e *events.Event) bool {
	it.sub.mu.Lock()
	who := it.sub.identity
	it.sub.mu.Unlock()
	if who != d.who {
		d.who, d.may = who, who.receives(e)
	}
	return d.may
}

// loss tells all who listen that events were lost before they could be distributed.
func (d *distribution) loss(m *Manager) {
	clear(d.items)
	d.items = m.reports.notifiers.appendAll(d.items[:0])
	for _, it := range d.items {
		it.mu.Lock()
		if it.listens() {
			it.extra.events.overflowed(it.discardNew)
			it.eventQueued()
		}
		it.mu.Unlock()
	}
}
