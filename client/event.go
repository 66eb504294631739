package client

import (
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// EventKind says what happened to a connection.
type EventKind uint8

const (
	// Connected comes once, when Connect succeeds.
	Connected EventKind = iota + 1
	// Disconnected says that the connection broke; Err is the reason.
	Disconnected
	// AttemptFailed says that an attempt to reconnect failed with Err and that
	// the next one starts after Wait.
	AttemptFailed
	// Resumed says that a new channel carries the same session.
	Resumed
	// Replaced says that the old session is gone and a new one took its place.
	// What the server kept for the session alone, such as registered nodes, is
	// lost.
	Replaced
	// SubscriptionRestored says that Subscription was created again on the
	// server, with all its items. Changes between its end and now are lost.
	SubscriptionRestored
	// SubscriptionFailed says that Subscription could not be created again;
	// Err is the reason. It is tried again.
	SubscriptionFailed
	// ServerStateChanged carries a ServerState other than the one before.
	ServerStateChanged
	// Closed is the last event; Err is nil after Close.
	Closed
)

var eventNames = [...]string{
	Connected:            "connected",
	Disconnected:         "disconnected",
	AttemptFailed:        "attempt failed",
	Resumed:              "session resumed",
	Replaced:             "session replaced",
	SubscriptionRestored: "subscription restored",
	SubscriptionFailed:   "subscription failed",
	ServerStateChanged:   "server state changed",
	Closed:               "closed",
}

func (k EventKind) String() string {
	if int(k) < len(eventNames) && eventNames[k] != "" {
		return eventNames[k]
	}
	return "unknown"
}

// Event tells the owner of a client what happened to its connection.
type Event struct {
	Kind         EventKind
	Err          error          // the reason, where there is one
	Wait         time.Duration  // AttemptFailed
	Subscription *Subscription  // SubscriptionRestored, SubscriptionFailed
	ServerState  ua.ServerState // ServerStateChanged
}

// events hands events to the configured hook, in their order and one at a time.
type events struct {
	// Guarded by the client's mu.
	pending  []Event
	emitting bool
}

// emit queues an event and, unless another goroutine is doing so, calls the
// hook for all that are queued.
func (c *Client) emit(e Event) {
	if c.cfg.OnEvent == nil {
		return
	}
	c.mu.Lock()
	c.pending = append(c.pending, e)
	if c.emitting {
		c.mu.Unlock()
		return
	}
	c.emitting = true
	for len(c.pending) > 0 {
		next := c.pending[0]
		c.pending = c.pending[1:]
		c.mu.Unlock()
		c.cfg.OnEvent(next)
		c.mu.Lock()
	}
	c.pending, c.emitting = nil, false
	c.mu.Unlock()
}
