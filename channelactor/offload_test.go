package channelactor

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// narrow replaces the lane by one that runs one task at a time, and holds it up
// until the returned function is called.
func (w *world) narrow(limits actors.LaneConfig) (goOn func()) {
	w.t.Helper()
	lane := actors.NewLane(limits)
	w.config.Lane = lane
	w.t.Cleanup(func() { lane.Close(w.t.Context()) })
	held, free := make(chan struct{}), make(chan struct{})
	err := lane.Submit(actors.First, 0, func() bool { return true }, func(bool) {
		close(held)
		<-free
	})
	if err != nil {
		w.t.Fatal(err)
	}
	<-held
	return func() { close(free) }
}

// oneMayWait is a lane in which one stranger may wait behind another task: each
// task is taken to need 2 ms at first, and a stranger to bring that much.
var oneMayWait = actors.LaneConfig{MaxWait: 30 * time.Second, Follow: 9_999}

// until waits for something that happens on other goroutines.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for start := time.Now(); !is(); runtime.Gosched() {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("no: %s", what)
		}
	}
}

// knock sends Hello and an OPN request and reads the Acknowledge.
func (w *world) knock(conn net.Conn) *peer {
	p := w.peer(conn, uasc.Basic256Sha256, uasc.ModeSignAndEncrypt)
	p.hello()
	p.write(p.sealOpen(ua.SecurityTokenRequestTypeIssue, p.policy.Nonce(), 60_000))
	return p
}

// A client that has closed its connection, or reset it, while its request waits
// in the lane costs no private-key operation; one that waits is served.
func TestThreat_S11_GoneClientsCostNoKeyOperation(t *testing.T) {
	w := newWorld(t, Limits{})
	address := w.listen()
	goOn := w.narrow(actors.LaneConfig{})
	lane := w.config.Lane
	const clients = 12
	var peers []*peer
	for range clients {
		peers = append(peers, w.knock(dial(t, address)))
	}
	until(t, "all requests wait in the lane", func() bool { return lane.Stats().Waiting == clients })
	for i, p := range peers[1:] {
		if i%2 == 0 {
			p.conn.(*net.TCPConn).SetLinger(0) // a reset instead of an end
		}
		p.conn.Close()
	}
	goOn()
	if frame := peers[0].frame(); string(frame[:3]) != "OPN" {
		t.Errorf("the client that waited got %.3q", frame)
	}
	until(t, "the channels of those who went ended", func() bool { return w.Stats().Channels == 1 })
	// The one that held up the lane, and for the one client: open the request, and sign the answer, which leaves
	// before its task is counted.
	until(t, "three tasks have run", func() bool { return lane.Stats().Worked >= 3 })
	if n := lane.Stats(); n.Worked != 3 || n.Unheard != clients-1 {
		t.Errorf("%d tasks ran, %d were dropped", n.Worked, n.Unheard)
	}
	if n := w.Stats(); n.RefusedSecurity != 0 || n.Opened != 1 {
		t.Errorf("%+v", n)
	}
}

// A request that has waited longer than its stage may take is dropped before it
// costs anything, though its client still waits.
func TestThreat_S11_OverdueRequestsCostNoKeyOperation(t *testing.T) {
	w := newWorld(t, Limits{OpenTimeout: 50 * time.Millisecond})
	goOn := w.narrow(actors.LaneConfig{})
	p := w.knock(dial(t, w.listen()))
	time.Sleep(100 * time.Millisecond) // real sockets know no fake time
	goOn()
	if frame, err := p.tryFrame(); err == nil {
		t.Errorf("answered with %.3q", frame)
	}
	until(t, "the channel ended", func() bool { return w.Stats().Channels == 0 })
	if n := w.Stats(); n.TimedOut != 1 || w.config.Lane.Stats().Worked > 1 {
		t.Errorf("%+v, %+v", n, w.config.Lane.Stats())
	}
}

