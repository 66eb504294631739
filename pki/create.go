package pki

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// defaultLifetime of a self-signed certificate. No authority could renew it, its revocation is the removal
// from the peers' trust lists, and a machine that its builder has left must not stop on some day in the
// future because a date passed. So it lasts as long as the machine. Who wants short lifetimes has an
// authority, and puts that one's certificate into own/.
const defaultLifetime = 20 * 365 * 24 * time.Hour

// backdating lets peers whose clock is behind accept a certificate of today.
const backdating = 24 * time.Hour

// createCertificate makes the self-signed application instance certificate for key (Part 6, 6.2.2).
func createCertificate(cfg *Config, key crypto.Signer, notBefore, notAfter time.Time) ([]byte, error) {
	uri, err := parseApplicationURI(cfg.ApplicationURI)
	if err != nil {
		return nil, err
	}
	serial := make([]byte, 16)
	if _, err := rand.Read(serial); err != nil {
		return nil, err
	}
	serial[0] = serial[0]&0x7f | 0x40 // positive, and always of the same length
	usage, algorithm := x509.KeyUsageDigitalSignature|x509.KeyUsageContentCommitment, x509.SHA256WithRSA
	switch t, _ := KeyTypeOf(key.Public()); t {
	case RSA:
		usage |= x509.KeyUsageKeyEncipherment | x509.KeyUsageDataEncipherment
	case NistP256:
		algorithm = x509.ECDSAWithSHA256
	case NistP384:
		algorithm = x509.ECDSAWithSHA384
	}
	template := x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial),
		Subject:      pkix.Name{CommonName: commonName(cfg), Organization: nonEmpty(cfg.Organization)},
		NotBefore:    notBefore,
		NotAfter:     notAfter,
		// A self-signed certificate is its own issuer, which is what keyCertSign is for here; it is no
		// authority, and cannot sign others.
		KeyUsage:              usage | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		IsCA:                  false,
		SignatureAlgorithm:    algorithm,
		URIs:                  []*url.URL{uri},
	}
	// RFC 5280, 4.2.1.2: a hash over the public key, here the truncated SHA-256 of RFC 7093.
	id, err := keyID(key.Public())
	if err != nil {
		return nil, fmt.Errorf("pki: create certificate: %w", err)
	}
	template.SubjectKeyId = id
	template.AuthorityKeyId = template.SubjectKeyId
	for _, host := range cfg.Hosts {
		host = strings.Trim(host, "[]")
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("pki: create certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("pki: create certificate: %w", err)
	}
	if got, err := applicationURIs(cert); err != nil || len(got) != 1 || got[0] != cfg.ApplicationURI {
		return nil, uriError(cfg.ApplicationURI, "cannot be written into a certificate")
	}
	return der, nil
}

// keyID hashes what stands in the certificate as the public key.
func keyID(key crypto.PublicKey) ([]byte, error) {
	spki, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, err
	}
	var info struct {
		Algorithm asn1.RawValue
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(spki, &info); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(info.Key.RightAlign())
	return sum[:20], nil
}

// parseApplicationURI checks what will stand in the certificate before a key is made for it.
func parseApplicationURI(uri string) (*url.URL, error) {
	if uri == "" {
		return nil, uriError(uri, "is empty, but needed to create the application certificate")
	}
	for _, r := range uri {
		if r > unicode.MaxASCII || unicode.IsControl(r) || r == ' ' {
			return nil, uriError(uri, "only ASCII without spaces can be written into a certificate")
		}
	}
	parsed, err := url.Parse(uri)
	if err != nil || parsed.Scheme == "" {
		return nil, uriError(uri, "is no absolute URI")
	}
	return parsed, nil
}

func uriError(uri, problem string) error {
	return &ConfigError{
		Field: FieldApplicationURI, Value: uri, Problem: problem,
		Instead: "use a plain URN such as urn:host:company:product",
	}
}

// commonName is the application's name, shortened to the 64 characters that X.520 allows.
func commonName(cfg *Config) string {
	name := cfg.ApplicationName
	if name == "" {
		name = cfg.ApplicationURI
	}
	if runes := []rune(name); len(runes) > 64 {
		name = string(runes[:64])
	}
	return name
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
