package actors

import (
	"encoding/binary"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// registryShards spreads the locks of a registry. It is a power of two, so that a shard is a mask away.
const registryShards = 64

// Registry is a map that many goroutines read and few change: sessions by token, channels by id. Its
// locks are sharded, held for one map operation, and never across a call out.
type Registry[K comparable, V any] struct {
	hash   func(K) uint64
	count  atomic.Int64
	shards [registryShards]registryShard[K, V]
}

// registryShard is padded to a cache line, because neighbours are locked by different cores.
type registryShard[K comparable, V any] struct {
	mu sync.RWMutex
	m  map[K]V // nil until first used
	_  [32]byte
}

// NewRegistry makes an empty registry. The hash must spread its low bits: see [HashUint64] and
// [HashString].
func NewRegistry[K comparable, V any](hash func(K) uint64) *Registry[K, V] {
	return &Registry[K, V]{hash: hash}
}

func (r *Registry[K, V]) shard(k K) *registryShard[K, V] {
	return &r.shards[r.hash(k)%registryShards]
}

// Load returns the value of k.
func (r *Registry[K, V]) Load(k K) (V, bool) {
	s := r.shard(k)
	s.mu.RLock()
	v, ok := s.m[k]
	s.mu.RUnlock()
	return v, ok
}

// Store sets the value of k, whether it had one or not.
func (r *Registry[K, V]) Store(k K, v V) {
	s := r.shard(k)
	s.mu.Lock()
	before := len(s.m)
	s.put(k, v)
	added := len(s.m) - before
	s.mu.Unlock()
	r.count.Add(int64(added))
}

// LoadOrStore returns the value that k has, and true; or sets it to v and returns v and false.
func (r *Registry[K, V]) LoadOrStore(k K, v V) (V, bool) {
	s := r.shard(k)
	s.mu.Lock()
	if old, ok := s.m[k]; ok {
		s.mu.Unlock()
		return old, true
	}
	s.put(k, v)
	s.mu.Unlock()
	r.count.Add(1)
	return v, false
}

func (s *registryShard[K, V]) put(k K, v V) {
	if s.m == nil {
		s.m = make(map[K]V)
	}
	s.m[k] = v
}

// Delete removes k. It returns the value that k had, and whether it had one: of several goroutines
// that delete the same key, exactly one sees true.
func (r *Registry[K, V]) Delete(k K) (V, bool) {
	s := r.shard(k)
	s.mu.Lock()
	v, ok := s.m[k]
	delete(s.m, k)
	if len(s.m) == 0 {
		s.m = nil // a Go map never shrinks; an empty shard gives its memory back
	}
	s.mu.Unlock()
	if ok {
		r.count.Add(-1)
	}
	return v, ok
}

// Len is the number of entries.
func (r *Registry[K, V]) Len() int { return int(r.count.Load()) }

// All iterates over the entries in no order. Each shard is copied under its lock and yielded without
// it, so the loop may call anything, the registry included. An entry that comes or goes during the
// loop may or may not be seen; one that stays is seen exactly once.
func (r *Registry[K, V]) All() iter.Seq2[K, V] {
	type entry struct {
		k K
		v V
	}
	return func(yield func(K, V) bool) {
		var entries []entry
		for i := range r.shards {
			s := &r.shards[i]
			s.mu.RLock()
			for k, v := range s.m {
				entries = append(entries, entry{k, v})
			}
			s.mu.RUnlock()
			for _, e := range entries {
				if !yield(e.k, e.v) {
					return
				}
			}
			clear(entries)
			entries = entries[:0]
		}
	}
}

// HashUint64 hashes a number, so that ids given out in sequence spread over the shards.
func HashUint64(v uint64) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return xxhash.Sum64(b[:])
}

// HashUint32 hashes a number as [HashUint64] does.
func HashUint32(v uint32) uint64 { return HashUint64(uint64(v)) }

// HashString hashes the bytes of s.
func HashString(s string) uint64 { return xxhash.Sum64String(s) }
