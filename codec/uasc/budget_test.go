package uasc

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Who is refused takes nothing, not even for a moment: neither does the budget stand above its limit, nor is another one
// refused who fits.
func TestRefusedTakerLeavesNoTrace(t *testing.T) {
	budget := NewMemoryBudget(100)
	var over atomic.Bool
	var refused atomic.Int64
	var greedy sync.WaitGroup
	for range 2 {
		greedy.Go(func() {
			for !over.Load() {
				if budget.Take(101) || budget.TakeWithin(51, 50) {
					t.Error("more was given than there is")
					return
				}
				refused.Add(2)
			}
		})
	}
	for refused.Load() < 1_000_000 && !t.Failed() {
		if !budget.Take(100) {
			t.Error("the whole budget was free and is refused")
		}
		if used := budget.Used(); used != 100 {
			t.Errorf("%d of %d bytes are used", used, budget.Limit())
		}
		budget.Give(100)
	}
	over.Store(true)
	greedy.Wait()
	if !budget.TakeWithin(50, 50) || budget.TakeWithin(1, 50) || !budget.Take(50) || budget.Take(1) {
		t.Error("a limit is not the last byte that may be taken")
	}
}
