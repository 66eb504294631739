package pki

import (
	"bytes"
	"encoding/pem"
	"testing"
	"time"
)

// seeds are one of each thing that the package parses.
func seeds(f *testing.F) [][]byte {
	f.Helper()
	h := newHierarchy(f, nil, nil)
	leaf := h.bySub(f)
	list := crl(f, h.root, rootKey(), time.Hour, 1, 2, 3)
	return [][]byte{
		leaf, selfSigned(f), join(leaf, h.subDER, h.rootDER), list,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}),
		pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: list}),
		nestedSequences(256),
		{0x30, 0x80},
		{0x30, 0x82, 0xff, 0xff},
		nil,
	}
}

// FuzzValidate presents any bytes as a peer's certificate. None of them is trusted, so none may pass, and
// the outermost lengths must add up for whatever is taken apart.
func FuzzValidate(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	s := memoryStore(f, nil)
	h := newHierarchy(f, nil, nil)
	ok(f, s.AddIssuer(h.rootDER))
	ok(f, s.AddIssuer(h.subDER))
	f.Fuzz(func(t *testing.T, blob []byte) {
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
	})
}

// FuzzStoreFile puts any bytes into the folders of the store, and reads them as a key.
func FuzzStoreFile(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, content []byte) {
		if content == nil {
			content = []byte{}
		}
		for _, kind := range []string{"certs", "crl"} {
			s := snapshot{
				trusted:     make(map[[32]byte]bool),
				authorities: make(map[string][]*authority),
				revocations: make(map[string][]*revocationList),
			}
			_ = s.load(&file{folder: "trusted", kind: kind, content: content}, "trusted")
		}
		_, _ = parseKey(content)
	})
}
