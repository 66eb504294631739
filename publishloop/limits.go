package publishloop

import (
	"math"
	"time"

	"github.com/uahive/uahive/events"
)

// Limits bound what clients may make the server keep. A field that is zero has
// the default that its comment states; the zero value is a working set.
type Limits struct {
	// Subscriptions of the whole server, those without a session included, so
	// that a flood of sessions cannot fill the memory. Default 30,000.
	Subscriptions int
	// SubscriptionsPerSession stops one session from taking them all. Default 100.
	SubscriptionsPerSession int
	// Orphans is the number of subscriptions that may wait for a transfer after
	// their session has ended, so that sessions that are closed without their
	// subscriptions do not use up the server's. One more is deleted with its
	// session. Default 1,000.
	Orphans int
	// MonitoredItems of the whole server. Default 1,000,000.
	MonitoredItems int
	// MonitoredItemsPerSubscription. Default MonitoredItems.
	MonitoredItemsPerSubscription int
	// QueueSize is the largest queue of one monitored item. Default 10,000.
	QueueSize int
	// EventQueueSize is the queue of a monitored item for events whose client leaves
	// the size to the server (Part 4, 7.21). Default 1,000.
	EventQueueSize int
	// EventFilter bounds the filters of such items.
	EventFilter events.Limits
	// QueueEntries bounds the sum of all queues larger than one entry; a client
	// that asks for large queues on many items gets smaller ones when it is used
	// up. Default 10,000,000.
	QueueEntries int
	// QueueBytes bounds what the values in the queue of one monitored item hold,
	// roughly, so that large arrays in deep queues do not fill the memory.
	// Default 64 MiB.
	QueueBytes int
	// QueueBytesTotal bounds the same over all items, with the filters for events.
	// When it is used up, queues keep two large values each or one large event, and
	// there are no more filters. Default 512 MiB.
	QueueBytesTotal int
	// Events that wait to be handed to those who listen; more are dropped, and all
	// who listen are told. It stops whoever causes events faster than they can be
	// distributed, such as a client with denied requests. Default 10,000.
	Events int
	// EventBytes bounds the same in memory, roughly. Default 64 MiB.
	EventBytes int
	// TriggeringLinks of one item. Default 1,000.
	TriggeringLinks int
	// PublishRequests is the smallest number of Publish requests that a session
	// may have waiting; it is raised to twice the number of its subscriptions.
	// Beyond it the oldest is refused (Part 4, 5.14.5.1). Default 20.
	PublishRequests int
	// Acknowledgements in one Publish request; more are BadTooManyOperations.
	// Default 10,000.
	Acknowledgements int
	// StatusChanges that wait for a session's next Publish requests. Default 200.
	StatusChanges int
	// RetransmissionBytes bounds the memory of the messages that one subscription
	// keeps for a client that does not acknowledge; their number is bounded by
	// twice the session's Publish requests (Part 4, 5.14.1.1). Default 4 MiB.
	RetransmissionBytes int
	// RetransmissionTotal bounds the same over all subscriptions. When it is used
	// up, a subscription keeps only its newest message. Default 256 MiB.
	RetransmissionTotal int
	// MessageBytes is the size at which a NotificationMessage is ended and the
	// rest announced as more, so that a burst of large values does not build one
	// huge response. Default 1 MiB.
	MessageBytes int
	// MessageNotifications is the same in notifications. Default 20,000.
	MessageNotifications int

	// MinPublishingInterval stops a client from driving the server with
	// publishing cycles. Default 10 ms.
	MinPublishingInterval time.Duration
	// MaxPublishingInterval. Default 15 minutes.
	MaxPublishingInterval time.Duration
	// MaxLifetime is how long a subscription is kept without a sign of its
	// client, so that abandoned ones end. Default 1 hour.
	MaxLifetime time.Duration
	// MinSamplingInterval is the fastest rate at which a source that has to be
	// asked is asked; changes of values in memory need no asking. Default 50 ms.
	MinSamplingInterval time.Duration
	// MaxSamplingInterval. Default 1 hour.
	MaxSamplingInterval time.Duration
	// SampleTimeout ends the context of one call to a source. Default 10 s.
	SampleTimeout time.Duration
}

