package attack

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// authority issues certificates and revokes them.
type authority struct {
	cert *x509.Certificate
	key  *rsa.PrivateKey
}

var authorityKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	a := authority{key: authorityKey()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, SubjectKeyId: []byte(name),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

// issue makes the certificate of a client application.
func (a authority) issue(t *testing.T, key *rsa.PrivateKey, serial int64, changes ...func(*x509.Certificate)) []byte {
	t.Helper()
	uri, _ := url.Parse(rawpeer.ApplicationURI)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "issued"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), URIs: []*url.URL{uri}, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageDataEncipherment | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, change := range changes {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func (a authority) crl(t *testing.T, number int64, serials ...int64) []byte {
	t.Helper()
	template := &x509.RevocationList{Number: big.NewInt(number), ThisUpdate: time.Now().Add(-time.Minute), NextUpdate: time.Now().Add(time.Hour)}
	for _, serial := range serials {
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: big.NewInt(serial), RevocationTime: time.Now().Add(-time.Minute)})
	}
	der, err := x509.CreateRevocationList(rand.Reader, template, a.cert, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// storeOf opens the store of a client that has been given this certificate.
func storeOf(t *testing.T, der []byte, key *rsa.PrivateKey) *pki.Store {
	t.Helper()
	dir := t.TempDir()
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "own", "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
	put(t, filepath.Join(dir, "own", "cert.der"), der)
	store, err := pki.Open(pki.Config{Dir: dir, AcceptAll: true})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// knock sends an OpenSecureChannel request whose certificate decides before anything behind it counts, and
// returns what the peer is told.
func (x *target) knock(t *testing.T, blob []byte) ua.StatusCode {
	t.Helper()
	p := rawpeer.New(t, x.dial(), rawpeer.Config{Policy: uasc.Basic256Sha256, Patience: 10 * time.Second})
	p.Hello()
	frame := append([]byte("OPNF"), 0, 0, 0, 0, 0, 0, 0, 0)
	thumbprint := x.server.PKI().Certificate().Thumbprint
	for _, b := range [][]byte{[]byte(uasc.Basic256Sha256.URI), blob, thumbprint[:]} {
		frame = binary.LittleEndian.AppendUint32(frame, uint32(len(b)))
		frame = append(frame, b...)
	}
	frame = append(frame, make([]byte, 512)...)
	binary.LittleEndian.PutUint32(frame[4:], uint32(len(frame)))
	p.Conn.Write(frame)
	return ended(t, p)
}

// Whether a client is trusted is asked first, and only who is trusted learns what else is wrong with its
// certificate (Part 4, 6.1.3 and Part 6, 6.7.6). The log says it in any case.
func TestThreat_S14_TrustDecisions(t *testing.T) {
	dir := t.TempDir()
	x := newTarget(t, onTCP, func(c *uahive.Config) { c.PKI, c.TrustAll = dir, false })
	trust := x.server.PKI()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	known, unlisted, stranger := newAuthority(t, "known"), newAuthority(t, "unlisted"), newAuthority(t, "stranger")
	must(trust.Trust(known.cert.Raw))
	must(trust.AddCRL(known.crl(t, 1, 66)))
	must(trust.Trust(unlisted.cert.Raw)) // of which there is no revocation list
	friend := forge(t, clientKey(), clientKey(), nil)
	must(trust.Trust(friend))

	expired := func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = c.NotBefore.Add(-3*time.Hour), c.NotBefore.Add(-2*time.Hour)
	}
	early := func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	}
	serverOnly := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }
	signOnly := func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageCertSign }
	const hidden = ua.BadSecurityChecksFailed
	for name, c := range map[string]struct {
		blob         []byte
		told, logged ua.StatusCode
	}{
		"stranger":                    {forge(t, clientKey(), clientKey(), func(c *x509.Certificate) { c.SerialNumber = big.NewInt(2) }), hidden, ua.BadCertificateUntrusted},
		"same names, another key":     {forge(t, authorityKey(), authorityKey(), nil), hidden, ua.BadCertificateUntrusted},
		"expired stranger":            {forge(t, clientKey(), clientKey(), expired), hidden, ua.BadCertificateUntrusted},
		"unknown authority":           {stranger.issue(t, clientKey(), 2), hidden, ua.BadCertificateChainIncomplete},
		"authority that is sent":      {append(stranger.issue(t, clientKey(), 3), stranger.cert.Raw...), hidden, ua.BadCertificateUntrusted},
		"expired":                     {known.issue(t, clientKey(), 4, expired), ua.BadCertificateTimeInvalid, ua.BadCertificateTimeInvalid},
		"not yet valid":               {known.issue(t, clientKey(), 5, early), ua.BadCertificateTimeInvalid, ua.BadCertificateTimeInvalid},
		"no client":                   {known.issue(t, clientKey(), 6, serverOnly), ua.BadCertificateUseNotAllowed, ua.BadCertificateUseNotAllowed},
		"key that may not sign":       {known.issue(t, clientKey(), 7, signOnly), ua.BadCertificateUseNotAllowed, ua.BadCertificateUseNotAllowed},
		"revoked":                     {known.issue(t, clientKey(), 66), ua.BadCertificateRevoked, ua.BadCertificateRevoked},
		"expired, revoked, no client": {known.issue(t, clientKey(), 66, expired, serverOnly), ua.BadCertificateTimeInvalid, ua.BadCertificateTimeInvalid},
		"no revocation list":          {unlisted.issue(t, clientKey(), 8), ua.BadCertificateRevocationUnknown, ua.BadCertificateRevocationUnknown},
		"issued by a client":          {authority{mustParse(t, friend), clientKey()}.issue(t, authorityKey(), 9), hidden, ua.BadCertificateIssuerUseNotAllowed},
	} {
		before := len(x.log.String())
		if told := x.knock(t, c.blob); told != c.told {
			t.Errorf("%s: told %v, want %v", name, told, c.told)
		}
		said := x.log.String()[before:]
		if want := c.logged.Error(); !strings.Contains(said, want) {
			t.Errorf("%s: the log does not say %s: %s", name, want, said)
		}
	}
	// The URI belongs to the session: the whole of it, and not a part.
	config := x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt)
	must(trust.Trust(config.Own.Certificate().DER))
	p := rawpeer.Connect(t, x.dial(), config)
	for _, uri := range []string{"", rawpeer.ApplicationURI + "2", rawpeer.ApplicationURI[:len(rawpeer.ApplicationURI)-1], strings.ToUpper(rawpeer.ApplicationURI)} {
		req := p.CreateRequest()
		req.ClientDescription.ApplicationURI = uri
		if code := (&rawpeer.Session{Peer: p}).Result(req); code != ua.BadCertificateURIInvalid {
			t.Errorf("a session of %q: %v", uri, code)
		}
	}
	p.Session()
}

