package ua

import (
	"math"
	"reflect"
	"time"
)

var durationType = reflect.TypeFor[time.Duration]()

// durationVariant returns what the standard calls a Duration: a Double in
// milliseconds (Part 3, 8.13). An Int64 of nanoseconds, which Go's type would
// be otherwise, is understood by nobody.
func durationVariant(d time.Duration) Variant {
	return DoubleVariant(float64(d) / float64(time.Millisecond))
}

// asDuration is the opposite of durationVariant, rounded to a nanosecond. What
// Go's type cannot hold becomes the nearest that it can; NaN is 0.
func asDuration(ms float64) time.Duration {
	ns := math.Round(ms * float64(time.Millisecond))
	switch {
	case ns != ns:
		return 0
	case ns >= math.MaxInt64: // which is 2^63 here
		return math.MaxInt64
	case ns <= math.MinInt64:
		return math.MinInt64
	}
	return time.Duration(ns)
}

// asDurations is asDuration for arrays.
func asDurations(v Variant) ([]time.Duration, bool) {
	if v.typ != TypeDouble || !v.array {
		return nil, false
	}
	if v.ptr == nil {
		return nil, true
	}
	s := make([]time.Duration, v.Len())
	for i, ms := range elems[float64](v) {
		s[i] = asDuration(ms)
	}
	return s, true
}
