package channelactor

import (
	"net"
	"sync"
	"sync/atomic"
	"unique"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// Channel is one connection and the secure channel on it. Its reader goroutine
// owns the receive state. Its actor goroutine sends what cannot leave at once, and
// exists only while there is something of the kind.
// A channel ends when its reader ends; everything else follows from that.
//
// Ten thousand of them are idle at once: what only few ever need is made when they
// do.
type Channel struct {
	// Immutable.
	server *Server
	sock   socket
	remote string // address of the peer, for logs and limits

	// Set by the reader before the first request, immutable afterwards.
	policy      *uasc.Policy
	peer        *pki.Parsed      // nil under SecurityPolicy None
	own         *pki.Certificate // ours, as the peer knows it
	layout      *uasc.Layout
	limits      uasc.Limits           // as negotiated with this peer
	endpointURL unique.Handle[string] // what the client used to reach the server
	id          uint32
	mode        uint8 // a ua.MessageSecurityMode, in a byte for the size of a Channel

	// Owned by the reader.
	stage stage
	alone bool // no actor could be started at the end; set while closing
	// renewed says that a newer token follows the one in use. Both are written under
	// the lock of deadlines.
	renewed bool
	opener  *uasc.Opener
	inUse   *uasc.Token // with which answers are sealed
	answer  int32       // size of the answers that were sent last, see Batch.reserve

	// Guarded by send, the owner word of the send state. Whoever holds it
	// seals and writes; the socket's out fields belong to it too. It is held
	// across a write, and by nobody but the reader and the actor across a write
	// that can block.
	sendMu  sync.Mutex
	written int32 // bytes of unsent
	sealer  uasc.Sealer
	unsent  *codec.Buffer // sealed, and only partly written
	sending *large        // partly sent; never together with unsent

	// Shared.
	inFlight atomic.Int32 // requests that wait for the worker pool
	sessions atomic.Int32 // activated sessions that use the channel
	opened   atomic.Bool
	closing  sync.Once
	queued   atomic.Int64 // memory of what waits for the peer to read
	nudge    nudge        // when inFlight or queued has become less
	outbox   outbox
	done     ending
	reason   atomic.Pointer[CloseReason]
	// lastWrite is the moment, on the server's clock, until which a channel that
	// ends may write.
	lastWrite atomic.Int64
	place     place // in the admission list, guarded by the admission lock

	deadlines deadlines // guarded by its own lock
	// Local belongs to the service: what it wants to find again on each
	// request of this channel without a lookup. Set on the reader's goroutine.
	Local any
}

// ID returns the SecureChannelId, random and never 0.
func (c *Channel) ID() uint32 { return c.id }

// Policy returns the security policy of the channel.
func (c *Channel) Policy() *uasc.Policy { return c.policy }

// Mode returns the message security mode of the channel.
func (c *Channel) Mode() ua.MessageSecurityMode { return ua.MessageSecurityMode(c.mode) }

// PeerCertificate returns the client's certificate, nil under SecurityPolicy None.
func (c *Channel) PeerCertificate() *pki.Parsed { return c.peer }

// OwnCertificate returns the server's certificate with which the channel was opened.
// It stays, when the server has another one by now.
func (c *Channel) OwnCertificate() *pki.Certificate { return c.own }

// EndpointURL returns the address that the client used in its Hello message.
func (c *Channel) EndpointURL() string {
	if c.endpointURL == (unique.Handle[string]{}) {
		return ""
	}
	return c.endpointURL.Value()
}

// RemoteAddr returns the network address of the peer.
func (c *Channel) RemoteAddr() net.Addr { return c.sock.conn.RemoteAddr() }

// PeerHash stands for the host of the peer, whatever its port: work for strangers
// takes turns by it.
func (c *Channel) PeerHash() uint64 { return actors.HashString(c.place.peer) }

// PeerHost returns the host of the peer without its port, for logs and limits.
func (c *Channel) PeerHost() string { return c.place.peer }

// LocalAddr returns the network address on which the peer was accepted.
func (c *Channel) LocalAddr() net.Addr { return c.sock.conn.LocalAddr() }

// Done is closed when the channel ends.
func (c *Channel) Done() <-chan struct{} { return c.done.wait() }

// MaxResponse returns the size in bytes above which a response is refused: by our
// own limits, or by what the peer said in Hello that it takes.
func (c *Channel) MaxResponse() int { return c.layout.MaxMessage() }

// Acquire says that an activated session uses the channel, so that neither the
// idle time-out nor admission ends it.
func (c *Channel) Acquire() {
	if c.sessions.Add(1) == 1 {
		c.server.admission.busy(c)
		c.setDeadline()
	}
}

// Release takes back one Acquire.
func (c *Channel) Release() {
	if c.sessions.Add(-1) == 0 {
		c.idleFromNow()
		c.server.admission.idle(c)
		c.setDeadline()
	}
}

// Respond sends an answer that was not ready when its request was served. It
// may be called from any goroutine and never blocks. When the answer is larger
// than the peer takes, the error is BadResponseTooLarge and nothing is sent;
// when the channel has ended, the error is BadSecureChannelClosed.
func (c *Channel) Respond(requestID uint32, m Appender) error {
	return c.RespondWithin(requestID, m, 0)
}

// RespondWithin is Respond for a message whose body may have no more than so
// many bytes, because the session that asked takes less than its channel does;
// 0 sets no limit.
func (c *Channel) RespondWithin(requestID uint32, m Appender, most int) error {
	if c.ended() {
		return ua.BadSecureChannelClosed
	}
	buf := codec.GetBuffer(narrowSize)
	dst, mark := c.layout.Begin(buf.B[:0])
	start := len(dst)
	dst = m.AppendTo(dst)
	var err error
	if most > 0 && len(dst)-start > most {
		err = ua.BadResponseTooLarge
	} else {
		dst, err = c.layout.End(dst, mark, uasc.TypeMessage, requestID)
	}
	buf.B = dst
	if err != nil {
		buf.Release()
		return err
	}
	c.send(buf)
	return nil
}

// Hold takes one of the channel's credits for a request that waits for the
// worker pool; the reader stops reading when there is none left.
func (c *Channel) Hold() { c.inFlight.Add(1) }

// Unhold gives a credit back.
func (c *Channel) Unhold() {
	if int(c.inFlight.Add(-1)) < c.server.limits.InFlight {
		c.nudge.signal()
	}
}
