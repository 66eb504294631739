package uasc

import (
	"testing"
	"unsafe"

	"github.com/uahive/uahive/codec/ua"
)

// A message whose size is foreseen is received in memory of its own, with the
// byte that was asked for at an address divisible by 8, whatever the foresight is
// worth; only a message that fits is said to be owned.
func TestForeseenMessage(t *testing.T) {
	body := pattern(300_000)
	for _, s := range []suite{{PolicyNone, ModeNone}, {Basic256Sha256, ModeSignAndEncrypt}} {
		for _, c := range []struct {
			size, align int
			owned       bool
		}{
			{300_000, 61, true},
			{300_400, 64, true},
			{299_999, 61, false},
			{100, 0, false},
			{0, 0, false},
			{-5, 0, false},
			{2 << 20, 0, false},
			{1 << 40, 3, false},
		} {
			budget := NewMemoryBudget(4 << 20)
			l := s.link(t, Limits{MaxMessage: 1 << 20}, budget)
			l.opener.asm.foresee = func([]byte) (int, int) { return c.size, c.align }
			m := l.open(t, l.seal(t, 3, body))
			wantBody(t, m, 3, body)
			if m.Owned != c.owned {
				t.Errorf("%v, %d foreseen: owned %v", s, c.size, m.Owned)
			}
			if address := uintptr(unsafe.Pointer(&m.Body[c.align&0xFF])); c.owned && address%8 != 0 {
				t.Errorf("%v: byte %d stands at %x", s, c.align, address)
			}
			if n := budget.Used(); n < 300_000 {
				t.Errorf("%d bytes of the budget are used", n)
			}
			kept := m.Body
			l.opener.Recycle()
			if n := budget.Used(); n != 0 {
				t.Errorf("%d bytes of the budget are not given back", n)
			}
			if !c.owned {
				continue
			}
			// What comes later does not touch it.
			for i := range uint32(3) {
				l.open(t, l.seal(t, 4+i, make([]byte, 300_000)))
			}
			wantBody(t, Message{Done: true, RequestID: 3, Body: kept}, 3, body)
		}
	}
}

// Foresight beyond the budget takes nothing, and the message is put together
// like any other.
func TestForesightWithinTheBudget(t *testing.T) {
	budget := NewMemoryBudget(600_000)
	l := suite{PolicyNone, ModeNone}.link(t, Limits{MaxMessage: 1 << 20}, budget)
	l.opener.asm.foresee = func([]byte) (int, int) { return 700_000, 0 }
	m := l.open(t, l.seal(t, 3, pattern(100_000)))
	wantBody(t, m, 3, pattern(100_000))
	if m.Owned {
		t.Error("owned")
	}
	l.opener.Release()
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes of the budget are not given back", n)
	}
	// And what a message takes beyond its limit is refused as ever.
	l = suite{PolicyNone, ModeNone}.link(t, Limits{MaxMessage: 200_000}, nil)
	l.opener.asm.foresee = func([]byte) (int, int) { return 200_000, 0 }
	var err error
	large := suite{PolicyNone, ModeNone}.link(t, Limits{}, nil)
	for _, chunk := range split(large.seal(t, 3, pattern(300_000))) {
		if _, err = l.opener.Open(chunk); err != nil {
			break
		}
	}
	wantCode(t, err, ua.BadTcpMessageTooLarge)
}
