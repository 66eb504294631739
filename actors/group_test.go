package actors

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"
)

func TestGroupCountsByKindAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group
		stop := make(chan struct{})
		for range 3 {
			g.Go("channel", func() { <-stop })
		}
		g.Go("session", func() { <-stop })
		want := map[string]int{"channel": 3, "session": 1}
		if got := g.Running(); !maps.Equal(got, want) {
			t.Errorf("Running: %v, want %v", got, want)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait while goroutines run: %v", err)
		}
		g.Close()
		if g.Go("late", func() { t.Error("started after Close") }) {
			t.Error("Go after Close reports true")
		}
		waited := make(chan error)
		go func() { waited <- g.Wait(t.Context()) }()
		synctest.Wait()
		close(stop)
		if err := <-waited; err != nil {
			t.Errorf("Wait: %v", err)
		}
		if got := g.Running(); len(got) != 0 {
			t.Errorf("Running after Wait: %v", got)
		}
		if err := g.Wait(t.Context()); err != nil {
			t.Errorf("Wait with nothing to wait for: %v", err)
		}
	})
}

// TestGroupCountsGoroutinesThatStartOthers: the count must not touch zero while one starts the next.
func TestGroupCountsGoroutinesThatStartOthers(t *testing.T) {
	var g Group
	g.Go("a", func() {
		g.Go("b", func() {
			g.Go("c", func() {})
		})
	})
	if err := g.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := g.Running(); len(got) != 0 {
		t.Errorf("Running: %v", got)
	}
}

func TestGroupGoAllocatesLittle(t *testing.T) {
	if ownerChecks {
		t.Skip("counts differ under the race detector")
	}
	var g Group
	done := make(chan struct{})
	fn := func() { done <- struct{}{} }
	allocs := testing.AllocsPerRun(200, func() {
		g.Go("kind", fn)
		<-done
	})
	if allocs > 2 {
		t.Errorf("%v allocations for a goroutine", allocs)
	}
	if err := g.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}
