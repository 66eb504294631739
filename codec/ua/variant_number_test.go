package ua

import (
	"math"
	"testing"
)

func TestNumberOfVariant(t *testing.T) {
	for _, tt := range []struct {
		v Variant
		n int64
	}{
		{VariantOf(int8(-128)), -128}, {VariantOf(int16(-2)), -2}, {VariantOf(int32(math.MinInt32)), math.MinInt32}, {VariantOf(int64(math.MaxInt64)), math.MaxInt64},
	} {
		if n, ok := tt.v.Int(); !ok || n != tt.n {
			t.Errorf("Int of %v: %d, %v", tt.v.Type(), n, ok)
		}
	}
	for _, tt := range []struct {
		v Variant
		n uint64
	}{
		{VariantOf(uint8(255)), 255}, {VariantOf(uint16(65535)), 65535}, {VariantOf(uint32(7)), 7}, {VariantOf(uint64(math.MaxUint64)), math.MaxUint64},
	} {
		if n, ok := tt.v.Uint(); !ok || n != tt.n {
			t.Errorf("Uint of %v: %d, %v", tt.v.Type(), n, ok)
		}
	}
	if f, ok := VariantOf(float32(1.5)).Float(); !ok || f != 1.5 {
		t.Errorf("Float of a Float: %v, %v", f, ok)
	}
	if f, ok := DoubleVariant(-2.25).Float(); !ok || f != -2.25 {
		t.Errorf("Float of a Double: %v, %v", f, ok)
	}
	for _, v := range []Variant{{}, StringVariant("1"), BooleanVariant(true), SliceVariant([]int32{1}), SliceVariant([]float64{1}), SliceVariant([]uint8{1})} {
		_, i := v.Int()
		_, u := v.Uint()
		_, f := v.Float()
		if i || u || f {
			t.Errorf("%v is taken for a number", v.Type())
		}
	}
}
