package uasc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/internal/fuzzguard"
)

// Both ends through a renewal: the old token stays valid until the new one is
// first used, sequence numbers go on, and nothing is lost between (Part 4,
// 5.6.2.1; threats S6 and R3).
func TestRenewalOverlap(t *testing.T) {
	for _, s := range suites {
		t.Run(s.String(), func(t *testing.T) {
			l := s.link(t, smallLimits, nil)
			client2, server2 := s.tokens(t, 2)
			send := func(id uint32, want uint32) []byte {
				t.Helper()
				body := pattern(100)
				frames := l.seal(t, id, body)
				copied := bytes.Clone(frames)
				m := l.open(t, frames)
				wantBody(t, m, id, body)
				if m.TokenID != want {
					t.Fatalf("token %d, want %d", m.TokenID, want)
				}
				return copied
			}
			send(1, 1)
			l.opener.Install(server2)
			send(2, 1)
			send(3, 1)

			// A message whose chunks are sealed with both tokens.
			frames := l.frame(t, nil, 4, pattern(10000))
			chunks := split(frames)
			if err := l.sealer.SealAll(chunks[0]); err != nil {
				t.Fatal(err)
			}
			old := l.sealer.Token()
			l.sealer.Use(client2)
			if err := l.sealer.SealAll(chunks[1]); err != nil {
				t.Fatal(err)
			}
			wantBody(t, l.open(t, frames), 4, pattern(10000))

			send(5, 2)
			if l.opener.Token() != server2 || l.opener.tokens[1] != nil {
				t.Fatal("old token still held after the new one was used")
			}
			l.sealer.Use(old)
			_, err := l.opener.Open(l.seal(t, 6, nil))
			wantCode(t, err, ua.BadSecureChannelTokenUnknown)
		})
	}
}

// Renewing again and again holds no more tokens (threat S10) and does not take
// away the one in use; a client that renews twice in a row may still use what it
// got first (threat R3).
func TestRenewalFloodHoldsFewTokens(t *testing.T) {
	s := suites[2]
	l := s.link(t, Limits{}, nil)
	var clients []*Token
	for id := uint32(2); id < 50; id++ {
		c, srv := s.tokens(t, id)
		clients = append(clients, c)
		l.opener.Install(srv)
	}
	wantBody(t, l.open(t, l.seal(t, 1, []byte("x"))), 1, []byte("x")) // with the token in use
	for _, c := range clients[len(clients)-maxTokens+1:] {
		l.sealer.Use(c)
		wantBody(t, l.open(t, l.seal(t, 1, []byte("x"))), 1, []byte("x"))
	}
	l.sealer.Use(clients[0])
	_, err := l.opener.Open(l.seal(t, 1, nil))
	wantCode(t, err, ua.BadSecureChannelTokenUnknown)
}

