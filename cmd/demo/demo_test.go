package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

// Package ants starts two goroutines of its own when it is loaded.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

// output is what the demo writes, while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	seen chan struct{} // closed when what is waited for was written
	want string
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if o.want != "" && strings.Contains(o.text.String(), o.want) {
		o.want = ""
		close(o.seen)
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs the demo until the test calls stop, which returns what it said.
func start(t *testing.T, want string, args ...string) (out *output, stop func() (string, error)) {
	t.Helper()
	out = &output{want: want, seen: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, args, out, io.Discard) }()
	var once sync.Once
	var err error
	stop = func() (string, error) {
		once.Do(func() {
			cancel()
			err = <-ended
		})
		return out.String(), err
	}
	t.Cleanup(func() { stop() })
	select {
	case <-out.seen:
	case err := <-ended:
		ended <- err
		t.Fatalf("ended with %v:\n%s", err, out)
	case <-time.After(30 * time.Second):
		t.Fatalf("no %q:\n%s", want, out)
	}
	return out, stop
}

// freePort returns an endpoint that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "opc.tcp://" + l.Addr().String()
}

func TestDemoOpensItsSessionsAndEndsWithASummary(t *testing.T) {
	for _, security := range []string{"None", "Basic256Sha256"} {
		t.Run(security, func(t *testing.T) {
			_, stop := start(t, ": 3 of 3", "-sessions", "3", "-security", security, "-endpoint", freePort(t), "-pki", t.TempDir())
			text, err := stop()
			if err != nil {
				t.Errorf("ended with %v", err)
			}
			for _, want := range []string{"serves a simulated plant", "opening sessions (" + security + ")", ": 3 sessions,"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in:\n%s", want, text)
				}
			}
			if strings.Contains(text, "\x1b") {
				t.Errorf("control sequences in a pipe:\n%q", text)
			}
		})
	}
}

func TestStatusShowsTheSessionsOfTheServer(t *testing.T) {
	o := options{endpoint: freePort(t), pki: t.TempDir(), security: "None"}
	srv, plant, err := newServer(o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := srv.Listen()
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.ServeListener(context.Background(), listener) }()
	l, err := newLoad(t.Context(), srv, o.security, plant.values)
	if err != nil {
		t.Fatal(err)
	}
	st := &status{srv: srv, load: l, screen: newScreen(io.Discard), started: time.Now(), perSession: 2048}
	if err := l.open(t.Context(), 2, func(int) {}); err != nil {
		t.Fatal(err)
	}
	l.delays.record(3 * time.Millisecond)
	l.reads.record(500 * time.Microsecond)
	n := st.look(time.Now())
	for name, text := range map[string]string{"block": strings.Join(st.block(&n), "\n"), "line": st.line(&n)} {
		if fields := strings.Join(strings.Fields(text), " "); !strings.Contains(strings.ReplaceAll(fields, "=", " "), "sessions 2 ") {
			t.Errorf("%s without the sessions:\n%s", name, text)
		}
		for _, want := range []string{"3.01ms", "500µs", "2.0 KiB", "0/64", "lost"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in the %s:\n%s", want, name, text)
			}
		}
	}
	l.close(t.Context())
	if text := strings.Join(st.summary(), "\n"); !strings.Contains(text, "2 sessions") || !strings.Contains(text, "2.0 KiB") {
		t.Error(text)
	}
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestDemoEndsAfterItsDuration(t *testing.T) {
	var out bytes.Buffer
	err := run(context.Background(), []string{"-sessions", "0", "-duration", "10ms", "-endpoint", freePort(t), "-pki", t.TempDir()}, &out, io.Discard)
	if err != nil {
		t.Error(err)
	}
}

func TestDemoSaysThatAPortIsInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = run(context.Background(), []string{"-sessions", "0", "-endpoint", "opc.tcp://" + l.Addr().String(), "-pki", t.TempDir()}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "another program listens there") {
		t.Errorf("error %v", err)
	}
}

func TestDemoRefusesWrongOptions(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-security Foo", "use Basic256Sha256 or None"},
		{"-sessions -1", "0 to serve only"},
		{"-duration -1s", "until Ctrl-C"},
		{"extra", "begin with a dash"},
		{"-endpoint http://x", "Config.Endpoint"},
		{"-nonsense", "not defined"},
	} {
		err := run(context.Background(), strings.Fields(c.args), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", c.args, err)
		}
	}
}

