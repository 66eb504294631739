package addrspace

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

func TestUpdateChangesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpace(t)
		a, b := variable(t, s, "A", ua.Int64Variant(0)), variable(t, s, "B", ua.Int64Variant(0))
		var w recorder
		a.Watch(&w)
		err := s.Update(func(tx *Tx) error {
			tx.Set(a, ua.Int64Variant(1))
			tx.Set(b, ua.Int64Variant(1))
			tx.Set(a, ua.Int64Variant(2))
			if !a.Load().Value.Equal(ua.Int64Variant(0)) {
				t.Error("visible before the commit")
			}
			time.Sleep(time.Second)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		x, y := a.Load(), b.Load()
		if x.SourceTimestamp != y.SourceTimestamp || x.SourceTimestamp != ua.DateTimeOf(time.Now()) {
			t.Errorf("timestamps %v and %v", x.SourceTimestamp, y.SourceTimestamp)
		}
		if len(w.values) != 1 || w.values[0] != 2 {
			t.Errorf("told %v", w.values)
		}
		failure := errors.New("no")
		if err := s.Update(func(tx *Tx) error { tx.Set(a, ua.Int64Variant(9)); return failure }); !errors.Is(err, failure) {
			t.Errorf("Update = %v", err)
		}
		if !a.Load().Value.Equal(ua.Int64Variant(2)) {
			t.Error("a failed transaction changes values")
		}
	})
}

// A view sees all of a transaction or nothing of it, also when there are many
// variables and other writers.
func TestViewsSeeWholeTransactions(t *testing.T) {
	s := newSpace(t)
	vars := make([]*Variable, 40)
	for i := range vars {
		// The timestamps must be alike from the start.
		vars[i] = variableOf(t, s, NodeSpec{Value: ua.Int64Variant(-1), SourceTimestamp: 1})
	}
	other := variable(t, s, "Other", ua.Int64Variant(0))
	var done atomic.Bool
	var writers, readers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := range 500 {
				err := s.Update(func(tx *Tx) error {
					for j := range vars {
						tx.Set(vars[(j*7+w)%len(vars)], ua.Int64Variant(int64(2*i+w)))
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				other.Store(ua.DataValue{Value: ua.Int64Variant(int64(i))})
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for !done.Load() {
				s.BeginView()
				first := vars[0].Load()
				for _, v := range vars[1:] {
					if dv := v.Load(); !dv.Value.Equal(first.Value) || dv.SourceTimestamp != first.SourceTimestamp {
						t.Error("half of a transaction")
					}
				}
				s.EndView()
			}
		})
	}
	writers.Wait()
	done.Store(true)
	readers.Wait()
}
