package codec

import (
	"encoding/binary"
	"math"
)

// AppendBool appends a Boolean.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// AppendUint8 appends a Byte.
func AppendUint8(dst []byte, v uint8) []byte { return append(dst, v) }

// AppendInt8 appends an SByte.
func AppendInt8(dst []byte, v int8) []byte { return append(dst, byte(v)) }

// AppendUint16 appends a UInt16.
func AppendUint16(dst []byte, v uint16) []byte { return binary.LittleEndian.AppendUint16(dst, v) }

// AppendInt16 appends an Int16.
func AppendInt16(dst []byte, v int16) []byte {
	return binary.LittleEndian.AppendUint16(dst, uint16(v))
}

// AppendUint32 appends a UInt32.
func AppendUint32(dst []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(dst, v) }

// AppendInt32 appends an Int32.
func AppendInt32(dst []byte, v int32) []byte {
	return binary.LittleEndian.AppendUint32(dst, uint32(v))
}

// AppendUint64 appends a UInt64.
func AppendUint64(dst []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(dst, v) }

// AppendInt64 appends an Int64.
func AppendInt64(dst []byte, v int64) []byte {
	return binary.LittleEndian.AppendUint64(dst, uint64(v))
}

// AppendFloat32 appends a Float.
func AppendFloat32(dst []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
}

// AppendFloat64 appends a Double.
func AppendFloat64(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

// AppendString appends a String; "" is written as null (length -1), which is
// how the fields of a structure state that they hold nothing.
func AppendString(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, 0xff, 0xff, 0xff, 0xff)
	}
	return append(AppendInt32(dst, int32(len(s))), s...)
}

// AppendStringValue appends a String; "" is written with length 0. Values and
// elements of arrays are written so, since there the difference between an
// empty and a missing text is the application's.
func AppendStringValue(dst []byte, s string) []byte {
	return append(AppendInt32(dst, int32(len(s))), s...)
}

// AppendBytes appends a ByteString; nil is written as null.
func AppendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 0xff, 0xff, 0xff, 0xff)
	}
	return append(AppendInt32(dst, int32(len(b))), b...)
}

// AppendArrayLen appends the length of an array; -1 is a null array.
func AppendArrayLen(dst []byte, n int) []byte { return AppendInt32(dst, int32(n)) }
