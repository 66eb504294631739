package sessionactor

import (
	"bytes"
	"container/list"
	"crypto/rand"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// nonceLength is the length of server nonces, also under SecurityPolicy None
// (Part 4, 5.7.2.2: at least 32 bytes).
const nonceLength = 32

func newNonce() []byte {
	nonce := make([]byte, nonceLength)
	rand.Read(nonce)
	return nonce
}

// createSession serves CreateSession (Part 4, 5.7.2).
func createSession(x *exchange) {
	req := new(ua.CreateSessionRequest)
	if code := x.decodeCopy(req); code != ua.Good {
		x.fault(code)
		return
	}
	shorten(req)
	if code := x.service.checkCreate(x.channel, req); code != ua.Good {
		x.service.refusals.Line(x.channel.PeerHost()).Stringer("peer", x.channel.RemoteAddr()).Stringer("status", code).
			Str("application", quoted(req.ClientDescription.ApplicationURI)).Msg("session refused")
		x.service.auditCreate(x.channel, x.now, req, nil, code)
		x.fault(code)
		return
	}
	s, r := x.service, x.deferCall()
	if !x.channel.Policy().Secure() {
		s.create(r, req)
		return
	}
	// The exchange is used again when this returns: the task must not see it.
	err := s.config.Lane.Submit(actors.Second, r.owner(), r.wanted, func(wanted bool) {
		defer r.fault(ua.BadInternalError) // does nothing once answered
		if !wanted {
			r.fault(ua.StatusOf(r.ctx.Err()))
			return
		}
		s.create(r, req)
	})
	if err != nil {
		s.auditCreate(r.channel, r.arrived, req, nil, ua.BadServerTooBusy)
		r.busy(ua.BadServerTooBusy, retryAfter(err))
	}
}

// checkCreate checks what can be checked before anything is made or signed.
func (s *Service) checkCreate(c *channelactor.Channel, req *ua.CreateSessionRequest) ua.StatusCode {
	policy := c.Policy()
	if !s.config.Endpoints.Offers(policy, c.Mode()) {
		return ua.BadSecurityPolicyRejected // only discovery is served on this channel
	}
	if req.ServerURI != "" && req.ServerURI != s.config.Endpoints.Application.ApplicationURI {
		return ua.BadServerURIInvalid
	}
	if len(req.ClientDescription.ApplicationURI) > maxURI {
		return ua.BadInvalidArgument // it is an identity, so it is not cut
	}
	if !policy.Secure() {
		return ua.Good
	}
	if len(req.ClientNonce) < nonceLength {
		return ua.BadNonceInvalid
	}
	peer := c.PeerCertificate()
	given, err := pki.Intern(req.ClientCertificate)
	if err != nil || !bytes.Equal(given.DER, peer.DER) {
		return ua.BadCertificateInvalid
	}
	// The ApplicationUri must be the one of the certificate (Part 4, 5.7.2.2).
	if !peer.HasApplicationURI(req.ClientDescription.ApplicationURI) {
		return ua.BadCertificateURIInvalid
	}
	return ua.Good
}

// create makes the session and answers. It runs where signing may.
func (s *Service) create(r *deferred, req *ua.CreateSessionRequest) {
	nonce := newNonce()
	own := s.own(r.channel)
	resp := &ua.CreateSessionResponse{
		ServerNonce:           nonce,
		ServerEndpoints:       s.config.Endpoints.Descriptions(req.EndpointURL, r.channel.EndpointURL()),
		MaxRequestMessageSize: s.config.MaxRequestMessage,
	}
	resp.ServerCertificate = own.Chain
	var err error
	resp.ServerSignature, err = uasc.SignNonce(r.channel.Policy(), own.Key, req.ClientCertificate, req.ClientNonce)
	if err != nil {
		s.log.Error().Err(err).Msg("signing a CreateSession response failed")
		r.fault(ua.BadInternalError)
		return
	}
	given := challenge{nonce: nonce}
	given.key, resp.ResponseHeader.AdditionalHeader, err = s.newEphemeral(r.channel, &req.RequestHeader.AdditionalHeader)
	if err != nil {
		s.log.Error().Err(err).Msg("signing an ephemeral key failed")
		r.fault(ua.BadInternalError)
		return
	}
	session, code := s.add(r, req, given)
	s.auditCreate(r.channel, r.arrived, req, session, code)
	if code == ua.BadTooManySessions {
		r.busy(code, actors.Spread(retryFull))
		return
	}
	if code != ua.Good {
		r.fault(code)
		return
	}
	resp.SessionID = session.id
	resp.AuthenticationToken = session.token
	resp.RevisedSessionTimeout = float64(session.timeout) / float64(time.Millisecond)
	r.respond(resp, &resp.ResponseHeader)
}

// add registers a new session, bound to its channel and not yet activated.
func (s *Service) add(r *deferred, req *ua.CreateSessionRequest, given challenge) (*Session, ua.StatusCode) {
	number := s.numbers.Add(1)
	session := &Session{
		service: s, number: number,
		id:          ua.GUIDID(1, newGuid()),
		token:       ua.OpaqueID(0, newNonce()),
		name:        req.SessionName,
		words:       wordsOf(req),
		certificate: r.channel.PeerCertificate(),
		policy:      r.channel.Policy(),
		mode:        r.channel.Mode(),
		timeout:     s.reviseTimeout(req.RequestedSessionTimeout),
		created:     time.Now(),
		maxResponse: req.MaxResponseMessageSize,
		mailbox:     actors.NewMailbox[message](0),
		given:       given,
		firstBind:   r.channel,
	}
	if session.name == "" {
		session.name = fmt.Sprintf("Session %d", number)
	}
	session.touch(session.created)
	session.queue = s.config.Subscriptions.NewQueue(session.identity())
	session.bound.Store(&binding{channel: r.channel, conv: r.conv})
	if !s.makeRoom() {
		return nil, ua.BadTooManySessions
	}
	if s.config.Hooks.Created != nil {
		s.config.Hooks.Created(session.caller(), r.channel)
	}
	s.sessions.Store(session.token, session)
	s.waiting.add(session)
	if !r.conv.join(session) || !s.config.Group.Go("session", session.run) {
		session.end(endChannel, true)
		return nil, ua.BadSecureChannelClosed
	}
	s.stats.created.Add(1)
	s.visits.Line(r.channel.PeerHost()).Stringer("session", session.id).Str("name", quoted(session.name)).
		Str("application", quoted(session.application())).Stringer("peer", r.channel.RemoteAddr()).
		Str("policy", r.channel.Policy().Name).Stringer("mode", uasc.Mode(r.channel.Mode())).Msg("session created")
	return session, ua.Good
}

// reviseTimeout bounds the requested time-out in milliseconds. Anything that is
// no positive number asks for the server's choice.
func (s *Service) reviseTimeout(ms float64) time.Duration {
	least, most := s.limits.MinSessionTimeout, s.limits.MaxSessionTimeout
	switch {
	case math.IsNaN(ms) || ms <= 0:
		return min(max(time.Minute, least), most)
	case ms >= float64(most/time.Millisecond):
		return most
	}
	return max(time.Duration(ms*float64(time.Millisecond)), least)
}

func newGuid() (g ua.Guid) {
	rand.Read(g[:])
	g[6] = g[6]&0x0F | 0x40 // version 4, variant 1 (RFC 4122)
	g[8] = g[8]&0x3F | 0x80
	return g
}

// makeRoom takes a place for a new session. When all are taken, the oldest
// session that was never activated gives its own up.
func (s *Service) makeRoom() bool {
	if s.waiting.reserve(s.limits.Sessions) {
		return true
	}
	oldest := s.waiting.oldest()
	if oldest == nil {
		s.stats.refused.Add(1)
		return false
	}
	oldest.end(endEvicted, true)
	oldest.post(message{kind: messageExpel}) // wakes its goroutine, which ends
	return s.waiting.reserve(s.limits.Sessions)
}

// forget takes a session out of all lists.
func (s *Service) forget(session *Session) {
	if _, was := s.sessions.Delete(session.token); was {
		s.waiting.remove(session)
		s.waiting.free()
	}
}

// unactivated counts sessions and keeps those that were never activated, oldest first.
type unactivated struct {
	mu    sync.Mutex
	taken int
	order list.List
	place map[*Session]*list.Element
}

func (u *unactivated) reserve(limit int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.taken >= limit {
		return false
	}
	u.taken++
	return true
}

func (u *unactivated) free() {
	u.mu.Lock()
	u.taken--
	u.mu.Unlock()
}

func (u *unactivated) add(s *Session) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.place == nil {
		u.place = make(map[*Session]*list.Element)
	}
	u.place[s] = u.order.PushBack(s)
}

func (u *unactivated) remove(s *Session) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if e, ok := u.place[s]; ok {
		u.order.Remove(e)
		delete(u.place, s)
	}
}

func (u *unactivated) oldest() *Session {
	u.mu.Lock()
	defer u.mu.Unlock()
	if e := u.order.Front(); e != nil {
		return e.Value.(*Session)
	}
	return nil
}
