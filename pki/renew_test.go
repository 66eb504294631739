package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pemKey is a private key as it lies in own/.
func pemKey(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	ok(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// ownOf is a certificate for the store's own application with another key.
func ownOf(t *testing.T, s *Store, serialBits ...change) []byte {
	t.Helper()
	changes := append([]change{wideTemplate, setURIs(s.Certificate().ApplicationURI)}, serialBits...)
	return sign(t, applicationTemplate(changes...), nil, &strangerKey().PublicKey, strangerKey())
}

// TestRenewReplacesCertificateAndKey: on disk for the next start, and at once.
func TestRenewReplacesCertificateAndKey(t *testing.T) {
	s, dir, _ := openLogged(t)
	der := ownOf(t, s)
	if err := s.Renew(der, nil); err == nil {
		t.Error("a certificate for another key was taken")
	}
	old := s.Certificate()
	ok(t, s.Renew(der, strangerKey()))
	if !bytes.Equal(s.Certificate().DER, der) || old == s.Certificate() {
		t.Error("the old certificate is still in use")
	}
	again, err := Open(ownConfig(dir))
	ok(t, err)
	if !bytes.Equal(again.Certificate().DER, der) || !sameKey(again.Certificate().Key.Public(), strangerKey().Public()) {
		t.Error("the next start has another certificate")
	}
	// With the same key, and with the authorities that are to be sent along.
	h := newHierarchy(t, wideTemplate, wideTemplate)
	issued := sign(t, applicationTemplate(wideTemplate, setURIs(old.ApplicationURI)), h.sub, &strangerKey().PublicKey, subKey())
	ok(t, s.Renew(join(issued, h.subDER), nil))
	if again, err = Open(ownConfig(dir)); err != nil || !bytes.Equal(again.Certificate().Chain, join(issued, h.subDER)) {
		t.Errorf("the chain was not kept: %v", err)
	}
}

// TestRenewRefusesWhatPeersWould, and leaves everything as it was.
func TestRenewRefusesWhatPeersWould(t *testing.T) {
	s, dir, _ := openLogged(t)
	before, err := os.ReadFile(filepath.Join(dir, "own", "cert.der"))
	ok(t, err)
	for name, c := range map[string]change{
		"another application": setURIs("urn:test:other"),
		"expired":             setTimes(-2*time.Hour, -time.Hour),
		"not yet valid":       setTimes(time.Hour, 2*time.Hour),
		"no application":      func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning} },
	} {
		if err := s.Renew(ownOf(t, s, c), strangerKey()); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	for name, der := range map[string][]byte{"nothing": nil, "garbage": []byte("garbage"), "half": before[:len(before)/2]} {
		if err := s.Renew(der, nil); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	after, err := os.ReadFile(filepath.Join(dir, "own", "cert.der"))
	ok(t, err)
	if !bytes.Equal(before, after) || !bytes.Equal(s.Certificate().DER, before) {
		t.Error("something has changed")
	}
}

// TestOwnCertificateIsTakenUpFromDisk once certificate and key fit together; what does not fit is said once.
func TestOwnCertificateIsTakenUpFromDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, dir, log := openLogged(t)
		watched(t, s)
		old := s.Certificate()
		der := ownOf(t, s)
		ok(t, os.WriteFile(filepath.Join(dir, "own", "cert.der"), der, 0o644))
		time.Sleep(rescanEvery)
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("said too early: %s", log)
		}
		time.Sleep(20 * rescanEvery)
		synctest.Wait()
		if n := strings.Count(log.String(), "stays in force"); n != 1 || s.Certificate() != old {
			t.Errorf("said %d times that the key is another one: %s", n, log)
		}
		ok(t, os.WriteFile(filepath.Join(dir, "own", "key.pem"), pemKey(t, strangerKey()), 0o600))
		time.Sleep(2 * rescanEvery)
		synctest.Wait()
		if !bytes.Equal(s.Certificate().DER, der) {
			t.Errorf("not taken up: %s", log)
		}
	})
}
