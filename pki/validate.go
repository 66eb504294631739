package pki

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// Use is what a certificate is presented for.
type Use uint8

const (
	// UseClient is the certificate of a client application, as a server sees it.
	UseClient Use = iota
	// UseServer is the certificate of a server application, as a client sees it.
	UseServer
	// UseUser is the certificate of a person or a program that logs in with it (Part 4, 7.40.5). It is
	// looked up in the user lists, and has no application URI.
	UseUser
)

// Check says what a certificate has to be good for. The zero value is a client of which nothing more
// is known.
type Check struct {
	Use Use
	// ApplicationURI must be the URI in the certificate. Empty: any.
	ApplicationURI string
	// Hostname must be among the certificate's names and addresses. Empty: any. A client checks the host
	// that it has dialled; a server does not check where its clients are.
	Hostname string
	// Peer is the address from which the certificate came, for the log. Empty: unknown.
	Peer string
	// MinKeyBits and MaxKeyBits frame the key as the security policy asks for it. Zero: 2048 and 4096.
	MinKeyBits, MaxKeyBits int
}

// Validate decides whether a peer's certificate, which may be followed by the chain that issued it, is
// acceptable. The error is an [*Error], whose Status is what to tell the peer. Reasons for a refusal, and
// where to find the certificate in the rejected store, are in the log. Before a refusal, the trust lists
// on disk are looked at again; from the rejected store, what is acceptable disappears.
//
// The steps are those of Part 4, 6.1.3, in their order, for every certificate of the chain. A peer that
// is not trusted gets BadSecurityChecksFailed, whatever else is wrong with it (Part 6, 6.7.6).
// An application's own certificate is never acceptable as that of its peer: who presents it reflects it.
//
// Validate costs up to a few public key operations and some parsing, with a deep stack; it belongs onto a
// pool's goroutine. A certificate that is in use and was accepted before is not worked on again until the
// lists have changed, or something that the decision rests on is out of date.
func (s *Store) Validate(blob []byte, check Check) error {
	s.refresh()
	leaf, authorities, err := splitSent(blob)
	if err != nil {
		e := &Error{Status: ua.BadSecurityChecksFailed, Detail: ua.BadCertificateInvalid, Reason: err.Error()}
		s.refused(e, &check, nil)
		return e
	}
	list := s.listFor(check.Use)
	if fail := s.checkOwn(leaf); fail != nil {
		e := &Error{Status: ua.BadSecurityChecksFailed, Detail: fail.code, Reason: fail.reason, Thumbprint: leaf.Thumbprint}
		s.refused(e, &check, nil)
		return e
	}
	lists, now := list.current.Load(), time.Now()
	if leaf.cleared(lists, blob, &check, now) {
		s.rejected.remove(leaf.DER)
		return nil
	}
	sent, err := parseAuthorities(authorities)
	if err != nil {
		e := &Error{Status: ua.BadSecurityChecksFailed, Detail: ua.BadCertificateInvalid, Reason: err.Error()}
		s.refused(e, &check, nil)
		return e
	}
	chain, trusted, fail := judge(lists, leaf, sent, &check, s.cfg.AcceptMissingCRL)
	if fail != nil {
		s.lookAgain()
		if changed := list.current.Load(); changed != lists {
			lists = changed
			chain, trusted, fail = judge(lists, leaf, sent, &check, s.cfg.AcceptMissingCRL)
		}
	}
	if fail == nil {
		leaf.keep(lists, blob, &check, now, lists.goodUntil(chain, now))
		s.rejected.remove(leaf.DER)
		return nil
	}
	e := &Error{Status: ua.BadSecurityChecksFailed, Detail: fail.code, Reason: fail.reason, Thumbprint: leaf.Thumbprint}
	if s.cfg.AcceptAll && check.Use != UseUser {
		s.accepted(e, &check, leaf)
		return nil
	}
	if trusted {
		e.Status = disclosed(fail.code)
	}
	s.refused(e, &check, leaf)
	return e
}

// parseSent parses what a peer sent: its certificate, and the authorities behind it.
func parseSent(blob []byte) (*Parsed, []*x509.Certificate, error) {
	leaf, authorities, err := splitSent(blob)
	if err != nil {
		return nil, nil, err
	}
	sent, err := parseAuthorities(authorities)
	return leaf, sent, err
}

// splitSent parses the certificate of a peer and leaves the authorities behind it as they are.
func splitSent(blob []byte) (*Parsed, [][]byte, error) {
	chain, err := splitChain(blob)
	if err != nil {
		return nil, nil, err
	}
	leaf, err := Intern(chain[0])
	if err != nil {
		return nil, nil, err
	}
	return leaf, chain[1:], nil
}

func parseAuthorities(ders [][]byte) ([]*x509.Certificate, error) {
	var sent []*x509.Certificate
	for _, der := range ders {
		p, err := parse(bytes.Clone(der))
		if err != nil {
			return nil, fmt.Errorf("certificate of an issuer: %w", err)
		}
		sent = append(sent, p.X509())
	}
	return sent, nil
}
