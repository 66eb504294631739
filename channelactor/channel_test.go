package channelactor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

type suite struct {
	policy *uasc.Policy
	mode   uasc.Mode
}

func (s suite) String() string { return s.policy.Name + "/" + s.mode.String() }

func suites() []suite {
	list := []suite{{uasc.PolicyNone, uasc.ModeNone}}
	for _, p := range uasc.Policies() {
		if p.Secure() {
			list = append(list, suite{p, uasc.ModeSign}, suite{p, uasc.ModeSignAndEncrypt})
		}
	}
	return list
}

func dial(t testing.TB, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// Every policy and mode carries requests of one and of many chunks.
func TestRequestsAreAnsweredUnderEveryPolicy(t *testing.T) {
	w := newWorld(t, Limits{})
	address := w.listen()
	for _, s := range suites() {
		t.Run(s.String(), func(t *testing.T) {
			p := w.peer(dial(t, address), s.policy, s.mode).connect()
			for i, size := range []int{0, 1, 100, 65_000, 300_000} {
				body := bytes.Repeat([]byte{byte(i + 1)}, size)
				go p.conn.Write(p.seal(uint32(i+7), body))
				id, got, _ := p.answer()
				if id != uint32(i+7) || !bytes.Equal(got, body) {
					t.Fatalf("size %d: answer %d with %d bytes", size, id, len(got))
				}
			}
		})
	}
}

// C17: the same bytes cut at every position, one byte per write, three messages
// in one segment: same answers.
func TestCutsDoNotMatter(t *testing.T) {
	w := newWorld(t, Limits{})
	address := w.listen()
	for _, s := range []suite{{uasc.PolicyNone, uasc.ModeNone}, {uasc.Basic256Sha256, uasc.ModeSignAndEncrypt}} {
		p := w.peer(dial(t, address), s.policy, s.mode).connect()
		length := len(p.seal(1, []byte("one")))
		p = w.peer(dial(t, address), s.policy, s.mode).connect()
		next := uint32(10)
		expect := func(n uint32) {
			t.Helper()
			for range n {
				id, body, _ := p.answer()
				if id != next || string(body) != fmt.Sprint("body ", next) {
					t.Fatalf("answer %d %q, want %d", id, body, next)
				}
				next++
			}
		}
		three := func() []byte {
			var b []byte
			for i := range uint32(3) {
				b = append(b, p.seal(next+i, fmt.Append(nil, "body ", next+i))...)
			}
			return b
		}
		p.write(three())
		expect(3)
		for cut := 1; cut < length; cut++ {
			b := three()
			p.write(b[:cut])
			p.write(b[cut:])
			expect(3)
		}
		for _, c := range three() {
			p.write([]byte{c})
		}
		expect(3)
	}
}

// A renewed token becomes the server's own when the client first uses it, and
// answers go on in between (Part 4, 5.6.2.1).
func TestRenewalFollowsTheClient(t *testing.T) {
	w := newWorld(t, Limits{})
	address := w.listen()
	for _, s := range suites() {
		t.Run(s.String(), func(t *testing.T) {
			p := w.peer(dial(t, address), s.policy, s.mode).connect()
			old := p.token
			ask := func(want uint32) {
				t.Helper()
				p.write(p.seal(1, []byte("x")))
				if _, _, token := p.answer(); token != want {
					t.Fatalf("answered with token %d, want %d", token, want)
				}
			}
			ask(old.ID)
			renewed := p.open(ua.SecurityTokenRequestTypeRenew, 60_000)
			ask(old.ID)
			p.use(renewed)
			ask(renewed.ID)
		})
	}
	if n := w.Stats(); n.Renewed != uint64(len(suites())) {
		t.Errorf("%d renewals counted", n.Renewed)
	}
}

// A client that only listens is sent what the renewed token secures as soon as the old one has ended, and a
// late request under the old one changes nothing about that (Part 4, 5.6.2.1).
func TestRenewalIsFollowedWhenTheOldTokenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Limits{})
		p := w.peer(w.pipe(), uasc.PolicyNone, uasc.ModeNone).connect() // with a token for a minute
		p.write(p.seal(1, []byte("x")))
		p.answer()
		c := w.echo.last
		c.Acquire()
		old := p.token
		expect := func(want uint32, when string) {
			t.Helper()
			if _, _, token := p.answer(); token != want {
				t.Errorf("%s: sent with token %d, want %d", when, token, want)
			}
		}
		time.Sleep(45 * time.Second)
		renewed := p.open(ua.SecurityTokenRequestTypeRenew, 60_000)
		for _, at := range []struct {
			after time.Duration
			want  uint32
		}{{14 * time.Second, old.ID}, {2 * time.Second, renewed.ID}} {
			time.Sleep(at.after)
			if err := c.Respond(7, raw("y")); err != nil {
				t.Fatal(err)
			}
			expect(at.want, at.after.String()+" later")
		}
		p.write(p.seal(2, []byte("z")))
		expect(renewed.ID, "a late request")
		time.Sleep(30 * time.Second)
		p.use(p.open(ua.SecurityTokenRequestTypeRenew, 60_000))
		p.write(p.seal(3, []byte("z")))
		expect(p.token.ID, "the third token")
	})
}

