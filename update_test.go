package uahive

import (
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// synctestSleep lets a tenth of a second of fake time pass.
func synctestSleep() { time.Sleep(100 * time.Millisecond) }

func TestUpdateIsOneChange(t *testing.T) {
	s, ns := newModel(t)
	a := AddVariable(ns, "A", 0)
	b := AddVariable(ns, "B", 0)
	noErr(t, s)
	const n = 2000
	var both sync.WaitGroup
	both.Go(func() {
		for i := 1; i <= n; i++ {
			s.Update(func(tx *Tx) {
				a.SetIn(tx, i)
				if a.Get() == i {
					t.Error("visible before the update ended")
				}
				b.SetIn(tx, -1) // of two values the last one counts
				b.SetIn(tx, i)
			})
		}
	})
	both.Go(func() {
		for range n {
			s.space.BeginView()
			x, y := a.Value(), b.Value()
			s.space.EndView()
			if !x.Value.Equal(y.Value) || x.SourceTimestamp != y.SourceTimestamp && !x.Value.Equal(ua.Int64Variant(0)) {
				t.Errorf("half of an update: %v, %v", x, y)
				return
			}
		}
	})
	both.Wait()
	if a.Get() != n || b.Get() != n {
		t.Errorf("%v, %v", a.Get(), b.Get())
	}
}

func TestUpdateWithStatusAndTime(t *testing.T) {
	s, ns := newModel(t)
	a := AddVariable(ns, "A", 0)
	b := AddVariable(ns, "B", 0)
	noErr(t, s)
	s.Update(func(tx *Tx) {
		tx.At(start)
		a.SetIn(tx, 1)
		b.SetStatusIn(tx, 2, ua.UncertainInitialValue)
	})
	if x := a.Value(); x.SourceTimestamp != ua.DateTimeOf(start) || a.Get() != 1 {
		t.Errorf("%v", x)
	}
	if y := b.Value(); y.Status != ua.UncertainInitialValue || b.Get() != 2 {
		t.Errorf("%v", y)
	}
}

func TestUpdateThatPanicsChangesNothing(t *testing.T) {
	s, ns := newModel(t)
	a := AddVariable(ns, "A", 1)
	noErr(t, s)
	func() {
		defer func() { recover() }()
		s.Update(func(tx *Tx) {
			a.SetIn(tx, 2)
			panic("x")
		})
	}()
	if a.Get() != 1 {
		t.Errorf("value %v", a.Get())
	}
	s.Update(func(tx *Tx) { a.SetIn(tx, 3) })
	if a.Get() != 3 {
		t.Error("the next update is stuck")
	}
}
