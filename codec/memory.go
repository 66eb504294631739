package codec

import (
	"strings"
	"unsafe"
)

// Uncleared returns a slice of length 0 and capacity n whose memory was not set
// to zero, for a large buffer that is filled anyway: clearing some MiB costs as
// much as filling them. What is beyond the length must not be looked at.
func Uncleared(n int) []byte {
	// A strings.Builder is the one public way to memory that is not cleared. The
	// text that it grows is one byte long, so that its address is that of the
	// memory; nobody else keeps it.
	var b strings.Builder
	b.Grow(max(n, 1))
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), n)[:0]
}
