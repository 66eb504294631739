package publishloop

import (
	"slices"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// This file is the Subscription service set (Part 4, 5.14) but for Publish. The
// methods fill in the response, but for its header, and return the service
// result: Bad ones stand for a ServiceFault.

// CreateSubscription serves that service (Part 4, 5.14.2).
func (m *Manager) CreateSubscription(q *Queue, req *ua.CreateSubscriptionRequest, resp *ua.CreateSubscriptionResponse) ua.StatusCode {
	if !take(&m.subscriptions, 1, m.limits.Subscriptions) {
		return ua.BadTooManySubscriptions
	}
	interval, lifetime, keepAlive := m.limits.publishing(
		req.RequestedPublishingInterval, req.RequestedLifetimeCount, req.RequestedMaxKeepAliveCount)
	q.mu.Lock()
	identity := q.identity
	q.mu.Unlock()
	s := &Subscription{
		manager: m, queue: q, identity: identity, priority: req.Priority,
		state:    Create(req.PublishingEnabled, lifetime, keepAlive, req.MaxNotificationsPerPublish),
		interval: interval, seen: q.arrivals.Load(),
	}
	s.mu.Lock()
	code := ua.Good
	if !m.add(s) {
		code = ua.BadShutdown
	} else if code = q.add(s); code != ua.Good {
		m.subs.Delete(s.id)
	} else if !m.beats.join(s, interval) {
		m.subs.Delete(s.id)
		q.remove(s)
		code = ua.BadShutdown
	}
	if code != ua.Good {
		s.state.Phase = Closed
		s.mu.Unlock()
		m.subscriptions.Add(-1)
		return code
	}
	s.mu.Unlock()
	m.stats.created.Add(1)
	if m.hooks.Created != nil {
		m.hooks.Created(s.id, identity.Session, interval)
	}
	resp.SubscriptionID = s.id
	resp.RevisedPublishingInterval = millis(interval)
	resp.RevisedLifetimeCount, resp.RevisedMaxKeepAliveCount = lifetime, keepAlive
	return ua.Good
}

// ModifySubscription serves that service (Part 4, 5.14.3). The first cycle of a
// new interval begins now.
func (m *Manager) ModifySubscription(q *Queue, req *ua.ModifySubscriptionRequest, resp *ua.ModifySubscriptionResponse) ua.StatusCode {
	s, ok := m.find(q, req.SubscriptionID)
	if !ok {
		return ua.BadSubscriptionIDInvalid
	}
	defer s.mu.Unlock()
	interval, lifetime, keepAlive := m.limits.publishing(
		req.RequestedPublishingInterval, req.RequestedLifetimeCount, req.RequestedMaxKeepAliveCount)
	Step(&s.state, Event{
		Kind: Modified, LifetimeCount: lifetime, MaxKeepAliveCount: keepAlive, MaxNotifications: req.MaxNotificationsPerPublish,
	})
	s.priority = req.Priority
	s.counts.modify++
	if interval != s.interval {
		s.interval = interval
		for _, it := range s.items {
			it.mu.Lock()
			it.watchGap(interval)
			it.closely |= unsettled
			it.mu.Unlock()
		}
		m.beats.leave(s)
		m.beats.join(s, interval)
	}
	resp.RevisedPublishingInterval = millis(interval)
	resp.RevisedLifetimeCount, resp.RevisedMaxKeepAliveCount = lifetime, keepAlive
	return ua.Good
}

// SetPublishingMode serves that service (Part 4, 5.14.4).
func (m *Manager) SetPublishingMode(q *Queue, req *ua.SetPublishingModeRequest, resp *ua.SetPublishingModeResponse) ua.StatusCode {
	if len(req.SubscriptionIDs) == 0 {
		return ua.BadNothingToDo
	}
	resp.Results = slices.Grow(resp.Results[:0], len(req.SubscriptionIDs))
	for _, id := range req.SubscriptionIDs {
		s, ok := m.find(q, id)
		if !ok {
			resp.Results = append(resp.Results, ua.BadSubscriptionIDInvalid)
			continue
		}
		Step(&s.state, Event{Kind: PublishingModeSet, Enabled: req.PublishingEnabled})
		if req.PublishingEnabled {
			s.counts.enable++
		} else {
			s.counts.disable++
		}
		s.mu.Unlock()
		resp.Results = append(resp.Results, ua.Good)
	}
	return ua.Good
}

// DeleteSubscriptions serves that service (Part 4, 5.14.8). With the session's
// last subscription, its parked Publish requests are answered with BadNoSubscription.
func (m *Manager) DeleteSubscriptions(q *Queue, req *ua.DeleteSubscriptionsRequest, resp *ua.DeleteSubscriptionsResponse) ua.StatusCode {
	if len(req.SubscriptionIDs) == 0 {
		return ua.BadNothingToDo
	}
	resp.Results = slices.Grow(resp.Results[:0], len(req.SubscriptionIDs))
	for _, id := range req.SubscriptionIDs {
		code := ua.BadSubscriptionIDInvalid
		if s, ok := m.subs.Load(id); ok && m.delete(s, q) {
			code = ua.Good
		}
		resp.Results = append(resp.Results, code)
	}
	return ua.Good
}

// AppendRepublish serves Republish (Part 4, 5.14.6): it appends the body of a
// RepublishResponse, which is a NotificationMessage that was kept.
func (m *Manager) AppendRepublish(dst []byte, q *Queue, id, seq uint32) ([]byte, ua.StatusCode) {
	s, ok := m.find(q, id)
	if !ok {
		return dst, ua.BadSubscriptionIDInvalid
	}
	defer s.mu.Unlock()
	s.active()
	s.counts.republish++
	for i := range s.kept {
		if s.kept[i].seq == seq {
			s.counts.republished++
			return append(dst, s.kept[i].body...), ua.Good
		}
	}
	return dst, ua.BadMessageNotAvailable
}

// TransferSubscriptions serves that service (Part 4, 5.14.7): the session takes
// over subscriptions of other sessions of the same user, living or not.
func (m *Manager) TransferSubscriptions(q *Queue, req *ua.TransferSubscriptionsRequest, resp *ua.TransferSubscriptionsResponse) ua.StatusCode {
	if len(req.SubscriptionIDs) == 0 {
		return ua.BadNothingToDo
	}
	q.mu.Lock()
	identity := q.identity
	q.mu.Unlock()
	resp.Results = slices.Grow(resp.Results[:0], len(req.SubscriptionIDs))
	seen := make(map[uint32]struct{}, len(req.SubscriptionIDs))
	for _, id := range req.SubscriptionIDs {
		// An id that stands there a thousand times is no reason to go through a
		// million items a thousand times.
		_, again := seen[id]
		seen[id] = struct{}{}
		resp.Results = append(resp.Results, m.transfer(q, identity, id, req.SendInitialValues && !again))
	}
	return ua.Good
}

func (m *Manager) transfer(q *Queue, identity *Identity, id uint32, sendInitial bool) (result ua.TransferResult) {
	s, ok := m.subs.Load(id)
	if !ok {
		return ua.TransferResult{StatusCode: ua.BadSubscriptionIDInvalid}
	}
	s.mu.Lock()
	if s.state.Phase == Closed {
		s.mu.Unlock()
		return ua.TransferResult{StatusCode: ua.BadSubscriptionIDInvalid}
	}
	s.counts.transfer++
	old := s.queue
	if old != q {
		if !identity.mayTake(s.identity) {
			s.mu.Unlock()
			return ua.TransferResult{StatusCode: ua.BadUserAccessDenied}
		}
		if code := q.add(s); code != ua.Good {
			s.mu.Unlock()
			return ua.TransferResult{StatusCode: code}
		}
		s.queue, s.seen = q, q.arrivals.Load()
		if s.orphan {
			s.orphan = false
			m.orphans.Add(-1)
		}
		s.counts.transferredToSame++
	}
	s.active()
	if sendInitial {
		s.resend()
	}
	result.AvailableSequenceNumbers = s.available()
	change := statusChange{subscription: s.id, seq: s.state.SeqNum, status: ua.GoodSubscriptionTransferred}
	s.mu.Unlock()
	if old == q {
		return result
	}
	if old != nil {
		old.announce(change)
		m.refuseAll(old.remove(s), ua.BadNoSubscription)
	}
	s.recheck(q, identity)
	s.serve(PublishArrived) // it may be late, and the new session have tickets
	return result
}

// Diagnostics returns what the server's diagnostics say of a subscription
// (Part 5, 12.15).
func (s *Subscription) Diagnostics() ua.SubscriptionDiagnosticsDataType {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := ua.SubscriptionDiagnosticsDataType{
		SessionID: s.identity.Session, SubscriptionID: s.id, Priority: s.priority,
		PublishingInterval: millis(s.interval), MaxKeepAliveCount: s.state.MaxKeepAliveCount,
		MaxLifetimeCount: s.state.LifetimeCount, MaxNotificationsPerPublish: s.state.MaxNotificationsPerUpdate,
		PublishingEnabled: s.state.PublishingEnabled,
		ModifyCount:       s.counts.modify, EnableCount: s.counts.enable, DisableCount: s.counts.disable,
		RepublishRequestCount: s.counts.republish, RepublishMessageRequestCount: s.counts.republish,
		RepublishMessageCount: s.counts.republished, TransferRequestCount: s.counts.transfer,
		TransferredToSameClientCount: s.counts.transferredToSame, PublishRequestCount: s.counts.publish,
		DataChangeNotificationsCount: s.counts.notifications - s.counts.events, EventNotificationsCount: s.counts.events,
		NotificationsCount:      s.counts.notifications,
		LatePublishRequestCount: s.counts.late, CurrentKeepAliveCount: s.state.KeepAliveCounter,
		CurrentLifetimeCount: s.state.LifetimeCounter, UnacknowledgedMessageCount: uint32(len(s.kept)),
		DiscardedMessageCount: s.counts.discarded, MonitoredItemCount: uint32(len(s.items)),
		NextSequenceNumber: s.state.SeqNum,
	}
	if s.orphan {
		d.SessionID = ua.NodeID{}
	}
	for _, it := range s.items {
		if it.mode == ua.MonitoringModeDisabled {
			d.DisabledMonitoredItemCount++
		}
		it.mu.Lock()
		if it.extra != nil {
			d.MonitoringQueueOverflowCount += it.extra.overflow
		}
		it.mu.Unlock()
	}
	return d
}

// counts are the counters of SubscriptionDiagnosticsDataType (Part 5, 12.15).
type counts struct {
	modify, enable, disable                 uint32
	republish, republished                  uint32
	transfer, transferredToSame             uint32
	events                                  uint32 // of notifications
	publish, notifications, late, discarded uint32
}

// Interval returns the publishing interval.
func (s *Subscription) Interval() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.interval
}
