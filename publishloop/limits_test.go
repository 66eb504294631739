package publishloop

import (
	"math"
	"testing"
	"time"
)

// TestCaseC7RevisedPublishing gives what real clients send and checks that every
// combination is revised into bounds. Threat D7: a Go duration made of 1e300 is
// negative, and a timer with it panics.
func TestCaseC7RevisedPublishing(t *testing.T) {
	limits := Limits{}.withDefaults()
	doubles := []float64{
		0, 0.4, math.NaN(), -1, math.Inf(1), math.Inf(-1), 1e300, -1e300, 5, 10, 10.5, 500, 1000,
		math.MaxFloat64, math.SmallestNonzeroFloat64, 9.3e12, 1 << 63,
	}
	counts := []uint32{0, 1, 2, 10, 10_000, math.MaxUint32 / 3, math.MaxUint32 - 1, math.MaxUint32}
	for _, interval := range doubles {
		for _, lifetime := range counts {
			for _, keepAlive := range counts {
				every, l, k := limits.publishing(interval, lifetime, keepAlive)
				if every < limits.MinPublishingInterval || every > limits.MaxPublishingInterval {
					t.Fatalf("interval %v is revised to %v", interval, every)
				}
				if k < 1 || l/3 < k || time.Duration(l)*every > max(limits.MaxLifetime, 3*every) {
					t.Fatalf("%v ms, lifetime %d, keep-alive %d are revised to %v, %d, %d", interval, lifetime, keepAlive, every, l, k)
				}
			}
		}
	}
	for in, want := range map[float64]time.Duration{
		0: 10 * time.Millisecond, 500: 500 * time.Millisecond, 10.5: 10500 * time.Microsecond, 1e300: 15 * time.Minute,
	} {
		if got, _, _ := limits.publishing(in, 30, 10); got != want {
			t.Errorf("%v ms is revised to %v, want %v", in, got, want)
		}
	}
}

func TestSamplingIntervalIsRevised(t *testing.T) {
	limits := Limits{}.withDefaults()
	for _, tt := range []struct {
		requested  float64
		publishing time.Duration
		low        time.Duration
		want       time.Duration
	}{
		{0, time.Second, 0, 0},
		{0, time.Second, 50 * time.Millisecond, 50 * time.Millisecond},
		{-1, time.Second, 0, time.Second},
		{-7, time.Second, 2 * time.Second, 2 * time.Second},
		{100, time.Second, 0, 100 * time.Millisecond},
		{100, time.Second, 250 * time.Millisecond, 250 * time.Millisecond},
		{math.NaN(), time.Second, 0, 0},
		{math.Inf(1), time.Second, 0, time.Hour},
		{math.Inf(-1), time.Second, 0, time.Second},
		{1e300, time.Second, 0, time.Hour},
		{0.4, time.Second, 0, 400 * time.Microsecond},
		{5, time.Second, 2 * time.Hour, 2 * time.Hour},
	} {
		if got := limits.sampling(tt.requested, tt.publishing, tt.low); got != tt.want {
			t.Errorf("%v ms of %v, at least %v: %v, want %v", tt.requested, tt.publishing, tt.low, got, tt.want)
		}
	}
}
