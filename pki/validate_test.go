package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"math/big"
	"net/url"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

const (
	good   = ua.StatusCode(0)
	hidden = ua.BadSecurityChecksFailed
)

// matrixCase is one certificate: what the store holds, what the peer presents, and what must come of it.
type matrixCase struct {
	name    string
	prepare func(t *testing.T, s *Store) []byte
	check   Check
	status  ua.StatusCode // what the peer is told
	detail  ua.StatusCode // what the log says
}

// trustedSelfSigned is a certificate that is flawed, but trusted.
func trustedSelfSigned(changes ...change) func(*testing.T, *Store) []byte {
	return func(t *testing.T, s *Store) []byte {
		der := selfSigned(t, changes...)
		ok(t, s.Trust(der))
		return der
	}
}

func untrusted(changes ...change) func(*testing.T, *Store) []byte {
	return func(t *testing.T, _ *Store) []byte { return selfSigned(t, changes...) }
}

var client = Check{ApplicationURI: peerURI}

// validationMatrix covers the steps of Part 4, 6.1.3, and that the trust list is asked before anything
// is told (Part 6, 6.7.6).
var validationMatrix = []matrixCase{
	{"self-signed, trusted", trustedSelfSigned(), client, good, 0},
	{"self-signed, not trusted", untrusted(), client, hidden, ua.BadCertificateUntrusted},
	{"expired", trustedSelfSigned(setTimes(-2*time.Hour, -time.Hour)), client, ua.BadCertificateTimeInvalid, ua.BadCertificateTimeInvalid},
	{"not yet valid", trustedSelfSigned(setTimes(time.Hour, 2*time.Hour)), client, ua.BadCertificateTimeInvalid, ua.BadCertificateTimeInvalid},
	{"expired, not trusted", untrusted(setTimes(-2*time.Hour, -time.Hour)), client, hidden, ua.BadCertificateUntrusted},
	{"other URI", trustedSelfSigned(setURIs("urn:test:other")), client, ua.BadCertificateURIInvalid, ua.BadCertificateURIInvalid},
	{"URI that begins with the right one", trustedSelfSigned(setURIs(peerURI + "2")), client, ua.BadCertificateURIInvalid, ua.BadCertificateURIInvalid},
	{"URI that is a part of the right one", trustedSelfSigned(setURIs("urn:test:pee")), client, ua.BadCertificateURIInvalid, ua.BadCertificateURIInvalid},
	{"URI in other letters", trustedSelfSigned(setURIs("urn:test:PEER")), client, ua.BadCertificateURIInvalid, ua.BadCertificateURIInvalid},
	{"the right URI beside another", trustedSelfSigned(setURIs("urn:test:other", peerURI)), client, ua.BadCertificateURIInvalid, ua.BadCertificateURIInvalid},
	{"no URI", trustedSelfSigned(setURIs()), client, ua.BadCertificateURIInvalid, ua.BadCertificateURIInvalid},
	{"URI not asked for", trustedSelfSigned(setURIs("urn:test:other")), Check{}, good, 0},
	{"DNS name", trustedSelfSigned(), Check{Use: UseServer, Hostname: "PEER.example."}, good, 0},
	{"IPv4 address", trustedSelfSigned(), Check{Use: UseServer, Hostname: "192.0.2.7"}, good, 0},
	{"IPv6 address", trustedSelfSigned(), Check{Use: UseServer, Hostname: "[2001:db8:0::7]"}, good, 0},
	{"other host", trustedSelfSigned(), Check{Use: UseServer, Hostname: "eer.example"}, ua.BadCertificateHostNameInvalid, ua.BadCertificateHostNameInvalid},
	{"other address", trustedSelfSigned(), Check{Use: UseServer, Hostname: "192.0.2.70"}, ua.BadCertificateHostNameInvalid, ua.BadCertificateHostNameInvalid},
	{
		"wildcards do not count", trustedSelfSigned(func(c *x509.Certificate) { c.DNSNames = []string{"*.example"} }),
		Check{Use: UseServer, Hostname: "peer.example"},
		ua.BadCertificateHostNameInvalid, ua.BadCertificateHostNameInvalid,
	},
	{
		"key usage without signatures", trustedSelfSigned(func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment }),
		client, ua.BadCertificateUseNotAllowed, ua.BadCertificateUseNotAllowed,
	},
	{
		"key usage without encryption", trustedSelfSigned(func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature }),
		client, ua.BadCertificateUseNotAllowed, ua.BadCertificateUseNotAllowed,
	},
	{"no key usage extensions", trustedSelfSigned(func(c *x509.Certificate) { c.KeyUsage, c.ExtKeyUsage = 0, nil }), client, good, 0},
	{
		"a server's certificate from a client", trustedSelfSigned(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }),
		client, ua.BadCertificateUseNotAllowed, ua.BadCertificateUseNotAllowed,
	},
	{
		"a client's certificate from a server", trustedSelfSigned(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }),
		Check{Use: UseServer},
		ua.BadCertificateUseNotAllowed, ua.BadCertificateUseNotAllowed,
	},
	{
		"extended key usage for other purposes", trustedSelfSigned(func(c *x509.Certificate) {
			c.ExtKeyUsage = nil
			c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 2, 3}}
		}),
		client, ua.BadCertificateUseNotAllowed, ua.BadCertificateUseNotAllowed,
	},
	{
		"unknown critical extension", trustedSelfSigned(func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3, 4}, Critical: true, Value: []byte{5, 0}}}
		}),
		client, ua.BadCertificateUseNotAllowed, ua.BadCertificateUseNotAllowed,
	},
	{
		"signed with SHA-1", trustedSelfSigned(func(c *x509.Certificate) { c.SignatureAlgorithm = x509.SHA1WithRSA }),
		client, ua.BadCertificatePolicyCheckFailed, ua.BadCertificatePolicyCheckFailed,
	},
	{"key too short for the policy", trustedSelfSigned(), Check{MinKeyBits: 3072}, ua.BadCertificatePolicyCheckFailed, ua.BadCertificatePolicyCheckFailed},
	{"signed with SHA-1, not trusted", untrusted(func(c *x509.Certificate) { c.SignatureAlgorithm = x509.SHA1WithRSA }), client, hidden, ua.BadCertificatePolicyCheckFailed},
	{"signed with RSA-PSS", trustedSelfSigned(func(c *x509.Certificate) { c.SignatureAlgorithm = x509.SHA256WithRSAPSS }), client, good, 0},

	{"look-alike of a trusted one", func(t *testing.T, s *Store) []byte {
		ok(t, s.Trust(selfSigned(t)))
		return sign(t, applicationTemplate(), nil, &strangerKey().PublicKey, strangerKey())
	}, client, hidden, ua.BadCertificateUntrusted},
	{"changed copy of a trusted one", func(t *testing.T, s *Store) []byte {
		der := selfSigned(t)
		ok(t, s.Trust(der))
		return withSerial(t, der, 7)
	}, client, hidden, ua.BadCertificateChainIncomplete},
	{"a trusted one's subject as issuer", func(t *testing.T, s *Store) []byte {
		// The trusted application is no authority, so it must not be able to vouch for others.
		der := selfSigned(t)
		ok(t, s.Trust(der))
		return sign(t, applicationTemplate(func(c *x509.Certificate) { c.Subject.CommonName = "child" }), mustParse(t, der), &strangerKey().PublicKey, peerKey())
	}, client, hidden, ua.BadCertificateIssuerUseNotAllowed},
	{"no longer trusted", func(t *testing.T, s *Store) []byte {
		der := selfSigned(t)
		ok(t, s.Trust(der))
		found, err := s.Untrust(der)
		if !found {
			t.Error("Untrust did not find it")
		}
		ok(t, err)
		return der
	}, client, hidden, ua.BadCertificateUntrusted},
	{"our own certificate", func(t *testing.T, s *Store) []byte {
		ok(t, s.Trust(s.Certificate().DER))
		return s.Certificate().DER
	}, Check{}, hidden, ua.BadCertificateUseNotAllowed},
	{"our own key in another certificate", func(t *testing.T, s *Store) []byte {
		der := sign(t, applicationTemplate(), nil, &ownKey().PublicKey, ownKey())
		ok(t, s.Trust(der))
		return der
	}, client, hidden, ua.BadCertificateUseNotAllowed},

	{"issued by a trusted root", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.Trust(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour)))
		return h.byRoot(t)
	}, client, good, 0},
	{"no revocation list", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.Trust(h.rootDER))
		return h.byRoot(t)
	}, client, ua.BadCertificateRevocationUnknown, ua.BadCertificateRevocationUnknown},
	{"revoked", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.Trust(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour, 1000)))
		return h.byRoot(t)
	}, client, ua.BadCertificateRevoked, ua.BadCertificateRevoked},
	{"revoked, and trusted by itself", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.AddIssuer(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour, 1000)))
		der := h.byRoot(t)
		ok(t, s.Trust(der))
		return der
	}, client, ua.BadCertificateRevoked, ua.BadCertificateRevoked},
	{"outdated revocation list", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.Trust(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), -time.Hour)))
		return h.byRoot(t)
	}, client, ua.BadCertificateRevocationUnknown, ua.BadCertificateRevocationUnknown},
	{"revoked by an outdated list", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.Trust(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), -time.Hour, 1000)))
		return h.byRoot(t)
	}, client, ua.BadCertificateRevoked, ua.BadCertificateRevoked},
	{"revocation list of a namesake", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.Trust(h.rootDER))
		namesake := mustParse(t, sign(t, authorityTemplate("root", 1), nil, &strangerKey().PublicKey, strangerKey()))
		ok(t, s.AddCRL(crl(t, namesake, strangerKey(), time.Hour)))
		return h.byRoot(t)
	}, client, ua.BadCertificateRevocationUnknown, ua.BadCertificateRevocationUnknown},
	{"chain over an authority that the peer sends", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.Trust(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour)))
		ok(t, s.AddCRL(crl(t, h.sub, subKey(), time.Hour)))
		return join(h.bySub(t), h.subDER)
	}, client, good, 0},
	{"chain with the root sent as well", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.Trust(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour)))
		ok(t, s.AddCRL(crl(t, h.sub, subKey(), time.Hour)))
		return join(h.bySub(t), h.subDER, h.rootDER)
	}, client, good, 0},
	{"chain over a known authority", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.Trust(h.subDER))
		ok(t, s.AddIssuer(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour)))
		ok(t, s.AddCRL(crl(t, h.sub, subKey(), time.Hour)))
		return h.bySub(t)
	}, client, good, 0},
	{"authority revoked", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.Trust(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour, 2)))
		ok(t, s.AddCRL(crl(t, h.sub, subKey(), time.Hour)))
		return join(h.bySub(t), h.subDER)
	}, client, ua.BadCertificateIssuerRevoked, ua.BadCertificateIssuerRevoked},
	{"authority without revocation list", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.Trust(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.sub, subKey(), time.Hour)))
		return join(h.bySub(t), h.subDER)
	}, client, ua.BadCertificateIssuerRevocationUnknown, ua.BadCertificateIssuerRevocationUnknown},
	{"authority missing", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.Trust(h.rootDER))
		return h.bySub(t)
	}, client, hidden, ua.BadCertificateChainIncomplete},
	{"trusted by itself, but root missing", func(t *testing.T, s *Store) []byte {
		der := newHierarchy(t, nil, nil).byRoot(t)
		ok(t, s.Trust(der))
		return der
	}, client, hidden, ua.BadCertificateChainIncomplete},
	{"root known, but nobody trusted", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.AddIssuer(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour)))
		return h.byRoot(t)
	}, client, hidden, ua.BadCertificateUntrusted},
	{"root sent by the peer only", func(t *testing.T, _ *Store) []byte {
		h := newHierarchy(t, nil, nil)
		return join(h.byRoot(t), h.rootDER)
	}, client, hidden, ua.BadCertificateUntrusted},
	{"trusted by itself, root known", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.AddIssuer(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour)))
		der := h.byRoot(t)
		ok(t, s.Trust(der))
		return der
	}, client, good, 0},
	{"root expired", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, setTimes(-3*time.Hour, -2*time.Hour), nil)
		ok(t, s.Trust(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour)))
		return h.byRoot(t)
	}, client, ua.BadCertificateIssuerTimeInvalid, ua.BadCertificateIssuerTimeInvalid},
	{"issuer is no authority", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, func(c *x509.Certificate) { c.IsCA = false })
		ok(t, s.Trust(h.rootDER))
		return join(h.bySub(t), h.subDER)
	}, client, hidden, ua.BadCertificateIssuerUseNotAllowed},
	{"issuer may not sign certificates", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature })
		ok(t, s.Trust(h.rootDER))
		return join(h.bySub(t), h.subDER)
	}, client, hidden, ua.BadCertificateIssuerUseNotAllowed},
	{"more authorities than the root allows", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, func(c *x509.Certificate) { c.MaxPathLenZero = true }, nil)
		ok(t, s.Trust(h.rootDER))
		return join(h.bySub(t), h.subDER)
	}, client, hidden, ua.BadCertificateIssuerUseNotAllowed},
	{"host outside the name constraints of the root", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, func(c *x509.Certificate) {
			c.PermittedDNSDomainsCritical = true
			c.PermittedDNSDomains = []string{"elsewhere.example"}
		}, nil)
		ok(t, s.Trust(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour)))
		return h.byRoot(t)
	}, client, hidden, ua.BadCertificateIssuerUseNotAllowed},
	{"URIs constrained by the root", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, func(c *x509.Certificate) { c.PermittedURIDomains = []string{"example"} }, nil)
		ok(t, s.Trust(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour)))
		return h.byRoot(t)
	}, client, hidden, ua.BadCertificateIssuerUseNotAllowed},
	{"revocation list signed with SHA-1", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.Trust(h.rootDER))
		template := &x509.RevocationList{
			Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(time.Hour),
			SignatureAlgorithm: x509.SHA1WithRSA,
		}
		der, err := x509.CreateRevocationList(rand.Reader, template, h.root, rootKey())
		ok(t, err)
		ok(t, s.AddCRL(der))
		return h.byRoot(t)
	}, client, ua.BadCertificateRevocationUnknown, ua.BadCertificateRevocationUnknown},
	{"signed with MD5", func(t *testing.T, s *Store) []byte {
		sha256WithRSA, md5WithRSA := []byte{0xf7, 0x0d, 0x01, 0x01, 0x0b}, []byte{0xf7, 0x0d, 0x01, 0x01, 0x04}
		der := bytes.ReplaceAll(selfSigned(t), sha256WithRSA, md5WithRSA)
		ok(t, s.Trust(der))
		return der
	}, client, ua.BadCertificatePolicyCheckFailed, ua.BadCertificatePolicyCheckFailed},
	{"host within the name constraints of the root", func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, func(c *x509.Certificate) {
			c.PermittedDNSDomainsCritical = true
			c.PermittedDNSDomains = []string{"example"}
		}, nil)
		ok(t, s.Trust(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour)))
		return h.byRoot(t)
	}, client, good, 0},
	{"two authorities in a circle", func(t *testing.T, _ *Store) []byte {
		a := mustParse(t, sign(t, authorityTemplate("sub", 1), authorityTemplate("root", 2), &subKey().PublicKey, rootKey()))
		b := mustParse(t, sign(t, authorityTemplate("root", 2), authorityTemplate("sub", 1), &rootKey().PublicKey, subKey()))
		leaf := sign(t, applicationTemplate(), a, &peerKey().PublicKey, subKey())
		return join(leaf, a.Raw, b.Raw)
	}, client, hidden, ua.BadCertificateChainIncomplete},

	{"a user's certificate", func(t *testing.T, s *Store) []byte {
		der := selfSigned(t, setURIs(), func(c *x509.Certificate) { c.KeyUsage, c.ExtKeyUsage = x509.KeyUsageDigitalSignature, nil })
		ok(t, s.TrustUser(der))
		return der
	}, Check{Use: UseUser, ApplicationURI: peerURI}, good, 0},
	{"a trusted user as an application", func(t *testing.T, s *Store) []byte {
		der := selfSigned(t)
		ok(t, s.TrustUser(der))
		return der
	}, client, hidden, ua.BadCertificateUntrusted},
	{"a trusted application as a user", trustedSelfSigned(), Check{Use: UseUser}, hidden, ua.BadCertificateUntrusted},

	{"nothing", func(*testing.T, *Store) []byte { return nil }, client, hidden, ua.BadCertificateInvalid},
	{"garbage", func(*testing.T, *Store) []byte { return bytes.Repeat([]byte{0x30, 0x82, 0xff}, 400) }, client, hidden, ua.BadCertificateInvalid},
	{"nested sequences", func(*testing.T, *Store) []byte { return nestedSequences(maxBlob) }, client, hidden, ua.BadCertificateInvalid},
	{"something behind the certificate", func(t *testing.T, s *Store) []byte {
		der := selfSigned(t)
		ok(t, s.Trust(der))
		return append(der, 0)
	}, client, hidden, ua.BadCertificateInvalid},
	{"cut short", func(t *testing.T, s *Store) []byte {
		der := selfSigned(t)
		ok(t, s.Trust(der))
		return der[:len(der)-1]
	}, client, hidden, ua.BadCertificateInvalid},
	{"too large", func(t *testing.T, _ *Store) []byte {
		return selfSigned(t, func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3}, Value: make([]byte, maxBlob)}}
		})
	}, client, hidden, ua.BadCertificateInvalid},
	{"chain too long", func(t *testing.T, _ *Store) []byte {
		return bytes.Repeat(selfSigned(t), maxChain+1)
	}, client, hidden, ua.BadCertificateInvalid},
	{"the longest chain, all the same", func(t *testing.T, s *Store) []byte {
		der := selfSigned(t)
		ok(t, s.Trust(der))
		return bytes.Repeat(der, maxChain)
	}, client, good, 0},
	{"key on a curve that no policy has", func(t *testing.T, _ *Store) []byte {
		key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
		ok(t, err)
		h := newHierarchy(t, nil, nil)
		return sign(t, applicationTemplate(), h.root, &key.PublicKey, rootKey())
	}, client, hidden, ua.BadCertificateInvalid},
	{"RSA with 1024 bits", strangeKey(func() *rsa.PublicKey { return &rsa.PublicKey{N: oddNumber(1024), E: 65537} }), client, hidden, ua.BadCertificateInvalid},
	{"RSA with 16384 bits", strangeKey(func() *rsa.PublicKey { return &rsa.PublicKey{N: oddNumber(16384), E: 65537} }), client, hidden, ua.BadCertificateInvalid},
	{"RSA with an even modulus", strangeKey(func() *rsa.PublicKey {
		return &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 2047), E: 65537}
	}), client, hidden, ua.BadCertificateInvalid},
	{"RSA with exponent 1", strangeKey(func() *rsa.PublicKey { return &rsa.PublicKey{N: oddNumber(2048), E: 1} }), client, hidden, ua.BadCertificateInvalid},
	{"RSA with an even exponent", strangeKey(func() *rsa.PublicKey { return &rsa.PublicKey{N: oddNumber(2048), E: 65536} }), client, hidden, ua.BadCertificateInvalid},
	{"RSA with a huge exponent", strangeKey(func() *rsa.PublicKey { return &rsa.PublicKey{N: oddNumber(2048), E: 1<<40 + 1} }), client, hidden, ua.BadCertificateInvalid},
}

