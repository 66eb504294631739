package pki

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/uahive/uahive/internal/fuzzguard"
)

var rewrite = flag.Bool("rewrite", false, "make the certificates in testdata anew")

// TestRewriteTestdata makes the seeds of the fuzz targets. They are files, because every process of a fuzz
// run would otherwise make its own keys first, which takes longer than the run.
func TestRewriteTestdata(t *testing.T) {
	if !*rewrite {
		t.Skip("run with -rewrite to make the certificates in testdata anew")
	}
	h := newHierarchy(t, wideTemplate, wideTemplate)
	for name, der := range map[string][]byte{
		"root.der": h.rootDER,
		"sub.der":  h.subDER,
		"leaf.der": h.bySub(t, wideTemplate),
		"self.der": selfSigned(t, wideTemplate),
		"own.der":  sign(t, applicationTemplate(wideTemplate), nil, &ownKey().PublicKey, ownKey()),
		"root.crl": crl(t, h.root, rootKey(), 20*365*24*time.Hour, 1, 2, 3),
	} {
		ok(t, os.WriteFile(filepath.Join("testdata", name), der, 0o644))
	}
}

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	ok(t, err)
	return content
}

// addSeeds adds one of each thing that the package parses.
func addSeeds(f *testing.F) {
	f.Helper()
	leaf, list := testdata(f, "leaf.der"), testdata(f, "root.crl")
	for _, seed := range [][]byte{
		leaf,
		testdata(f, "self.der"),
		join(leaf, testdata(f, "sub.der"), testdata(f, "root.der")),
		list,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}),
		pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: list}),
		pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: []byte{0x30, 0x03, 0x02, 0x01, 0x00}}),
		nestedSequences(256),
		{0x30, 0x80},
		{0x30, 0x82, 0xff, 0xff},
		{},
	} {
		f.Add(seed)
	}
}

// FuzzValidate presents any bytes as a peer's certificate. None of them is trusted, so none may pass, and
// the outermost lengths must add up for whatever is taken apart.
func FuzzValidate(f *testing.F) {
	addSeeds(f)
	own, err := Intern(testdata(f, "own.der"))
	ok(f, err)
	s := newStore(Config{}, ownSet{RSA: {DER: own.DER, Key: &rsa.PrivateKey{PublicKey: *own.Key.(*rsa.PublicKey)}}}, "")
	ok(f, s.AddIssuer(testdata(f, "root.der")))
	ok(f, s.AddIssuer(testdata(f, "sub.der")))
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, blob []byte) {
		if chain, err := splitChain(blob); err == nil && !bytes.Equal(bytes.Join(chain, nil), blob) {
			t.Error("the parts of a chain are not the whole")
		}
		for _, use := range []Use{UseClient, UseServer, UseUser} {
			if err := s.Validate(blob, Check{Use: use, ApplicationURI: peerURI, Hostname: "peer.example"}); err == nil {
				t.Error("accepted")
			}
		}
		if p, err := Intern(blob); err == nil {
			p.X509()
		}
	}))
}

// FuzzStoreFile puts any bytes into the folders of the store, and reads them as a key.
func FuzzStoreFile(f *testing.F) {
	addSeeds(f)
	issuer, err := x509.ParseCertificate(testdata(f, "root.der"))
	ok(f, err)
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(_ *testing.T, content []byte) {
		if content == nil {
			content = []byte{} // nil means a file to be read
		}
		for _, kind := range []string{"certs", "crl"} {
			s := snapshot{
				trusted:     make(map[[32]byte]bool),
				authorities: make(map[string][]*authority),
				revocations: make(map[string][]*revocationList),
			}
			_ = s.load(&file{folder: "trusted", kind: kind, content: content}, "trusted")
			_ = s.checkRevocation(issuer, issuer, time.Now(), false)
		}
		_, _ = parseKey(content)
	}))
}
