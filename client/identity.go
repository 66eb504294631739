package client

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// Identity is who a session acts for: [Anonymous], [UserName], [UserCertificate]
// or [IssuedToken]. It can be printed; secrets are left out.
type Identity interface {
	fmt.Stringer
	// tokenType is the kind of UserTokenPolicy that the identity needs.
	tokenType() ua.UserTokenType
	// token makes the identity token for one activation, and the signature
	// that proves it.
	token(ctx context.Context, p *tokenParams) (ua.ExtensionObject, ua.SignatureData, error)
}

// tokenParams is what an identity token is made for.
type tokenParams struct {
	policy      *ua.UserTokenPolicy
	security    *uasc.Policy // for the secret or the signature
	sec         *securing    // of the channel
	serverNonce []byte
	serverKey   []byte // the server's ephemeral key for a secret; nil where it gave none
	clear       bool   // Config.AllowClearPassword
}

// sealSecret protects a password or an issued token as the token policy wants it
// (Part 4, 7.40.2), and returns it with the algorithm that the token has to name.
// short says that the older format is known for such secrets: it is for passwords
// of up to 64 bytes, and the one that all servers take.
func (p *tokenParams) sealSecret(secret []byte, short bool) (sealed []byte, algorithm string, err error) {
	if !p.security.Secure() {
		if p.sec.mode != uasc.ModeSignAndEncrypt && !p.clear {
			return nil, "", errClearPassword
		}
		return secret, "", nil
	}
	if p.sec.server == nil {
		return nil, "", fmt.Errorf("server has no certificate to encrypt for: %w", ua.BadCertificateInvalid)
	}
	if p.security.Curve != nil {
		if p.serverKey == nil || p.sec.local == nil {
			return nil, "", fmt.Errorf("server gave no ephemeral key to encrypt with under %v: %w", p.security, ua.BadSecurityPolicyRejected)
		}
		sealed, err = uasc.SealECCSecret(p.security, p.sec.local.Key, p.sec.local.Chain, p.serverKey, secret, p.serverNonce)
		return sealed, "", err
	}
	if short {
		sealed, err = uasc.EncryptSecret(p.security, p.sec.server.Key, secret, p.serverNonce)
		return sealed, p.security.EncryptionURI, err
	}
	sealed, err = uasc.SealRSASecret(p.security, p.sec.server.Key, p.sec.server.DER, secret, p.serverNonce)
	return sealed, "", err
}

type anonymous struct{}

// Anonymous is nobody in particular.
func Anonymous() Identity { return anonymous{} }

func (anonymous) String() string { return "Anonymous" }

// GoString is String, for the verb %#v.
func (a anonymous) GoString() string { return a.String() }

func (anonymous) tokenType() ua.UserTokenType { return ua.UserTokenTypeAnonymous }

func (anonymous) token(_ context.Context, p *tokenParams) (ua.ExtensionObject, ua.SignatureData, error) {
	return ua.ObjectOf(&ua.AnonymousIdentityToken{PolicyID: p.policy.PolicyID}), ua.SignatureData{}, nil
}

// The password is behind a pointer because fmt does not ask a value in an
// unexported field how it wants to be printed.
type userName struct {
	name     string
	password *string
}

// UserName is a user with a password. The password is encrypted for the server
// with the security policy that the server names for it, or with that of the
// channel (Part 4, 7.40.4).
func UserName(name, password string) Identity { return userName{name, &password} }

// String returns the name and not the password.
func (u userName) String() string { return fmt.Sprintf("UserName(%q, ***)", u.name) }

// GoString is String, for the verb %#v.
func (u userName) GoString() string { return u.String() }

func (userName) tokenType() ua.UserTokenType { return ua.UserTokenTypeUserName }

func (u userName) token(_ context.Context, p *tokenParams) (ua.ExtensionObject, ua.SignatureData, error) {
	t := &ua.UserNameIdentityToken{PolicyID: p.policy.PolicyID, UserName: u.name}
	var err error
	t.Password, t.EncryptionAlgorithm, err = p.sealSecret([]byte(*u.password), len(*u.password) <= maxLegacyPassword)
	return ua.ObjectOf(t), ua.SignatureData{}, err
}

// JWTProfile is the profile of JSON Web Tokens (Part 6, 6.5.2).
const JWTProfile = "http://opcfoundation.org/UA/UserToken#JWT"

type issuedToken struct {
	profile string
	source  func(ctx context.Context) (string, error)
}

// IssuedToken is a user who has a token from another service that the server
// trusts. profile is the URI of the token's type, as [JWTProfile]; where to get one
// stands in the IssuerEndpointURL of what [Discover] returns. source is asked for
// the token at each activation, the first one and those after a reconnect, so that
// it can bring a fresh one. The server takes the identity away when a token
// expires; [Client.ChangeUser] with the same identity renews it before that.
func IssuedToken(profile string, source func(ctx context.Context) (string, error)) Identity {
	return issuedToken{profile, source}
}

