package pki

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Certificate is a certificate of one's own with its private key: that of the application, or that of a
// user who logs in with it. It is immutable.
type Certificate struct {
	// DER is the certificate alone.
	DER []byte
	// Chain is DER followed by the authorities that were stored with it, as it is sent to a peer.
	Chain []byte
	// Key is the private key.
	Key *rsa.PrivateKey
	// Thumbprint is the SHA-1 of DER.
	Thumbprint [20]byte
	// ApplicationURI is the URI in the certificate. It is empty for a user's, which has none.
	ApplicationURI string
	// NotAfter is when the certificate expires.
	NotAfter time.Time
}

// Names under which the own certificate and key are looked for. The first one is what is created.
var (
	ownCertNames = []string{"cert.der", "cert.pem", "cert.crt", "cert.cer"}
	ownKeyNames  = []string{"key.pem", "key.der", "key.key"}
)

// loadOwn reads the application's certificate and key, and creates what is missing. Two processes that
// start on the same folder end up with the same certificate: whoever comes second reads what is there.
func loadOwn(cfg *Config) (*Certificate, error) {
	dir := filepath.Join(cfg.Dir, "own")
	keyPath, err := onlyOne(dir, ownKeyNames)
	if err != nil {
		return nil, err
	}
	certPath, err := onlyOne(dir, ownCertNames)
	if err != nil {
		return nil, err
	}
	if keyPath == "" {
		if certPath != "" {
			return nil, fmt.Errorf("pki: %s has no private key: put it into %s, or remove the certificate to have a new pair made",
				certPath, filepath.Join(dir, ownKeyNames[0]))
		}
		if _, err := parseApplicationURI(cfg.ApplicationURI); err != nil {
			return nil, fmt.Errorf("pki: %w", err)
		}
		if keyPath, err = createKey(dir, cfg.KeyBits); err != nil {
			return nil, err
		}
		cfg.Logger.Info().Str("file", keyPath).Int("bits", cfg.KeyBits).Msg("created the application's private key")
	}
	key, err := readKey(keyPath)
	if err != nil {
		return nil, err
	}
	warnOpenKey(cfg, keyPath)
	if certPath == "" {
		now := time.Now()
		der, err := createCertificate(cfg, key, now.Add(-backdating).UTC(), now.Add(defaultLifetime).UTC())
		if err != nil {
			return nil, fmt.Errorf("pki: %w", err)
		}
		certPath = filepath.Join(dir, ownCertNames[0])
		if err := writeNew(certPath, der, 0o644); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("pki: %w", err)
		}
		cfg.Logger.Info().Str("file", certPath).Str("uri", cfg.ApplicationURI).Strs("hosts", cfg.Hosts).
			Msg("created a self-signed application certificate; peers have to trust it")
	}
	own, err := readOwn(cfg, certPath, keyPath, key)
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	return own, nil
}

// onlyOne finds which of several names exists in dir. It returns "" when none does.
func onlyOne(dir string, names []string) (string, error) {
	found := ""
	for _, name := range names {
		path := filepath.Join(dir, name)
		switch _, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", fmt.Errorf("pki: %w", err)
		case found != "":
			return "", fmt.Errorf("pki: both %s and %s exist: remove the one that is not meant", found, path)
		default:
			found = path
		}
	}
	return found, nil
}

// Load reads a certificate, or a chain that begins with it, and its private key from any two files, as
// DER or PEM. It is meant for the certificate with which a user logs in (Part 4, 7.40.5); an application's
// own is read by [Open].
func Load(certFile, keyFile string) (*Certificate, error) {
	key, err := readKey(keyFile)
	if err != nil {
		return nil, err
	}
	content, err := readFile(certFile)
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	ders, err := decodeFile(content, "CERTIFICATE")
	if err != nil {
		return nil, fmt.Errorf("pki: %s: %w", certFile, err)
	}
	cert, err := newCertificate(bytes.Join(ders, nil), key)
	if err != nil {
		return nil, fmt.Errorf("pki: %s with key %s: %w", certFile, keyFile, err)
	}
	return cert, nil
}

func readOwn(cfg *Config, certPath, keyPath string, key *rsa.PrivateKey) (*Certificate, error) {
	content, err := readFile(certPath)
	if err != nil {
		return nil, err
	}
	ders, err := decodeFile(content, "CERTIFICATE")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", certPath, err)
	}
	blob := bytes.Join(ders, nil)
	own, err := newCertificate(blob, key)
	if err != nil {
		return nil, fmt.Errorf("%s with key %s: %w", certPath, keyPath, err)
	}
	if own.ApplicationURI == "" {
		return nil, fmt.Errorf("%s: the certificate needs exactly one URI in its subject alternative name, the ApplicationURI", certPath)
	}
	if cfg.ApplicationURI != "" && own.ApplicationURI != cfg.ApplicationURI {
		return nil, fmt.Errorf("%s is for the application %q, but the configured ApplicationURI is %q: "+
			"change the configuration, or remove the file to have a new certificate made (peers have to trust that one anew)",
			certPath, own.ApplicationURI, cfg.ApplicationURI)
	}
	warnOwn(cfg, certPath, own)
	return own, nil
}

// newCertificate puts a certificate with its chain and its key together, and refuses a pair with which
// no peer could work.
func newCertificate(blob []byte, key *rsa.PrivateKey) (*Certificate, error) {
	chain, err := splitChain(blob)
	if err != nil {
		return nil, err
	}
	leaf, err := parse(bytes.Clone(chain[0]))
	if err != nil {
		return nil, err
	}
	if !leaf.Key.Equal(&key.PublicKey) {
		return nil, errors.New("the private key does not belong to the certificate: put the right key there, " +
			"or remove both files to have a new pair made")
	}
	uri := ""
	if len(leaf.ApplicationURIs) == 1 {
		uri = leaf.ApplicationURIs[0]
	}
	return &Certificate{
		DER:            leaf.DER,
		Chain:          bytes.Clone(blob),
		Key:            key,
		Thumbprint:     leaf.Thumbprint,
		ApplicationURI: uri,
		NotAfter:       leaf.X509().NotAfter,
	}, nil
}

// warnOwn tells of what peers will complain about, but what is no reason to keep a machine from starting.
func warnOwn(cfg *Config, path string, own *Certificate) {
	cert, err := x509.ParseCertificate(own.DER)
	if err != nil {
		return
	}
	now := time.Now()
	switch {
	case now.After(cert.NotAfter):
		cfg.Logger.Error().Str("file", path).Time("expired", cert.NotAfter).Msg("the application certificate has expired; peers will refuse it")
	case now.Add(30 * 24 * time.Hour).After(cert.NotAfter):
		cfg.Logger.Warn().Str("file", path).Time("expires", cert.NotAfter).Msg("the application certificate expires soon")
	case now.Before(cert.NotBefore):
		cfg.Logger.Error().Str("file", path).Time("valid", cert.NotBefore).Msg("the application certificate is not yet valid; is the clock right?")
	}
	for _, host := range cfg.Hosts {
		if !hasHost(cert, host) {
			cfg.Logger.Warn().Str("file", path).Str("host", host).Msg("the application certificate does not name this host; clients that check host names will refuse it")
		}
	}
}

// defaultHosts are the names under which this machine may be reached when none are configured.
func defaultHosts() []string {
	hosts := []string{"localhost"}
	if name, err := os.Hostname(); err == nil && name != "" && !strings.ContainsAny(name, " /\\") {
		hosts = append(hosts, name)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
