package pki

import (
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Config says where a store is and whom its certificate is for.
type Config struct {
	// Dir is the store's folder. It is made when missing. [Memory] ignores it.
	Dir string
	// ApplicationURI is what the application is called worldwide. It stands in its certificate. It may be
	// empty if there is a certificate already, whose URI then counts.
	ApplicationURI string
	// ApplicationName is the common name in a certificate that is made. Default: ApplicationURI.
	ApplicationName string
	// Organization is who runs the application, in a certificate that is made. Default: left out.
	Organization string
	// Hosts are the DNS names and addresses under which the application is reached, in a certificate that
	// is made. Default: localhost and the host's name.
	Hosts []string
	// KeyBits is the size of a key that is made: 2048 (the default), 3072 or 4096. A larger key makes every
	// new channel cost several times the work.
	KeyBits int
	// Logger receives refusals and changes. Default: none.
	Logger zerolog.Logger
	// AcceptAll accepts every application whose certificate can be parsed, trusted or not, and logs each.
	// It is for demonstrations: anybody can then pose as anybody. Users are not covered.
	AcceptAll bool
	// AcceptMissingCRL accepts certificates of an authority for which there is no current revocation list.
	// The default refuses them, because a stolen key could not be told from a good one.
	AcceptMissingCRL bool

	// Key is the private key to use in a memory store, so that tests need not make one each time.
	// Default: a new one.
	Key *rsa.PrivateKey
}

func (c *Config) setDefaults() error {
	if c.KeyBits == 0 {
		c.KeyBits = 2048
	}
	switch c.KeyBits {
	case 2048, 3072, 4096:
	default:
		return fmt.Errorf("pki: KeyBits %d: use 2048, 3072 or 4096", c.KeyBits)
	}
	if c.Hosts == nil {
		c.Hosts = defaultHosts()
	}
	return nil
}

// Store is an application's certificate store. All methods may be called concurrently.
type Store struct {
	cfg      Config // immutable
	own      *Certificate
	apps     *trustList
	users    *trustList
	rejected *rejectedStore
	notes    pacer // refusals that reach the disk and the log

	scan struct {
		next atomic.Int64 // when the folders are looked at again, in Unix nanoseconds
		mu   sync.Mutex   // held by who looks
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
	if cfg.Dir == "" {
		return nil, errors.New("pki: Dir is empty")
	}
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	for _, folder := range folders {
		mode := os.FileMode(0o755)
		if folder == "own" {
			mode = 0o700
		}
		if err := os.MkdirAll(filepath.Join(cfg.Dir, filepath.FromSlash(folder)), mode); err != nil {
			return nil, fmt.Errorf("pki: %w", err)
		}
	}
	own, err := loadOwn(&cfg)
	if err != nil {
		return nil, err
	}
	s := newStore(cfg, own, cfg.Dir)
	s.rejected.load()
	if err := s.Reload(); err != nil {
		return nil, err
	}
	return s, nil
}

// Memory makes a store that touches no disk. Its certificate is valid from 1990 to 2090, so that it can be
// used whatever time a test pretends.
func Memory(cfg Config) (*Store, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	key := cfg.Key
	if key == nil {
		var err error
		if key, err = rsa.GenerateKey(rand.Reader, cfg.KeyBits); err != nil {
			return nil, fmt.Errorf("pki: %w", err)
		}
	}
	der, err := createCertificate(&cfg, key,
		time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	own, err := newCertificate(der, key)
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	return newStore(cfg, own, ""), nil
}

func newStore(cfg Config, own *Certificate, dir string) *Store {
	s := &Store{
		cfg:      cfg,
		own:      own,
		apps:     newTrustList(dir, "trusted", "issuer", cfg.Logger),
		users:    newTrustList(dir, "trustedUser", "issuerUser", cfg.Logger),
		rejected: newRejectedStore(dir),
	}
	if cfg.AcceptAll {
		cfg.Logger.Warn().Msg("EVERY peer certificate is accepted, trusted or not: use this for demonstrations only")
	}
	return s
}

// Certificate is the application's own certificate and key.
func (s *Store) Certificate() *Certificate { return s.own }

// Reload looks at the trust lists on disk now. It is not needed in normal operation: changes are noticed
// when the next certificate is validated. It fails when a folder cannot be read; what was read last
// then stays in force. Single files that cannot be used are logged and left out.
func (s *Store) Reload() error {
	s.scan.mu.Lock()
	defer s.scan.mu.Unlock()
	return s.reload()
}

func (s *Store) reload() error {
	s.scan.next.Store(time.Now().Add(rescanEvery).UnixNano())
	return errors.Join(s.apps.reload(), s.users.reload())
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
	return s.apps.reload()
}

// Untrust removes a certificate from the trusted applications. It reports whether it was one of them.
func (s *Store) Untrust(der []byte) (bool, error) {
	s.scan.mu.Lock()
	defer s.scan.mu.Unlock()
	found, err := s.apps.remove(der)
	if err != nil {
		return found, fmt.Errorf("pki: %w", err)
	}
	return found, s.apps.reload()
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
	return list.reload()
}
