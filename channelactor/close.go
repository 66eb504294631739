package channelactor

import (
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// reasonCode is why a channel ended, in words for logs.
type reasonCode string

const (
	reasonPeer      reasonCode = "closed by peer"
	reasonClosed    reasonCode = "CloseSecureChannel"
	reasonProtocol  reasonCode = "protocol error"
	reasonSecurity  reasonCode = "security check failed"
	reasonBusy      reasonCode = "server too busy"
	reasonTimeout   reasonCode = "deadline missed"
	reasonToken     reasonCode = "security token expired"
	reasonWrite     reasonCode = "peer does not read"
	reasonEvicted   reasonCode = "made room for another channel"
	reasonShutdown  reasonCode = "server shuts down"
	reasonRequested reasonCode = "closed by service"
)

// CloseReason says why a channel ended.
type CloseReason struct {
	// Code is the reason in words.
	Code reasonCode
	// Status, if not Good, is sent to the peer in an Error message (Part 6, 7.1.2.5).
	Status ua.StatusCode
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

// close asks reader and actor to end. The first reason counts. It never blocks.
func (c *Channel) close(reason CloseReason) {
	c.closing.Do(func() {
		c.reason.Store(&reason)
		now := time.Now()
		c.sock.conn.SetReadDeadline(now.Add(-time.Second))
		c.sock.conn.SetWriteDeadline(now.Add(linger))
		c.server.count(reason.Code)
		close(c.done)
	})
}

// ended reports whether the channel is to end.
func (c *Channel) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// writeTimeout is how long the peer may leave a write waiting: little once the
// channel ends.
func (c *Channel) writeTimeout() time.Duration {
	if c.ended() {
		return linger
	}
	return c.server.limits.WriteTimeout
}

// sayError sends the Error message of the reason, as the last thing the peer gets.
func (c *Channel) sayError() {
	reason := c.reason.Load()
	if reason == nil || reason.Status == ua.Good {
		return
	}
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	if c.unsent == nil {
		_ = c.sock.write((&uasc.ErrorMessage{Code: reason.Status}).AppendTo(nil), linger)
	}
}

func (s *Server) count(code reasonCode) {
	switch code {
	case reasonSecurity:
		s.stats.refusedSecurity.Add(1)
	case reasonProtocol:
		s.stats.protocolErrors.Add(1)
	case reasonTimeout, reasonToken:
		s.stats.timedOut.Add(1)
	case reasonWrite:
		s.stats.slowClosed.Add(1)
	case reasonBusy:
		s.stats.refusedBusy.Add(1)
	}
}

func (c *Channel) logEnd() {
	reason := c.reason.Load()
	level := zerolog.DebugLevel
	if reason.Code == reasonSecurity {
		level = zerolog.WarnLevel
	}
	event := c.server.log.WithLevel(level)
	if c.server.log.GetLevel() > level {
		return
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
