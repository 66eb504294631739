package codec

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// Fixed are the kinds whose size in memory is their size on the wire, so that
// slices of them are copied as one block on little-endian hosts.
type Fixed interface {
	bool | ~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// bigEndian is set on hosts whose byte order is not the wire's.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// AppendSlice appends an array of fixed-size elements with its length in
// front; nil is a null array.
func AppendSlice[T Fixed](dst []byte, s []T) []byte {
	if s == nil {
		return append(dst, 0xff, 0xff, 0xff, 0xff)
	}
	return AppendElements(AppendInt32(dst, int32(len(s))), s)
}

// AppendElements appends the elements of s without a length.
func AppendElements[T Fixed](dst []byte, s []T) []byte {
	size := int(unsafe.Sizeof(*new(T)))
	at := len(dst)
	dst = append(dst, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*size)...)
	if bigEndian {
		swap(dst[at:], size)
	}
	return dst
}

// Memory returns the encoding of the elements of s, without a length, as the
// memory that they lie in, so that a large array is sent without being copied.
// ok is false on hosts where the two differ. The bytes must not be changed.
func Memory[T Fixed](s []T) (b []byte, ok bool) {
	size := int(unsafe.Sizeof(*new(T)))
	if bigEndian && size > 1 {
		return nil, false
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*size), true
}

// ReadSlice reads an array of fixed-size elements into dst, whose capacity it
// reuses and whose content it replaces. A null array gives dst[:0], which is
// nil when dst is.
func ReadSlice[T Fixed](d *Decoder, dst []T) []T {
	n := d.ArrayLen(int(unsafe.Sizeof(*new(T))))
	if n < 0 {
		return dst[:0]
	}
	return ReadElements(d, dst, n)
}

// ReadElements reads n elements without a length in front, where n comes from
// ArrayLen, into the capacity of dst. The result is not nil unless the read
// fails.
func ReadElements[T Fixed](d *Decoder, dst []T, n int) []T {
	size := int(unsafe.Sizeof(*new(T)))
	raw := d.Raw(n * size)
	if raw == nil {
		return dst[:0]
	}
	if n == 0 {
		if dst == nil {
			return []T{}
		}
		return dst[:0]
	}
	if p := unsafe.Pointer(unsafe.SliceData(raw)); dst == nil && d.adopt && len(raw) >= cap(d.buf)-cap(d.buf)/8 && uintptr(p)%uintptr(size) == 0 {
		dst = unsafe.Slice((*T)(p), n)
	} else {
		// append copies into new memory without clearing it first, which make
		// would. T holds no pointers, so its alignment in raw does not matter to
		// a copy.
		dst = append(dst[:0], unsafe.Slice((*T)(p), n)...)
	}
	mem := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), len(raw))
	if isBool[T]() {
		// Any byte but 0 is true on the wire, while a Go bool is 0 or 1. The
		// elements are not looked at as bools before they are.
		for i, b := range mem {
			if b > 1 {
				mem[i] = 1
			}
		}
		return dst
	}
	if bigEndian {
		swap(mem, size)
	}
	return dst
}

// isBool tells bool from the numeric kinds.
func isBool[T Fixed]() bool {
	var zero T
	_, ok := any(zero).(bool)
	return ok
}

func swap(b []byte, size int) {
	if size == 1 {
		return
	}
	for ; len(b) >= size; b = b[size:] {
		slices.Reverse(b[:size])
	}
}
