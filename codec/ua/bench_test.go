package ua

import (
	"testing"

	"github.com/uahive/uahive/codec"
)

func BenchmarkDataValueAppend(b *testing.B) {
	dv := DataValue{Value: DoubleVariant(21.5), SourceTimestamp: 1, ServerTimestamp: 2}
	buf := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		buf = dv.AppendTo(buf[:0])
	}
}

func BenchmarkDataValueDecode(b *testing.B) {
	dv := DataValue{Value: DoubleVariant(21.5), SourceTimestamp: 1, ServerTimestamp: 2}
	buf := dv.AppendTo(nil)
	var d codec.Decoder
	b.ReportAllocs()
	for b.Loop() {
		d.Reset(buf, nil)
		dv.DecodeFrom(&d)
	}
}

// readRequest is a Read of ten values as a client would send it.
func readRequest() *ReadRequest {
	r := &ReadRequest{
		RequestHeader: RequestHeader{
			AuthenticationToken: OpaqueID(0, make([]byte, 32)), Timestamp: Now(), RequestHandle: 7, TimeoutHint: 5000,
		},
		TimestampsToReturn: TimestampsToReturnBoth,
	}
	for i := range 10 {
		id := NumericID(2, uint32(1000+i))
		if i%2 == 0 {
			id = StringID(2, "Plant.Press1.Temperature")
		}
		r.NodesToRead = append(r.NodesToRead, ReadValueID{NodeID: id, AttributeID: 13})
	}
	return r
}

func BenchmarkReadRequestDecode(b *testing.B) {
	buf := readRequest().AppendTo(nil)
	var d codec.Decoder
	var r ReadRequest
	d.Alias(true)
	b.ReportAllocs()
	for b.Loop() {
		d.Reset(buf, nil)
		r.DecodeFrom(&d)
	}
	if d.Err() != nil {
		b.Fatal(d.Err())
	}
}

func BenchmarkReadResponseAppend(b *testing.B) {
	r := ReadResponse{ResponseHeader: ResponseHeader{Timestamp: Now(), RequestHandle: 7}}
	for range 10 {
		r.Results = append(r.Results, DataValue{Value: DoubleVariant(21.5), SourceTimestamp: 1, ServerTimestamp: 2})
	}
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buf = r.AppendTo(buf[:0])
	}
}

func BenchmarkVariantArrayDecode(b *testing.B) {
	v := SliceVariant(make([]float64, 10_000))
	buf := v.AppendTo(nil)
	var d codec.Decoder
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		d.Reset(buf, nil)
		v.DecodeFrom(&d)
	}
}

func BenchmarkVariantArrayAppend(b *testing.B) {
	v := SliceVariant(make([]float64, 10_000))
	buf := v.AppendTo(nil)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = v.AppendTo(buf[:0])
	}
}

func BenchmarkVariantString(b *testing.B) {
	v := StringVariant("running")
	buf := v.AppendTo(nil)
	var d codec.Decoder
	d.Alias(true)
	b.ReportAllocs()
	for b.Loop() {
		d.Reset(buf, nil)
		v.DecodeFrom(&d)
		buf = v.AppendTo(buf[:0])
	}
}

func BenchmarkVariantOf(b *testing.B) {
	var v Variant
	x := 21.5
	b.ReportAllocs()
	for b.Loop() {
		v = VariantOf(x)
	}
	_ = v
}

func BenchmarkAs(b *testing.B) {
	v := VariantOf(21.5)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := As[float64](v); !ok {
			b.Fatal("not a float64")
		}
	}
}

func BenchmarkNodeIDHash(b *testing.B) {
	n := NumericID(2, 1000)
	s := StringID(2, "Plant.Press1.Temperature")
	for b.Loop() {
		_ = n.Hash()
		_ = s.Hash()
	}
}

func BenchmarkVariantEqual(b *testing.B) {
	v, o := DoubleVariant(21.5), DoubleVariant(21.5)
	for b.Loop() {
		if !v.Equal(o) {
			b.Fatal("differs")
		}
	}
}
