package channelactor

import (
	"encoding/binary"
	"io"
	"testing"

	"github.com/uahive/uahive/codec/uasc"
)

// Many requests in flight are answered together, and the memory of their
// answers comes from the pools and goes back there: what it grew into by
// itself would be garbage after each batch.
func TestBatchesOfManyAnswersAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("pools drop things under the race detector")
	}
	const requests = 10
	w := newWorld(t, Limits{})
	address := w.listen()
	for _, s := range []suite{{uasc.PolicyNone, uasc.ModeNone}, {uasc.Basic256Sha256, uasc.ModeSignAndEncrypt}} {
		for _, sizes := range [][]int{{3000}, {100, 5000}, {60, 60, 20_000}} {
			p := w.peer(dial(t, address), s.policy, s.mode).connect()
			var out []byte
			in, body := make([]byte, 256<<10), make([]byte, 64<<10)
			round := func() {
				out = out[:0]
				for i := range requests {
					dst, mark := p.layout.Begin(out)
					out, _ = p.layout.End(append(dst, body[:sizes[i%len(sizes)]]...), mark, uasc.TypeMessage, uint32(i))
				}
				p.sealer.SealAll(out)
				p.conn.Write(out)
				for range requests {
					if _, err := io.ReadFull(p.conn, in[:8]); err != nil {
						t.Fatal(err)
					}
					size := binary.LittleEndian.Uint32(in[4:])
					if _, err := io.ReadFull(p.conn, in[8:size]); err != nil {
						t.Fatal(err)
					}
					if _, err := p.opener.Open(in[:size]); err != nil {
						t.Fatal(err)
					}
				}
			}
			for range 20 {
				round()
			}
			if n := testing.AllocsPerRun(500, round); n > 0 {
				t.Errorf("%v, answers of %v bytes: %v allocations for each batch", s, sizes, n)
			}
		}
	}
}
