package ua

import "encoding/binary"

// Number is a DataValue whose value is a scalar of a fixed size of up to eight
// bytes: a Boolean, an integer, a Float, a Double, a DateTime or a StatusCode.
// It is what nearly every variable of a plant holds, and has no pointers, so
// that it can be kept in machine words and encoded without a DataValue around it.
//
// It is three words and no more: the compiler then keeps it in registers.
type Number struct {
	// Bits is the value, in as many of the low bits as the type has.
	Bits uint64
	// Meta is what [NumberMeta] packs.
	Meta            uint64
	SourceTimestamp DateTime
}

// The layout of Number.Meta.
const (
	metaType        = 0xff
	metaPicoseconds = 16
	metaStatus      = 32
)

// NumberMeta packs the built-in type, the status and the SourcePicoseconds of a
// [Number] into one word. TypeNull says that the Number holds no value.
func NumberMeta(typ TypeID, status StatusCode, picoseconds uint16) uint64 {
	return uint64(status)<<metaStatus | uint64(picoseconds)<<metaPicoseconds | uint64(typ)
}

// Type returns the built-in type.
func (n Number) Type() TypeID { return TypeID(n.Meta & metaType) }

// Status returns the status.
func (n Number) Status() StatusCode { return StatusCode(n.Meta >> metaStatus) }

// SourcePicoseconds returns what [DataValue] has under that name.
func (n Number) SourcePicoseconds() uint16 { return uint16(n.Meta >> metaPicoseconds) }

// Number returns the DataValue as a Number, without its server timestamp; ok is
// false for every other value.
func (v *DataValue) Number() (n Number, ok bool) {
	if v.Value.array || numberSize[v.Value.typ] == 0 {
		return n, false
	}
	n.Bits = v.Value.bits
	n.Meta = NumberMeta(v.Value.typ, v.Status, v.SourcePicoseconds)
	n.SourceTimestamp = v.SourceTimestamp
	return n, true
}

// MaxNumberSize is what a DataValue with a scalar number takes at most: mask,
// type and number, status, and two timestamps with picoseconds.
const MaxNumberSize = 1 + 1 + 8 + 4 + 2*(8+2)

// SameValue reports whether type and bits are the same, whatever the status and
// the times.
func (n Number) SameValue(o Number) bool { return n.Bits == o.Bits && n.Type() == o.Type() }

// Value returns the number as a Variant.
func (n Number) Value() Variant { return Variant{typ: n.Type(), bits: n.Bits} }

// Put writes the encoding of a DataValue with this value, status and source
// timestamp and the given server timestamp (0: none), and returns its length.
// The type must not be null.
func (n Number) Put(b *[MaxNumberSize]byte, server DateTime) int { return n.put(b, server, 0) }

// put writes fields without further checks: there is room for all of them.
func (n Number) put(b *[MaxNumberSize]byte, server DateTime, serverPicoseconds uint16) int {
	mask := byte(dataValueValue)
	b[1] = byte(n.Meta)
	// A shorter number is written with its zero bits, and then over.
	binary.LittleEndian.PutUint64(b[2:], n.Bits)
	i := 2 + int(numberSize[n.Meta&metaType]&15)
	if status := n.Status(); status != 0 {
		mask |= dataValueStatus
		binary.LittleEndian.PutUint32(b[i:], uint32(status))
		i += 4
	}
	if n.SourceTimestamp != 0 {
		mask |= dataValueSourceTimestamp
		binary.LittleEndian.PutUint64(b[i:], uint64(n.SourceTimestamp))
		i += 8
		if picoseconds := n.SourcePicoseconds(); picoseconds != 0 {
			mask |= dataValueSourcePicoseconds
			binary.LittleEndian.PutUint16(b[i:], picoseconds)
			i += 2
		}
	}
	if server != 0 {
		mask |= dataValueServerTimestamp
		binary.LittleEndian.PutUint64(b[i:], uint64(server))
		i += 8
		if serverPicoseconds != 0 {
			mask |= dataValueServerPicoseconds
			binary.LittleEndian.PutUint16(b[i:], serverPicoseconds)
			i += 2
		}
	}
	b[0] = mask
	return i
}
