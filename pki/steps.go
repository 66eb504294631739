package pki

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// checkOwn refuses the application's own certificate and key as those of a peer: an attacker who reflects
// messages presents exactly that, and a copied key is no other application.
func (s *Store) checkOwn(leaf *Parsed) *failure {
	for _, own := range s.Certificates() {
		if bytes.Equal(leaf.DER, own.DER) || sameKey(leaf.Key, own.Key.Public()) {
			return &failure{ua.BadCertificateUseNotAllowed, "the peer presents this application's own certificate or key"}
		}
	}
	return nil
}

// judge performs the steps of Part 4, 6.1.3 and returns the first one that fails, or nil. It also returns
// the chain that it found, and whether the certificate is trusted, which decides over how much its owner may
// know.
func judge(lists *snapshot, leaf *Parsed, sent []*x509.Certificate, check *Check, acceptMissingCRL bool) ([]link, bool, *failure) {
	cert := leaf.X509()
	direct := lists.isTrusted(leaf.DER)

	builder := chainBuilder{lists: lists, sent: sent}
	chain, err := builder.build(link{cert, direct})
	var insecure x509.InsecureAlgorithmError
	switch {
	case errors.As(err, &insecure):
		return nil, direct, &failure{ua.BadCertificatePolicyCheckFailed, "signature algorithm: " + err.Error()}
	case errors.Is(err, x509.ErrUnsupportedAlgorithm):
		return nil, direct, &failure{ua.BadCertificatePolicyCheckFailed, "signature algorithm is not supported"}
	case err != nil:
		return nil, direct, &failure{ua.BadCertificateChainIncomplete, err.Error()}
	}
	trusted := slices.ContainsFunc(chain, func(l link) bool { return l.trusted })
	if !trusted {
		return chain, false, &failure{ua.BadCertificateUntrusted, "neither the certificate nor one of its issuers is in the trust list"}
	}
	if err := checkPolicyKey(leaf, check); err != nil {
		return chain, true, &failure{ua.BadCertificatePolicyCheckFailed, err.Error()}
	}
	now := time.Now()
	for _, step := range []func() *failure{
		func() *failure { return checkTime(chain, now) },
		func() *failure { return checkNames(cert, leaf, check) },
		func() *failure { return checkLeafUse(cert, check.Use) },
		func() *failure { return checkIssuerUse(chain, now) },
		func() *failure { return checkChainRevocation(lists, chain, now, acceptMissingCRL) },
	} {
		if fail := step(); fail != nil {
			return chain, true, fail
		}
	}
	return chain, true, nil
}

func checkPolicyKey(leaf *Parsed, check *Check) error {
	minBits, maxBits := check.MinKeyBits, check.MaxKeyBits
	if minBits == 0 {
		minBits = minKeyBits
	}
	if maxBits == 0 {
		maxBits = maxKeyBits
	}
	return checkKey(leaf.Key, minBits, maxBits)
}

func checkTime(chain []link, now time.Time) *failure {
	for i := range chain {
		cert := chain[i].cert
		if !now.Before(cert.NotBefore) && !now.After(cert.NotAfter) {
			continue
		}
		code := ua.BadCertificateIssuerTimeInvalid
		if i == 0 {
			code = ua.BadCertificateTimeInvalid
		}
		return &failure{code, fmt.Sprintf("the certificate of %s is valid from %s to %s only",
			quote(cert.Subject.String()), cert.NotBefore.Format(time.DateTime), cert.NotAfter.Format(time.DateTime))}
	}
	return nil
}

// checkNames checks the host name and the application URI. Users have neither.
func checkNames(cert *x509.Certificate, leaf *Parsed, check *Check) *failure {
	if check.Use == UseUser {
		return nil
	}
	if check.Hostname != "" && !hasHost(cert, check.Hostname) {
		return &failure{ua.BadCertificateHostNameInvalid, "the certificate does not name the host " + quote(check.Hostname)}
	}
	if check.ApplicationURI != "" && !leaf.HasApplicationURI(check.ApplicationURI) {
		return &failure{ua.BadCertificateURIInvalid, fmt.Sprintf("the certificate is for the application %s, not %s",
			quote(strings.Join(leaf.ApplicationURIs, " and ")), quote(check.ApplicationURI))}
	}
	return nil
}

