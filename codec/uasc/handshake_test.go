package uasc

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/internal/fuzzguard"
)

// golden turns annotated hexadecimal lines into bytes; what follows a '#' is the
// annotation.
func golden(t testing.TB, s string) []byte {
	t.Helper()
	var b []byte
	for line := range strings.Lines(s) {
		line, _, _ = strings.Cut(line, "#")
		b = append(b, must(hex.DecodeString(strings.Join(strings.Fields(line), "")))(t)...)
	}
	return b
}

const helloGolden = `
	48 45 4c 46   # HEL, final
	38 00 00 00   # 56 bytes
	00 00 00 00   # protocol version 0
	ff ff 00 00   # receive buffer 65535
	00 20 00 00   # send buffer 8192
	00 00 40 00   # message size 4 MiB
	80 00 00 00   # 128 chunks
	18 00 00 00   # 24 bytes of URL
	6f 70 63 2e 74 63 70 3a 2f 2f 6c 6f 63 61 6c 68 6f 73 74 3a 34 38 34 30 # opc.tcp://localhost:4840`

const acknowledgeGolden = `
	41 43 4b 46   # ACK, final
	1c 00 00 00   # 28 bytes
	00 00 00 00   # protocol version 0
	00 20 00 00   # receive buffer 8192
	ff ff 00 00   # send buffer 65535
	00 00 00 00   # no limit of the message size
	00 00 00 00   # no limit of the chunks`

const errorGolden = `
	45 52 52 46   # ERR, final
	18 00 00 00   # 24 bytes
	00 00 80 80   # BadTcpMessageTooLarge
	08 00 00 00   # 8 bytes of reason
	74 6f 6f 20 6c 6f 6e 67 # too long`

const reverseHelloGolden = `
	52 48 45 46   # RHE, final
	24 00 00 00   # 36 bytes
	05 00 00 00   # 5 bytes of server URI
	75 72 6e 3a 61 # urn:a
	0f 00 00 00   # 15 bytes of endpoint URL
	6f 70 63 2e 74 63 70 3a 2f 2f 61 3a 31 32 33 # opc.tcp://a:123`

func TestHandshakeFramesMatchTheirBytes(t *testing.T) {
	hello := Hello{ReceiveBufferSize: 65535, SendBufferSize: 8192, MaxMessageSize: 4 << 20, MaxChunkCount: 128, EndpointURL: "opc.tcp://localhost:4840"}
	ack := Acknowledge{ReceiveBufferSize: 8192, SendBufferSize: 65535}
	errm := ErrorMessage{Code: ua.BadTcpMessageTooLarge, Reason: "too long"}
	reverse := ReverseHello{ServerURI: "urn:a", EndpointURL: "opc.tcp://a:123"}
	check := func(name, want string, got []byte) {
		if w := golden(t, want); !bytes.Equal(got, w) {
			t.Errorf("%s:\n got %x\nwant %x", name, got, w)
		}
	}
	check("HEL", helloGolden, hello.AppendTo(nil))
	check("ACK", acknowledgeGolden, ack.AppendTo(nil))
	check("ERR", errorGolden, errm.AppendTo(nil))
	check("RHE", reverseHelloGolden, reverse.AppendTo(nil))

	var h Hello
	if err := h.Decode(golden(t, helloGolden)); err != nil || h != hello {
		t.Errorf("HEL decoded to %+v, %v", h, err)
	}
	var a Acknowledge
	if err := a.Decode(golden(t, acknowledgeGolden)); err != nil || a != ack {
		t.Errorf("ACK decoded to %+v, %v", a, err)
	}
	var e ErrorMessage
	if err := e.Decode(golden(t, errorGolden)); err != nil || e != errm {
		t.Errorf("ERR decoded to %+v, %v", e, err)
	}
	var r ReverseHello
	if err := r.Decode(golden(t, reverseHelloGolden)); err != nil || r != reverse {
		t.Errorf("RHE decoded to %+v, %v", r, err)
	}
}

// helloWith returns a HEL whose URL field has the given stated length and bytes.
func helloWith(length int32, url string) []byte {
	b := appendHeader(nil, TypeHello, ChunkFinal, uint32(headerSize+24+len(url)))
	b = appendSizes(b, 0, 65535, 65535, 0, 0, uint32(length))
	return append(b, url...)
}

