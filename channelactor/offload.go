package channelactor

import (
	"errors"
	"fmt"
	"time"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// errUnwanted says that nobody waits for an OpenSecureChannel request any more.
var errUnwanted = errors.New("nobody waits for the answer")

// offload runs private-key work on the lane, on whose goroutines the deep
// stacks stay, while the reader waits. Under SecurityPolicy None there is none.
// Renewals go before everything, so that channels that are open stay open; of the
// second class are answers to requests that cost a key operation already.
func (c *Channel) offload(class actors.Class, policy *uasc.Policy, work func() error) error {
	if !policy.Secure() {
		return work()
	}
	if c.stage == stageLive {
		class = actors.First
	}
	done := make(chan error, 1)
	run := func(wanted bool) {
		err := error(ua.BadInternalError) // stands if something panics
		defer func() { done <- err }()
		if !wanted {
			err = errUnwanted
			return
		}
		err = work()
	}
	lane := c.server.config.Lane
	var err error
	switch class {
	case actors.Last:
		// The client counts from when it connected, which is about now minus age.
		err = lane.Enter(c.laneKey(), c.age(), c.wanted, run)
	case actors.Second:
		err = lane.Finish(class, c.laneKey(), c.wanted, run)
	default:
		err = lane.Submit(class, c.laneKey(), c.wanted, run)
	}
	if err != nil {
		return fmt.Errorf("handshake lane: %w: %w", ua.BadTcpServerTooBusy, err)
	}
	return <-done
}

// wanted reports whether the peer still waits for what its reader has given to
// the lane. The reader waits too, and does not see that the peer has gone, or
// that its time is over; this is asked on the lane, before the work.
func (c *Channel) wanted() bool {
	if c.ended() {
		return false
	}
	if reason, over := c.overdue(); over {
		c.close(reason)
		return false
	}
	if c.sock.gone() {
		c.close(CloseReason{Code: reasonPeer})
		return false
	}
	return true
}

// laneKey is the owner under which a channel's work takes turns. Strangers from
// one address share one, so that a flood of theirs delays neither those who come
// from elsewhere nor the channels that are open.
func (c *Channel) laneKey() uint64 {
	if c.stage == stageLive {
		return uint64(c.id)
	}
	return c.PeerHash() | 1<<62
}

// failOpen ends the channel for a refused OpenSecureChannel request.
func (c *Channel) failOpen(err error) {
	reason := CloseReason{Code: reasonSecurity, Status: ua.StatusOf(err), Err: err}
	var busy *actors.BusyError
	switch {
	case errors.As(err, &busy):
		reason.RetryAfter = busy.RetryAfter
		reason.Code = reasonBusy
	case reason.Status == ua.BadTcpServerTooBusy:
		reason.Code = reasonBusy
	}
	c.close(reason)
}

// retryFull is what a client is told that found no room at all: it is not known
// when somebody leaves.
const retryFull = 5 * time.Second

// RetryHint is how a client is told to come back later, in the reason of an
// Error message or the string table of a ServiceFault. The standard has no field
// for it. It is empty for 0.
func RetryHint(after time.Duration) string {
	if after <= 0 {
		return ""
	}
	return "retry-after=" + max(after.Round(100*time.Millisecond), 100*time.Millisecond).String()
}
