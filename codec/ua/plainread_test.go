package ua

import (
	"testing"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/internal/fuzzguard"
)

// plainSeeds are ReadValueIds of the plain shape, and of shapes near it.
func plainSeeds() []ReadValueID {
	return []ReadValueID{
		{NodeID: NumericID(0, 85), AttributeID: AttributeIDValue},
		{NodeID: NumericID(1, 1001), AttributeID: AttributeIDValue},
		{NodeID: NumericID(300, 70_000), AttributeID: AttributeIDValue},
		{NodeID: NumericID(0, 0), AttributeID: AttributeIDValue},
		{NodeID: NumericID(1, 1001), AttributeID: AttributeIDDataType},
		{NodeID: NumericID(1, 1001), AttributeID: 13 + 1<<24},
		{NodeID: NumericID(1, 1001), AttributeID: AttributeIDValue, IndexRange: "1"},
		{NodeID: NumericID(1, 1001), AttributeID: AttributeIDValue, DataEncoding: QualifiedName{Name: "Default Binary"}},
		{NodeID: NumericID(1, 1001), AttributeID: AttributeIDValue, DataEncoding: QualifiedName{NamespaceIndex: 1}},
		{NodeID: StringID(1, "a"), AttributeID: AttributeIDValue},
		{NodeID: GUIDID(1, Guid{1}), AttributeID: AttributeIDValue},
		{NodeID: OpaqueID(1, []byte{1}), AttributeID: AttributeIDValue},
	}
}

// comparePlain checks that PlainRead says what DecodeFrom says, and of nothing
// else that it is plain.
func comparePlain(t *testing.T, b []byte) (plain bool) {
	t.Helper()
	var d codec.Decoder
	d.Reset(b, nil)
	var full ReadValueID
	full.DecodeFrom(&d)
	ns, id, size := PlainRead(b)
	if size == 0 {
		return false
	}
	want := ReadValueID{NodeID: NumericID(ns, id), AttributeID: AttributeIDValue}
	if d.Err() != nil || d.Pos() != size || full != want {
		t.Errorf("% x: plain ns=%d;i=%d in %d bytes; decoded %+v in %d, %v", b, ns, id, size, full, d.Pos(), d.Err())
	}
	return true
}

func TestPlainReadIsTheWholeReadValueID(t *testing.T) {
	for i, op := range plainSeeds() {
		b := op.AppendTo(nil)
		if plain := comparePlain(t, b); plain != (i < 4) {
			t.Errorf("%+v: plain %v", op, plain)
		}
		if comparePlain(t, append(b, 1, 2, 3)) != (i < 4) {
			t.Errorf("%+v: bytes behind it matter", op)
		}
		for n := range b {
			if comparePlain(t, b[:n]) {
				t.Errorf("%+v cut to %d bytes is plain", op, n)
			}
		}
		// No byte of what is fixed may be another one.
		for n := range b {
			for bit := range 8 {
				b[n] ^= 1 << bit
				comparePlain(t, b)
				b[n] ^= 1 << bit
			}
		}
	}
}

func FuzzPlainRead(f *testing.F) {
	for _, op := range plainSeeds() {
		f.Add(op.AppendTo(nil))
	}
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, b []byte) { comparePlain(t, b) }))
}

// A Number is written like the DataValue that it stands for.
func TestNumberIsADataValue(t *testing.T) {
	for _, value := range []Variant{
		VariantOf(true), VariantOf(int8(-1)), VariantOf(uint8(1)), VariantOf(int16(-1)), VariantOf(uint16(1)),
		VariantOf(int32(-1)), VariantOf(uint32(1)), VariantOf(int64(-1)), VariantOf(uint64(1)),
		VariantOf(float32(1)), VariantOf(1.5), VariantOf(DateTime(9)), VariantOf(BadTimeout),
	} {
		for _, status := range []StatusCode{Good, BadTimeout} {
			for _, source := range []DateTime{0, 7} {
				for _, picoseconds := range []uint16{0, 11} {
					for _, server := range []DateTime{0, 8} {
						dv := DataValue{
							Value: value, Status: status,
							SourceTimestamp: source, SourcePicoseconds: picoseconds, ServerTimestamp: server,
						}
						n, ok := dv.Number()
						if !ok {
							t.Fatalf("%+v is no number", dv)
						}
						var b [MaxNumberSize]byte
						got := b[:n.Put(&b, server)]
						// A slice without room takes the general way.
						if want := dv.AppendTo(make([]byte, 0, 1)); string(got) != string(want) {
							t.Errorf("%+v: % x, want % x", dv, got, want)
						}
						if !n.Value().Equal(dv.Value) || n.Status() != status || n.SourceTimestamp != source || n.SourcePicoseconds() != picoseconds {
							t.Errorf("%+v has become %+v", dv, n)
						}
					}
				}
			}
		}
	}
	for _, value := range []Variant{VariantOf(""), SliceVariant([]int32{1}), VariantOf(Guid{}), VariantOf(NodeID{}), {}} {
		if _, ok := (&DataValue{Value: value}).Number(); ok {
			t.Errorf("%v is a number", value)
		}
	}
}
