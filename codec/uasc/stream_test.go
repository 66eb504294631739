package uasc

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/uahive/uahive/codec/ua"
)

// parts cuts a body at random places; some parts are empty.
func parts(r *rand.Rand, body []byte) (list [][]byte) {
	for len(body) > 0 {
		n := min(r.IntN(3)*r.IntN(20_000), len(body))
		list = append(list, body[:n:n])
		body = body[n:]
	}
	return append(list, nil)
}

// A message that is laid out a few frames at a time is byte for byte the one
// that is laid out at once, however its body is cut, and the receiver takes it.
func TestStreamIsTheMessageLaidOutAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range suites {
		for _, lim := range []Limits{{}, {SendBuffer: 8192}} {
			for _, n := range []int{0, 1, 8000, 65_511, 65_512, 300_000, 524_288} {
				t.Run(fmt.Sprintf("%v/%d/%d", s, lim.SendBuffer, n), func(t *testing.T) {
					l := s.link(t, lim, nil)
					body := pattern(n)
					want := l.frame(t, nil, 9, body)
					twin := new(Sealer)
					twin.Begin(s.policy)
					twin.Use(l.sealer.Token())
					if err := twin.SealAll(want); err != nil {
						t.Fatal(err)
					}
					var stream Stream
					if err := stream.Start(l.layout, 9, parts(r, body)); err != nil {
						t.Fatal(err)
					}
					if stream.Left() != n {
						t.Fatalf("%d bytes left of %d", stream.Left(), n)
					}
					if n == 0 {
						return // has no frames: what is that small is not streamed
					}
					var got []byte
					for rounds := 0; stream.Left() > 0; rounds++ {
						window := stream.Frames(make([]byte, 0, rounds*50_000))
						if len(window) == 0 || rounds > 0 && len(split(window)) > 1 && cap(window) > rounds*50_000+8192 {
							t.Fatalf("window of %d bytes, capacity %d", len(window), cap(window))
						}
						got = append(got, window...)
					}
					if err := l.sealer.SealAll(got); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(got, want) {
						t.Fatalf("%d bytes laid out in pieces differ from %d laid out at once", len(got), len(want))
					}
					wantBody(t, l.open(t, got), 9, body)
				})
			}
		}
	}
}

// Without security the bodies are not copied: what is written refers to where
// they are.
func TestGatheredFramesAreTheMessage(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s := suite{PolicyNone, ModeNone}
	l, twin := s.link(t, Limits{}, nil), s.link(t, Limits{}, nil)
	for _, n := range []int{1, 65_511, 65_512, 1_000_000} {
		body := pattern(n)
		want := twin.seal(t, 9, body)
		var stream Stream
		if err := stream.Start(l.layout, 9, parts(r, body)); err != nil {
			t.Fatal(err)
		}
		var got []byte
		for stream.Left() > 0 {
			headers, vector := stream.Gather(make([]byte, 0, 3*HeaderSize+5), nil)
			if len(headers) > 3*HeaderSize {
				t.Fatalf("%d bytes of headers", len(headers))
			}
			if err := l.sealer.NumberAll(headers); err != nil {
				t.Fatal(err)
			}
			for _, piece := range vector {
				got = append(got, piece...)
			}
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%d: %d bytes gathered differ from %d sealed", n, len(got), len(want))
		}
		wantBody(t, l.open(t, got), 9, body)
	}
}

// What is too large is refused as Layout.End refuses it, before the first frame.
func TestStreamBeyondTheLimits(t *testing.T) {
	for _, lim := range []Limits{{MaxSendMessage: 100_000}, {MaxSendChunks: 2}} {
		l := suite{PolicyNone, ModeNone}.link(t, lim, nil)
		var stream Stream
		for n, refused := range map[int]bool{100_000: false, 131_022: lim.MaxSendMessage != 0, 131_023: true} {
			err := stream.Start(l.layout, 1, [][]byte{make([]byte, 20), make([]byte, n-20)})
			if (err != nil) != refused {
				t.Errorf("%+v, %d bytes: %v", lim, n, err)
			}
			if refused {
				wantCode(t, err, ua.BadRequestTooLarge)
			}
		}
	}
}

// Headers of frames that have to be signed are not sent without a signature.
func TestNumberAllRefusesSecureChannels(t *testing.T) {
	for _, s := range suites {
		l := s.link(t, Limits{}, nil)
		err := l.sealer.NumberAll(make([]byte, HeaderSize))
		if (err != nil) != s.policy.Secure() {
			t.Errorf("%v: %v", s, err)
		}
		if plain := l.layout.Plain(); plain == s.policy.Secure() {
			t.Errorf("%v: plain %v", s, plain)
		}
	}
}
