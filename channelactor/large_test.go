package channelactor

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// sharing answers each request with a large value that is sent from where it
// lies, and its own body around it.
type sharing struct {
	value []byte
	*echo
}

func (s *sharing) Serve(b *Batch, req Request) {
	dst := append(b.Begin(), req.Body...)
	b.Share(dst, len(dst), s.value)
	dst = append(dst, "middle"...)
	b.Share(dst, len(dst), s.value[:100_000])
	if err := b.End(append(dst, req.Body...), req.ID); err != nil {
		if err := b.End(append(b.Begin(), err.Error()...), req.ID); err != nil {
			panic(err)
		}
	}
}

func (s *sharing) answer(request []byte) []byte {
	return bytes.Join([][]byte{request, s.value, []byte("middle"), s.value[:100_000], request}, nil)
}

func newSharing(size int) *sharing {
	s := &sharing{value: make([]byte, size), echo: new(echo)}
	for i := range s.value {
		s.value[i] = byte(i * 7 >> 3)
	}
	return s
}

// Large messages leave whole and in their order among small ones, under every
// policy, also to a peer that asks for many before it reads any.
func TestLargeMessagesKeepTheirOrder(t *testing.T) {
	w := newWorld(t, Limits{})
	service := newSharing(1_500_000)
	small := w.echo
	w.config.Service = turns{service, small}
	address := w.listen()
	for _, s := range suites() {
		t.Run(s.String(), func(t *testing.T) {
			p := w.peer(dial(t, address), s.policy, s.mode).connect()
			n := uint32(12)
			if s.mode == uasc.ModeNone {
				n = 90 // whose answers are more than may wait for a peer
			}
			var out []byte
			for i := range n {
				out = append(out, p.seal(i, bytes.Repeat([]byte{byte(i)}, 300))...)
			}
			p.write(out)
			for i := range n {
				id, body, _ := p.answer()
				request := bytes.Repeat([]byte{byte(i)}, 300)
				want := request
				if i%3 == 1 {
					want = service.answer(request)
				}
				if id != i || !bytes.Equal(body, want) {
					t.Fatalf("answer %d of %d bytes, want %d of %d", id, len(body), i, len(want))
				}
			}
		})
	}
}

// turns gives every third request to one service and the others to another.
type turns struct {
	large *sharing
	*echo
}

func (s turns) Serve(b *Batch, req Request) {
	if req.ID%3 == 1 {
		s.large.Serve(b, req)
		return
	}
	s.echo.Serve(b, req)
}

// What is larger than the peer takes is refused before the first byte of it
// leaves, and the channel goes on.
func TestLargeMessageBeyondTheLimit(t *testing.T) {
	w := newWorld(t, Limits{MaxMessage: 1 << 20})
	w.config.Service = newSharing(1 << 20)
	p := w.peer(dial(t, w.listen()), uasc.PolicyNone, uasc.ModeNone).connect()
	for i := range uint32(3) {
		p.write(p.seal(i, []byte("x")))
		if id, body, _ := p.answer(); id != i || string(body) != ua.BadResponseTooLarge.Error() {
			t.Fatalf("answer %d of %d bytes", id, len(body))
		}
	}
}

// A peer that asks and does not read holds one window and what its requests
// refer to, no more than the queue may: the rest of its requests is not read. A
// connection in memory takes nothing without a reader, as the worst socket does.
func TestLargeMessagesForASlowPeerAreBounded(t *testing.T) {
	for _, s := range []suite{{uasc.PolicyNone, uasc.ModeNone}, {uasc.Basic256Sha256, uasc.ModeSignAndEncrypt}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, Limits{})
			service := newSharing(1_500_000)
			w.config.Service = service
			conn := w.pipe()
			p := w.peer(conn, s.policy, s.mode).connect()
			go func() {
				for i := range uint32(50) {
					if _, err := conn.Write(p.seal(i, []byte("x"))); err != nil {
						return
					}
				}
			}()
			synctest.Wait()
			service.mu.Lock()
			c := service.last
			service.mu.Unlock()
			if c == nil {
				for _, c = range w.admission.channels() {
				}
			}
			// One answer is refused room for the next.
			if n := c.queued.Load(); n < 1_600_000 || n > 2*1_600_000+4*windowBytes {
				t.Errorf("%v: %d bytes wait", s, n)
			}
			// After the write time-out it is closed, and nothing is left.
			time.Sleep(time.Minute)
			synctest.Wait()
			if n := c.queued.Load(); n != 0 {
				t.Errorf("%v: %d bytes are counted after the end", s, n)
			}
			if n := w.Stats(); n.SlowClosed != 1 {
				t.Errorf("%v: %+v", s, n)
			}
		})
	}
}

// A peer that reads little by little gets all of it: each window has the write
// time-out for itself.
func TestLargeMessageForASlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Limits{})
		service := newSharing(3_400_000)
		w.config.Service = service
		conn := w.pipe()
		p := w.peer(slow{conn}, uasc.Basic256Sha256, uasc.ModeSignAndEncrypt).connect()
		p.write(p.seal(1, []byte("x")))
		start := time.Now()
		if id, body, _ := p.answer(); id != 1 || !bytes.Equal(body, service.answer([]byte("x"))) {
			t.Fatalf("answer %d of %d bytes", id, len(body))
		}
		if took := time.Since(start); took < 20*time.Second {
			t.Fatalf("took %v: shorter than two write time-outs proves nothing", took)
		}
	})
}

// slow is a connection over which large reads take a while.
type slow struct{ net.Conn }

func (s slow) Read(b []byte) (int, error) {
	if len(b) > 10_000 {
		time.Sleep(400 * time.Millisecond)
	}
	return io.ReadFull(s.Conn, b)
}

// Large answers allocate nothing: neither what they are made of nor the windows.
func TestLargeMessagesAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("pools drop things under the race detector")
	}
	w := newWorld(t, Limits{})
	w.config.Service = newSharing(2_000_000)
	address := w.listen()
	for _, s := range []suite{{uasc.PolicyNone, uasc.ModeNone}, {uasc.Basic256Sha256, uasc.ModeSignAndEncrypt}} {
		p := w.peer(dial(t, address), s.policy, s.mode).connect()
		in, request := make([]byte, 128<<10), make([]byte, 0, 1024)
		round := func() {
			dst, mark := p.layout.Begin(request[:0])
			dst, _ = p.layout.End(append(dst, "request"...), mark, uasc.TypeMessage, 5)
			p.sealer.SealAll(dst)
			p.conn.Write(dst)
			for last := false; !last; {
				if _, err := io.ReadFull(p.conn, in[:8]); err != nil {
					t.Fatal(err)
				}
				h, err := uasc.ParseHeader(in, 1<<17)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(p.conn, in[8:h.Size]); err != nil {
					t.Fatal(err)
				}
				last = h.Chunk == uasc.ChunkFinal
			}
		}
		for range 5 {
			round()
		}
		if n := testing.AllocsPerRun(50, round); n > 0 {
			t.Errorf("%v: %v allocations for each answer", s, n)
		}
	}
}
