package pki

import (
	"bytes"
	"crypto"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"weak"
)

// Parsed is a certificate of a peer. What it says is immutable, and it is shared: see [Intern]. It keeps what a channel
// needs for its whole life; the rest of the X.509 structure is three times as large and made on demand.
type Parsed struct {
	// DER is the certificate alone, without any chain.
	DER []byte
	// Thumbprint is the SHA-1 of DER, which the protocol uses as a name (Part 6, 6.7.2.3). Two certificates
	// with the same thumbprint can be made on purpose, so it never decides over trust.
	Thumbprint [20]byte
	// Key is the public key, of one of the types of [KeyType]. Its size and form have been checked.
	Key crypto.PublicKey
	// ApplicationURIs are the URIs of the subject alternative name; an application has exactly one.
	ApplicationURIs []string

	verdict atomic.Pointer[verdict] // nil until a store has accepted it
}

// interned holds the living certificates by the SHA-256 of their DER. The pointers are weak, so that the
// last channel that closes frees the certificate, and strangers cannot fill the memory.
var interned struct {
	mu sync.Mutex
	m  map[[32]byte]weak.Pointer[Parsed]
}

// Intern parses the first certificate of a blob, or returns the one that was parsed before and is still
// in use somewhere: ten thousand channels of one client share a single copy. The blob is copied.
// Intern does not validate: it fails when the blob is too large, malformed, or has an unusable key.
func Intern(blob []byte) (*Parsed, error) {
	if len(blob) == 0 || len(blob) > maxBlob {
		return nil, errors.New("certificate is empty or too large")
	}
	n, err := derLen(blob)
	if err != nil {
		return nil, err
	}
	der := blob[:n]
	sum := sha256.Sum256(der)
	interned.mu.Lock()
	p := interned.m[sum].Value()
	interned.mu.Unlock()
	if p != nil {
		return p, nil
	}
	if p, err = parse(bytes.Clone(der)); err != nil {
		return nil, err
	}
	interned.mu.Lock()
	defer interned.mu.Unlock()
	if first := interned.m[sum].Value(); first != nil {
		return first, nil // another goroutine was faster
	}
	if interned.m == nil {
		interned.m = make(map[[32]byte]weak.Pointer[Parsed])
	}
	interned.m[sum] = weak.Make(p)
	runtime.AddCleanup(p, forget, sum)
	return p, nil
}

// forget removes the entry of a certificate that was freed, unless a new copy has taken its place.
func forget(sum [32]byte) {
	interned.mu.Lock()
	defer interned.mu.Unlock()
	if p, ok := interned.m[sum]; ok && p.Value() == nil {
		delete(interned.m, sum)
	}
}

// parse makes a Parsed that keeps der.
func parse(der []byte) (*Parsed, error) {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	if cert.Version != 3 {
		return nil, errors.New("not an X.509 v3 certificate")
	}
	// The frame of all policies together; Validate checks the narrower one of a channel's policy.
	key := cert.PublicKey
	if err := checkKey(key, minKeyBits, maxKeyBits); err != nil {
		return nil, err
	}
	uris, err := applicationURIs(cert)
	if err != nil {
		return nil, err
	}
	return &Parsed{DER: der, Thumbprint: sha1.Sum(der), Key: key, ApplicationURIs: uris}, nil
}

// X509 parses the whole certificate. The result may be kept, but is three times as large as p.
func (p *Parsed) X509() *x509.Certificate {
	cert, err := x509.ParseCertificate(p.DER)
	if err != nil {
		panic("pki: certificate that was parsed before: " + err.Error())
	}
	return cert
}

// ThumbprintString is the thumbprint in hexadecimal: the certificate's name in the log and on disk.
func (p *Parsed) ThumbprintString() string { return hex.EncodeToString(p.Thumbprint[:]) }

// HasApplicationURI reports whether the certificate names exactly this application. The whole URI must be
// equal, byte for byte: accepting a part of it has been a hole elsewhere.
func (p *Parsed) HasApplicationURI(uri string) bool {
	return len(p.ApplicationURIs) == 1 && p.ApplicationURIs[0] == uri
}

// hasHost reports whether the certificate names the host, as a DNS name or as an address. There are no
// wildcards. Addresses written as a DNS name, as widespread tools do it, count too.
func hasHost(cert *x509.Certificate, host string) bool {
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if host == "" {
		return false
	}
	if ip := net.ParseIP(host); ip != nil {
		for _, own := range cert.IPAddresses {
			if own.Equal(ip) {
				return true
			}
		}
	}
	for _, name := range cert.DNSNames {
		if strings.EqualFold(strings.TrimSuffix(name, "."), host) {
			return true
		}
	}
	return false
}
