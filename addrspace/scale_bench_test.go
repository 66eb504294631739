package addrspace

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// fillNumbers adds n Int32 variables ns=2;i=1 to n under one folder, ns=2;i=n+1.
func fillNumbers(t testing.TB, s *Space, n int) *Node {
	t.Helper()
	folder, err := s.AddNode(NodeSpec{
		ID: ua.NumericID(2, uint32(n+1)), Class: ua.NodeClassObject, BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: "All"},
		Parent: ns0ID(id.ObjectsFolder), TypeDefinition: ns0ID(id.FolderType),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		_, err := s.AddNode(NodeSpec{
			ID: ua.NumericID(2, uint32(i+1)), Class: ua.NodeClassVariable,
			BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: fmt.Sprint("Value", i)},
			Parent:     folder.ID(), Value: ua.Int32Variant(int32(i)), AccessLevel: ReadWrite,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// heapOf returns how much the heap grows by what make returns.
func heapOf(t testing.TB, make func() any) int64 {
	t.Helper()
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	kept := make()
	grown := heap() - before
	runtime.KeepAlive(kept)
	return grown
}

// BenchmarkAddNodes adds Int32 variables with numeric ids below one folder.
func BenchmarkAddNodes(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var took time.Duration
			var bytes int64
			for b.Loop() {
				s := newSpace(b)
				bytes = heapOf(b, func() any {
					start := time.Now()
					fillNumbers(b, s, n)
					took += time.Since(start)
					return s
				})
			}
			b.ReportMetric(float64(took)/float64(n)/float64(b.N), "ns/node")
			b.ReportMetric(float64(bytes)/float64(n), "bytes/node")
		})
	}
}

// BenchmarkCollect is one garbage collection beside a space of a million nodes.
func BenchmarkCollect(b *testing.B) {
	s := newSpace(b)
	fillNumbers(b, s, 1_000_000)
	for b.Loop() {
		runtime.GC()
	}
	runtime.KeepAlive(s)
}

// BenchmarkLookup finds and loads variables: a hundred that are asked for again
// and again, and all of them in random order, where memory sets the pace.
func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		s := newSpace(b)
		fillNumbers(b, s, n)
		r := rand.New(rand.NewPCG(1, 2))
		for name, among := range map[string]int{"hot": 100, "any": n} {
			ids := make([]ua.NodeID, 1<<16)
			spread := r.Perm(n)[:among]
			for i := range ids {
				ids[i] = ua.NumericID(2, uint32(spread[r.IntN(among)]+1))
			}
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				i := 0
				for b.Loop() {
					dv := s.Node(ids[i&(len(ids)-1)]).Variable().Load()
					if dv.Status != ua.Good {
						b.Fatal(dv)
					}
					i++
				}
			})
		}
	}
}
