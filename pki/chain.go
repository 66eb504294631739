package pki

import (
	"bytes"
	"crypto/x509"
	"errors"
	"slices"
)

// link is one certificate of a chain.
type link struct {
	cert    *x509.Certificate
	trusted bool
}

var errSignatureBudget = errors.New("too many authorities of the same name")

// chainBuilder looks for a way from a leaf to a self-signed root. A chain is trusted when any of its
// certificates is, but it must be complete in any case (Part 4, 6.1.3).
type chainBuilder struct {
	lists  *snapshot
	sent   []*x509.Certificate // authorities that the peer sent along
	budget int                 // signature checks left

	path     []link
	complete []link // the first complete chain, for the report when none is trusted
	err      error  // the first reason for a dead end
}

// build returns the first complete and trusted chain. When there is none, it returns what it found and
// why that does not do: a complete chain without trust has a nil error.
func (b *chainBuilder) build(leaf link) ([]link, error) {
	b.budget = maxSignatureChecks
	if found := b.extend(leaf); found != nil {
		return found, nil
	}
	if b.complete != nil {
		return b.complete, nil
	}
	return nil, b.err
}

// extend adds l to the path and goes on from there. It returns a complete and trusted chain, or nil. The
// depth is bounded by maxChain, and the work in all by the budget.
func (b *chainBuilder) extend(l link) []link {
	if len(b.path) == maxChain {
		b.fail(errors.New("the chain is too long"))
		return nil
	}
	b.path = append(b.path, l)
	defer func() { b.path = b.path[:len(b.path)-1] }()

	if bytes.Equal(l.cert.RawSubject, l.cert.RawIssuer) {
		err := b.verify(l.cert, l.cert)
		if err == nil {
			return b.finish()
		}
		b.fail(err) // unless an authority of the same name, with another key, has signed it
	}
	candidates := b.candidates(l.cert)
	if len(candidates) == 0 {
		b.fail(errors.New("the issuer " + quote(l.cert.Issuer.String()) + " is unknown: put its certificate into issuer/certs, or into trusted/certs to trust all that it issues"))
		return nil
	}
	for _, c := range candidates {
		if b.inPath(c.cert) {
			b.fail(errors.New("the chain is circular"))
			continue
		}
		if err := b.verify(l.cert, c.cert); err != nil {
			b.fail(err)
			if errors.Is(err, errSignatureBudget) {
				return nil
			}
			continue
		}
		if found := b.extend(c); found != nil {
			return found
		}
	}
	return nil
}

// finish takes the path as a complete chain.
func (b *chainBuilder) finish() []link {
	if b.complete == nil {
		b.complete = slices.Clone(b.path)
	}
	for i := range b.path {
		if b.path[i].trusted {
			return slices.Clone(b.path)
		}
	}
	return nil
}

func (b *chainBuilder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// candidates returns the certificates that may have issued cert, the trusted ones first and the ones that
// the peer sent last.
func (b *chainBuilder) candidates(cert *x509.Certificate) []link {
	var trusted, known, sent []link
	for _, a := range b.lists.authorities[string(cert.RawIssuer)] {
		if !maybeIssued(a.cert, cert) {
			continue
		}
		if a.trusted {
			trusted = append(trusted, link{a.cert, true})
		} else {
			known = append(known, link{a.cert, false})
		}
	}
	for _, a := range b.sent {
		if bytes.Equal(a.RawSubject, cert.RawIssuer) && maybeIssued(a, cert) {
			sent = append(sent, link{a, b.lists.isTrusted(a.Raw)})
		}
	}
	return slices.Concat(trusted, known, sent)
}

// maybeIssued compares the key identifiers, which tell authorities of the same name apart.
func maybeIssued(issuer, cert *x509.Certificate) bool {
	return len(issuer.SubjectKeyId) == 0 || len(cert.AuthorityKeyId) == 0 ||
		bytes.Equal(issuer.SubjectKeyId, cert.AuthorityKeyId)
}

// verify checks a signature. The keys have been checked before, so this takes well below a millisecond.
// It does not ask whether the issuer may sign certificates: that is a later step.
func (b *chainBuilder) verify(cert, issuer *x509.Certificate) error {
	if b.budget == 0 {
		return errSignatureBudget
	}
	b.budget--
	return checkSignature(issuer, cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature)
}

// checkSignature refuses SHA-1, too, which crypto/x509 accepts here: two certificates with the same SHA-1
// can be made on purpose. None of the supported security policies allows it (Part 7).
func checkSignature(issuer *x509.Certificate, algorithm x509.SignatureAlgorithm, signed, signature []byte) error {
	switch algorithm {
	case x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.DSAWithSHA1:
		return x509.InsecureAlgorithmError(algorithm)
	}
	return issuer.CheckSignature(algorithm, signed, signature)
}

func (b *chainBuilder) inPath(cert *x509.Certificate) bool {
	return slices.ContainsFunc(b.path, func(l link) bool { return l.cert.Equal(cert) })
}
