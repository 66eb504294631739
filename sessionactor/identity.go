package sessionactor

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net"
	"slices"

	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// IdentityKind is the kind of a user identity token (Part 4, 7.40).
type IdentityKind uint8

// The kinds of identity that the server understands.
const (
	Anonymous IdentityKind = iota
	UserName
)

// String returns the standard's name of the token type.
func (k IdentityKind) String() string {
	if k == UserName {
		return "UserName"
	}
	return "Anonymous"
}

// Credentials are what a client claims to be. They are complete: signatures are
// verified and secrets decrypted.
type Credentials struct {
	Kind     IdentityKind
	UserName string
	// Password is the decrypted secret. It is not kept, and neither printed nor
	// marshalled.
	Password string `json:"-"`
	// ApplicationURI names the client's application; it is proven where
	// Certificate is set.
	ApplicationURI string
	// Certificate is the client application's, nil under SecurityPolicy None.
	Certificate *pki.Parsed
	RemoteAddr  net.Addr
}

// String leaves the password out.
func (c Credentials) String() string {
	return fmt.Sprintf("%v %q of application %.200q at %v", c.Kind, c.UserName, c.ApplicationURI, c.RemoteAddr)
}

// Format is String for every verb, so that none prints the password.
func (c Credentials) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.String()) }

// User is who a session acts for. It is immutable.
type User struct {
	// Name is shown in diagnostics; empty for Anonymous.
	Name string
	// Kind is how the user was identified.
	Kind IdentityKind
	// Roles are the standard's roles of the user (Part 18, 4.2), such as
	// WellKnownRole_SecurityAdmin of package id. They decide who may see the
	// server's diagnostics. None by default.
	Roles []ua.NodeID
	// Data belongs to the program that embeds the server.
	Data any
}

// HasRole reports whether the user has one of these roles.
func (u *User) HasRole(roles ...ua.NodeID) bool {
	return slices.ContainsFunc(u.Roles, func(r ua.NodeID) bool { return slices.Contains(roles, r) })
}

// Authenticator decides about an identity. It runs on the worker pool and may
// wait as long as its context does. Every error refuses the activation with
// BadIdentityTokenRejected, whatever it is, so that nothing can be learned from
// the answer; the log has the error. So does a nil User without an error: what
// was not found is not let in. A User without a Name gets the claimed one.
type Authenticator func(ctx context.Context, c Credentials) (*User, error)

// identityToken is a decoded and decrypted user identity token.
type identityToken struct {
	kind   IdentityKind
	name   string
	secret string
	proof  string // what stands for the secret once it was checked
}

// proofKey makes the stored stand-ins of secrets worthless outside the process.
var proofKey = func() (key [32]byte) { rand.Read(key[:]); return key }()

// forComparison replaces the secret by a keyed hash.
func (t identityToken) forComparison() identityToken {
	t.secret = ""
	return t
}

// noToken is the token of all who have no name.
var noToken = newToken(Anonymous, "", "")

func newToken(kind IdentityKind, name, secret string) identityToken {
	h := sha256.New()
	h.Write(proofKey[:])
	h.Write([]byte(secret))
	return identityToken{kind: kind, name: name, secret: secret, proof: string(h.Sum(nil))}
}

// needsKey reports whether reading the token takes the private key.
func needsKey(token *ua.ExtensionObject) bool {
	t, ok := token.Value.(*ua.UserNameIdentityToken)
	return ok && t.EncryptionAlgorithm != ""
}