// strangeKey certifies a key that no honest tool makes by a trusted root.
func strangeKey(key func() *rsa.PublicKey) func(*testing.T, *Store) []byte {
	return func(t *testing.T, s *Store) []byte {
		h := newHierarchy(t, nil, nil)
		ok(t, s.Trust(h.rootDER))
		ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour)))
		return sign(t, applicationTemplate(), h.root, key(), rootKey())
	}
}

func oddNumber(bits int) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return n.Add(n, big.NewInt(1))
}

func nestedSequences(size int) []byte {
	b := []byte{0x30, 0x00}
	for len(b)+4 <= size {
		b = append([]byte{0x30, 0x82, byte(len(b) >> 8), byte(len(b))}, b...)
	}
	return b
}

func TestValidateFollowsTheStepsOfPart4(t *testing.T) {
	for _, c := range validationMatrix {
		t.Run(c.name, func(t *testing.T) {
			s := memoryStore(t, nil)
			blob := c.prepare(t, s)
			start := time.Now()
			err := s.Validate(blob, c.check)
			if took := time.Since(start); took > 100*time.Millisecond {
				t.Errorf("took %v", took)
			}
			if c.status == good {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			var refused *Error
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if refused.Status != c.status || refused.Detail != c.detail {
				t.Errorf("peer is told %v, log says %v; want %v and %v (%s)", refused.Status, refused.Detail, c.status, c.detail, refused.Reason)
			}
			if got := ua.StatusOf(err); got != c.status {
				t.Errorf("StatusOf is %v", got)
			}
		})
	}
}

// TestAcceptAllAcceptsApplicationsOnly: even a demonstration keeps malformed keys and its own certificate out,
// and lets no user in.
func TestAcceptAllAcceptsApplicationsOnly(t *testing.T) {
	accepted := map[ua.StatusCode]bool{good: true}
	for _, c := range validationMatrix {
		t.Run(c.name, func(t *testing.T) {
			s := memoryStore(t, func(cfg *Config) { cfg.AcceptAll = true })
			blob := c.prepare(t, s)
			own := bytes.Equal(blob, s.Certificate().DER) || c.name == "our own key in another certificate"
			want := !own && (accepted[c.status] || c.detail != ua.BadCertificateInvalid && c.check.Use != UseUser)
			if err := s.Validate(blob, c.check); (err == nil) != want {
				t.Errorf("got %v, want accepted=%v", err, want)
			}
		})
	}
}

func TestMissingRevocationListsCanBeAccepted(t *testing.T) {
	s := memoryStore(t, func(cfg *Config) { cfg.AcceptMissingCRL = true })
	h := newHierarchy(t, nil, nil)
	ok(t, s.Trust(h.rootDER))
	ok(t, s.Validate(join(h.bySub(t), h.subDER), client))
	ok(t, s.AddCRL(crl(t, h.sub, subKey(), time.Hour, 1000)))
	if err := s.Validate(join(h.bySub(t), h.subDER), client); ua.StatusOf(err) != ua.BadCertificateRevoked {
		t.Errorf("revoked nevertheless: %v", err)
	}
}

// TestNamesakesCannotMultiplyTheWork sends the most authorities that fit, all of the name of the leaf's
// issuer and of each other, none of which leads anywhere.
func TestNamesakesCannotMultiplyTheWork(t *testing.T) {
	s := memoryStore(t, nil)
	for serial := range int64(60) { // what a careless administrator may have collected
		ok(t, s.AddIssuer(sign(t, authorityTemplate("root", 100+serial), nil, &strangerKey().PublicKey, strangerKey())))
	}
	h := newHierarchy(t, nil, nil)
	blob := h.byRoot(t)
	for serial := range int64(maxChain - 1) {
		blob = append(blob, sign(t, authorityTemplate("root", 200+serial), nil, &subKey().PublicKey, subKey())...)
	}
	start := time.Now()
	err := s.Validate(blob, client)
	if took := time.Since(start); took > 100*time.Millisecond {
		t.Errorf("took %v", took)
	}
	var refused *Error
	if !errors.As(err, &refused) || refused.Detail != ua.BadCertificateChainIncomplete {
		t.Errorf("got %v", err)
	}
}

// TestApplicationURIsAreComparedAsWritten: a parsed URL may print differently from what was signed.
func TestApplicationURIsAreComparedAsWritten(t *testing.T) {
	for _, uri := range []string{"urn:a%2Db", "urn:A:b?x#y", "http://h/%7Euser", "urn:~a"} {
		u, err := url.Parse(uri)
		ok(t, err)
		p, err := Intern(selfSigned(t, func(c *x509.Certificate) { c.URIs = []*url.URL{u} }))
		ok(t, err)
		if len(p.ApplicationURIs) != 1 || p.ApplicationURIs[0] != u.String() {
			t.Errorf("%q became %q", uri, p.ApplicationURIs)
		}
	}
}
