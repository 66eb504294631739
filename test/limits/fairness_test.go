//go:build storm

package limits

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

const (
	// rounds is how often each is measured, in turns with a quiet server, so that
	// what else the machine does meets both.
	rounds = 3
	// samples of a round.
	samples = 200
	// slack is what a machine with few cores adds by itself: whoever floods is
	// served on one of them, and the runtime lets nobody wait longer than two turns
	// of ten milliseconds.
	slack = 25 * time.Millisecond
)

// fair is a server over TCP with a method that takes its time.
type fair struct {
	t        *testing.T
	server   *uahive.Server
	address  string
	variable ua.NodeID
	slow     ua.NodeID
	quick    ua.NodeID // runs on the worker pool, too
}

func newFair(t *testing.T) *fair {
	f := &fair{t: t, server: newServer(t, uahive.Limits{}, 16)}
	method := func(name string, run addrspace.MethodFunc) ua.NodeID {
		return add(t, f.server, addrspace.NodeSpec{
			ID: ua.StringID(1, name), BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: name}, Class: ua.NodeClassMethod,
			Method: &addrspace.Method{Func: run},
		})
	}
	f.variable = add(t, f.server, addrspace.NodeSpec{
		ID: ua.StringID(1, "variable"), BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: "variable"},
		Class: ua.NodeClassVariable, Value: ua.VariantOf(int32(1)), AccessLevel: addrspace.ReadWrite,
	})
	f.slow = method("slow", func(ctx context.Context, _ *addrspace.Call) error {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
		return nil
	})
	f.quick = method("quick", func(context.Context, *addrspace.Call) error { return nil })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.address = l.Addr().String()
	served := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { served <- f.server.ServeListener(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fair) session() *rawpeer.Session {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.address)
	if err != nil {
		f.t.Fatal(err)
	}
	return rawpeer.Connect(f.t, conn, rawpeer.Config{}).Session()
}

// flood sends the same request again and again without waiting, and keeps so many
// in flight, until the returned function is called.
func (f *fair) flood(req ua.Request, inFlight int) (stop func()) {
	f.t.Helper()
	s := f.session()
	body := s.Prepare(s.Token, req)
	credit := make(chan struct{}, inFlight)
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() { // looks at nothing of what comes but where it ends
		s.Conn.SetReadDeadline(time.Time{})
		frame := make([]byte, 64<<10)
		for {
			if _, err := io.ReadFull(s.Conn, frame[:8]); err != nil {
				return
			}
			last := frame[3] == 'F'
			if _, err := io.ReadFull(s.Conn, frame[8:binary.LittleEndian.Uint32(frame[4:])]); err != nil {
				return
			}
			if last {
				<-credit
			}
		}
	})
	group.Go(func() {
		for {
			select {
			case credit <- struct{}{}:
			case <-done:
				return
			}
			if _, err := s.Conn.Write(s.Seal(uasc.TypeMessage, s.NextID(), body)); err != nil {
				return
			}
		}
	})
	return func() {
		close(done)
		s.Conn.Close()
		group.Wait()
	}
}

// p99 is that of requests that follow each other after a short rest.
func p99(t *testing.T, s *rawpeer.Session, req ua.Request) time.Duration {
	t.Helper()
	took := make([]time.Duration, samples)
	for i := range took {
		time.Sleep(500 * time.Microsecond)
		start := time.Now()
		if code := s.Result(req); code != ua.Good {
			t.Fatal(code)
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took[samples*99/100]
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// One session that floods does not move what another one sees beyond twice of it,
// and what the cores of the machine add: turns at the worker pool, and readers that
// the runtime schedules in turns, see to that. Real time, medians of several
// rounds, quiet ones and others in turns.
func TestOneSessionDoesNotSlowAnother(t *testing.T) {
	if testing.Short() {
		t.Skip("needs some seconds of real time")
	}
	f := newFair(t)
	victim := f.session()
	read, call := readOf(f.variable, 1), callOf(f.quick)
	for _, c := range []struct {
		name     string
		flood    ua.Request
		inFlight int
		asked    ua.Request
		limit    time.Duration // beyond twice the quiet p99
	}{
		{"1,000 Reads in flight", readOf(f.variable, 1), 1000, read, slack},
		{"Reads of 10,000 nodes", readOf(f.variable, 10_000), 4, read, 4 * slack},
		{"1,000 slow methods in flight", callOf(f.slow), 1000, call, slack},
		{"1,000 slow methods, and Reads of another", callOf(f.slow), 1000, read, slack},
	} {
		t.Run(c.name, func(t *testing.T) {
			var quiet, flooded []time.Duration
			for range rounds {
				quiet = append(quiet, p99(t, victim, c.asked))
				stop := f.flood(c.flood, c.inFlight)
				time.Sleep(50 * time.Millisecond) // until it runs
				flooded = append(flooded, p99(t, victim, c.asked))
				stop()
			}
			before, after := median(quiet), median(flooded)
			t.Logf("p99 %v quiet, %v flooded", before, after)
			if after > 2*before+c.limit {
				t.Errorf("p99 %v quiet, %v flooded", before, after)
			}
		})
	}
}
