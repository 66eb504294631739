package channelactor

import (
	"sync"
	"sync/atomic"
)

// awaitDrain holds the reader back while its peer does not read the answers
// that it has asked for. It reports whether the channel still lives.
func (c *Channel) awaitDrain() bool {
	return c.drained() || c.await((*Channel).drained)
}

func (c *Channel) drained() bool { return c.queued.Load() <= c.server.limits.SendQueueBytes }

// awaitCredit holds the reader back while the worker pool still has as many of
// its requests as it may have.
func (c *Channel) awaitCredit() bool {
	return c.hasCredit() || c.await((*Channel).hasCredit)
}

// hasCredit reports whether the worker pool may take one more request. It is
// asked after each one, since a single read brings in hundreds.
func (c *Channel) hasCredit() bool { return int(c.inFlight.Load()) < c.server.limits.InFlight }

// await blocks the reader until it may go on, and reports whether the channel
// still lives.
func (c *Channel) await(ready func(*Channel) bool) bool {
	nudge := c.nudge.listen() // before ready is asked, so that no signal is missed
	for !ready(c) {
		select {
		case <-nudge:
		case <-c.Done():
			return false
		}
	}
	return true
}

// nudge wakes a reader that waits to go on. Few ever do: the channel is made when
// the first one does.
type nudge struct {
	made atomic.Pointer[chan struct{}]
}

// listen returns what to receive from. Only the reader calls it.
func (n *nudge) listen() <-chan struct{} {
	if ch := n.made.Load(); ch != nil {
		return *ch
	}
	ch := make(chan struct{}, 1)
	n.made.Store(&ch)
	return ch
}

// signal wakes the reader if it waits, or will wait for what has happened before.
func (n *nudge) signal() {
	ch := n.made.Load()
	if ch == nil {
		return
	}
	select {
	case *ch <- struct{}{}:
	default:
	}
}

// ending is a moment that most ask about and few wait for: the channel to wait on
// is made when somebody does.
type ending struct {
	begun atomic.Bool // written with mu held

	mu sync.Mutex
	// Guarded by mu.
	over chan struct{} // nil until somebody waits
}

// begin is called once.
func (e *ending) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begun.Store(true)
	if e.over != nil {
		close(e.over)
	}
}

// wait returns a channel that is closed when the ending begins.
func (e *ending) wait() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over == nil {
		e.over = make(chan struct{})
		if e.begun.Load() {
			close(e.over)
		}
	}
	return e.over
}
