package actors

import (
	"maps"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestRegistryBehavesAsAMap compares any sequence of operations with a plain map.
func TestRegistryBehavesAsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := NewRegistry[uint32, int](HashUint32)
		model := make(map[uint32]int)
		key := rapid.Uint32Range(0, 200)
		t.Repeat(map[string]func(*rapid.T){
			"store": func(t *rapid.T) {
				k, v := key.Draw(t, "k"), rapid.Int().Draw(t, "v")
				r.Store(k, v)
				model[k] = v
			},
			"loadOrStore": func(t *rapid.T) {
				k, v := key.Draw(t, "k"), rapid.Int().Draw(t, "v")
				want, had := model[k]
				if !had {
					want = v
					model[k] = v
				}
				if got, loaded := r.LoadOrStore(k, v); got != want || loaded != had {
					t.Fatalf("LoadOrStore: %v %v, want %v %v", got, loaded, want, had)
				}
			},
			"load": func(t *rapid.T) {
				k := key.Draw(t, "k")
				want, had := model[k]
				if got, ok := r.Load(k); got != want || ok != had {
					t.Fatalf("Load: %v %v, want %v %v", got, ok, want, had)
				}
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "k")
				want, had := model[k]
				if got, ok := r.Delete(k); got != want || ok != had {
					t.Fatalf("Delete: %v %v, want %v %v", got, ok, want, had)
				}
				delete(model, k)
			},
			"": func(t *rapid.T) {
				if got := maps.Collect(r.All()); !maps.Equal(got, model) || r.Len() != len(model) {
					t.Fatalf("registry has %v (Len %d), want %v", got, r.Len(), model)
				}
			},
		})
	})
}

// TestRegistryMayBeChangedWhileIterating: the loop body runs without a lock.
func TestRegistryMayBeChangedWhileIterating(t *testing.T) {
	r := NewRegistry[string, int](HashString)
	for i := range 1000 {
		r.Store("key"+strconv.Itoa(i), i)
	}
	seen := 0
	for k := range r.All() {
		seen++
		r.Delete(k)
		r.Load(k)
	}
	if seen != 1000 || r.Len() != 0 {
		t.Errorf("saw %d of 1000, %d are left", seen, r.Len())
	}
	for range r.All() {
		t.Error("an empty registry yields")
	}
	for i := range r.shards {
		if r.shards[i].m != nil {
			t.Fatal("an emptied shard keeps its map")
		}
	}
}

func TestRegistryDeletesOnce(t *testing.T) {
	r := NewRegistry[uint64, struct{}](HashUint64)
	for k := range uint64(500) {
		r.Store(k, struct{}{})
		var wins [4]bool
		var wg sync.WaitGroup
		for i := range wins {
			wg.Go(func() { _, wins[i] = r.Delete(k) })
		}
		wg.Wait()
		n := 0
		for _, won := range wins {
			if won {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("%d goroutines deleted the same key", n)
		}
	}
	if r.Len() != 0 {
		t.Errorf("Len %d", r.Len())
	}
}

// TestRegistrySpreadsSequentialKeys: ids are given out in sequence, and must not share a shard.
func TestRegistrySpreadsSequentialKeys(t *testing.T) {
	r := NewRegistry[uint32, int](HashUint32)
	const n = 100 * registryShards
	for k := range uint32(n) {
		r.Store(k, 0)
	}
	for i := range r.shards {
		if got := len(r.shards[i].m); got < 50 || got > 200 {
			t.Errorf("shard %d has %d entries, expected about 100", i, got)
		}
	}
}

func TestRegistryLoadAllocatesNothing(t *testing.T) {
	byID := NewRegistry[uint32, *int](HashUint32)
	byID.Store(7, new(int))
	byName := NewRegistry[string, *int](HashString)
	byName.Store("seven", new(int))
	if allocs := testing.AllocsPerRun(1000, func() {
		byID.Load(7)
		byName.Load("seven")
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func BenchmarkRegistryLoad(b *testing.B) {
	r := NewRegistry[uint32, *int](HashUint32)
	for k := range uint32(10_000) {
		r.Store(k, new(int))
	}
	b.RunParallel(func(pb *testing.PB) {
		for k := uint32(0); pb.Next(); k++ {
			r.Load(k % 10_000)
		}
	})
}
