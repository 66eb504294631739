package pki

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Keys for all tests of the package: making one takes a noticeable time.
var testKeys = sync.OnceValue(func() []*rsa.PrivateKey {
	keys := make([]*rsa.PrivateKey, 5)
	for i := range keys {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		keys[i] = key
	}
	return keys
})

func ownKey() *rsa.PrivateKey      { return testKeys()[0] }
func peerKey() *rsa.PrivateKey     { return testKeys()[1] }
func rootKey() *rsa.PrivateKey     { return testKeys()[2] }
func subKey() *rsa.PrivateKey      { return testKeys()[3] }
func strangerKey() *rsa.PrivateKey { return testKeys()[4] }

const peerURI = "urn:test:peer"

// change edits a template before it is signed.
type change func(*x509.Certificate)

// applicationTemplate is a flawless application instance certificate.
func applicationTemplate(changes ...change) *x509.Certificate {
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1000),
		Subject:      pkix.Name{CommonName: "peer", Organization: []string{"test"}},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment |
			x509.KeyUsageKeyEncipherment | x509.KeyUsageDataEncipherment,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		SignatureAlgorithm:    x509.SHA256WithRSA,
		DNSNames:              []string{"peer.example"},
		IPAddresses:           []net.IP{net.ParseIP("192.0.2.7"), net.ParseIP("2001:db8::7")},
	}
	setURIs(peerURI)(t)
	for _, c := range changes {
		c(t)
	}
	return t
}

func authorityTemplate(name string, serial int64, changes ...change) *x509.Certificate {
	t := &x509.Certificate{
		SerialNumber:          big.NewInt(serial),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		SignatureAlgorithm:    x509.SHA256WithRSA,
		SubjectKeyId:          []byte(name),
	}
	for _, c := range changes {
		c(t)
	}
	return t
}

func setURIs(uris ...string) change {
	return func(t *x509.Certificate) {
		t.URIs = nil
		for _, s := range uris {
			u, err := url.Parse(s)
			if err != nil {
				panic(err)
			}
			t.URIs = append(t.URIs, u)
		}
	}
}

func setTimes(from, to time.Duration) change {
	return func(t *x509.Certificate) {
		t.NotBefore, t.NotAfter = time.Now().Add(from), time.Now().Add(to)
	}
}

// sign makes a certificate. A nil issuer means self-signed.
func sign(t testing.TB, template, issuer *x509.Certificate, pub any, key crypto.Signer) []byte {
	t.Helper()
	if issuer == nil {
		issuer = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, pub, key)
	if err != nil {
		t.Fatalf("CreateCertificate: %v", err)
	}
	return der
}

// selfSigned makes a self-signed application certificate of the peer.
func selfSigned(t testing.TB, changes ...change) []byte {
	t.Helper()
	return sign(t, applicationTemplate(changes...), nil, &peerKey().PublicKey, peerKey())
}

// ownCert is a certificate for the key and the URI of the store's own application.
func ownCert(t testing.TB, changes ...change) []byte {
	t.Helper()
	changes = append([]change{setURIs("urn:test:own")}, changes...)
	return sign(t, applicationTemplate(changes...), nil, &ownKey().PublicKey, ownKey())
}

// hierarchy is a root, an authority below it, and what they issue.
type hierarchy struct {
	root, sub       *x509.Certificate
	rootDER, subDER []byte
}

func newHierarchy(t testing.TB, rootChange, subChange change) *hierarchy {
	t.Helper()
	none := func(*x509.Certificate) {}
	if rootChange == nil {
		rootChange = none
	}
	if subChange == nil {
		subChange = none
	}
	h := &hierarchy{}
	h.rootDER = sign(t, authorityTemplate("root", 1, rootChange), nil, &rootKey().PublicKey, rootKey())
	h.root = mustParse(t, h.rootDER)
	h.subDER = sign(t, authorityTemplate("sub", 2, subChange), h.root, &subKey().PublicKey, rootKey())
	h.sub = mustParse(t, h.subDER)
	return h
}

// byRoot and bySub issue application certificates for the peer's key.
func (h *hierarchy) byRoot(t testing.TB, changes ...change) []byte {
	t.Helper()
	return sign(t, applicationTemplate(changes...), h.root, &peerKey().PublicKey, rootKey())
}

func (h *hierarchy) bySub(t testing.TB, changes ...change) []byte {
	t.Helper()
	return sign(t, applicationTemplate(changes...), h.sub, &peerKey().PublicKey, subKey())
}

// crl makes a revocation list that is valid from an hour ago until next from now.
func crl(t testing.TB, issuer *x509.Certificate, key crypto.Signer, next time.Duration, serials ...int64) []byte {
	t.Helper()
	template := &x509.RevocationList{
		Number:     big.NewInt(1),
		ThisUpdate: time.Now().Add(-2 * time.Hour),
		NextUpdate: time.Now().Add(next),
	}
	for _, n := range serials {
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: big.NewInt(n), RevocationTime: time.Now().Add(-time.Hour)})
	}
	der, err := x509.CreateRevocationList(rand.Reader, template, issuer, key)
	if err != nil {
		t.Fatalf("CreateRevocationList: %v", err)
	}
	return der
}

func mustParse(t testing.TB, der []byte) *x509.Certificate {
	t.Helper()
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatalf("ParseCertificate: %v", err)
	}
	return cert
}

// withSerial returns a copy of a certificate of serial number 1000 with another number of the same length.
// Its signature is then wrong.
func withSerial(t testing.TB, der []byte, serial uint16) []byte {
	t.Helper()
	old := []byte{0x02, 0x02, 1000 >> 8, 1000 & 0xff}
	if bytes.Count(der, old) != 1 {
		t.Fatal("serial number not found")
	}
	return bytes.Replace(der, old, []byte{0x02, 0x02, byte(serial>>8)&0x7f | 0x40, byte(serial)}, 1)
}

func join(ders ...[]byte) []byte { return bytes.Join(ders, nil) }

// memoryStore makes a store whose application is urn:test:own.
func memoryStore(t testing.TB, edit func(*Config)) *Store {
	t.Helper()
	cfg := Config{ApplicationURI: "urn:test:own", Hosts: []string{"own.example"}, Key: ownKey()}
	if edit != nil {
		edit(&cfg)
	}
	s, err := Memory(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
