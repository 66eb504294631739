package client

import (
	"crypto"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// Identity is who a session acts for: [Anonymous], [UserName] or
// [UserCertificate]. It can be printed; secrets are left out.
type Identity interface {
	fmt.Stringer
	// tokenType is the kind of UserTokenPolicy that the identity needs.
	tokenType() ua.UserTokenType
	// token makes the identity token for one activation, and the signature
	// that proves it.
	token(p *tokenParams) (ua.ExtensionObject, ua.SignatureData, error)
}

// tokenParams is what an identity token is made for.
type tokenParams struct {
	policy      *ua.UserTokenPolicy
	security    *uasc.Policy // for the secret or the signature
	sec         *securing    // of the channel
	serverNonce []byte
	clear       bool // Config.AllowClearPassword
}

type anonymous struct{}

// Anonymous is nobody in particular.
func Anonymous() Identity { return anonymous{} }

func (anonymous) String() string { return "Anonymous" }

// GoString is String, for the verb %#v.
func (a anonymous) GoString() string { return a.String() }

func (anonymous) tokenType() ua.UserTokenType { return ua.UserTokenTypeAnonymous }

func (anonymous) token(p *tokenParams) (ua.ExtensionObject, ua.SignatureData, error) {
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
// channel (Part 4, 7.41.4).
func UserName(name, password string) Identity { return userName{name, &password} }

// String returns the name and not the password.
func (u userName) String() string { return fmt.Sprintf("UserName(%q, ***)", u.name) }

// GoString is String, for the verb %#v.
func (u userName) GoString() string { return u.String() }

func (userName) tokenType() ua.UserTokenType { return ua.UserTokenTypeUserName }

func (u userName) token(p *tokenParams) (ua.ExtensionObject, ua.SignatureData, error) {
	t := &ua.UserNameIdentityToken{PolicyID: p.policy.PolicyID, UserName: u.name, Password: []byte(*u.password)}
	if !p.security.Secure() {
		if p.sec.mode != uasc.ModeSignAndEncrypt && !p.clear {
			return ua.ExtensionObject{}, ua.SignatureData{}, errClearPassword
		}
		return ua.ObjectOf(t), ua.SignatureData{}, nil
	}
	if p.sec.server == nil {
		return ua.ExtensionObject{}, ua.SignatureData{},
			fmt.Errorf("server has no certificate to encrypt the password for: %w", ua.BadCertificateInvalid)
	}
	if len(t.Password) > maxLegacyPassword {
		return ua.ExtensionObject{}, ua.SignatureData{},
			fmt.Errorf("password longer than %d bytes: %w", maxLegacyPassword, ua.BadIdentityTokenInvalid)
	}
	var err error
	t.EncryptionAlgorithm = p.security.EncryptionURI
	t.Password, err = uasc.EncryptSecret(p.security, p.sec.server.Key, t.Password, p.serverNonce)
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

func (u userCertificate) token(p *tokenParams) (ua.ExtensionObject, ua.SignatureData, error) {
	if !p.security.Secure() || p.sec.server == nil {
		return ua.ExtensionObject{}, ua.SignatureData{}, errors.New("server asks for a user certificate without a security policy to sign with")
	}
	sig, err := sign(p.security, u.cert.Key, p.sec.server.DER, p.serverNonce)
	return ua.ObjectOf(&ua.X509IdentityToken{PolicyID: p.policy.PolicyID, CertificateData: u.cert.DER}), sig, err
}

var errClearPassword = fmt.Errorf(
	"server wants the password unencrypted over a channel that is not; Config.AllowClearPassword sends it: %w",
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
		uri := t.SecurityPolicyURI
		if uri == "" {
			uri = e.SecurityPolicyURI
		}
		if policy, ok := uasc.PolicyByURI(uri); ok && policy.Secure() {
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
