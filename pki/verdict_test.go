package pki

import (
	"crypto/x509"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// TestVerdictIsKeptWhileItHolds: the second look at a certificate costs no parsing and no signature, and
// every change that could turn the decision makes it a first one.
func TestVerdictIsKeptWhileItHolds(t *testing.T) {
	s := memoryStore(t, nil)
	der := selfSigned(t)
	ok(t, s.Trust(der))
	leaf, err := Intern(der)
	ok(t, err)
	ok(t, s.Validate(der, client))
	if n := testing.AllocsPerRun(100, func() { ok(t, s.Validate(der, client)) }); n > 5 {
		t.Errorf("a verdict that is known costs %v allocations", n)
	}
	known := leaf.verdict.Load()
	check := client
	check.Peer = "192.0.2.1"
	ok(t, s.Validate(der, check))
	if leaf.verdict.Load() != known {
		t.Error("another address of the peer was another question")
	}

	other := client
	other.ApplicationURI = "urn:test:other"
	if err := s.Validate(der, other); ua.StatusOf(err) != ua.BadCertificateURIInvalid {
		t.Errorf("another URI: %v", err)
	}
	if err := s.Validate(der, Check{Use: UseUser}); err == nil {
		t.Error("a trusted application is a trusted user")
	}
	if err := memoryStore(t, nil).Validate(der, client); err == nil {
		t.Error("trusted by one store is trusted by another")
	}
	if err := s.Validate(append(der[:len(der):len(der)], der[:len(der)-1]...), client); err == nil {
		t.Error("garbage behind a certificate that is known was not looked at")
	}
	_, err = s.Untrust(der)
	ok(t, err)
	if err := s.Validate(der, client); ua.StatusOf(err) != ua.BadSecurityChecksFailed {
		t.Errorf("no longer trusted: %v", err)
	}
}

// TestVerdictEndsWithWhatItRestsOn: certificates and revocation lists of the whole chain.
func TestVerdictEndsWithWhatItRestsOn(t *testing.T) {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of synctest
	lasting := func(d time.Duration) change {
		return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = start.Add(-time.Hour), start.Add(d) }
	}
	const long = 1000 * time.Hour
	for name, c := range map[string]struct {
		leaf, authority, list time.Duration
		code                  ua.StatusCode
	}{
		"certificate":     {time.Hour, long, long, ua.BadCertificateTimeInvalid},
		"authority":       {long, time.Hour, long, ua.BadCertificateIssuerTimeInvalid},
		"revocation list": {long, long, time.Hour, ua.BadCertificateRevocationUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memoryStore(t, nil)
				root := sign(t, authorityTemplate("root", 1, lasting(c.authority)), nil, &rootKey().PublicKey, rootKey())
				ok(t, s.Trust(root))
				ok(t, s.AddCRL(crl(t, mustParse(t, root), rootKey(), c.list)))
				der := sign(t, applicationTemplate(lasting(c.leaf)), mustParse(t, root), &peerKey().PublicKey, rootKey())
				ok(t, s.Validate(der, client))
				time.Sleep(time.Hour - time.Minute)
				ok(t, s.Validate(der, client))
				time.Sleep(2 * time.Minute)
				if err := s.Validate(der, client); ua.StatusOf(err) != c.code {
					t.Errorf("an hour later: %v, want %v", err, c.code)
				}
			})
		})
	}
}
