package ua

import (
	"math"
	"testing"
	"time"
)

// The standard's Duration is a Double in milliseconds (Part 3, 8.13), in both
// directions and wherever Go values are converted.
func TestDurationIsADoubleOfMilliseconds(t *testing.T) {
	const d = 1500 * time.Microsecond
	pointed := d
	for _, c := range []struct {
		in   any
		want Variant
	}{
		{d, DoubleVariant(1.5)},
		{&pointed, DoubleVariant(1.5)},
		{-time.Hour, DoubleVariant(-3_600_000)},
		{[]time.Duration{d, time.Second}, SliceVariant([]float64{1.5, 1000})},
		{[]time.Duration(nil), SliceVariant([]float64(nil))},
		{[2]time.Duration{d, time.Second}, SliceVariant([]float64{1.5, 1000})},
		{[]any{d}, SliceVariant([]Variant{DoubleVariant(1.5)})},
	} {
		if v, err := ValueOf(c.in); err != nil || !v.Equal(c.want) {
			t.Errorf("%v became %v, %v; want %v", c.in, v, err, c.want)
		}
	}
	v, err := ValueOf([][]time.Duration{{d}, {time.Second}})
	if err != nil || v.Type() != TypeDouble || len(v.Dimensions()) != 2 {
		t.Errorf("a matrix became %v, %v", v, err)
	}
	check(t, DoubleVariant(1.5), d)
	check(t, SliceVariant([]float64{1.5, 1000}), []time.Duration{d, time.Second})
	check(t, SliceVariant([]float64(nil)), []time.Duration(nil))
	refuse[time.Duration](t, VariantOf(int64(2)))
	refuse[time.Duration](t, VariantOf(DateTime(1)))
	refuse[time.Duration](t, SliceVariant([]float64{1}))
	refuse[[]time.Duration](t, SliceVariant([]int64{1}))
	refuse[[]time.Duration](t, DoubleVariant(1))
}

func TestDurationsOutOfRangeAreTheNearest(t *testing.T) {
	for ms, want := range map[float64]time.Duration{
		math.Inf(1): math.MaxInt64, 1e300: math.MaxInt64, math.Inf(-1): math.MinInt64, -1e300: math.MinInt64,
		math.NaN(): 0, 0.0000004: 0, 0.1: 100 * time.Microsecond,
	} {
		if got, ok := As[time.Duration](DoubleVariant(ms)); !ok || got != want {
			t.Errorf("%v ms is %v, want %v", ms, got, want)
		}
	}
	for _, d := range []time.Duration{1, 999, time.Microsecond + 1, 36 * time.Hour, 1<<53 + 1} {
		v, _ := ValueOf(d)
		if got, ok := As[time.Duration](v); !ok || (got-d).Abs() > 2 || d < 1<<50 && got != d {
			t.Errorf("%d ns came back as %d", d, got)
		}
	}
}
