package publishloop

import (
	"slices"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// This file is the MonitoredItem service set (Part 4, 5.13). The methods fill in
// the response, but for its header, and return the service result: Bad ones
// stand for a ServiceFault.

// CreateMonitoredItems serves that service (Part 4, 5.13.2).
func (m *Manager) CreateMonitoredItems(q *Queue, req *ua.CreateMonitoredItemsRequest, resp *ua.CreateMonitoredItemsResponse) ua.StatusCode {
	if code := checkTimestamps(req.TimestampsToReturn); code != ua.Good {
		return code
	}
	if len(req.ItemsToCreate) == 0 {
		return ua.BadNothingToDo
	}
	s, ok := m.find(q, req.SubscriptionID)
	if !ok {
		return ua.BadSubscriptionIDInvalid
	}
	s.active()
	who := s.identity
	s.mu.Unlock()
	resp.Results = slices.Grow(resp.Results[:0], len(req.ItemsToCreate))
	for i := range req.ItemsToCreate {
		resp.Results = append(resp.Results, m.createItem(s, q, who, req.TimestampsToReturn, &req.ItemsToCreate[i]))
	}
	return ua.Good
}

func checkTimestamps(t ua.TimestampsToReturn) ua.StatusCode {
	if t < ua.TimestampsToReturnSource || t > ua.TimestampsToReturnNeither {
		return ua.BadTimestampsToReturnInvalid
	}
	return ua.Good
}

func checkMode(mode ua.MonitoringMode) ua.StatusCode {
	if mode < ua.MonitoringModeDisabled || mode > ua.MonitoringModeReporting {
		return ua.BadMonitoringModeInvalid
	}
	return ua.Good
}

func (m *Manager) createItem(s *Subscription, q *Queue, who *Identity, timestamps ua.TimestampsToReturn,
	req *ua.MonitoredItemCreateRequest,
) (result ua.MonitoredItemCreateResult) {
	fail := func(code ua.StatusCode) ua.MonitoredItemCreateResult {
		return ua.MonitoredItemCreateResult{StatusCode: code}
	}
	if code := checkMode(req.MonitoringMode); code != ua.Good {
		return fail(code)
	}
	t, code := m.target(who, &req.ItemToMonitor)
	if code != ua.Good {
		return fail(code)
	}
	if t.attribute == ua.AttributeIDEventNotifier {
		return m.createEventItem(s, q, t, timestamps, req)
	}
	f, code := m.filterOf(t.node, t.attribute, &req.RequestedParameters.Filter)
	if code != ua.Good {
		return fail(code)
	}
	if !take(&m.items, 1, m.limits.MonitoredItems) {
		return fail(ua.BadTooManyMonitoredItems)
	}
	it := &item{
		sub: s, source: t.source, node: t.node, attribute: t.attribute, mode: req.MonitoringMode, muteCode: onlyBad(t.mute),
	}
	if t.node == nil {
		id := t.nodeID
		it.managed = &id
	}
	if t.indexes != nil {
		it.extra, it.closely = &extras{indexes: t.indexes}, special
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if code := s.mayHaveMore(q); code != ua.Good {
		m.items.Add(-1)
		return fail(code)
	}
	s.configure(it, &req.RequestedParameters, timestamps, f)
	s.addItem(it)
	return ua.MonitoredItemCreateResult{
		MonitoredItemID: it.id, RevisedSamplingInterval: millis(it.interval), RevisedQueueSize: it.queueSize,
	}
}

// mayHaveMore says whether another item may be created for a session. mu is held.
func (s *Subscription) mayHaveMore(q *Queue) ua.StatusCode {
	switch {
	case s.state.Phase == Closed || s.queue != q:
		return ua.BadSubscriptionIDInvalid
	case len(s.items) >= s.manager.limits.MonitoredItemsPerSubscription:
		return ua.BadTooManyMonitoredItems
	}
	return ua.Good
}

// addItem gives an item its id and has it begin. mu is held.
func (s *Subscription) addItem(it *item) {
	s.lastItem++
	it.id = s.lastItem
	s.items = append(s.items, it)
	if it.mode != ua.MonitoringModeDisabled {
		s.start(it)
	}
}

// configure gives an item its parameters, revised (Part 4, 7.21). mu is held.
func (s *Subscription) configure(it *item, p *ua.MonitoringParameters, timestamps ua.TimestampsToReturn, f filter) {
	m := s.manager
	interval := m.limits.sampling(p.SamplingInterval, s.interval, m.fastest(it.source, it.node))
	size := m.queueSize(it, p.QueueSize)

	it.mu.Lock()
	it.handle, it.timestamps, it.discardNew, it.interval = p.ClientHandle, timestamps, !p.DiscardOldest, interval
	if f != (filter{}) {
		it.need()
	}
	if it.extra != nil {
		it.extra.filter = f
	}
	it.resize(size)
	it.watchGap(s.interval)
	it.closely |= unsettled
	it.mu.Unlock()
	m.polls.change(it)
}

// queueSize revises the size of a queue and takes what it needs of the server's
// entries: 0 is the default of 1, and a queue that the server has no room for
// becomes one of 1.
func (m *Manager) queueSize(it *item, requested uint32) uint32 {
	size := min(max(requested, 1), uint32(m.limits.QueueSize))
	if it.queueSize > 1 {
		m.entries.Add(-int64(it.queueSize))
	}
	if size > 1 && !take(&m.entries, int(size), m.limits.QueueEntries) {
		size = 1
	}
	return size
}

// need makes the extras that the configuration asks for. Both mutexes are held.
func (it *item) need() {
	it.closely |= special
	if it.extra == nil {
		it.extra = new(extras)
	}
}

// resize changes the size of the queue, keeping the newest values. mu is held.
func (it *item) resize(size uint32) {
	it.queueSize = size
	if it.queued || it.extra == nil {
		return // one value fits into each queue
	}
	r := &it.extra.ring
	if size > 1 {
		r.resize(int(size))
	} else {
		it.queued = r.count > 0
		r.empty()
	}
	r.tell(&it.sub.manager.queueBytes)
}

// watchGap decides whether the sampling interval has to be watched: not where
// the source is asked in that interval, and not where a publishing cycle comes
// before and takes only the newest value anyway. mu is held.
func (it *item) watchGap(publishing time.Duration) {
	_, polled := it.source.(asked)
	gapped := !polled && it.interval > 0 && (it.queueSize > 1 || it.interval > publishing)
	if gapped {
		it.need()
	}
	if it.gapped && !gapped && it.extra.hasPending {
		it.extra.hasPending = false
		it.offer(&it.extra.pending)
	}
	it.gapped = gapped
}

// start has an item sample, or say why not. mu is held.
func (s *Subscription) start(it *item) {
	s.manager.follow(it)
	if it.muted() {
		if it.attribute == ua.AttributeIDEventNotifier {
			return // there is no event that says so
		}
		it.mu.Lock()
		it.report(&ua.DataValue{Status: it.muteCode})
		it.mu.Unlock()
		return
	}
	it.started = true
	it.source.start(it)
}

// stop ends the sampling of an item and forgets what it has queued. mu is held.
func (s *Subscription) stop(it *item) {
	if it.started {
		it.started = false
		it.source.stop(it)
	}
	s.manager.unfollow(it)
	it.mu.Lock()
	it.clear()
	s.ready.remove(it)
	it.mu.Unlock()
	it.closely |= unsettled
}

// end lets go of all that an item holds. It is in no list of its subscription
// any more, but may still be in that of changed items.
func (it *item) end() {
	m := it.sub.manager
	it.mu.Lock()
	it.closed = true
	it.clear()
	size := it.queueSize
	it.mu.Unlock()
	if it.started {
		it.started = false
		it.source.stop(it)
	}
	m.unfollow(it)
	if it.attribute == ua.AttributeIDEventNotifier {
		m.queueBytes.Add(-int64(it.extra.events.filter.Size()))
	}
	m.items.Add(-1)
	if size > 1 {
		m.entries.Add(-int64(size))
	}
}

// item finds a monitored item by its id. mu is held.
func (s *Subscription) item(id uint32) *item {
	i, ok := slices.BinarySearchFunc(s.items, id, func(it *item, id uint32) int {
		switch {
		case it.id < id:
			return -1
		case it.id > id:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return s.items[i]
}

// ModifyMonitoredItems serves that service (Part 4, 5.13.3).
func (m *Manager) ModifyMonitoredItems(q *Queue, req *ua.ModifyMonitoredItemsRequest, resp *ua.ModifyMonitoredItemsResponse) ua.StatusCode {
	if code := checkTimestamps(req.TimestampsToReturn); code != ua.Good {
		return code
	}
	if len(req.ItemsToModify) == 0 {
		return ua.BadNothingToDo
	}
	s, ok := m.find(q, req.SubscriptionID)
	if !ok {
		return ua.BadSubscriptionIDInvalid
	}
	defer s.mu.Unlock()
	s.active()
	resp.Results = slices.Grow(resp.Results[:0], len(req.ItemsToModify))
	for i := range req.ItemsToModify {
		change := &req.ItemsToModify[i]
		it := s.item(change.MonitoredItemID)
		if it == nil {
			resp.Results = append(resp.Results, ua.MonitoredItemModifyResult{StatusCode: ua.BadMonitoredItemIDInvalid})
			continue
		}
		if it.attribute == ua.AttributeIDEventNotifier {
			resp.Results = append(resp.Results, s.modifyEventItem(it, &change.RequestedParameters, req.TimestampsToReturn))
			continue
		}
		f, code := m.filterOf(it.node, it.attribute, &change.RequestedParameters.Filter)
		if code != ua.Good {
			resp.Results = append(resp.Results, ua.MonitoredItemModifyResult{StatusCode: code})
			continue
		}
		s.configure(it, &change.RequestedParameters, req.TimestampsToReturn, f)
		resp.Results = append(resp.Results, ua.MonitoredItemModifyResult{
			RevisedSamplingInterval: millis(it.interval), RevisedQueueSize: it.queueSize,
		})
	}
	return ua.Good
}

// SetMonitoringMode serves that service (Part 4, 5.13.4).
func (m *Manager) SetMonitoringMode(q *Queue, req *ua.SetMonitoringModeRequest, resp *ua.SetMonitoringModeResponse) ua.StatusCode {
	if code := checkMode(req.MonitoringMode); code != ua.Good {
		return code
	}
	if len(req.MonitoredItemIDs) == 0 {
		return ua.BadNothingToDo
	}
	s, ok := m.find(q, req.SubscriptionID)
	if !ok {
		return ua.BadSubscriptionIDInvalid
	}
	defer s.mu.Unlock()
	s.active()
	resp.Results = slices.Grow(resp.Results[:0], len(req.MonitoredItemIDs))
	for _, id := range req.MonitoredItemIDs {
		code := ua.BadMonitoredItemIDInvalid
		if it := s.item(id); it != nil {
			s.setMode(it, req.MonitoringMode)
			code = ua.Good
		}
		resp.Results = append(resp.Results, code)
	}
	return ua.Good
}

// setMode changes the mode of an item. Disabling forgets what was queued;
// enabling reports the first sample (Part 4, 5.13.1.3 and 5.13.4.1). mu is held.
func (s *Subscription) setMode(it *item, mode ua.MonitoringMode) {
	old := it.mode
	if old == mode {
		return
	}
	it.mu.Lock()
	it.mode = mode
	it.closely |= unsettled
	it.mu.Unlock()
	switch {
	case mode == ua.MonitoringModeDisabled:
		s.stop(it)
	case old == ua.MonitoringModeDisabled:
		s.start(it)
	case mode == ua.MonitoringModeSampling:
		it.mu.Lock()
		s.ready.remove(it)
		it.mu.Unlock()
	default:
		it.mu.Lock()
		if it.waiting() > 0 {
			it.list()
		}
		it.mu.Unlock()
	}
}

// DeleteMonitoredItems serves that service (Part 4, 5.13.6).
func (m *Manager) DeleteMonitoredItems(q *Queue, req *ua.DeleteMonitoredItemsRequest, resp *ua.DeleteMonitoredItemsResponse) ua.StatusCode {
	if len(req.MonitoredItemIDs) == 0 {
		return ua.BadNothingToDo
	}
	s, ok := m.find(q, req.SubscriptionID)
	if !ok {
		return ua.BadSubscriptionIDInvalid
	}
	defer s.mu.Unlock()
	s.active()
	resp.Results = slices.Grow(resp.Results[:0], len(req.MonitoredItemIDs))
	for _, id := range req.MonitoredItemIDs {
		it := s.item(id)
		if it == nil || it.deleted {
			resp.Results = append(resp.Results, ua.BadMonitoredItemIDInvalid)
			continue
		}
		it.deleted = true
		it.closely |= unsettled
		it.end()
		it.mu.Lock()
		s.ready.remove(it)
		it.mu.Unlock()
		if it.attribute == ua.AttributeIDEventNotifier {
			s.eventItems--
		}
		resp.Results = append(resp.Results, ua.Good)
	}
	s.items = slices.DeleteFunc(s.items, func(it *item) bool { return it.deleted })
	if len(s.items) == 0 {
		s.items, s.spareList = nil, nil
	}
	return ua.Good
}

// SetTriggering serves that service (Part 4, 5.13.5). Links are removed before
// others are added.
func (m *Manager) SetTriggering(q *Queue, req *ua.SetTriggeringRequest, resp *ua.SetTriggeringResponse) ua.StatusCode {
	if len(req.LinksToAdd) == 0 && len(req.LinksToRemove) == 0 {
		return ua.BadNothingToDo
	}
	s, ok := m.find(q, req.SubscriptionID)
	if !ok {
		return ua.BadSubscriptionIDInvalid
	}
	defer s.mu.Unlock()
	s.active()
	it := s.item(req.TriggeringItemID)
	if it == nil {
		return ua.BadMonitoredItemIDInvalid
	}
	it.mu.Lock()
	it.need()
	it.mu.Unlock()
	var links []*item
	known := make(map[*item]bool, len(it.extra.links))
	for _, to := range it.extra.links {
		if !to.deleted {
			known[to] = true
		}
	}
	resp.RemoveResults = resp.RemoveResults[:0]
	for _, id := range req.LinksToRemove {
		code := ua.BadMonitoredItemIDInvalid
		if to := s.item(id); to != nil && known[to] {
			delete(known, to)
			code = ua.Good
		}
		resp.RemoveResults = append(resp.RemoveResults, code)
	}
	for _, to := range it.extra.links {
		if known[to] {
			links = append(links, to)
		}
	}
	resp.AddResults = resp.AddResults[:0]
	for _, id := range req.LinksToAdd {
		code := ua.Good
		switch to := s.item(id); {
		case to == nil || to == it: // an item that triggers itself says nothing
			code = ua.BadMonitoredItemIDInvalid
		case known[to]:
		case len(links) >= m.limits.TriggeringLinks:
			code = ua.BadTooManyOperations
		default:
			known[to] = true
			links = append(links, to)
		}
		resp.AddResults = append(resp.AddResults, code)
	}
	it.mu.Lock()
	if len(it.extra.links) == 0 {
		it.extra.fired = false // what was queued before the links does not trigger
	}
	it.extra.links = links
	it.closely |= unsettled
	it.mu.Unlock()
	return ua.Good
}

// GetMonitoredItems returns the ids and client handles of a subscription's items
// (Part 5, 9.1).
func (m *Manager) GetMonitoredItems(q *Queue, id uint32) (serverHandles, clientHandles []uint32, code ua.StatusCode) {
	s, code := m.own(q, id)
	if code != ua.Good {
		return nil, nil, code
	}
	defer s.mu.Unlock()
	serverHandles, clientHandles = make([]uint32, len(s.items)), make([]uint32, len(s.items))
	for i, it := range s.items {
		serverHandles[i], clientHandles[i] = it.id, it.handle
	}
	return serverHandles, clientHandles, ua.Good
}

// ResendData has the last values of all reporting items sent again (Part 5, 9.2).
func (m *Manager) ResendData(q *Queue, id uint32) ua.StatusCode {
	s, code := m.own(q, id)
	if code != ua.Good {
		return code
	}
	defer s.mu.Unlock()
	s.resend()
	return ua.Good
}

// own is find with the codes of the server's methods.
func (m *Manager) own(q *Queue, id uint32) (*Subscription, ua.StatusCode) {
	if _, ok := m.subs.Load(id); !ok {
		return nil, ua.BadSubscriptionIDInvalid
	}
	s, ok := m.find(q, id)
	if !ok {
		return nil, ua.BadUserAccessDenied
	}
	s.active()
	return s, ua.Good
}

// resend queues the last value of each reporting item that has nothing queued.
// mu is held.
func (s *Subscription) resend() {
	for _, it := range s.items {
		it.mu.Lock()
		if it.mode == ua.MonitoringModeReporting && it.hasLast && it.waiting() == 0 {
			it.repeat()
		}
		it.mu.Unlock()
	}
}

// recheck asks again what the session's user may read, after that user or its
// rights have changed.
func (s *Subscription) recheck(q *Queue, identity *Identity) {
	s.mu.Lock()
	if s.queue != q {
		s.mu.Unlock()
		return
	}
	s.identity = identity
	items := slices.Clone(s.items)
	s.mu.Unlock()
	for _, it := range items {
		code := readable(identity, it.node, it.nodeID(), it.attribute)
		s.mu.Lock()
		if !it.deleted && s.state.Phase != Closed {
			s.mute(it, code)
		}
		s.mu.Unlock()
		it.recheckEvents(identity)
	}
}

// mute has an item report a Bad status in place of values, or values again.
// mu is held.
func (s *Subscription) mute(it *item, code ua.StatusCode) {
	if it.muted() == code.IsBad() {
		return
	}
	if it.mode == ua.MonitoringModeDisabled {
		it.mu.Lock()
		it.muteCode = onlyBad(code)
		it.mu.Unlock()
		return
	}
	s.stop(it)
	it.mu.Lock()
	it.muteCode = onlyBad(code)
	it.mu.Unlock()
	s.start(it)
}

// onlyBad returns the status where it is Bad, and Good for all others.
func onlyBad(code ua.StatusCode) ua.StatusCode {
	if code.IsBad() {
		return code
	}
	return ua.Good
}
