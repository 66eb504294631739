package uasc

import "testing"

// The rule of Part 6, 6.7.2.4, both for policies with legacy sequence numbers
// and for the newer ones.
func TestSequenceAcceptsExactlyTheNextNumber(t *testing.T) {
	const top = 1<<32 - 1
	for _, c := range []struct {
		strict     bool
		last, next uint32
		ok         bool
	}{
		{false, 5, 6, true},
		{false, 5, 5, false},
		{false, 5, 4, false},
		{false, 5, 7, false},
		{false, 5, 0, false},
		{false, 5, 1, false},
		{false, legacyWrap, legacyWrap + 1, true},
		{false, legacyWrap, 0, false},
		{false, legacyWrap, 1, false},
		{false, legacyWrap + 1, 0, true},
		{false, legacyWrap + 1, 1, true},
		{false, legacyWrap + 1, 1023, true},
		{false, legacyWrap + 1, 1024, false},
		{false, legacyWrap + 1, legacyWrap + 2, true},
		{false, legacyWrap + 1, legacyWrap + 3, false},
		{false, top, 0, true},
		{false, top, 1023, true},
		{false, top, 1024, false},
		{false, top, top, false},
		{true, 0, 1, true},
		{true, 0, 0, false},
		{true, top, 0, true},
		{true, top, 1, false},
		{true, legacyWrap + 1, 1, false},
	} {
		s := Sequence{Strict: c.strict, started: true, last: c.last}
		if got := s.Accept(c.next); got != c.ok {
			t.Errorf("strict %v: %d after %d accepted: %v", c.strict, c.next, c.last, got)
		}
		want := c.last
		if c.ok {
			want = c.next
		}
		if s.last != want {
			t.Errorf("strict %v: last is %d, want %d", c.strict, s.last, want)
		}
	}
	for _, first := range []uint32{0, 1, 51, top} {
		if !new(Sequence).Accept(first) {
			t.Errorf("first number %d refused", first)
		}
		if got := (&Sequence{Strict: true}).Accept(first); got != (first == 0) {
			t.Errorf("strict first number %d accepted: %v", first, got)
		}
	}
}

func TestSequenceNextIsAcceptedOverTheWrap(t *testing.T) {
	for _, strict := range []bool{false, true} {
		for _, start := range []uint32{0, legacyWrap - 3, 1<<32 - 3} {
			send, recv := Sequence{Strict: strict}, Sequence{Strict: strict}
			if start > 0 {
				send.started, send.last, recv.started, recv.last = true, start, true, start
			}
			for range 8 {
				if n := send.Next(); !recv.Accept(n) {
					t.Fatalf("strict %v from %d: %d refused", strict, start, n)
				}
			}
		}
	}
}
