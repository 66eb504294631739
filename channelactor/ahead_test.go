//go:build unix

package channelactor

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// A request of foreseen size is what was sent, however its chunks are sized, in
// whatever pieces they arrive, and whatever comes between and behind them.
func TestForeseenRequestsArriveInPlace(t *testing.T) {
	const most = 400_000
	for _, s := range []suite{{uasc.PolicyNone, uasc.ModeNone}, {uasc.Basic256Sha256, uasc.ModeSign}, {uasc.Basic256Sha256, uasc.ModeSignAndEncrypt}} {
		t.Run(s.String(), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			w := newWorld(t, Limits{})
			w.echo.foresee = func([]byte) (int, int) { return most, 3 }
			owned := 0
			w.echo.hold = func(_ *Channel, req Request) bool {
				if req.Owned {
					owned++
				}
				return false
			}
			p := w.peer(w.pair(), s.policy, s.mode).connect()
			for round := range uint32(40) {
				body := make([]byte, 1+random.IntN(most))
				for i := range body {
					body[i] = byte(random.Uint32())
				}
				var sent []byte
				plain := !s.policy.Secure() && round%2 == 1
				if plain {
					sent = p.uneven(random, round+1, body)
				} else {
					sent = p.seal(round+1, body)
				}
				sent = append(sent, p.seal(1000+round, []byte("behind"))...)
				for len(sent) > 0 {
					n := min(1+random.IntN(100_000), len(sent))
					p.write(sent[:n])
					sent = sent[n:]
				}
				if plain {
					p.skipOpen(p.frame())
				}
				if id, got, _ := p.answer(); id != round+1 || !bytes.Equal(got, body) {
					t.Fatalf("request %d: %d bytes came back as %d, changed from %d on", id, len(body), len(got), differ(body, got))
				}
				if id, got, _ := p.answer(); id != 1000+round || string(got) != "behind" {
					t.Fatalf("the request behind: %d, %q", id, got)
				}
			}
			if owned < 20 {
				t.Errorf("only %d requests were received in memory of their own", owned)
			}
		})
	}
}

// A peer that goes away in the middle of a foreseen request leaves nothing.
func TestForeseenRequestIsGivenUp(t *testing.T) {
	w := newWorld(t, Limits{})
	w.echo.foresee = func([]byte) (int, int) { return 300_000, 0 }
	var conns []net.Conn
	for cut := range 8 {
		p := w.peer(w.pair(), uasc.PolicyNone, uasc.ModeNone).connect()
		p.write(p.seal(1, make([]byte, 299_000))[:60_000+cut*30_001])
		conns = append(conns, p.conn)
	}
	for _, c := range conns {
		c.Close()
	}
	// The end of the world looks for what is left behind.
}

// uneven seals a request under no security in chunks of any size, with a renewal
// after the first.
func (p *peer) uneven(random *rand.Rand, requestID uint32, body []byte) (frames []byte) {
	renewed := false
	for {
		n := min(1+random.IntN(65_000), len(body))
		kind := byte(uasc.ChunkIntermediate)
		if n == len(body) {
			kind = uasc.ChunkFinal
		}
		frames = append(frames, 'M', 'S', 'G', kind)
		for _, field := range []uint32{uint32(24 + n), p.id, p.token.ID, p.sealer.NextSequence(), requestID} {
			frames = binary.LittleEndian.AppendUint32(frames, field)
		}
		frames = append(frames, body[:n]...)
		if !renewed {
			frames = append(frames, p.sealOpen(ua.SecurityTokenRequestTypeRenew, nil, 60_000)...)
			renewed = true
		}
		if body = body[n:]; len(body) == 0 {
			return frames
		}
	}
}

func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
