package addrspace

import (
	"sync"
	"testing"

	"github.com/uahive/uahive/codec/ua"
)

// statuses is a watcher that keeps them.
type statuses []ua.StatusCode

func (s *statuses) ValueChanged(dv *ua.DataValue) { *s = append(*s, dv.Status) }
func (s *statuses) NodeDeleted()                  {}

// Part 4, 7.11.3: status and source timestamp change together, and the same
// status again is no change.
func TestStoreStatusKeepsTheValue(t *testing.T) {
	s := newSpace(t)
	v := variable(t, s, "V", ua.DoubleVariant(1.5))
	first := v.Load()
	var seen statuses
	v.Watch(&seen)
	v.StoreStatus(ua.Good)
	if got := v.Load(); got.SourceTimestamp != first.SourceTimestamp {
		t.Errorf("the same status has another timestamp: %v", got)
	}
	v.StoreStatus(ua.BadCommunicationError)
	if got := v.Load(); !got.Value.Equal(first.Value) || got.Status != ua.BadCommunicationError {
		t.Errorf("stored %v", got)
	}
	v.Unwatch(&seen)
	v.StoreStatus(ua.Good)
	if len(seen) != 1 || seen[0] != ua.BadCommunicationError {
		t.Errorf("the watcher saw %v", seen)
	}
}

func TestStoreStatusLosesNoStore(t *testing.T) {
	s := newSpace(t)
	v := variable(t, s, "V", ua.Int32Variant(0))
	var seen recorder
	v.Watch(&seen)
	defer v.Unwatch(&seen)
	const n = 1000
	var both sync.WaitGroup
	both.Go(func() {
		for i := int32(1); i <= n; i++ {
			v.Store(ua.DataValue{Value: ua.Int32Variant(i)})
		}
	})
	both.Go(func() {
		for i := range n {
			v.StoreStatus([]ua.StatusCode{ua.Good, ua.BadTimeout}[i&1])
		}
	})
	both.Wait()
	last := int64(0)
	for _, i := range seen.values {
		if i != last && i != last+1 {
			t.Fatalf("%d came after %d", i, last)
		}
		last = i
	}
	if last != n {
		t.Errorf("the last value is %d", last)
	}
}