// A token is accepted until a quarter beyond its lifetime (Part 4, 5.6.2.1).
func TestExpiredTokenIsRefused(t *testing.T) {
	l := suites[2].link(t, Limits{}, nil)
	created := l.opener.tokens[0].Created
	if _, err := l.opener.OpenAt(l.seal(t, 1, nil), created.Add(75*time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, err := l.opener.OpenAt(l.seal(t, 1, nil), created.Add(75*time.Minute+1))
	wantCode(t, err, ua.BadSecureChannelTokenUnknown)
	if (&Token{}).Expired(created) {
		t.Fatal("a token without a lifetime expired")
	}
}

// What is wrong with the plain header of a chunk.
func TestForeignChunksAreRefused(t *testing.T) {
	for _, s := range suites {
		for _, c := range []struct {
			name string
			code ua.StatusCode
			edit func(b []byte) []byte
		}{
			{"other channel", ua.BadTcpSecureChannelUnknown, func(b []byte) []byte { b[8]++; return b }},
			{"channel 0", ua.BadTcpSecureChannelUnknown, func(b []byte) []byte { clear(b[8:12]); return b }},
			{"other token", ua.BadSecureChannelTokenUnknown, func(b []byte) []byte { b[12]++; return b }},
			{"token 0", ua.BadSecureChannelTokenUnknown, func(b []byte) []byte { clear(b[12:16]); return b }},
			{"size below the chunk's", ua.BadTcpMessageTooLarge, func(b []byte) []byte { b[4]--; return b }},
			{"size above the chunk's", ua.BadTcpMessageTooLarge, func(b []byte) []byte { return b[:len(b)-1] }},
			{"too short", ua.BadTcpMessageTooLarge, func(b []byte) []byte { return b[:20] }},
			{"empty", ua.BadTcpMessageTooLarge, func(b []byte) []byte { return nil }},
			{"an OPN", ua.BadTcpMessageTypeInvalid, func(b []byte) []byte { copy(b, "OPN"); return b }},
			{"a HEL", ua.BadTcpMessageTypeInvalid, func(b []byte) []byte { copy(b, "HEL"); return b }},
			{"intermediate CLO", ua.BadTcpMessageTypeInvalid, func(b []byte) []byte { copy(b, "CLOC"); return b }},
			{"unknown chunk type", ua.BadTcpMessageTypeInvalid, func(b []byte) []byte { b[3] = 'X'; return b }},
		} {
			t.Run(s.String()+"/"+c.name, func(t *testing.T) {
				l := s.link(t, Limits{}, nil)
				_, err := l.opener.Open(c.edit(l.seal(t, 1, []byte("body"))))
				wantCode(t, err, c.code)
			})
		}
	}
	fresh := NewOpener(OpenerConfig{})
	_, err := fresh.Open(suites[0].link(t, Limits{}, nil).seal(t, 1, nil))
	wantCode(t, err, ua.BadTcpSecureChannelUnknown)
}

// Any byte changed in a secured chunk is the same failure, and so is any
// truncation, whether it hits the signature, the padding or the body (threat
// S8).
func TestThreat_S8_EveryFlippedByteFailsAlike(t *testing.T) {
	for _, s := range suites[1:] {
		t.Run(s.String(), func(t *testing.T) {
			l := s.link(t, Limits{}, nil)
			sealed := l.seal(t, 1, pattern(37))
			chunk := make([]byte, len(sealed))
			// What precedes is in TestForeignChunksAreRefused.
			for i := sequenceStart; i < len(sealed); i++ {
				for _, flip := range []byte{0x01, 0x80, 0xff} {
					copy(chunk, sealed)
					chunk[i] ^= flip
					if m, err := l.opener.Open(chunk); err != errSecurity || m.Body != nil {
						t.Fatalf("byte %d: %v", i, err)
					}
				}
			}
			for n := prefixSize; n < len(sealed); n++ {
				short := bytes.Clone(sealed[:n])
				binary.LittleEndian.PutUint32(short[4:], uint32(n))
				if _, err := l.opener.Open(short); err != errSecurity {
					t.Fatalf("cut to %d bytes: %v", n, err)
				}
			}
			// The chunk type is signed too.
			copy(chunk, sealed)
			chunk[3] = ChunkIntermediate
			if _, err := l.opener.Open(chunk); err != errSecurity {
				t.Fatalf("chunk type changed: %v", err)
			}
			// None of this has moved the state.
			wantBody(t, l.open(t, sealed), 1, pattern(37))
		})
	}
	wantCode(t, errSecurity, ua.BadSecurityChecksFailed)
	if errSecurity.Detail != "" {
		t.Fatal("the error tells something")
	}
}

// resecure signs and encrypts a frame as its sender would, whatever is in it.
func resecure(tok *Token, frame []byte) {
	e := tok.Policy.mac.engine()
	defer e.release()
	inner, outer := tok.sendMAC()
	signed := len(frame) - tok.Policy.signature
	copy(frame[signed:], e.compute(inner, outer, frame[:signed]))
	if tok.send.cbc != nil {
		tok.send.crypt(frame[sequenceStart:])
	}
}

// Padding that lies, from a sender who knows the keys, is the same failure as a
// bad signature (threat S8).
func TestThreat_S8_LyingPaddingFailsAlike(t *testing.T) {
	s := suites[2]
	for n := range 20 {
		l := s.link(t, Limits{}, nil)
		frame := l.frame(t, nil, 1, pattern(n))
		binary.LittleEndian.PutUint32(frame[headerSize+4:], 1)
		binary.LittleEndian.PutUint32(frame[sequenceStart:], 1)
		end := len(frame) - s.policy.signature
		pad := int(frame[end-1])
		for v := range 256 {
			bad := bytes.Clone(frame)
			bad[end-1] = byte(v)
			resecure(l.sealer.Token(), bad)
			m, err := l.opener.Open(bad)
			fits := v == pad
			if v < pad {
				fits = v == 0 // the byte alone; what precedes it becomes body
			}
			if v == 0 && pad != 0 {
				fits = true
			}
			if fits != (err == nil) {
				t.Fatalf("%d bytes, padding %d stated as %d: %v", n, pad, v, err)
			}
			if err != nil && err != errSecurity {
				t.Fatalf("%d bytes, padding %d stated as %d: %v", n, pad, v, err)
			}
			if err == nil && v == pad {
				wantBody(t, m, 1, pattern(n))
			}
			l.opener.seq = Sequence{}
		}
	}
}

// A gap, a repetition and a step back are all a lost or replayed chunk (Part 6,
// 6.7.2.4; threats S5 and S7).
func TestThreat_S5_SequenceViolationsAreFatal(t *testing.T) {
	for _, s := range suites {
		t.Run(s.String(), func(t *testing.T) {
			l := s.link(t, Limits{}, nil)
			first := l.seal(t, 1, []byte("a"))
			replay := bytes.Clone(first)
			l.open(t, first)
			_, err := l.opener.Open(replay)
			wantCode(t, err, ua.BadSecurityChecksFailed)
			if err != errSequence {
				t.Fatalf("got %v", err)
			}
			l.seal(t, 2, []byte("lost"))
			_, err = l.opener.Open(l.seal(t, 3, []byte("after the gap")))
			if err != errSequence {
				t.Fatalf("gap gave %v", err)
			}
		})
	}
	l := suites[0].link(t, Limits{}, nil)
	if err := l.opener.AcceptSequence(l.sealer.NextSequence()); err != nil {
		t.Fatal(err)
	}
	l.open(t, l.seal(t, 1, nil))
	if err := l.opener.AcceptSequence(1); err != errSequence {
		t.Fatalf("repeated OPN gave %v", err)
	}
	if err := l.opener.AcceptSequence(l.sealer.NextSequence()); err != nil {
		t.Fatal(err)
	}
}

// The sequence wraps on a working channel without anyone noticing.
func TestSequenceWrapsOnTheWire(t *testing.T) {
	l := suites[2].link(t, Limits{}, nil)
	l.sealer.seq = Sequence{started: true, last: legacyWrap - 2}
	for id := range uint32(6) {
		wantBody(t, l.open(t, l.seal(t, id, []byte("x"))), id, []byte("x"))
	}
	if l.opener.seq.last > legacyRestart {
		t.Fatalf("sequence is at %d", l.opener.seq.last)
	}
}

func TestChunkLimitsHoldBeforeTheFinalChunk(t *testing.T) {
	lim := Limits{ReceiveBuffer: 8192, SendBuffer: 8192, MaxMessage: 20000, MaxChunks: 10}
	for _, s := range suites {
		t.Run(s.String(), func(t *testing.T) {
			// intermediate sends one chunk of n bytes.
			intermediate := func(l *link, n int, kind byte) error {
				frame := l.frame(t, nil, 1, pattern(n))
				frame[3] = kind
				if err := l.sealer.SealAll(frame); err != nil {
					t.Fatal(err)
				}
				_, err := l.opener.Open(frame)
				return err
			}
			// Tiny and empty chunks count (threat S1).
			for _, n := range []int{0, 1} {
				budget := NewMemoryBudget(1 << 20)
				l := s.link(t, lim, budget)
				for i := range 9 {
					if err := intermediate(l, n, ChunkIntermediate); err != nil {
						t.Fatalf("chunk %d of %d bytes: %v", i, n, err)
					}
				}
				wantCode(t, intermediate(l, n, ChunkIntermediate), ua.BadTcpMessageTooLarge)
				l.opener.Release()
				if budget.Used() != 0 {
					t.Fatalf("%d bytes of the budget kept", budget.Used())
				}
			}
			// As many as allowed, the last one being final.
			l := s.link(t, lim, nil)
			for range 9 {
				if err := intermediate(l, 2000, ChunkIntermediate); err != nil {
					t.Fatal(err)
				}
			}
			if err := intermediate(l, 2000, ChunkFinal); err != nil {
				t.Fatal(err)
			}
			// Bytes, in chunks and in one.
			l = s.link(t, lim, nil)
			for range 2 {
				if err := intermediate(l, 8000, ChunkIntermediate); err != nil {
					t.Fatal(err)
				}
			}
			wantCode(t, intermediate(l, 4001, ChunkIntermediate), ua.BadTcpMessageTooLarge)
			l = s.link(t, Limits{ReceiveBuffer: 8192, SendBuffer: 8192, MaxMessage: 100}, nil)
			wantCode(t, intermediate(l, 101, ChunkFinal), ua.BadTcpMessageTooLarge)
		})
	}
}

// Case C14: many connections send chunks without an end. Together they hold no
// more than the budget, and all of it comes back.
func TestBudgetBoundsAllConnections(t *testing.T) {
	budget := NewMemoryBudget(1 << 20)
	s := suites[0]
	var links []*link
	refused := 0
	for range 50 {
		l := s.link(t, Limits{}, budget)
		links = append(links, l)
		for range 20 {
			frame := l.frame(t, nil, 1, pattern(DefaultBuffer-prefixSize))
			frame[3] = ChunkIntermediate
			if err := l.sealer.SealAll(frame); err != nil {
				t.Fatal(err)
			}
			if _, err := l.opener.Open(frame); err != nil {
				wantCode(t, err, ua.BadTcpNotEnoughResources)
				refused++
				break
			}
			if budget.Used() > 1<<20 {
				t.Fatalf("budget exceeded: %d", budget.Used())
			}
		}
	}
	if refused != len(links) {
		t.Fatalf("%d of %d refused", refused, len(links))
	}
	for _, l := range links {
		l.opener.Release()
		l.opener.Release()
	}
	if budget.Used() != 0 {
		t.Fatalf("%d bytes not given back", budget.Used())
	}
}

// An assembled body lives until Recycle or the next chunk, and costs the budget
// until then.
func TestAssembledBodyIsGivenBack(t *testing.T) {
	budget := NewMemoryBudget(1 << 20)
	l := suites[2].link(t, smallLimits, budget)
	wantBody(t, l.open(t, l.seal(t, 1, pattern(50000))), 1, pattern(50000))
	if budget.Used() < 50000 {
		t.Fatalf("budget at %d", budget.Used())
	}
	l.opener.Recycle()
	l.opener.Recycle()
	if budget.Used() != 0 {
		t.Fatalf("budget at %d after Recycle", budget.Used())
	}
	wantBody(t, l.open(t, l.seal(t, 2, pattern(50000))), 2, pattern(50000))
	wantBody(t, l.open(t, l.seal(t, 3, []byte("short"))), 3, []byte("short"))
	if budget.Used() != 0 {
		t.Fatalf("budget at %d after the next message", budget.Used())
	}
	// Recycle in the middle of an assembly does nothing.
	chunks := split(l.seal(t, 4, pattern(20000)))
	for _, c := range chunks[:2] {
		if _, err := l.opener.Open(c); err != nil {
			t.Fatal(err)
		}
		l.opener.Recycle()
	}
	m, err := l.opener.Open(chunks[2])
	if err != nil {
		t.Fatal(err)
	}
	wantBody(t, m, 4, pattern(20000))
}

// Chunks of two messages never mix (Part 6, 6.7.3; threat S3).
func TestInterleavedMessagesAreFatal(t *testing.T) {
	for _, kind := range []byte{ChunkFinal, ChunkIntermediate, ChunkAbort} {
		l := suites[2].link(t, smallLimits, nil)
		batch := bytes.Clone(split(l.frame(t, nil, 1, pattern(10000)))[0])
		other := l.frame(t, nil, 2, pattern(8))
		other[3] = kind
		batch = append(batch, other...)
		if err := l.sealer.SealAll(batch); err != nil {
			t.Fatal(err)
		}
		chunks := split(batch)
		if _, err := l.opener.Open(chunks[0]); err != nil {
			t.Fatal(err)
		}
		_, err := l.opener.Open(chunks[1])
		wantCode(t, err, ua.BadTcpMessageTypeInvalid)
	}
}

// A CLO in the middle of a message closes the channel all the same, and what was
// in assembly is freed.
func TestCloseDropsTheMessageInAssembly(t *testing.T) {
	budget := NewMemoryBudget(1 << 20)
	l := suites[2].link(t, smallLimits, budget)
	batch := bytes.Clone(split(l.frame(t, nil, 1, pattern(10000)))[0])
	batch, mark := l.layout.Begin(batch)
	batch, err := l.layout.End(append(batch, "close"...), mark, TypeClose, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.sealer.SealAll(batch); err != nil {
		t.Fatal(err)
	}
	chunks := split(batch)
	if _, err := l.opener.Open(chunks[0]); err != nil {
		t.Fatal(err)
	}
	m, err := l.opener.Open(chunks[1])
	if err != nil || m.Type != TypeClose {
		t.Fatalf("got %+v, %v", m, err)
	}
	wantBody(t, m, 2, []byte("close"))
	if budget.Used() != 0 {
		t.Fatalf("budget at %d", budget.Used())
	}
}

func TestReleasedOpenerAcceptsNothing(t *testing.T) {
	l := suites[0].link(t, Limits{}, nil)
	l.opener.Release()
	_, err := l.opener.Open(l.seal(t, 1, nil))
	wantCode(t, err, ua.BadTcpSecureChannelUnknown)
}

// Sealing and opening allocate nothing in a steady state.
func TestSymmetricPathDoesNotAllocate(t *testing.T) {
	for _, s := range suites {
		t.Run(s.String(), func(t *testing.T) {
			l := s.link(t, Limits{}, nil)
			body, buf, now := pattern(300), make([]byte, 0, 4096), time.Now()
			allocs := testing.AllocsPerRun(200, func() {
				dst := buf
				for id := range uint32(3) {
					var mark int
					dst, mark = l.layout.Begin(dst)
					var err error
					if dst, err = l.layout.End(append(dst, body...), mark, TypeMessage, id); err != nil {
						t.Fatal(err)
					}
				}
				if err := l.sealer.SealAll(dst); err != nil {
					t.Fatal(err)
				}
				for len(dst) > 0 {
					n := binary.LittleEndian.Uint32(dst[4:])
					if m, err := l.opener.OpenAt(dst[:n], now); err != nil || len(m.Body) != len(body) {
						t.Fatal(err)
					}
					dst = dst[n:]
				}
			})
			if allocs != 0 && !raceEnabled {
				t.Fatalf("%v allocations", allocs)
			}
		})
	}
}

// FuzzOpenerPlain feeds an unsecured channel whatever a stranger may send: no
// panic, no more memory than the limits allow, and all of it given back.
func FuzzOpenerPlain(f *testing.F) {
	// Small seeds, since large ones keep the fuzzer busy minimizing them.
	l := suites[0].link(f, smallLimits, nil)
	var stream []byte
	for id, kinds := range []string{"F", "CCF", "CA", "CC"} {
		for i, kind := range []byte(kinds) {
			at := len(stream)
			stream = l.frame(f, stream, uint32(id), pattern(8*(i+1)))
			stream[at+3] = kind
		}
	}
	if err := l.sealer.SealAll(stream); err != nil {
		f.Fatal(err)
	}
	f.Add(stream)
	f.Add(bytes.Clone(stream[:3*24]))
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, stream []byte) {
		budget := NewMemoryBudget(1 << 18)
		l := suites[0].link(t, Limits{ReceiveBuffer: 8192, MaxMessage: 1 << 15, MaxChunks: 8}, budget)
		for len(stream) >= headerSize {
			h, err := ParseHeader(stream, 8192)
			if err != nil || int(h.Size) > len(stream) {
				break
			}
			m, err := l.opener.Open(stream[:h.Size])
			if err != nil {
				var code ua.StatusCode
				if !errors.As(err, &code) || !code.IsBad() {
					t.Fatalf("error %v has no code", err)
				}
				break
			}
			if m.Done && len(m.Body) > 1<<15 || len(m.Reason) > MaxReasonLength || !m.Done && m.Body != nil {
				t.Fatalf("message beyond the limits: %+v", m)
			}
			if budget.Used() > 1<<17 {
				t.Fatalf("%d bytes in assembly", budget.Used())
			}
			stream = stream[h.Size:]
		}
		l.opener.Release()
		if budget.Used() != 0 {
			t.Fatalf("%d bytes kept", budget.Used())
		}
	}))
}

