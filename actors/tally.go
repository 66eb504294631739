package actors

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// tallyPlaces is the number of different keys that a [Tally] tells apart.
const tallyPlaces = 40

// Tally counts how often each of a few keys came up. Keys are found out as they come: the first ones
// get a place each, and what comes when all places are taken counts as Other, so that its memory is
// bounded whoever makes up the keys. It is for what is rare, such as refusals by their reason. The zero
// value is ready to use; all methods may be called from any goroutine.
type Tally struct {
	places [tallyPlaces]tallyPlace
	other  atomic.Uint64
}

type tallyPlace struct {
	key   atomic.Uint64 // with tallyTaken; 0 while the place is free
	count atomic.Uint64
}

// tallyTaken tells the key 0 from a free place.
const tallyTaken = 1 << 63

// Add counts n of a key.
func (t *Tally) Add(key uint32, n uint64) {
	want := uint64(key) | tallyTaken
	for i := range t.places {
		p := &t.places[i]
		got := p.key.Load()
		if got == 0 && !p.key.CompareAndSwap(0, want) {
			got = p.key.Load() // another goroutine was first
		} else if got == 0 {
			got = want
		}
		if got == want {
			p.count.Add(n)
			return
		}
	}
	t.other.Add(n)
}

// Count is how often a key of a [Tally] came up.
type Count struct {
	Key uint32
	N   uint64
}

// Counts returns the keys that came up by ascending key, and how often others did that found no place.
func (t *Tally) Counts() (counts []Count, other uint64) {
	for i := range t.places {
		key := t.places[i].key.Load()
		if key == 0 {
			break
		}
		if n := t.places[i].count.Load(); n > 0 {
			counts = append(counts, Count{uint32(key), n})
		}
	}
	slices.SortFunc(counts, func(a, b Count) int { return cmp.Compare(a.Key, b.Key) })
	return counts, t.other.Load()
}

// Total returns how often all keys came up together.
func (t *Tally) Total() uint64 {
	total := t.other.Load()
	for i := range t.places {
		total += t.places[i].count.Load()
	}
	return total
}
