package sessionactor

import (
	"errors"
	"fmt"

	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// own is the server's certificate as the peer of a channel knows it: the one that
// the channel was opened with, or, where none plays a part in that, the newest.
func (s *Service) own(c *channelactor.Channel) *pki.Certificate {
	if c.Policy().Secure() {
		return c.OwnCertificate()
	}
	return s.config.PKI.CertificateFor(c.Policy().Curve)
}

// openSecret decrypts a password or an issued token of up to most bytes (Part 4,
// 7.40.2). What protects it is what the token policy announced, and nothing else:
// under a secure policy it is encrypted with that policy, on channels that encrypt
// as on others; under None it is as it is, and None is announced only where the
// channel encrypts. Every failure is the same refusal.
func (s *Service) openSecret(c *channelactor.Channel, policy *uasc.Policy, given challenge, data []byte, algorithm string, most int) ([]byte, error) {
	if !policy.Secure() {
		switch {
		case algorithm != "":
			return nil, refuseLogin(fmt.Errorf("credential encrypted with %.100q under a token policy that encrypts nothing", algorithm))
		case len(data) > most:
			return nil, refuseLogin(fmt.Errorf("credential of %d bytes", len(data)))
		}
		return data, nil
	}
	own := s.own(c)
	var secret []byte
	var err error
	switch kind := uasc.SecretKindOf(data); {
	case policy.Curve != nil && kind != uasc.ECCSecret:
		return nil, refuseLogin(fmt.Errorf("credential is no EccEncryptedSecret, and the token policy asks for %v", policy))
	case policy.Curve != nil:
		peer := c.PeerCertificate()
		secret, err = uasc.OpenECCSecret(policy, given.key, peer.DER, peer.Key, data, given.nonce)
	case kind == uasc.RSASecret:
		// The algorithm stands inside; what the token says is ignored (Part 4, 7.40.4).
		secret, err = uasc.OpenRSASecret(policy, own.Key, own.DER, data, given.nonce)
	case kind == uasc.ECCSecret:
		return nil, refuseLogin(fmt.Errorf("EccEncryptedSecret under %v", policy))
	default:
		switch algorithm {
		case policy.EncryptionURI:
		case "":
			return nil, refuseLogin(fmt.Errorf("credential is not encrypted, and the token policy asks for %v", policy))
		default:
			return nil, refuseLogin(fmt.Errorf("credential encrypted with %.100q, and the token policy asks for %v", algorithm, policy))
		}
		secret, err = uasc.DecryptSecret(policy, own.Key, data, given.nonce)
	}
	if err != nil {
		return nil, refuseLogin(errors.New("credential cannot be decrypted, or has an old nonce"))
	}
	if len(secret) > most {
		return nil, refuseLogin(fmt.Errorf("credential of %d bytes", len(secret)))
	}
	return secret, nil
}