// Malformed HEL messages of threat T5.
func TestMalformedHelloIsRefused(t *testing.T) {
	long := strings.Repeat("a", MaxEndpointURLLength)
	for _, c := range []struct {
		name  string
		frame []byte
		code  ua.StatusCode
	}{
		{"null URL", helloWith(-1, ""), ua.Good},
		{"empty URL", helloWith(0, ""), ua.Good},
		{"longest URL", helloWith(MaxEndpointURLLength, long), ua.Good},
		{"URL one too long", helloWith(MaxEndpointURLLength+1, long+"a"), ua.BadTcpEndpointURLInvalid},
		{"URL not UTF-8", helloWith(2, "\xc3\x28"), ua.BadTcpEndpointURLInvalid},
		{"length -2", helloWith(-2, "ab"), ua.BadDecodingError},
		{"smallest length", helloWith(-1<<31, "ab"), ua.BadDecodingError},
		{"length beyond the frame", helloWith(3, "ab"), ua.BadDecodingError},
		{"largest length", helloWith(1<<31-1, "ab"), ua.BadDecodingError},
		{"bytes behind the URL", helloWith(1, "ab"), ua.BadDecodingError},
		{"an acknowledge", new(Acknowledge).AppendTo(nil), ua.BadTcpMessageTypeInvalid},
		{"truncated", helloWith(2, "ab")[:20], ua.BadTcpMessageTooLarge},
		{"empty", nil, ua.BadDecodingError},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h Hello
			err := h.Decode(c.frame)
			if c.code != ua.Good {
				wantCode(t, err, c.code)
			} else if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A client ignores reasons that are too long (Part 6, 7.1.2.5).
func TestErrorReasonIsBounded(t *testing.T) {
	e := ErrorMessage{Code: ua.BadTcpInternalError, Reason: strings.Repeat("ä", MaxReasonLength)}
	frame := e.AppendTo(nil)
	if want := headerSize + 8 + MaxReasonLength; len(frame) != want {
		t.Fatalf("frame of %d bytes, want %d", len(frame), want)
	}
	var got ErrorMessage
	if err := got.Decode(frame); err != nil || len(got.Reason) != MaxReasonLength {
		t.Fatalf("reason of %d bytes, %v", len(got.Reason), err)
	}
	wantCode(t, &got, ua.BadTcpInternalError)

	long := appendHeader(nil, TypeError, ChunkFinal, headerSize+8+MaxReasonLength+1)
	long = appendText(appendSizes(long, uint32(ua.BadTcpInternalError)), strings.Repeat("a", MaxReasonLength+1))
	if err := got.Decode(long); err != nil || got.Reason != "" || got.Code != ua.BadTcpInternalError {
		t.Fatalf("long reason decoded to %v, %v", got, err)
	}
}

// What goes to the peer is the code alone (Part 6, 6.7.3; threat D10).
func TestAppendErrorTellsTheCodeAlone(t *testing.T) {
	for _, c := range []struct {
		err  error
		code ua.StatusCode
	}{
		{errSequence, ua.BadSecurityChecksFailed},
		{fmt.Errorf("reading: %w", errFrameSize), ua.BadTcpMessageTooLarge},
		{ua.BadTcpServerTooBusy, ua.BadTcpServerTooBusy},
		{io.ErrUnexpectedEOF, ua.BadTcpInternalError},
		{ua.Good, ua.BadTcpInternalError},
		{nil, ua.BadTcpInternalError},
	} {
		var e ErrorMessage
		if err := e.Decode(AppendError(nil, c.err)); err != nil || e.Code != c.code || e.Reason != "" {
			t.Errorf("%v gave %+v, %v", c.err, e, err)
		}
	}
	if got := errSequence.Error(); !strings.Contains(got, "BadSequenceNumberInvalid") || !strings.HasPrefix(got, "BadSecurityChecksFailed") {
		t.Errorf("the log reads %q", got)
	}
}

func FuzzHandshakeDecode(f *testing.F) {
	for _, s := range []string{helloGolden, acknowledgeGolden, errorGolden, reverseHelloGolden} {
		f.Add(golden(f, s))
	}
	f.Add(helloWith(-2, "ab"))
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, b []byte) {
		var h Hello
		if h.Decode(b) == nil {
			again := Hello{}
			if err := again.Decode(h.AppendTo(nil)); err != nil || again != h {
				t.Fatalf("%+v came back as %+v, %v", h, again, err)
			}
		}
		var a Acknowledge
		if a.Decode(b) == nil && !bytes.Equal(a.AppendTo(nil), b) {
			t.Fatalf("ACK %x is not reproduced", b)
		}
		var e ErrorMessage
		if e.Decode(b) == nil && len(e.Reason) > MaxReasonLength {
			t.Fatal("reason too long")
		}
		var r ReverseHello
		if r.Decode(b) == nil {
			again := ReverseHello{}
			if err := again.Decode(r.AppendTo(nil)); err != nil || again != r {
				t.Fatalf("%+v came back as %+v, %v", r, again, err)
			}
		}
	}))
}
