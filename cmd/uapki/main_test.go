package main

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

// uapki runs the tool on a folder and returns what it said.
func uapki(t *testing.T, dir string, words ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(append([]string{words[0], "-dir", dir}, words[1:]...), &out)
	return out.String(), err
}

// must is uapki where it has to work, and to say something.
func must(t *testing.T, want, dir string, words ...string) string {
	t.Helper()
	out, err := uapki(t, dir, words...)
	if err != nil {
		t.Fatalf("uapki %v: %v\n%s", words, err, out)
	}
	if !strings.Contains(out, want) {
		t.Errorf("uapki %v does not say %q:\n%s", words, want, out)
	}
	return out
}

func peer(t *testing.T, uri string) *pki.Certificate {
	t.Helper()
	s, err := pki.Memory(pki.Config{ApplicationURI: uri})
	if err != nil {
		t.Fatal(err)
	}
	return s.Certificate()
}

// A certificate goes the way that administrators send it, and the store says the same as the tool.
func TestTrustAndRejectAndRemove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	must(t, "made for urn:test:press", dir, "create", "-uri", "urn:test:press", "-hosts", "press.example,192.0.2.1", "-types", "rsa,nistP256")
	if _, err := uapki(t, dir, "create", "-uri", "urn:test:press"); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("created over a certificate: %v", err)
	}
	server, err := pki.Open(pki.Config{Dir: dir, ApplicationURI: "urn:test:press"})
	if err != nil {
		t.Fatal(err)
	}
	one := peer(t, "urn:test:one")
	if server.Validate(one.DER, pki.Check{}) == nil {
		t.Fatal("a stranger was let in")
	}
	item := pki.Item{DER: one.DER}
	digits := item.Thumbprint()[:10]
	must(t, "rejected", dir, "list")
	out, err := uapki(t, dir, "show", digits)
	if !errors.Is(err, errUnacceptable) || !strings.Contains(out, "BadCertificateUntrusted") || !strings.Contains(out, "urn:test:one") {
		t.Errorf("show of a stranger: %v\n%s", err, out)
	}
	must(t, "is trusted", dir, "trust", digits)
	must(t, "acceptable", dir, "show", digits)
	if out := must(t, "trusted", dir, "list"); strings.Contains(out, "rejected") {
		t.Errorf("trusted, and still among the rejected ones:\n%s", out)
	}
	if err := server.Reload(); err != nil {
		t.Fatal(err)
	}
	if err := server.Validate(one.DER, pki.Check{}); err != nil {
		t.Error(err)
	}
	must(t, "is rejected", dir, "reject", digits)
	if err := server.Reload(); err != nil {
		t.Fatal(err)
	}
	if err := server.Validate(one.DER, pki.Check{}); ua.StatusOf(err) != ua.BadSecurityChecksFailed {
		t.Errorf("rejected: %v", err)
	}
	must(t, "is removed", dir, "remove", digits)
	if _, err := uapki(t, dir, "show", digits); err == nil || errors.Is(err, errUnacceptable) {
		t.Errorf("removed, and still there: %v", err)
	}
	for _, own := range server.Certificates() {
		it := pki.Item{DER: own.DER}
		if _, err := uapki(t, dir, "remove", it.Thumbprint()); err == nil {
			t.Error("removed the application's own certificate")
		}
	}
}

// authority signs what comes as a request.
func sign(t *testing.T, request []byte) (leaf, root []byte) {
	t.Helper()
	block, _ := pem.Decode(request)
	if block == nil {
		t.Fatalf("no PEM: %s", request)
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if err := csr.CheckSignature(); err != nil {
		t.Fatal(err)
	}
	key, err := pki.NewKey(pki.NistP256, 0)
	if err != nil {
		t.Fatal(err)
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	if root, err = x509.CreateCertificate(rand.Reader, authority, authority, key.Public(), key); err != nil {
		t.Fatal(err)
	}
	leaf, err = x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), RawSubject: csr.RawSubject, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		URIs: csr.URIs, DNSNames: csr.DNSNames, IPAddresses: csr.IPAddresses,
	}, authority, csr.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return leaf, root
}

// What an authority has signed takes the place of the self-signed certificate, with its chain.
func TestRequestAndImport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	must(t, "made", dir, "create", "-uri", "urn:test:press", "-hosts", "press.example", "-types", "rsa,nistP384")
	for _, kind := range []string{"rsa", "nistP384"} {
		leaf, root := sign(t, []byte(must(t, "CERTIFICATE REQUEST", dir, "request", "-type", kind)))
		leafFile, rootFile := filepath.Join(dir, "..", kind+".crt"), filepath.Join(dir, "..", kind+"-root.crt")
		for file, der := range map[string][]byte{leafFile: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}), rootFile: root} {
			if err := os.WriteFile(file, der, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := uapki(t, dir, "import", rootFile); err == nil {
			t.Error("a certificate for another key was taken")
		}
		must(t, "with 1 authorities", dir, "import", leafFile, rootFile)
		s, err := pki.Open(pki.Config{Dir: dir, ApplicationURI: "urn:test:press", KeyTypes: []pki.KeyType{keyTypes[strings.ToLower(kind)]}})
		if err != nil {
			t.Fatal(err)
		}
		if own := s.CertificateOf(keyTypes[strings.ToLower(kind)]); !bytes.Equal(own.Chain, append(leaf, root...)) {
			t.Error("the next start has another certificate")
		}
	}
	must(t, "authority", dir, "list")
}

// What is wrong on the command line is told apart from what went wrong, and says what to write.
func TestWrongCommandLines(t *testing.T) {
	dir := t.TempDir()
	for line, want := range map[string]string{
		"":                                "say what to do",
		"frobnicate":                      "uapki help",
		"trust":                           "name what to trust",
		"list more":                       "takes no argument",
		"show 12ab":                       "at least 6 digits",
		"create":                          "-uri",
		"create -uri urn:a -types dsa":    "nistP256",
		"request -type dsa":               "nistP256",
		"trust -user -issuer 0123456789a": "-issuer",
		"list -colour":                    "-colour",
	} {
		words := strings.Fields(line)
		if len(words) > 0 {
			words = append([]string{words[0], "-dir", dir}, words[1:]...)
		}
		var wrong *usageError
		if err := run(words, new(bytes.Buffer)); !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("uapki %s: %v, want a usage error with %q", line, err, want)
		}
	}
	for line, want := range map[string]string{
		"show nowhere.crt": "no file", "trust 0123456789": "uapki list", "request": "uapki create", "crl nowhere.crl": "nowhere.crl",
		"import nowhere.crt": "nowhere.crt", "create -uri nonsense": "urn:", "create -uri urn:a -bits 7": "2048",
	} {
		words := strings.Fields(line)
		var wrong *usageError
		err := run(append([]string{words[0], "-dir", dir}, words[1:]...), new(bytes.Buffer))
		if err == nil || errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("uapki %s: %v, want an error with %q", line, err, want)
		}
	}
	if _, err := uapki(t, filepath.Join(dir, "nowhere"), "list"); err == nil || !strings.Contains(err.Error(), "-dir") {
		t.Errorf("a folder that does not exist: %v", err)
	}
}
