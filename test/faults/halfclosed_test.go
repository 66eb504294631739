//go:build faults && linux

package faults

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/loadproc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// halves are the stages in which a client says that it will send no more, and
// still reads. answer is the least number of messages that the server owes it.
var halves = []struct {
	name    string
	session bool // one is left to time out
	begin   func(t testing.TB, r *raw) *rawpeer.Peer
	answers int
}{
	{"at once", false, func(t testing.TB, r *raw) *rawpeer.Peer { return r.bare(t) }, 0},
	{"within Hello", false, func(t testing.TB, r *raw) *rawpeer.Peer {
		p := r.bare(t)
		halfHello(p)
		return p
	}, 0},
	{"behind Hello", false, func(t testing.TB, r *raw) *rawpeer.Peer {
		p := r.bare(t)
		p.Hello()
		return p
	}, 0},
	{"within the opening", false, func(t testing.TB, r *raw) *rawpeer.Peer {
		p := r.bare(t)
		halfOpen(p)
		return p
	}, 0},
	{"behind the opening", false, func(t testing.TB, r *raw) *rawpeer.Peer {
		p := r.bare(t)
		p.Hello()
		p.Use(p.Open(ua.SecurityTokenRequestTypeIssue))
		return p
	}, 0},
	{"with a session that is not active", false, func(t testing.TB, r *raw) *rawpeer.Peer {
		p := r.bare(t)
		p.Hello()
		p.Use(p.Open(ua.SecurityTokenRequestTypeIssue))
		return p.CreateSession().Peer
	}, 0},
	{"with a session", true, func(t testing.TB, r *raw) *rawpeer.Peer { return r.session(t).Peer }, 0},
	{"with values that flow", true, func(t testing.TB, r *raw) *rawpeer.Peer {
		s := r.session(t)
		watch(s, loadproc.Variable(0), 100*time.Millisecond, 20)
		bookmark(t, s)
		return s.Peer
	}, 0},
	{"behind a request", true, func(t testing.TB, r *raw) *rawpeer.Peer {
		s := r.session(t)
		s.Start(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{{NodeID: loadproc.Variable(0), AttributeID: ua.AttributeIDValue}}})
		return s.Peer
	}, 1},
	{"within a request of many chunks", true, func(t testing.TB, r *raw) *rawpeer.Peer {
		s := r.session(t)
		halfOfMany(t, s)
		return s.Peer
	}, 0},
}

// A client that closes its half of the connection has gone, whatever it was at:
// what it had asked for is still answered, then the server closes the other half.
func TestHalfClosedConnectionsEnd(t *testing.T) {
	t.Parallel()
	s := begin(t, len(halves), loadproc.ServerConfig{})
	r, err := newRaw(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, h := range halves {
		p := h.begin(t, r)
		if h.session {
			left++
		}
		at := time.Now()
		if err := p.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		p.Conn.SetReadDeadline(at.Add(30 * time.Second))
		kinds, err := messages(p.Conn)
		took := time.Since(at)
		t.Logf("%-34s closed after %5.0f ms, behind %v", h.name, took.Seconds()*1000, kinds)
		if err != nil || took > 2*time.Second {
			t.Errorf("%s: the server closes its half after %v, with %v", h.name, took, err)
		}
		if answers := len(slices.DeleteFunc(kinds, func(k string) bool { return k != "MSG" })); answers < h.answers {
			t.Errorf("%s: %d answers, the server owed %d", h.name, answers, h.answers)
		}
	}
	gone := s.Look(t)
	if what := more(gone.Channels-s.before.Channels, "channels") + more(int(gone.Stats.Channels.AssemblyBytes), "bytes of unfinished messages"); what != "" {
		t.Errorf("the server still has %s of half-closed connections", what)
	}
	freed := s.Await(t, subscriptionLife+5*time.Second, s.others)
	t.Logf("all gone: %v; %d sessions timed out", freed, freed.Stats.Sessions.TimedOut)
	if got := int(freed.Stats.Sessions.TimedOut); got != left {
		t.Errorf("%d sessions timed out, %d were left", got, left)
	}
	s.end(t, len(halves))
}

// messages reads until the peer closes, and returns the kinds of what came.
func messages(conn net.Conn) (kinds []string, err error) {
	for {
		var head [8]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			if err == io.EOF {
				return kinds, nil
			}
			return kinds, err
		}
		size := binary.LittleEndian.Uint32(head[4:])
		if size < 8 || size > 1<<20 {
			return kinds, fmt.Errorf("a message of %d bytes", size)
		}
		if _, err := io.ReadFull(conn, make([]byte, size-8)); err != nil {
			return kinds, err
		}
		kinds = append(kinds, string(head[:3]))
	}
}
