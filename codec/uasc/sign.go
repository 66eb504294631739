package uasc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"encoding/asn1"
	"math/big"
)

// Sign signs the concatenation of parts with the policy's asymmetric signature
// algorithm. It allocates and costs, with RSA, about a millisecond: not for an
// actor's goroutine.
func (p *Policy) Sign(key crypto.Signer, parts ...[]byte) ([]byte, error) {
	if !p.Secure() {
		return nil, errPolicy
	}
	if err := p.CheckKey(key.Public()); err != nil {
		return nil, err
	}
	if p.Curve != nil {
		return p.signECDSA(key, parts)
	}
	var opts crypto.SignerOpts = p.digest
	if p.pss {
		opts = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: p.digest}
	}
	return key.Sign(rand.Reader, p.sum(parts), opts)
}

// Verify checks a signature made by Sign. Every failure, a key that the policy
// does not allow included, is the same BadSecurityChecksFailed.
func (p *Policy) Verify(pub crypto.PublicKey, sig []byte, parts ...[]byte) error {
	if !p.Secure() || p.CheckKey(pub) != nil {
		return errSecurity
	}
	if p.Curve != nil {
		return p.verifyECDSA(pub.(*ecdsa.PublicKey), sig, parts)
	}
	key := pub.(*rsa.PublicKey)
	var err error
	if p.pss {
		// The salt's length is free for a verifier: peers differ in it, and no
		// length is weaker than another.
		err = rsa.VerifyPSS(key, p.digest, p.sum(parts), sig, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto})
	} else {
		err = rsa.VerifyPKCS1v15(key, p.digest, p.sum(parts), sig)
	}
	if err != nil {
		return errSecurity
	}
	return nil
}

func (p *Policy) sum(parts [][]byte) []byte {
	h := p.digest.New()
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}

// SignatureSize is the length in bytes of a signature by the owner of pub, 0 where
// the policy does not allow the key.
func (p *Policy) SignatureSize(pub crypto.PublicKey) int {
	if !p.Secure() || p.CheckKey(pub) != nil {
		return 0
	}
	if p.Curve != nil {
		return 2 * p.coordinate()
	}
	return pub.(*rsa.PublicKey).Size()
}

// coordinate is the length in bytes of a coordinate of the policy's curve, and of
// each half of a signature.
func (p *Policy) coordinate() int { return (p.Curve.Params().BitSize + 7) / 8 }

// signECDSA makes a signature as OPC UA sends it: r and s one behind the other,
// each in the length of a coordinate. Go, as X.509, has them in ASN.1.
func (p *Policy) signECDSA(key crypto.Signer, parts [][]byte) ([]byte, error) {
	der, err := key.Sign(rand.Reader, p.sum(parts), p.digest)
	if err != nil {
		return nil, err
	}
	var sig struct{ R, S *big.Int }
	if rest, err := asn1.Unmarshal(der, &sig); err != nil || len(rest) > 0 {
		return nil, errKeySize
	}
	n := p.coordinate()
	if sig.R.Sign() <= 0 || sig.S.Sign() <= 0 || sig.R.BitLen() > 8*n || sig.S.BitLen() > 8*n {
		return nil, errKeySize
	}
	out := make([]byte, 2*n)
	sig.R.FillBytes(out[:n])
	sig.S.FillBytes(out[n:])
	return out, nil
}

func (p *Policy) verifyECDSA(key *ecdsa.PublicKey, sig []byte, parts [][]byte) error {
	n := p.coordinate()
	if len(sig) != 2*n {
		return errSecurity
	}
	r, s := new(big.Int).SetBytes(sig[:n]), new(big.Int).SetBytes(sig[n:])
	if !ecdsa.Verify(key, p.sum(parts), r, s) {
		return errSecurity
	}
	return nil
}
