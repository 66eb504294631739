package actors

import (
	"slices"
	"sync"
	"testing"
)

func TestTallyCountsEachKey(t *testing.T) {
	var tally Tally
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for i := range 1000 {
				tally.Add(uint32(i%3), 1)
			}
		})
	}
	workers.Wait()
	counts, other := tally.Counts()
	if want := []Count{{0, 1336}, {1, 1332}, {2, 1332}}; !slices.Equal(counts, want) || other != 0 {
		t.Errorf("%v and %d others, want %v", counts, other, want)
	}
	if n := tally.Total(); n != 4000 {
		t.Errorf("%d in all", n)
	}
}

// Whoever makes up keys takes no memory with them.
func TestTallyKeepsAFixedNumberOfKeys(t *testing.T) {
	var tally Tally
	for i := range uint32(1000) {
		tally.Add(i, 2)
	}
	tally.Add(0, 1)
	counts, other := tally.Counts()
	if len(counts) != tallyPlaces || counts[0] != (Count{0, 3}) || other != 2*(1000-tallyPlaces) || tally.Total() != 2001 {
		t.Errorf("%d keys, the first %v, and %d others", len(counts), counts[0], other)
	}
}
