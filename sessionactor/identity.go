package sessionactor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

// IdentityKind is the kind of a user identity token (Part 4, 7.40).
type IdentityKind uint8

// The kinds of identity that the server understands.
const (
	Anonymous IdentityKind = iota
	UserName
	UserCertificate
	IssuedToken
)

// String returns the standard's name of the token type (Part 4, 7.42).
func (k IdentityKind) String() string {
	switch k {
	case UserName:
		return "UserName"
	case UserCertificate:
		return "Certificate"
	case IssuedToken:
		return "IssuedToken"
	}
	return "Anonymous"
}

// tokenType is the number of the kind on the wire.
func (k IdentityKind) tokenType() ua.UserTokenType { return ua.UserTokenType(k) }

// Credentials are what a client claims to be. They are complete: signatures are
// verified, certificates validated, secrets decrypted. What is left to decide is
// whether a password is right, a token to be believed, and who may come in.
type Credentials struct {
	Kind IdentityKind
	// UserName is the name that is claimed. For a UserCertificate it is the subject
	// of the certificate; for an IssuedToken it is empty, the token says it.
	UserName string
	// Password is the decrypted secret of a UserName. It is not kept, and neither
	// printed nor marshalled. Where the secret could not be decrypted, it is a
	// random text, and whatever is decided about it comes to nothing: so a forged
	// secret takes as long as a wrong password.
	Password string `json:"-"`
	// UserCertificate is the user's own certificate, of a key that the client has
	// proven to hold, and which the list of trusted users has let in.
	UserCertificate *pki.Parsed `json:"-"`
	// Token is the decrypted data of an IssuedToken, as text for a JWT. It is as
	// secret as a password, and random where it could not be decrypted.
	Token []byte `json:"-"`
	// TokenType is the URI of the token's profile, such as
	// "http://opcfoundation.org/UA/UserToken#JWT" (Part 6, 6.5.2).
	TokenType string

	// ApplicationURI names the client's application; it is proven where
	// Certificate is set.
	ApplicationURI string
	// Certificate is the client application's, nil under SecurityPolicy None.
	Certificate *pki.Parsed `json:"-"`
	RemoteAddr  net.Addr
	// SecurityPolicy is the URI of the channel's policy, and SecurityMode its mode:
	// what the client does as this user travels under these.
	SecurityPolicy string
	SecurityMode   ua.MessageSecurityMode
	// EndpointURL is the address that the client used, in its own words.
	EndpointURL string
}

// String leaves the secrets out.
func (c Credentials) String() string {
	return fmt.Sprintf("%v %q of application %.200q at %v", c.Kind, c.UserName, c.ApplicationURI, c.RemoteAddr)
}

// Format is String for every verb, so that none prints the secrets.
func (c Credentials) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.String()) }

// User is who a session acts for. It is immutable.
type User struct {
	// Name is shown in diagnostics; empty for Anonymous. Two sessions with the same
	// kind and name act for the same user.
	Name string
	// Kind is how the user was identified.
	Kind IdentityKind
	// Roles are the standard's roles of the user (Part 18, 4.2), such as
	// WellKnownRole_SecurityAdmin of package id. They decide who may see the
	// server's diagnostics. None by default.
	Roles []ua.NodeID
	// Groups and Claims are what an issued token says of its user: the groups that
	// it is in, and the names of its roles. Rules that give roles to users can
	// name them (Part 18, 4.4.3). The program may set them for users of any kind.
	Groups, Claims []string
	// Certificate is the user's own, where one identified it. The server sets it.
	Certificate *pki.Parsed `json:"-"`
	// ValidUntil is when the identity ends: the session becomes one of an anonymous
	// user then, or ends where those are not admitted (Part 4, 7.40.5 and 7.40.6).
	// Zero: never; a certificate's expiry counts in any case.
	ValidUntil time.Time
	// Data belongs to the program that embeds the server.
	Data any
}

// HasRole reports whether the user has one of these roles.
func (u *User) HasRole(roles ...ua.NodeID) bool {
	return slices.ContainsFunc(u.Roles, func(r ua.NodeID) bool { return slices.Contains(roles, r) })
}

// same reports whether two users are one (the ClientUserId of Part 4, 5.7.3.1).
func (u *User) same(o *User) bool { return u.Kind == o.Kind && u.Name == o.Name }

// Authenticator decides about an identity. It runs on the worker pool and may
// wait as long as its context does. Every error refuses the activation with
// BadIdentityTokenRejected, whatever it is, so that nothing can be learned from
// the answer; the log has the error. So does a nil User without an error: what
// was not found is not let in. A User without a Name gets the claimed one.
//
// It should take as long for a user that it does not know as for a wrong
// password.
type Authenticator func(ctx context.Context, c Credentials) (*User, error)

// anybody is the user of all sessions without a name where nobody is asked.
var anybody User

// authenticate asks the user's callback.
func (s *Service) authenticate(ctx context.Context, c Credentials) (*User, error) {
	user, err := s.ask(ctx, c)
	if err != nil {
		return nil, refuseLogin(fmt.Errorf("user %.100q: %w", c.UserName, err))
	}
	if user == nil {
		return nil, refuseLogin(fmt.Errorf("user %.100q: Authenticate returned no user", c.UserName))
	}
	if user == &anybody {
		return user, nil
	}
	named := *user
	named.Kind, named.Certificate = c.Kind, c.UserCertificate
	named.Roles, named.Groups, named.Claims = slices.Clone(user.Roles), slices.Clone(user.Groups), slices.Clone(user.Claims)
	if named.Name == "" {
		named.Name = c.UserName
	}
	if c.UserCertificate != nil {
		end := c.UserCertificate.X509().NotAfter
		if named.ValidUntil.IsZero() || end.Before(named.ValidUntil) {
			named.ValidUntil = end
		}
	}
	if !named.ValidUntil.IsZero() && !time.Now().Before(named.ValidUntil) {
		return nil, refuseLogin(fmt.Errorf("user %.100q: valid until %v only", named.Name, named.ValidUntil.Format(time.DateTime)))
	}
	return &named, nil
}

// ask is authenticate as far as the program decides. Without a callback, the list
// of trusted users decides alone.
func (s *Service) ask(ctx context.Context, c Credentials) (*User, error) {
	if s.config.Authenticate != nil {
		return s.config.Authenticate(ctx, c)
	}
	switch c.Kind {
	case Anonymous:
		return &anybody, nil
	case UserCertificate:
		return &User{Name: c.UserName}, nil
	}
	return nil, errors.New("no users are configured")
}
