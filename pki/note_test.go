package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// openLogged opens a store on disk whose log is read by the test.
func openLogged(t *testing.T) (*Store, string, *logText) {
	t.Helper()
	dir := t.TempDir()
	putOwn(t, dir, ownKey())
	ok(t, os.WriteFile(filepath.Join(dir, "own", "cert.der"), ownCert(t, wideTemplate), 0o644))
	log := new(logText)
	cfg := ownConfig(dir)
	cfg.Logger = zerolog.New(log)
	s, err := Open(cfg)
	ok(t, err)
	log.Reset()
	return s, dir, log
}

// TestMovedCertificateIsTrustedAtOnce: what the log tells an administrator to do works on the next attempt
// and leaves nothing in the rejected store.
func TestMovedCertificateIsTrustedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, dir, _ := openLogged(t)
		der := selfSigned(t, wideTemplate)
		for range 2 {
			if s.Validate(der, client) == nil {
				t.Fatal("a stranger was accepted")
			}
			time.Sleep(refusalRescan)
		}
		p, err := Intern(der)
		ok(t, err)
		rejected := filepath.Join(dir, "rejected", p.ThumbprintString()+".der")
		ok(t, os.Rename(rejected, filepath.Join(dir, "trusted", "certs", "friend.der")))
		ok(t, s.Validate(der, client))
		if _, err := os.Stat(rejected); err == nil || s.Rejected() != 0 {
			t.Errorf("%d certificates are still in the rejected store", s.Rejected())
		}
	})
}

// TestCopiedCertificateLeavesTheRejectedStore: an administrator may copy instead of moving, or trust a
// certificate from the program.
func TestCopiedCertificateLeavesTheRejectedStore(t *testing.T) {
	for name, trust := range map[string]func(s *Store, dir string, der []byte) error{
		"copied": func(_ *Store, dir string, der []byte) error {
			time.Sleep(refusalRescan)
			return os.WriteFile(filepath.Join(dir, "trusted", "certs", "friend.der"), der, 0o644)
		},
		"Trust": func(s *Store, _ string, der []byte) error { return s.Trust(der) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, dir, _ := openLogged(t)
				der := selfSigned(t, wideTemplate)
				if s.Validate(der, client) == nil {
					t.Fatal("a stranger was accepted")
				}
				ok(t, trust(s, dir, der))
				ok(t, s.Validate(der, client))
				files, err := os.ReadDir(filepath.Join(dir, "rejected"))
				ok(t, err)
				if len(files) != 0 || s.Rejected() != 0 {
					t.Errorf("%d files, Rejected is %d", len(files), s.Rejected())
				}
			})
		})
	}
}

// TestRefusalsDoNotRescanAtWill: a stranger cannot make the server read its folders all the time.
func TestRefusalsDoNotRescanAtWill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, dir, _ := openLogged(t)
		time.Sleep(refusalRescan)
		stranger, der := selfSigned(t, wideTemplate, setURIs("urn:test:other")), selfSigned(t, wideTemplate)
		_ = s.Validate(stranger, client) // looks
		ok(t, os.WriteFile(filepath.Join(dir, "trusted", "certs", "friend.der"), der, 0o644))
		if s.Validate(der, client) == nil {
			t.Error("the folders were read twice in one moment")
		}
		time.Sleep(refusalRescan)
		ok(t, s.Validate(der, client))
		s.scan.took = time.Hour // as on a file system that hardly answers
		ok(t, os.Remove(filepath.Join(dir, "trusted", "certs", "friend.der")))
		time.Sleep(2 * refusalRescan)
		last := s.scan.last
		_ = s.Validate(stranger, client)
		if s.scan.last != last {
			t.Error("the folders were read again though that takes long")
		}
	})
}

// TestRefusalIsOneLineWithAllThatIsNeeded to find the peer and to let it in.
func TestRefusalIsOneLineWithAllThatIsNeeded(t *testing.T) {
	s, dir, log := openLogged(t)
	der := selfSigned(t, setURIs("urn:"+strings.Repeat("x", 300)), func(c *x509.Certificate) {
		c.Subject.CommonName = "press \u202e \"1\""
	})
	check := client
	check.Peer = "192.0.2.7:50000"
	if s.Validate(der, check) == nil {
		t.Fatal("accepted")
	}
	var line map[string]any
	ok(t, json.Unmarshal(log.Bytes(), &line)) // fails if there is more than one
	p, err := Intern(der)
	ok(t, err)
	for key, want := range map[string]string{
		"level": "warn", "peer": check.Peer, "thumbprint": p.ThumbprintString(), "reason": "trust list",
		"subject": `press \u202e \\\"1\\\"`, "application": "urn:xxx",
		"file":        filepath.Join(dir, "rejected", p.ThumbprintString()+".der"),
		"to trust it": "move the file into " + filepath.Join(dir, "trusted", "certs"),
	} {
		if got, _ := line[key].(string); !strings.Contains(got, want) {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if uri := line["application"].(string); len(uri) > 210 || !strings.HasSuffix(uri, "...") {
		t.Errorf("application %q", uri)
	}
	log.Reset()
	check.Use = UseUser
	_ = s.Validate(der, check)
	if !strings.Contains(log.String(), filepath.Join("trustedUser", "certs")) {
		t.Errorf("a user is led elsewhere: %s", log)
	}
}

// TestAcceptAllIsNamedAsServersNameIt: the option has another name in the server's configuration.
func TestAcceptAllIsNamedAsServersNameIt(t *testing.T) {
	var log bytes.Buffer
	s := memoryStore(t, func(c *Config) { c.AcceptAll, c.Logger = true, zerolog.New(&log) })
	ok(t, s.Validate(selfSigned(t), client))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%q", lines)
	}
	for _, line := range lines {
		if !strings.Contains(line, "TrustAll is set (AcceptAll in package pki)") {
			t.Error(line)
		}
	}
}
