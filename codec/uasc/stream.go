package uasc

import (
	"encoding/binary"
)

// Stream lays out one large message whose body lies in several places, a few
// frames at a time: what the peer has not taken yet is neither copied nor
// secured, and a large array is sent from where it is stored. The frames of one
// message leave without those of another in between.
type Stream struct {
	layout    *Layout
	requestID uint32
	parts     [][]byte // of the body, what is left of them
	left      int      // bytes of the body that are left
}

// HeaderSize is the size in bytes of what stands in front of the body in each MSG frame.
const HeaderSize = prefixSize

// Start begins a message whose body is the parts one behind the other. They are
// not copied and must not change before the last frame has been sent. A message
// beyond the peer's or our own limits yields the error that [Layout.End] has for
// it. The Stream keeps the slice of parts and shortens what is in it.
func (s *Stream) Start(l *Layout, requestID uint32, parts [][]byte) error {
	*s = Stream{layout: l, requestID: requestID}
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	if n > l.maxMessage || (n+l.maxBody-1)/l.maxBody > l.maxChunks {
		return l.tooLarge
	}
	s.parts, s.left = parts, n
	return nil
}

// Left returns how many bytes of the body have not been laid out.
func (s *Stream) Left() int { return s.left }

// Stop forgets the rest of the message.
func (s *Stream) Stop() { *s = Stream{} }

// next returns the size of the next frame's body and writes its header.
func (s *Stream) next(header []byte) int {
	n, kind := s.left, ChunkFinal
	if n > s.layout.maxBody {
		n, kind = s.layout.maxBody, ChunkIntermediate
	}
	putHeader(header, TypeMessage, kind, s.layout.frameSize(n))
	binary.LittleEndian.PutUint32(header[headerSize:], s.layout.channelID)
	binary.LittleEndian.PutUint32(header[prefixSize-4:], s.requestID)
	s.left -= n
	return n
}

// piece takes up to n bytes of the body that lie together.
func (s *Stream) piece(n int) []byte {
	for len(s.parts[0]) == 0 {
		s.parts = s.parts[1:]
	}
	p := s.parts[0]
	n = min(n, len(p))
	s.parts[0] = p[n:]
	return p[:n:n]
}

// Frames appends whole frames, body included, for as long as they fit into the
// capacity of dst, and one at least. They are ready for [Sealer.SealAll].
func (s *Stream) Frames(dst []byte) []byte {
	for s.left > 0 {
		size := s.layout.frameSize(min(s.left, s.layout.maxBody))
		if len(dst) > 0 && size > cap(dst)-len(dst) {
			break
		}
		at := len(dst)
		var room [prefixSize]byte
		n := s.next(room[:])
		dst = append(dst, room[:]...)
		for rest := n; rest > 0; {
			p := s.piece(rest)
			dst = append(dst, p...)
			rest -= len(p)
		}
		dst = s.layout.close(dst, at, n)
	}
	return dst
}

// close appends what stands behind n bytes of body of the frame at the given
// place: padding, and room for the signature.
func (l *Layout) close(dst []byte, at, n int) []byte {
	total := at + l.frameSize(n)
	if l.block != 0 {
		pad := l.padding(n)
		for range pad + 1 {
			dst = append(dst, byte(pad))
		}
	}
	for len(dst) < total {
		dst = append(dst, 0)
	}
	return dst
}

// Gather lays frames out without their bodies, for channels that neither sign
// nor encrypt. It appends headers, for as long as they fit into the capacity of
// that slice, and to vector what has to be written one behind the other: a
// header, its body in one or more pieces, the next header. The headers have to go
// through [Sealer.NumberAll] before they are written.
func (s *Stream) Gather(headers []byte, vector [][]byte) ([]byte, [][]byte) {
	for s.left > 0 && cap(headers)-len(headers) >= prefixSize {
		at := len(headers)
		headers = headers[:at+prefixSize]
		rest := s.next(headers[at:])
		vector = append(vector, headers[at:at+prefixSize:at+prefixSize])
		for rest > 0 {
			p := s.piece(rest)
			vector = append(vector, p)
			rest -= len(p)
		}
	}
	return headers, vector
}

// Plain reports whether frames of this layout carry neither signature nor
// padding, so that [Stream.Gather] can be used.
func (l *Layout) Plain() bool { return l.signature == 0 && l.block == 0 }

// NumberAll gives the headers that [Stream.Gather] made their token and their
// sequence numbers, in order. It fails when the channel signs or encrypts.
func (s *Sealer) NumberAll(headers []byte) error {
	switch {
	case s.tok == nil:
		return errNoToken
	case s.tok.Policy.Secure() || len(headers)%prefixSize != 0:
		return errFrames
	}
	for ; len(headers) > 0; headers = headers[prefixSize:] {
		binary.LittleEndian.PutUint32(headers[headerSize+4:], s.tok.ID)
		binary.LittleEndian.PutUint32(headers[sequenceStart:], s.seq.Next())
	}
	return nil
}
