package uasc

import "sync/atomic"

// Budget bounds the memory of unfinished messages over all connections, since
// the limit of one connection times their number would not (threat S1: chunks
// without an end, before any session). Take asks for n bytes and reports
// whether they may be had; Give returns what was taken. Both are called from
// many goroutines.
type Budget interface {
	Take(n int) bool
	Give(n int)
}

// MemoryBudget is a Budget of a fixed number of bytes.
type MemoryBudget struct {
	limit int64
	used  atomic.Int64
}

var _ Budget = (*MemoryBudget)(nil)

// NewMemoryBudget returns a budget of limit bytes.
func NewMemoryBudget(limit int64) *MemoryBudget { return &MemoryBudget{limit: limit} }

// Take reserves n bytes unless that would exceed the limit.
func (b *MemoryBudget) Take(n int) bool { return b.TakeWithin(n, b.limit) }

// TakeWithin is Take with a limit of its own, for those who may use only a part of the budget. A refused request leaves no
// trace: in between no other one is refused on its account.
func (b *MemoryBudget) TakeWithin(n int, limit int64) bool {
	for {
		used := b.used.Load()
		if used+int64(n) > limit {
			return false
		}
		if b.used.CompareAndSwap(used, used+int64(n)) {
			return true
		}
	}
}

// Limit returns the bytes that may be taken in all.
func (b *MemoryBudget) Limit() int64 { return b.limit }

// Give returns n bytes.
func (b *MemoryBudget) Give(n int) { b.used.Add(-int64(n)) }

// Used returns the bytes taken now.
func (b *MemoryBudget) Used() int64 { return b.used.Load() }
