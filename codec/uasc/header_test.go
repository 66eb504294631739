package uasc

import (
	"encoding/binary"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/internal/fuzzguard"
)

func rawHeader(letters string, size uint32) []byte {
	return binary.LittleEndian.AppendUint32([]byte(letters), size)
}

// Decided on eight bytes, whatever follows (threats T3 and T4, case C15).
func TestParseHeaderRefusesOnEightBytes(t *testing.T) {
	const limit = 65535
	for _, c := range []struct {
		name    string
		letters string
		size    uint32
		code    ua.StatusCode // Good: accepted
	}{
		{"message", "MSGF", 100, ua.Good},
		{"intermediate", "MSGC", 100, ua.Good},
		{"abort", "MSGA", 100, ua.Good},
		{"smallest message", "MSGF", 24, ua.Good},
		{"largest message", "MSGF", limit, ua.Good},
		{"open", "OPNF", 132, ua.Good},
		{"close", "CLOF", 57, ua.Good},
		{"hello", "HELF", 56, ua.Good},
		{"acknowledge", "ACKF", 28, ua.Good},
		{"error", "ERRF", 16, ua.Good},
		{"reverse hello", "RHEF", 16, ua.Good},

		{"size 0", "MSGF", 0, ua.BadTcpMessageTooLarge},
		{"size 1", "MSGF", 1, ua.BadTcpMessageTooLarge},
		{"size 7", "HELF", 7, ua.BadTcpMessageTooLarge},
		{"size 8", "HELF", 8, ua.BadTcpMessageTooLarge},
		{"message without sequence header", "MSGF", 23, ua.BadTcpMessageTooLarge},
		{"one above the buffer", "MSGF", limit + 1, ua.BadTcpMessageTooLarge},
		{"largest signed", "MSGF", 1<<31 - 1, ua.BadTcpMessageTooLarge},
		{"largest", "MSGC", 1<<32 - 1, ua.BadTcpMessageTooLarge},
		{"huge open", "OPNF", 1 << 30, ua.BadTcpMessageTooLarge},

		{"HTTP", "GET ", 0x48202f20, ua.BadTcpMessageTypeInvalid},
		{"TLS client hello", "\x16\x03\x01\x02", 0x0100fc01, ua.BadTcpMessageTypeInvalid},
		{"zeros", "\x00\x00\x00\x00", 0, ua.BadTcpMessageTypeInvalid},
		{"lower case", "msgF", 100, ua.BadTcpMessageTypeInvalid},
		{"unknown chunk type", "MSGX", 100, ua.BadTcpMessageTypeInvalid},
		{"intermediate hello", "HELC", 56, ua.BadTcpMessageTypeInvalid},
		{"abort hello", "HELA", 56, ua.BadTcpMessageTypeInvalid},
		{"intermediate open", "OPNC", 132, ua.BadTcpMessageTypeInvalid},
		{"intermediate close", "CLOC", 57, ua.BadTcpMessageTypeInvalid},
	} {
		h, err := ParseHeader(rawHeader(c.letters, c.size), limit)
		if c.code != ua.Good {
			wantCode(t, err, c.code)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if h.Type.String() != c.letters[:3] || h.Chunk != c.letters[3] || h.Size != c.size {
			t.Errorf("%s: got %+v", c.name, h)
		}
	}
}

func FuzzParseHeader(f *testing.F) {
	f.Add([]byte("MSGF\x18\x00\x00\x00"), uint32(65535))
	f.Add([]byte("HELF\xff\xff\xff\xff"), uint32(8192))
	f.Add([]byte("GET / HTTP/1.1\r\n"), uint32(8192))
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, b []byte, limit uint32) {
		if len(b) < headerSize {
			return
		}
		h, err := ParseHeader(b, limit)
		if err != nil {
			return
		}
		if h.Size < headerSize || h.Size > limit {
			t.Fatalf("accepted size %d with limit %d", h.Size, limit)
		}
		if h.Type.String() != string(b[:3]) {
			t.Fatalf("type %v from %q", h.Type, b[:3])
		}
	}))
}
