package pki

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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

// warnOpenKey tells of a private key that others on the machine can read.
func warnOpenKey(cfg *Config, path string) {
	if runtime.GOOS == "windows" {
		return // there, the mode says nothing about who may read
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		cfg.Logger.Warn().Str("file", path).Stringer("mode", info.Mode().Perm()).Msg("the private key is readable by others: chmod 600")
	}
}

// createKey makes the private key and stores it as PKCS#8, readable by the owner only.
func createKey(dir string, bits int) (string, error) {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return "", fmt.Errorf("pki: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("pki: %w", err)
	}
	path := filepath.Join(dir, ownKeyNames[0])
	content := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := writeNew(path, content, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("pki: %w", err)
	}
	return path, nil
}

// readKey reads a PKCS#8 or PKCS#1 key, as DER or PEM.
func readKey(path string) (*rsa.PrivateKey, error) {
	content, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	key, err := parseKey(content)
	if err != nil {
		return nil, fmt.Errorf("pki: %s: %w", path, err)
	}
	return key, nil
}

func parseKey(content []byte) (*rsa.PrivateKey, error) {
	if bytes.Contains(content, []byte("ENCRYPTED")) && bytes.Contains(content, []byte("-----BEGIN ")) {
		return nil, errors.New("the private key is encrypted: store it without a passphrase, protected by the file's permissions")
	}
	ders, err := decodeFile(content, "PRIVATE KEY", "RSA PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	if len(ders) != 1 {
		return nil, errors.New("more than one private key")
	}
	var key *rsa.PrivateKey
	if anyKey, err8 := x509.ParsePKCS8PrivateKey(ders[0]); err8 == nil {
		var ok bool
		if key, ok = anyKey.(*rsa.PrivateKey); !ok {
			return nil, errors.New("not an RSA key")
		}
	} else if key, err = x509.ParsePKCS1PrivateKey(ders[0]); err != nil {
		return nil, errors.New("neither a PKCS#8 nor a PKCS#1 RSA key")
	}
	if err := checkKey(&key.PublicKey, minKeyBits, maxKeyBits); err != nil {
		return nil, err
	}
	return key, nil
}

// readFile reads a file of the store, up to a bound.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return os.ReadFile(path)
}

// writeNew creates a file that is complete whenever it is seen, and fails with [fs.ErrExist] when it is
// there already.
func writeNew(path string, content []byte, mode fs.FileMode) error {
	temp, err := writeTemp(path, content, mode)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp) }()
	err = os.Link(temp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// Some file systems have no links. There, two starts at the same moment are left to chance.
	if _, err := os.Stat(path); err == nil {
		return fs.ErrExist
	}
	return os.Rename(temp, path)
}

// writeOver creates or replaces a file, which is complete whenever it is seen.
func writeOver(path string, content []byte, mode fs.FileMode) error {
	temp, err := writeTemp(path, content, mode)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return nil
}

// tempPrefix marks files under construction, which a scan leaves out.
const tempPrefix = ".tmp-"

func writeTemp(path string, content []byte, mode fs.FileMode) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix+"*") // with mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
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
