package uasc

import "encoding/binary"

// MessageType is the three-letter type in a message header.
type MessageType uint8

// The types of UACP (Part 6, 7.1.2.2) and of the secure conversation (Part 6,
// 6.7.2.2). The zero value is none of them.
const (
	TypeHello MessageType = iota + 1
	TypeAcknowledge
	TypeError
	TypeReverseHello
	TypeOpen
	TypeMessage
	TypeClose
)

// Chunk types: the fourth byte of a header. Everything but MSG is always final.
const (
	ChunkFinal        byte = 'F'
	ChunkIntermediate byte = 'C'
	ChunkAbort        byte = 'A'
)

const (
	headerSize    = 8                  // type, chunk type, size
	sequenceStart = headerSize + 4 + 4 // behind channel id and token id: where encryption starts
	prefixSize    = sequenceStart + 8  // what precedes the body of a MSG or CLO chunk
)

var typeNames = [...]string{"", "HEL", "ACK", "ERR", "RHE", "OPN", "MSG", "CLO"}

// String returns the three letters, or "???" for no known type.
func (t MessageType) String() string {
	if t == 0 || int(t) >= len(typeNames) {
		return "???"
	}
	return typeNames[t]
}

// minSize is the smallest frame of each type that can be complete.
var minSize = [...]uint32{
	TypeHello:        headerSize + 5*4 + 4,
	TypeAcknowledge:  headerSize + 5*4,
	TypeError:        headerSize + 4 + 4,
	TypeReverseHello: headerSize + 4 + 4,
	TypeOpen:         headerSize + 4 + 3*4 + 8,
	TypeMessage:      prefixSize,
	TypeClose:        prefixSize,
}

// Header is the common first eight bytes of every frame.
type Header struct {
	Type  MessageType
	Chunk byte   // ChunkFinal, ChunkIntermediate or ChunkAbort
	Size  uint32 // of the whole frame, header included
}

// ParseHeader decodes the first eight bytes of a frame; b must hold at least
// those. Everything that can be refused is refused on them, before a buffer for
// the rest exists: an unknown type or chunk type is BadTcpMessageTypeInvalid, a
// size below the smallest frame of the type or above maxSize is
// BadTcpMessageTooLarge. On success Size is at least 8, so that a reader always
// makes progress.
func ParseHeader(b []byte, maxSize uint32) (Header, error) {
	_ = b[headerSize-1]
	h := Header{Type: typeOf(b), Chunk: b[3], Size: binary.LittleEndian.Uint32(b[4:])}
	if h.Type == 0 {
		return Header{}, errMessageType
	}
	switch h.Chunk {
	case ChunkFinal:
	case ChunkIntermediate, ChunkAbort:
		if h.Type != TypeMessage {
			return Header{}, errMessageType
		}
	default:
		return Header{}, errMessageType
	}
	if h.Size < minSize[h.Type] || h.Size > maxSize {
		return Header{}, errFrameSize
	}
	return h, nil
}

func typeOf(b []byte) MessageType {
	switch string(b[:3]) {
	case "MSG":
		return TypeMessage
	case "OPN":
		return TypeOpen
	case "CLO":
		return TypeClose
	case "HEL":
		return TypeHello
	case "ACK":
		return TypeAcknowledge
	case "ERR":
		return TypeError
	case "RHE":
		return TypeReverseHello
	}
	return 0
}

func appendHeader(dst []byte, t MessageType, chunk byte, size uint32) []byte {
	dst = append(dst, typeNames[t]...)
	dst = append(dst, chunk)
	return binary.LittleEndian.AppendUint32(dst, size)
}

func putHeader(b []byte, t MessageType, chunk byte, size int) {
	copy(b, typeNames[t])
	b[3] = chunk
	binary.LittleEndian.PutUint32(b[4:], uint32(size))
}
