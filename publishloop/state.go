package publishloop

// Phase is the state of a subscription in the state table of Part 4, 5.14.1.2.
type Phase uint8

// The states of the table. Creating does not appear: a subscription whose
// creation failed never becomes a State.
const (
	Closed    Phase = iota // deleted or expired
	Normal                 // a message was sent, or none was due, in the last cycle
	Late                   // something is due and no Publish request is there
	KeepAlive              // cycles without notifications are being counted
)

// String returns the name of the phase as the standard writes it.
func (p Phase) String() string {
	switch p {
	case Normal:
		return "NORMAL"
	case Late:
		return "LATE"
	case KeepAlive:
		return "KEEPALIVE"
	}
	return "CLOSED"
}

// State is all that the state table of Part 4, 5.14.1.2 knows of a subscription.
// It is plain data, and may be stored and loaded again.
type State struct {
	Phase Phase

	// Parameters, revised (Part 4, 5.14.2.2).
	PublishingEnabled         bool
	LifetimeCount             uint32
	MaxKeepAliveCount         uint32
	MaxNotificationsPerUpdate uint32 // 0 means no limit of the client's

	// State variables (Part 4, 5.14.1.3).
	MessageSent       bool   // something was sent since the subscription exists
	MoreNotifications bool   // the last message did not hold all that was available
	LifetimeCounter   uint32 // cycles left until an absent client's subscription ends
	KeepAliveCounter  uint32 // cycles left until a keep-alive message is due
	SeqNum            uint32 // the number that the next NotificationMessage gets
}

// Kind says what happened to a subscription.
type Kind uint8

// The events of the state table.
const (
	Tick              Kind = iota // the publishing timer expired
	PublishArrived                // a Publish request is there for a subscription that wants one
	Activity                      // the client named the subscription in any other service call
	Modified                      // ModifySubscription: Event carries the new parameters
	PublishingModeSet             // SetPublishingMode: Event carries Enabled
	Deleted                       // DeleteSubscriptions, or the end of a session with its subscriptions
)

// Event is one input of [Step].
type Event struct {
	Kind Kind
	// Available says that there are notifications to report, left over or new.
	Available bool
	// Ticket says that a Publish request was taken from the session's queue for
	// this event. It is set only where [State.Wants] said so.
	Ticket bool
	// Client says that the client gave a sign of life since the last tick: a
	// Publish request waits or came in.
	Client bool
	// Enabled belongs to PublishingModeSet.
	Enabled bool
	// Parameters of Modified.
	LifetimeCount, MaxKeepAliveCount, MaxNotifications uint32
}

// Action is a set of things that the driver of a subscription has to do.
type Action uint8

// The actions of Part 4, 5.14.1.4 that reach outside the state.
const (
	// ReturnNotifications answers the ticket with a NotificationMessage that
	// carries the number that [State.TakeSeqNum] gives.
	ReturnNotifications Action = 1 << iota
	// ReturnKeepAlive answers the ticket with a keep-alive message that carries
	// SeqNum, which is not used up.
	ReturnKeepAlive
	// AwaitTicket says that the subscription takes the next Publish request of
	// the session that arrives.
	AwaitTicket
	// IssueTimeout tells the client with a StatusChangeNotification that the
	// subscription has expired.
	IssueTimeout
	// Release ends the subscription and its monitored items.
	Release
)

// Create returns the state of a new subscription: NORMAL, nothing sent yet.
// InitializeSubscription of Part 4, 5.14.1.4.
func Create(enabled bool, lifetime, keepAlive, maxNotifications uint32) State {
	return State{
		Phase:                     Normal,
		PublishingEnabled:         enabled,
		LifetimeCount:             lifetime,
		MaxKeepAliveCount:         keepAlive,
		MaxNotificationsPerUpdate: maxNotifications,
		LifetimeCounter:           lifetime,
		KeepAliveCounter:          keepAlive,
		SeqNum:                    1,
	}
}

