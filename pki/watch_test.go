package pki

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// watched counts the changes that a watch reports, until the test ends.
func watched(t *testing.T, s *Store) *atomic.Int32 {
	t.Helper()
	calls := new(atomic.Int32)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Watch(ctx, func() { calls.Add(1) }) }()
	t.Cleanup(func() { cancel(); <-ended })
	synctest.Wait()
	return calls
}

func expectCalls(t *testing.T, calls *atomic.Int32, want int32, when string) {
	t.Helper()
	synctest.Wait()
	if n := calls.Load(); n != want {
		t.Errorf("%s: told of %d changes, want %d", when, n, want)
	}
}

// TestWatchWaitsForFilesToSettle: a certificate that is being overwritten is no reason to let a client go,
// and an administrator's change is one soon.
func TestWatchWaitsForFilesToSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, dir, _ := openLogged(t)
		der := selfSigned(t, wideTemplate)
		path := filepath.Join(dir, "trusted", "certs", "friend.der")
		ok(t, os.WriteFile(path, der, 0o644))
		ok(t, s.Reload())
		calls := watched(t, s)
		time.Sleep(10 * rescanEvery)
		expectCalls(t, calls, 0, "nothing has changed")

		ok(t, os.WriteFile(path, der[:100], 0o644)) // half of a copy
		time.Sleep(rescanEvery)
		expectCalls(t, calls, 0, "half a copy")
		ok(t, os.WriteFile(path, der, 0o644))
		time.Sleep(rescanEvery)
		expectCalls(t, calls, 0, "the whole copy, seen once")
		time.Sleep(rescanEvery)
		expectCalls(t, calls, 1, "the whole copy, seen twice")

		ok(t, os.Remove(path))
		time.Sleep(2 * rescanEvery)
		expectCalls(t, calls, 2, "removed")
		time.Sleep(10 * rescanEvery)
		expectCalls(t, calls, 2, "later")
	})
}

// TestWatchTellsOfOwnChangesAtOnce, on disk and in memory, where nothing ticks.
func TestWatchTellsOfOwnChangesAtOnce(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) *Store{
		"disk":   func(t *testing.T) *Store { s, _, _ := openLogged(t); return s },
		"memory": func(t *testing.T) *Store { return memoryStore(t, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t)
				calls := watched(t, s)
				der := selfSigned(t, wideTemplate)
				ok(t, s.Trust(der))
				expectCalls(t, calls, 1, "Trust")
				_, err := s.Untrust(der)
				ok(t, err)
				expectCalls(t, calls, 2, "Untrust")
				_, err = s.Untrust(der)
				ok(t, err)
				expectCalls(t, calls, 2, "Untrust of a stranger")
			})
		})
	}
}

// TestRecheckFollowsTheLists: what was accepted is asked about again, with the chain that came with it.
func TestRecheckFollowsTheLists(t *testing.T) {
	s := memoryStore(t, nil)
	h := newHierarchy(t, nil, nil)
	ok(t, s.Trust(h.rootDER))
	ok(t, s.AddCRL(crl(t, h.root, rootKey(), time.Hour)))
	ok(t, s.AddCRL(crl(t, h.sub, subKey(), time.Hour)))
	blob := join(h.bySub(t), h.subDER)
	leaf, err := Intern(blob)
	ok(t, err)
	if err := s.Recheck(leaf, client); err == nil {
		t.Error("a chain that is in no list and was never sent is complete")
	}
	ok(t, s.Validate(blob, client))
	ok(t, s.Recheck(leaf, client))
	ok(t, s.Trust(selfSigned(t))) // another one: the verdict is made anew, with the chain of then
	ok(t, s.Recheck(leaf, client))
	rejected := s.Rejected()
	ok(t, s.AddCRL(crl(t, h.sub, subKey(), time.Hour, leaf.X509().SerialNumber.Int64())))
	if err := s.Recheck(leaf, client); ua.StatusOf(err) != ua.BadCertificateRevoked {
		t.Errorf("revoked: %v", err)
	}
	_, err = s.Untrust(h.rootDER)
	ok(t, err)
	if err := s.Recheck(leaf, client); ua.StatusOf(err) != ua.BadSecurityChecksFailed {
		t.Errorf("no longer trusted: %v", err)
	}
	if s.Rejected() != rejected {
		t.Error("asking again filled the rejected store")
	}
}
