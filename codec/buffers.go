package codec

import (
	"sync"
	"sync/atomic"
)

// sizeClasses are the capacities that are pooled. A larger buffer serves one
// message and is then left to the garbage collector, so that a single large
// message does not pin its memory.
var sizeClasses = [...]int{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}

var pools [len(sizeClasses)]sync.Pool

// checkRelease makes a second Release panic; tests switch it on.
var checkRelease atomic.Bool

// CheckBuffers makes a second Release of the same Buffer panic, which tests
// of all packages switch on. In production a second Release is ignored.
func CheckBuffers(on bool) { checkRelease.Store(on) }

// Buffer is a pooled byte slice with one owner. The owner may grow B; Release
// gives the memory back.
type Buffer struct {
	B        []byte
	released atomic.Bool
}

// GetBuffer returns a Buffer with length 0 and a capacity of at least n.
func GetBuffer(n int) *Buffer {
	class := classOf(n)
	if class < 0 {
		return &Buffer{B: make([]byte, 0, n)}
	}
	if b, _ := pools[class].Get().(*Buffer); b != nil {
		b.released.Store(false)
		return b
	}
	return &Buffer{B: make([]byte, 0, sizeClasses[class])}
}

// classOf returns the smallest class that holds n bytes, or -1.
func classOf(n int) int {
	for i, size := range sizeClasses {
		if n <= size {
			return i
		}
	}
	return -1
}

// Release gives the memory back to the pool. Neither the Buffer nor slices of
// B may be used afterwards.
func (b *Buffer) Release() {
	if b.released.Swap(true) {
		if checkRelease.Load() {
			panic("codec: Buffer released twice")
		}
		return
	}
	// B may have been grown or replaced by its owner: it goes where its
	// capacity belongs now, or nowhere.
	class := -1
	for i, size := range sizeClasses {
		if cap(b.B) >= size {
			class = i
		}
	}
	if class < 0 || cap(b.B) > sizeClasses[len(sizeClasses)-1] {
		b.B = nil
		return
	}
	b.B = b.B[:0]
	pools[class].Put(b)
}
