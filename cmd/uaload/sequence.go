package main

import "slices"

// sequence follows the numbers that one monitored item brings. A variable gets
// the numbers that are written to it one after the other, each once, so that
// it shows from what arrives what is missing, repeated, and out of order. It is
// plain state, so that every case can be tested without a server.
type sequence struct {
	last int64 // the highest number so far; at first the one before the first that is written
	gaps []gap // numbers below it that have not come, in their order
	// forgotten are missing numbers that are in no gap any more, see mostGaps.
	forgotten int64

	repeated   int64
	disordered int64 // numbers that came behind a higher one, for the first time
}

// gap is a range of numbers, both ends included.
type gap struct{ from, to int64 }

// mostGaps bounds the memory of an item that loses numbers all the time. The
// numbers of its oldest gap are missing for good then: one that comes after all
// counts as repeated.
const mostGaps = 4096

// take takes the number of a notification. It reports whether this is the first
// time that it comes.
func (s *sequence) take(n int64) bool {
	if n > s.last {
		s.skipTo(n)
		s.last = n
		return true
	}
	i, found := slices.BinarySearchFunc(s.gaps, n, func(g gap, n int64) int {
		switch {
		case g.to < n:
			return -1
		case g.from > n:
			return 1
		}
		return 0
	})
	if !found {
		s.repeated++
		return false
	}
	s.disordered++
	switch g := &s.gaps[i]; {
	case g.from == g.to:
		s.gaps = slices.Delete(s.gaps, i, i+1)
	case g.from == n:
		g.from++
	case g.to == n:
		g.to--
	default:
		behind := gap{n + 1, g.to}
		g.to = n - 1
		s.gaps = slices.Insert(s.gaps, i+1, behind)
	}
	return true
}

// skipTo makes a gap of what lies between the last number and n.
func (s *sequence) skipTo(n int64) {
	if n <= s.last+1 {
		return
	}
	s.gaps = append(s.gaps, gap{s.last + 1, n - 1})
	if len(s.gaps) > mostGaps {
		s.forgotten += s.gaps[0].to - s.gaps[0].from + 1
		s.gaps = slices.Delete(s.gaps, 0, 1)
	}
}

// end says which number was the last to be written.
func (s *sequence) end(written int64) {
	s.skipTo(written + 1)
	s.last = max(s.last, written)
}

// missing is how many numbers have not come. Those that could not be written
// were not to be expected.
func (s *sequence) missing(unwritten map[int64]bool) int64 {
	n := s.forgotten
	for _, g := range s.gaps {
		n += g.to - g.from + 1
		for u := range unwritten {
			if g.from <= u && u <= g.to {
				n--
			}
		}
	}
	return n
}
