package sessionactor

import (
	"context"
	"slices"
	"strings"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/publishloop"
)

// Caller is who asked for the call that user code is answering.
type Caller struct {
	// SessionID is the NodeId of the session, null where there is none.
	SessionID ua.NodeID
	// SessionName is the name that the client gave its session.
	SessionName string
	// ApplicationURI names the client application.
	ApplicationURI string
	// User is who the session acts for; never nil.
	User *User
	// Roles are those of the session: what rules and Authenticate give its user
	// and its application. They must not be changed.
	Roles []ua.NodeID
	// Locales are the client's preferred languages, best first.
	Locales []string
	// Encrypted says that what is answered travels signed and encrypted.
	Encrypted bool

	session *Session
	entry   string // the auditEntryId of the request, where there is an audit trail
}

// HasRole reports whether the session has one of these roles.
func (c *Caller) HasRole(roles ...Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return slices.Contains(c.Roles, r.nodeID) })
}

type callerKey struct{}

// CallerFrom returns the caller of a context that the server made, and false
// for any other context.
func CallerFrom(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(*Caller)
	if !ok {
		return Caller{User: &User{}}, false
	}
	return *c, true
}

// caller describes the session of an exchange.
func (x *exchange) caller() *Caller {
	if x.session == nil {
		return &Caller{User: &User{}}
	}
	c := x.session.caller()
	if x.service.trail() != nil {
		c.entry = cut(strings.Clone(x.header.AuditEntryID), maxText)
	}
	return c
}

func (s *Session) caller() *Caller { return s.callerOf(s.bound.Load()) }

// callerOf describes the session as it is bound, or was.
func (s *Session) callerOf(bound *binding) *Caller {
	c := &Caller{
		SessionID: s.id, SessionName: s.name, ApplicationURI: s.application(),
		User: &User{}, session: s,
	}
	if bound == nil {
		return c
	}
	c.Roles = bound.rights.Roles()
	c.Encrypted = bound.channel != nil && bound.channel.Mode() == ua.MessageSecurityModeSignAndEncrypt
	if bound.user != nil {
		c.User, c.Locales = bound.user, bound.locales
	}
	return c
}

// identity is what subscriptions need to know of a session's user, to decide
// who may take them over (Part 4, 5.14.7).
func (s *Session) identity() publishloop.Identity {
	id := publishloop.Identity{Application: s.application(), Session: s.id}
	id.Access, id.AccessAbsent = s.rights().Reader()
	if s.certificate != nil {
		id.Secure = true
	}
	id.Receives = s.receiver()
	if bound := s.bound.Load(); bound != nil && bound.user != nil {
		id.Anonymous = bound.user.Kind == Anonymous
		// The kind belongs to the name: a certificate's subject is never the
		// user of the same name.
		id.User = bound.user.Kind.String() + ":" + bound.user.Name
	}
	return id
}
