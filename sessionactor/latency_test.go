package sessionactor

import (
	"testing"
	"time"
)

// Every latency falls into the bucket whose bounds it lies between.
func TestLatenciesFallIntoTheirBuckets(t *testing.T) {
	for _, d := range []time.Duration{
		-1, 0, 1, 4095, 4096, 4097, 8192, 8193, time.Millisecond, time.Second, 4 * time.Second, 5 * time.Second, time.Hour,
	} {
		i := bucketOf(d)
		if bound, ok := LatencyBound(i); ok && d > bound {
			t.Errorf("%v in bucket %d, up to %v", d, i, bound)
		}
		if i > 0 {
			if bound, _ := LatencyBound(i - 1); d <= bound {
				t.Errorf("%v in bucket %d, though the one before goes up to %v", d, i, bound)
			}
		}
	}
	if _, ok := LatencyBound(latencyBuckets - 1); ok {
		t.Error("the last bucket has a bound")
	}
}
