package pki

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/codec/ua"
)

func ownConfig(dir string) Config {
	return Config{Dir: dir, ApplicationURI: "urn:test:own", ApplicationName: "own", Organization: "test", Hosts: []string{"own.example", "192.0.2.1", "[2001:db8::1]"}}
}

// putOwn stores a key that exists already, so that a test need not make one.
func putOwn(t testing.TB, dir string, key *rsa.PrivateKey) {
	t.Helper()
	ok(t, os.MkdirAll(filepath.Join(dir, "own"), 0o700))
	der, err := x509.MarshalPKCS8PrivateKey(key)
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(dir, "own", "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
}

// TestOpenMakesACertificateOnFirstStart covers the contents that Part 6, 6.2.2 asks for.
func TestOpenMakesACertificateOnFirstStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	s, err := Open(ownConfig(dir))
	ok(t, err)
	own := s.Certificate()
	cert := mustParse(t, own.DER)
	if own.ApplicationURI != "urn:test:own" || len(cert.URIs) != 1 || cert.URIs[0].String() != "urn:test:own" {
		t.Errorf("URIs %v", cert.URIs)
	}
	for _, host := range []string{"own.example", "192.0.2.1", "2001:db8::1"} {
		if !hasHost(cert, host) {
			t.Errorf("host %s is missing", host)
		}
	}
	ownKey := own.Key.(*rsa.PrivateKey)
	if cert.Version != 3 || cert.SignatureAlgorithm != x509.SHA256WithRSA || ownKey.N.BitLen() != 2048 {
		t.Errorf("version %d, signature %v, %d bits", cert.Version, cert.SignatureAlgorithm, ownKey.N.BitLen())
	}
	if cert.Subject.CommonName != "own" || cert.Subject.Organization[0] != "test" {
		t.Errorf("subject %v", cert.Subject)
	}
	if cert.IsCA || !cert.BasicConstraintsValid || len(cert.SubjectKeyId) == 0 || !bytes.Equal(cert.SubjectKeyId, cert.AuthorityKeyId) {
		t.Error("basic constraints or key identifiers")
	}
	if years := time.Until(cert.NotAfter).Hours() / 24 / 365; years < 19.9 {
		t.Errorf("valid for %.1f years", years)
	}
	for _, use := range []Use{UseClient, UseServer} {
		if fail := checkLeafUse(cert, use); fail != nil {
			t.Errorf("use %v: %v", use, fail)
		}
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(filepath.Join(dir, "own", "key.pem"))
		ok(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("key has mode %v", info.Mode())
		}
	}
	for _, folder := range []string{"own", "trusted/certs", "rejected"} {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		ok(t, err)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), tempPrefix) {
				t.Errorf("left behind: %s/%s", folder, e.Name())
			}
		}
	}

	again, err := Open(ownConfig(dir))
	ok(t, err)
	if !bytes.Equal(again.Certificate().DER, own.DER) {
		t.Error("the second start made another certificate")
	}
	peer := memoryStore(t, nil)
	ok(t, peer.Trust(own.DER))
	ok(t, peer.Validate(own.DER, Check{Use: UseServer, ApplicationURI: "urn:test:own", Hostname: "own.example"}))
}

