package uasc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/internal/fuzzguard"
)

var smallLimits = Limits{ReceiveBuffer: MinBufferSize, SendBuffer: MinBufferSize}

// boundaryLengths are the body lengths around which the number of chunks, of
// cipher blocks, or both change, up to a bit more than three chunks.
func boundaryLengths(l *Layout) (lengths []int) {
	for n := range 70 {
		lengths = append(lengths, n)
	}
	for k := 1; k <= 3; k++ {
		for d := -35; d <= 35; d++ {
			lengths = append(lengths, k*l.maxBody+d)
		}
	}
	return lengths
}

// Every body length comes back, whatever the number of chunks, and no chunk is
// longer than the peer's buffer or wastes a block of it.
func TestBodiesOfAllLengthsRoundTrip(t *testing.T) {
	for _, s := range suites {
		t.Run(s.String(), func(t *testing.T) {
			l := s.link(t, smallLimits, nil)
			var buf []byte
			for i, n := range boundaryLengths(l.layout) {
				body, id := pattern(n), uint32(i+1)
				buf = l.frame(t, buf[:0], id, body)
				chunks := split(buf)
				if want := max(1, (n+l.layout.maxBody-1)/l.layout.maxBody); len(chunks) != want {
					t.Fatalf("%d bytes: %d chunks, want %d", n, len(chunks), want)
				}
				for _, c := range chunks[:len(chunks)-1] {
					if len(c) > MinBufferSize || len(c) <= MinBufferSize-16 {
						t.Fatalf("%d bytes: full chunk of %d bytes", n, len(c))
					}
				}
				if last := len(chunks[len(chunks)-1]); last > MinBufferSize {
					t.Fatalf("%d bytes: last chunk of %d bytes", n, last)
				}
				if err := l.sealer.SealAll(buf); err != nil {
					t.Fatal(err)
				}
				wantBody(t, l.open(t, buf), id, body)
			}
		})
	}
}

// Messages of random lengths, laid behind each other into one buffer as a batch
// is, sealed together or in parts.
func TestBatchesRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, s := range suites {
		t.Run(s.String(), func(t *testing.T) {
			l := s.link(t, smallLimits, nil)
			id := uint32(0)
			for range 60 {
				first := id + 1
				var bodies [][]byte
				var buf []byte
				sealed := 0
				for range 1 + rnd.IntN(5) {
					body := pattern(rnd.IntN(3*l.layout.maxBody + 50))
					bodies = append(bodies, body)
					id++
					buf = l.frame(t, buf, id, body)
					if rnd.IntN(2) == 0 {
						if err := l.sealer.SealAll(buf[sealed:]); err != nil {
							t.Fatal(err)
						}
						sealed = len(buf)
					}
				}
				if err := l.sealer.SealAll(buf[sealed:]); err != nil {
					t.Fatal(err)
				}
				for _, chunk := range split(buf) {
					m, err := l.opener.Open(chunk)
					if err != nil {
						t.Fatal(err)
					}
					if m.Done {
						wantBody(t, m, first, bodies[0])
						first++
						bodies = bodies[1:]
					}
				}
				if len(bodies) != 0 {
					t.Fatalf("%d messages missing", len(bodies))
				}
			}
		})
	}
}

// A message beyond what the peer takes is refused before anything is sent, and
// leaves what is in the buffer before it alone (threat V2).
func TestTooLargeMessageIsRefusedAndRemoved(t *testing.T) {
	for _, c := range []struct {
		name     string
		lim      Limits
		n        int
		response bool
		code     ua.StatusCode // Good: fits
	}{
		{"largest message", Limits{SendBuffer: 8192, MaxSendMessage: 10000}, 10000, true, ua.Good},
		{"one byte more", Limits{SendBuffer: 8192, MaxSendMessage: 10000}, 10001, true, ua.BadResponseTooLarge},
		{"request", Limits{SendBuffer: 8192, MaxSendMessage: 10000}, 10001, false, ua.BadRequestTooLarge},
		{"two chunks", Limits{SendBuffer: 8192, MaxSendChunks: 2}, 2 * (8192 - prefixSize), true, ua.Good},
		{"three chunks", Limits{SendBuffer: 8192, MaxSendChunks: 2}, 2*(8192-prefixSize) + 1, true, ua.BadResponseTooLarge},
		{"one chunk only", Limits{SendBuffer: 8192, MaxSendChunks: 1}, 8192, true, ua.BadResponseTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := must(NewLayout(PolicyNone, ModeNone, c.lim, 7, c.response))(t)
			before := []byte("what was there")
			dst, mark := l.Begin(bytes.Clone(before))
			dst, err := l.End(append(dst, pattern(c.n)...), mark, TypeMessage, 1)
			if c.code == ua.Good {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantCode(t, err, c.code)
			if !bytes.Equal(dst, before) {
				t.Fatalf("%d bytes left, want %d", len(dst), len(before))
			}
		})
	}
	l := must(NewLayout(PolicyNone, ModeNone, smallLimits, 7, false))(t)
	dst, mark := l.Begin(nil)
	if _, err := l.End(append(dst, pattern(9000)...), mark, TypeClose, 1); err == nil {
		t.Fatal("a CLO of two chunks was laid out")
	}
}

