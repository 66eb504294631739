package uahive

import (
	"context"
	"fmt"

	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/sessionactor"
)

// Credentials are what a client claims to be, complete and decrypted.
type Credentials = sessionactor.Credentials

// User is who a session acts for.
type User = sessionactor.User

// IdentityKind is how a user was identified.
type IdentityKind = sessionactor.IdentityKind

// Kinds of identity.
const (
	AnonymousUser   = sessionactor.Anonymous
	NamedUser       = sessionactor.UserName
	CertificateUser = sessionactor.UserCertificate
	TokenUser       = sessionactor.IssuedToken
)

// Identity is a way for users to say who they are, for [Config.Identities].
type Identity struct{ offer sessionactor.Identity }

var (
	// UserNames are users with a name and a password, which [Config.Authenticate]
	// checks. Clients encrypt the password with the policy of the endpoint, and with
	// Basic256Sha256 where that has none.
	UserNames = Identity{sessionactor.Identity{Kind: sessionactor.UserName}}
	// PlainUserNames are users with a name and a password that is protected by the
	// channel alone. They are offered where channels are encrypted and are for
	// clients that cannot encrypt passwords themselves; not together with UserNames.
	PlainUserNames = Identity{sessionactor.Identity{Kind: sessionactor.UserName, Clear: true}}
	// UserCertificates are users who log in with a certificate. The store decides
	// whom it trusts, by the folders trustedUser and issuerUser of [Config.PKI] (the
	// DefaultUserTokenGroup of Part 12, 7.8.3); see also [pki.Store.TrustUser]. Then
	// Authenticate is asked, where there is one: its User may have another name than
	// the subject of the certificate.
	UserCertificates = Identity{sessionactor.Identity{Kind: sessionactor.UserCertificate}}
)

// JWTProfile is the token type of JSON Web Tokens (Part 6, 6.5.2).
const JWTProfile = "http://opcfoundation.org/UA/UserToken#JWT"

// IssuedTokens are users who log in with a token that another service has issued.
// [Config.Authenticate] checks it. tokenType is the URI of its profile, such as
// [JWTProfile], and issuerEndpointURL tells clients where to get one, in the form
// that the profile wants. Package jwtauth makes both for JSON Web Tokens.
func IssuedTokens(tokenType, issuerEndpointURL string) Identity {
	return Identity{sessionactor.Identity{
		Kind: sessionactor.IssuedToken, TokenType: tokenType, IssuerEndpointURL: issuerEndpointURL,
	}}
}

// String names the kind, for errors.
func (i Identity) String() string {
	switch {
	case i.offer.Kind == sessionactor.Anonymous:
		return "Identity{}"
	case i.offer.Clear:
		return "PlainUserNames"
	case i.offer.Kind == sessionactor.IssuedToken:
		return fmt.Sprintf("IssuedTokens(%q, %q)", i.offer.TokenType, i.offer.IssuerEndpointURL)
	}
	return map[sessionactor.IdentityKind]string{
		sessionactor.UserName: "UserNames", sessionactor.UserCertificate: "UserCertificates",
	}[i.offer.Kind]
}

// withIdentities sets what is not set of how users log in.
func (c *Config) withIdentities() {
	if c.Identities == nil && c.Authenticate != nil {
		c.Identities = []Identity{UserNames}
	}
	if len(c.Identities) == 0 {
		c.Anonymous = true
	}
}

// checkIdentities says what is wrong with how users log in.
func (c *Config) checkIdentities() error {
	encrypts := false
	for _, s := range c.Security {
		encrypts = encrypts || s.mode == uasc.ModeSignAndEncrypt
	}
	for n, identity := range c.Identities {
		wrong := func(instead string) error {
			return &ConfigError{Field: fmt.Sprintf("Identities[%d]", n), Value: identity.String(), Instead: instead}
		}
		offer := identity.offer
		switch offer.Kind {
		case sessionactor.Anonymous:
			return wrong("use one of the package's variables, such as uahive.UserNames; anonymous users are admitted by Config.Anonymous")
		case sessionactor.UserName, sessionactor.IssuedToken:
			if c.Authenticate == nil {
				return wrong("set Config.Authenticate, which has to check them")
			}
		}
		if offer.Kind == sessionactor.IssuedToken && offer.TokenType == "" {
			return wrong("give the URI of the token's profile, such as uahive.JWTProfile")
		}
		if offer.Clear && !encrypts {
			return wrong("leave it out, or offer a security that encrypts, such as uahive.Basic256Sha256Encrypt: these passwords are not encrypted otherwise")
		}
		for _, other := range c.Identities[:n] {
			if other.offer.Kind != offer.Kind {
				continue
			}
			if offer.Kind != sessionactor.IssuedToken {
				return wrong(fmt.Sprintf("leave it out, or %v, which is in the list already: an endpoint has one of this kind", other))
			}
			// One for each issuer (Part 4, 7.41).
			if other.offer.IssuerEndpointURL == offer.IssuerEndpointURL && other.offer.TokenType == offer.TokenType {
				return wrong("leave it out, it is in the list already")
			}
		}
	}
	return nil
}

// authenticator admits anonymous users where they are offered, and asks the
// program about all others.
func (c *Config) authenticator() sessionactor.Authenticator {
	if c.Authenticate == nil {
		return nil
	}
	return func(ctx context.Context, credentials Credentials) (*User, error) {
		if credentials.Kind == AnonymousUser {
			return new(User), nil
		}
		return c.Authenticate(ctx, credentials)
	}
}
