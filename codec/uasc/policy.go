package uasc

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"hash"
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
	// (SecureChannelNonceLength), 0 for None.
	NonceLength int

	// SignatureURI and EncryptionURI are the asymmetric algorithms' URIs as
	// SignatureData and user identity tokens name them; empty for None.
	SignatureURI  string
	EncryptionURI string

	// MinKeyBits and MaxKeyBits bound the RSA keys of certificates.
	MinKeyBits int
	MaxKeyBits int

	// StrictSequence selects the newer sequence number rule. It is false for
	// the RSA policies.
	StrictSequence bool

	signingKey    int // bytes of a derived signing key
	encryptionKey int // bytes of a derived AES key
	signature     int // bytes of a symmetric signature
	block         int // bytes of a cipher block, and of its initialization vector

	pss  bool             // RSASSA-PSS instead of PKCS #1 v1.5
	oaep crypto.Hash      // hash of OAEP
	hash func() hash.Hash // its constructor
}

const algorithmBase = "http://opcfoundation.org/UA/SecurityPolicy#"

// The policies that this package speaks. Basic128Rsa15 and Basic256 are
// withdrawn and deliberately absent.
var (
	PolicyNone = &Policy{
		URI: algorithmBase + "None", Name: "None",
	}
	Basic256Sha256 = &Policy{
		URI: algorithmBase + "Basic256Sha256", Name: "Basic256Sha256", NonceLength: 32,
		SignatureURI: sigPKCS1, EncryptionURI: encOAEP, MinKeyBits: 2048, MaxKeyBits: 4096,
		signingKey: 32, encryptionKey: 32, signature: 32, block: 16, oaep: crypto.SHA1, hash: sha1.New,
	}
	Aes128Sha256RsaOaep = &Policy{
		URI: algorithmBase + "Aes128_Sha256_RsaOaep", Name: "Aes128_Sha256_RsaOaep", NonceLength: 32,
		SignatureURI: sigPKCS1, EncryptionURI: encOAEP, MinKeyBits: 2048, MaxKeyBits: 4096,
		signingKey: 32, encryptionKey: 16, signature: 32, block: 16, oaep: crypto.SHA1, hash: sha1.New,
	}
	Aes256Sha256RsaPss = &Policy{
		URI: algorithmBase + "Aes256_Sha256_RsaPss", Name: "Aes256_Sha256_RsaPss", NonceLength: 32,
		SignatureURI: sigPSS, EncryptionURI: encOAEP256, MinKeyBits: 2048, MaxKeyBits: 4096,
		signingKey: 32, encryptionKey: 32, signature: 32, block: 16, pss: true, oaep: crypto.SHA256, hash: sha256.New,
	}
)

const (
	sigPKCS1   = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
	sigPSS     = "http://opcfoundation.org/UA/security/rsa-pss-sha2-256"
	encOAEP    = "http://www.w3.org/2001/04/xmlenc#rsa-oaep"
	encOAEP256 = "http://opcfoundation.org/UA/security/rsa-oaep-sha2-256"
)

var policies = [...]*Policy{PolicyNone, Aes128Sha256RsaOaep, Basic256Sha256, Aes256Sha256RsaPss}

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

// Nonce returns a fresh channel nonce of the policy's length; nil for None.
func (p *Policy) Nonce() []byte {
	if p.NonceLength == 0 {
		return nil
	}
	b := make([]byte, p.NonceLength)
	rand.Read(b) // Never fails: the runtime aborts where randomness is broken.
	return b
}

// CheckNonce returns BadNonceInvalid unless a peer's channel nonce has exactly
// the policy's length and is not all zero. Under None it is ignored (Part 6,
// 6.7.4).
func (p *Policy) CheckNonce(nonce []byte) error {
	if !p.Secure() {
		return nil
	}
	if len(nonce) != p.NonceLength {
		return errNonce
	}
	for _, b := range nonce {
		if b != 0 {
			return nil
		}
	}
	return errNonce
}

// CheckKey returns BadCertificateInvalid unless pub is an RSA key of a size
// that the policy allows. Under None every key passes.
func (p *Policy) CheckKey(pub crypto.PublicKey) error {
	if !p.Secure() {
		return nil
	}
	k, ok := pub.(*rsa.PublicKey)
	if !ok || k.N == nil || k.N.BitLen() < p.MinKeyBits || k.N.BitLen() > p.MaxKeyBits {
		return errKeySize
	}
	return nil
}
