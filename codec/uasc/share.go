package uasc

import (
	"crypto/ecdh"
	"crypto/rand"
)

// Share is what one side brings to the keys of a token. It is used for one token
// and then forgotten.
type Share struct {
	// Nonce goes to the peer, in an OpenSecureChannel request or response. Under
	// the ECC policies it is the public part of an ephemeral key: its x and y
	// coordinates, without a prefix (Part 6, 6.8.1).
	Nonce []byte

	key *ecdh.PrivateKey // nil for RSA
}

// NewShare returns a fresh share of the policy's kind; an empty one for None.
// Making an ephemeral key takes some 15 microseconds for P-256, 150 for P-384.
func (p *Policy) NewShare() Share {
	switch {
	case p.NonceLength == 0:
		return Share{}
	case p.agree == nil:
		b := make([]byte, p.NonceLength)
		rand.Read(b) // Never fails: the runtime aborts where randomness is broken.
		return Share{Nonce: b}
	}
	key, err := p.agree.GenerateKey(rand.Reader)
	if err != nil {
		panic("uasc: no randomness for an ephemeral key: " + err.Error())
	}
	return Share{Nonce: key.PublicKey().Bytes()[1:], key: key}
}

// Nonce is the nonce of a fresh share, for who does not go on with it.
func (p *Policy) Nonce() []byte { return p.NewShare().Nonce }

// uncompressed is the prefix of a point that has both coordinates (SEC 1, 2.3.3).
const uncompressed = 4

// publicShare reads a peer's ephemeral key. What is not a point of the curve, the
// point at infinity included, is BadNonceInvalid: a key agreed on with such a
// point would betray the private one.
func (p *Policy) publicShare(nonce []byte) (*ecdh.PublicKey, error) {
	if len(nonce) != p.NonceLength {
		return nil, errNonce
	}
	key, err := p.agree.NewPublicKey(append([]byte{uncompressed}, nonce...))
	if err != nil {
		return nil, errNonce
	}
	return key, nil
}

// secret returns what both sides can compute from their own share and the
// other's, and nobody else can: the x coordinate of the common point.
func (s *Share) secret(p *Policy, remote []byte) ([]byte, error) {
	pub, err := p.publicShare(remote)
	if err != nil {
		return nil, err
	}
	if s.key == nil || s.key.Curve() != p.agree {
		return nil, errNonce
	}
	if s.key.PublicKey().Equal(pub) {
		return nil, errNonce // our own, sent back
	}
	secret, err := s.key.ECDH(pub)
	if err != nil {
		return nil, errNonce
	}
	return secret, nil
}
