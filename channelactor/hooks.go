package channelactor

import (
	"errors"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

// Hooks are told what becomes of connections. They are called with no lock held,
// on goroutines that serve peers: they must neither block nor go deep. Fields that
// are nil are left out.
type Hooks struct {
	// Opened is called on the reader's goroutine once a channel serves requests.
	Opened func(c *Channel)
	// Closed is called on the reader's goroutine, as the last thing, for each
	// channel for which Opened was called.
	Closed func(c *Channel, reason CloseReason)
	// Rejected is called for each connection that was not let in, or had to go
	// before its channel was open: on the listener's or the reader's goroutine.
	Rejected func(c *Channel, reason CloseReason)
}

func (h *Hooks) opened(c *Channel) {
	if h.Opened != nil {
		h.Opened(c)
	}
}

// ended tells of the end of a channel, or of a connection that became none.
func (h *Hooks) ended(c *Channel) {
	reason := *c.reason.Load()
	switch {
	case c.opened.Load():
		if h.Closed != nil {
			h.Closed(c, reason)
		}
	case h.Rejected != nil && reason.rejects():
		h.Rejected(c, reason)
	}
}

// rejects reports whether the server ended the connection, and not its peer, nor
// the end of the server.
func (r *CloseReason) rejects() bool {
	switch r.Code {
	case reasonPeer, reasonClosed, reasonShutdown:
		return false
	}
	return true
}

// Detail returns what was wrong, as exactly as the server knows it: peers are told
// less. It is Good where Code says all.
func (r *CloseReason) Detail() ua.StatusCode {
	var certificate *pki.Error
	if errors.As(r.Err, &certificate) {
		return certificate.Detail
	}
	return r.Status
}
