package pki

import (
	"bytes"
	"time"
	"unique"

	"github.com/uahive/uahive/codec/ua"
)

// verdict is what was decided last in favour of a certificate, kept with it. A thousand channels and
// sessions of one client are decided once, until a store or the time has changed.
type verdict struct {
	serial uint64 // of the snapshot that was asked
	check  Check  // without the peer
	// rest is what was sent behind the certificate. It is needed to decide again, and shared, since all that
	// one authority has issued come with the same.
	rest unique.Handle[string]
	// The verdict stands from the moment of the decision until the first thing that it rests on is out of
	// date. A clock that was set back asks again.
	since, until time.Time
}

// cleared reports whether a current verdict answers the question.
func (p *Parsed) cleared(lists *snapshot, blob []byte, check *Check, now time.Time) bool {
	v := p.verdict.Load()
	return v != nil && v.serial == lists.serial && v.check == check.question() &&
		!now.Before(v.since) && !now.After(v.until) && v.rest.Value() == string(blob[len(p.DER):])
}

// keep notes that the certificate was found acceptable.
func (p *Parsed) keep(lists *snapshot, blob []byte, check *Check, now, until time.Time) {
	p.verdict.Store(&verdict{
		serial: lists.serial, check: check.question(), rest: unique.Make(string(blob[len(p.DER):])),
		since: now, until: until,
	})
}

// question is the check without what plays no part in the decision.
func (c *Check) question() Check {
	q := *c
	q.Peer = ""
	return q
}

// goodUntil returns until when an accepted chain stays so as far as time matters: the first certificate
// that expires, or the first revocation list that is due.
func (s *snapshot) goodUntil(chain []link, now time.Time) time.Time {
	until := chain[0].cert.NotAfter
	for i := range chain {
		cert := chain[i].cert
		if cert.NotAfter.Before(until) {
			until = cert.NotAfter
		}
		if i+1 == len(chain) {
			break // nobody revokes a root
		}
		for _, list := range s.revocations[string(cert.RawIssuer)] {
			if due := list.crl.NextUpdate; !due.IsZero() && due.After(now) && due.Before(until) {
				until = due
			}
		}
	}
	return until
}

// Recheck decides again over a certificate that [Store.Validate] has accepted, with the chain that came with
// it then: the lists may have changed since. It neither fills the rejected store nor the log, and looks at
// no folder; a [Store.Watch] does. What was accepted under AcceptAll stays so. The error is an [*Error].
func (s *Store) Recheck(leaf *Parsed, check Check) error {
	if fail := s.checkOwn(leaf); fail != nil {
		return &Error{Status: ua.BadSecurityChecksFailed, Detail: fail.code, Reason: fail.reason, Thumbprint: leaf.Thumbprint}
	}
	lists, now := s.listFor(check.Use).current.Load(), time.Now()
	blob := leaf.DER
	if v := leaf.verdict.Load(); v != nil && v.rest.Value() != "" {
		blob = bytes.Join([][]byte{leaf.DER, []byte(v.rest.Value())}, nil)
	}
	if leaf.cleared(lists, blob, &check, now) {
		return nil
	}
	_, sent, err := parseSent(blob)
	if err != nil {
		return &Error{Status: ua.BadSecurityChecksFailed, Detail: ua.BadCertificateInvalid, Reason: err.Error(), Thumbprint: leaf.Thumbprint}
	}
	chain, trusted, fail := judge(lists, leaf, sent, &check, s.cfg.AcceptMissingCRL)
	switch {
	case fail == nil:
		leaf.keep(lists, blob, &check, now, lists.goodUntil(chain, now))
		return nil
	case s.cfg.AcceptAll && check.Use != UseUser:
		return nil
	}
	e := &Error{Status: ua.BadSecurityChecksFailed, Detail: fail.code, Reason: fail.reason, Thumbprint: leaf.Thumbprint}
	if trusted {
		e.Status = disclosed(fail.code)
	}
	return e
}

// listFor is the list that decides over a certificate for this use.
func (s *Store) listFor(use Use) *trustList {
	if use == UseUser {
		return s.users
	}
	return s.apps
}
