package sessionactor

import (
	"bytes"
	"context"
	"errors"
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
	given challenge
	bound *binding
	begun time.Time

	// Result.
	err  error
	user *User
	// The key for the secret of the next activation, and what brings it.
	nextKey    *uasc.Share
	additional ua.ExtensionObject
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
		x.service.auditActivation(x.channel, x.now, req, nil, nil, ua.BadSessionIDInvalid)
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
		a.bound, a.given, a.begun = s.bound.Load(), s.given, time.Now()
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
	if !secure && !proves(&a.request.UserIdentityToken) {
		s.prove(a)
		return
	}
	if a.err = s.lockedOut(a); a.err != nil {
		s.verified(a)
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

// lockedOut refuses who had too many logins refused. Who proves nothing cannot
// guess, and comes in.
func (s *Session) lockedOut(a *activation) error {
	if !proves(&a.request.UserIdentityToken) {
		return nil
	}
	if rest := s.service.logins.wait(a.call.channel); rest > 0 {
		s.service.stats.lockedOut.Add(1)
		return &lockout{rest}
	}
	return nil
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
	var err error
	if a.nextKey, a.additional, err = s.service.newEphemeral(a.call.channel, &a.request.RequestHeader.AdditionalHeader); err != nil {
		a.err = fmt.Errorf("signing an ephemeral key: %w: %w", ua.BadInternalError, err)
		return
	}
	token, err := s.service.readToken(a.call.channel, a.given, a.request)
	if a.err = err; err != nil {
		return
	}
	if s.service.config.Authenticate == nil {
		a.user, a.err = s.authenticate(a.call.ctx, a, &token)
		return
	}
	err = s.service.config.Pool.Submit(a.authOwner(), func() {
		defer s.verified(a)
		// Many may have come here together, before the first of them was refused.
		if a.err = s.lockedOut(a); a.err != nil {
			return
		}
		a.err = ua.BadInternalError
		a.user, a.err = s.authenticate(a.call.ctx, a, &token)
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

// verified brings an activation back to the session's goroutine. A refused login
// comes back after a time that is the same for all of them, so that it does not say
// how far its secret got (threats U5 and U6); nothing waits for that but its client.
func (s *Session) verified(a *activation) {
	var refused *refusal
	if !errors.As(a.err, &refused) {
		s.comeBack(a)
		return
	}
	s.service.logins.refused(a.call.channel)
	rest := time.Until(a.begun.Add(s.service.limits.RefusalTime))
	if rest <= 0 {
		s.comeBack(a)
		return
	}
	time.AfterFunc(rest, func() { s.comeBack(a) })
}

func (s *Session) comeBack(a *activation) {
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
	own := s.service.own(a.call.channel)
	peer := a.call.channel.PeerCertificate()
	if err := uasc.VerifyNonce(policy, peer.Key, a.request.ClientSignature, own.Chain, a.given.nonce); err != nil {
		return ua.BadApplicationSignatureInvalid
	}
	return nil
}

// authenticate asks who the user is. On another channel it must be the same one as
// before (Part 4, 5.7.3.1). A secret that could not be read is asked about like any
// other, and refused whatever the answer is; a certificate that proves nothing is
// no secret, and not asked about.
func (s *Session) authenticate(ctx context.Context, a *activation, token *identityToken) (*User, error) {
	if token.kind == UserCertificate && token.refused != nil {
		return nil, token.refused
	}
	channel := a.call.channel
	user, err := s.service.authenticate(ctx, Credentials{
		Kind: token.kind, UserName: token.name, Password: token.secret, Token: token.data, TokenType: token.tokenType,
		UserCertificate: token.certificate,
		ApplicationURI:  s.application(), Certificate: s.certificate, RemoteAddr: channel.RemoteAddr(),
		SecurityPolicy: channel.Policy().URI, SecurityMode: channel.Mode(), EndpointURL: s.words.Value().endpointURL,
	})
	if token.refused != nil {
		return nil, token.refused
	}
	if err != nil {
		return nil, err
	}
	if a.bound.active && channel != a.bound.channel && !user.same(a.bound.user) {
		return nil, fmt.Errorf("re-binding with another identity: %w", ua.BadIdentityChangeNotSupported)
	}
	return user, nil
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
		user: a.user, locales: locales,
	}
	s.grant(after)
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
	s.given = challenge{newNonce(), a.nextKey}
	if _, ends := after.untilExpiry(); ends {
		s.waitOn()
	}
	s.service.stats.activated.Add(1)
	s.service.config.Subscriptions.IdentityChanged(s.queue, s.identity())
	s.service.auditActivation(channel, a.call.arrived, a.request, s, a.user, nil)
	if hook := s.service.config.Hooks.Activated; hook != nil {
		hook(s.callerOf(after), channel)
	}
	s.service.visits.Line(channel.PeerHost()).Stringer("session", s.id).Str("user", quoted(a.user.Name)).
		Bool("new_channel", moved).Msg("session activated")
	resp := &ua.ActivateSessionResponse{ServerNonce: s.given.nonce}
	resp.ResponseHeader.AdditionalHeader = a.additional
	a.call.respond(resp, &resp.ResponseHeader)
}

func (s *Session) refuse(a *activation, err error) {
	code := ua.StatusOf(err)
	s.service.stats.denied.Add(1)
	s.service.auditActivation(a.call.channel, a.call.arrived, a.request, s, nil, err)
	s.service.refusals.Line(a.call.channel.PeerHost()).Stringer("session", s.id).Stringer("peer", a.call.channel.RemoteAddr()).
		AnErr("reason", err).Msg("activation refused")
	if code == ua.BadServerTooBusy {
		a.call.busy(code, retryAfter(err))
		return
	}
	a.call.fault(code)
}