// The lifetime of a token is revised into its limits.
func TestTokenLifetimeIsRevised(t *testing.T) {
	l := Limits{}.WithDefaults()
	for ms, want := range map[uint32]time.Duration{
		0: time.Hour, 1: 10 * time.Second, 60_000: time.Minute, 1<<32 - 1: time.Hour,
	} {
		if got := reviseLifetime(ms, l); got != want {
			t.Errorf("%d ms: %v, want %v", ms, got, want)
		}
	}
}

// First bytes that are no Hello are refused on the header (threat T3, T4).
func TestWrongFirstMessage(t *testing.T) {
	w := newWorld(t, Limits{})
	address := w.listen()
	frame := func(kind string, size uint32) []byte {
		return append(binary.LittleEndian.AppendUint32([]byte(kind), size), make([]byte, 64)...)
	}
	for _, c := range []struct {
		name string
		b    []byte
		code ua.StatusCode
	}{
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), ua.BadTcpMessageTypeInvalid},
		{"TLS", append([]byte{0x16, 3, 1, 2, 0}, make([]byte, 60)...), ua.BadTcpMessageTypeInvalid},
		{"MSG", frame("MSGF", 64), ua.BadTcpMessageTypeInvalid},
		{"OPN", frame("OPNF", 64), ua.BadTcpMessageTypeInvalid},
		{"ACK", frame("ACKF", 64), ua.BadTcpMessageTypeInvalid},
		{"HELC", frame("HELC", 64), ua.BadTcpMessageTypeInvalid},
		{"size 0", frame("HELF", 0), ua.BadTcpMessageTooLarge},
		{"size 7", frame("HELF", 7), ua.BadTcpMessageTooLarge},
		{"size 2^31-1", frame("HELF", 1<<31-1), ua.BadTcpMessageTooLarge},
		{"size 2^32-1", frame("HELF", 1<<32-1), ua.BadTcpMessageTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := w.peer(dial(t, address), uasc.PolicyNone, uasc.ModeNone)
			p.write(c.b)
			if code := p.refusal(); code != c.code {
				t.Errorf("refused with %v, want %v", code, c.code)
			}
		})
	}
}

