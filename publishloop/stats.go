package publishloop

import (
	"slices"
	"sync/atomic"

	"github.com/uahive/uahive/actors"
)

// counters are incremented where things happen and read by Stats.
type counters struct {
	created, expired atomic.Uint64
	publishRequests  atomic.Uint64
	tooManyPublish   atomic.Uint64
	droppedPublish   atomic.Uint64
	notifications    atomic.Uint64
	reported         atomic.Uint64
	eventsDropped    atomic.Uint64
	overflows        atomic.Uint64
	skippedSamples   atomic.Uint64
	discarded        atomic.Uint64
	answered         atomic.Uint64
	refused          actors.Tally // Publish requests, by status
}

// Stats is a snapshot of a manager's counters. Those that end in a past
// participle count since the start, the others say what is there now.
type Stats struct {
	Subscriptions  int // those without a session included
	Orphans        int // subscriptions whose session is gone
	MonitoredItems int
	KeptBytes      int // of messages that were not acknowledged
	QueueBytes     int // of values in queues, those of small ones left out

	SubscriptionsCreated uint64
	SubscriptionsExpired uint64 // for want of a sign of their client
	PublishReceived      uint64
	PublishRefused       uint64 // as the oldest of too many
	PublishDropped       uint64 // with their channel
	NotificationsSent    uint64
	EventsReported       uint64 // while anybody listened
	EventsDropped        uint64 // because too many waited to be distributed
	ValuesLost           uint64 // and events, in full queues of more than one entry
	SamplesSkipped       uint64 // because the worker pool had no room
	MessagesDiscarded    uint64 // that were not acknowledged, to make room for newer ones
	PublishingIntervals  int    // different ones that subscriptions have now
}

// Stats returns the counters of this moment.
func (m *Manager) Stats() Stats {
	return Stats{
		Subscriptions:  int(m.subscriptions.Load()),
		Orphans:        int(m.orphans.Load()),
		MonitoredItems: int(m.items.Load()),
		KeptBytes:      int(m.keptBytes.Load()),
		QueueBytes:     int(m.queueBytes.Load()),

		SubscriptionsCreated: m.stats.created.Load(),
		SubscriptionsExpired: m.stats.expired.Load(),
		PublishReceived:      m.stats.publishRequests.Load(),
		PublishRefused:       m.stats.tooManyPublish.Load(),
		PublishDropped:       m.stats.droppedPublish.Load(),
		NotificationsSent:    m.stats.notifications.Load(),
		EventsReported:       m.stats.reported.Load(),
		EventsDropped:        m.stats.eventsDropped.Load(),
		ValuesLost:           m.stats.overflows.Load(),
		SamplesSkipped:       m.stats.skippedSamples.Load(),
		MessagesDiscarded:    m.stats.discarded.Load(),
		PublishingIntervals:  m.beats.intervals(),
	}
}

// intervals returns the number of different publishing intervals.
func (bs *beats) intervals() int {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	return len(bs.byInterval)
}

// PublishResults returns how many Publish requests were answered with a response,
// how many with which fault, and how many with faults that the counters do not
// tell apart.
func (m *Manager) PublishResults() (answered uint64, faults []actors.Count, other uint64) {
	faults, other = m.stats.refused.Counts()
	return m.stats.answered.Load(), faults, other
}

// PublishTotals returns how many Publish requests were answered with a response,
// and how many with a fault.
func (m *Manager) PublishTotals() (answered, refused uint64) {
	return m.stats.answered.Load(), m.stats.refused.Total()
}

// List returns the subscriptions of a session.
func (q *Queue) List() []*Subscription {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.subs)
}

// MonitoredItems returns the number of monitored items of the subscription.
func (s *Subscription) MonitoredItems() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}
