package channelactor

import (
	"errors"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// reasonCode is why a channel ended, in words for logs.
type reasonCode string

const (
	reasonPeer      reasonCode = "closed by peer"
	reasonClosed    reasonCode = "CloseSecureChannel"
	reasonProtocol  reasonCode = "protocol error"
	reasonSecurity  reasonCode = "security check failed"
	reasonLimit     reasonCode = "channel limit"
	reasonPeerLimit reasonCode = "channel limit of the peer"
	reasonBusy      reasonCode = "handshake lane full"
	reasonMemory    reasonCode = "no memory for unfinished messages"
	reasonTimeout   reasonCode = "deadline missed"
	reasonToken     reasonCode = "security token expired"
	reasonWrite     reasonCode = "peer does not read"
	reasonEvicted   reasonCode = "made room for another channel"
	reasonShutdown  reasonCode = "server shuts down"
	reasonRequested reasonCode = "closed by service"
	reasonPanic     reasonCode = "panic"
	reasonTrust     reasonCode = "certificate no longer accepted"
	reasonRenewed   reasonCode = "server has another certificate"
)

// CloseReason says why a channel ended.
type CloseReason struct {
	// Code is the reason in words.
	Code reasonCode
	// Status, if not Good, is sent to the peer in an Error message (Part 6, 7.1.2.5).
	Status ua.StatusCode
	// RetryAfter, if not 0, goes to the peer with Status: when to come back.
	RetryAfter time.Duration
	// Err is for the log only; nothing of it goes to the peer.
	Err error
}

// linger is how long a channel that ends may take to send its last bytes.
const linger = 500 * time.Millisecond

// Close ends the channel; what was sent before still leaves. The status code,
// if not Good, goes to the peer in an Error message.
func (c *Channel) Close(code ua.StatusCode) {
	c.close(CloseReason{Code: reasonRequested, Status: code})
}

// close asks the reader to end, and has the actor send what is left. The first
// reason counts. It never blocks.
func (c *Channel) close(reason CloseReason) {
	c.closing.Do(func() {
		c.reason.Store(&reason)
		c.server.count(c.opened.Load(), &reason)
		now := time.Now()
		c.lastWrite.Store(int64(c.server.since() + linger))
		// Deadlines are set by others too, who look at done afterwards: closed
		// first, none of them stays.
		c.done.begin()
		c.sock.conn.SetReadDeadline(now.Add(-time.Second))
		c.sock.conn.SetWriteDeadline(now.Add(linger))
		if c.outbox.wake() && !c.server.config.Group.Go("channel", c.act) {
			c.outbox.missed()
			c.alone = true
		}
	})
}

// ended reports whether the channel is to end.
func (c *Channel) ended() bool { return c.done.begun.Load() }

// write blocks until b is written, or the peer has left it waiting for the write
// time-out. The send state is held.
func (c *Channel) write(b []byte) error {
	if err := c.limitWrite(time.Now().Add(c.server.limits.WriteTimeout)); err != nil {
		return err
	}
	if _, err := c.sock.conn.Write(b); err != nil {
		return err
	}
	return c.limitWrite(time.Time{}) // writes that do not block know no time
}

// limitWrite sets the deadline of writes. Once the channel ends, what counts is
// the time for all its last bytes together.
func (c *Channel) limitWrite(t time.Time) error {
	err := c.sock.conn.SetWriteDeadline(t)
	if c.ended() {
		err = c.sock.conn.SetWriteDeadline(c.server.start.Add(time.Duration(c.lastWrite.Load())))
	}
	return err
}

// sayError sends the Error message of the reason, as the last thing the peer gets. It reports whether it
// has left.
func (c *Channel) sayError() bool {
	reason := c.reason.Load()
	if reason == nil || reason.Status == ua.Good {
		return false
	}
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	if c.unsent != nil || c.sending != nil {
		return false
	}
	return c.write((&uasc.ErrorMessage{Code: reason.Status, Reason: RetryHint(reason.RetryAfter)}).AppendTo(nil)) == nil
}

func (c *Channel) logEnd() {
	reason := c.reason.Load()
	event := c.server.log.Debug()
	var certificate *pki.Error // has its own line in the log
	refusal := reason.Code == reasonSecurity || !c.opened.Load() && reason.rejects()
	if refusal && !errors.As(reason.Err, &certificate) {
		event = c.server.refusals.Line(c.place.peer)
	}
	event.Str("peer", c.remote).Uint32("channel", c.id).Str("reason", string(reason.Code))
	if reason.Status != ua.Good {
		event.Stringer("status", reason.Status)
	}
	if reason.Err != nil {
		event.AnErr("error", reason.Err)
	}
	event.Msg("channel ended")
}