// C14: endless intermediate chunks end at the limit, before any final chunk.
func TestUnfinishedMessagesAreBounded(t *testing.T) {
	w := newWorld(t, Limits{MaxMessage: 1 << 20})
	address := w.listen()
	for name, size := range map[string]int{"large chunks": 60_000, "empty chunks": 0} {
		t.Run(name, func(t *testing.T) {
			p := w.peer(dial(t, address), uasc.PolicyNone, uasc.ModeNone).connect()
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range 100_000 {
					chunk := p.seal(1, make([]byte, size))
					chunk[3] = 'C'
					if _, err := p.conn.Write(chunk); err != nil {
						return
					}
				}
			}()
			if code := p.refusal(); code != ua.BadTcpMessageTooLarge {
				t.Errorf("refused with %v", code)
			}
			<-done
		})
	}
}

// Each stage has a deadline that single bytes do not move (threat T1).
func TestSilentPeersAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Limits{})
		start := time.Now()
		conn := w.pipe()
		p := w.peer(conn, uasc.PolicyNone, uasc.ModeNone)
		go func() {
			hello := uasc.Limits{}.Hello("opc.tcp://x")
			for _, b := range hello.AppendTo(nil) {
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(3 * time.Second)
			}
		}()
		if _, err := p.tryFrame(); err == nil {
			t.Fatal("answered")
		}
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("closed after %v, want 10s", d)
		}

		start = time.Now()
		p = w.peer(w.pipe(), uasc.PolicyNone, uasc.ModeNone)
		p.hello()
		if _, err := p.tryFrame(); err == nil {
			t.Fatal("answered")
		}
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("closed after %v, want 10s", d)
		}

		start = time.Now()
		p = w.peer(w.pipe(), uasc.PolicyNone, uasc.ModeNone).connect()
		if _, err := p.tryFrame(); err == nil {
			t.Fatal("answered")
		}
		if d := time.Since(start); d != 30*time.Second {
			t.Errorf("closed after %v, want 30s", d)
		}
	})
}

// A channel in use lives until its token ends, with the tolerance of a quarter.
func TestExpiredTokenEndsTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Limits{})
		p := w.peer(w.pipe(), uasc.PolicyNone, uasc.ModeNone).connect()
		start := time.Now()
		p.write(p.seal(1, []byte("x")))
		p.answer()
		w.echo.last.Acquire()
		if _, err := p.tryFrame(); err == nil {
			t.Fatal("answered")
		}
		if d := time.Since(start); d != 75*time.Second {
			t.Errorf("closed after %v, want 75s", d)
		}
		synctest.Wait()
		if w.echo.ended() != 1 {
			t.Errorf("Closed was called %d times", w.echo.ended())
		}
	})
}

// At the limit the oldest channel without a session makes room; one in use
// never does (threat T2).
func TestAdmissionEvictsTheOldestUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Limits{Channels: 2})
		used := w.peer(w.pipe(), uasc.PolicyNone, uasc.ModeNone).connect()
		used.write(used.seal(1, []byte("x")))
		used.answer()
		w.echo.last.Acquire()
		unused := w.peer(w.pipe(), uasc.PolicyNone, uasc.ModeNone).connect()
		third := w.peer(w.pipe(), uasc.PolicyNone, uasc.ModeNone)
		if code := unused.refusal(); code != ua.BadTcpServerTooBusy {
			t.Errorf("evicted with %v", code)
		}
		third.connect()
		third.write(third.seal(2, []byte("y")))
		third.answer()
		w.echo.last.Acquire()
		fourth := w.peer(nil2pipe(w), uasc.PolicyNone, uasc.ModeNone)
		if code := fourth.refusal(); code != ua.BadTcpServerTooBusy {
			t.Errorf("refused with %v", code)
		}
		used.write(used.seal(3, []byte("z")))
		used.answer()
		if n := w.Stats(); n.Evicted != 1 || n.RefusedBusy != 1 || n.Channels != 2 {
			t.Errorf("%+v", n)
		}
	})
}

// nil2pipe admits in the background, since a refusal writes before anybody reads.
func nil2pipe(w *world) net.Conn {
	server, client := net.Pipe()
	go w.admit(server)
	return client
}

