package sessionactor

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
)

// deferred is a request that is answered after its reader went on. Exactly one
// answer is sent, whoever comes first: the handler, or Cancel.
type deferred struct {
	service *Service
	channel *channelactor.Channel
	conv    *conversation
	session *Session
	entry   *entry
	id      uint32
	handle  uint32
	arrived time.Time

	ctx    context.Context
	cancel context.CancelFunc
	done   atomic.Bool
}

// deferCall detaches the request from its reader. The context ends with the
// client's TimeoutHint, counted from now on the server's own clock, with the
// channel, with the session, or with Cancel. The caller sees to it that respond
// or fault is called. Until then the request holds one of the channel's credits.
func (x *exchange) deferCall() *deferred { return x.deferFor(x.session) }

// deferFor is deferCall for a request about a session that it may not use yet.
func (x *exchange) deferFor(session *Session) *deferred {
	r := &deferred{
		service: x.service, channel: x.channel, conv: x.conv, session: session, entry: x.entry,
		id: x.id, handle: x.header.RequestHandle, arrived: x.batch.Arrived(),
	}
	timeout := x.service.limits.CallTimeout
	if hint := time.Duration(x.header.TimeoutHint) * time.Millisecond; hint > 0 {
		timeout = min(timeout, hint)
	}
	ctx := context.WithValue(x.service.base, callerKey{}, x.caller())
	r.ctx, r.cancel = context.WithTimeout(ctx, timeout)
	r.channel.Hold()
	x.conv.add(r)
	return r
}

// later runs work on the worker pool. What the decoded requests of all sessions
// may hold together while they wait there is bounded by their encoded size.
func (x *exchange) later(r *deferred, work func(ctx context.Context)) {
	waiting, size := &x.service.waitingBytes, int64(len(x.raw))
	if waiting.Add(size) > int64(x.service.limits.WaitingBytes) {
		waiting.Add(-size)
		r.fault(ua.BadServerTooBusy)
		return
	}
	err := x.service.config.Pool.Submit(r.owner(), func() {
		defer waiting.Add(-size)
		defer r.fault(ua.BadInternalError) // does nothing once answered
		if r.ctx.Err() != nil {
			r.fault(ua.StatusOf(r.ctx.Err()))
			return
		}
		work(r.ctx)
	})
	if err != nil {
		waiting.Add(-size)
		r.fault(ua.BadServerTooBusy)
	}
}

// owner is who takes turns at the pool: the session, or the channel while there
// is none.
func (r *deferred) owner() uint64 {
	if r.session != nil {
		return r.session.number
	}
	return uint64(r.channel.ID()) | 1<<63
}

// respond sends the answer unless one was sent before.
func (r *deferred) respond(resp ua.Structure, header *ua.ResponseHeader) {
	if !r.done.CompareAndSwap(false, true) {
		return
	}
	header.Timestamp = ua.DateTimeOf(time.Now())
	header.RequestHandle = r.handle
	r.send(channelactor.AppendMessage(nil, resp))
}

// begin starts a response that is encoded piece by piece; respondEncoded sends it.
func (r *deferred) begin(encodingID uint32) []byte {
	dst := ua.NumericID(0, encodingID).AppendTo(nil)
	return appendResponseHeader(dst, time.Now(), r.handle, ua.Good)
}

// respondEncoded is respond for a message that was begun with begin.
func (r *deferred) respondEncoded(message encoded) {
	if r.done.CompareAndSwap(false, true) {
		r.send(message)
	}
}

func (r *deferred) send(message encoded) {
	code := ua.Good
	if r.session != nil && r.session.refuses(len(message)) {
		code = ua.BadResponseTooLarge
	} else {
		code = ua.StatusOf(r.channel.Respond(r.id, message))
	}
	if code == ua.BadResponseTooLarge {
		r.channel.Respond(r.id, faultMessage{r.handle, code})
	}
	r.finish(code)
}

// fault sends a ServiceFault unless an answer was sent before, and reports
// whether it did.
func (r *deferred) fault(code ua.StatusCode) bool {
	if !r.done.CompareAndSwap(false, true) {
		return false
	}
	r.channel.Respond(r.id, faultMessage{r.handle, code})
	r.finish(code)
	return true
}

func (r *deferred) finish(code ua.StatusCode) {
	r.cancel()
	r.channel.Unhold()
	r.conv.remove(r)
	r.service.meter.answered(r, code)
	if r.session != nil {
		r.session.count(r.entry, code)
	}
}

// conversation is what the service keeps for one channel: the session that it
// used last, and the requests that are not answered yet.
type conversation struct {
	// Owned by the reader.
	last *Session

	mu sync.Mutex
	// Guarded by mu.
	waiting  map[*deferred]struct{}
	sessions []*Session // created on or bound to the channel
	closed   bool
}

func (c *conversation) add(r *deferred) {
	c.mu.Lock()
	if c.waiting == nil {
		c.waiting = make(map[*deferred]struct{})
	}
	c.waiting[r] = struct{}{}
	c.mu.Unlock()
}

func (c *conversation) remove(r *deferred) {
	c.mu.Lock()
	delete(c.waiting, r)
	if len(c.waiting) == 0 {
		c.waiting = nil
	}
	c.mu.Unlock()
}

// pick returns the waiting requests for which keep is true.
func (c *conversation) pick(keep func(*deferred) bool) []*deferred {
	c.mu.Lock()
	defer c.mu.Unlock()
	var picked []*deferred
	for r := range c.waiting {
		if keep(r) {
			picked = append(picked, r)
		}
	}
	return picked
}

// join notes that a session uses the channel. It reports false when the channel
// has ended.
func (c *conversation) join(s *Session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if !slices.Contains(c.sessions, s) {
		c.sessions = append(c.sessions, s)
	}
	return true
}

func (c *conversation) part(s *Session) {
	c.mu.Lock()
	if i := slices.Index(c.sessions, s); i >= 0 {
		last := len(c.sessions) - 1
		c.sessions[i], c.sessions[last] = c.sessions[last], nil
		c.sessions = c.sessions[:last]
	}
	c.mu.Unlock()
}

// end empties the conversation when its channel has ended.
func (c *conversation) end() (sessions []*Session, waiting []*deferred) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	sessions = c.sessions
	for r := range c.waiting {
		waiting = append(waiting, r)
	}
	c.sessions, c.waiting = nil, nil
	return sessions, waiting
}