// TestOpenAtTheSameTime: two processes that start on an empty folder must agree.
func TestOpenAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	stores := make([]*Store, 4)
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() {
			var err error
			if stores[i], err = Open(ownConfig(dir)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, s := range stores[1:] {
		if s == nil || stores[0] == nil || !bytes.Equal(s.Certificate().DER, stores[0].Certificate().DER) {
			t.Fatal("different certificates")
		}
	}
}

func TestOpenReadsTheUsualFormats(t *testing.T) {
	pkcs8, err := x509.MarshalPKCS8PrivateKey(ownKey())
	ok(t, err)
	pkcs1 := x509.MarshalPKCS1PrivateKey(ownKey())
	h := newHierarchy(t, nil, nil)
	leaf := sign(t, applicationTemplate(), h.sub, &ownKey().PublicKey, subKey())
	pemOf := func(kind string, ders ...[]byte) []byte {
		var out []byte
		for _, der := range ders {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})...)
		}
		return out
	}
	keys := map[string][]byte{
		"key.pem":  pemOf("PRIVATE KEY", pkcs8),
		"key.der":  pkcs8,
		"key.key":  pemOf("RSA PRIVATE KEY", pkcs1),
		"key.pem ": pkcs1, // the content counts, not the name
	}
	certs := map[string][]byte{
		"cert.der":  leaf,
		"cert.pem":  pemOf("CERTIFICATE", leaf),
		"cert.crt":  pemOf("CERTIFICATE", leaf, h.subDER),
		"cert.der ": join(leaf, h.subDER),
	}
	for keyName, key := range keys {
		for certName, cert := range certs {
			dir := t.TempDir()
			ok(t, os.Mkdir(filepath.Join(dir, "own"), 0o700))
			ok(t, os.WriteFile(filepath.Join(dir, "own", strings.TrimSpace(keyName)), key, 0o600))
			ok(t, os.WriteFile(filepath.Join(dir, "own", strings.TrimSpace(certName)), cert, 0o600))
			s, err := Open(Config{Dir: dir})
			if err != nil {
				t.Errorf("%s with %s: %v", certName, keyName, err)
				continue
			}
			own := s.Certificate()
			wantChain := leaf
			if bytes.Contains(cert, h.subDER) || certName == "cert.crt" {
				wantChain = join(leaf, h.subDER)
			}
			if !bytes.Equal(own.DER, leaf) || !bytes.Equal(own.Chain, wantChain) || own.ApplicationURI != peerURI {
				t.Errorf("%s with %s: wrong contents", certName, keyName)
			}
		}
	}
}

// TestOpenRefusesWhatDoesNotFitTogether: the error has to name the file, and what to do.
func TestOpenRefusesWhatDoesNotFitTogether(t *testing.T) {
	write := func(name string, content []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			ok(t, os.MkdirAll(filepath.Join(dir, "own"), 0o700))
			ok(t, os.WriteFile(filepath.Join(dir, "own", name), content, 0o600))
		}
	}
	all := func(steps ...func(*testing.T, string)) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			for _, step := range steps {
				step(t, dir)
			}
		}
	}
	putKey := func(t *testing.T, dir string) { putOwn(t, dir, ownKey()) }
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	ok(t, err)
	tests := []struct {
		name    string
		prepare func(*testing.T, string)
		edit    func(*Config)
		want    []string
	}{
		{"key of another certificate", all(putKey, write("cert.der", selfSigned(t))), nil, []string{"cert.der", "key.pem", "does not belong"}},
		{"other ApplicationURI", all(putKey, write("cert.der", ownCert(t))), func(c *Config) { c.ApplicationURI = "urn:test:new" }, []string{"cert.der", "urn:test:own", "urn:test:new"}},
		{"certificate without key", write("cert.pem", ownCert(t)), nil, []string{"cert.pem", "no private key", "key.pem"}},
		{"certificate without URI", all(putKey, write("cert.der", ownCert(t, setURIs()))), nil, []string{"cert.der", "ApplicationURI"}},
		{"two certificates", all(putKey, write("cert.der", ownCert(t)), write("cert.pem", ownCert(t))), nil, []string{"cert.der", "cert.pem", "remove"}},
		{"not a certificate", all(putKey, write("cert.der", []byte("hello"))), nil, []string{"cert.der"}},
		{"PEM without a certificate", all(putKey, write("cert.pem", pem.EncodeToMemory(&pem.Block{Type: "X", Bytes: []byte("x")}))), nil, []string{"cert.pem", "CERTIFICATE"}},
		{"encrypted key", write("key.pem", []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")), nil, []string{"key.pem", "passphrase"}},
		{"not a key", write("key.pem", []byte("hello")), nil, []string{"key.pem"}},
		{"short key", write("key.der", x509.MarshalPKCS1PrivateKey(small)), nil, []string{"key.der", "1024 bits"}},
		{"key size", func(*testing.T, string) {}, func(c *Config) { c.KeyBits = 1024 }, []string{"KeyBits"}},
		{"no ApplicationURI", func(*testing.T, string) {}, func(c *Config) { c.ApplicationURI = "" }, []string{"ApplicationURI"}},
		{"ApplicationURI is no URI", func(*testing.T, string) {}, func(c *Config) { c.ApplicationURI = "my server" }, []string{"ApplicationURI", "my server"}},
		{"ApplicationURI not ASCII", func(*testing.T, string) {}, func(c *Config) { c.ApplicationURI = "urn:größe" }, []string{"ApplicationURI", "ASCII"}},
		{"no folder", func(*testing.T, string) {}, func(c *Config) { c.Dir = "" }, []string{"Dir"}},
		{"the key's place is a folder", func(t *testing.T, dir string) {
			ok(t, os.MkdirAll(filepath.Join(dir, "own", "key.pem"), 0o700))
		}, nil, []string{"key.pem", "regular"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			test.prepare(t, dir)
			cfg := ownConfig(dir)
			if test.edit != nil {
				test.edit(&cfg)
			}
			_, err := Open(cfg)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not mention %q", err, want)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "own", "key.pem")); strings.Contains(test.name, "ApplicationURI") && test.name != "other ApplicationURI" && err == nil {
				t.Error("a key was made for nothing")
			}
		})
	}
}

