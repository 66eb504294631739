package main

import (
	"math/rand/v2"
	"testing"
)

// What arrives is told apart exactly: each made-up sequence has its own fault.
func TestSequenceFindsWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name                          string
		arrives                       []int64
		written                       int64
		missing, repeated, disordered int64
	}{
		{"all", []int64{1, 2, 3}, 3, 0, 0, 0},
		{"nothing", nil, 3, 3, 0, 0},
		{"nothing written", nil, 0, 0, 0, 0},
		{"one in the middle missing", []int64{1, 3}, 3, 1, 0, 0},
		{"the first missing", []int64{2, 3}, 3, 1, 0, 0},
		{"the last missing", []int64{1, 2}, 4, 2, 0, 0},
		{"one twice", []int64{1, 2, 2, 3}, 3, 0, 1, 0},
		{"an old one twice", []int64{1, 2, 3, 1}, 3, 0, 1, 0},
		{"two changed places", []int64{1, 3, 2, 4}, 4, 0, 0, 1},
		{"late at the beginning of a gap", []int64{1, 5, 2}, 5, 2, 0, 1},
		{"late at the end of a gap", []int64{1, 5, 4}, 5, 2, 0, 1},
		{"late within a gap", []int64{1, 5, 3}, 5, 2, 0, 1},
		{"late and twice", []int64{1, 5, 3, 3}, 5, 2, 1, 1},
		{"a gap filled backwards", []int64{1, 5, 4, 3, 2}, 5, 0, 0, 3},
		{"the far end of two gaps", []int64{3, 6, 2, 5, 4, 1}, 6, 0, 0, 4},
		{"everything at once", []int64{2, 1, 1, 5, 4, 5}, 7, 3, 2, 2},
	} {
		var s sequence
		for _, n := range c.arrives {
			s.take(n)
		}
		s.end(c.written)
		if m := s.missing(nil); m != c.missing || s.repeated != c.repeated || s.disordered != c.disordered {
			t.Errorf("%s: %d missing, %d repeated, %d out of order; want %d, %d, %d",
				c.name, m, s.repeated, s.disordered, c.missing, c.repeated, c.disordered)
		}
	}
}

// A number whose write failed is not missed, and one that came is no less there.
func TestSequenceForgivesWhatWasNotWritten(t *testing.T) {
	s := sequence{last: 10}
	for _, n := range []int64{11, 13, 16} {
		s.take(n)
	}
	s.end(17)
	if m := s.missing(map[int64]bool{12: true, 13: true, 17: true}); m != 2 { // 14 and 15
		t.Errorf("%d missing, want 2", m)
	}
}

// Whatever the order, the counts add up to what was written.
func TestSequenceAgainstASet(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var (
			s                    sequence
			seen                 = map[int64]bool{}
			highest              int64
			repeated, disordered int64
		)
		const written = 40
		for range random.IntN(60) {
			n := 1 + random.Int64N(written)
			switch {
			case seen[n]:
				repeated++
			case n < highest:
				disordered++
			}
			if first := s.take(n); first == seen[n] {
				t.Fatalf("take(%d) says first %v", n, first)
			}
			seen[n] = true
			highest = max(highest, n)
		}
		s.end(written)
		if m := s.missing(nil); m != written-int64(len(seen)) || s.repeated != repeated || s.disordered != disordered {
			t.Fatalf("%d missing, %d repeated, %d out of order; want %d, %d, %d",
				m, s.repeated, s.disordered, written-len(seen), repeated, disordered)
		}
	}
}

// An item that loses every other value keeps no more than so many gaps, and
// counts right all the same.
func TestSequenceBoundsItsMemory(t *testing.T) {
	var s sequence
	const n = 3 * mostGaps
	for i := int64(1); i <= n; i++ {
		s.take(2 * i)
	}
	if len(s.gaps) > mostGaps {
		t.Errorf("%d gaps are kept", len(s.gaps))
	}
	if m := s.missing(nil); m != n {
		t.Errorf("%d missing, want %d", m, n)
	}
}
