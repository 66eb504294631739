package uasc

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
)

// Mode is a message security mode, with the numbers of the standard's
// MessageSecurityMode (Part 4, 7.20). It is as wide as the wire's enumeration, so
// that converting an arbitrary number to it cannot turn it into a valid one.
type Mode int32

// The security modes. ModeInvalid is the zero value and never accepted.
const (
	ModeInvalid Mode = iota
	ModeNone
	ModeSign
	ModeSignAndEncrypt
)

// String returns the standard's name of the mode.
func (m Mode) String() string {
	switch m {
	case ModeNone:
		return "None"
	case ModeSign:
		return "Sign"
	case ModeSignAndEncrypt:
		return "SignAndEncrypt"
	}
	return "Invalid"
}

// Policy is a security policy: which algorithms, key lengths and URIs belong
// together (Part 7, security policies). Policies are immutable and few; compare
// them by pointer.
type Policy struct {
	// URI names the policy on the wire, Name in logs and configuration.
	URI  string
	Name string

	// NonceLength is the exact length of a channel nonce in bytes
	// (SecureChannelNonceLength), 0 for None. Under the ECC policies the nonce is
	// the public part of an ephemeral key, see [Share].
	NonceLength int

	// SignatureURI and EncryptionURI are the asymmetric algorithms' URIs as
	// SignatureData and user identity tokens name them. Both are empty for None
	// and for the ECC policies, whose algorithms have none and which encrypt
	// nothing with certificates' keys.
	SignatureURI  string
	EncryptionURI string

	// MinKeyBits and MaxKeyBits bound the RSA keys of certificates; 0 for the ECC
	// policies.
	MinKeyBits int
	MaxKeyBits int
	// Curve is that of the keys of certificates under the ECC policies, nil
	// under all others.
	Curve elliptic.Curve

	// StrictSequence selects the newer sequence number rule. It is false for
	// the RSA policies.
	StrictSequence bool
	// Deprecated says that the policy rests on broken algorithms and is there
	// for old devices only: it is neither offered nor chosen unless somebody
	// named it.
	Deprecated bool

	signingKey    int // bytes of a derived signing key
	encryptionKey int // bytes of a derived AES key
	signature     int // bytes of a symmetric signature
	block         int // bytes of a cipher block, and of its initialization vector

	digest  crypto.Hash // of asymmetric signatures
	derive  crypto.Hash // of P_hash, or of HKDF where keys are agreed on
	mac     *macAlgorithm
	padding padding     // of RSA encryption
	oaep    crypto.Hash // hash of OAEP
	pss     bool        // RSASSA-PSS instead of PKCS #1 v1.5
	agree   ecdh.Curve  // of ephemeral keys; nil for RSA
}

const algorithmBase = "http://opcfoundation.org/UA/SecurityPolicy#"

// The policies that this package speaks. ECC_curve25519 is absent because its
// cipher, ChaCha20Poly1305, is not in Go's standard library.
var (
	PolicyNone = &Policy{
		URI: algorithmBase + "None", Name: "None",
	}
	// Basic128Rsa15 is withdrawn: SHA-1, and an encryption whose padding has been
	// an oracle again and again. See decryptBlock for how it is kept from being
	// one here.
	Basic128Rsa15 = &Policy{
		URI: algorithmBase + "Basic128Rsa15", Name: "Basic128Rsa15", NonceLength: 16, Deprecated: true,
		SignatureURI: sigSHA1, EncryptionURI: encPKCS1, MinKeyBits: 2048, MaxKeyBits: 2048,
		signingKey: 16, encryptionKey: 16, signature: 20, block: 16,
		digest: crypto.SHA1, derive: crypto.SHA1, mac: macSHA1, padding: paddingPKCS1,
	}
	// Basic256 is withdrawn because of SHA-1.
	Basic256 = &Policy{
		URI: algorithmBase + "Basic256", Name: "Basic256", NonceLength: 32, Deprecated: true,
		SignatureURI: sigSHA1, EncryptionURI: encOAEP, MinKeyBits: 2048, MaxKeyBits: 2048,
		signingKey: 24, encryptionKey: 32, signature: 20, block: 16,
		digest: crypto.SHA1, derive: crypto.SHA1, mac: macSHA1, padding: paddingOAEP, oaep: crypto.SHA1,
	}
	Aes128Sha256RsaOaep = &Policy{
		URI: algorithmBase + "Aes128_Sha256_RsaOaep", Name: "Aes128_Sha256_RsaOaep", NonceLength: 32,
		SignatureURI: sigPKCS1, EncryptionURI: encOAEP, MinKeyBits: 2048, MaxKeyBits: 4096,
		signingKey: 32, encryptionKey: 16, signature: 32, block: 16,
		digest: crypto.SHA256, derive: crypto.SHA256, mac: macSHA256, padding: paddingOAEP, oaep: crypto.SHA1,
	}
	Basic256Sha256 = &Policy{
		URI: algorithmBase + "Basic256Sha256", Name: "Basic256Sha256", NonceLength: 32,
		SignatureURI: sigPKCS1, EncryptionURI: encOAEP, MinKeyBits: 2048, MaxKeyBits: 4096,
		signingKey: 32, encryptionKey: 32, signature: 32, block: 16,
		digest: crypto.SHA256, derive: crypto.SHA256, mac: macSHA256, padding: paddingOAEP, oaep: crypto.SHA1,
	}
	Aes256Sha256RsaPss = &Policy{
		URI: algorithmBase + "Aes256_Sha256_RsaPss", Name: "Aes256_Sha256_RsaPss", NonceLength: 32,
		SignatureURI: sigPSS, EncryptionURI: encOAEP256, MinKeyBits: 2048, MaxKeyBits: 4096,
		signingKey: 32, encryptionKey: 32, signature: 32, block: 16,
		digest: crypto.SHA256, derive: crypto.SHA256, mac: macSHA256, padding: paddingOAEP, oaep: crypto.SHA256, pss: true,
	}
	ECCNistP256 = &Policy{
		URI: algorithmBase + "ECC_nistP256", Name: "ECC_nistP256", NonceLength: 64,
		Curve: elliptic.P256(), StrictSequence: true,
		signingKey: 32, encryptionKey: 16, signature: 32, block: 16,
		digest: crypto.SHA256, derive: crypto.SHA256, mac: macSHA256, agree: ecdh.P256(),
	}
	ECCNistP384 = &Policy{
		URI: algorithmBase + "ECC_nistP384", Name: "ECC_nistP384", NonceLength: 96,
		Curve: elliptic.P384(), StrictSequence: true,
		signingKey: 48, encryptionKey: 32, signature: 48, block: 16,
		digest: crypto.SHA384, derive: crypto.SHA384, mac: macSHA384, agree: ecdh.P384(),
	}
)

