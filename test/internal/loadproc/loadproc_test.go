//go:build linux

package loadproc

import (
	"strings"
	"testing"
	"time"
)

// Whatever a server keeps of clients that have gone is named.
func TestWhatIsLeftIsNamed(t *testing.T) {
	before := Footprint{Goroutines: 10, OpenFiles: 8, HeapBytes: 4 << 20, Sessions: 2, Channels: 2}
	if left := before.Above(before, 100); left != "" {
		t.Fatal(left)
	}
	for _, c := range []struct {
		spoil func(f *Footprint)
		want  string
	}{
		{func(f *Footprint) { f.Goroutines += spareGoroutines + 1 }, "19 goroutines, there were 10"},
		{func(f *Footprint) { f.OpenFiles += spareFiles + 1 }, "11 open files, there were 8"},
		{func(f *Footprint) { f.HeapBytes += spareHeap + 101*heapEach }, "KiB of heap, there were 4096"},
		{func(f *Footprint) { f.Channels++ }, "1 channels"},
		{func(f *Footprint) { f.Sessions++ }, "1 sessions"},
		{func(f *Footprint) { f.Subscriptions++ }, "1 subscriptions"},
		{func(f *Footprint) { f.MonitoredItems++ }, "1 monitored items"},
		{func(f *Footprint) { f.Stats.Sessions.ContinuationPoints++ }, "1 continuation points"},
		{func(f *Footprint) { f.Stats.Channels.AssemblyBytes += 9 }, "9 bytes of unfinished messages"},
	} {
		after := before
		c.spoil(&after)
		if left := after.Above(before, 100); !strings.Contains(left, c.want) {
			t.Errorf("got %q, want %q", left, c.want)
		}
	}
}

// A canary tells a gap from a repetition and from disorder.
func TestFollowerTellsGapsFromDisorder(t *testing.T) {
	for _, c := range []struct {
		name  string
		taken []int64
		end   int64
		want  Follower
	}{
		{"all", []int64{3, 4, 5}, 5, Follower{Last: 5}},
		{"a gap", []int64{3, 6}, 6, Follower{Last: 6, Missing: 2}},
		{"the end is missing", []int64{3}, 5, Follower{Last: 5, Missing: 2}},
		{"nothing came", nil, 2, Follower{Last: 2, Missing: 2}},
		{"twice", []int64{3, 3, 4}, 4, Follower{Last: 4, Repeated: 1}},
		{"disorder", []int64{3, 5, 4}, 5, Follower{Last: 5, Missing: 1, Disordered: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f Follower
			for _, n := range c.taken {
				f.Take(n)
			}
			f.End(c.end)
			if f != c.want {
				t.Errorf("%+v, want %+v", f, c.want)
			}
		})
	}
}

// Every way of being disturbed is said.
func TestReportSaysWhatIsWrong(t *testing.T) {
	good := Report{Received: 10, P99: 50}
	if wrong := good.Wrong(time.Second); wrong != "" {
		t.Fatal(wrong)
	}
	for want, spoil := range map[string]func(*Report){
		"it received nothing":    func(r *Report) { r.Received = 0 },
		"1 values are missing":   func(r *Report) { r.Missing = 1 },
		"1 repeated":             func(r *Report) { r.Repeated = 1 },
		"1 out of order":         func(r *Report) { r.Disordered = 1 },
		"its p99 is 1000 ms":     func(r *Report) { r.P99 = 1000 },
		"the connection is gone": func(r *Report) { r.Error = "the connection is gone" },
	} {
		r := good
		spoil(&r)
		if wrong := r.Wrong(time.Second); !strings.Contains(wrong, want) {
			t.Errorf("got %q, want %q", wrong, want)
		}
	}
}
