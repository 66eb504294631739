//go:build storm && linux

package limits

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/loadproc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// init makes this binary the server, the one that floods, or the one that only
// takes as much of the processor, where it was started for that.
func init() {
	loadproc.Play(loadproc.Roles{
		"server": loadproc.Role(fairServer), "flooder": loadproc.Role(flood), "hog": loadproc.Role(hog),
	})
}

const (
	// rounds is how often each is measured, in turns, so that what else the machine
	// does meets all of them.
	rounds = 5
	// samples of a round.
	samples = 300
	// unexplained is what a flood of Reads may cost another one beyond twice of its time.
	// Single rounds show 10 ms, which is as often as Go's monitor looks at the network for
	// others; the cause is not proven, see the test.
	unexplained = 10 * time.Millisecond
	// little is what calls may cost another one beyond twice of its time: they wait at
	// the worker pool, which takes turns, and both times are next to nothing.
	little = time.Millisecond
	// stint is how long a thread of a busy process works on end. The system's scheduler
	// lets such a thread finish its slice, some 3 ms, where one that sleeps each
	// millisecond leaves a gap for everybody.
	stint = 40 * time.Millisecond
)

var (
	fairVariable = ua.StringID(1, "variable")
	slowMethod   = ua.StringID(1, "slow")
	quickMethod  = ua.StringID(1, "quick") // runs on the worker pool, too
)

// fairServer is a server with a method that takes its time. It says its address.
func fairServer(struct{}) error {
	dir, err := os.MkdirTemp("", "fair")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, err := uahive.New(uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:0", ApplicationURI: "urn:test:server", PKI: dir, TrustAll: true,
		Security: []uahive.Security{uahive.NoSecurity}, ShutdownDelay: -1, Workers: 16,
	})
	if err != nil {
		return err
	}
	method := func(id ua.NodeID, run addrspace.MethodFunc) error {
		_, err := server.Space().AddNode(addrspace.NodeSpec{
			ID: id, Parent: objects, ReferenceType: ua.NumericID(0, 47), // HasComponent
			BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: id.String()}, Class: ua.NodeClassMethod, Method: &addrspace.Method{Func: run},
		})
		return err
	}
	_, err = server.Space().AddNode(addrspace.NodeSpec{
		ID: fairVariable, Parent: objects, ReferenceType: ua.NumericID(0, 47),
		BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: "variable"}, Class: ua.NodeClassVariable,
		Value: ua.VariantOf(int32(1)), AccessLevel: addrspace.ReadWrite,
	})
	err = errors.Join(err, method(slowMethod, func(ctx context.Context, _ *addrspace.Call) error {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
		return nil
	}), method(quickMethod, func(context.Context, *addrspace.Call) error { return nil }))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("ready", l.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // ends with the test
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return server.ServeListener(ctx, l)
}

// lone stands for the test in a process that has none.
type lone struct{ testing.TB }

func (lone) Helper()                   {}
func (lone) Cleanup(func())            {}
func (lone) Fatal(args ...any)         { panic(fmt.Sprint(args...)) }
func (lone) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (lone) Error(args ...any)         { panic(fmt.Sprint(args...)) }
func (lone) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func fairSession(t testing.TB, address string) *rawpeer.Session {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return rawpeer.Connect(t, conn, rawpeer.Config{}).Session()
}

// flooding is the configuration of the process that floods.
type flooding struct {
	Address  string
	Nodes    int // of each Read; 0: it calls the slow method
	InFlight int
}

func (f flooding) request() ua.Request {
	if f.Nodes == 0 {
		return callOf(slowMethod)
	}
	return readOf(fairVariable, f.Nodes)
}

// flood sends the same request again and again without waiting, and keeps so many
// in flight, until it is killed.
func flood(f flooding) error {
	s := fairSession(lone{}, f.Address)
	body := s.Prepare(s.Token, f.request())
	credit := make(chan struct{}, f.InFlight)
	go func() { // looks at nothing of what comes but where it ends
		s.Conn.SetReadDeadline(time.Time{})
		frame := make([]byte, 64<<10)
		for {
			if _, err := io.ReadFull(s.Conn, frame[:8]); err != nil {
				panic(err)
			}
			last := frame[3] == 'F'
			if _, err := io.ReadFull(s.Conn, frame[8:binary.LittleEndian.Uint32(frame[4:])]); err != nil {
				panic(err)
			}
			if last {
				<-credit
			}
		}
	}()
	fmt.Println("ready")
	for {
		credit <- struct{}{}
		if _, err := s.Conn.Write(s.Seal(uasc.TypeMessage, s.NextID(), body)); err != nil {
			return err
		}
	}
}

// load is the configuration of the process that only takes processor time: the share
// of a core that it takes, and on how many threads.
type load struct {
	Share   float64
	Threads int
}

