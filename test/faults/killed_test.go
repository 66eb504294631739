//go:build faults && linux

package faults

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/uahive/uahive/test/internal/loadproc"
)

var (
	clients = flag.Int("faults.clients", 200, "number of clients, of which some are killed")
	killed  = flag.Int("faults.killed", 20, "number of clients that are killed, at least 10")
)

func init() { roles["victims"] = loadproc.Role(suffer) }

// victims is the configuration of a process that stands still in the middle of
// something until it is killed.
type victims struct {
	Endpoint string
	In       string // the middle of what
	Clients  int
}

// The stages in which a client without a real one's patience stands still.
var stages = map[string]func(testing.TB, *raw){
	"half a chunk": func(t testing.TB, r *raw) {
		s := r.session(t)
		watch(s, loadproc.Variable(0), time.Second, 2)
		bookmark(t, s)
		halfOfMany(t, s)
	},
	"half a Hello":    func(t testing.TB, r *raw) { halfHello(r.bare(t)) },
	"behind Hello":    func(t testing.TB, r *raw) { r.bare(t).Hello() },
	"half an opening": func(t testing.TB, r *raw) { halfOpen(r.bare(t)) },
}

// suffer is the process of victims.
func suffer(config victims) error {
	return caught(func(t testing.TB) error {
		r, err := newRaw(config.Endpoint)
		if err != nil {
			return err
		}
		for range config.Clients {
			stages[config.In](t, r)
		}
		fmt.Println("ready")
		for { // until it is killed
			time.Sleep(time.Hour)
			runtime.KeepAlive(r)
		}
	})
}

// perProcess is how many victims share a process, which dies as a whole.
const perProcess = 10

// Clients that are killed where they stand cost nobody else a value, and the
// server lets go of what was theirs: of connections at once, of sessions when
// they have timed out.
func TestKilledClientsDisturbNobodyAndLeaveNothing(t *testing.T) {
	t.Parallel()
	s := begin(t, *clients, loadproc.ServerConfig{})
	// A third of the victims dies while notifications flow, a third within a
	// chunk, a third within the handshake.
	publishing, chunk := *killed/3, *killed/3
	handshake := *killed - publishing - chunk
	rest := followers{Endpoint: s.Endpoint, Clients: *clients - *killed, Items: 1, Interval: 500 * time.Millisecond, Session: time.Minute}
	doomed := rest
	doomed.Session, doomed.Clients = shortTimeout, publishing
	survivors := newFlock(t, rest)

	var dying []*loadproc.Child
	raise := func(in string, n int) {
		for n > 0 {
			of := min(n, perProcess)
			n -= of
			dying = append(dying, loadproc.Start(t, loadproc.Place{}, "victims", victims{Endpoint: s.Endpoint, In: in, Clients: of}))
		}
	}
	for n := publishing; n > 0; n -= perProcess {
		doomed.Clients = min(n, perProcess)
		dying = append(dying, startFlock(t, doomed).Child)
	}
	raise("half a chunk", chunk)
	early := []string{"half a Hello", "behind Hello", "half an opening"}
	for i, in := range early {
		raise(in, (handshake+i)/len(early))
	}
	for _, c := range dying {
		c.Expect(t, "ready", flockReady)
	}
	full := s.Look(t)
	sessions := publishing + chunk
	if got, want := full.Sessions-s.before.Sessions, *clients-handshake; got != want {
		t.Errorf("the server has %d sessions, want %d", got, want)
	}
	if got := full.Channels - s.before.Channels; got != *clients {
		t.Errorf("the server has %d connections, want %d", got, *clients)
	}
	if full.Stats.Sessions.ContinuationPoints != chunk || full.Stats.Channels.AssemblyBytes == 0 {
		t.Errorf("the victims hold %d continuation points and %d bytes", full.Stats.Sessions.ContinuationPoints, full.Stats.Channels.AssemblyBytes)
	}
	t.Logf("%d clients, %d in %d processes to be killed: %d within publishing, %d within a chunk, %d within the handshake", *clients, *killed, len(dying), publishing, chunk, handshake)
	t.Logf("all there: %v, %d bytes of unfinished messages", full, full.Stats.Channels.AssemblyBytes)

	at := time.Now()
	for _, c := range dying {
		c.Kill()
	}
	alive := *clients - *killed
	gone := s.Await(t, 5*time.Second, func(f loadproc.Footprint) string {
		return more(f.Channels-s.before.Channels-alive, "connections of the killed") + more(int(f.Stats.Channels.AssemblyBytes), "bytes of unfinished messages")
	})
	t.Logf("after %.1f s without their connections: %v", time.Since(at).Seconds(), gone)
	freed := s.Await(t, shortTimeout+5*time.Second, func(f loadproc.Footprint) string {
		return more(f.Sessions-s.before.Sessions-alive, "sessions of the killed") +
			more(f.Stats.Sessions.ContinuationPoints, "continuation points of the killed")
	})
	t.Logf("after %.1f s without their sessions: %v; %d sessions timed out", time.Since(at).Seconds(), freed, freed.Stats.Sessions.TimedOut)
	// Subscriptions wait a little longer for somebody who takes them over.
	expired := s.Await(t, 20*time.Second, func(f loadproc.Footprint) string {
		return more(f.Subscriptions-s.before.Subscriptions-alive, "subscriptions of the killed") +
			more(f.MonitoredItems-s.before.MonitoredItems-alive, "items of the killed")
	})
	t.Logf("after %.1f s without their subscriptions: %v", time.Since(at).Seconds(), expired)
	if got := int(freed.Stats.Sessions.TimedOut); got != sessions {
		t.Errorf("%d sessions timed out, %d clients with one were killed", got, sessions)
	}
	if freed.Sessions-s.before.Sessions != alive || freed.Channels-s.before.Channels != alive {
		t.Errorf("%d clients are alive, and the server has %v", alive, freed)
	}

	s.canary.End(t, *canaryP99)
	r := survivors.end(t, lastWritten(t, s.Endpoint))
	r.complete(t, "survivors")
	if r.Alive != alive || r.Reconnects+r.Lost > 0 {
		t.Errorf("%d of %d survivors are alive: %+v", r.Alive, alive, r)
	}
	s.leave(t, *clients)
}

// more says that there are more of something than there should be.
func more(n int, of string) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" %d %s", n, of)
}