// Wants reports whether the event needs a Publish request to be answered. The
// driver then takes one from the session's queue, if there is one, and says so
// in the event that it gives to Step.
func (s *State) Wants(ev Event) bool {
	switch {
	case s.Phase == Closed:
		return false
	case ev.Kind == PublishArrived:
		return s.Awaits()
	case ev.Kind == Tick:
		return s.due(ev.Available)
	}
	return false
}

// Awaits reports whether the subscription takes a Publish request at once, cases
// a and b of Part 4, 5.14.1.2: it is late, or has more than the last message held.
func (s *State) Awaits() bool {
	return s.Phase == Late || s.MoreNotifications && s.PublishingEnabled && s.Phase != Closed
}

// due reports whether a publishing cycle has something to send.
func (s *State) due(available bool) bool {
	return s.Phase == Late || // since an earlier cycle
		!s.MessageSent || // the first cycle always sends, Part 4, 5.14.1.1
		s.PublishingEnabled && available ||
		s.KeepAliveCounter <= 1
}

// Step advances the state by one event and returns what is to be done, by the
// state table of Part 4, 5.14.1.2.
//
// In one place it follows the text around the table and not the table, which
// starts to count for a keep-alive one cycle late after every message: a
// keep-alive is due when the timer has expired MaxKeepAliveCount times without
// anything to send (Part 4, 5.14.2.2), whatever the message before was.
func Step(s *State, ev Event) Action {
	if s.Phase == Closed {
		return 0
	}
	switch ev.Kind {
	case Tick:
		return s.tick(ev)
	case PublishArrived:
		s.resetLifetime()
		if !ev.Ticket || !s.Awaits() {
			return 0
		}
		return s.send(ev.Available)
	case Activity:
		s.resetLifetime()
	case Modified:
		s.LifetimeCount, s.MaxKeepAliveCount = ev.LifetimeCount, ev.MaxKeepAliveCount
		s.MaxNotificationsPerUpdate = ev.MaxNotifications
		s.KeepAliveCounter = min(s.KeepAliveCounter, s.MaxKeepAliveCount)
		s.resetLifetime()
	case PublishingModeSet:
		s.PublishingEnabled = ev.Enabled
		s.MoreNotifications = false
		s.resetLifetime()
	case Deleted:
		s.Phase = Closed
		return Release
	}
	return 0
}

// tick is one expiry of the publishing timer.
func (s *State) tick(ev Event) Action {
	if ev.Client || ev.Ticket {
		s.resetLifetime()
	} else if s.LifetimeCounter <= 1 {
		s.Phase = Closed
		return IssueTimeout | Release
	} else {
		s.LifetimeCounter--
	}
	switch {
	case !s.due(ev.Available):
		s.Phase = KeepAlive
		s.KeepAliveCounter--
		return 0
	case ev.Ticket:
		return s.send(ev.Available)
	}
	s.Phase = Late
	return AwaitTicket
}

// send answers a ticket: with notifications when there are any, else with a
// keep-alive message.
func (s *State) send(available bool) Action {
	s.MessageSent = true
	s.KeepAliveCounter = s.MaxKeepAliveCount
	if s.PublishingEnabled && available {
		s.Phase = Normal
		return ReturnNotifications
	}
	s.Phase = KeepAlive
	s.MoreNotifications = false
	return ReturnKeepAlive
}

// resetLifetime is ResetLifetimeCounter of Part 4, 5.14.1.4.
func (s *State) resetLifetime() { s.LifetimeCounter = s.LifetimeCount }

// TakeSeqNum returns the number for a NotificationMessage that carries
// notifications and moves on. After 4,294,967,295 comes 1 (Part 4, 7.8).
func (s *State) TakeSeqNum() uint32 {
	n := s.SeqNum
	s.SeqNum++
	if s.SeqNum == 0 {
		s.SeqNum = 1
	}
	return n
}