// C16: a client that requests and does not read is closed at the write
// deadline; others do not notice.
func TestSlowReaderIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Limits{})
		slow := w.peer(w.pipe(), uasc.PolicyNone, uasc.ModeNone).connect()
		other := w.peer(w.pipe(), uasc.PolicyNone, uasc.ModeNone).connect()
		start := time.Now()
		slow.write(slow.seal(1, make([]byte, 50_000)))
		other.write(other.seal(1, []byte("x")))
		other.answer()
		for w.Stats().Channels > 1 {
			time.Sleep(100 * time.Millisecond) // fake time
		}
		if d := time.Since(start); d < 10*time.Second || d > 11*time.Second {
			t.Errorf("closed after %v", d)
		}
		if n := w.Stats(); n.SlowClosed != 1 {
			t.Errorf("%+v", n)
		}
		other.write(other.seal(2, []byte("y")))
		other.answer()
	})
}

// Responses that come later leave in the order in which they were given, from
// whatever goroutine.
func TestLateAnswers(t *testing.T) {
	w := newWorld(t, Limits{})
	release := make(chan struct{})
	w.echo.hold = func(c *Channel, req Request) bool {
		body := bytes.Clone(req.Body)
		go func() {
			<-release
			c.Respond(req.ID, raw(body))
		}()
		return true
	}
	p := w.peer(dial(t, w.listen()), uasc.Basic256Sha256, uasc.ModeSignAndEncrypt).connect()
	for i := range uint32(50) {
		p.write(p.seal(i+1, binary.LittleEndian.AppendUint32(nil, i+1)))
	}
	close(release)
	seen := make(map[uint32]bool)
	for range 50 {
		id, body, _ := p.answer()
		if binary.LittleEndian.Uint32(body) != id || seen[id] {
			t.Fatalf("answer %d carries %v", id, body)
		}
		seen[id] = true
	}
}

// A channel has no more requests at the worker pool than it may, though one
// segment brings in many more.
func TestRequestsInFlightAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Limits{InFlight: 5})
		most := 0
		w.echo.hold = func(c *Channel, req Request) bool {
			body := bytes.Clone(req.Body)
			c.Hold()
			most = max(most, int(c.inFlight.Load()))
			time.AfterFunc(time.Second, func() {
				c.Respond(req.ID, raw(body))
				c.Unhold()
			})
			return true
		}
		p := w.peer(w.pipe(), uasc.PolicyNone, uasc.ModeNone).connect()
		var all []byte
		for i := range uint32(50) {
			all = append(all, p.seal(i+1, []byte("x"))...)
		}
		go p.write(all)
		start := time.Now()
		for range 50 {
			p.answer()
		}
		if took := time.Since(start); most != 5 || took != 10*time.Second {
			t.Errorf("%d in flight at once, %v for all", most, took)
		}
	})
}

type raw []byte

func (r raw) AppendTo(dst []byte) []byte { return append(dst, r...) }

