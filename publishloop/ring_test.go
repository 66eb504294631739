package publishloop

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uahive/uahive/codec/ua"
)

// A queue that has grown with small values does not hold as many large ones, and
// texts count wherever they stand.
func TestThreat_V6_QueueBytes(t *testing.T) {
	const limit = 1 << 20
	text := strings.Repeat("x", 100_000)
	for name, large := range map[string]ua.Variant{
		"text": ua.VariantOf(text), "bytes": ua.VariantOf([]byte(text)), "texts": ua.SliceVariant([]string{text}),
		"variants": ua.SliceVariant([]ua.Variant{ua.VariantOf(text)}), "node id": ua.VariantOf(ua.StringID(1, text)),
		"structure": ua.VariantOf(ua.ObjectOf(&ua.EUInformation{NamespaceURI: text})),
		"opaque":    ua.VariantOf(ua.ExtensionObject{TypeID: ua.NumericID(2, 1), Encoding: 1, Raw: []byte(text)}),
		"numbers":   ua.SliceVariant(make([]float64, 100_000/8)),
	} {
		for _, discardOldest := range []bool{true, false} {
			var (
				r     ring
				total atomic.Int64
			)
			for range 1000 {
				r.push(&ua.DataValue{Value: ua.VariantOf(int32(1))}, 1000, discardOldest, limit)
				r.tell(&total)
			}
			if r.count != 1000 {
				t.Fatalf("%d small values are kept", r.count)
			}
			lost := 0
			for range 1000 {
				if r.push(&ua.DataValue{Value: large}, 1000, discardOldest, limit) {
					lost++
				}
				r.tell(&total)
			}
			held := 0
			for i := range r.count {
				held += roughSize(&r.at(i).Value)
			}
			if held != r.bytes || held > limit+200_000 || lost == 0 || r.count < 2 {
				t.Errorf("%s: %d values hold %d bytes, %d are counted, %d were lost", name, r.count, held, r.bytes, lost)
			}
			if n := int(total.Load()); n < held-tellFrom || n > held+tellFrom {
				t.Errorf("%s: the total says %d, %d are held", name, n, held)
			}
			if discardOldest && r.at(0).Status == ua.Good {
				t.Errorf("%s: the oldest value does not say that others were lost", name)
			}
			var dv ua.DataValue
			for r.pop(&dv) {
				r.tell(&total)
			}
			if r.bytes != 0 || total.Load() != 0 {
				t.Errorf("%s: %d bytes of nothing, %d in total", name, r.bytes, total.Load())
			}
		}
	}
}

// A value that is put back is not lost because others came meanwhile, unless the
// queue is full.
func TestRingPutBack(t *testing.T) {
	value := func(n int) *ua.DataValue { return &ua.DataValue{Value: ua.VariantOf(int32(n))} }
	for _, size := range []int{2, 3, 8} {
		var r ring
		r.push(value(1), size, true, 1<<20)
		r.push(value(2), size, true, 1<<20)
		var dv ua.DataValue
		r.pop(&dv)
		r.push(value(3), size, true, 1<<20)
		r.unpop(&dv, size)
		want := []int32{1, 2, 3}
		if size == 2 {
			want = want[1:]
		}
		for _, n := range want {
			if !r.pop(&dv) || !dv.Value.Equal(ua.VariantOf(n)) {
				t.Errorf("size %d: %v, want %d", size, dv.Value, n)
			}
		}
		if r.pop(&dv) || r.bytes != 0 {
			t.Errorf("size %d: more values, %d bytes", size, r.bytes)
		}
	}
}
