package sessionactor

import (
	"bytes"
	"context"
	"crypto/subtle"
	"fmt"
	"time"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// activation is one ActivateSession request under way. The session's goroutine
// lets one of them run at a time, since each consumes the server nonce of the
// one before.
type activation struct {
	call    *deferred
	request *ua.ActivateSessionRequest

	// Decided on the session's goroutine before it starts.
	nonce []byte
	bound *binding

	// Result.
	err   error
	user  *User
	token identityToken
}

// activateSession serves ActivateSession (Part 4, 5.7.3).
func activateSession(x *exchange) {
	req := new(ua.ActivateSessionRequest)
	if code := x.decodeCopy(req); code != ua.Good {
		x.fault(code)
		return
	}
	session, known := x.service.sessions.Load(req.RequestHeader.AuthenticationToken)
	if !known {
		x.fault(ua.BadSessionIDInvalid)
		return
	}
	r := x.deferFor(session)
	if !session.mailbox.Post(message{kind: messageActivate, activate: &activation{call: r, request: req}}) {
		r.fault(ua.BadSessionIDInvalid)
	}
}

// startActivation starts the oldest waiting activation unless one is under way.
func (s *Session) startActivation() {
	for s.activity == nil && len(s.backlog) > 0 {
		a := s.backlog[0]
		s.backlog = s.backlog[1:]
		a.bound, a.nonce = s.bound.Load(), s.nonce
		if a.bound == nil {
			a.call.fault(ua.BadSessionIDInvalid)
			continue
		}
		if err := s.checkActivation(a); err != nil {
			s.refuse(a, err)
			continue
		}
		s.activity = a
		s.verify(a)
	}
	if len(s.backlog) == 0 {
		s.backlog = nil
	}
}

// checkActivation checks whether this channel may activate the session. Nothing
// that fails here or later changes the session.
func (s *Session) checkActivation(a *activation) error {
	channel := a.call.channel
	if !a.bound.active {
		if channel != s.firstBind {
			return fmt.Errorf("first activation on another channel: %w", ua.BadSecureChannelIDInvalid)
		}
		return nil
	}
	if channel == a.bound.channel {
		return nil
	}
	if channel.Policy() != s.policy || channel.Mode() != s.mode {
		return fmt.Errorf("re-binding with another policy or mode: %w", ua.BadSecurityChecksFailed)
	}
	peer := channel.PeerCertificate()
	if (peer == nil) != (s.certificate == nil) || peer != nil && !bytes.Equal(peer.DER, s.certificate.DER) {
		return fmt.Errorf("re-binding with another certificate: %w", ua.BadSecurityChecksFailed)
	}
	return nil
}

// verify checks signature and identity off the session's goroutine: keys on the
// lane, the user's callback on the worker pool. Whatever happens there, one
// message comes back.
func (s *Session) verify(a *activation) {
	secure := a.call.channel.Policy().Secure()
	if !secure && !needsKey(&a.request.UserIdentityToken) {
		s.prove(a)
		return
	}
	err := s.service.config.Lane.Submit(actors.Second, a.call.owner(), a.call.wanted, func(wanted bool) {
		if !wanted {
			a.err = ua.StatusOf(a.call.ctx.Err())
			s.verified(a)
			return
		}
		s.prove(a)
	})
	if err != nil {
		a.err = fmt.Errorf("%w: %w", ua.BadServerTooBusy, err)
		s.verified(a)
	}
}

// prove checks what takes keys, and goes on with the user's callback.
func (s *Session) prove(a *activation) {
	a.err = ua.BadInternalError // stands if something panics
	passedOn := false
	defer func() {
		if !passedOn {
			s.verified(a)
		}
	}()
	if a.err = s.verifyClient(a); a.err != nil {
		return
	}
	if a.token, a.err = s.service.openToken(a.call.channel, a.nonce, &a.request.UserIdentityToken); a.err != nil {
		return
	}
	if s.service.config.Authenticate == nil {
		a.user, a.err = s.authenticate(a.call.ctx, a)
		return
	}
	err := s.service.config.Pool.Submit(a.authOwner(), func() {
		defer s.verified(a)
		a.err = ua.BadInternalError
		a.user, a.err = s.authenticate(a.call.ctx, a)
	})
	if err != nil {
		a.err = ua.BadServerTooBusy
		return
	}
	passedOn = true // the activation belongs to the task now
}

// authOwner is who takes turns at the worker pool for the user's callback: not
// the session, of which a stranger may make thousands, but a share of its host.
// Slow checks of many passwords then delay the calls of those who are in by a few
// turns only.
func (a *activation) authOwner() uint64 {
	const shares = 64
	return a.call.channel.PeerHash()&^(shares-1) | a.call.session.number%shares | 1<<62
}

// verified brings an activation back to the session's goroutine.
func (s *Session) verified(a *activation) {
	if !s.mailbox.Post(message{kind: messageActivated, activate: a}) {
		a.call.fault(ua.BadSessionClosed)
	}
}

// verifyClient checks that the client holds the private key of its certificate:
// it signs the server's certificate and the last server nonce.
func (s *Session) verifyClient(a *activation) error {
	policy := a.call.channel.Policy()
	if !policy.Secure() {
		return nil
	}
	own := s.service.config.PKI.Certificate()
	peer := a.call.channel.PeerCertificate()
	if err := uasc.VerifyNonce(policy, peer.Key, a.request.ClientSignature, own.Chain, a.nonce); err != nil {
		return ua.BadApplicationSignatureInvalid
	}
	return nil
}

// authenticate asks who the user is. On another channel it must be the same
// identity as before (Part 4, 5.7.3.1).
func (s *Session) authenticate(ctx context.Context, a *activation) (*User, error) {
	if a.bound.active && a.call.channel != a.bound.channel && !a.token.equal(a.bound.token) {
		return nil, fmt.Errorf("re-binding with another identity: %w", ua.BadIdentityChangeNotSupported)
	}
	return s.service.authenticate(ctx, Credentials{
		Kind: a.token.kind, UserName: a.token.name, Password: a.token.secret,
		ApplicationURI: s.application(), Certificate: s.certificate, RemoteAddr: a.call.channel.RemoteAddr(),
	})
}

// finishActivation binds the session to the channel and the user, answers with
// a new nonce, or refuses.
func (s *Session) finishActivation(a *activation) {
	s.activity = nil
	before := s.bound.Load()
	if before == nil {
		a.call.fault(ua.BadSessionClosed)
		return
	}
	if a.err != nil {
		s.refuse(a, a.err)
		return
	}
	channel := a.call.channel
	if !a.call.conv.join(s) {
		// Nobody is there to read it, and nobody would know of the session.
		a.call.fault(ua.BadSecureChannelClosed)
		return
	}
	locales := keptLocales(a.request.LocaleIDs)
	if len(locales) == 0 {
		locales = before.locales
	}
	after := &binding{
		channel: channel, conv: a.call.conv, active: true,
		user: a.user, locales: locales, token: a.token.forComparison(),
	}
	moved := before.channel != channel
	if !before.active || moved {
		channel.Acquire()
	}
	if !s.bound.CompareAndSwap(before, after) {
		// It was ended meanwhile, which released what before held.
		if !before.active || moved {
			channel.Release()
			a.call.conv.part(s)
		}
		a.call.fault(ua.BadSessionClosed)
		return
	}
	s.service.waiting.remove(s)
	if moved {
		before.channel.Release()
		before.conv.part(s)
		s.queue.Drop(s.responder(before.channel))
	}
	s.touch(time.Now())
	s.unused = 0
	if s.firstBind != nil {
		s.firstBind, s.unused = nil, s.lastSeen.Load()+1
	}
	s.nonce = newNonce()
	s.service.stats.activated.Add(1)
	s.service.config.Subscriptions.IdentityChanged(s.queue, s.identity())
	if hook := s.service.config.Hooks.Activated; hook != nil {
		hook(s.callerOf(after), channel)
	}
	s.service.visits.Line(channel.PeerHost()).Stringer("session", s.id).Str("user", quoted(a.user.Name)).
		Bool("new_channel", moved).Msg("session activated")
	resp := &ua.ActivateSessionResponse{ServerNonce: s.nonce}
	a.call.respond(resp, &resp.ResponseHeader)
}

func (s *Session) refuse(a *activation, err error) {
	code := ua.StatusOf(err)
	s.service.stats.denied.Add(1)
	s.service.refusals.Line(a.call.channel.PeerHost()).Stringer("session", s.id).Stringer("peer", a.call.channel.RemoteAddr()).
		AnErr("reason", err).Msg("activation refused")
	if code == ua.BadServerTooBusy {
		a.call.busy(code, retryAfter(err))
		return
	}
	a.call.fault(code)
}

// equal compares identities for a re-binding, secrets in constant time.
func (t identityToken) equal(o identityToken) bool {
	return t.kind == o.kind && t.name == o.name &&
		subtle.ConstantTimeCompare([]byte(t.proof), []byte(o.proof)) == 1
}
