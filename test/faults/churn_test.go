//go:build faults && linux

package faults

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/loadproc"
)

var churning = flag.Duration("faults.churning", 20*time.Second, "how long clients come and go, at least 16s")

func init() { roles["churners"] = loadproc.Role(churn) }

const (
	// churners are the clients of a process that come and go at once, and pause is
	// how long each rests between two visits.
	churners = 8
	pause    = 20 * time.Millisecond
	// processLife is how long such a process lives until it is killed.
	processLife = 2 * time.Second
	// steady is when what silent sessions hold has come into balance: theirs is the
	// shortest time-out, and as much again is for a machine that is busy.
	steady = shortTimeout + 3*time.Second
)

// churners come and go.
type churnersOf struct{ Endpoint string }

// held is what the server holds at a moment of the churn.
type held struct {
	at                          time.Duration
	goroutines, files, sessions int
	rss                         int64
}

// While clients come and go for a long time, some properly, some with a reset, some
// in the middle of the handshake, and some killed, the server does not grow.
func TestChurnLeavesTheServerFlat(t *testing.T) {
	if *churning < 16*time.Second {
		t.Fatalf("-faults.churning %v: write a time of at least 16s", *churning)
	}
	s := begin(t, 5000, loadproc.ServerConfig{})
	quit := make(chan struct{})
	var kills, visits atomic.Int64
	var group sync.WaitGroup
	group.Go(func() { // ends with quit
		for {
			c := loadproc.Start(t, loadproc.Place{}, "churners", churnersOf{s.Endpoint})
			select {
			case <-time.After(processLife):
			case <-quit:
				c.Kill()
				return
			}
			c.Kill()
			kills.Add(1)
		}
	})
	var seen []held
	began := time.Now()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for time.Since(began) < *churning {
		<-tick.C
		f := s.Look(t)
		visits.Store(int64(f.Stats.Channels.Accepted - s.before.Stats.Channels.Accepted))
		seen = append(seen, held{time.Since(began), f.Goroutines, f.OpenFiles, f.Sessions, s.rss(t)})
	}
	close(quit)
	group.Wait()
	// The beginning, and the end: as long as each other, and not before what is
	// left to time out has come into balance.
	flat := (*churning - steady) / 2
	first, last := span(seen, steady, steady+flat), span(seen, *churning-flat, *churning)
	t.Logf("%v with %d connections and %d killed processes of %d clients", *churning, visits.Load(), kills.Load(), churners)
	t.Logf("at most, after %v: %d goroutines, %d files, %d sessions, %d KiB", steady, first.goroutines, first.files, first.sessions, first.rss>>10)
	t.Logf("at most, in the end:   %d goroutines, %d files, %d sessions, %d KiB", last.goroutines, last.files, last.sessions, last.rss>>10)
	if visits.Load() < int64(*churning/time.Second)*20 || kills.Load() == 0 || first.sessions == 0 {
		t.Errorf("nobody churns: %d connections, %d kills, %d sessions", visits.Load(), kills.Load(), first.sessions)
	}
	// What comes and goes by chance is a part of it; growth would go on.
	for _, c := range []struct {
		what        string
		first, last int64
		spare       int64
	}{
		{"goroutines", int64(first.goroutines), int64(last.goroutines), 100},
		{"files", int64(first.files), int64(last.files), 50},
		{"bytes resident", first.rss, last.rss, 4 << 20},
	} {
		if c.last > c.first+c.first/4+c.spare {
			t.Errorf("%d %s at first, %d in the end", c.first, c.what, c.last)
		}
	}
	gone := s.Await(t, shortTimeout+10*time.Second, s.others)
	t.Logf("all gone: %v", gone)
	s.end(t, max(first.sessions, last.sessions))
}

// span is the most of each thing within a time.
func span(seen []held, from, to time.Duration) (most held) {
	for _, h := range seen {
		if h.at < from || h.at > to+time.Second {
			continue
		}
		most.goroutines, most.files = max(most.goroutines, h.goroutines), max(most.files, h.files)
		most.sessions, most.rss = max(most.sessions, h.sessions), max(most.rss, h.rss)
	}
	return most
}

// rss is the server's resident memory in bytes.
func (s *scene) rss(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// churn is a process of clients that come and go until it is killed.
func churn(config churnersOf) error {
	secure, err := loadproc.ClientConfig("churner")
	if err != nil {
		return err
	}
	secure.SessionTimeout, secure.Reconnect.Disabled, secure.ConnectTimeout = shortTimeout, true, 5*time.Second
	ctx := context.Background()
	if secure.Endpoints, err = client.Discover(ctx, config.Endpoint, secure); err != nil {
		return err
	}
	open := secure
	open.Security = client.Security{Policy: client.PolicyNone, Mode: ua.MessageSecurityModeNone}
	r, err := newRaw(config.Endpoint)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	for range churners {
		group.Go(func() {
			for {
				visit(ctx, config.Endpoint, secure, open, r.address)
				time.Sleep(pause)
			}
		})
	}
	group.Wait()
	return nil
}

// visit is one of the ways in which a client comes and goes. Errors are part of
// the matter.
func visit(ctx context.Context, endpoint string, secure, open client.Config, address string) {
	config := open
	way := rand.N(8)
	if way == 0 {
		config = secure
	}
	var conn net.Conn
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, network, address)
		conn = c
		return c, err
	}
	reset := func(c net.Conn) {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	switch way {
	case 1, 2, 3: // goes before there is a channel
		c, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		hello := []byte("HELF\x3c\x00\x00\x00")
		_, _ = c.Write(hello[:rand.N(len(hello)+1)])
		if way == 1 {
			reset(c)
			return
		}
		_ = c.Close()
		return
	}
	c, err := client.Connect(ctx, endpoint, config)
	if err != nil {
		return
	}
	if sub, err := c.Subscribe(ctx, client.SubscriptionConfig{Interval: 100 * time.Millisecond}); err == nil {
		_, _ = sub.Monitor(ctx, func(client.Change) {}, client.MonitorItem{Node: loadproc.Variable(rand.N(100))})
	}
	if way == 4 { // its session is left to time out
		reset(conn)
	}
	_ = c.Close(ctx)
}