// String returns the profile and not the token.
func (i issuedToken) String() string { return fmt.Sprintf("IssuedToken(%q, ***)", i.profile) }

// GoString is String, for the verb %#v.
func (i issuedToken) GoString() string { return i.String() }

func (issuedToken) tokenType() ua.UserTokenType { return ua.UserTokenTypeIssuedToken }

// fits reports whether the token is of the type that a policy asks for.
func (i issuedToken) fits(t *ua.UserTokenPolicy) bool { return t.IssuedTokenType == i.profile }

func (i issuedToken) token(ctx context.Context, p *tokenParams) (ua.ExtensionObject, ua.SignatureData, error) {
	token, err := i.source(ctx)
	if err != nil {
		return ua.ExtensionObject{}, ua.SignatureData{}, fmt.Errorf("no token for %v: %w", i, err)
	}
	t := &ua.IssuedIdentityToken{PolicyID: p.policy.PolicyID}
	t.TokenData, t.EncryptionAlgorithm, err = p.sealSecret([]byte(token), false)
	return ua.ObjectOf(t), ua.SignatureData{}, err
}

type userCertificate struct{ cert *pki.Certificate }

// UserCertificate is a user who proves to have the key of a certificate.
func UserCertificate(cert *pki.Certificate) Identity { return userCertificate{cert} }

// String returns the thumbprint of the certificate.
func (u userCertificate) String() string {
	return fmt.Sprintf("UserCertificate(%x)", u.cert.Thumbprint)
}

// GoString is String, for the verb %#v.
func (u userCertificate) GoString() string { return u.String() }

func (userCertificate) tokenType() ua.UserTokenType { return ua.UserTokenTypeCertificate }

func (u userCertificate) token(_ context.Context, p *tokenParams) (ua.ExtensionObject, ua.SignatureData, error) {
	if !p.security.Secure() || p.sec.server == nil {
		return ua.ExtensionObject{}, ua.SignatureData{}, errors.New("server asks for a user certificate without a security policy to sign with")
	}
	sig, err := sign(p.security, u.cert.Key, p.sec.server.DER, p.serverNonce)
	return ua.ObjectOf(&ua.X509IdentityToken{PolicyID: p.policy.PolicyID, CertificateData: u.cert.DER}), sig, err
}

var errClearPassword = fmt.Errorf(
	"server wants the secret unencrypted over a channel that is not; Config.AllowClearPassword sends it: %w",
	ua.BadSecurityPolicyRejected)

// chooseToken finds the token policy of an endpoint that the identity uses. A
// policy that encrypts comes before one that does not.
func chooseToken(e *ua.EndpointDescription, user Identity) (*ua.UserTokenPolicy, *uasc.Policy, error) {
	want := user.tokenType()
	var plain *ua.UserTokenPolicy
	for i := range e.UserIdentityTokens {
		t := &e.UserIdentityTokens[i]
		if t.TokenType != want {
			continue
		}
		if picky, ok := user.(interface {
			fits(*ua.UserTokenPolicy) bool
		}); ok && !picky.fits(t) {
			continue
		}
		uri := t.SecurityPolicyURI
		if uri == "" {
			uri = e.SecurityPolicyURI
		}
		policy, ok := uasc.PolicyByURI(uri)
		if ok && policy.Deprecated && uri != e.SecurityPolicyURI {
			continue // whoever asks for such an endpoint gets its token policy, and nobody else
		}
		if ok && policy.Secure() {
			return t, policy, nil
		} else if ok && plain == nil {
			plain = t
		}
	}
	if plain != nil {
		return plain, uasc.PolicyNone, nil
	}
	if want == ua.UserTokenTypeAnonymous && len(e.UserIdentityTokens) == 0 {
		return new(ua.UserTokenPolicy), uasc.PolicyNone, nil // servers that list nothing mean this
	}
	var taken []string
	for i := range e.UserIdentityTokens {
		taken = append(taken, e.UserIdentityTokens[i].TokenType.String())
	}
	slices.Sort(taken)
	return nil, nil, fmt.Errorf("the endpoint does not take users of kind %v, only %s (Config.User): %w", want,
		strings.Join(slices.Compact(taken), " and "), ua.BadIdentityTokenRejected)
}

// sign makes the SignatureData over parts.
func sign(p *uasc.Policy, key crypto.Signer, parts ...[]byte) (ua.SignatureData, error) {
	sig, err := p.Sign(key, parts...)
	return ua.SignatureData{Algorithm: p.SignatureURI, Signature: sig}, err
}
