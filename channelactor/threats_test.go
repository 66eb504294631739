package channelactor

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// Answers that come late, from the pool or from subscriptions, do not pile up
// for a peer that does not read, though its requests were taken long ago.
func TestThreat_T7_LateAnswersAreBounded(t *testing.T) {
	w := newWorld(t, Limits{MaxMessage: 1 << 20, MaxSendQueueBytes: 16 << 20})
	answers := make(chan error, 100)
	w.echo.hold = func(c *Channel, req Request) bool {
		go func() {
			for range 100 {
				err := c.Respond(req.ID, raw(make([]byte, 1<<20-100)))
				if queued := c.queued.Load(); queued > 16<<20 {
					t.Errorf("%d bytes queued", queued)
				}
				answers <- err
			}
		}()
		return true
	}
	p := w.peer(dial(t, w.listen()), uasc.PolicyNone, uasc.ModeNone).connect()
	p.write(p.seal(1, []byte("x")))
	refused := 0
	for range 100 {
		if <-answers != nil {
			refused++
		}
	}
	if refused == 0 || w.Stats().SlowClosed != 1 {
		t.Errorf("%d answers refused, %+v", refused, w.Stats())
	}
}

// A reader that waits for its peer goes on when another than the actor has sent
// what was queued.
func TestThreat_T7_ReaderWakesWithoutTheActor(t *testing.T) {
	w := newWorld(t, Limits{SendQueueBytes: 10})
	c := &Channel{server: w.Server}
	c.queued.Store(20)
	went := make(chan bool)
	go func() { went <- c.awaitDrain() }()
	c.left(15)
	select {
	case ok := <-went:
		if !ok {
			t.Error("the channel ended")
		}
	case <-time.After(10 * time.Second):
		t.Error("the reader still waits")
	}
}

// What a peer finds that makes the code panic ends its own channel, not the process.
func TestThreat_D2_PanicEndsOneChannel(t *testing.T) {
	w := newWorld(t, Limits{})
	w.echo.hold = func(_ *Channel, req Request) bool {
		if string(req.Body) == "panic" {
			panic("found one")
		}
		return false
	}
	address := w.listen()
	bad := w.peer(dial(t, address), uasc.PolicyNone, uasc.ModeNone).connect()
	good := w.peer(dial(t, address), uasc.PolicyNone, uasc.ModeNone).connect()
	bad.write(bad.seal(1, []byte("panic")))
	if code := bad.refusal(); code != ua.BadInternalError {
		t.Errorf("refused with %v", code)
	}
	good.write(good.seal(1, []byte("x")))
	good.answer()
	if n := w.Stats().Panics; n != 1 {
		t.Errorf("%d panics counted", n)
	}
}

// Before a session is activated there is no need for large messages.
func TestThreat_S1_StrangersSendSmallMessages(t *testing.T) {
	w := newWorld(t, Limits{UnprovenMessage: 100_000})
	address := w.listen()
	p := w.peer(dial(t, address), uasc.PolicyNone, uasc.ModeNone).connect()
	p.write(p.seal(1, make([]byte, 99_000)))
	p.answer()
	w.echo.last.Acquire()
	p.write(p.seal(2, make([]byte, 500_000)))
	p.answer()
	w.echo.last.Release()
	p.write(p.seal(3, make([]byte, 150_000)))
	if code := p.refusal(); code != ua.BadTcpMessageTooLarge {
		t.Errorf("refused with %v", code)
	}
}

// The beginnings of chunks, whose peers send no more, are held within one budget,
// of which strangers have a half.
func TestThreat_T1_UnfinishedChunksAreBounded(t *testing.T) {
	w := newWorld(t, Limits{MaxMessage: minBuffer, AssemblyBytes: 1 << 20})
	address := w.listen()
	refused := 0
	for range 24 {
		p := w.peer(dial(t, address), uasc.PolicyNone, uasc.ModeNone).connect()
		chunk := p.seal(1, make([]byte, 8000))
		chunk[4], chunk[5], chunk[6] = 0xFF, 0xFF, 0 // 65,535 bytes are announced
		p.write(chunk)
		p.write(make([]byte, 50_000))
		defer p.conn.Close()
	}
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		n := w.Stats()
		if n.AssemblyBytes > 512<<10 {
			t.Fatalf("%d bytes held", n.AssemblyBytes)
		}
		// Eight times 64 KiB fit, or a little less while buffers grow.
		if refused = int(n.RefusedBusy); n.Channels == 24-refused && n.Channels >= 6 && n.Channels <= 8 {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d refused, %+v", refused, w.Stats())
}

// A client that renews twice may use the first of the two new tokens, and the
// server follows it.
func TestThreat_R3_FirstOfTwoRenewals(t *testing.T) {
	w := newWorld(t, Limits{})
	p := w.peer(dial(t, w.listen()), uasc.Basic256Sha256, uasc.ModeSignAndEncrypt).connect()
	first := p.open(ua.SecurityTokenRequestTypeRenew, 60_000)
	second := p.open(ua.SecurityTokenRequestTypeRenew, 60_000)
	for _, token := range []*uasc.Token{first, second} {
		p.use(token)
		p.write(p.seal(1, []byte("x")))
		if _, _, used := p.answer(); used != token.ID {
			t.Errorf("answered with token %d, want %d", used, token.ID)
		}
	}
}

// Peers that do not read do not hold up a shutdown, however much is queued for them.
func TestThreat_R5_ShutdownWithSlowPeers(t *testing.T) {
	w := newWorld(t, Limits{SendQueueBytes: 64 << 20, MaxSendQueueBytes: 64 << 20})
	w.echo.hold = func(c *Channel, req Request) bool {
		for range 10 {
			c.Respond(req.ID, raw(make([]byte, 1<<20)))
		}
		return true
	}
	address := w.listen()
	for range 4 {
		p := w.peer(dial(t, address), uasc.PolicyNone, uasc.ModeNone).connect()
		p.write(p.seal(1, []byte("x")))
		go func() { // reads a little now and then, so that no single write times out
			b := make([]byte, 16<<10)
			for {
				if _, err := p.conn.Read(b); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}()
	}
	for w.Stats().Requests < 4 {
		runtime.Gosched()
	}
	start := time.Now()
	w.Close(ua.BadShutdown)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := w.group.Wait(ctx); err != nil || time.Since(start) > 3*linger {
		t.Errorf("ended after %v: %v", time.Since(start), err)
	}
}

// Many small answers count as the memory that they take.
func TestThreat_T7_SmallAnswersAreBounded(t *testing.T) {
	w := newWorld(t, Limits{MaxSendQueueBytes: 8 << 20})
	most := make(chan int, 1)
	w.echo.hold = func(c *Channel, req Request) bool {
		go func() {
			waiting := 0
			for c.Respond(req.ID, raw(make([]byte, 40))) == nil {
				waiting = max(waiting, c.outbox.len())
			}
			most <- waiting
		}()
		return true
	}
	p := w.peer(dial(t, w.listen()), uasc.PolicyNone, uasc.ModeNone).connect()
	p.write(p.seal(1, []byte("x")))
	if n := <-most; n > 8<<20/narrowSize {
		t.Errorf("%d answers waited, each in %d bytes", n, narrowSize)
	}
	if w.Stats().SlowClosed != 1 {
		t.Errorf("%+v", w.Stats())
	}
}