// openToken decodes and decrypts a user identity token. A token that is not
// offered on this endpoint is BadIdentityTokenInvalid; from the moment its
// policy is recognised every failure is BadIdentityTokenRejected.
func (s *Service) openToken(c *channelactor.Channel, nonce []byte, token *ua.ExtensionObject) (identityToken, error) {
	switch t := token.Value.(type) {
	case nil:
		if !token.TypeID.IsNull() {
			return identityToken{}, fmt.Errorf("unknown kind of identity token: %w", ua.BadIdentityTokenInvalid)
		}
		// A missing token stands for Anonymous (Part 4, 5.7.3.2).
		if !s.config.Endpoints.offersToken(c, "", ua.UserTokenTypeAnonymous) {
			return identityToken{}, fmt.Errorf("no identity token, and Anonymous is not offered: %w", ua.BadIdentityTokenRejected)
		}
		return noToken, nil
	case *ua.AnonymousIdentityToken:
		if !s.config.Endpoints.offersToken(c, t.PolicyID, ua.UserTokenTypeAnonymous) {
			return identityToken{}, fmt.Errorf("token policy %.100q is not offered for Anonymous: %w", t.PolicyID, ua.BadIdentityTokenInvalid)
		}
		return noToken, nil
	case *ua.UserNameIdentityToken:
		if !s.config.Endpoints.offersToken(c, t.PolicyID, ua.UserTokenTypeUserName) {
			return identityToken{}, fmt.Errorf("token policy %.100q is not offered for UserName: %w", t.PolicyID, ua.BadIdentityTokenInvalid)
		}
		if t.UserName == "" {
			return identityToken{}, fmt.Errorf("empty user name: %w", ua.BadIdentityTokenInvalid)
		}
		if len(t.UserName) > maxUserName {
			return identityToken{}, fmt.Errorf("user name of %d bytes: %w", len(t.UserName), ua.BadIdentityTokenRejected)
		}
		secret, err := s.openSecret(c, nonce, t)
		if err != nil {
			return identityToken{}, err
		}
		return newToken(UserName, t.UserName, secret), nil
	default:
		return identityToken{}, fmt.Errorf("identity token %T is not supported: %w", t, ua.BadIdentityTokenInvalid)
	}
}

// openSecret decrypts a password (Part 4, 7.40.4). The secret must be encrypted
// unless the channel itself encrypts and the token names no algorithm.
func (s *Service) openSecret(c *channelactor.Channel, nonce []byte, t *ua.UserNameIdentityToken) (string, error) {
	policy := s.config.Endpoints.tokenPolicy(c)
	if t.EncryptionAlgorithm == "" {
		if len(t.Password) > uasc.MaxSecretLength {
			return "", fmt.Errorf("password of %d bytes: %w", len(t.Password), ua.BadIdentityTokenRejected)
		}
		if uasc.Mode(c.Mode()) == uasc.ModeSignAndEncrypt || s.config.Endpoints.PlainPasswords {
			return string(t.Password), nil
		}
		return "", fmt.Errorf("password is not encrypted: %w", ua.BadIdentityTokenRejected)
	}
	if t.EncryptionAlgorithm != policy.EncryptionURI {
		return "", fmt.Errorf("password encrypted with %.100q: %w", t.EncryptionAlgorithm, ua.BadIdentityTokenRejected)
	}
	secret, err := uasc.DecryptSecret(policy, s.config.PKI.Certificate().Key, t.Password, nonce)
	if err != nil {
		return "", fmt.Errorf("password cannot be decrypted: %w", ua.BadIdentityTokenRejected)
	}
	return string(secret), nil
}

// anybody is the user of all sessions without a name where nobody is asked.
var anybody User

// authenticate asks the user's callback.
func (s *Service) authenticate(ctx context.Context, c Credentials) (*User, error) {
	if s.config.Authenticate == nil {
		if c.Kind == Anonymous {
			return &anybody, nil
		}
		return nil, fmt.Errorf("no users are configured: %w", ua.BadIdentityTokenRejected)
	}
	user, err := s.config.Authenticate(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("user %.100q: %w (%w)", c.UserName, ua.BadIdentityTokenRejected, err)
	}
	if user == nil {
		return nil, fmt.Errorf("user %.100q: Authenticate returned no user: %w", c.UserName, ua.BadIdentityTokenRejected)
	}
	named := *user
	named.Kind, named.Roles = c.Kind, slices.Clone(user.Roles)
	if named.Name == "" {
		named.Name = c.UserName
	}
	return &named, nil
}
