package ua

import (
	"encoding/hex"

	"github.com/uahive/uahive/codec"
)

// Guid is a 16-byte identifier in the byte order of RFC 4122, which is also
// the order of its text. On the wire the first three groups are little endian
// (Part 6, 5.2.2.6).
type Guid [16]byte

// swapGuid turns the memory order into the wire order and back.
func swapGuid(g Guid) Guid {
	g[0], g[1], g[2], g[3] = g[3], g[2], g[1], g[0]
	g[4], g[5] = g[5], g[4]
	g[6], g[7] = g[7], g[6]
	return g
}

// AppendTo appends the 16 bytes in wire order.
func (g Guid) AppendTo(dst []byte) []byte {
	w := swapGuid(g)
	return append(dst, w[:]...)
}

// DecodeFrom reads a Guid.
func (g *Guid) DecodeFrom(d *codec.Decoder) {
	*g = Guid{}
	if raw := d.Raw(16); raw != nil {
		*g = swapGuid(Guid(raw))
	}
}

// String returns the text form of Part 6, 5.1.3, such as
// 09087e75-8e5e-499b-954f-f2a9603db28a.
func (g Guid) String() string {
	var b [36]byte
	hex.Encode(b[0:8], g[0:4])
	hex.Encode(b[9:13], g[4:6])
	hex.Encode(b[14:18], g[6:8])
	hex.Encode(b[19:23], g[8:10])
	hex.Encode(b[24:36], g[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// ParseGuid reads the text form, in either case. The error is a StatusCode.
func ParseGuid(s string) (Guid, error) {
	var g Guid
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return Guid{}, BadDecodingError
	}
	digits := s[0:8] + s[9:13] + s[14:18] + s[19:23] + s[24:36]
	if _, err := hex.Decode(g[:], []byte(digits)); err != nil {
		return Guid{}, BadDecodingError
	}
	return g, nil
}
