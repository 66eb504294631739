package addrspace

import (
	"testing"

	"github.com/uahive/uahive/codec/ua"
)

// What may lie in a receive buffer is copied before it is stored: also a
// ByteString that is written to an array of Byte, and becomes one.
func TestWrittenBytesAreCopied(t *testing.T) {
	s := newSpace(t)
	for name, initial := range map[string]ua.Variant{
		"ByteString": ua.VariantOf([]byte{0}), "Bytes": ua.SliceVariant([]byte{0}),
	} {
		v := variable(t, s, name, initial)
		v.access.Store(uint32(ReadWrite))
		buffer := []byte{1, 2, 3}
		if code := v.WriteDecoded(&ua.DataValue{Value: ua.VariantOf(buffer)}, nil); code != ua.Good {
			t.Fatalf("%s: %v", name, code)
		}
		buffer[0] = 9
		dv := v.Load()
		got, ok := ua.As[[]byte](dv.Value)
		if dv.Value.IsArray() {
			got, ok = dv.Value.Memory(), true
		}
		if !ok || len(got) != 3 || got[0] != 1 {
			t.Errorf("%s: %v is stored", name, got)
		}
	}
}
