package pki

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// TestRejectedNamesAreThumbprints presents certificates whose names are made to leave the folder, or to
// collide, in every field that others have used for a file name.
func TestRejectedNamesAreThumbprints(t *testing.T) {
	dir := t.TempDir()
	putOwn(t, filepath.Join(dir, "pki"), ownKey())
	var log bytes.Buffer
	cfg := ownConfig(filepath.Join(dir, "pki"))
	cfg.Logger = zerolog.New(&log)
	s, err := Open(cfg)
	ok(t, err)
	names := []string{
		"../../../escaped", "..\\..\\escaped", "/etc/escaped", "a\x00b", strings.Repeat("x", 300), "", ".", "CON", "a/b", "peer",
		"line\nbreak", "\x1b[31m",
	}
	for _, name := range names {
		der := selfSigned(t, func(c *x509.Certificate) {
			c.Subject.CommonName = name
			c.Subject.Organization = []string{name}
			c.DNSNames = nil
		})
		if err := s.Validate(der, client); err == nil {
			t.Fatalf("%q accepted", name)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "pki", "rejected"))
	ok(t, err)
	if len(entries) != len(names) || s.Rejected() != len(names) {
		t.Errorf("%d files, Rejected %d, want %d", len(entries), s.Rejected(), len(names))
	}
	for _, e := range entries {
		if !isRejectedName(e.Name()) {
			t.Errorf("file name %q", e.Name())
		}
	}
	err = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.Contains(path, "escaped") {
			t.Errorf("found %s", path)
		}
		return err
	})
	ok(t, err)
	if strings.Contains(log.String(), "\x1b") || strings.Count(log.String(), "\n") != strings.Count(log.String(), `"level"`) {
		t.Error("control characters reached the log")
	}
	if !strings.Contains(log.String(), filepath.Join("pki", "rejected")) || !strings.Contains(log.String(), "trusted/certs") {
		t.Errorf("the log does not say which file to move where:\n%s", log.String())
	}
}

// TestRejectedStoreIsBounded fills it with ten thousand different certificates, past the pacing.
func TestRejectedStoreIsBounded(t *testing.T) {
	for _, disk := range []bool{false, true} {
		dir := ""
		n := uint16(10_000)
		if disk {
			dir = t.TempDir()
			ok(t, os.Mkdir(filepath.Join(dir, "rejected"), 0o755))
			n = 500 // each one is synced to disk
			ok(t, os.WriteFile(filepath.Join(dir, "rejected", "README.txt"), []byte("not ours"), 0o644))
		}
		r := newRejectedStore(dir)
		der := selfSigned(t)
		var last *Parsed
		for serial := range n {
			p, err := parse(withSerial(t, der, serial))
			ok(t, err)
			if _, err := r.add(p); err != nil {
				t.Fatal(err)
			}
			last = p
		}
		if r.len() != rejectedCount || r.bytes != rejectedCount*len(der) {
			t.Errorf("%d entries with %d bytes", r.len(), r.bytes)
		}
		if !disk {
			continue
		}
		entries, err := os.ReadDir(r.dir)
		ok(t, err)
		if len(entries) != rejectedCount+1 {
			t.Errorf("%d files", len(entries))
		}
		if _, err := os.Stat(filepath.Join(r.dir, last.ThumbprintString()+".der")); err != nil {
			t.Errorf("the newest is gone: %v", err)
		}
		again := newRejectedStore(dir)
		again.load()
		if again.len() != r.len() || again.bytes != r.bytes {
			t.Errorf("after a restart: %d entries with %d bytes", again.len(), again.bytes)
		}
		if _, err := os.Stat(filepath.Join(r.dir, "README.txt")); err != nil {
			t.Error("a file of somebody else was removed")
		}
	}
}

func TestRejectedStoreIsBoundedInBytes(t *testing.T) {
	r := newRejectedStore("")
	for i := range 2 * rejectedBytes / maxBlob {
		_, err := r.add(&Parsed{DER: make([]byte, maxBlob), Thumbprint: [20]byte{byte(i), byte(i >> 8)}})
		ok(t, err)
	}
	if r.bytes > rejectedBytes || r.len() != rejectedBytes/maxBlob {
		t.Errorf("%d entries with %d bytes", r.len(), r.bytes)
	}
}

func TestRejectedStoreKeepsTheNewestSeen(t *testing.T) {
	r := newRejectedStore("")
	first := &Parsed{DER: make([]byte, 10)}
	for i := range rejectedCount + 50 {
		_, err := r.add(first)
		ok(t, err)
		_, err = r.add(&Parsed{DER: make([]byte, 10), Thumbprint: [20]byte{1, byte(i), byte(i >> 8)}})
		ok(t, err)
	}
	if r.entries[rejectedCount-2].name != first.ThumbprintString()+".der" {
		t.Error("a certificate that keeps coming was dropped")
	}
}

// TestStrangersCannotFloodTheLog: what they cause is paced, and the rest counted.
func TestStrangersCannotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := memoryStore(t, func(c *Config) { c.Logger = zerolog.New(&log) })
		der := selfSigned(t)
		for serial := range uint16(3000) {
			_ = s.Validate(withSerial(t, der, serial), client)
		}
		if lines := strings.Count(log.String(), "\n"); lines != noteBurst {
			t.Errorf("%d lines for 3000 refusals", lines)
		}
		time.Sleep(noteEvery)
		_ = s.Validate(der, client)
		if !strings.Contains(log.String(), `"unreported":2900`) {
			t.Error("what was left out is not counted")
		}
	})
}

func TestPacerRegainsWithTime(t *testing.T) {
	var p pacer
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	take := func(n int) (taken int) {
		for range n {
			if _, ok := p.take(now); ok {
				taken++
			}
		}
		return taken
	}
	if got := take(2 * noteBurst); got != noteBurst {
		t.Errorf("burst of %d", got)
	}
	now = now.Add(3 * noteEvery)
	if suppressed, ok := p.take(now); !ok || suppressed != noteBurst {
		t.Errorf("took %v with %d suppressed", ok, suppressed)
	}
	if got := take(10); got != 2 {
		t.Errorf("%d after three intervals, one of which is spent", got)
	}
	now = now.Add(-time.Hour) // the clock is set back
	take(1)
	now = now.Add(noteEvery)
	if got := take(5); got != 1 {
		t.Errorf("%d after the clock was set back", got)
	}
	now = now.Add(24 * time.Hour)
	if got := take(2 * noteBurst); got != noteBurst {
		t.Errorf("burst of %d after a day", got)
	}
}