// withDefaults returns the limits with every zero replaced.
func (l Limits) withDefaults() Limits {
	number := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	duration := func(p *time.Duration, v time.Duration) {
		if *p <= 0 {
			*p = v
		}
	}
	number(&l.Subscriptions, 30_000)
	number(&l.SubscriptionsPerSession, 100)
	number(&l.Orphans, 1_000)
	number(&l.MonitoredItems, 1_000_000)
	number(&l.MonitoredItemsPerSubscription, l.MonitoredItems)
	number(&l.QueueSize, 10_000)
	number(&l.EventQueueSize, min(1_000, l.QueueSize))
	l.EventFilter = l.EventFilter.WithDefaults()
	number(&l.QueueEntries, 10_000_000)
	number(&l.QueueBytes, 64<<20)
	number(&l.QueueBytesTotal, 512<<20)
	number(&l.Events, 10_000)
	number(&l.EventBytes, 64<<20)
	number(&l.TriggeringLinks, 1_000)
	number(&l.PublishRequests, 20)
	number(&l.Acknowledgements, 10_000)
	number(&l.StatusChanges, 200)
	number(&l.RetransmissionBytes, 4<<20)
	number(&l.RetransmissionTotal, 256<<20)
	number(&l.MessageBytes, 1<<20)
	number(&l.MessageNotifications, 20_000)
	duration(&l.MinPublishingInterval, 10*time.Millisecond)
	duration(&l.MaxPublishingInterval, 15*time.Minute)
	duration(&l.MaxLifetime, time.Hour)
	duration(&l.MinSamplingInterval, 50*time.Millisecond)
	duration(&l.MaxSamplingInterval, time.Hour)
	duration(&l.SampleTimeout, 10*time.Second)
	l.MaxPublishingInterval = max(l.MaxPublishingInterval, l.MinPublishingInterval)
	l.MaxSamplingInterval = max(l.MaxSamplingInterval, l.MinSamplingInterval)
	return l
}

// between turns a Duration of the protocol, milliseconds in a Double, into one
// of Go that lies within the bounds. NaN, and what is not above low, is low: for
// a publishing interval the standard demands that of 0 and below (Part 4, 5.14.2.2).
func between(ms float64, low, high time.Duration) time.Duration {
	if !(ms > millis(low)) {
		return low
	}
	if ms >= millis(high) {
		return high
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// millis returns a duration as the protocol writes it.
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// publishing revises the interval and the counts of a subscription (Part 4,
// 5.14.2.2): the lifetime is at least three times the keep-alive, and both
// together do not exceed MaxLifetime.
func (l *Limits) publishing(interval float64, lifetime, keepAlive uint32) (time.Duration, uint32, uint32) {
	every := between(interval, l.MinPublishingInterval, l.MaxPublishingInterval)
	most := uint32(min(max(l.MaxLifetime/every, 3), math.MaxUint32))
	keepAlive = min(max(keepAlive, 1), most/3)
	lifetime = min(max(lifetime, 3*keepAlive), most)
	return every, lifetime, keepAlive
}

// sampling revises a sampling interval (Part 4, 7.21). Negative means the
// publishing interval; low is the fastest rate of what is sampled, and 0 where
// changes are reported by exception.
func (l *Limits) sampling(requested float64, publishing, low time.Duration) time.Duration {
	if requested < 0 {
		return min(max(publishing, low), l.MaxSamplingInterval)
	}
	return between(requested, low, max(low, l.MaxSamplingInterval))
}

// Limits returns the limits in force.
func (m *Manager) Limits() Limits { return m.limits }