func TestLoadReadsTheCertificateOfAUser(t *testing.T) {
	dir := t.TempDir()
	der := selfSigned(t, setURIs())
	certFile, keyFile := filepath.Join(dir, "me.crt"), filepath.Join(dir, "me.key")
	ok(t, os.WriteFile(certFile, der, 0o644))
	ok(t, os.WriteFile(keyFile, x509.MarshalPKCS1PrivateKey(peerKey()), 0o600))
	cert, err := Load(certFile, keyFile)
	ok(t, err)
	if !bytes.Equal(cert.DER, der) || !peerKey().Equal(cert.Key) || cert.ApplicationURI != "" {
		t.Error("wrong contents")
	}
	ok(t, os.WriteFile(keyFile, x509.MarshalPKCS1PrivateKey(strangerKey()), 0o600))
	if _, err := Load(certFile, keyFile); err == nil || !strings.Contains(err.Error(), "me.key") {
		t.Errorf("a wrong key: %v", err)
	}
	if _, err := Load(certFile, filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a missing key: %v", err)
	}
}

// TestOpenWarnsOfWhatPeersWillRefuse: an expired certificate must not keep a machine from starting.
func TestOpenWarnsOfWhatPeersWillRefuse(t *testing.T) {
	dir := t.TempDir()
	putOwn(t, dir, ownKey())
	der := sign(t, applicationTemplate(setURIs("urn:test:own"), setTimes(-2*time.Hour, -time.Hour)), nil, &ownKey().PublicKey, ownKey())
	ok(t, os.WriteFile(filepath.Join(dir, "own", "cert.der"), der, 0o644))
	ok(t, os.Chmod(filepath.Join(dir, "own", "key.pem"), 0o644))
	var log bytes.Buffer
	cfg := ownConfig(dir)
	cfg.Logger = zerolog.New(&log)
	_, err := Open(cfg)
	ok(t, err)
	for _, want := range []string{"has expired", "own.example", "chmod 600"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not mention %q:\n%s", want, log.String())
		}
	}
}

// wideTemplate is valid in the year that synctest pretends, too.
func wideTemplate(c *x509.Certificate) {
	c.NotBefore, c.NotAfter = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC)
}

// TestTrustChangesOnDiskAreSeen moves a file between folders, as an administrator does, and overwrites
// one in place.
func TestTrustChangesOnDiskAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		putOwn(t, dir, ownKey())
		s, err := Open(ownConfig(dir))
		ok(t, err)
		der := selfSigned(t, wideTemplate)
		refuse := func() {
			t.Helper()
			if err := s.Validate(der, client); ua.StatusOf(err) != ua.BadSecurityChecksFailed {
				t.Fatalf("got %v, want a refusal", err)
			}
		}
		refuse()
		p, err := Intern(der)
		ok(t, err)
		rejected := filepath.Join(dir, "rejected", p.ThumbprintString()+".der")
		trusted := filepath.Join(dir, "trusted", "certs", "a name of the administrator's choice.crt")
		ok(t, os.Rename(rejected, trusted))
		refuse() // within the same second, the folders are not looked at again
		time.Sleep(rescanEvery)
		ok(t, s.Validate(der, client))

		ok(t, os.WriteFile(trusted, []byte("damaged"), 0o644))
		time.Sleep(rescanEvery)
		refuse()
		ok(t, os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
		ok(t, s.Reload())
		ok(t, s.Validate(der, client))

		ok(t, os.Remove(trusted))
		time.Sleep(rescanEvery)
		refuse()
		if _, err := os.Stat(rejected); err != nil {
			t.Errorf("not in the rejected store again: %v", err)
		}
		ok(t, s.Trust(der))
		ok(t, s.Validate(der, client))
		found, err := s.Untrust(der)
		if !found || err != nil {
			t.Fatalf("Untrust: %v %v", found, err)
		}
		refuse()
	})
}

