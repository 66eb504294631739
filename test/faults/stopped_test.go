//go:build faults && linux

package faults

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uahive/uahive/test/internal/loadproc"
)

// Clients that were stopped for longer than their session lasts find it gone and
// say so. One that may not reconnect reports it with its next call; the others come
// back with a new session, which takes their subscriptions over: what was written
// meanwhile waited there, so that nothing is lost (Part 4, 5.7.2.1 and 5.14.7).
func TestStoppedClientFindsItsSessionGoneAndComesBack(t *testing.T) {
	t.Parallel()
	const back, items = 5, 10
	const n = back + 1
	s := begin(t, 2*n, loadproc.ServerConfig{})
	config := followers{
		Endpoint: s.Endpoint, Clients: back, Items: items, Interval: 100 * time.Millisecond, Session: shortTimeout, Reconnect: true,
		Lifetime: time.Minute,
	}
	f := newFlock(t, config)
	config.Clients, config.Reconnect, config.Lifetime = 1, false, shortTimeout
	once := newFlock(t, config)
	if got := s.Look(t).Sessions - s.before.Sessions; got != n {
		t.Fatalf("%d sessions, want %d", got, n)
	}
	time.Sleep(time.Second) // of values
	f.Signal(t, syscall.SIGSTOP)
	once.Signal(t, syscall.SIGSTOP)
	at := time.Now()
	gone := s.Await(t, shortTimeout+5*time.Second, func(f loadproc.Footprint) string {
		return more(f.Sessions-s.before.Sessions, "sessions of the stopped")
	})
	took := time.Since(at)
	t.Logf("sessions gone %.1f s after SIGSTOP: %v; %d timed out", took.Seconds(), gone, gone.Stats.Sessions.TimedOut)
	if gone.Stats.Sessions.TimedOut != n || took < shortTimeout/2 {
		t.Errorf("%d of %d sessions timed out after %v", gone.Stats.Sessions.TimedOut, n, took)
	}

	f.Signal(t, syscall.SIGCONT)
	at = time.Now()
	whole := s.Await(t, 20*time.Second, func(f loadproc.Footprint) string {
		return more(back-(f.Sessions-s.before.Sessions), "sessions too few") + more(back*items-(f.MonitoredItems-s.before.MonitoredItems), "items too few")
	})
	t.Logf("back %.1f s after SIGCONT: %v", time.Since(at).Seconds(), whole)

	once.Tell(t, "call") // is among the first things that it does then
	once.Signal(t, syscall.SIGCONT)
	var r told
	once.Tell(t, "look")
	once.Read(t, 20*time.Second, &r)
	once.Kill()
	t.Logf("the call of the client that does not reconnect took %v and said %q", r.CallTook.Round(time.Millisecond), r.Call)
	if !strings.Contains(r.Call, "BadSession") {
		t.Errorf("a call does not say that the session has gone: %q", r.Call)
	}

	s.canary.End(t, *canaryP99)
	r = f.end(t, lastWritten(t, s.Endpoint))
	t.Logf("why clients reconnected: %v; events %v", r.Why, r.Events)
	t.Logf("%d values since then; in all %v", r.Since, r)
	if r.Events["session replaced"] != back || r.Events["subscription restored"] != 0 {
		t.Errorf("not all of %d clients came back: %v", back, r.Events)
	}
	told := 0
	for why, of := range r.Why {
		if strings.Contains(why, "BadSession") {
			told += of
		}
	}
	if told != back {
		t.Errorf("%d of %d clients were told that their session has gone: %v", told, back, r.Why)
	}
	r.complete(t, "stopped clients")
	if r.Alive != back || r.Since < back*items {
		t.Errorf("the clients did not come back whole: %d of %d alive, %+v", r.Alive, back, r)
	}
	s.leave(t, 2*n)
}