// The plant is what the demo promises to a client: machines that can be stopped
// and started, with values that move and a set point with a limit.
func TestPlantCanBeOperated(t *testing.T) {
	endpoint := freePort(t)
	start(t, "users:", "-sessions", "0", "-endpoint", endpoint, "-pki", t.TempDir())
	ctx := t.Context()
	c, err := client.Connect(ctx, endpoint, client.Config{User: client.UserName("operator", "operator"), AllowClearPassword: true, Security: client.NoSecurity, TrustAll: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	sub, err := c.Subscribe(ctx, client.SubscriptionConfig{Interval: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	press := ua.StringID(2, "Plant.Press1")
	method := func(name string) error {
		_, err := c.Call(ctx, press, ua.StringID(2, "Plant.Press1."+name))
		return err
	}
	if _, err := sub.Monitor(ctx, nil, client.MonitorItem{Node: ua.StringID(2, "Plant.Press1.State"), Queue: 10, Sampling: -1}); err != nil {
		t.Fatal(err)
	}
	state := func(want State) {
		t.Helper()
		ch := <-sub.Changes()
		if got, ok := ua.As[State](ch.Value.Value); !ok || got != want {
			t.Fatalf("state %v, want %d", ch.Value, want)
		}
	}
	state(Running)
	if err := method("Start"); ua.StatusOf(err) != ua.BadInvalidState {
		t.Errorf("starting what runs: %v", err)
	}
	if err := method("Stop"); err != nil {
		t.Error(err)
	}
	state(Stopping)
	state(Stopped)
	if err := method("Reset"); err != nil {
		t.Error(err)
	}
	if err := method("Start"); err != nil {
		t.Error(err)
	}
	state(Starting)
	state(Running)
	setPoint := ua.StringID(2, "Plant.Press1.SetPoint")
	if err := c.WriteValue(ctx, setPoint, 150.0); err != nil {
		t.Error(err)
	}
	if err := c.WriteValue(ctx, setPoint, 1e6); ua.StatusOf(err) != ua.BadOutOfRange {
		t.Errorf("a set point out of reach: %v", err)
	}
}

func TestOnlyTheOperatorIsKnown(t *testing.T) {
	endpoint := freePort(t)
	start(t, "users:", "-sessions", "0", "-endpoint", endpoint, "-pki", t.TempDir())
	_, err := client.Connect(t.Context(), endpoint, client.Config{User: client.UserName("operator", "wrong"), AllowClearPassword: true, Security: client.NoSecurity, TrustAll: true})
	if ua.StatusOf(err).Code() != ua.BadIdentityTokenRejected {
		t.Errorf("error %v", err)
	}
}

func TestLatenessIsMeasuredFromPunctualMessages(t *testing.T) {
	l := lateness{interval: 500 * time.Millisecond}
	now := time.Now()
	at := func(n int, late time.Duration) (time.Duration, bool) {
		return l.of(now.Add(time.Duration(n)*l.interval + late))
	}
	at(0, 123*time.Millisecond) // asked for, not published
	for n, late := range []time.Duration{400, 2, 0, 3, 450, 1} {
		if _, ok := at(n+1, late*time.Millisecond); ok {
			t.Errorf("known after %d messages", n+1)
		}
	}
	for _, c := range []struct{ late, want time.Duration }{{0, 0}, {7, 7}, {200, 200}, {-1, 0}, {0, 1}, {-3, 0}} {
		got, ok := at(20, c.late*time.Millisecond)
		if !ok || got != c.want*time.Millisecond {
			t.Errorf("%d ms late: %v %v", c.late, got, ok)
		}
	}
}

func TestScreenRedrawsItsBlockBelowLogLines(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out, terminal: true, width: func() int { return 10 }}
	s.show("one", "two")
	s.printf("a log line")
	s.width = func() int { return 12 }
	s.show("a line that is too long")
	s.show("done")
	s.leave()
	s.printf("end")
	const clear = "\x1b[2A\r\x1b[J"
	want := "one\ntwo\n" + clear + "a log\n    line\none\ntwo\n" + clear +
		"a line that\n    is too\n    long\n" + "\x1b[3A\r\x1b[J" + "done\nend\n"
	if out.String() != want {
		t.Errorf("got\n%q, want\n%q", out.String(), want)
	}
}

func TestLinesFitATerminalOf80Columns(t *testing.T) {
	st := &status{started: time.Now().Add(-100 * time.Hour), load: new(load), perSession: 123_456}
	var n numbers
	n.Sessions.Sessions, n.Channels.Channels = 10_000, 10_000
	n.Subscriptions.Subscriptions, n.Subscriptions.MonitoredItems = 10_000, 1_000_000
	n.Pool.Active, n.Pool.Size, n.parked, n.rate, n.lost = 64, 64, 20_000, 1_000_000, 1_000_000
	n.delays, n.reads = percentiles{time.Minute, time.Minute, 1}, percentiles{time.Minute, time.Minute, 1}
	for _, line := range st.block(&n) {
		if len([]rune(line)) >= 80 {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
	p := &progress{what: "opening sessions (Basic256Sha256)", total: 10_000}
	if line := []rune(p.line(10_000, "12.3s", 80)); len(line) >= 80 || !strings.HasSuffix(string(line), "10000/10000  12.3s") {
		t.Errorf("%d columns: %s", len(line), string(line))
	}
	for _, width := range []int{1, 20, 40, 79, 80, 200} {
		line := st.line(&n)
		rows := wrap(line, width)
		for _, row := range rows {
			if len([]rune(row)) >= max(width, 9) {
				t.Errorf("%d columns of %d: %s", len([]rune(row)), width, row)
			}
		}
		if got := strings.Join(strings.Fields(strings.Join(rows, " ")), ""); width >= 40 && got != strings.Join(strings.Fields(line), "") {
			t.Errorf("%q became %q", line, got)
		}
	}
}

func TestDemoThatOnlyServesEndsWithASummary(t *testing.T) {
	_, stop := start(t, "accepted", "-sessions", "0", "-endpoint", freePort(t))
	text, err := stop()
	if err != nil || !strings.Contains(text, "ran for ") || strings.Contains(text, "0/s") || strings.Contains(text, "memory") {
		t.Errorf("ended with %v:\n%s", err, text)
	}
}

// What was not measured is not shown, also when the opening was interrupted.
func TestInterruptedDemoShowsOnlyWhatItMeasured(t *testing.T) {
	_, stop := start(t, ": 25 of 100", "-sessions", "100", "-security", "None", "-endpoint", freePort(t))
	text, err := stop()
	if err != nil || !strings.Contains(text, "ran for ") || strings.Contains(text, "0 B") || strings.Contains(text, "at most") {
		t.Errorf("ended with %v:\n%s", err, text)
	}
	st := &status{load: new(load), perSession: -5}
	var n numbers
	if text := strings.Join(st.block(&n), "\n") + st.line(&n); strings.Contains(text, " B") || strings.Contains(text, "memory") {
		t.Error(text)
	}
}

// closedPipe is standard output whose reader has gone, as in "demo | head -2".
type closedPipe struct{ room int }

func (p *closedPipe) Write(b []byte) (int, error) {
	if p.room--; p.room < 0 {
		return 0, syscall.EPIPE
	}
	return len(b), nil
}

func TestDemoEndsWhenNobodyReadsIt(t *testing.T) {
	ended := make(chan error, 1)
	go func() {
		ended <- run(context.Background(), []string{"-sessions", "0", "-endpoint", freePort(t)}, &closedPipe{2}, io.Discard)
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("still running")
	}
}

func TestDemoSaysThatItNeedsMoreFiles(t *testing.T) {
	limit, known := fileLimit()
	if !known {
		t.Skip("the limit of open files is not known here")
	}
	if limit > 1<<40 {
		t.Skip("there is no limit of open files here")
	}
	err := run(context.Background(), []string{"-sessions", strconv.FormatUint(limit, 10), "-endpoint", freePort(t)}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("error %v", err)
	}
	if err := enoughFiles(0); err != nil {
		t.Error(err)
	}
	full := fmt.Errorf("dial: %w", syscall.EMFILE)
	if err := outOfFiles(full); !errors.Is(err, full) || !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("error %v", err)
	}
}

func TestHelpIsNoError(t *testing.T) {
	var text bytes.Buffer
	if err := run(context.Background(), []string{"-help"}, io.Discard, &text); !errors.Is(err, flag.ErrHelp) || !strings.Contains(text.String(), "-sessions") {
		t.Errorf("error %v:\n%s", err, text.String())
	}
}
