package publishloop

import (
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/events"
)

// minEventQueue is the smallest queue for events. A queue of 1 would lose an event
// whenever two happen in one publishing cycle; a client that asks for 1 gets what the
// server requires at least (Part 4, 7.21).
const minEventQueue = 10

// eventFilter checks and compiles the filter of an item for events, which needs one.
// The result is null when there is nothing to say about the filter.
func (m *Manager) eventFilter(o *ua.ExtensionObject) (f *events.Filter, result ua.ExtensionObject, code ua.StatusCode) {
	switch v := o.Value.(type) {
	case *ua.EventFilter:
		f, r, code := events.Compile(m.space, v, m.limits.EventFilter)
		if r != nil {
			result = ua.ObjectOf(r)
		}
		return f, result, code
	case *ua.DataChangeFilter, *ua.AggregateFilter:
		return nil, result, ua.BadFilterNotAllowed
	case nil:
		if o.TypeID.IsNull() && o.Raw == nil {
			return nil, result, ua.BadFilterNotAllowed // none at all
		}
	}
	return nil, result, ua.BadMonitoredItemFilterInvalid
}

// createEventItem creates an item that listens for the events of a node (Part 4,
// 5.13.1.5 and 7.22.3).
func (m *Manager) createEventItem(s *Subscription, q *Queue, t target, timestamps ua.TimestampsToReturn,
	req *ua.MonitoredItemCreateRequest,
) (result ua.MonitoredItemCreateResult) {
	fail := func(code ua.StatusCode) ua.MonitoredItemCreateResult {
		return ua.MonitoredItemCreateResult{StatusCode: code, FilterResult: result.FilterResult}
	}
	f, filterResult, code := m.eventFilter(&req.RequestedParameters.Filter)
	result.FilterResult = filterResult
	if code != ua.Good {
		return fail(code)
	}
	if !take(&m.items, 1, m.limits.MonitoredItems) {
		return fail(ua.BadTooManyMonitoredItems)
	}
	if !take(&m.queueBytes, f.Size(), m.limits.QueueBytesTotal) {
		m.items.Add(-1)
		return fail(ua.BadTooManyMonitoredItems)
	}
	it := &item{
		sub: s, source: t.source, node: t.node, attribute: t.attribute, mode: req.MonitoringMode,
		muteCode: onlyBad(t.mute), extra: &extras{events: &eventQueue{filter: f}}, closely: special,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if code := s.mayHaveMore(q); code != ua.Good {
		m.items.Add(-1)
		m.queueBytes.Add(-int64(f.Size()))
		return fail(code)
	}
	s.eventItems++
	s.configureEvents(it, &req.RequestedParameters, timestamps)
	s.addItem(it)
	result.MonitoredItemID, result.RevisedQueueSize = it.id, it.queueSize
	return result
}

// modifyEventItem changes an item that listens for events. What waits in its queue
// leaves with the fields of the filter that chose it. mu is held.
func (s *Subscription) modifyEventItem(it *item, p *ua.MonitoringParameters, timestamps ua.TimestampsToReturn) (result ua.MonitoredItemModifyResult) {
	m := s.manager
	f, filterResult, code := m.eventFilter(&p.Filter)
	result.FilterResult = filterResult
	if code != ua.Good {
		result.StatusCode = code
		return result
	}
	q := it.extra.events
	if more := f.Size() - q.filter.Size(); more > 0 && !take(&m.queueBytes, more, m.limits.QueueBytesTotal) {
		result.StatusCode = ua.BadTooManyMonitoredItems
		return result
	} else if more <= 0 {
		m.queueBytes.Add(int64(more))
	}
	it.mu.Lock()
	q.filter = f
	it.mu.Unlock()
	s.configureEvents(it, p, timestamps)
	result.RevisedQueueSize = it.queueSize
	return result
}

// configureEvents gives an item for events its parameters, revised: there is no
// sampling interval, and the queue has a default and a least size of its own (Part 4,
// 7.21). mu is held.
func (s *Subscription) configureEvents(it *item, p *ua.MonitoringParameters, timestamps ua.TimestampsToReturn) {
	m := s.manager
	requested := max(p.QueueSize, minEventQueue)
	if p.QueueSize == 0 {
		requested = uint32(m.limits.EventQueueSize)
	}
	size := m.queueSize(it, requested)
	it.mu.Lock()
	it.handle, it.timestamps, it.discardNew, it.interval = p.ClientHandle, timestamps, !p.DiscardOldest, 0
	it.queueSize = size
	it.extra.events.resize(int(size), it.discardNew)
	it.extra.events.tell(&m.queueBytes)
	it.closely |= unsettled
	it.mu.Unlock()
}

// recheckEvents removes from the queue what the user may not see any more.
func (it *item) recheckEvents(identity *Identity) {
	if it.attribute != ua.AttributeIDEventNotifier || identity.Receives == nil {
		return
	}
	q := it.extra.events
	it.mu.Lock()
	waiting := make([]*events.Event, q.count)
	for i := range waiting {
		waiting[i] = q.at(i).event
	}
	it.mu.Unlock()
	hidden := make(map[*events.Event]struct{})
	for _, e := range waiting {
		if !identity.receives(e) {
			hidden[e] = struct{}{}
		}
	}
	if len(hidden) == 0 {
		return
	}
	it.mu.Lock()
	defer it.mu.Unlock()
	q.retain(func(e *events.Event) bool {
		_, hide := hidden[e]
		return !hide
	})
	q.tell(&it.sub.manager.queueBytes)
}
