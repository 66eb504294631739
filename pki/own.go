package pki

import (
	"bytes"
	"crypto"
	"crypto/elliptic"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Certificate is a certificate of one's own with its private key: that of the application, or that of a
// user who logs in with it. It is immutable.
type Certificate struct {
	// DER is the certificate alone.
	DER []byte
	// Chain is DER followed by the authorities that were stored with it, as it is sent to a peer.
	Chain []byte
	// Key is the private key. An RSA key is a [crypto.Decrypter], too.
	Key crypto.Signer
	// Type is the type of the key.
	Type KeyType
	// Thumbprint is the SHA-1 of DER.
	Thumbprint [20]byte
	// ApplicationURI is the URI in the certificate. It is empty for a user's, which has none.
	ApplicationURI string
	// NotAfter is when the certificate expires.
	NotAfter time.Time
}

// ownSet is the application's certificates by the type of their keys. That of RSA is always there.
type ownSet [keyTypes]*Certificate

// Certificate is the application's own RSA certificate and key.
func (s *Store) Certificate() *Certificate { return s.own.Load()[RSA] }

// CertificateOf is the application's own certificate with a key of the type. It is nil where the application
// has none, see Config.KeyTypes.
func (s *Store) CertificateOf(t KeyType) *Certificate {
	if t >= keyTypes {
		return nil
	}
	return s.own.Load()[t]
}

// CertificateFor is the application's own certificate for a security policy: the one whose key is on the
// policy's curve, or the RSA certificate for policies that have no curve. It is nil where there is none.
func (s *Store) CertificateFor(curve elliptic.Curve) *Certificate {
	for t, own := range s.own.Load() {
		if KeyType(t).curve() == curve {
			return own
		}
	}
	return nil
}

// Certificates are all certificates of the application, RSA first.
func (s *Store) Certificates() []*Certificate {
	return slices.DeleteFunc(slices.Clone(s.own.Load()[:]), func(c *Certificate) bool { return c == nil })
}

// ownNames are the names under which the own certificate and key of a type are looked for. The first ones are
// what is created.
func ownNames(t KeyType) (certs, keys []string) {
	kind := ""
	if t != RSA {
		kind = "_" + t.String()
	}
	for _, extension := range []string{"der", "pem", "crt", "cer"} {
		certs = append(certs, "cert"+kind+"."+extension)
	}
	for _, extension := range []string{"pem", "der", "key"} {
		keys = append(keys, "key"+kind+"."+extension)
	}
	return certs, keys
}

// loadOwn reads the application's certificates and keys, and creates what is missing. Two processes that start
// on the same folder end up with the same certificates: whoever comes second reads what is there.
func loadOwn(cfg *Config) (set ownSet, err error) {
	for _, t := range cfg.KeyTypes {
		if set[t], err = loadType(cfg, t); err != nil {
			return set, err
		}
	}
	return set, nil
}

func loadType(cfg *Config, t KeyType) (*Certificate, error) {
	dir := filepath.Join(cfg.Dir, "own")
	certNames, keyNames := ownNames(t)
	keyPath, err := onlyOne(cfg, FieldKey, dir, keyNames)
	if err != nil {
		return nil, err
	}
	certPath, err := onlyOne(cfg, FieldCertificate, dir, certNames)
	if err != nil {
		return nil, err
	}
	if keyPath == "" {
		keyPath = filepath.Join(dir, keyNames[0])
		if certPath != "" {
			return nil, &ConfigError{
				Field: FieldKey, Value: keyPath, Problem: "there is no private key for " + certPath,
				Instead: "put it there, or remove the certificate to have a new pair made",
			}
		}
		if _, err := parseApplicationURI(cfg.ApplicationURI); err != nil {
			return nil, err
		}
		if err = createKey(keyPath, t, cfg.KeyBits); err != nil {
			return nil, dirError(cfg, err)
		}
		cfg.Logger.Info().Str("file", keyPath).Stringer("type", t).Msg("created the application's private key")
	}
	key, err := readKey(keyPath)
	if err == nil && typeOf(key) != t {
		err = fmt.Errorf("the key is of type %v and not %v", typeOf(key), t)
	}
	if err != nil {
		return nil, &ConfigError{
			Field: FieldKey, Value: keyPath, Problem: err.Error(), Err: err,
			Instead: "put " + t.wanted() + " there, " +
				"or remove it together with the certificate to have a new pair made",
		}
	}
	warnOpenKey(cfg, keyPath)
	if certPath == "" {
		now := time.Now()
		der, err := createCertificate(cfg, key, now.Add(-backdating).UTC(), now.Add(defaultLifetime).UTC())
		if err != nil {
			return nil, err
		}
		certPath = filepath.Join(dir, certNames[0])
		if err := writeNew(certPath, der, 0o644); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, dirError(cfg, err)
		}
		cfg.Logger.Info().Str("file", certPath).Str("uri", cfg.ApplicationURI).Strs("hosts", cfg.Hosts).
			Msg("created a self-signed application certificate; peers have to trust it")
	}
	return readOwn(cfg, certPath, keyPath, key)
}

