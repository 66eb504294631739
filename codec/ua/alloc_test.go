package ua

import (
	"testing"

	"github.com/uahive/uahive/codec"
)

func noAllocs(t *testing.T, what string, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(200, f); n != 0 {
		t.Errorf("%s: %v allocations", what, n)
	}
}

// The steady state of a Read allocates nothing: a pooled request is decoded in
// alias mode, and scalars are encoded into a buffer that is large enough.
func TestHotPathDoesNotAllocate(t *testing.T) {
	raw := readRequest().AppendTo(nil)
	var d codec.Decoder
	var request ReadRequest
	d.Alias(true)
	noAllocs(t, "decoding a ReadRequest", func() {
		d.Reset(raw, nil)
		request.DecodeFrom(&d)
	})
	if d.Err() != nil || len(request.NodesToRead) != 10 || request.NodesToRead[2].NodeID.Text() != "Plant.Press1.Temperature" {
		t.Fatalf("decoded %v, %v", request.NodesToRead, d.Err())
	}

	buf := make([]byte, 0, 256)
	for _, v := range []Variant{
		VariantOf(true), VariantOf(int8(1)), VariantOf(uint16(1)), VariantOf(int32(1)), VariantOf(1.5),
		VariantOf(float32(1.5)), VariantOf("text"), VariantOf([]byte("bytes")), VariantOf(DateTime(1)), VariantOf(Good),
		VariantOf(exampleGuid), VariantOf(NumericID(1, 1)), VariantOf(Text("a")), SliceVariant([]float64{1, 2}),
	} {
		dv := DataValue{Value: v, Status: BadDecodingError, SourceTimestamp: 1, ServerTimestamp: 2}
		noAllocs(t, "encoding a DataValue of "+v.Type().String(), func() { buf = dv.AppendTo(buf[:0]) })
		var out DataValue
		if v.Type() == TypeGuid || v.Type() == TypeNodeID || v.Type() == TypeLocalizedText || v.IsArray() {
			continue
		}
		noAllocs(t, "decoding a DataValue of "+v.Type().String(), func() {
			d.Reset(buf, nil)
			out.DecodeFrom(&d)
		})
		noAllocs(t, "comparing DataValues of "+v.Type().String(), func() {
			if !out.Equal(dv) {
				t.Error("not equal")
			}
		})
	}

	table := map[NodeID]int{NumericID(2, 7): 1, StringID(2, "x"): 2}
	noAllocs(t, "a NodeId as a map key", func() {
		if table[NumericID(2, 7)] != 1 || table[StringID(2, "x")] != 2 || StringID(2, "x").Hash() == 0 {
			t.Error("not found")
		}
	})
	noAllocs(t, "making and reading scalars", func() {
		if x, ok := As[float64](VariantOf(2.5)); !ok || x != 2.5 {
			t.Error("lost")
		}
		if x, ok := As[string](VariantOf("s")); !ok || x != "s" {
			t.Error("lost")
		}
	})
}