// hog takes a share of the processor until it is killed. Its threads work as those do
// that have something to do: on and on, with a rest for the part that is not theirs.
func hog(l load) error {
	runtime.GOMAXPROCS(l.Threads + 1)
	busy := time.Duration(min(l.Share/float64(l.Threads), 1) * float64(stint))
	for i := range l.Threads {
		go func() {
			runtime.LockOSThread()
			time.Sleep(stint * time.Duration(i) / time.Duration(l.Threads))
			for {
				for start := time.Now(); time.Since(start) < busy; {
				}
				time.Sleep(stint - busy)
			}
		}()
	}
	fmt.Println("ready")
	select {}
}

// spent is the processor time that a process has taken (clock_getcpuclockid(3)).
func spent(t *testing.T, c *loadproc.Child) time.Duration {
	t.Helper()
	var at unix.Timespec
	if err := unix.ClockGettime(^int32(c.PID())<<3|2, &at); err != nil {
		t.Fatal(err)
	}
	return time.Duration(at.Nano())
}

// beside measures the p99 of requests while a process is there, and the shares of
// the processor that it and the server take.
func beside(t *testing.T, server *loadproc.Child, victim *rawpeer.Session, req ua.Request, role string, config any) (d time.Duration, own, servers float64) {
	t.Helper()
	c := loadproc.Start(t, loadproc.Place{}, role, config)
	c.Expect(t, "ready", 30*time.Second)
	time.Sleep(50 * time.Millisecond)
	start, before, serverBefore := time.Now(), spent(t, c), spent(t, server)
	d = p99(t, victim, req)
	took := time.Since(start).Seconds()
	own, servers = (spent(t, c)-before).Seconds()/took, (spent(t, server)-serverBefore).Seconds()/took
	c.Kill()
	_ = c.Wait(t, 30*time.Second)
	return d, own, servers
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

// threads is how many the flood keeps busy, its own and the server's together.
const threads = 2

// One session that floods does not move what another one sees beyond twice of what
// it sees beside a busy process that takes as much of the processor, and does not talk
// to the server: turns at the worker pool, and readers that the runtime schedules in
// turns, see to that, but for what is unexplained. As much is what the flood takes of
// both cores together: its own, and the server's for it. Server, flood and load are
// processes of their own; the victim is this one. Real time, medians of several rounds,
// in turns.
//
// The p99 in ms on two cores, medians of three rounds with their range, for 1,000 Reads
// in flight and for Reads of 10,000 nodes: quiet 0.2 and 0.3; beside a load that sleeps
// each 2 ms 1.7 and 1.4, beside a busy one 2.7 (2.5 to 3.3) and 3.5 (3.3 to 3.7), flooded
// 6.6 (5.3 to 10.5) and 4.1 (3.2 to 10.7). So the system's scheduler accounts for most of
// the second one and half of the first. Readers that gave up their thread after 0.1 ms
// were tried: by sched_yield nothing changed (4.9 and 8.5), by runtime.Gosched one run
// had 3.0 and 4.0, and later ones, which spared small batches, 5.5 to 6.0 and 3.9 to 4.6.
func TestOneSessionDoesNotSlowAnother(t *testing.T) {
	if testing.Short() {
		t.Skip("needs some seconds of real time")
	}
	server := loadproc.Start(t, loadproc.Place{}, "server", struct{}{})
	address := server.Expect(t, "ready", 30*time.Second)
	victim := fairSession(t, address)
	read, call := readOf(fairVariable, 1), callOf(quickMethod)
	for _, c := range []struct {
		name  string
		flood flooding
		asked ua.Request
		slack time.Duration // beyond twice the p99 beside a process that takes as much
	}{
		{"1,000 Reads in flight", flooding{Nodes: 1, InFlight: 1000}, read, unexplained},
		{"Reads of 10,000 nodes", flooding{Nodes: 10_000, InFlight: 4}, read, unexplained},
		{"1,000 slow methods in flight", flooding{InFlight: 1000}, call, little},
		{"1,000 slow methods, and Reads of another", flooding{InFlight: 1000}, read, little},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.flood.Address = address
			var quiet, alone, hogged, flooded []time.Duration
			var own, servers float64
			for range rounds {
				quiet = append(quiet, p99(t, victim, c.asked))
				var d time.Duration
				d, own, servers = beside(t, server, victim, c.asked, "flooder", c.flood)
				flooded = append(flooded, d)
				d, _, _ = beside(t, server, victim, c.asked, "hog", load{own, threads})
				alone = append(alone, d)
				d, _, _ = beside(t, server, victim, c.asked, "hog", load{own + servers, threads})
				hogged = append(hogged, d)
			}
			before, after := median(hogged), median(flooded)
			t.Logf("p99 %v quiet, %v beside a process that takes as much as the flood alone (%.2f of a core), %v with the server's part (%.2f), %v flooded",
				median(quiet), median(alone), own, before, servers, after)
			if after > 2*before+c.slack {
				t.Errorf("p99 %v beside a process that takes as much, %v flooded", before, after)
			}
		})
	}
	server.CloseInput()
	if err := server.Wait(t, 30*time.Second); err != nil {
		t.Errorf("the server ends with %v: %s", err, server.Errors())
	}
}