// makeOwn makes the certificates of a memory store.
func makeOwn(cfg *Config, notBefore, notAfter time.Time) (set ownSet, err error) {
	if _, err := parseApplicationURI(cfg.ApplicationURI); err != nil {
		return set, err // before a key is made for it
	}
	for _, t := range cfg.KeyTypes {
		var key crypto.Signer = cfg.Key
		if t != RSA || cfg.Key == nil {
			if key, err = newKey(t, cfg.KeyBits); err != nil {
				return set, fmt.Errorf("pki: %w", err)
			}
		}
		der, err := createCertificate(cfg, key, notBefore, notAfter)
		if err != nil {
			return set, err
		}
		if set[t], err = newCertificate(der, key); err != nil {
			return set, fmt.Errorf("pki: %w", err)
		}
	}
	return set, nil
}

// onlyOne finds which of several names exists in dir. It returns "" when none does.
func onlyOne(cfg *Config, field, dir string, names []string) (string, error) {
	found := ""
	for _, name := range names {
		path := filepath.Join(dir, name)
		switch _, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", dirError(cfg, err)
		case found != "":
			return "", &ConfigError{Field: field, Value: found, Problem: path + " exists, too", Instead: "remove the one that is not meant"}
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
		return nil, fmt.Errorf("pki: %s: %w", keyFile, err)
	}
	content, err := readFile(certFile)
	if err != nil {
		return nil, fmt.Errorf("pki: %s: %w", certFile, err)
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

func readOwn(cfg *Config, certPath, keyPath string, key crypto.Signer) (*Certificate, error) {
	unusable := func(err error) error {
		return &ConfigError{
			Field: FieldCertificate, Value: certPath, Problem: err.Error(), Err: err,
			Instead: "put the application's certificate there, as DER or PEM, or remove it to have a new one made",
		}
	}
	content, err := readFile(certPath)
	if err != nil {
		return nil, unusable(err)
	}
	ders, err := decodeFile(content, "CERTIFICATE")
	if err != nil {
		return nil, unusable(err)
	}
	own, err := newCertificate(bytes.Join(ders, nil), key)
	switch {
	case errors.Is(err, errOtherKey):
		return nil, &ConfigError{
			Field: FieldKey, Value: keyPath, Problem: "the private key does not belong to the certificate " + certPath, Err: err,
			Instead: "put the right key there, or remove both files to have a new pair made",
		}
	case err != nil:
		return nil, unusable(err)
	case own.ApplicationURI == "":
		return nil, unusable(errors.New("the certificate needs exactly one URI in its subject alternative name, the ApplicationURI"))
	case cfg.ApplicationURI != "" && own.ApplicationURI != cfg.ApplicationURI:
		return nil, &ConfigError{
			Field: FieldApplicationURI, Value: cfg.ApplicationURI,
			Problem: fmt.Sprintf("the certificate %s is for the application %s", certPath, quote(own.ApplicationURI)),
			Instead: "configure the URI of the certificate, or remove the file to have a new one made (peers have to trust that one anew)",
		}
	}
	warnOwn(cfg, certPath, own)
	return own, nil
}

var errOtherKey = errors.New("the private key does not belong to the certificate")

// newCertificate puts a certificate with its chain and its key together, and refuses a pair with which
// no peer could work.
func newCertificate(blob []byte, key crypto.Signer) (*Certificate, error) {
	chain, err := splitChain(blob)
	if err != nil {
		return nil, err
	}
	leaf, err := parse(bytes.Clone(chain[0]))
	if err != nil {
		return nil, err
	}
	if !sameKey(leaf.Key, key.Public()) {
		return nil, errOtherKey
	}
	t, _ := KeyTypeOf(leaf.Key)
	uri := ""
	if len(leaf.ApplicationURIs) == 1 {
		uri = leaf.ApplicationURIs[0]
	}
	return &Certificate{
		DER:            leaf.DER,
		Chain:          bytes.Clone(blob),
		Key:            key,
		Type:           t,
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
	if name, err := os.Hostname(); err == nil && checkHost(name) == "" {
		hosts = append(hosts, name)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
