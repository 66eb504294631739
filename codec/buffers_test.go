package codec

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	CheckBuffers(true)
	os.Exit(m.Run())
}

// A buffer has at least its class's capacity, and less than four times as much: one that its former owner grew is kept
// where its capacity belongs, so that it may have more than a new one.
func TestBufferClasses(t *testing.T) {
	for n, class := range map[int]int{
		0: 4 << 10, 1: 4 << 10, 4 << 10: 4 << 10, 4<<10 + 1: 16 << 10, 65535: 64 << 10, 1 << 20: 1 << 20, 1<<20 + 1: 1<<20 + 1,
	} {
		b := GetBuffer(n)
		if len(b.B) != 0 || cap(b.B) < class || cap(b.B) >= 4*class {
			t.Errorf("GetBuffer(%d) has length %d and capacity %d; its class is %d", n, len(b.B), cap(b.B), class)
		}
		b.Release()
	}
}

func TestBufferIsReused(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		b := GetBuffer(100)
		b.B = append(b.B, 1, 2, 3)
		b.Release()
	}); n > 0.5 { // a collection in between may empty the pool
		t.Errorf("%v allocations", n)
	}
}

// A buffer that grew serves its new size and never a larger one.
func TestGrownBuffer(t *testing.T) {
	b := GetBuffer(1)
	b.B = append(b.B, make([]byte, 100<<10)...)
	b.Release()
	for range 10 {
		b := GetBuffer(256 << 10)
		if cap(b.B) < 256<<10 {
			t.Fatalf("capacity %d for 256 KiB", cap(b.B))
		}
		b.Release()
	}
	b = GetBuffer(1)
	b.B = make([]byte, 2<<20)
	b.Release() // too large to keep
	b = GetBuffer(1)
	b.B = nil
	b.Release() // nothing to keep
}

func TestSecondReleasePanics(t *testing.T) {
	b := GetBuffer(1 << 22)
	b.Release()
	defer func() {
		if recover() == nil {
			t.Error("a second release went unnoticed")
		}
	}()
	b.Release()
}

func TestSecondReleaseIsIgnoredInProduction(t *testing.T) {
	CheckBuffers(false)
	defer CheckBuffers(true)
	b := GetBuffer(1 << 22)
	b.Release()
	b.Release()
}
