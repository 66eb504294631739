package uasc

import (
	"testing"

	"github.com/uahive/uahive/codec"
)

// The budget counts what buffers hold, so it has to know the pool's sizes.
func TestPoolSizeIsTheCapacityOfABuffer(t *testing.T) {
	for _, n := range []int{1, 4096, 4097, 16 << 10, 60000, 65535, 65537, 1 << 20, 1<<20 + 1, 3 << 20} {
		b := codec.GetBuffer(n)
		if size := poolSize(n); cap(b.B) != size {
			t.Errorf("%d bytes: buffer of %d, counted %d", n, cap(b.B), size)
		}
		b.Release()
	}
}