// Beyond what the lane can serve in time the answer is immediate, and says when to
// come back; who waited is served, and who comes later too.
func TestThreat_S11_LaneRefusesAtOnce(t *testing.T) {
	w := newWorld(t, Limits{})
	address := w.listen()
	goOn := w.narrow(oneMayWait)
	lane := w.config.Lane
	waits := w.knock(dial(t, address))
	until(t, "the request waits", func() bool { return lane.Stats().Waiting == 1 })
	hints := map[string]bool{}
	for range 8 {
		p := w.knock(dial(t, address))
		var e uasc.ErrorMessage
		if err := e.Decode(p.frame()); err != nil || e.Code != ua.BadTcpServerTooBusy {
			t.Fatalf("refused with %v, %v", e.Code, err)
		}
		after, err := time.ParseDuration(e.Reason[len("retry-after="):])
		if err != nil || after < time.Second || after > 30*time.Second {
			t.Errorf("hint %q", e.Reason)
		}
		hints[e.Reason] = true
		if _, err := p.conn.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("after the refusal: %v", err)
		}
	}
	if len(hints) < 2 {
		t.Errorf("all are to come back in the same moment: %v", hints)
	}
	if n := lane.Stats(); n.Refused != 8 || n.Waiting != 1 {
		t.Errorf("%+v", n)
	}
	until(t, "refusals are counted", func() bool { return w.Stats().RefusedBusy == 8 })
	goOn()
	if frame := waits.frame(); string(frame[:3]) != "OPN" {
		t.Errorf("the client that waited got %.3q", frame)
	}
	until(t, "the lane is free", func() bool { return lane.Stats().Active == 0 })
	if frame := w.knock(dial(t, address)).frame(); string(frame[:3]) != "OPN" {
		t.Errorf("a client that came later got %.3q", frame)
	}
}

// A channel that is open renews its token though the lane takes no strangers.
func TestRenewalsAreNotRefused(t *testing.T) {
	w := newWorld(t, Limits{})
	address := w.listen()
	live := w.peer(dial(t, address), uasc.Basic256Sha256, uasc.ModeSignAndEncrypt).connect()
	goOn := w.narrow(oneMayWait)
	lane := w.config.Lane
	first := w.knock(dial(t, address))
	until(t, "a stranger waits", func() bool { return lane.Stats().Waiting == 1 })
	if frame := w.knock(dial(t, address)).frame(); string(frame[:3]) != "ERR" {
		t.Fatalf("the next stranger got %.3q", frame)
	}
	live.write(live.sealOpen(ua.SecurityTokenRequestTypeRenew, live.policy.Nonce(), 60_000))
	until(t, "the renewal waits", func() bool { return lane.Stats().Waiting == 2 })
	goOn()
	for _, p := range []*peer{live, first} {
		if frame := p.frame(); string(frame[:3]) != "OPN" {
			t.Errorf("%.3q", frame)
		}
	}
}

// What a client has waited since it connected counts: it gives up that much earlier.
func TestWhoHasWaitedElsewhereWaitsLess(t *testing.T) {
	w := newWorld(t, Limits{})
	address := w.listen()
	// Behind the task that is held up there are 200 ms to wait, which who has just come has, however busy
	// this machine is.
	goOn := w.narrow(actors.LaneConfig{MaxWait: time.Second, Follow: 99})
	slow := dial(t, address)
	time.Sleep(time.Second) // real sockets know no fake time
	if frame := w.knock(slow).frame(); string(frame[:3]) != "ERR" {
		t.Errorf("who connected long ago got %.3q", frame)
	}
	waits := w.knock(dial(t, address))
	until(t, "who has just come waits", func() bool { return w.config.Lane.Stats().Waiting == 1 })
	goOn()
	if frame := waits.frame(); string(frame[:3]) != "OPN" {
		t.Errorf("who has just come got %.3q", frame)
	}
	if frame := w.knock(dial(t, address)).frame(); string(frame[:3]) != "OPN" {
		t.Errorf("who came later got %.3q", frame)
	}
}
