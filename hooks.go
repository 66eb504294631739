package uahive

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/publishloop"
	"github.com/uahive/uahive/sessionactor"
)

// Hooks are functions of the program that are told what becomes of connections,
// sessions and subscriptions. Those that are nil are left out.
//
// One goroutine of their own calls them, one after the other, in the order of the
// events, with no lock held; the server does not wait for it. So a hook may call the
// server, and must not block: the events behind it wait, and when 65,536 of them do,
// further ones are dropped and counted in [Stats].HooksDropped. A hook that panics
// costs a line in the log. [Server.Close] returns after the last event was told.
//
// Of one channel, session or subscription, its beginning comes before its end. A
// session that ends while it is being activated may be told of in either order.
type Hooks struct {
	// ChannelOpened: a secure channel serves requests.
	ChannelOpened func(ChannelEvent)
	// ChannelClosed: a channel of which ChannelOpened told is gone.
	ChannelClosed func(ChannelEvent)
	// ConnectionRejected: the server did not let a connection in, or ended it before
	// its channel was open. Strangers can cause any number of these.
	ConnectionRejected func(ChannelEvent)

	// SessionCreated: a client has made a session, which has no user yet.
	SessionCreated func(SessionEvent)
	// SessionActivated: a session has a user, another user, or another channel.
	SessionActivated func(SessionEvent)
	// SessionClosed: a session is gone.
	SessionClosed func(SessionEvent)

	// SubscriptionCreated: a session has made a subscription.
	SubscriptionCreated func(SubscriptionEvent)
	// SubscriptionDeleted: a subscription is gone.
	SubscriptionDeleted func(SubscriptionEvent)
}

// ChannelEvent is what happened to a connection.
type ChannelEvent struct {
	// ID is the SecureChannelId; 0 for a connection that did not come so far.
	ID uint32
	// RemoteAddr is the address of the peer with its port.
	RemoteAddr string
	// Security is the pair of policy and mode, as "Basic256Sha256/SignAndEncrypt";
	// empty for a connection that did not come so far.
	Security string
	// Reason says in words why the channel ended or was rejected, such as "channel
	// limit"; empty while it lives.
	Reason string
	// Status is what was wrong as exactly as the server knows it; peers are told
	// less. Good where Reason says all.
	Status ua.StatusCode
}

// SessionEvent is what happened to a session.
type SessionEvent struct {
	// Caller says whose session it is. Its User is anonymous before the activation.
	Caller
	// ChannelID and RemoteAddr name the channel that the session has, or had last,
	// and the address of its peer with the port.
	ChannelID  uint32
	RemoteAddr string
	// Cause says in words why the session ended, such as "timed out"; empty while it
	// lives.
	Cause string
}

// SubscriptionEvent is what happened to a subscription.
type SubscriptionEvent struct {
	ID uint32
	// SessionID is the session that has made it, or had it last.
	SessionID ua.NodeID
	// Interval is the publishing interval when it was created, and 0 at its end.
	Interval time.Duration
	// Status is Good, or BadTimeout for a subscription whose lifetime ended.
	Status ua.StatusCode
}

// heraldLimit is how many events wait for the hooks at most. It stops hooks that
// block from taking memory without end.
const heraldLimit = 65_536

// herald calls the hooks. Its goroutine begins with start, when there is a hook at
// all, and ends with close.
type herald struct {
	// Immutable after start.
	hooks Hooks
	log   zerolog.Logger
	box   *actors.Mailbox[func()]
	stop  chan struct{}
	group actors.Group

	waiting atomic.Int64
	dropped atomic.Uint64
}

func (h *herald) start(hooks Hooks, log zerolog.Logger) {
	h.hooks, h.log = hooks, log
	if !hooks.any() {
		return
	}
	h.box, h.stop = actors.NewMailbox[func()](0), make(chan struct{})
	h.group.Go("hooks", h.run)
}

func (h *Hooks) any() bool {
	return h.ChannelOpened != nil || h.ChannelClosed != nil || h.ConnectionRejected != nil ||
		h.SessionCreated != nil || h.SessionActivated != nil || h.SessionClosed != nil ||
		h.SubscriptionCreated != nil || h.SubscriptionDeleted != nil
}

