package pki

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Store is an application's certificate store. All methods may be called concurrently.
type Store struct {
	cfg      Config // immutable
	own      atomic.Pointer[ownSet]
	apps     *trustList
	users    *trustList
	rejected *rejectedStore
	notes    pacer // refusals that reach the disk and the log

	watchers sync.Map // of chan struct{}, one for each Watch that goes on

	ownFiles ownFiles

	scan struct {
		next atomic.Int64 // when the folders are looked at again, in Unix nanoseconds
		mu   sync.Mutex   // held by who looks
		// Guarded by mu, as ownFiles is.
		last time.Time     // when the folders were looked at
		took time.Duration // how long that took
	}
}

// Folders of the store.
var folders = []string{
	"own",
	"trusted/certs", "trusted/crl", "issuer/certs", "issuer/crl",
	"trustedUser/certs", "trustedUser/crl", "issuerUser/certs", "issuerUser/crl",
	"rejected",
}

// Open opens the store in cfg.Dir. On the first start it makes the folders, a private key, and a self-signed
// certificate. It fails when the certificate, the key and the configuration do not belong together; the
// error names the file and what to do.
func Open(cfg Config) (*Store, error) {
	if err := makeFolders(&cfg); err != nil {
		return nil, err
	}
	// Before it is read, so that what is replaced meanwhile is found to be new.
	print, err := fingerprintOwn(cfg.Dir)
	if err != nil {
		return nil, dirError(&cfg, err)
	}
	own, err := loadOwn(&cfg)
	if err != nil {
		return nil, err
	}
	s, err := openStore(cfg, own)
	if err != nil {
		return nil, err
	}
	s.ownFiles.print = print
	return s, nil
}

// OpenLists opens the trust lists and the rejected store of cfg.Dir without the application's own certificates:
// for tools that administer the folder of another program. [Store.Certificate] is nil.
func OpenLists(cfg Config) (*Store, error) {
	if err := makeFolders(&cfg); err != nil {
		return nil, err
	}
	return openStore(cfg, ownSet{})
}

func openStore(cfg Config, own ownSet) (*Store, error) {
	s := newStore(cfg, own, cfg.Dir)
	s.rejected.load()
	if err := s.Reload(); err != nil {
		return nil, dirError(&cfg, err)
	}
	return s, nil
}

// makeFolders checks the configuration and makes the folders that are missing.
func makeFolders(cfg *Config) error {
	if cfg.Dir == "" {
		return &ConfigError{Field: FieldDir, Problem: "is empty", Instead: "name a folder that can be read and written"}
	}
	if err := cfg.setDefaults(); err != nil {
		return err
	}
	for _, folder := range folders {
		mode := os.FileMode(0o755)
		if folder == "own" {
			mode = 0o700
		}
		if err := os.MkdirAll(filepath.Join(cfg.Dir, filepath.FromSlash(folder)), mode); err != nil {
			return dirError(cfg, err)
		}
	}
	return nil
}

// Memory makes a store that touches no disk. Its certificate is valid from 1990 to 2090, so that it can be
// used whatever time a test pretends.
func Memory(cfg Config) (*Store, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	own, err := makeOwn(&cfg,
		time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		return nil, err
	}
	return newStore(cfg, own, ""), nil
}

func newStore(cfg Config, own ownSet, dir string) *Store {
	s := &Store{
		cfg:      cfg,
		apps:     newTrustList(dir, "trusted", "issuer", cfg.Logger),
		users:    newTrustList(dir, "trustedUser", "issuerUser", cfg.Logger),
		rejected: newRejectedStore(dir),
	}
	s.own.Store(&own)
	if cfg.AcceptAll {
		cfg.Logger.Warn().Msg("TrustAll is set (AcceptAll in package pki): EVERY peer certificate is accepted, trusted or not; use this for demonstrations only")
	}
	return s
}

// Reload looks at the trust lists on disk now. It is not needed in normal operation: before a certificate
// is validated, changes of the last second or two may not have been seen, but before one is refused,
// the folders are looked at again. So whoever was just added is let in at once; after a removal, Reload
// takes effect earlier than waiting. It fails when a folder cannot be read; what was read last then stays
// in force. Single files that cannot be used are logged and left out.
func (s *Store) Reload() error {
	s.scan.mu.Lock()
	defer s.scan.mu.Unlock()
	return s.reload()
}

