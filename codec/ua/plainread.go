package ua

import "encoding/binary"

// The shortest ReadValueId: a two byte NodeId and what follows every NodeId.
const (
	readTailSize   = 4 + 4 + 2 + 4 // AttributeId, IndexRange, DataEncoding
	minReadValueID = 2 + readTailSize
)

// PlainRead reads a ReadValueId (Part 4, 7.29) of the shape that nearly all of
// them have: a numeric NodeId, the attribute Value, no IndexRange and no
// DataEncoding, so that all behind the NodeId is always the same. It returns
// the id and the encoded size; 0 stands for every other shape, malformed ones
// among them, which [ReadValueID.DecodeFrom] tells apart.
func PlainRead(b []byte) (ns uint16, id uint32, size int) {
	if len(b) < minReadValueID {
		return 0, 0, 0
	}
	switch b[0] {
	case nodeIDFourByte:
		ns, id, size = uint16(b[1]), uint32(binary.LittleEndian.Uint16(b[2:])), 4
	case nodeIDNumeric:
		ns, id, size = binary.LittleEndian.Uint16(b[1:]), binary.LittleEndian.Uint32(b[3:]), 7
	case nodeIDTwoByte:
		id, size = uint32(b[1]), 2
	default:
		return 0, 0, 0
	}
	if len(b)-size < readTailSize {
		return 0, 0, 0
	}
	// The two words overlap in the end of the IndexRange.
	const (
		valueWithoutRange = 0xffff_ffff<<32 | uint64(AttributeIDValue)
		noDataEncoding    = 0xffff_ffff_0000_ffff
	)
	tail := b[size : size+readTailSize]
	if binary.LittleEndian.Uint64(tail) != valueWithoutRange || binary.LittleEndian.Uint64(tail[6:]) != noDataEncoding {
		return 0, 0, 0
	}
	return ns, id, size + readTailSize
}