func TestLayoutRefusesModeThatDoesNotFit(t *testing.T) {
	_, err := NewLayout(PolicyNone, ModeSign, Limits{}, 1, true)
	wantCode(t, err, ua.BadSecurityModeRejected)
	_, err = NewLayout(Basic256Sha256, ModeNone, Limits{}, 1, true)
	wantCode(t, err, ua.BadSecurityModeRejected)
}

// The bytes of one chunk as an independent implementation of Part 6, 6.7 makes
// them from the same nonces.
func TestSealedChunkMatchesItsBytes(t *testing.T) {
	const header = `
		4d 53 47 46   # MSG, final
		%s 00 00 00   # size
		07 00 00 00   # channel 7
		01 00 00 00   # token 1
`
	for _, c := range []struct {
		s    suite
		want string
	}{
		{suite{PolicyNone, ModeNone}, fmt.Sprintf(header, "1d") + `
			01 00 00 00 2a 00 00 00 68 65 6c 6c 6f # sequence 1, request 42, "hello"`},
		{suite{Basic256Sha256, ModeSign}, fmt.Sprintf(header, "3d") + `
			01 00 00 00 2a 00 00 00 68 65 6c 6c 6f # sequence 1, request 42, "hello"
			53 c4 47 3d fe 50 16 e2 99 f7 84 1f c3 a2 09 d5 4a 12 08 ee 31 30 73 37 57 bf 9a 3f 16 93 5a 8e # signature`},
		{suite{Basic256Sha256, ModeSignAndEncrypt}, fmt.Sprintf(header, "40") + `
			4c 26 51 40 4c 12 6f ba be e6 8d e0 c9 1b 4e 71 0d 99 85 e2 8d d2 a2 a5 # sequence, request, "hello", 2 bytes of padding, signature; encrypted
			83 27 93 da b1 e2 f5 e6 d1 19 c8 22 66 a0 ec f5 db e8 24 f6 7f ec 82 cc`},
		{suite{Aes128Sha256RsaOaep, ModeSignAndEncrypt}, fmt.Sprintf(header, "40") + `
			c7 34 85 a7 f8 e6 42 be 53 4b 69 9f 3f 3a e7 f8 a6 f9 52 f8 b1 b1 f3 4e # the same under AES-128
			6c e1 28 fe ca 99 d1 52 89 aa a7 ee ac 22 6e 10 9b 4f 99 0b db 92 5d 2e`},
	} {
		t.Run(c.s.String(), func(t *testing.T) {
			client, server := make([]byte, 32), make([]byte, 32)
			for i := range client {
				client[i], server[i] = byte(1+i), byte(101+i)
			}
			tok := must(NewToken(TokenConfig{Policy: c.s.policy, Mode: c.s.mode, ChannelID: 7, ID: 1, Local: Share{Nonce: client}, RemoteNonce: server}))(t)
			l := link{layout: must(NewLayout(c.s.policy, c.s.mode, Limits{}, 7, false))(t), sealer: &Sealer{}}
			l.sealer.Use(tok)
			if got, want := l.seal(t, 42, []byte("hello")), golden(t, c.want); !bytes.Equal(got, want) {
				t.Errorf("\n got %x\nwant %x", got, want)
			}
		})
	}
}

