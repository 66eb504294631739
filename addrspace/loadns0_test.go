package addrspace

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/uahive/uahive/addrspace/ns0"
)

func TestNS0LoadsFastAndSmall(t *testing.T) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	s := New(Options{})
	if err := s.LoadNS0(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	runtime.GC()
	runtime.ReadMemStats(&after)
	used := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d nodes, %d references: %v, %d KiB kept, %d KiB allocated", len(ns0.Nodes), len(ns0.Refs), took,
		used>>10, (after.TotalAlloc-before.TotalAlloc)>>10)
	if s.Len() != len(ns0.Nodes) {
		t.Errorf("Len = %d, want %d", s.Len(), len(ns0.Nodes))
	}
	if took > time.Second {
		t.Errorf("took %v", took)
	}
	if used > 16<<20 {
		t.Errorf("keeps %d KiB", used>>10)
	}
	runtime.KeepAlive(s)
}

// A variable's node and cell are one allocation, and fill a size class.
func TestVariableFillsItsSizeClass(t *testing.T) {
	if size := unsafe.Sizeof(Variable{}); size > 208 {
		t.Errorf("a variable takes %d bytes", size)
	}
}

func BenchmarkLoadNS0(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if err := New(Options{}).LoadNS0(); err != nil {
			b.Fatal(err)
		}
	}
}
