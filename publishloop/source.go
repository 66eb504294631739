package publishloop

import (
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// sourceOf says where the values of an attribute come from: changes are
// delivered where something delivers them, and asked for elsewhere.
func (m *Manager) sourceOf(n *addrspace.Node, id ua.NodeID, attribute ua.AttributeID) source {
	switch {
	case n == nil:
		manager := m.space.Manager(id.Namespace())
		if w, ok := manager.(addrspace.Subscriber); ok && attribute == ua.AttributeIDValue {
			return m.deliverer(id.Namespace(), w)
		}
		return asked{m, managerReader{manager, id.Namespace()}}
	case attribute != ua.AttributeIDValue || n.Variable() == nil:
		return asked{m, attributeReader{}}
	}
	if src := n.Variable().Source(); src != nil && src.Read != nil {
		return asked{m, sourceReader{src}}
	}
	return watched{}
}

// fastest returns the shortest sampling interval of a source, and 0 where it
// delivers changes itself: then there is nothing to sample.
func (m *Manager) fastest(src source, n *addrspace.Node) time.Duration {
	low := time.Duration(0)
	if _, ok := src.(asked); ok {
		low = m.limits.MinSamplingInterval
	}
	if n != nil && n.Variable() != nil {
		// A client shall not sample faster than the attribute says (Part 3, 5.6.2).
		if ms, ok := n.Variable().MinimumSamplingInterval(); ok && ms > 0 {
			low = max(low, between(ms, 0, m.limits.MaxSamplingInterval))
		}
	}
	return low
}

// watched is a variable in memory: its changes are samples.
type watched struct{}

func (watched) start(it *item) {
	dv, ok := it.node.Variable().Watch(it)
	if !ok {
		it.NodeDeleted()
		return
	}
	it.first(&dv)
}

func (watched) stop(it *item) { it.node.Variable().Unwatch(it) }

// asked is a value that the scheduler asks for.
type asked struct {
	manager *Manager
	reader  reader
}

func (a asked) start(it *item) { a.manager.polls.add(it, a.reader) }
func (a asked) stop(it *item)  { a.manager.polls.remove(it) }

// sampled takes a value that was asked for. Where the source gives no timestamp,
// it is the time at which the value or the status was first seen (Part 4, 7.11.3).
func (it *item) sampled(p *poll, dv *ua.DataValue) {
	it.mu.Lock()
	defer it.mu.Unlock()
	if it.asked != p {
		return // disabled, and perhaps enabled again, since the call began
	}
	if dv.SourceTimestamp == 0 {
		if p.seen.SourceTimestamp == 0 || p.seen.Status != dv.Status || differs(&p.seen.Value, &dv.Value) {
			p.seen = *dv
			p.seen.SourceTimestamp = ua.DateTimeOf(time.Now())
		}
		dv.SourceTimestamp = p.seen.SourceTimestamp
	}
	it.offer(dv)
}