func TestSealAllRefusesWhatIsNotFrames(t *testing.T) {
	l := suites[2].link(t, Limits{}, nil)
	good := l.frame(t, nil, 1, []byte("body"))
	for name, b := range map[string][]byte{
		"part of a header": good[:5],
		"part of a frame":  good[:len(good)-1],
		"size 0":           append([]byte("MSGF"), 0, 0, 0, 0),
		"no room":          rawHeader("MSGF", 24)[:8],
		"odd size":         append(rawHeader("MSGF", 100), make([]byte, 92)...),
	} {
		if err := l.sealer.SealAll(b); err == nil {
			t.Errorf("%s: sealed", name)
		}
	}
	if err := new(Sealer).SealAll(good); err == nil {
		t.Error("sealed without a token")
	}
	other := (&ErrorMessage{Code: ua.BadTcpInternalError, Reason: "x"}).AppendTo(nil)
	was := bytes.Clone(other)
	if err := l.sealer.SealAll(other); err != nil || !bytes.Equal(other, was) {
		t.Errorf("ERR frame changed, %v", err)
	}
}

// Abort, valid and with an overlong reason (Part 6, 6.7.3; threat S4): the
// message is gone, the channel is not.
func TestAbortDropsTheMessageAlone(t *testing.T) {
	for _, s := range suites {
		t.Run(s.String(), func(t *testing.T) {
			budget := NewMemoryBudget(1 << 20)
			l := s.link(t, smallLimits, budget)
			frames := split(l.frame(t, nil, 5, pattern(20000)))
			batch := bytes.Clone(frames[0])
			batch = append(batch, frames[1]...)
			batch = l.layout.Abort(batch, 5, ua.BadEncodingLimitsExceeded, "too much "+strings.Repeat("x", MaxReasonLength))
			batch = l.frame(t, batch, 6, []byte("next"))
			if err := l.sealer.SealAll(batch); err != nil {
				t.Fatal(err)
			}
			chunks := split(batch)
			for _, c := range chunks[:2] {
				if m, err := l.opener.Open(c); err != nil || m.Done || m.Aborted != ua.Good {
					t.Fatalf("intermediate chunk gave %+v, %v", m, err)
				}
			}
			if !l.opener.Assembling() || budget.Used() == 0 {
				t.Fatal("nothing in assembly")
			}
			m, err := l.opener.Open(chunks[2])
			if err != nil || m.Done || m.Aborted != ua.BadEncodingLimitsExceeded || m.RequestID != 5 || len(m.Reason) != MaxReasonLength {
				t.Fatalf("abort gave %+v, %v", m, err)
			}
			if l.opener.Assembling() || budget.Used() != 0 {
				t.Fatal("aborted message still held")
			}
			m, err = l.opener.Open(chunks[3])
			if err != nil {
				t.Fatal(err)
			}
			wantBody(t, m, 6, []byte("next"))
		})
	}
}

// A malformed abort from a verified sender loses its meaning, not the channel.
func TestMalformedAbortEndsTheRequestOnly(t *testing.T) {
	l := suites[0].link(t, Limits{}, nil)
	for i, body := range [][]byte{nil, {1, 2}, {0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, {0, 0, 0xb8, 0x80, 0xfe, 0xff, 0xff, 0xff}} {
		frames := l.frame(t, nil, uint32(i), body)
		frames[3] = ChunkAbort
		if err := l.sealer.SealAll(frames); err != nil {
			t.Fatal(err)
		}
		m, err := l.opener.Open(frames)
		if err != nil || m.Aborted != ua.BadUnexpectedError || m.Done {
			t.Errorf("body %x gave %+v, %v", body, m, err)
		}
	}
}

func FuzzLayout(f *testing.F) {
	f.Add(uint8(2), uint16(0), uint16(8143), uint16(16287))
	f.Add(uint8(0), uint16(8168), uint16(1), uint16(24504))
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, which uint8, a, b, c uint16) {
		s := suites[int(which)%len(suites)]
		l := s.link(t, smallLimits, nil)
		var buf []byte
		for i, n := range []uint16{a, b, c} {
			buf = l.frame(t, buf, uint32(i), pattern(int(n)))
		}
		if err := l.sealer.SealAll(buf); err != nil {
			t.Fatal(err)
		}
		for i, n := range []uint16{a, b, c} {
			for {
				size := binary.LittleEndian.Uint32(buf[4:])
				m, err := l.opener.Open(buf[:size])
				if err != nil {
					t.Fatal(err)
				}
				buf = buf[size:]
				if m.Done {
					wantBody(t, m, uint32(i), pattern(int(n)))
					break
				}
			}
		}
	}))
}