const (
	sigSHA1    = "http://www.w3.org/2000/09/xmldsig#rsa-sha1"
	sigPKCS1   = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
	sigPSS     = "http://opcfoundation.org/UA/security/rsa-pss-sha2-256"
	encPKCS1   = "http://www.w3.org/2001/04/xmlenc#rsa-1_5"
	encOAEP    = "http://www.w3.org/2001/04/xmlenc#rsa-oaep"
	encOAEP256 = "http://opcfoundation.org/UA/security/rsa-oaep-sha2-256"
)

var policies = [...]*Policy{
	PolicyNone, Basic128Rsa15, Basic256, Aes128Sha256RsaOaep, Basic256Sha256, Aes256Sha256RsaPss, ECCNistP256, ECCNistP384,
}

// Policies returns all policies, weakest first.
func Policies() []*Policy { return append([]*Policy(nil), policies[:]...) }

// PolicyByURI finds a policy by its URI. It knows nothing of what a server
// offers: an unknown or unoffered policy must be refused before anything
// expensive is done for its sender.
func PolicyByURI(uri string) (*Policy, bool) {
	for _, p := range policies {
		if p.URI == uri {
			return p, true
		}
	}
	return nil, false
}

// Secure reports whether the policy secures anything.
func (p *Policy) Secure() bool { return p.signature != 0 }

// String returns the policy's name.
func (p *Policy) String() string { return p.Name }

// CheckMode returns BadSecurityModeRejected unless mode can be used with the
// policy: None with None, Sign and SignAndEncrypt with every other.
func (p *Policy) CheckMode(mode Mode) error {
	ok := mode == ModeNone
	if p.Secure() {
		ok = mode == ModeSign || mode == ModeSignAndEncrypt
	}
	if !ok {
		return errMode
	}
	return nil
}

// CheckNonce returns BadNonceInvalid unless a peer's channel nonce has exactly
// the policy's length and is not all zero, and under the ECC policies unless it
// is a point of their curve. Under None it is ignored (Part 6, 6.7.4).
func (p *Policy) CheckNonce(nonce []byte) error {
	if !p.Secure() {
		return nil
	}
	if len(nonce) != p.NonceLength {
		return errNonce
	}
	if p.agree != nil {
		_, err := p.publicShare(nonce)
		return err
	}
	for _, b := range nonce {
		if b != 0 {
			return nil
		}
	}
	return errNonce
}

// CheckKey returns BadCertificateInvalid unless pub is a key that the policy
// allows: RSA of a certain size, or ECDSA on the policy's curve. Under None every
// key passes.
func (p *Policy) CheckKey(pub crypto.PublicKey) error {
	if !p.Secure() {
		return nil
	}
	switch k := pub.(type) {
	case *rsa.PublicKey:
		if p.Curve == nil && k.N != nil && k.N.BitLen() >= p.MinKeyBits && k.N.BitLen() <= p.MaxKeyBits {
			return nil
		}
	case *ecdsa.PublicKey:
		if p.Curve != nil && k.Curve == p.Curve {
			return nil
		}
	}
	return errKeySize
}
