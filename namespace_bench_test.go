package uahive_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
)

// BenchmarkAddVariable adds Int32 variables to one folder as a program does, with
// the default ids, and with numbers.
func BenchmarkAddVariable(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		for _, ids := range []string{"path", "number"} {
			b.Run(fmt.Sprintf("%d/%s", n, ids), func(b *testing.B) {
				heap := func() int64 {
					runtime.GC()
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					return int64(m.HeapAlloc)
				}
				var took time.Duration
				var bytes int64
				for b.Loop() {
					srv, err := uahive.New(uahive.Config{PKI: "memory", TrustAll: true})
					if err != nil {
						b.Fatal(err)
					}
					ns := srv.Namespace("urn:bench")
					folder := ns.Folder("All")
					before, start := heap(), time.Now()
					for i := range n {
						var v *uahive.Variable[int32]
						if ids == "number" {
							v = uahive.AddVariable(folder, fmt.Sprint("Value", i), int32(i), uahive.Writable(),
								uahive.NodeID(ua.NumericID(ns.Index(), uint32(i+1))))
						} else {
							v = uahive.AddVariable(folder, fmt.Sprint("Value", i), int32(i), uahive.Writable())
						}
						if v.Err() != nil {
							b.Fatal(v.Err())
						}
					}
					took += time.Since(start)
					bytes = heap() - before
					runtime.KeepAlive(srv)
				}
				b.ReportMetric(float64(took)/float64(n)/float64(b.N), "ns/node")
				b.ReportMetric(float64(bytes)/float64(n), "bytes/node")
			})
		}
	}
}
