//go:build faults && linux

package faults

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/test/internal/loadproc"
)

const (
	// descriptors is what the server may have open.
	descriptors = 256
	// knocking are connections that say nothing. The server throws them out after
	// HelloTimeout, 10 s, and takes the next ones then: so many keep it full for
	// twice that time.
	knocking = 2 * descriptors
	// full is how long the server is looked at without descriptors.
	full = 5 * time.Second
	// spinning is more of a core than a server may take that waits for descriptors
	// and serves a canary and some followers.
	spinning = 0.25
)

// A server that has no descriptors left goes on with the sessions that it has, does
// not spin, and takes new ones as soon as there is room (Part 2, 5.1.2.3).
func TestServerWithoutDescriptorsServesOnAndRecovers(t *testing.T) {
	s := begin(t, descriptors, loadproc.ServerConfig{Place: loadproc.Place{Files: descriptors}})
	followers := newFlock(t, followers{
		Endpoint: s.Endpoint, Clients: 20, Items: 1, Interval: 100 * time.Millisecond, Session: time.Minute, KeepAlive: 2 * time.Second,
	})
	before := s.Look(t)
	u, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var knocks []net.Conn
	release := func() {
		for _, c := range knocks {
			c.Close()
		}
		knocks = nil
	}
	defer release()
	for range knocking {
		c, err := net.Dial("tcp", u.Host) // the system takes it, whatever the server does
		if err != nil {
			t.Fatal(err)
		}
		knocks = append(knocks, c)
	}
	filled := time.Now()
	for open := s.descriptors(t); open < descriptors; open = s.descriptors(t) {
		if time.Since(filled) > 5*time.Second {
			t.Fatalf("the server has %d descriptors open and should have %d", open, descriptors)
		}
		time.Sleep(10 * time.Millisecond)
	}
	spent, start := s.cpu(t), time.Now()
	config, err := loadproc.ClientConfig("late")
	if err != nil {
		t.Fatal(err)
	}
	config.ConnectTimeout = full
	if c, err := client.Connect(t.Context(), s.Endpoint, config); err == nil {
		c.Close(t.Context())
		t.Error("a client has got in, and there was no descriptor for it")
	}
	share := (s.cpu(t) - spent).Seconds() / time.Since(start).Seconds()
	if open := s.descriptors(t); open < descriptors {
		t.Errorf("the server has %d descriptors open, and should still be full with %d", open, descriptors)
	}
	t.Logf("%d connections before, %d more knocked; for %.1f s without descriptors the server took %.1f %% of a core", before.Channels, knocking,
		time.Since(start).Seconds(), 100*share)
	if share > spinning {
		t.Errorf("the server takes %.0f %% of a core while it waits for descriptors", 100*share)
	}
	var seen told
	followers.Tell(t, "look")
	followers.Read(t, time.Minute, &seen)
	was := seen.Received

	freed := time.Now()
	release()
	config.ConnectTimeout = 30 * time.Second
	c, err := client.Connect(t.Context(), s.Endpoint, config)
	if err != nil {
		t.Fatalf("a client that comes when there is room: %v", err)
	}
	took := time.Since(freed)
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	t.Logf("the next client got in %.1f s after the others had gone", took.Seconds())
	if took > 5*time.Second {
		t.Errorf("it took %v until a client got in, though there was room", took)
	}
	s.Await(t, 10*time.Second, func(f loadproc.Footprint) string {
		return more(f.Channels-before.Channels, "connections that had knocked")
	})
	s.canary.End(t, *canaryP99)
	r := followers.end(t, lastWritten(t, s.Endpoint))
	r.complete(t, "followers")
	if r.Alive != 20 || r.Reconnects+r.Lost > 0 || r.Received <= was {
		t.Errorf("of 20 followers %d are alive, and they got %d values, %d of them before: %+v", r.Alive, r.Received, was, r)
	}
	s.leave(t, descriptors)
}

// descriptors counts what the server has open; its page takes no connection while
// it has none left.
func (s *scene) descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// cpu is the processor time that the server has taken, from the clock of its
// process (clock_getcpuclockid(3)).
func (s *scene) cpu(t *testing.T) time.Duration {
	t.Helper()
	var at unix.Timespec
	if err := unix.ClockGettime(^int32(s.PID())<<3|2, &at); err != nil {
		t.Fatal(err)
	}
	return time.Duration(at.Nano())
}
