package pki

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Renew replaces the application's own certificate of the type that the key of the new one has. The chain is
// the certificate, followed by the authorities that are to be sent along. The key is the one that belongs to it;
// nil stands for the key that the application has already. New channels use the certificate at once; those that
// are open go on with the old one. It fails, and nothing has changed, when certificate, key and configuration do
// not belong together.
func (s *Store) Renew(chain []byte, key crypto.Signer) error {
	next, err := s.CheckRenewal(chain, key)
	if err != nil {
		return err
	}
	s.scan.mu.Lock()
	defer s.scan.mu.Unlock()
	if s.apps.dir != "" {
		if err := writeOwn(s.cfg.Dir, next, key != nil); err != nil {
			return fmt.Errorf("pki: %w", err)
		}
		s.ownFiles.print, err = fingerprintOwn(s.cfg.Dir)
		s.ownFiles.seen = s.ownFiles.print
		if err != nil {
			return fmt.Errorf("pki: %w", err)
		}
	}
	s.install(next)
	return nil
}

// CheckRenewal reports whether [Store.Renew] would take the certificate, without doing it.
func (s *Store) CheckRenewal(chain []byte, key crypto.Signer) (*Certificate, error) {
	ders, err := splitChain(chain)
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	leaf, err := parse(bytes.Clone(ders[0]))
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	t, _ := KeyTypeOf(leaf.Key)
	current := s.CertificateOf(t)
	if current == nil {
		return nil, fmt.Errorf("pki: the application has no certificate of the type %v", t)
	}
	if key == nil {
		key = current.Key
	}
	next, err := newCertificate(chain, key)
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	cert := leaf.X509()
	now := time.Now()
	switch {
	case next.ApplicationURI != current.ApplicationURI:
		return nil, fmt.Errorf("pki: the certificate is for the application %s, not %s", quote(next.ApplicationURI), quote(current.ApplicationURI))
	case now.Before(cert.NotBefore) || now.After(cert.NotAfter):
		return nil, fmt.Errorf("pki: the certificate is valid from %s to %s only", cert.NotBefore.Format(time.DateTime), cert.NotAfter.Format(time.DateTime))
	}
	for _, use := range []Use{UseServer, UseClient} {
		if fail := checkLeafUse(cert, use); fail == nil {
			return next, nil // which of the two the application is, it knows itself
		} else if use == UseClient {
			return nil, fmt.Errorf("pki: %s", fail.reason)
		}
	}
	return next, nil
}

// install makes a certificate the one of its type. The scan lock is held.
func (s *Store) install(next *Certificate) {
	set := *s.own.Load()
	set[next.Type] = next
	s.own.Store(&set)
	s.cfg.Logger.Info().Hex("thumbprint", next.Thumbprint[:]).Stringer("type", next.Type).Time("expires", next.NotAfter).
		Msg("the application's certificate was replaced; new channels use it")
}

// ownFiles is what is known of the folder own/.
type ownFiles struct {
	print [sha256.Size]byte // of what the certificates in use were read from
	seen  [sha256.Size]byte // of the last look
}

// fingerprintOwn tells states of the folder apart.
func fingerprintOwn(dir string) ([sha256.Size]byte, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "own"))
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	sum := sha256.New()
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, "own", entry.Name()))
		if err != nil {
			continue // removed meanwhile, or a dead link
		}
		sum.Write([]byte(entry.Name()))
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(info.Size())))
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(info.ModTime().UnixNano())))
	}
	return [sha256.Size]byte(sum.Sum(nil)), nil
}

// reloadOwn takes up certificates and keys that were replaced on disk, once the folder has looked the same for
// two looks: a certificate and its key are two files, and do not fit together while they are being copied. What
// cannot be used is said once, and the certificate of before stays. The scan lock is held.
func (s *Store) reloadOwn() error {
	if s.apps.dir == "" || *s.own.Load() == (ownSet{}) {
		return nil
	}
	print, err := fingerprintOwn(s.cfg.Dir)
	if err != nil || print == s.ownFiles.print {
		return err
	}
	if print != s.ownFiles.seen {
		s.ownFiles.seen = print
		return nil
	}
	s.ownFiles.print = print
	for _, t := range s.cfg.KeyTypes {
		next, err := readType(&s.cfg, t)
		switch current := s.CertificateOf(t); {
		case err != nil:
			s.cfg.Logger.Error().Err(err).Stringer("type", t).Msg("the application's certificate was changed on disk and cannot be used; the last one stays in force")
		case !bytes.Equal(next.Chain, current.Chain):
			s.install(next)
		}
	}
	return nil
}

// readType reads the certificate and the key of a type, and makes neither.
func readType(cfg *Config, t KeyType) (*Certificate, error) {
	certPath, keyPath, err := ownPaths(cfg, t)
	if err != nil {
		return nil, err
	}
	for _, path := range []string{certPath, keyPath} {
		if _, err := os.Stat(path); err != nil {
			return nil, dirError(cfg, err)
		}
	}
	return loadType(cfg, t)
}

// ownPaths are the files of the certificate and the key of a type: those that are there, or the ones that would
// be made.
func ownPaths(cfg *Config, t KeyType) (certPath, keyPath string, err error) {
	dir := filepath.Join(cfg.Dir, "own")
	certNames, keyNames := ownNames(t)
	if certPath, err = onlyOne(cfg, FieldCertificate, dir, certNames); err != nil {
		return "", "", err
	}
	if keyPath, err = onlyOne(cfg, FieldKey, dir, keyNames); err != nil {
		return "", "", err
	}
	if certPath == "" {
		certPath = filepath.Join(dir, certNames[0])
	}
	if keyPath == "" {
		keyPath = filepath.Join(dir, keyNames[0])
	}
	return certPath, keyPath, nil
}

// writeOwn writes the certificate and, if it is a new one, its key. Both are complete on disk before either
// takes its place, so that hardly anything can come between; if something does, the old key is put back.
func writeOwn(dir string, next *Certificate, withKey bool) error {
	certPath, keyPath, err := ownPaths(&Config{Dir: dir}, next.Type)
	if err != nil {
		return err
	}
	cert := next.Chain
	if strings.HasSuffix(certPath, ".pem") {
		ders, err := splitChain(next.Chain)
		if err != nil {
			return err
		}
		cert = nil
		for _, der := range ders {
			cert = append(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
		}
	}
	if !withKey {
		return writeOver(certPath, cert, 0o644)
	}
	key, err := x509.MarshalPKCS8PrivateKey(next.Key)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(keyPath, ".der") {
		key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	}
	temp, err := writeTemp(certPath, cert, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp) }()
	before, err := readFile(keyPath)
	if err != nil {
		return err
	}
	if err := writeOver(keyPath, key, 0o600); err != nil {
		return err
	}
	if err := os.Rename(temp, certPath); err != nil {
		return errors.Join(err, writeOver(keyPath, before, 0o600))
	}
	return nil
}
