package ua

import (
	"bytes"
	"testing"
)

// Head, memory and tail are the encoding of an array of fixed-size elements, of
// one dimension or more, and nothing else has a memory.
func TestMemoryOfArraysIsTheirEncoding(t *testing.T) {
	matrix, err := MatrixVariant([]float64{1, 2, 3, 4, 5, 6.5}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []Variant{
		SliceVariant([]bool{true, false}), SliceVariant([]int8{-1}), SliceVariant([]uint8{}), SliceVariant([]int16{-2, 3}),
		SliceVariant([]uint16{7}), SliceVariant([]int32{1 << 30, -5}), SliceVariant([]uint32{1, 2, 3}), SliceVariant([]int64{-1 << 40}),
		SliceVariant([]uint64{1}), SliceVariant([]float32{1.5}), SliceVariant([]float64{2.5, 0}), SliceVariant([]DateTime{1 << 50}),
		SliceVariant([]StatusCode{BadTimeout, Good}), matrix,
	} {
		b := v.Memory()
		if b == nil {
			t.Errorf("%v has no memory", v.Type())
			continue
		}
		got := v.AppendArrayTail(append(v.AppendArrayHead(nil), b...))
		if want := v.AppendTo(nil); !bytes.Equal(got, want) {
			t.Errorf("%v: % x, want % x", v.Type(), got, want)
		}
	}
	for _, v := range []Variant{
		{},
		VariantOf(int32(1)), VariantOf("text"), VariantOf([]byte{1}), SliceVariant([]string{"a"}), SliceVariant([]Guid{{}}),
		SliceVariant([][]byte{{1}}), SliceVariant[int32](nil),
	} {
		if v.Memory() != nil {
			t.Errorf("%v (array %v) has a memory", v.Type(), v.IsArray())
		}
	}
}
