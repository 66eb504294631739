package ua

import "math"

// Int returns a scalar of one of the signed integer types without allocating.
func (v Variant) Int() (n int64, ok bool) {
	if v.array {
		return 0, false
	}
	switch v.typ {
	case TypeSByte:
		return int64(int8(v.bits)), true
	case TypeInt16:
		return int64(int16(v.bits)), true
	case TypeInt32:
		return int64(int32(v.bits)), true
	case TypeInt64:
		return int64(v.bits), true
	}
	return 0, false
}

// Uint returns a scalar of one of the unsigned integer types without allocating.
func (v Variant) Uint() (n uint64, ok bool) {
	if v.array {
		return 0, false
	}
	switch v.typ {
	case TypeByte:
		return uint64(uint8(v.bits)), true
	case TypeUInt16:
		return uint64(uint16(v.bits)), true
	case TypeUInt32:
		return uint64(uint32(v.bits)), true
	case TypeUInt64:
		return v.bits, true
	}
	return 0, false
}

// Float returns a scalar Float or Double without allocating.
func (v Variant) Float() (n float64, ok bool) {
	if v.array {
		return 0, false
	}
	switch v.typ {
	case TypeFloat:
		return float64(math.Float32frombits(uint32(v.bits))), true
	case TypeDouble:
		return math.Float64frombits(v.bits), true
	}
	return 0, false
}
