package pki

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// trustList is one group of folders: whom to trust, which authorities are known, what is revoked. Readers
// take the current snapshot; the store's scan lock serializes everything else.
type trustList struct {
	// Immutable.
	dir             string // "" for a list in memory
	trusted, issuer string // names of the two folders
	log             zerolog.Logger

	current atomic.Pointer[snapshot]

	// Guarded by the store's scan lock.
	memory map[string][][]byte // folder/kind → contents, of a list in memory
	print  [sha256.Size]byte   // fingerprint of the folders as of the current snapshot
	loaded bool
}

// snapshot is the content of a trust list at one moment. It is immutable.
type snapshot struct {
	serial  uint64 // tells it from all others, of any list
	made    time.Time
	trusted map[[sha256.Size]byte]bool // by the SHA-256 of the DER: a thumbprint could be forged
	// authorities has every certificate of both folders that may issue others, by its subject.
	authorities map[string][]*authority
	// revocations has the usable revocation lists by the name of their issuer.
	revocations map[string][]*revocationList
}

// snapshots counts the snapshots of all lists.
var snapshots atomic.Uint64

// authority is a certificate that is a candidate for the next link of a chain.
type authority struct {
	cert    *x509.Certificate
	trusted bool
}

func newTrustList(dir, trusted, issuer string, log zerolog.Logger) *trustList {
	t := &trustList{dir: dir, trusted: trusted, issuer: issuer, log: log, memory: make(map[string][][]byte)}
	t.current.Store(&snapshot{serial: snapshots.Add(1), made: time.Now()})
	return t
}

// file is one entry of a folder.
type file struct {
	folder  string
	kind    string // "certs" or "crl"
	path    string // for the log and for reading
	content []byte // of an entry in memory
}

// reload makes a new snapshot if something has changed since the last one.
func (t *trustList) reload() error {
	files, print, err := t.list()
	if err != nil {
		return err
	}
	if t.loaded && print == t.print {
		return nil
	}
	next := &snapshot{
		serial:      snapshots.Add(1),
		made:        time.Now(),
		trusted:     make(map[[sha256.Size]byte]bool),
		authorities: make(map[string][]*authority),
		revocations: make(map[string][]*revocationList),
	}
	for i := range files {
		if err := next.load(&files[i], t.trusted); err != nil {
			t.log.Error().Err(err).Str("file", files[i].path).Msg("unusable file in the certificate store is left out")
		}
	}
	if t.loaded {
		t.log.Info().Str("list", t.trusted).Int("trusted", len(next.trusted)).Msg("the trust list has changed")
	}
	t.current.Store(next)
	t.print, t.loaded = print, true
	return nil
}

// list names all files of the list, and fingerprints their names, sizes and times. The time of the folder
// alone would not show a file that was overwritten in place.
func (t *trustList) list() ([]file, [sha256.Size]byte, error) {
	var files []file
	sum := sha256.New()
	for _, folder := range []string{t.trusted, t.issuer} {
		for _, kind := range []string{"certs", "crl"} {
			if t.dir == "" {
				for _, content := range t.memory[folder+"/"+kind] {
					files = append(files, file{folder: folder, kind: kind, path: "memory", content: content})
					sum.Write(content)
				}
				continue
			}
			dir := filepath.Join(t.dir, folder, kind)
			entries, err := os.ReadDir(dir)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, [sha256.Size]byte{}, err
			}
			if len(entries) > maxListed {
				return nil, [sha256.Size]byte{}, fmt.Errorf("%s has more than %d files", dir, maxListed)
			}
			for _, entry := range entries {
				if strings.HasPrefix(entry.Name(), ".") || entry.IsDir() {
					continue
				}
				path := filepath.Join(dir, entry.Name())
				info, err := os.Stat(path) // follows links, as reading will
				if err != nil {
					continue // removed meanwhile, or a dead link
				}
				files = append(files, file{folder: folder, kind: kind, path: path})
				sum.Write([]byte(path))
				sum.Write(binary.BigEndian.AppendUint64(nil, uint64(info.Size())))
				sum.Write(binary.BigEndian.AppendUint64(nil, uint64(info.ModTime().UnixNano())))
			}
		}
	}
	return files, [sha256.Size]byte(sum.Sum(nil)), nil
}

func (s *snapshot) load(f *file, trustedFolder string) error {
	content := f.content
	if content == nil {
		var err error
		if content, err = readFile(f.path); err != nil {
			return err
		}
	}
	if f.kind == "crl" {
		ders, err := decodeFile(content, "X509 CRL")
		if err != nil {
			return err
		}
		for _, der := range ders {
			list, err := parseCRL(der)
			if err != nil {
				return err
			}
			s.revocations[string(list.crl.RawIssuer)] = append(s.revocations[string(list.crl.RawIssuer)], list)
		}
		return nil
	}
	ders, err := decodeFile(content, "CERTIFICATE")
	if err != nil {
		return err
	}
	for _, der := range ders {
		if err := s.addCertificate(der, f.folder == trustedFolder); err != nil {
			return err
		}
	}
	return nil
}

func (s *snapshot) addCertificate(der []byte, trusted bool) error {
	p, err := parse(der)
	if err != nil {
		return err
	}
	if trusted {
		s.trusted[sha256.Sum256(der)] = true
	}
	cert := p.X509()
	s.authorities[string(cert.RawSubject)] = append(s.authorities[string(cert.RawSubject)], &authority{cert, trusted})
	return nil
}

// isTrusted reports whether exactly this certificate is in the trusted folder.
func (s *snapshot) isTrusted(der []byte) bool { return s.trusted[sha256.Sum256(der)] }

// add puts a certificate or a revocation list into one of the folders, under its thumbprint.
func (t *trustList) add(folder, kind string, der []byte) error {
	if t.dir == "" {
		key := folder + "/" + kind
		for _, have := range t.memory[key] {
			if bytes.Equal(have, der) {
				return nil
			}
		}
		t.memory[key] = append(t.memory[key], bytes.Clone(der))
		return nil
	}
	sum := sha1.Sum(der)
	return writeOver(filepath.Join(t.dir, folder, kind, hex.EncodeToString(sum[:])+endings[kind]), der, 0o644)
}

// remove takes a certificate out of the trusted folder, whatever its file is called. A file that holds
// others as well is not touched; that is an error.
func (t *trustList) remove(der []byte) (bool, error) {
	if t.dir == "" {
		key := t.trusted + "/certs"
		for i, have := range t.memory[key] {
			if bytes.Equal(have, der) {
				t.memory[key] = append(t.memory[key][:i:i], t.memory[key][i+1:]...)
				return true, nil
			}
		}
		return false, nil
	}
	files, _, err := t.list()
	if err != nil {
		return false, err
	}
	found := false
	for i := range files {
		f := &files[i]
		if f.folder != t.trusted || f.kind != "certs" {
			continue
		}
		content, err := readFile(f.path)
		if err != nil {
			continue
		}
		ders, err := decodeFile(content, "CERTIFICATE")
		if err != nil {
			continue
		}
		for _, have := range ders {
			if !bytes.Equal(have, der) {
				continue
			}
			if len(ders) > 1 {
				return found, fmt.Errorf("%s holds more certificates than this one: edit it by hand", f.path)
			}
			if err := os.Remove(f.path); err != nil {
				return found, err
			}
			found = true
		}
	}
	return found, nil
}
