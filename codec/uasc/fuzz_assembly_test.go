package uasc

import (
	"bytes"
	"testing"

	"github.com/uahive/uahive/internal/fuzzguard"
)

// What an operation of FuzzAssembly does; the rest of its byte is a choice.
const (
	opIntermediate = iota
	opFinal
	opAbort
	opForeign // of another request
	opClose
	opForesee // what is foreseen from here on
	opRecycle
	opLimit
)

// FuzzAssembly lets one Opener receive chunks where it wants them or elsewhere, with
// foresight that is right, wrong or absent, and another one the same chunks in the
// plain way. They must agree in every answer, what was handed out as owned must stay
// as it is, and the budget gets everything back.
func FuzzAssembly(f *testing.F) {
	const ahead, spoil = 0x10, 0x20 // choices of an operation on a chunk
	seed := func(which uint8, ops ...byte) { f.Add(which, ops) }
	for which := range uint8(3) {
		// Three chunks of 20 KiB, foreseen exactly, ahead; then one that is not.
		seed(which, opForesee, 60, 0, opIntermediate, 20, opIntermediate|ahead, 20, opFinal|ahead, 20, opRecycle, 0, opFinal, 5)
		// Foreseen too much, too little.
		seed(which, opForesee, 90, 3, opIntermediate, 20, opIntermediate|ahead, 20, opFinal|ahead, 20)
		seed(which, opForesee, 50, 9, opIntermediate, 20, opIntermediate|ahead, 20, opFinal|ahead, 20, opIntermediate, 30, opFinal|ahead, 30)
		// Placed, and then received elsewhere; aborted; foreign; closed.
		seed(which, opForesee, 80, 0, opIntermediate, 40, opIntermediate|spoil, 20, opFinal|ahead, 20)
		seed(which, opForesee, 80, 0, opIntermediate, 40, opAbort|ahead, 20, opIntermediate, 40, opFinal|spoil, 10)
		seed(which, opForesee, 80, 0, opIntermediate, 20, opForeign|ahead, 20)
		seed(which, opForesee, 80, 0, opIntermediate, 20, opClose|ahead, 20)
		seed(which, opForesee, 200, 0, opIntermediate, 20, opLimit, 50, opIntermediate|ahead, 40)
		seed(which, opForesee, 41, 0, opIntermediate, 20, opIntermediate|ahead, 20, opIntermediate|ahead, 0, opIntermediate|spoil, 1, opFinal|ahead, 0)
	}
	suites := []suite{suites[0], {Basic256Sha256, ModeSign}, {ECCNistP256, ModeSignAndEncrypt}}
	const most = 512 << 10
	lim := Limits{ReceiveBuffer: 1 << 20, SendBuffer: 1 << 20, MaxMessage: most, MaxChunks: 12}
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{Base: 16 << 20, Bytes: 1 << 20}, func(t *testing.T, which uint8, ops []byte) {
		s := suites[int(which)%len(suites)]
		budget, plainBudget := NewMemoryBudget(16<<20), NewMemoryBudget(16<<20)
		l := s.link(t, lim, budget)
		plain := NewOpener(OpenerConfig{Limits: lim, Policy: s.policy, Budget: plainBudget})
		plain.Install(l.opener.Token())
		size, align := 0, 0
		l.opener.asm.foresee = func([]byte) (int, int) { return size, align }
		type kept struct{ body, want []byte }
		var owned []kept
		request := uint32(1)
		for n := 0; n+1 < len(ops) && n < 60; n += 2 {
			op, arg := ops[n]&0x07, int(ops[n+1])
			switch op {
			case opForesee:
				if n+2 < len(ops) {
					align = int(ops[n+2])
				}
				size = arg<<10 - align&^7
				if align&1 == 1 {
					size = -size
				}
				n++
				continue
			case opRecycle:
				l.opener.Recycle()
				plain.Recycle()
				continue
			case opLimit:
				l.opener.LimitMessage(uint32(arg) << 10)
				plain.LimitMessage(uint32(arg) << 10)
				continue
			}
			id := request
			if op == opForeign {
				id++
			}
			body := pattern(arg << 10)
			for i := range body {
				body[i] ^= byte(n)
			}
			if op == opAbort {
				body = append([]byte{0, 0, 0x33, 0x80, 4, 0, 0, 0}, "stop"...)
			}
			chunk := l.frame(t, nil, id, body)
			switch op {
			case opIntermediate, opForeign:
				chunk[3] = ChunkIntermediate
			case opAbort:
				chunk[3] = ChunkAbort
			case opClose:
				copy(chunk, "CLO")
			}
			if err := l.sealer.SealAll(chunk); err != nil {
				t.Fatal(err)
			}
			other := bytes.Clone(chunk)
			if ops[n]&(ahead|spoil) != 0 {
				memory := l.opener.Ahead()
				if memory != nil && len(memory) < aheadSize {
					t.Fatalf("%d bytes ahead", len(memory))
				}
				if spoiled := copy(memory, bytes.Repeat([]byte{0xEE}, len(memory))); ops[n]&spoil == 0 && spoiled >= len(chunk) {
					chunk = memory[:copy(memory, chunk)]
				}
			}
			got, err := l.opener.Open(chunk)
			want, wantErr := plain.Open(other)
			if err != wantErr {
				t.Fatalf("operation %d: %v, and in the plain way %v", n, err, wantErr)
			}
			if err != nil {
				break // of the loop: the channel is over
			}
			if got.Done != want.Done || got.RequestID != want.RequestID || got.Aborted != want.Aborted || got.Reason != want.Reason || got.Type != want.Type {
				t.Fatalf("operation %d: %+v, and in the plain way %+v", n, got, want)
			}
			if !bytes.Equal(got.Body, want.Body) {
				t.Fatalf("operation %d: a body of %d bytes is another than that of %d in the plain way", n, len(got.Body), len(want.Body))
			}
			if got.Owned {
				owned = append(owned, kept{got.Body, bytes.Clone(got.Body)})
			}
			if got.Done || got.Aborted.IsBad() {
				request++
			}
			if used := budget.Used(); used > 4*most {
				t.Fatalf("%d bytes of the budget are used", used)
			}
		}
		l.opener.Release()
		plain.Release()
		if a, b := budget.Used(), plainBudget.Used(); a != 0 || b != 0 {
			t.Fatalf("%d and %d bytes of the budgets are kept", a, b)
		}
		for _, k := range owned {
			if !bytes.Equal(k.body, k.want) {
				t.Fatal("what was handed out as owned has changed")
			}
		}
	}))
}
