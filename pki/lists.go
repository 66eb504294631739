package pki

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Group is one of a store's two trust lists.
type Group uint8

// The groups of a store.
const (
	Applications Group = iota // peers
	Users                     // people and programs that log in with a certificate
)

// TrustList is the content of a trust list (Part 12, 7.8.2.8): each entry is one certificate or revocation
// list as DER.
type TrustList struct {
	Trusted, TrustedCRLs, Issuers, IssuerCRLs [][]byte
}

// Check reports the first entry that is no certificate or revocation list that the package can use.
func (l *TrustList) Check() error {
	for _, ders := range [][][]byte{l.Trusted, l.Issuers} {
		for _, der := range ders {
			if _, err := parse(der); err != nil {
				return fmt.Errorf("pki: %w", err)
			}
			if n, err := derLen(der); err != nil || n != len(der) {
				return fmt.Errorf("pki: %w", errNotDER)
			}
		}
	}
	for _, ders := range [][][]byte{l.TrustedCRLs, l.IssuerCRLs} {
		for _, der := range ders {
			if _, err := parseCRL(der); err != nil {
				return fmt.Errorf("pki: %w", err)
			}
		}
	}
	if n := max(len(l.Trusted), len(l.TrustedCRLs), len(l.Issuers), len(l.IssuerCRLs)); n > maxListed {
		return fmt.Errorf("pki: a trust list has more than %d entries", maxListed)
	}
	return nil
}

// part is one folder of a trust list, and what is or shall be in it.
type part struct {
	folder, kind string
	ders         *[][]byte
}

func (t *trustList) parts(l *TrustList) []part {
	return []part{
		{t.trusted, "certs", &l.Trusted},
		{t.trusted, "crl", &l.TrustedCRLs},
		{t.issuer, "certs", &l.Issuers},
		{t.issuer, "crl", &l.IssuerCRLs},
	}
}

func (s *Store) group(g Group) *trustList {
	if g == Users {
		return s.users
	}
	return s.apps
}

// TrustList reads a trust list. Files that cannot be used are left out.
func (s *Store) TrustList(g Group) (TrustList, error) {
	s.scan.mu.Lock()
	defer s.scan.mu.Unlock()
	return s.group(g).read()
}

func (t *trustList) read() (TrustList, error) {
	var l TrustList
	files, _, err := t.list()
	if err != nil {
		return l, err
	}
	for _, p := range t.parts(&l) {
		for i := range files {
			f := &files[i]
			if f.folder != p.folder || f.kind != p.kind {
				continue
			}
			for _, der := range f.ders() {
				if !slices.ContainsFunc(*p.ders, func(have []byte) bool { return bytes.Equal(have, der) }) {
					*p.ders = append(*p.ders, der)
				}
			}
		}
	}
	return l, nil
}

// ders is what is in the file, nil where it cannot be used.
func (f *file) ders() [][]byte {
	content := f.content
	if content == nil {
		ders, err := readItems(f.path, f.kind == "crl", false)
		if err != nil {
			return nil
		}
		return ders
	}
	return [][]byte{bytes.Clone(content)}
}

// SetTrustList makes a trust list what l says: entries that it has not are removed, whatever their files are
// called, with files that cannot be used. Either all of it happens or nothing. Watchers are told; see
// [Store.Watch].
func (s *Store) SetTrustList(g Group, l TrustList) error {
	if err := l.Check(); err != nil {
		return err
	}
	s.scan.mu.Lock()
	defer s.scan.mu.Unlock()
	t := s.group(g)
	if err := t.replace(&l); err != nil {
		return fmt.Errorf("pki: %w", err)
	}
	for _, der := range l.Trusted {
		s.rejected.remove(der)
	}
	return s.apply(t)
}

func (t *trustList) replace(l *TrustList) error {
	if t.dir == "" {
		for _, p := range t.parts(l) {
			t.memory[p.folder+"/"+p.kind] = slices.Clone(*p.ders)
		}
		return nil
	}
	files, _, err := t.list()
	if err != nil {
		return err
	}
	var undo []func()
	back := func(err error) error {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
		return err
	}
	// What is new comes first, so that nobody who stays is refused in between.
	wanted := map[string]bool{}
	for _, p := range t.parts(l) {
		for _, der := range *p.ders {
			sum := sha1.Sum(der)
			path := filepath.Join(t.dir, p.folder, p.kind, hex.EncodeToString(sum[:])+endings[p.kind])
			wanted[path] = true
			before, err := readFile(path)
			if err == nil && bytes.Equal(before, der) {
				continue
			}
			if err := writeOver(path, der, 0o644); err != nil {
				return back(err)
			}
			undo = append(undo, func() {
				if before == nil {
					_ = os.Remove(path)
				} else {
					_ = writeOver(path, before, 0o644)
				}
			})
		}
	}
	for i := range files {
		path := files[i].path
		if wanted[path] {
			continue
		}
		content, err := readFile(path)
		if err != nil {
			return back(err)
		}
		if err := os.Remove(path); err != nil {
			return back(err)
		}
		undo = append(undo, func() { _ = writeOver(path, content, 0o644) })
	}
	return nil
}

// endings are those of the names of files that the package writes.
var endings = map[string]string{"certs": ".der", "crl": ".crl"}

// Remove takes a certificate or a revocation list out of the trust lists, whatever its file is called. It
// reports whether it was in one.
func (s *Store) Remove(der []byte) (bool, error) {
	found := false
	for _, g := range []Group{Applications, Users} {
		l, err := s.TrustList(g)
		if err != nil {
			return found, fmt.Errorf("pki: %w", err)
		}
		here := false
		for _, p := range s.group(g).parts(&l) {
			n := len(*p.ders)
			*p.ders = slices.DeleteFunc(*p.ders, func(have []byte) bool { return bytes.Equal(have, der) })
			here = here || len(*p.ders) < n
		}
		if !here {
			continue
		}
		if err := s.SetTrustList(g, l); err != nil {
			return found, err
		}
		found = true
	}
	return found, nil
}

// Reject takes a certificate out of the trust lists and puts it into the rejected store, from where it can be
// trusted again. It reports whether it was in a list.
func (s *Store) Reject(der []byte) (bool, error) {
	leaf, err := Intern(der)
	if err != nil {
		return false, fmt.Errorf("pki: %w", err)
	}
	found, err := s.Remove(leaf.DER)
	if err != nil || !found {
		return found, err
	}
	if _, err := s.rejected.add(leaf); err != nil {
		return found, fmt.Errorf("pki: %w", err)
	}
	return found, nil
}

// Forget takes a certificate out of the rejected store.
func (s *Store) Forget(der []byte) { s.rejected.remove(der) }

// RejectedList returns the certificates of the rejected store, the newest last.
func (s *Store) RejectedList() [][]byte { return s.rejected.list() }

// LastUpdate is when a trust list has last changed for this program; when it was opened at first.
func (s *Store) LastUpdate(g Group) time.Time { return s.group(g).current.Load().made }
