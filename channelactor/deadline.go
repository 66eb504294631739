package channelactor

import (
	"sync"
	"time"

	"github.com/uahive/uahive/codec/uasc"
)

// deadlines are the moments until which a connection must have come further.
// They are absolute, so that a peer which sends one byte now and then gains
// nothing, and count on the server's monotonic clock.
type deadlines struct {
	mu        sync.Mutex
	stage     time.Duration // end of the Hello or OpenSecureChannel stage; 0 once live
	idleSince time.Duration // when the channel last lost its last session, or came
	token     time.Duration // when the newest token ends, its tolerance included
}

// setDeadline arms the read deadline for what the channel has to reach next.
// Sessions call it, through Acquire and Release, from their own goroutines.
func (c *Channel) setDeadline() {
	d := &c.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.ended() {
		return
	}
	c.sock.conn.SetReadDeadline(c.server.start.Add(c.nextDeadlineLocked()))
	if c.ended() {
		// It ended since the look above: the deadline that was just set would
		// keep the reader from seeing that.
		c.sock.conn.SetReadDeadline(time.Now().Add(-time.Second))
	}
}

func (c *Channel) nextDeadlineLocked() time.Duration {
	if c.renewed {
		return min(c.tokenEndLocked(), c.endLocked())
	}
	return c.endLocked()
}

// endLocked is when the channel has to have come further.
func (c *Channel) endLocked() time.Duration {
	d := &c.deadlines
	if d.stage > 0 {
		return d.stage
	}
	if c.sessions.Load() == 0 {
		return min(d.token, d.idleSince+c.server.limits.IdleTimeout)
	}
	return d.token
}

// overdue reports whether a deadline has really passed, and what to say.
func (c *Channel) overdue() (CloseReason, bool) {
	d := &c.deadlines
	d.mu.Lock()
	defer d.mu.Unlock()
	now := c.server.since()
	if now < c.endLocked() {
		return CloseReason{}, false
	}
	if d.stage == 0 && now >= d.token {
		return CloseReason{Code: reasonToken}, true
	}
	return CloseReason{Code: reasonTimeout}, true
}

// enterStage starts the time that the next stage may take.
func (c *Channel) enterStage(limit time.Duration) {
	c.deadlines.mu.Lock()
	now := c.server.since()
	if c.deadlines.stage == 0 {
		c.deadlines.idleSince = now // it has just come
	}
	c.deadlines.stage = now + limit
	c.deadlines.mu.Unlock()
	c.setDeadline()
}

// live ends the stages: from now on the token's lifetime counts, and the time
// without an activated session.
func (c *Channel) live(tokenLife time.Duration) {
	d := &c.deadlines
	d.mu.Lock()
	now := c.server.since()
	if d.stage > 0 {
		d.stage = 0
		d.idleSince = now
	}
	d.token = now + tokenLife
	d.mu.Unlock()
	c.setDeadline()
}

// use notes the token with which answers are sealed from now on, and whether a newer one is to follow it.
func (c *Channel) use(token *uasc.Token) {
	c.deadlines.mu.Lock()
	c.inUse, c.renewed = token, token != c.opener.Newest()
	c.deadlines.mu.Unlock()
}

// outlived reports whether the token in use has ended and a newer one follows it.
func (c *Channel) outlived() bool {
	c.deadlines.mu.Lock()
	defer c.deadlines.mu.Unlock()
	return c.renewed && c.server.since() >= c.tokenEndLocked()
}

// tokenEndLocked is when the token in use ends, without the tolerance for what is under way.
func (c *Channel) tokenEndLocked() time.Duration {
	return c.inUse.Created.Add(c.inUse.Lifetime).Sub(c.server.start)
}

// idleFromNow starts the time without an activated session.
func (c *Channel) idleFromNow() {
	c.deadlines.mu.Lock()
	c.deadlines.idleSince = c.server.since()
	c.deadlines.mu.Unlock()
}

// age is how long a connection has been here that has had no session yet.
func (c *Channel) age() time.Duration {
	c.deadlines.mu.Lock()
	defer c.deadlines.mu.Unlock()
	return c.server.since() - c.deadlines.idleSince
}

// since is the monotonic time of the server, in which deadlines are kept.
func (s *Server) since() time.Duration { return time.Since(s.start) }
