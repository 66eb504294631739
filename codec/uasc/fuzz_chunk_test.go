package uasc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/internal/fuzzguard"
)

// FuzzChunkPlaintext signs and encrypts any plaintext of a chunk, padding and
// sequence header included, as a hostile peer with a channel of its own can (threat
// S8). The chunk is opened to what precedes the padding, or fails.
func FuzzChunkPlaintext(f *testing.F) {
	for which, s := range suites[1:] {
		f.Add(uint8(which), uint8('F'), append(appendSizes(nil, 1, 2), pattern(40)...))
		f.Add(uint8(which), uint8('A'), append(appendSizes(nil, 0, 2), pattern(8)...))
		f.Add(uint8(which), uint8('F'), bytes.Repeat([]byte{7}, 96-s.policy.signature))
		f.Add(uint8(which), uint8('C'), bytes.Repeat([]byte{15}, 160-s.policy.signature))
	}
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, which, kind uint8, plain []byte) {
		s := suites[1:][int(which)%len(suites[1:])]
		l := s.link(t, smallLimits, nil)
		defer l.opener.Release()
		encrypts := s.mode == ModeSignAndEncrypt
		if encrypts {
			// What is not whole blocks cannot be encrypted.
			size := (len(plain) + s.policy.signature) / s.policy.block * s.policy.block
			if size < s.policy.signature || size > 8000 {
				return
			}
			plain = plain[:size-s.policy.signature]
		}
		frame := appendHeader(nil, TypeMessage, kind, uint32(sequenceStart+len(plain)+s.policy.signature))
		frame = appendSizes(frame, 7, 1)
		frame = append(frame, plain...)
		frame = append(frame, make([]byte, s.policy.signature)...)
		resecure(l.sealer.Token(), frame)
		m, err := l.opener.Open(frame)

		want, good := withoutPadding(plain, encrypts, 0)
		switch {
		case kind != ChunkFinal && kind != ChunkIntermediate && kind != ChunkAbort:
			if err != errUnexpectedType {
				t.Fatalf("chunk type %d: %v", kind, err)
			}
		case !good:
			if err != errSecurity {
				t.Fatalf("%v: %x: %v", s, plain, err)
			}
		case s.policy.StrictSequence && binary.LittleEndian.Uint32(want) != 0:
			if err != errSequence {
				t.Fatalf("%v: sequence number of %x: %v", s, plain, err)
			}
		case err != nil:
			if err != errMessageTooLarge || len(want)-8 <= int(smallLimits.MaxMessage) {
				t.Fatalf("%v: %x: %v", s, plain, err)
			}
		case m.RequestID != binary.LittleEndian.Uint32(want[4:]):
			t.Fatalf("request %d of %x", m.RequestID, want)
		case m.Done != (kind == ChunkFinal) || m.Done && !bytes.Equal(m.Body, want[8:]):
			t.Fatalf("%v: %x opens to %x, done %v", s, plain, m.Body, m.Done)
		}
	}))
}

// FuzzChunkRaw changes two chunks of a message that is on its way, as somebody in
// between can: the message arrives as it was sent or not at all.
func FuzzChunkRaw(f *testing.F) {
	for which := range suites[1:] {
		f.Add(uint8(which), uint16(30), []byte{1}, uint16(0))
		f.Add(uint8(which), uint16(3), []byte{'F' ^ 'C'}, uint16(0))
		f.Add(uint8(which), uint16(12), []byte{1}, uint16(9))
	}
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, which uint8, at uint16, edit []byte, cut uint16) {
		s := suites[1:][int(which)%len(suites[1:])]
		l := s.link(t, smallLimits, nil)
		defer l.opener.Release()
		body := pattern(l.layout.MaxBody() + 100)
		good := l.seal(t, 5, body)
		stream := bytes.Clone(good)
		for k, b := range edit {
			stream[(int(at)+k)%len(stream)] ^= b
		}
		stream = stream[:len(stream)-int(cut)%len(stream)]
		changed := !bytes.Equal(stream, good)
		for len(stream) >= headerSize {
			size := binary.LittleEndian.Uint32(stream[4:])
			if uint64(size) > uint64(len(stream)) || size < headerSize {
				return
			}
			m, err := l.opener.Open(stream[:size:size])
			if err != nil {
				var code ua.StatusCode
				if !changed || !errors.As(err, &code) || !code.IsBad() {
					t.Fatalf("%v: changed %v: %v", s, changed, err)
				}
				return
			}
			if m.Aborted != ua.Good || m.Done && !bytes.Equal(m.Body, body) {
				t.Fatalf("%v: a forgery: %+v", s, m)
			}
			stream = stream[size:]
		}
	}))
}