// FuzzOpenerSecured changes the plain text of a chunk and then signs and
// encrypts it, as a hostile peer with a channel of its own can.
func FuzzOpenerSecured(f *testing.F) {
	f.Add(uint8(1), uint16(40), []byte{0, 0, 0})
	f.Add(uint8(2), uint16(40), []byte{255, 255})
	f.Add(uint8(10), uint16(40), []byte{1})
	f.Add(uint8(13), uint16(0), []byte{1})
	f.Add(uint8(4), uint16(0), []byte{15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15})
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, which uint8, at uint16, edit []byte) {
		s := suites[1:][int(which)%len(suites[1:])]
		l := s.link(t, smallLimits, nil)
		frame := l.frame(t, nil, 1, pattern(64))
		binary.LittleEndian.PutUint32(frame[headerSize+4:], 1)
		if !s.policy.StrictSequence { // else the first number is 0
			binary.LittleEndian.PutUint32(frame[sequenceStart:], 1)
		}
		plain := frame[sequenceStart : len(frame)-s.policy.signature]
		copy(plain[int(at)%len(plain):], edit)
		resecure(l.sealer.Token(), frame)
		m, err := l.opener.Open(frame)
		if err != nil && err != errSecurity && (err != errSequence || !s.policy.StrictSequence) {
			t.Fatalf("unexpected %v", err)
		}
		if err == nil && len(m.Body) > len(plain) {
			t.Fatal("body longer than what was sent")
		}
	}))
}
