package sessionactor

import (
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
	"github.com/uahive/uahive/publishloop"
)

// Session is one session of Part 4, 5.7. Its goroutine owns what changes its
// life; what requests need to know of it is in bound, a snapshot.
type Session struct {
	// Immutable.
	service     *Service
	id          ua.NodeID // in the server's diagnostics, known to others
	token       ua.NodeID // the secret that its requests carry
	number      uint64    // counts up; the session's name at the worker pool
	name        string
	words       unique.Handle[clientWords]
	certificate *pki.Parsed // of the client, nil under SecurityPolicy None
	policy      *uasc.Policy
	mode        ua.MessageSecurityMode
	timeout     time.Duration
	created     time.Time
	maxResponse uint32
	mailbox     *actors.Mailbox[message]
	queue       *publishloop.Queue

	// Owned by the session's goroutine.
	given     challenge // the last one, consumed by the next activation
	activity  *activation
	backlog   []*activation
	timer     *time.Timer           // posts messageIdle
	firstBind *channelactor.Channel // that created the session
	unused    int64                 // lastSeen at the first activation and 1, 0 after another one

	// Shared.
	bound    atomic.Pointer[binding] // nil once the session is closed
	lastSeen atomic.Int64            // time of the last request, in ns since the service started
	counts   sessionCounters

	mu sync.Mutex
	// Guarded by mu.
	browsing   browsePoints
	registered int
}

// binding is what requests check on each call: the channel and the identity
// that the session has at this moment. It is immutable.
type binding struct {
	channel *channelactor.Channel
	conv    *conversation
	active  bool
	user    *User
	locales []string
	rights  *addrspace.Rights
}

// message is what a session's mailbox takes.
type message struct {
	kind     messageKind
	channel  *channelactor.Channel
	activate *activation
	closing  *deferred
	deleting bool // CloseSession with deleteSubscriptions
}

type messageKind uint8

const (
	messageActivate messageKind = iota + 1
	messageActivated
	messageClose
	messageChannelClosed
	messageExpel
	messageIdle    // it may have been silent for too long
	messageRegrant // the rules of roles changed
	messageRecheck // permissions of nodes changed
)

// ID returns the session's NodeId, which is no secret.
func (s *Session) ID() ua.NodeID { return s.id }

// Name returns the name that the client gave the session.
func (s *Session) Name() string { return s.name }

func (s *Session) post(m message) { s.mailbox.Post(m) }

func (s *Session) touch(now time.Time) {
	s.lastSeen.Store(int64(now.Sub(s.service.start)))
}

// refuses reports whether a response is larger than the client said it takes
// in CreateSession; 0 there sets no limit (Part 4, 5.7.2.2).
func (s *Session) refuses(size int) bool {
	return s.maxResponse > 0 && size > int(s.maxResponse)
}

// idle returns for how long no request came.
func (s *Session) idle() time.Duration {
	return time.Since(s.service.start) - time.Duration(s.lastSeen.Load())
}

// run is the session's goroutine. It ends when the session is closed.
//
// Go never makes a stack of 4 KiB smaller, and what a message leads to needs one.
// So whoever has handled messages passes the session on to a new goroutine, which
// waits in 2 KiB as nearly all of ten thousand do.
func (s *Session) run() {
	s.timer = time.AfterFunc(min(s.timeout, s.service.limits.ActivationTimeout), s.mayBeIdle)
	s.live()
}

func (s *Session) mayBeIdle() { s.post(message{kind: messageIdle}) }

// live waits for messages and handles them, until another goroutine takes over or
// the session is closed.
func (s *Session) live() {
	for {
		<-s.mailbox.Wait()
		var place [2]message
		inbox := s.mailbox.Drain(place[:0])
		deep := false
		for _, m := range inbox {
			if m.kind == messageIdle && s.waitOn() {
				continue
			}
			deep = true
			s.handle(m)
		}
		if s.bound.Load() == nil {
			s.timer.Stop()
			s.drainClosed()
			return
		}
		if deep && s.service.config.Group.Go("session", s.live) {
			return
		}
	}
}

// waitOn sets the timer again unless the session has been silent for too long.
func (s *Session) waitOn() bool {
	rest, over := s.remaining()
	if !over {
		s.timer.Reset(rest)
	}
	return !over
}

// remaining returns how long the session may still stay silent, or less where its
// user's identity ends before that.
func (s *Session) remaining() (rest time.Duration, over bool) {
	rest = s.untilTimeout()
	if bound := s.bound.Load(); bound != nil {
		if expiry, ends := bound.untilExpiry(); ends {
			rest = min(rest, expiry)
		}
	}
	return rest, rest <= 0
}

// untilTimeout returns how long the session may still stay silent.
func (s *Session) untilTimeout() time.Duration {
	limit := s.timeout
	if bound := s.bound.Load(); bound != nil && (!bound.active || s.abandoned(bound)) {
		limit = min(limit, s.service.limits.ActivationTimeout)
	}
	return limit - s.idle()
}

