package channelactor

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/uahive/uahive/codec/uasc"
)

// A request of the size of a small Read goes to a service that does nothing and
// its answer comes back, over TCP. One in flight is the price of waking each
// other up; a hundred show what is left of it when requests travel together.
// The client is in the figures: it seals its requests and does not open answers.
func BenchmarkRoundTrip(b *testing.B) {
	for _, s := range []suite{{uasc.PolicyNone, uasc.ModeNone}, {uasc.Basic256Sha256, uasc.ModeSignAndEncrypt}} {
		for _, inFlight := range []int{1, 100} {
			b.Run(fmt.Sprintf("%v/%d", s, inFlight), func(b *testing.B) { benchmarkRoundTrip(b, s, inFlight) })
		}
	}
}

func benchmarkRoundTrip(b *testing.B, s suite, inFlight int) {
	w := newWorld(b, Limits{})
	p := w.peer(dial(b, w.listen()), s.policy, s.mode).connect()
	body := make([]byte, 104)
	out, in := make([]byte, 0, 64<<10), make([]byte, 64<<10)
	b.ReportAllocs()
	for n := 0; n < b.N; n += inFlight {
		out = out[:0]
		for i := range inFlight {
			dst, mark := p.layout.Begin(out)
			out, _ = p.layout.End(append(dst, body...), mark, uasc.TypeMessage, uint32(i))
		}
		if err := p.sealer.SealAll(out); err != nil {
			b.Fatal(err)
		}
		p.write(out)
		for answers, have := 0, 0; answers < inFlight; {
			n, err := p.conn.Read(in[have:])
			if err != nil {
				b.Fatal(err)
			}
			have += n
			start := 0
			for have-start >= headerSize && have-start >= int(binary.LittleEndian.Uint32(in[start+4:])) {
				start += int(binary.LittleEndian.Uint32(in[start+4:]))
				answers++
			}
			have = copy(in, in[start:have])
		}
	}
}