// OPN requests that do not fit the channel (threat S9).
func TestThreat_S9_RefusedOpen(t *testing.T) {
	w := newWorld(t, Limits{})
	address := w.listen()
	secure := suite{uasc.Basic256Sha256, uasc.ModeSign}
	for name, c := range map[string]struct {
		live bool
		do   func(p *peer)
		code ua.StatusCode
	}{
		"renew on a fresh connection": {false, func(p *peer) {
			p.write(p.sealOpen(ua.SecurityTokenRequestTypeRenew, p.policy.Nonce(), 0))
		}, ua.BadRequestTypeInvalid},
		"renew of another channel": {true, func(p *peer) {
			p.id++
			p.write(p.sealOpen(ua.SecurityTokenRequestTypeRenew, p.policy.Nonce(), 0))
		}, ua.BadTcpSecureChannelUnknown},
		"second issue": {true, func(p *peer) {
			p.write(p.sealOpen(ua.SecurityTokenRequestTypeIssue, p.policy.Nonce(), 0))
		}, ua.BadRequestTypeInvalid},
		"unknown request type": {false, func(p *peer) {
			p.write(p.sealOpen(7, p.policy.Nonce(), 0))
		}, ua.BadRequestTypeInvalid},
		"mode 99": {false, func(p *peer) {
			p.mode = 99
			p.write(p.sealOpen(ua.SecurityTokenRequestTypeIssue, p.policy.Nonce(), 0))
		}, ua.BadSecurityModeRejected},
		"mode None": {false, func(p *peer) {
			p.mode = uasc.ModeNone
			p.write(p.sealOpen(ua.SecurityTokenRequestTypeIssue, p.policy.Nonce(), 0))
		}, ua.BadSecurityModeRejected},
		"renew with another mode": {true, func(p *peer) {
			p.mode = uasc.ModeSignAndEncrypt
			p.write(p.sealOpen(ua.SecurityTokenRequestTypeRenew, p.policy.Nonce(), 0))
		}, ua.BadSecurityModeRejected},
		"short nonce": {false, func(p *peer) {
			p.write(p.sealOpen(ua.SecurityTokenRequestTypeIssue, []byte{1, 2, 3}, 0))
		}, ua.BadNonceInvalid},
		"server's own certificate": {false, func(p *peer) {
			p.own = w.store
			p.write(p.sealOpen(ua.SecurityTokenRequestTypeIssue, p.policy.Nonce(), 0))
		}, ua.BadSecurityChecksFailed},
	} {
		t.Run(name, func(t *testing.T) {
			p := w.peer(dial(t, address), secure.policy, secure.mode)
			if c.live {
				p.connect()
			} else {
				p.hello()
			}
			c.do(p)
			if code := p.refusal(); code != c.code {
				t.Errorf("refused with %v, want %v", code, c.code)
			}
		})
	}
}

// A tampered chunk ends the channel with the one answer that tells nothing
// (threat S8).
func TestThreat_S8_TamperedChunk(t *testing.T) {
	w := newWorld(t, Limits{})
	address := w.listen()
	for _, at := range []int{24, 40, -1, -33} {
		p := w.peer(dial(t, address), uasc.Basic256Sha256, uasc.ModeSignAndEncrypt).connect()
		chunk := p.seal(1, make([]byte, 100))
		if at < 0 {
			at += len(chunk)
		}
		chunk[at] ^= 0x40
		p.write(chunk)
		if code := p.refusal(); code != ua.BadSecurityChecksFailed {
			t.Errorf("byte %d: %v", at, code)
		}
	}
}

// One request after another allocates nothing, in either direction.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("pools drop things under the race detector")
	}
	w := newWorld(t, Limits{})
	address := w.listen()
	for _, s := range []suite{{uasc.PolicyNone, uasc.ModeNone}, {uasc.Basic256Sha256, uasc.ModeSignAndEncrypt}} {
		p := w.peer(dial(t, address), s.policy, s.mode).connect()
		request := make([]byte, 0, 1024)
		in := make([]byte, 1024)
		body := make([]byte, 60)
		round := func() {
			dst, mark := p.layout.Begin(request[:0])
			dst, _ = p.layout.End(append(dst, body...), mark, uasc.TypeMessage, 5)
			p.sealer.SealAll(dst)
			p.conn.Write(dst)
			for got := 0; ; {
				n, err := p.conn.Read(in[got:])
				if err != nil {
					t.Fatal(err)
				}
				if got += n; got >= 8 && got == int(binary.LittleEndian.Uint32(in[4:])) {
					if _, err := p.opener.Open(in[:got]); err != nil {
						t.Fatal(err)
					}
					return
				}
			}
		}
		if n := testing.AllocsPerRun(500, round); n > 0 {
			t.Errorf("%v: %v allocations per request", s, n)
		}
	}
}
