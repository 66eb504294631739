package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// revocationList is a parsed CRL (RFC 5280, 5).
type revocationList struct {
	crl     *x509.RevocationList
	serials map[string]bool // serial numbers of revoked certificates, as big-endian bytes
	// partial lists, such as deltas, name some revoked certificates; that one is absent says nothing.
	partial bool
}

func parseCRL(der []byte) (*revocationList, error) {
	crl, err := x509.ParseRevocationList(der)
	if err != nil {
		return nil, fmt.Errorf("not a revocation list: %w", err)
	}
	list := &revocationList{crl: crl, serials: make(map[string]bool, len(crl.RevokedCertificateEntries))}
	for i := range crl.RevokedCertificateEntries {
		entry := &crl.RevokedCertificateEntries[i]
		const removeFromCRL = 8 // takes back an earlier entry
		if entry.ReasonCode != removeFromCRL && entry.SerialNumber != nil {
			list.serials[string(entry.SerialNumber.Bytes())] = true
		}
	}
	for i := range crl.Extensions {
		// An unknown critical extension limits what the list covers (RFC 5280, 5.2).
		if crl.Extensions[i].Critical {
			list.partial = true
		}
	}
	return list, nil
}

// isFrom checks that the list was signed by an authority that may do so.
func (l *revocationList) isFrom(issuer *x509.Certificate) bool {
	if issuer.KeyUsage != 0 && issuer.KeyUsage&x509.KeyUsageCRLSign == 0 {
		return false
	}
	return checkSignature(issuer, l.crl.SignatureAlgorithm, l.crl.RawTBSRevocationList, l.crl.Signature) == nil
}

// checkRevocation performs the last two steps of Part 4, 6.1.3 for one link of a chain: find the issuer's
// revocation list, and look the certificate up. An outdated list still revokes, but no longer clears.
func (s *snapshot) checkRevocation(cert, issuer *x509.Certificate, now time.Time, acceptMissing bool) error {
	known := false
	stale := false
	for _, list := range s.revocations[string(cert.RawIssuer)] {
		if !list.isFrom(issuer) {
			continue // made by another authority of the same name
		}
		if list.serials[string(cert.SerialNumber.Bytes())] {
			return errRevoked
		}
		current := !now.Before(list.crl.ThisUpdate) && (list.crl.NextUpdate.IsZero() || !now.After(list.crl.NextUpdate))
		stale = stale || !current
		known = known || current && !list.partial
	}
	switch {
	case known || acceptMissing:
		return nil
	case stale:
		return errStaleCRL
	}
	return errNoCRL
}

var (
	errRevoked  = errors.New("is revoked")
	errNoCRL    = errors.New("cannot be checked for revocation: put the revocation list of its issuer into trusted/crl or issuer/crl")
	errStaleCRL = errors.New("cannot be checked for revocation: the revocation list of its issuer is out of date")
)

// revocationFailure names a failed check with the code for a leaf or for an authority.
func revocationFailure(err error, cert *x509.Certificate, isLeaf bool) *failure {
	code := ua.BadCertificateIssuerRevocationUnknown
	switch revoked := errors.Is(err, errRevoked); {
	case revoked && isLeaf:
		code = ua.BadCertificateRevoked
	case revoked:
		code = ua.BadCertificateIssuerRevoked
	case isLeaf:
		code = ua.BadCertificateRevocationUnknown
	}
	return &failure{code, fmt.Sprintf("the certificate of %s %v", quote(cert.Subject.String()), err)}
}
