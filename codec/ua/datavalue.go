package ua

import (
	"encoding/binary"

	"github.com/uahive/uahive/codec"
)

// DataValue is a value with its status and times (Part 4, 7.11). Fields that
// are zero are not encoded (Part 6, 5.2.2.17).
type DataValue struct {
	Value           Variant
	SourceTimestamp DateTime
	ServerTimestamp DateTime
	Status          StatusCode
	// SourcePicoseconds counts 10 picoseconds beyond SourceTimestamp; it is
	// encoded only together with it.
	SourcePicoseconds uint16
	// ServerPicoseconds does the same for ServerTimestamp.
	ServerPicoseconds uint16
}

// The bits of a DataValue's mask.
const (
	dataValueValue             = 0x01
	dataValueStatus            = 0x02
	dataValueSourceTimestamp   = 0x04
	dataValueServerTimestamp   = 0x08
	dataValueSourcePicoseconds = 0x10
	dataValueServerPicoseconds = 0x20
)

// AppendTo appends the encoding.
func (v *DataValue) AppendTo(dst []byte) []byte { return v.appendDepth(dst, 0) }

func (v *DataValue) appendDepth(dst []byte, depth int) []byte {
	// Nearly every DataValue is a number; room is then checked once for all fields.
	if at := len(dst); cap(dst)-at >= MaxNumberSize && depth < MaxDepth {
		if n, ok := v.Number(); ok {
			return dst[:at+n.put((*[MaxNumberSize]byte)(dst[at:at+MaxNumberSize]), v.ServerTimestamp, v.ServerPicoseconds)]
		}
	}
	at := len(dst)
	dst = append(dst, 0)
	var mask byte
	if v.Value.typ != TypeNull && depth < MaxDepth {
		mask |= dataValueValue
		dst = v.Value.appendDepth(dst, depth)
	}
	if v.Status != 0 {
		mask |= dataValueStatus
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v.Status))
	}
	if v.SourceTimestamp != 0 {
		mask |= dataValueSourceTimestamp
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v.SourceTimestamp))
		if v.SourcePicoseconds != 0 {
			mask |= dataValueSourcePicoseconds
			dst = binary.LittleEndian.AppendUint16(dst, v.SourcePicoseconds)
		}
	}
	if v.ServerTimestamp != 0 {
		mask |= dataValueServerTimestamp
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v.ServerTimestamp))
		if v.ServerPicoseconds != 0 {
			mask |= dataValueServerPicoseconds
			dst = binary.LittleEndian.AppendUint16(dst, v.ServerPicoseconds)
		}
	}
	dst[at] = mask
	return dst
}

// DecodeFrom reads a DataValue. Picoseconds without their timestamp are read
// and dropped (Part 6, 5.2.2.17).
func (v *DataValue) DecodeFrom(d *codec.Decoder) {
	*v = DataValue{}
	mask := d.Uint8()
	if mask&^0x3f != 0 {
		d.Fail(codec.ErrDecoding)
		return
	}
	if mask&dataValueValue != 0 {
		v.Value.DecodeFrom(d)
	}
	if mask&^dataValueValue == 0 {
		return
	}
	if mask&dataValueStatus != 0 {
		v.Status = StatusCode(d.Uint32())
	}
	if mask&dataValueSourceTimestamp != 0 {
		v.SourceTimestamp = DateTime(d.Int64())
	}
	if mask&dataValueSourcePicoseconds != 0 {
		v.SourcePicoseconds = picoseconds(d.Uint16(), v.SourceTimestamp)
	}
	if mask&dataValueServerTimestamp != 0 {
		v.ServerTimestamp = DateTime(d.Int64())
	}
	if mask&dataValueServerPicoseconds != 0 {
		v.ServerPicoseconds = picoseconds(d.Uint16(), v.ServerTimestamp)
	}
}

// picoseconds bounds a count to below one tick, as decoders shall (Part 6,
// 5.2.2.17), and drops it where there is no timestamp that it could refine.
func picoseconds(n uint16, t DateTime) uint16 {
	if t == 0 {
		return 0
	}
	return min(n, 9999)
}

// Clone returns a deep copy that does not share memory.
func (v DataValue) Clone() DataValue { return v.cloneDepth(0) }

func (v DataValue) cloneDepth(depth int) DataValue {
	v.Value = v.Value.cloneDepth(depth)
	return v
}

// Equal reports whether all parts are equal.
func (v DataValue) Equal(o DataValue) bool { return v.equalDepth(o, 0) }

func (v DataValue) equalDepth(o DataValue, depth int) bool {
	return v.Status == o.Status &&
		v.SourceTimestamp == o.SourceTimestamp && v.ServerTimestamp == o.ServerTimestamp &&
		v.SourcePicoseconds == o.SourcePicoseconds && v.ServerPicoseconds == o.ServerPicoseconds &&
		v.Value.equalDepth(o.Value, depth)
}
