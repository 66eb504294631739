package ua

import (
	"encoding/binary"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/uahive/uahive/codec"
)

// NodeID names a node. It is comparable and serves as a map key; numeric ones
// never allocate. The zero value is the null NodeId.
type NodeID struct {
	ns   uint16
	kind uint8
	num  uint32
	// str is the text of a string id, the 16 bytes of a Guid id in wire
	// order, or the bytes of an opaque id. Wire order lets a decoded Guid
	// share the memory of the message.
	str string
}

// NumericID returns a NodeID with a numeric identifier.
func NumericID(ns uint16, v uint32) NodeID { return NodeID{ns: ns, num: v} }

// StringID returns a NodeID with a string identifier.
func StringID(ns uint16, s string) NodeID {
	return NodeID{ns: ns, kind: uint8(IDTypeString), str: s}
}

// GUIDID returns a NodeID with a Guid identifier.
func GUIDID(ns uint16, g Guid) NodeID {
	w := swapGuid(g)
	return NodeID{ns: ns, kind: uint8(IDTypeGuid), str: string(w[:])}
}

// OpaqueID returns a NodeID whose identifier is a copy of b.
func OpaqueID(ns uint16, b []byte) NodeID {
	return NodeID{ns: ns, kind: uint8(IDTypeOpaque), str: string(b)}
}

// Namespace returns the index of the namespace.
func (n NodeID) Namespace() uint16 { return n.ns }

// Type returns the kind of identifier.
func (n NodeID) Type() IDType { return IDType(n.kind) }

// Numeric returns the identifier of a numeric NodeID, otherwise 0.
func (n NodeID) Numeric() uint32 { return n.num }

// Text returns the identifier of a string NodeID, otherwise "".
func (n NodeID) Text() string {
	if n.kind != uint8(IDTypeString) {
		return ""
	}
	return n.str
}

// GUID returns the identifier of a Guid NodeID, otherwise the zero Guid.
func (n NodeID) GUID() Guid {
	if n.kind != uint8(IDTypeGuid) {
		return Guid{}
	}
	return swapGuid(Guid([]byte(n.str)))
}

// Opaque returns a copy of the identifier of an opaque NodeID, otherwise nil.
func (n NodeID) Opaque() []byte {
	if n.kind != uint8(IDTypeOpaque) {
		return nil
	}
	return []byte(n.str)
}

// IsNull reports whether the identifier is 0, empty or all zero in namespace 0
// (Part 3, 8.2.4).
func (n NodeID) IsNull() bool {
	if n.ns != 0 || n.num != 0 {
		return false
	}
	return n.str == "" || n.kind == uint8(IDTypeGuid) && n.str == zeroGuid
}

const zeroGuid = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// Clone returns a copy that does not share memory with a message.
func (n NodeID) Clone() NodeID {
	if n.str != "" {
		n.str = strings.Clone(n.str)
	}
	return n
}

// Hash returns a well-spread hash, the same in every process.
func (n NodeID) Hash() uint64 {
	h := uint64(n.ns)<<40 | uint64(n.kind)<<32 | uint64(n.num)
	if n.kind != uint8(IDTypeNumeric) {
		h ^= xxhash.Sum64String(n.str)
	}
	// The finalizer of MurmurHash3: consecutive ids land far apart.
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// The encoding byte of a NodeId (Part 6, 5.2.2.9).
const (
	nodeIDTwoByte  = 0x00
	nodeIDFourByte = 0x01
	nodeIDNumeric  = 0x02
	nodeIDString   = 0x03
	nodeIDGuid     = 0x04
	nodeIDOpaque   = 0x05

	// The flags that only an ExpandedNodeId has (Part 6, 5.2.2.10).
	expandedServerIndex  = 0x40
	expandedNamespaceURI = 0x80
)

// AppendTo appends the smallest encoding that holds the id.
func (n NodeID) AppendTo(dst []byte) []byte { return n.append(dst, 0) }

func (n NodeID) append(dst []byte, flags byte) []byte {
	if n.kind == uint8(IDTypeNumeric) {
		switch {
		case n.ns == 0 && n.num <= 0xff:
			return append(dst, nodeIDTwoByte|flags, byte(n.num))
		case n.ns <= 0xff && n.num <= 0xffff:
			return append(dst, nodeIDFourByte|flags, byte(n.ns), byte(n.num), byte(n.num>>8))
		}
		dst = append(dst, nodeIDNumeric|flags, byte(n.ns), byte(n.ns>>8))
		return binary.LittleEndian.AppendUint32(dst, n.num)
	}
	dst = append(dst, n.kind+2|flags, byte(n.ns), byte(n.ns>>8))
	if n.kind == uint8(IDTypeGuid) {
		return append(dst, n.str...)
	}
	return codec.AppendStringValue(dst, n.str)
}

// DecodeFrom reads a NodeID.
func (n *NodeID) DecodeFrom(d *codec.Decoder) { n.decode(d, d.Uint8()) }

func (n *NodeID) decode(d *codec.Decoder, encoding byte) {
	*n = NodeID{}
	switch encoding {
	case nodeIDTwoByte:
		n.num = uint32(d.Uint8())
	case nodeIDFourByte:
		n.ns = uint16(d.Uint8())
		n.num = uint32(d.Uint16())
	case nodeIDNumeric:
		n.ns = d.Uint16()
		n.num = d.Uint32()
	case nodeIDString:
		n.kind = uint8(IDTypeString)
		n.ns = d.Uint16()
		n.str = d.String()
	case nodeIDGuid:
		n.kind = uint8(IDTypeGuid)
		n.ns = d.Uint16()
		n.str = d.RawString(16)
		if d.Err() != nil {
			*n = NodeID{} // a Guid id always has its 16 bytes
		}
	case nodeIDOpaque:
		n.kind = uint8(IDTypeOpaque)
		n.ns = d.Uint16()
		n.str = d.BytesString()
	default:
		d.Fail(codec.ErrDecoding)
	}
}