// checkLeafUse checks what the key may be used for. A missing extension allows every use (RFC 5280,
// 4.2.1.3 and 4.2.1.12); one that is there has to allow what the protocol does with the key.
func checkLeafUse(cert *x509.Certificate, use Use) *failure {
	if len(cert.UnhandledCriticalExtensions) > 0 {
		return &failure{ua.BadCertificateUseNotAllowed, fmt.Sprintf("unknown critical extension %s", cert.UnhandledCriticalExtensions[0])}
	}
	if cert.KeyUsage != 0 {
		if cert.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
			return &failure{ua.BadCertificateUseNotAllowed, "key usage does not allow signatures"}
		}
		// Nothing is encrypted for an ECC key.
		const encipher = x509.KeyUsageKeyEncipherment | x509.KeyUsageDataEncipherment
		if use != UseUser && cert.PublicKeyAlgorithm == x509.RSA && cert.KeyUsage&encipher == 0 {
			return &failure{ua.BadCertificateUseNotAllowed, "key usage does not allow encryption"}
		}
	}
	if use == UseUser || len(cert.ExtKeyUsage) == 0 && len(cert.UnknownExtKeyUsage) == 0 {
		return nil
	}
	wanted, name := x509.ExtKeyUsageClientAuth, "clientAuth"
	if use == UseServer {
		wanted, name = x509.ExtKeyUsageServerAuth, "serverAuth"
	}
	if !slices.Contains(cert.ExtKeyUsage, wanted) && !slices.Contains(cert.ExtKeyUsage, x509.ExtKeyUsageAny) {
		return &failure{ua.BadCertificateUseNotAllowed, "extended key usage does not include " + name}
	}
	return nil
}

// checkIssuerUse checks that every authority of the chain is one, and keeps within its limits.
func checkIssuerUse(chain []link, now time.Time) *failure {
	constrained := false
	for i := 1; i < len(chain); i++ {
		cert := chain[i].cert
		reason := ""
		switch {
		case !cert.BasicConstraintsValid || !cert.IsCA:
			reason = "is no authority"
		case cert.KeyUsage != 0 && cert.KeyUsage&x509.KeyUsageCertSign == 0:
			reason = "may not sign certificates"
		case (cert.MaxPathLen > 0 || cert.MaxPathLenZero) && i-1 > cert.MaxPathLen:
			reason = "has more authorities below it than it allows"
		case len(cert.UnhandledCriticalExtensions) > 0:
			reason = "has the unknown critical extension " + cert.UnhandledCriticalExtensions[0].String()
		}
		if reason != "" {
			return &failure{ua.BadCertificateIssuerUseNotAllowed, "the issuer " + quote(cert.Subject.String()) + " " + reason}
		}
		constrained = constrained || hasNameConstraints(cert)
	}
	if constrained {
		return checkNameConstraints(chain, now)
	}
	return nil
}

func hasNameConstraints(cert *x509.Certificate) bool {
	return len(cert.PermittedDNSDomains)+len(cert.ExcludedDNSDomains)+
		len(cert.PermittedIPRanges)+len(cert.ExcludedIPRanges)+
		len(cert.PermittedEmailAddresses)+len(cert.ExcludedEmailAddresses)+
		len(cert.PermittedURIDomains)+len(cert.ExcludedURIDomains) > 0
}

// checkNameConstraints leaves the comparison of names with an authority's constraints (RFC 5280, 4.2.1.10)
// to crypto/x509, which performs it as a part of its own verification of the chain. It refuses every URN
// there, although only constraints on URIs could not be decided for one; those are refused here.
func checkNameConstraints(chain []link, now time.Time) *failure {
	leaf := *chain[0].cert
	leaf.URIs = nil
	for _, l := range chain[1:] {
		if len(l.cert.PermittedURIDomains)+len(l.cert.ExcludedURIDomains) > 0 {
			return &failure{ua.BadCertificateIssuerUseNotAllowed, "the issuer " + quote(l.cert.Subject.String()) + " constrains URIs, which cannot be applied to applications"}
		}
	}
	opts := x509.VerifyOptions{
		Roots:         x509.NewCertPool(),
		Intermediates: x509.NewCertPool(),
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	}
	for i := 1; i < len(chain)-1; i++ {
		opts.Intermediates.AddCert(chain[i].cert)
	}
	opts.Roots.AddCert(chain[len(chain)-1].cert)
	if _, err := leaf.Verify(opts); err != nil {
		return &failure{ua.BadCertificateIssuerUseNotAllowed, "constraints of an issuer: " + err.Error()}
	}
	return nil
}

// checkChainRevocation checks every certificate but the root, which nobody could revoke.
func checkChainRevocation(lists *snapshot, chain []link, now time.Time, acceptMissing bool) *failure {
	for i := 0; i+1 < len(chain); i++ {
		cert := chain[i].cert
		if err := lists.checkRevocation(cert, chain[i+1].cert, now, acceptMissing); err != nil {
			return revocationFailure(err, cert, i == 0)
		}
	}
	return nil
}
