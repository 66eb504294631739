package codec

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// roundTrip compares the block copy with the element by element encoding.
func roundTrip[T Fixed](t *testing.T, s []T, one func(dst []byte, v T) []byte) {
	t.Helper()
	want := AppendInt32(nil, int32(len(s)))
	for _, v := range s {
		want = one(want, v)
	}
	if s == nil {
		want = AppendInt32(nil, -1)
	}
	got := AppendSlice(nil, s)
	if !bytes.Equal(got, want) {
		t.Errorf("%T: % x, want % x", s, got, want)
	}
	// At an odd offset, so that nothing depends on alignment.
	d := NewDecoder(append([]byte{9}, got...), nil)
	d.Uint8()
	back := ReadSlice[T](d, nil)
	if d.Err() != nil || d.Remaining() != 0 || !slices.Equal(back, s) || (back == nil) != (s == nil) {
		t.Errorf("%T: read %v, wrote %v, %v", s, back, s, d.Err())
	}
}

func TestSlices(t *testing.T) {
	roundTrip(t, []bool{true, false, true}, AppendBool)
	roundTrip(t, []int8{-1, 1}, AppendInt8)
	roundTrip(t, []uint8{0, 255}, AppendUint8)
	roundTrip(t, []int16{-2, 2}, AppendInt16)
	roundTrip(t, []uint16{0, 513}, AppendUint16)
	roundTrip(t, []int32{math.MinInt32, 5}, AppendInt32)
	roundTrip(t, []uint32{math.MaxUint32}, AppendUint32)
	roundTrip(t, []int64{math.MinInt64, 1}, AppendInt64)
	roundTrip(t, []uint64{math.MaxUint64}, AppendUint64)
	roundTrip(t, []float32{-6.5, math.MaxFloat32}, AppendFloat32)
	roundTrip(t, []float64{1, math.Inf(-1)}, AppendFloat64)
	roundTrip(t, []int32(nil), AppendInt32)
	roundTrip(t, []int32{}, AppendInt32)
	roundTrip(t, []bool{}, AppendBool)
	type named int32
	roundTrip(t, []named{1, 2}, func(dst []byte, v named) []byte { return AppendInt32(dst, int32(v)) })
}

func TestSlicesRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		roundTrip(t, rapid.SliceOf(rapid.Uint64()).Draw(rt, "numbers"), AppendUint64)
		roundTrip(t, rapid.SliceOf(rapid.Bool()).Draw(rt, "bools"), AppendBool)
	})
}

// Any byte but 0 is true, and a Go bool must still be 0 or 1 in memory.
func TestReadSliceOfBools(t *testing.T) {
	d := NewDecoder([]byte{4, 0, 0, 0, 0, 1, 2, 255}, nil)
	got := ReadSlice[bool](d, nil)
	if !slices.Equal(got, []bool{false, true, true, true}) || !bytes.Equal(AppendElements(nil, got), []byte{0, 1, 1, 1}) {
		t.Errorf("%v", got)
	}
}

func TestReadSliceReusesMemory(t *testing.T) {
	raw := AppendSlice(nil, []int32{1, 2, 3})
	var d Decoder
	dst := make([]int32, 5, 8)
	if n := testing.AllocsPerRun(10, func() {
		d.Reset(raw, nil)
		dst = ReadSlice(&d, dst)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if !slices.Equal(dst, []int32{1, 2, 3}) || cap(dst) != 8 {
		t.Errorf("%v", dst)
	}
	d.Reset(AppendSlice(nil, []int32(nil)), nil)
	if dst = ReadSlice(&d, dst); dst == nil || len(dst) != 0 {
		t.Errorf("null into memory: %v", dst)
	}
	d.Reset(raw[:10], nil)
	if dst = ReadSlice(&d, dst); len(dst) != 0 || d.Err() != ErrDecoding {
		t.Errorf("cut array: %v, %v", dst, d.Err())
	}
}

func TestSwap(t *testing.T) {
	b := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	swap(b, 1)
	swap(b, 4)
	if !bytes.Equal(b, []byte{4, 3, 2, 1, 8, 7, 6, 5}) {
		t.Errorf("% x", b)
	}
}
