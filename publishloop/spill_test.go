package publishloop

import (
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// A single value waits in the item itself; what comes before it and behind it
// keeps its order when more wait, and through every change of the queue's size.
func TestQueueOfOneValueAndMore(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := &Subscription{manager: w.m}
		it := &item{sub: sub, queueSize: 3, mode: ua.MonitoringModeReporting, timestamps: ua.TimestampsToReturnBoth}
		offer := func(n int32) {
			it.mu.Lock()
			it.offer(&ua.DataValue{Value: ua.VariantOf(n)})
			it.mu.Unlock()
		}
		take := func() (got []int32, overflow []bool) {
			var dv ua.DataValue
			for it.dequeue(&dv) {
				n, _ := ua.As[int32](dv.Value)
				got = append(got, n)
				overflow = append(overflow, dv.Status != ua.Good)
			}
			return got, overflow
		}
		wants := func(what string, want ...int32) {
			t.Helper()
			if it.waiting() != len(want) {
				t.Errorf("%s: %d values wait, want %d", what, it.waiting(), len(want))
			}
			got, _ := take()
			if len(got) != len(want) {
				t.Fatalf("%s: took %d, want %d", what, got, want)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("%s: took %d, want %d", what, got, want)
				}
			}
		}
		offer(1)
		if it.extra != nil {
			t.Error("one value has more than the item needs")
		}
		wants("one", 1)
		offer(2)
		offer(3)
		wants("two", 2, 3)
		offer(4)
		wants("one again", 4)
		for n := range int32(5) {
			offer(10 + n)
		}
		if got, overflow := take(); len(got) != 3 || got[0] != 12 || got[2] != 14 || !overflow[0] || overflow[1] {
			t.Errorf("a full queue gave %d, overflow %v", got, overflow)
		}
		if it.extra.overflow != 2 {
			t.Errorf("%d overflows, want 2", it.extra.overflow)
		}

		// Put back before one that came meanwhile, and before none.
		var dv ua.DataValue
		offer(20)
		it.dequeue(&dv)
		offer(21)
		it.listed = true
		sub.ready.putBack(it, &dv)
		wants("put back before another", 20, 21)

		// Sizes: a waiting value stays, the newest of several stays.
		offer(30)
		it.resize(1)
		wants("made small with one", 30)
		offer(31)
		it.resize(3)
		offer(32)
		wants("made large with one", 31, 32)
		offer(33)
		offer(34)
		it.resize(1)
		wants("made small with two", 34)
		if total := w.m.queueBytes.Load(); total != 0 {
			t.Errorf("%d bytes counted for empty queues", total)
		}
		it.discardNew = true
		it.resize(2)
		offer(40)
		offer(41)
		offer(42)
		wants("newest replaced", 40, 42)
		w.at(time.Millisecond)
	})
}
