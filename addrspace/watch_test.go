package addrspace

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/uahive/uahive/codec/ua"
)

// recorder keeps what it was told. It needs no lock: calls come one at a time.
type recorder struct {
	values []int64
	gone   int
}

func (r *recorder) ValueChanged(dv *ua.DataValue) {
	n, _ := dv.Value.Int()
	r.values = append(r.values, n)
}

func (r *recorder) NodeDeleted() { r.gone++ }

var _ Watcher = (*recorder)(nil)

// Every store arrives, in the order of the stores, with several writers and
// watchers that come and go.
func TestWatchersSeeEveryStoreInOrder(t *testing.T) {
	s := newSpace(t)
	v := variable(t, s, "V", ua.Int64Variant(0))
	const writers, stores = 3, 2000
	var always recorder
	if dv, ok := v.Watch(&always); !ok || !dv.Value.Equal(ua.Int64Variant(0)) {
		t.Fatalf("Watch = %v, %v", dv, ok)
	}
	var mu sync.Mutex
	next := int64(0)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range stores {
				mu.Lock() // orders the stores, so that the watcher's order can be checked
				next++
				v.Store(ua.DataValue{Value: ua.Int64Variant(next)})
				mu.Unlock()
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for range 300 {
				var w recorder
				dv, ok := v.Watch(&w)
				if !ok {
					t.Error("not registered")
				}
				v.Unwatch(&w)
				// What follows the returned value has no gap.
				last, _ := dv.Value.Int()
				for _, n := range w.values {
					if n != last+1 {
						t.Errorf("%d after %d", n, last)
					}
					last = n
				}
			}
		})
	}
	wg.Wait()
	v.Unwatch(&always)
	if len(always.values) != writers*stores {
		t.Fatalf("%d values arrived", len(always.values))
	}
	for i, n := range always.values {
		if n != int64(i)+1 {
			t.Fatalf("position %d has %d", i, n)
		}
	}
	if v.Watchers() != 0 || v.side != nil {
		t.Error("an unwatched variable keeps memory for watchers")
	}
}

// Nobody stays registered, so that the memory for watchers comes and goes under
// the stores.
func TestWatchersComeAndGoUnderStores(t *testing.T) {
	s := newSpace(t)
	v := variable(t, s, "V", ua.Int64Variant(0))
	var stop atomic.Bool
	var writer, watchers sync.WaitGroup
	writer.Go(func() {
		for i := int64(1); !stop.Load(); i++ {
			v.Store(ua.DataValue{Value: ua.Int64Variant(i)})
		}
	})
	for range 2 {
		watchers.Go(func() {
			for range 5000 {
				var w recorder
				dv, _ := v.Watch(&w)
				runtime.Gosched()
				v.Unwatch(&w)
				last, _ := dv.Value.Int()
				for _, n := range w.values {
					if n != last+1 {
						t.Errorf("%d after %d", n, last)
						return
					}
					last = n
				}
			}
		})
	}
	watchers.Wait()
	stop.Store(true)
	writer.Wait()
}

// C18: a node is deleted while it is monitored: told once, then silence.
func TestDeletionWhileWatched(t *testing.T) {
	s := newSpace(t)
	v := variable(t, s, "V", ua.Int64Variant(0))
	var a, b recorder
	v.Watch(&a)
	v.Watch(&b)
	if err := s.RemoveNode(v.Node().ID()); err != nil {
		t.Fatal(err)
	}
	v.Store(ua.DataValue{Value: ua.Int64Variant(1)})
	if a.gone != 1 || b.gone != 1 || len(a.values)+len(b.values) != 0 {
		t.Errorf("a: %+v, b: %+v", a, b)
	}
	if !v.Node().Deleted() || s.Node(v.Node().ID()) != nil {
		t.Error("the node is still there")
	}
	var late recorder
	if _, ok := v.Watch(&late); ok {
		t.Error("a deleted variable can be watched")
	}
	v.Unwatch(&a)
	if a.gone != 1 || late.gone != 0 {
		t.Error("told again")
	}
}

// However watching and deleting interleave, whom Watch accepted is told once.
func TestWatchRacesWithDeletion(t *testing.T) {
	s := newSpace(t)
	for range 200 {
		v := variable(t, s, "V", ua.Int64Variant(0))
		watchers := make([]recorder, 4)
		accepted := make([]bool, len(watchers))
		var wg sync.WaitGroup
		for i := range watchers {
			wg.Go(func() { _, accepted[i] = v.Watch(&watchers[i]) })
		}
		wg.Go(func() { v.Store(ua.DataValue{Value: ua.Int64Variant(1)}) })
		wg.Go(func() {
			if err := s.RemoveNode(v.Node().ID()); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		for i := range watchers {
			if want := map[bool]int{true: 1}[accepted[i]]; watchers[i].gone != want {
				t.Fatalf("accepted %v, told %d times", accepted[i], watchers[i].gone)
			}
		}
	}
}

func TestWatcherListFollowsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sd side
		all := make([]*recorder, 100)
		for i := range all {
			all[i] = new(recorder)
		}
		model := map[Watcher]bool{}
		for range rapid.IntRange(0, 400).Draw(t, "steps") {
			// Mostly adding at first, so that both forms of the list are met.
			w := Watcher(all[rapid.IntRange(0, len(all)-1).Draw(t, "watcher")])
			if i := sd.place(w); i < 0 && rapid.IntRange(0, 4).Draw(t, "add") > 0 {
				sd.add(w)
				model[w] = true
			} else if i >= 0 && rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
				sd.remove(i)
				delete(model, w)
			}
			if len(sd.watchers) != len(model) {
				t.Fatalf("%d watchers, want %d", len(sd.watchers), len(model))
			}
		}
		for i, w := range sd.watchers {
			if !model[w] || sd.place(w) != i {
				t.Fatal("the list differs from the set")
			}
		}
	})
}

func TestManyWatchersLeaveOneByOne(t *testing.T) {
	s := newSpace(t)
	v := variable(t, s, "V", ua.Int64Variant(0))
	watchers := make([]recorder, 10_000)
	for i := range watchers {
		v.Watch(&watchers[i])
		v.Watch(&watchers[i]) // twice counts once
	}
	v.Store(ua.DataValue{Value: ua.Int64Variant(1)})
	for i := range watchers {
		if len(watchers[i].values) != 1 {
			t.Fatalf("watcher %d was told %d times", i, len(watchers[i].values))
		}
		v.Unwatch(&watchers[i])
	}
	if v.Watchers() != 0 {
		t.Errorf("%d are left", v.Watchers())
	}
}
