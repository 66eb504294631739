package addrspace

import (
	"sync"
	"testing"

	"github.com/uahive/uahive/codec/ua"
)

// Value, status and timestamps that a Read sees are those of one store, however
// many store and read at the same time (Part 4, 7.11.1).
func TestNumbersAreNotTorn(t *testing.T) {
	v := variable(t, newSpace(t), "Number", ua.Variant{})
	// All parts of a store follow from its number, which is no Int32 for half of them.
	stored := func(k int) ua.DataValue {
		dv := ua.DataValue{
			Value: ua.VariantOf(int32(k)), Status: ua.StatusCode(uint32(k) << 16),
			SourceTimestamp: ua.DateTime(k + 1), SourcePicoseconds: uint16(k & 0xfff),
		}
		if k%2 == 1 {
			dv.Value = ua.VariantOf(float64(k))
		}
		return dv
	}
	v.Store(stored(0))
	const writers, rounds = 2, 50_000
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		writing.Go(func() {
			for k := w; k < rounds; k += writers {
				v.Store(stored(k))
			}
		})
	}
	check := func(dv ua.DataValue) bool { return dv.Equal(stored(int(dv.SourceTimestamp) - 1)) }
	for range 2 {
		reading.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for range 16 {
					n, ok := v.LoadNumber()
					if !ok {
						continue
					}
					dv := ua.DataValue{
						Value: n.Value(), Status: n.Status(),
						SourceTimestamp: n.SourceTimestamp, SourcePicoseconds: n.SourcePicoseconds(),
					}
					if !check(dv) {
						t.Errorf("a torn number: %+v", dv)
						return
					}
				}
				if dv := v.Load(); !check(dv) {
					t.Errorf("a torn value: %+v", dv)
					return
				}
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	if n, ok := v.LoadNumber(); !ok || int(n.SourceTimestamp) < rounds-writers {
		t.Errorf("last number %+v, %v", n, ok)
	}
}

// While somebody stores, a number is not read without the lock.
func TestNumberIsNotReadInAStore(t *testing.T) {
	v := variable(t, newSpace(t), "Number", ua.VariantOf(int32(1)))
	v.seq.Add(1)
	if n, ok := v.LoadNumber(); ok {
		t.Errorf("%+v is read while it is stored", n)
	}
	v.seq.Add(1)
	if _, ok := v.LoadNumber(); !ok {
		t.Error("no number after the store")
	}
}

// LoadNumber leaves to others what is no number, and what not everybody may read.
func TestLoadNumberKnowsItsLimits(t *testing.T) {
	v := variable(t, newSpace(t), "Number", ua.Variant{})
	store := func(value ua.Variant) { v.Store(ua.DataValue{Value: value}) }
	expect := func(what string, want bool) {
		t.Helper()
		if _, ok := v.LoadNumber(); ok != want {
			t.Errorf("%s: %v", what, ok)
		}
	}
	for _, value := range []ua.Variant{
		ua.VariantOf(true), ua.VariantOf(int8(-1)), ua.VariantOf(uint8(1)), ua.VariantOf(int16(-1)), ua.VariantOf(uint16(1)),
		ua.VariantOf(int32(-1)), ua.VariantOf(uint32(1)), ua.VariantOf(int64(-1)), ua.VariantOf(uint64(1)),
		ua.VariantOf(float32(1)), ua.VariantOf(1.5), ua.VariantOf(ua.DateTime(1)), ua.VariantOf(ua.BadTimeout),
	} {
		store(value)
		expect(v.Load().Value.Type().String(), true)
		if n, _ := v.LoadNumber(); !n.Value().Equal(value) {
			t.Errorf("%v is read as %v", value, n.Value())
		}
	}
	for _, value := range []ua.Variant{
		ua.VariantOf("text"), ua.SliceVariant([]int32{1}), ua.VariantOf(ua.Guid{}), ua.VariantOf(ua.NumericID(1, 1)), ua.VariantOf([]byte{1}),
	} {
		store(value)
		expect(v.Load().Value.Type().String(), false)
	}
	store(ua.VariantOf(int32(1)))
	expect("a number again", true)
	v.SetSource(&Source{Read: nil})
	expect("with a source", false)
	v.SetSource(nil)
	expect("without a source", true)
	v.Store(ua.DataValue{Status: ua.BadNoCommunication})
	expect("no value", false)
}

// One variable that some cores write and others read.
func BenchmarkLoadNumber(b *testing.B) {
	v := variable(b, newSpace(b), "Number", ua.VariantOf(int32(1)))
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, ok := v.LoadNumber(); !ok {
					b.Error("no number")
				}
			}
		})
	})
	b.Run("read and write", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				if i%8 == 0 {
					v.Write(&ua.DataValue{Value: ua.Int32Variant(int32(i))}, nil)
				} else if _, ok := v.LoadNumber(); !ok {
					v.Load()
				}
			}
		})
	})
}

func BenchmarkWriteNumber(b *testing.B) {
	v := variable(b, newSpace(b), "Number", ua.VariantOf(int32(1)))
	b.ReportAllocs()
	for i := int32(0); b.Loop(); i++ {
		if code := v.Write(&ua.DataValue{Value: ua.Int32Variant(i)}, nil); code != ua.Good {
			b.Fatal(code)
		}
	}
}