func mustParse(t *testing.T, der []byte) *x509.Certificate {
	t.Helper()
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// Whom an administrator takes off the trust list, or revokes, has to leave, and nobody else notices; whom he
// puts there comes in. All of that is done with files while the server runs.
func TestThreat_S14_TrustChangesAtRunTime(t *testing.T) {
	dir := t.TempDir()
	canary, err := pki.Memory(pki.Config{ApplicationURI: "urn:test:canary", AcceptAll: true})
	if err != nil {
		t.Fatal(err)
	}
	file := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	put(t, file("trusted", "certs", "canary.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: canary.Certificate().DER}))
	x := newTarget(t, onTCP, func(c *uahive.Config) { c.PKI, c.TrustAll = dir, false })
	x.watchAs(canary)

	root := newAuthority(t, "root")
	put(t, file("trusted", "certs", "root.der"), root.cert.Raw)
	put(t, file("trusted", "crl", "root.crl"), root.crl(t, 1))
	config := func(own *pki.Store) rawpeer.Config {
		c := x.secure(uasc.Aes256Sha256RsaPss, uasc.ModeSignAndEncrypt)
		c.Own = own
		return c
	}
	alone := x.clientPKI()
	put(t, file("trusted", "certs", "alone.der"), alone.Certificate().DER)
	time.Sleep(200 * time.Millisecond) // before a refusal, the folders are looked at ten times a second at most
	one, two := storeOf(t, root.issue(t, clientKey(), 11), clientKey()), storeOf(t, root.issue(t, authorityKey(), 12), authorityKey())
	first, second := rawpeer.Connect(t, x.dial(), config(one)).Session(), rawpeer.Connect(t, x.dial(), config(two)).Session()
	third := rawpeer.Connect(t, x.dial(), config(alone)).Session()
	sessions := x.server.Stats().Sessions.Sessions

	lives := func(s *rawpeer.Session) {
		t.Helper()
		if code := s.Result(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{{NodeID: node(int32Node), AttributeID: ua.AttributeIDValue}}}); code != ua.Good {
			t.Errorf("a client that is trusted: %v", code)
		}
	}
	put(t, file("trusted", "crl", "root.crl"), root.crl(t, 2, 11))
	if code := first.Refusal(); code != ua.BadCertificateRevoked {
		t.Errorf("revoked: %v", code)
	}
	lives(second)
	lives(third)
	if err := os.Remove(file("trusted", "certs", "alone.der")); err != nil {
		t.Fatal(err)
	}
	if code := third.Refusal(); code != ua.BadSecurityChecksFailed {
		t.Errorf("no longer trusted: %v", code)
	}
	lives(second)
	if err := os.Remove(file("trusted", "certs", "root.der")); err != nil {
		t.Fatal(err)
	}
	if code := second.Refusal(); code != ua.BadSecurityChecksFailed {
		t.Errorf("authority no longer trusted: %v", code)
	}
	eventually(t, "the sessions went with their channels", func() bool { return x.server.Stats().Sessions.Sessions == sessions-3 })
	for name, own := range map[string]*pki.Store{"revoked": one, "without its authority": two, "removed": alone} {
		if code := x.knock(t, own.Certificate().Chain); code != ua.BadSecurityChecksFailed {
			t.Errorf("%s, once more: %v", name, code)
		}
	}
	put(t, file("trusted", "certs", "alone.der"), alone.Certificate().DER)
	time.Sleep(200 * time.Millisecond)
	lives(rawpeer.Connect(t, x.dial(), config(alone)).Session())
	if said := x.log.String(); !strings.Contains(said, "not acceptable any more") || !bytes.Contains([]byte(said), []byte("is revoked")) {
		t.Errorf("the log does not say why: %s", said)
	}
}