// TestUnusableFilesAreNamedInTheLog: one bad file must not spoil the others, nor stay a riddle.
func TestUnusableFilesAreNamedInTheLog(t *testing.T) {
	dir := t.TempDir()
	putOwn(t, dir, ownKey())
	var log bytes.Buffer
	cfg := ownConfig(dir)
	cfg.Logger = zerolog.New(&log)
	s, err := Open(cfg)
	ok(t, err)
	der := selfSigned(t)
	h := newHierarchy(t, nil, nil)
	for name, content := range map[string][]byte{
		"trusted/certs/bad.der":   []byte("bad"),
		"trusted/certs/good.der":  der,
		"trusted/certs/.hidden":   []byte("bad"),
		"trusted/crl/bad.crl":     der,
		"issuer/certs/bundle.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.rootDER}),
		"issuer/crl/list.pem":     pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: crl(t, h.root, rootKey(), time.Hour)}),
	} {
		ok(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), content, 0o644))
	}
	ok(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "trusted", "certs", "dead")))
	ok(t, s.Reload())
	ok(t, s.Validate(der, client))
	leaf := h.byRoot(t)
	ok(t, s.Trust(leaf))
	ok(t, s.Validate(leaf, client))
	for _, name := range []string{"bad.der", "bad.crl"} {
		if !strings.Contains(log.String(), name) {
			t.Errorf("the log does not name %s:\n%s", name, log.String())
		}
	}
	if strings.Contains(log.String(), ".hidden") {
		t.Error("a hidden file was read")
	}
}

// TestUnreadableFolderKeepsTheLists: running out of file descriptors must not shut
// everybody out, nor let anybody in.
func TestUnreadableFolderKeepsTheLists(t *testing.T) {
	dir := t.TempDir()
	putOwn(t, dir, ownKey())
	s, err := Open(ownConfig(dir))
	ok(t, err)
	der := selfSigned(t)
	ok(t, s.Trust(der))
	certs := filepath.Join(dir, "trusted", "certs")
	ok(t, os.Rename(certs, certs+"-away"))
	ok(t, os.WriteFile(certs, []byte("a file in the folder's place"), 0o644))
	if err := s.Reload(); err == nil {
		t.Error("no error")
	}
	ok(t, s.Validate(der, client))
}

func TestStoreRefusesToTrustGarbage(t *testing.T) {
	s := memoryStore(t, nil)
	der := selfSigned(t)
	for _, bad := range [][]byte{nil, []byte("x"), append(bytes.Clone(der), 0), join(der, der)} {
		if s.Trust(bad) == nil || s.AddCRL(bad) == nil {
			t.Errorf("%d bytes were taken", len(bad))
		}
	}
}

// TestStoreIsSafeForConcurrentUse is for the race detector.
func TestStoreIsSafeForConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	putOwn(t, dir, ownKey())
	s, err := Open(ownConfig(dir))
	ok(t, err)
	trusted, other := selfSigned(t), selfSigned(t, setURIs("urn:test:other"))
	ok(t, s.Trust(trusted))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 20 {
				if err := s.Validate(trusted, client); err != nil {
					t.Errorf("trusted: %v", err)
				}
				_ = s.Validate(other, client)
				if i == 0 {
					_ = s.Trust(other)
					_, _ = s.Untrust(other)
				}
				_ = s.Reload()
			}
		})
	}
	wg.Wait()
}
