package pki

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSetTrustListIsWhatIsThereAfterwards, whatever the files were called and held before.
func TestSetTrustListIsWhatIsThereAfterwards(t *testing.T) {
	onDisk, dir, _ := openLogged(t)
	ok(t, os.WriteFile(filepath.Join(dir, "trusted", "certs", "by hand.crt"), selfSigned(t, setURIs("urn:test:by-hand")), 0o644))
	ok(t, os.WriteFile(filepath.Join(dir, "issuer", "crl", "garbage.crl"), []byte("garbage"), 0o644))
	for name, s := range map[string]*Store{"disk": onDisk, "memory": memoryStore(t, nil)} {
		h := newHierarchy(t, nil, nil)
		one, two := selfSigned(t), selfSigned(t, setURIs("urn:test:two"))
		want := TrustList{
			Trusted: [][]byte{one, h.rootDER}, TrustedCRLs: [][]byte{crl(t, h.root, rootKey(), time.Hour)},
			Issuers: [][]byte{h.subDER}, IssuerCRLs: [][]byte{crl(t, h.sub, subKey(), time.Hour)},
		}
		ok(t, s.Trust(two))
		ok(t, s.SetTrustList(Applications, want))
		got, err := s.TrustList(Applications)
		ok(t, err)
		for i, p := range s.apps.parts(&got) {
			w := *s.apps.parts(&want)[i].ders
			if len(*p.ders) != len(w) {
				t.Errorf("%s: %s/%s has %d entries, want %d", name, p.folder, p.kind, len(*p.ders), len(w))
			}
		}
		ok(t, s.Validate(one, client))
		ok(t, s.Validate(h.bySub(t), client))
		if s.Validate(two, Check{}) == nil {
			t.Errorf("%s: what was trusted before still is", name)
		}
		if found, err := s.Reject(one); !found || err != nil {
			t.Errorf("%s: Reject: %v %v", name, found, err)
		}
		list := s.RejectedList()
		if len(list) == 0 || !bytes.Equal(list[len(list)-1], one) {
			t.Errorf("%s: not in the rejected store", name)
		}
		if found, _ := s.Remove(one); found {
			t.Errorf("%s: rejected and still in a list", name)
		}
		ok(t, s.Trust(one))
		ok(t, s.Validate(one, client))
	}
	if _, err := os.Stat(filepath.Join(dir, "issuer", "crl", "garbage.crl")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file that is in no list is still there")
	}
}

// TestSetTrustListDoesAllOrNothing: an entry that cannot be used, or a file that cannot be written, leaves the
// lists as they were.
func TestSetTrustListDoesAllOrNothing(t *testing.T) {
	s, dir, _ := openLogged(t)
	der := selfSigned(t)
	ok(t, s.Trust(der))
	before, err := s.TrustList(Applications)
	ok(t, err)
	h := newHierarchy(t, nil, nil)
	for name, l := range map[string]TrustList{
		"certificate": {Trusted: [][]byte{h.rootDER, []byte("garbage")}},
		"list":        {Trusted: [][]byte{h.rootDER}, IssuerCRLs: [][]byte{h.rootDER}},
		"chain":       {Trusted: [][]byte{join(h.bySub(t), h.subDER)}},
	} {
		if s.SetTrustList(Applications, l) == nil {
			t.Errorf("%s: garbage was taken", name)
		}
	}
	// A folder in the place of a file cannot be written over, also not by root.
	list := crl(t, h.root, rootKey(), time.Hour)
	item := Item{DER: list}
	ok(t, os.Mkdir(filepath.Join(dir, "issuer", "crl", item.Thumbprint()+".crl"), 0o755))
	if s.SetTrustList(Applications, TrustList{Trusted: [][]byte{h.rootDER}, IssuerCRLs: [][]byte{list}}) == nil {
		t.Error("a file that cannot be written was no error")
	}
	after, err := s.TrustList(Applications)
	ok(t, err)
	if len(after.Trusted) != 1 || !bytes.Equal(after.Trusted[0], before.Trusted[0]) {
		t.Errorf("%d certificates are trusted now", len(after.Trusted))
	}
	ok(t, s.Validate(der, client))
}

// TestContentsNamesEveryFile, also those that cannot be used.
func TestContentsNamesEveryFile(t *testing.T) {
	s, dir, _ := openLogged(t)
	h := newHierarchy(t, nil, nil)
	ok(t, s.Trust(h.rootDER))
	ok(t, s.AddIssuer(h.subDER))
	ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour)))
	_ = s.Validate(selfSigned(t), client)
	ok(t, os.WriteFile(filepath.Join(dir, "trusted", "certs", "garbage"), []byte("garbage"), 0o644))
	items, err := Contents(dir)
	ok(t, err)
	count := map[string]int{}
	for i := range items {
		switch it := &items[i]; {
		case it.Err != nil:
			count["unusable"]++
		case it.CRL:
			count["crl"]++
		default:
			count[it.Folder]++
		}
	}
	for what, n := range map[string]int{"own": 1, "trusted": 1, "issuer": 1, "crl": 1, "rejected": 1, "unusable": 1} {
		if count[what] != n {
			t.Errorf("%s: %d, want %d", what, count[what], n)
		}
	}
	if _, err := Contents(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a folder that does not exist is empty")
	}
}
