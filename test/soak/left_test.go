//go:build soak

package soak

import (
	"strings"
	"testing"
)

// Whatever a server keeps of sessions that have gone is named.
func TestWhatIsLeftIsNamed(t *testing.T) {
	before := footprint{Goroutines: 10, OpenFiles: 8, HeapBytes: 4 << 20}
	if left := before.above(before, 100); left != "" {
		t.Fatal(left)
	}
	for _, c := range []struct {
		spoil func(f *footprint)
		want  string
	}{
		{func(f *footprint) { f.Goroutines += spareGoroutines + 1 }, "19 goroutines, there were 10"},
		{func(f *footprint) { f.OpenFiles += spareFiles + 1 }, "11 open files, there were 8"},
		{func(f *footprint) { f.HeapBytes += spareHeap + 101*heapEach }, "KiB of heap, there were 4096"},
		{func(f *footprint) { f.Channels++ }, "1 channels"},
		{func(f *footprint) { f.Sessions++ }, "1 sessions"},
		{func(f *footprint) { f.Subscriptions++ }, "1 subscriptions"},
		{func(f *footprint) { f.MonitoredItems++ }, "1 monitored items"},
	} {
		after := before
		c.spoil(&after)
		if left := after.above(before, 100); !strings.Contains(left, c.want) {
			t.Errorf("got %q, want %q", left, c.want)
		}
	}
}