func (h *herald) run() {
	for {
		select {
		case <-h.box.Wait():
			h.tell()
		case <-h.stop:
			h.box.Close()
			h.tell()
			return
		}
	}
}

func (h *herald) tell() {
	for _, call := range h.box.Drain(nil) {
		h.guard(call)
		h.waiting.Add(-1)
	}
}

func (h *herald) guard(call func()) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error().Str("callback", "hook").Interface("panic", p).Bytes("stack", debug.Stack()).Msg("panic in user code")
		}
	}()
	call()
}

func (h *herald) post(call func()) {
	if h.waiting.Add(1) > heraldLimit || !h.box.Post(call) {
		h.waiting.Add(-1)
		h.dropped.Add(1)
	}
}

// close has the last events told and waits for that.
func (h *herald) close(ctx context.Context) error {
	if h.stop == nil {
		return nil
	}
	close(h.stop)
	return h.group.Wait(ctx)
}

// telling returns what posts an event for a hook, nil where there is no hook.
func telling[E any](h *herald, hook func(E)) func(E) {
	if hook == nil {
		return nil
	}
	return func(e E) { h.post(func() { hook(e) }) }
}

func (h *herald) ofChannels() (hooks channelactor.Hooks) {
	if tell := telling(h, h.hooks.ChannelOpened); tell != nil {
		hooks.Opened = func(c *channelactor.Channel) { tell(channelEvent(c, nil)) }
	}
	if tell := telling(h, h.hooks.ChannelClosed); tell != nil {
		hooks.Closed = func(c *channelactor.Channel, reason channelactor.CloseReason) { tell(channelEvent(c, &reason)) }
	}
	if tell := telling(h, h.hooks.ConnectionRejected); tell != nil {
		hooks.Rejected = func(c *channelactor.Channel, reason channelactor.CloseReason) { tell(channelEvent(c, &reason)) }
	}
	return hooks
}

func channelEvent(c *channelactor.Channel, reason *channelactor.CloseReason) ChannelEvent {
	e := ChannelEvent{ID: c.ID(), RemoteAddr: c.RemoteAddr().String()}
	if policy := c.Policy(); policy != nil {
		e.Security = Security{policy, uasc.Mode(c.Mode())}.String()
	}
	if reason != nil {
		e.Reason, e.Status = string(reason.Code), reason.Detail()
	}
	return e
}

func (h *herald) ofSessions() (hooks sessionactor.Hooks) {
	event := func(c *Caller, channel *channelactor.Channel, cause string) SessionEvent {
		return SessionEvent{Caller: *c, ChannelID: channel.ID(), RemoteAddr: channel.RemoteAddr().String(), Cause: cause}
	}
	if tell := telling(h, h.hooks.SessionCreated); tell != nil {
		hooks.Created = func(c *Caller, channel *channelactor.Channel) { tell(event(c, channel, "")) }
	}
	if tell := telling(h, h.hooks.SessionActivated); tell != nil {
		hooks.Activated = func(c *Caller, channel *channelactor.Channel) { tell(event(c, channel, "")) }
	}
	if tell := telling(h, h.hooks.SessionClosed); tell != nil {
		hooks.Closed = func(c *Caller, channel *channelactor.Channel, cause string) { tell(event(c, channel, cause)) }
	}
	return hooks
}

func (h *herald) ofSubscriptions() (hooks publishloop.Hooks) {
	if tell := telling(h, h.hooks.SubscriptionCreated); tell != nil {
		hooks.Created = func(id uint32, session ua.NodeID, interval time.Duration) {
			tell(SubscriptionEvent{ID: id, SessionID: session, Interval: interval})
		}
	}
	if tell := telling(h, h.hooks.SubscriptionDeleted); tell != nil {
		hooks.Deleted = func(id uint32, session ua.NodeID, status ua.StatusCode) {
			tell(SubscriptionEvent{ID: id, SessionID: session, Status: status})
		}
	}
	return hooks
}
