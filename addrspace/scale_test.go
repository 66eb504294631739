package addrspace

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// fill adds n Double variables with string ids, perFolder of them below each
// folder.
func fill(t testing.TB, s *Space, n, perFolder int) {
	t.Helper()
	var folder ua.NodeID
	for i := range n {
		if i%perFolder == 0 {
			f, err := s.AddNode(NodeSpec{
				Class: ua.NodeClassObject, BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: fmt.Sprintf("Line%04d", i/perFolder)},
				Parent: ns0ID(id.ObjectsFolder), TypeDefinition: ns0ID(id.FolderType),
			})
			if err != nil {
				t.Fatal(err)
			}
			folder = f.ID()
		}
		name := fmt.Sprintf("Tag%07d", i)
		_, err := s.AddNode(NodeSpec{
			ID:    ua.StringID(2, "Plant.Line."+name),
			Class: ua.NodeClassVariable, BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: name},
			Parent: folder, DataType: ns0ID(id.Double), Value: ua.DoubleVariant(1.5), AccessLevel: ReadWrite,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func bytesPerNode(t testing.TB, n, perFolder int) (bytes float64, took time.Duration) {
	s := newSpace(t)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	start := time.Now()
	fill(t, s, n, perFolder)
	took = time.Since(start)
	bytes = float64(heap()-before) / float64(n)
	runtime.KeepAlive(s)
	return bytes, took
}

// A plant may have a million variables, under one folder or under many.
func TestVariablesAreCompactAndAddedInLinearTime(t *testing.T) {
	const small, large = 10_000, 100_000
	for _, perFolder := range []int{100, large} {
		_, t1 := bytesPerNode(t, small, perFolder)
		bytes, t2 := bytesPerNode(t, large, perFolder)
		t.Logf("%d per folder: %.0f bytes per variable; %v for %d, %v for %d", perFolder, bytes, t1, small, t2, large)
		if bytes > 390 {
			t.Errorf("%d per folder: %.0f bytes per variable", perFolder, bytes)
		}
		// Quadratic work would be a hundred times as much.
		if t2 > 40*t1+time.Second {
			t.Errorf("%d per folder: %v for %d, %v for %d", perFolder, t1, small, t2, large)
		}
	}
}

func BenchmarkMillionVariables(b *testing.B) {
	for _, perFolder := range []int{1000, 1_000_000} {
		b.Run(fmt.Sprintf("%dPerFolder", perFolder), func(b *testing.B) {
			for b.Loop() {
				bytes, took := bytesPerNode(b, 1_000_000, perFolder)
				b.ReportMetric(bytes, "bytes/node")
				b.ReportMetric(float64(took)/1e6, "ns/node")
			}
		})
	}
}