// handle acts on one message.
func (s *Session) handle(m message) {
	switch m.kind {
	case messageActivate:
		if len(s.backlog) >= s.service.limits.Activations {
			m.activate.call.fault(ua.BadServerTooBusy)
			return
		}
		s.backlog = append(s.backlog, m.activate)
		s.startActivation()
	case messageActivated:
		s.finishActivation(m.activate)
		s.startActivation()
	case messageClose:
		s.auditClose(m.closing)
		s.end(endClosed, m.deleting)
		resp := new(ua.CloseSessionResponse)
		m.closing.respond(resp, &resp.ResponseHeader)
	case messageChannelClosed:
		s.channelClosed(m.channel)
	case messageIdle:
		if s.untilTimeout() <= 0 {
			// Its subscriptions have a lifetime of their own, so that a client which
			// was away for too long can take them over without a loss (Part 4, 5.7.2.1).
			s.end(endTimeout, false)
			return
		}
		s.expire()
		s.waitOn()
	case messageRegrant:
		s.regrant()
	case messageRecheck:
		s.recheck()
	case messageExpel:
		if bound := s.bound.Load(); bound != nil && !bound.active {
			s.end(endExpelled, true)
		}
	}
}

// channelClosed ends a session that was never activated; another one waits for
// its client to come back on a new channel.
func (s *Session) channelClosed(c *channelactor.Channel) {
	bound := s.bound.Load()
	switch {
	case bound == nil || bound.channel != c:
	case !bound.active:
		s.end(endChannel, true)
	default:
		s.queue.Drop(s.responder(c))
		if s.abandoned(bound) {
			s.service.waiting.add(s)
			if s.bound.Load() == nil {
				s.service.waiting.remove(s) // it ended meanwhile
			}
		}
	}
}

// abandoned reports whether the session was activated, never used, and lost its
// channel: most likely its client gave up before the answer came, and has made
// another one. It makes room as one that was never activated does, and has as
// much time.
func (s *Session) abandoned(bound *binding) bool {
	if s.unused == 0 || s.unused != s.lastSeen.Load()+1 {
		return false
	}
	select {
	case <-bound.channel.Done():
		return true
	default:
		return false
	}
}

// endCause is why a session ended, in words for logs.
type endCause string

const (
	endClosed   endCause = "closed by client"
	endTimeout  endCause = "timed out"
	endChannel  endCause = "channel closed before activation"
	endExpelled endCause = "used before activation"
	endExpired  endCause = "the identity of its user expired"
	endEvicted  endCause = "made room for another session"
	endShutdown endCause = "server shuts down"
	endTrust    endCause = "certificate no longer accepted"
)

// end closes the session. Its subscriptions go with it, unless the client asked
// to keep them (Part 4, 5.7.4). It may be called from any goroutine; the first
// call counts, and the session's own goroutine ends after its next message.
func (s *Session) end(cause endCause, deleteSubscriptions bool) {
	bound := s.bound.Swap(nil)
	if bound == nil {
		return
	}
	s.service.forget(s)
	code := ua.BadSessionClosed
	if cause == endShutdown {
		code = ua.BadShutdown
	}
	// What is outstanding is answered before CloseSession is, also where user
	// code does not heed its context (Part 4, 5.7.4.1).
	for _, r := range bound.conv.pick(func(r *deferred) bool { return r.session == s }) {
		r.fault(code)
	}
	s.service.config.Subscriptions.SessionClosed(s.queue, deleteSubscriptions, code)
	s.mu.Lock()
	s.clearPoints()
	s.mu.Unlock()
	bound.conv.part(s)
	if bound.active {
		bound.channel.Release()
	}
	s.service.stats.ended(cause)
	s.auditEnd(bound, cause)
	if hook := s.service.config.Hooks.Closed; hook != nil {
		hook(s.callerOf(bound), bound.channel, string(cause))
	}
	s.service.visits.Line(bound.channel.PeerHost()).Stringer("session", s.id).Str("name", quoted(s.name)).Str("cause", string(cause)).
		Dur("age", time.Since(s.created)).Msg("session ended")
}

// drainClosed answers what was still in the mailbox when the session ended.
func (s *Session) drainClosed() {
	s.mailbox.Close()
	for _, m := range s.mailbox.Drain(nil) {
		switch m.kind {
		case messageActivate, messageActivated:
			m.activate.call.fault(ua.BadSessionClosed)
		case messageClose:
			m.closing.fault(ua.BadSessionIDInvalid)
		}
	}
	for _, a := range s.backlog {
		a.call.fault(ua.BadSessionClosed)
	}
	s.backlog = nil
}

// quoted cuts what a peer sent, so that logs stay readable and short. zerolog
// escapes control characters itself.
func quoted(text string) string {
	const most = 256
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
