//go:build faults && linux

package faults

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive/test/internal/loadproc"
)

var port = flag.Int("faults.port", 21100, "port of the server that a network is cut from; it listens on an address that only this machine has")

var longCut = flag.Duration("faults.cut", 9*time.Second, "the longer of the two times for which clients are cut off, at most 50 s; their connections live 4 s")

// The network between server and client: a bridge, whose address the server
// listens on, and a client behind a pair of virtual interfaces in a network
// namespace. It is cut where the pair leaves the bridge, so that both ends keep
// their address and see a link: nothing tells them, as with a switch that fails.
// The addresses are those that are set aside for tests (RFC 2544).
const (
	bridge        = "uahive-br"
	nearEnd       = "uahive-br0"
	farEnd        = "uahive-ns0"
	netns         = "uahive-faults"
	serverAddress = "198.18.211.1"
	clientAddress = "198.18.211.2"
)

// network lays the cable, and skips the test where that may not be done.
func network(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("skipped: there is no ip command to make network namespaces with")
	}
	remove := func() { // what an earlier run may have left, too
		for _, line := range []string{"link del " + bridge, "link del " + nearEnd, "netns del " + netns} {
			_ = exec.Command("ip", strings.Fields(line)...).Run()
		}
	}
	remove()
	t.Cleanup(remove)
	for i, line := range []string{
		"netns add " + netns,
		"link add " + bridge + " type bridge",
		"link add " + nearEnd + " type veth peer name " + farEnd + " netns " + netns,
		"addr add " + serverAddress + "/24 dev " + bridge,
		"link set " + nearEnd + " master " + bridge,
		"link set " + bridge + " up",
		"link set " + nearEnd + " up",
		"-n " + netns + " addr add " + clientAddress + "/24 dev " + farEnd,
		"-n " + netns + " link set lo up",
		"-n " + netns + " link set " + farEnd + " up",
	} {
		if err := ip(line); err != nil && i < 3 {
			t.Skipf("skipped: this machine lets nobody make networks: %v", err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func ip(line string) error {
	if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", line, err, out)
	}
	return nil
}

// part cuts the client off for a while, and returns when it is connected again.
func part(t *testing.T, d time.Duration) {
	t.Helper()
	if err := ip("link set " + nearEnd + " nomaster"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
	if err := ip("link set " + nearEnd + " master " + bridge); err != nil {
		t.Fatal(err)
	}
}

// A client that was cut off gets every value that was written meanwhile, in order
// and once. Where the cut was short TCP sees to that; where the connection died of
// it, a new one takes the session over, Republish brings what was on its way, and
// the queues of the items bring the rest (Part 4, 6.7).
func TestPartitionedClientGetsEveryValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		cut, keepAlive time.Duration
		die            bool // the connections
	}{
		{name: "shorter than a keep-alive", cut: 5 * time.Second, keepAlive: 10 * time.Second},
		{name: "longer than the connection lives", cut: *longCut, keepAlive: 2 * time.Second, die: true},
	} {
		t.Run(c.name, func(t *testing.T) { partition(t, c.cut, c.keepAlive, c.die) })
	}
}

func partition(t *testing.T, cut, keepAlive time.Duration, die bool) {
	network(t)
	const n, items = 10, 50
	s := begin(t, 2*n, loadproc.ServerConfig{Endpoint: fmt.Sprintf("opc.tcp://%s:%d", serverAddress, *port)})
	f := newFlock(t, followers{
		Place: loadproc.Place{Netns: netns}, Endpoint: s.Endpoint, Clients: n, Items: items, Interval: 100 * time.Millisecond,
		Session: time.Minute, KeepAlive: keepAlive, Connect: 3 * time.Second, Reconnect: true,
	})
	whole := s.Look(t)
	if got := whole.Sessions - s.before.Sessions; got != n {
		t.Fatalf("%d sessions, want %d", got, n)
	}
	time.Sleep(time.Second)
	part(t, cut)
	healed := time.Now()
	f.Tell(t, "call") // which waits until the first client is connected
	f.Tell(t, "look")
	var r told
	f.Read(t, time.Minute, &r)
	t.Logf("%v after %v of silence: %v; events %v, %s", time.Since(healed).Round(time.Millisecond), cut, r, r.Events, r.Call)
	time.Sleep(5 * time.Second) // the others, who try at intervals of their own
	s.canary.End(t, *canaryP99)
	last := lastWritten(t, s.Endpoint)
	r = f.end(t, last)
	after := s.Look(t)
	r.complete(t, "clients that were cut off")
	republished := goods(after, "Republish")
	t.Logf("the server answered %d Republish requests with a message; %d sessions timed out, %d activations; %d values are lost in its queues",
		republished, after.Stats.Sessions.TimedOut, after.Stats.Sessions.Activated, after.Stats.Subscriptions.ValuesLost)
	if r.Alive != n || r.Lost > 0 || after.Stats.Subscriptions.ValuesLost > 0 || after.Stats.Sessions.TimedOut > 0 {
		t.Errorf("%d of %d clients are alive, and lost %d messages; on the server %d values and %d sessions are lost",
			r.Alive, n, r.Lost, after.Stats.Subscriptions.ValuesLost, after.Stats.Sessions.TimedOut)
	}
	if die && (r.Reconnects < n || r.Republished == 0 || republished != int(r.Republished)) {
		t.Errorf("%d reconnects of %d clients brought %d messages by Republish, and the server counts %d", r.Reconnects, n, r.Republished, republished)
	}
	if !die && r.Reconnects > 0 {
		t.Errorf("%d clients gave their connections up", r.Reconnects)
	}
	s.leave(t, 2*n)
}

// goods is how many requests of a service the server has answered with Good.
func goods(f loadproc.Footprint, service string) int {
	for _, r := range f.Stats.Requests {
		if r.Service == service && len(r.Results) > 0 && r.Results[0].Status.IsGood() {
			return int(r.Results[0].Count)
		}
	}
	return 0
}
