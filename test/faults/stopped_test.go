//go:build faults && linux

package faults

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uahive/uahive/test/internal/loadproc"
)

// A client that was stopped for longer than its session lasts finds it gone: its
// first call says so, and then it comes back with a new session, the same
// subscription, and values.
func TestStoppedClientFindsItsSessionGoneAndComesBack(t *testing.T) {
	const n, items = 5, 10
	s := begin(t, 2*n, loadproc.ServerConfig{})
	f := newFlock(t, followers{
		Endpoint: s.Endpoint, Clients: n, Items: items, Interval: 100 * time.Millisecond, Session: shortTimeout, Reconnect: true,
	})
	flowing := s.Look(t)
	if got := flowing.Sessions - s.before.Sessions; got != n {
		t.Fatalf("%d sessions, want %d", got, n)
	}
	f.Signal(t, syscall.SIGSTOP)
	at := time.Now()
	gone := s.Await(t, shortTimeout+5*time.Second, func(f loadproc.Footprint) string {
		return more(f.Sessions-s.before.Sessions, "sessions of the stopped") + more(f.MonitoredItems-s.before.MonitoredItems, "items of the stopped")
	})
	took := time.Since(at)
	t.Logf("sessions gone %.1f s after SIGSTOP: %v; %d timed out", took.Seconds(), gone, gone.Stats.Sessions.TimedOut)
	if gone.Stats.Sessions.TimedOut != n || took < shortTimeout/2 {
		t.Errorf("%d of %d sessions timed out after %v", gone.Stats.Sessions.TimedOut, n, took)
	}

	f.Tell(t, "call") // is the first thing that it does then
	f.Signal(t, syscall.SIGCONT)
	at = time.Now()
	back := s.Await(t, 20*time.Second, func(f loadproc.Footprint) string {
		return more(n-(f.Sessions-s.before.Sessions), "sessions too few") + more(n*items-(f.MonitoredItems-s.before.MonitoredItems), "items too few")
	})
	took = time.Since(at)
	f.Tell(t, "look")
	var r told
	f.Read(t, 20*time.Second, &r)
	t.Logf("back %.1f s after SIGCONT: %v", took.Seconds(), back)
	t.Logf("the first call took %v and said %q; events %v", r.CallTook.Round(time.Millisecond), r.Call, r.Events)
	if !strings.Contains(r.Call, "Session") {
		t.Errorf("the first call does not say that the session has gone: %q", r.Call)
	}
	if r.Events["replaced"] != n || r.Events["subscription restored"] != n {
		t.Errorf("%d clients came back: %v", n, r.Events)
	}
	s.canary.End(t, canaryP99)
	r = f.end(t, lastWritten(t, s.Endpoint))
	t.Logf("a value came %v after the new session; in all %v", r.UntilValue.Round(time.Millisecond), r)
	if r.Unfinished > 0 || r.Alive != n || r.Disordered > 0 || r.UntilValue <= 0 {
		t.Errorf("the clients did not come back whole: %d of %d alive, %+v", r.Alive, n, r)
	}
	s.leave(t, 2*n)
}
