package uasc

// The wrap rule of the RSA policies (Part 6, 6.7.2.4): a number may only be
// followed by one below legacyRestart when it is above legacyWrap.
const (
	legacyWrap    = 4_294_966_271
	legacyRestart = 1024
)

// Sequence is one direction's sequence number. There is one per direction of a
// channel, shared by OPN, MSG and CLO, and renewing a token does not reset it.
//
// The zero value follows the legacy rule of the RSA policies and None: any
// first number, then exactly one more each time, then a wrap from above
// 4,294,966,271 to below 1,024. With Strict set the rule of the newer policies
// holds: from 0, wrapping at the largest value to 0.
type Sequence struct {
	Strict  bool
	started bool
	last    uint32
}

// Next returns the number for the next chunk to send. A legacy sequence starts
// at 1 and wraps, as soon as it may, to 1.
func (s *Sequence) Next() uint32 {
	switch {
	case !s.started:
		s.started = true
		s.last = 1
		if s.Strict {
			s.last = 0
		}
	case !s.Strict && s.last > legacyWrap:
		s.last = 1
	default:
		s.last++
	}
	return s.last
}

// Accept reports whether n is the number that the next received chunk must
// have, and moves on if it is.
func (s *Sequence) Accept(n uint32) bool {
	ok := false
	switch {
	case !s.started:
		ok = !s.Strict || n == 0
	case s.Strict:
		ok = n == s.last+1
	default:
		ok = s.last < 1<<32-1 && n == s.last+1 || s.last > legacyWrap && n < legacyRestart
	}
	if ok {
		s.started, s.last = true, n
	}
	return ok
}
