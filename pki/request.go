package pki

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"net/url"
)

// SigningRequest makes a PKCS #10 request, as DER, for a certificate that is to take the place of current: with
// the same names and application URI, and with its key. Another key, or another subject than the current one's,
// may be given; nil and an empty RDN sequence stand for the current ones.
func SigningRequest(current *Certificate, key crypto.Signer, subject pkix.RDNSequence) ([]byte, error) {
	cert, err := x509.ParseCertificate(current.DER)
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	if key == nil {
		key = current.Key
	}
	raw := cert.RawSubject
	if len(subject) > 0 {
		if raw, err = asn1.Marshal(subject); err != nil {
			return nil, fmt.Errorf("pki: subject: %w", err)
		}
	}
	if current.ApplicationURI == "" {
		return nil, errors.New("pki: the current certificate has no application URI")
	}
	uri, err := url.Parse(current.ApplicationURI)
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	algorithm := x509.SHA256WithRSA
	switch typeOf(key) {
	case NistP256:
		algorithm = x509.ECDSAWithSHA256
	case NistP384:
		algorithm = x509.ECDSAWithSHA384
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		RawSubject: raw, SignatureAlgorithm: algorithm, URIs: []*url.URL{uri},
		DNSNames: cert.DNSNames, IPAddresses: cert.IPAddresses,
	}, key)
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	return der, nil
}

// NewKey makes a private key of the type; bits are those of an RSA key, 0 for 2048.
func NewKey(t KeyType, bits int) (crypto.Signer, error) {
	if bits == 0 {
		bits = 2048
	}
	return newKey(t, bits)
}

// ParseKey reads a private key, as DER or PEM: PKCS #8, PKCS #1 or SEC 1.
func ParseKey(content []byte) (crypto.Signer, error) { return parseKey(content) }
