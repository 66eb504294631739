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
func (b *MemoryBudget) Take(n int) bool {
	if b.used.Add(int64(n)) > b.limit {
		b.used.Add(-int64(n))
		return false
	}
	return true
}

// Give returns n bytes.
func (b *MemoryBudget) Give(n int) { b.used.Add(-int64(n)) }

// Used returns the bytes taken now.
func (b *MemoryBudget) Used() int64 { return b.used.Load() }
