package sessionactor

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A client has a number of refused logins for nothing, waits longer for each one
// above that, and is forgiven with time; others do not notice (threat U6).
func TestThreat_U6_LockoutGrowsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := refusedLogins{limit: 3}
		wait := func(key string) time.Duration { return r.wait(key, time.Now()) }
		for n := range 3 {
			r.add("a", time.Now())
			if wait("a") != 0 {
				t.Fatalf("locked out after %d", n+1)
			}
		}
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			r.add("a", time.Now())
			if got := wait("a"); got != want*time.Second {
				t.Errorf("%v, want %v s", got, want)
			}
		}
		if wait("b") != 0 {
			t.Error("another client has to wait")
		}
		time.Sleep(61 * time.Second)
		if wait("a") != 0 {
			t.Error("the lockout does not end")
		}
		// Six of eleven are forgotten in a minute; what is left still counts.
		r.add("a", time.Now())
		if got := wait("a"); got < time.Second || got > 8*time.Second {
			t.Errorf("again: %v", got)
		}
		time.Sleep(2 * time.Hour)
		r.add("a", time.Now())
		if wait("a") != 0 {
			t.Error("nothing is ever forgotten")
		}
		// Sporadic mistakes never cost anything (Part 4, 5.7.3.1).
		for range 1000 {
			time.Sleep(15 * time.Second)
			r.add("c", time.Now())
			if wait("c") != 0 {
				t.Fatal("sporadic mistakes lock out")
			}
		}
	})
}

// The memory of many clients is bounded, and who fails now is remembered.
func TestThreat_U6_RememberedClientsAreBounded(t *testing.T) {
	r := refusedLogins{limit: 1}
	now := time.Now()
	for range 5 {
		r.add("first", now)
	}
	for n := range 10 * loginClients {
		r.add(fmt.Sprint(n), now)
		if n%1000 == 0 {
			r.add("busy", now)
		}
	}
	if len(r.clients) != loginClients || r.order.Len() != loginClients {
		t.Errorf("%d and %d clients", len(r.clients), r.order.Len())
	}
	if r.wait("busy", now) == 0 {
		t.Error("who fails all the time is forgotten")
	}
	if r.wait("first", now) != 0 {
		t.Error("who was quiet for the longest is not forgotten")
	}
	none := refusedLogins{limit: -1}
	for range 100 {
		none.add("a", now)
	}
	if none.wait("a", now) != 0 || len(none.clients) != 0 {
		t.Error("a negative limit locks out")
	}
}