func (s *Store) reload() error {
	start := time.Now()
	s.scan.next.Store(start.Add(rescanEvery).UnixNano())
	err := errors.Join(s.apps.reload(), s.users.reload(), s.reloadOwn())
	s.scan.last, s.scan.took = start, time.Since(start)
	return err
}

// refresh reloads what has changed on disk, at most once in each [rescanEvery]. While one goroutine looks,
// the others go on with the lists they have.
func (s *Store) refresh() {
	// A next look that is further away than the interval means that the clock was set back.
	if wait := s.scan.next.Load() - time.Now().UnixNano(); wait > 0 && wait <= int64(rescanEvery) {
		return
	}
	if !s.scan.mu.TryLock() {
		return
	}
	defer s.scan.mu.Unlock()
	s.reloadLogged()
}

// lookAgain is called before a refusal, and reloads what has changed on disk: an administrator who has
// just moved a certificate into a trust list is not told that it is not there. Strangers can cause
// refusals, so it looks at most once in each [refusalRescan], and less often where that takes long.
func (s *Store) lookAgain() {
	if s.apps.dir == "" {
		return
	}
	s.scan.mu.Lock()
	defer s.scan.mu.Unlock()
	if time.Since(s.scan.last) >= max(refusalRescan, rescanShare*s.scan.took) {
		s.reloadLogged()
	}
}

// reloadLogged is reload where nobody waits for the error. The scan lock is held.
func (s *Store) reloadLogged() {
	if err := s.reload(); err != nil {
		s.cfg.Logger.Error().Err(err).Msg("cannot read the trust lists; the last ones stay in force")
	}
}

// Trust adds a certificate to the trusted applications: a peer's own, or that of an authority.
func (s *Store) Trust(der []byte) error { return s.add(s.apps, s.apps.trusted, der) }

// TrustUser adds a certificate to the trusted users: a user's own, or that of an authority.
func (s *Store) TrustUser(der []byte) error { return s.add(s.users, s.users.trusted, der) }

// AddIssuer adds an authority that completes chains of applications but gives no trust.
func (s *Store) AddIssuer(der []byte) error { return s.add(s.apps, s.apps.issuer, der) }

// AddCRL adds a revocation list for the authorities of applications, as DER or PEM.
func (s *Store) AddCRL(crl []byte) error {
	ders, err := decodeFile(crl, "X509 CRL")
	if err != nil {
		return fmt.Errorf("pki: %w", err)
	}
	s.scan.mu.Lock()
	defer s.scan.mu.Unlock()
	for _, der := range ders {
		if _, err := parseCRL(der); err != nil {
			return fmt.Errorf("pki: %w", err)
		}
		if err := s.apps.add(s.apps.trusted, "crl", der); err != nil {
			return fmt.Errorf("pki: %w", err)
		}
	}
	return s.apply(s.apps)
}

// Untrust removes a certificate from the trusted applications. It reports whether it was one of them.
func (s *Store) Untrust(der []byte) (bool, error) {
	s.scan.mu.Lock()
	defer s.scan.mu.Unlock()
	found, err := s.apps.remove(der)
	if err != nil {
		return found, fmt.Errorf("pki: %w", err)
	}
	return found, s.apply(s.apps)
}

// Rejected is the number of certificates in the rejected store.
func (s *Store) Rejected() int { return s.rejected.len() }

func (s *Store) add(list *trustList, folder string, der []byte) error {
	if _, err := parse(der); err != nil {
		return fmt.Errorf("pki: %w", err)
	}
	if n, err := derLen(der); err != nil || n != len(der) {
		return errors.New("pki: not one DER certificate")
	}
	s.scan.mu.Lock()
	defer s.scan.mu.Unlock()
	if err := list.add(folder, "certs", der); err != nil {
		return fmt.Errorf("pki: %w", err)
	}
	if folder == list.trusted {
		s.rejected.remove(der)
	}
	return s.apply(list)
}

// apply makes a change of this program take effect. The scan lock is held.
func (s *Store) apply(list *trustList) error {
	defer s.changed()
	return list.reload()
}
