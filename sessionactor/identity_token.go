package sessionactor

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// identityToken is a decoded and decrypted user identity token.
type identityToken struct {
	kind        IdentityKind
	name        string
	secret      string
	data        []byte
	tokenType   string
	certificate *pki.Parsed
	// refused is why the token proves nothing, whatever the program thinks of it.
	refused error
}

// refusal is a login that was refused. It is what guesses at a secret lead to, so
// that it is counted, and answered after a time that says nothing.
type refusal struct {
	status ua.StatusCode
	reason error
}

func (r *refusal) Error() string { return r.reason.Error() + ": " + r.status.Error() }

// Unwrap makes ua.StatusOf find the code for the peer.
func (r *refusal) Unwrap() []error { return []error{r.status, r.reason} }

// refuseLogin is the one answer to every failure of a secret.
func refuseLogin(reason error) error { return &refusal{ua.BadIdentityTokenRejected, reason} }

// proves reports whether a token proves anything, so that it takes the private key
// or the work of a signature to look at it.
func proves(token *ua.ExtensionObject) bool {
	switch token.Value.(type) {
	case nil, *ua.AnonymousIdentityToken:
		return false
	}
	return true
}

// readToken decodes a user identity token, and decrypts or verifies what it
// proves. What is not offered on this endpoint, or cannot be a token, is
// BadIdentityTokenInvalid. From the moment its policy is recognised, a token whose
// secret is bad is returned with the reason and with a secret that nobody sent:
// it goes the same way as a wrong password.
func (s *Service) readToken(c *channelactor.Channel, given challenge, req *ua.ActivateSessionRequest) (identityToken, error) {
	endpoints := s.config.Endpoints
	switch t := req.UserIdentityToken.Value.(type) {
	case nil:
		if !req.UserIdentityToken.TypeID.IsNull() {
			return identityToken{}, fmt.Errorf("unknown kind of identity token: %w", ua.BadIdentityTokenInvalid)
		}
		// A missing token stands for Anonymous (Part 4, 5.7.3.2).
		if !endpoints.Anonymous {
			return identityToken{}, fmt.Errorf("no identity token, and Anonymous is not offered: %w", ua.BadIdentityTokenRejected)
		}
		return identityToken{}, nil
	case *ua.AnonymousIdentityToken:
		_, err := endpoints.offered(c, t.PolicyID, Anonymous)
		return identityToken{}, err
	case *ua.UserNameIdentityToken:
		offer, err := endpoints.offered(c, t.PolicyID, UserName)
		if err != nil {
			return identityToken{}, err
		}
		return s.readUserName(c, offer.policy, given, t)
	case *ua.IssuedIdentityToken:
		offer, err := endpoints.offered(c, t.PolicyID, IssuedToken)
		if err != nil {
			return identityToken{}, err
		}
		token := identityToken{kind: IssuedToken, tokenType: offer.IssuedTokenType}
		token.data, token.refused = s.openSecret(c, offer.policy, given, t.TokenData, t.EncryptionAlgorithm, uasc.MaxEncryptedSecret)
		if token.refused != nil {
			token.data = []byte(rand.Text())
		}
		return token, nil
	case *ua.X509IdentityToken:
		offer, err := endpoints.offered(c, t.PolicyID, UserCertificate)
		if err != nil {
			return identityToken{}, err
		}
		return s.readCertificate(c, offer.policy, given.nonce, t, req.UserTokenSignature)
	default:
		return identityToken{}, fmt.Errorf("identity token %T is not supported: %w", t, ua.BadIdentityTokenInvalid)
	}
}

func (s *Service) readUserName(c *channelactor.Channel, policy *uasc.Policy, given challenge, t *ua.UserNameIdentityToken) (identityToken, error) {
	if t.UserName == "" {
		return identityToken{}, fmt.Errorf("empty user name: %w", ua.BadIdentityTokenInvalid)
	}
	token := identityToken{kind: UserName, name: t.UserName}
	var secret []byte
	if len(t.UserName) > maxUserName {
		token.name = cut(t.UserName, maxUserName)
		token.refused = refuseLogin(fmt.Errorf("user name of %d bytes", len(t.UserName)))
	} else {
		secret, token.refused = s.openSecret(c, policy, given, t.Password, t.EncryptionAlgorithm, uasc.MaxSecretLength)
	}
	if token.refused != nil {
		secret = []byte(rand.Text())
	}
	token.secret = string(secret)
	return token, nil
}

// readCertificate verifies that the client holds the key of a user's certificate
// (Part 4, 7.40.5), and that its owner is to be trusted: the list of users decides,
// which Part 12, 7.8.3 calls DefaultUserTokenGroup.
func (s *Service) readCertificate(c *channelactor.Channel, policy *uasc.Policy, nonce []byte, t *ua.X509IdentityToken, proof ua.SignatureData) (identityToken, error) {
	if !policy.Secure() {
		return identityToken{}, fmt.Errorf("user certificate under a policy that signs nothing: %w", ua.BadIdentityTokenInvalid)
	}
	certificate, err := pki.Intern(t.CertificateData)
	if err != nil {
		return identityToken{}, fmt.Errorf("user certificate: %w: %w", ua.BadIdentityTokenInvalid, err)
	}
	token := identityToken{kind: UserCertificate, certificate: certificate}
	if err := uasc.VerifyNonce(policy, certificate.Key, proof, s.own(c).Chain, nonce); err != nil {
		token.refused = &refusal{ua.BadUserSignatureInvalid, errors.New("signature of user certificate " + certificate.ThumbprintString())}
		return token, nil
	}
	err = s.config.PKI.Validate(t.CertificateData, pki.Check{
		Use: pki.UseUser, Peer: c.RemoteAddr().String(), MinKeyBits: policy.MinKeyBits, MaxKeyBits: policy.MaxKeyBits,
	})
	if err != nil {
		token.refused = refuseLogin(err)
		return token, nil
	}
	token.name = certificate.X509().Subject.String()
	return token, nil
}
