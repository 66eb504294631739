package codec

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Decoder reads the binary encoding from a byte slice. The first failure
// sticks: from then on every method returns the zero value, and Err tells
// what went wrong, so that callers check once at the end.
//
// A Decoder is a plain value; Reset makes it ready for another buffer without
// allocating. It is not safe for concurrent use.
type Decoder struct {
	buf      []byte // ends where reading must stop; truncated to pos by a failure
	pos      int
	budget   int // bytes not yet claimed by array elements
	depth    int
	maxDepth int
	lim      *Limits
	err      error
	alias    bool
	adopt    bool
}

// NewDecoder returns a Decoder that reads buf. A nil lim means the default
// limits. It copies strings and bytes unless Alias says otherwise.
func NewDecoder(buf []byte, lim *Limits) *Decoder {
	d := new(Decoder)
	d.Reset(buf, lim)
	return d
}

// Reset makes the Decoder read buf from its beginning under the given limits
// (nil means the defaults). The modes of Alias and Adopt are kept.
func (d *Decoder) Reset(buf []byte, lim *Limits) {
	if lim == nil {
		lim = &unset
	}
	d.buf = buf
	d.pos = 0
	d.budget = len(buf)
	d.depth = 0
	d.maxDepth = orDefault(lim.MaxDepth, DefaultMaxDepth)
	d.lim = lim
	d.err = nil
}

// Alias chooses whether Strings and ByteStrings share the memory of the
// buffer (true) or are copied out of it (false, the initial mode). Aliasing
// values must not be used after the buffer is reused.
func (d *Decoder) Alias(on bool) { d.alias = on }

// Adopt says that the buffer is never used again, so that an array of fixed-size
// elements which is most of it is not copied out of it (true); false is the
// initial mode. Smaller arrays are copied all the same, since otherwise each of
// them would keep all of the buffer.
func (d *Decoder) Adopt(on bool) { d.adopt = on }

// Err returns the first failure, or nil. It is ErrDecoding, ErrLimits or what
// a caller handed to Fail.
func (d *Decoder) Err() error { return d.err }

// Pos returns how many bytes were consumed. After a failure it is a place near
// the one that failed.
func (d *Decoder) Pos() int { return d.pos }

// Remaining returns how many bytes can still be read; 0 after a failure.
func (d *Decoder) Remaining() int { return len(d.buf) - d.pos }

// Rest returns the bytes that can still be read, without reading them; none
// after a failure. It is for a caller that recognises what comes by its bytes
// and passes over it with Raw.
func (d *Decoder) Rest() []byte { return d.buf[d.pos:] }

// Fail records err unless an earlier failure is recorded already, and makes
// all further reads fail.
func (d *Decoder) Fail(err error) {
	if d.err == nil {
		d.err = err
	}
	// A buffer without remaining bytes makes every read fail by the length
	// check that it does anyway; no method needs to look at err.
	d.buf = d.buf[:d.pos]
}

// Finish returns the first failure, or ErrDecoding when bytes remain: a message
// that is longer than its content is malformed too.
func (d *Decoder) Finish() error {
	if d.err == nil && d.pos != len(d.buf) {
		d.short()
	}
	return d.err
}

func (d *Decoder) short() { d.Fail(ErrDecoding) }

// Enter counts one level of nesting. It returns false, and fails with
// ErrLimits, beyond Limits.MaxDepth. Every Enter is paired with a Leave,
// whatever it returned.
func (d *Decoder) Enter() bool {
	d.depth++
	if d.depth > d.maxDepth {
		d.Fail(ErrLimits)
		return false
	}
	return true
}

// Leave ends the level that Enter began.
func (d *Decoder) Leave() { d.depth-- }

// MaxDiagnosticDepth returns the limit for chains of DiagnosticInfo.
func (d *Decoder) MaxDiagnosticDepth() int {
	return orDefault(d.lim.MaxDiagnosticDepth, DefaultMaxDiagnosticDepth)
}

// A Frame remembers the end of the enclosing value while an inner one of
// known length is read. See Narrow.
type Frame struct{ buf []byte }

// Narrow makes the Decoder end after the next n bytes, for a value whose
// length is stated in front of it. It fails when n is negative or fewer bytes
// remain. Widen restores the former end.
func (d *Decoder) Narrow(n int) Frame {
	f := Frame{d.buf}
	if n < 0 || n > len(d.buf)-d.pos {
		d.Fail(ErrDecoding)
		return f
	}
	d.buf = d.buf[:d.pos+n]
	return f
}

// Widen ends what Narrow began. A value that did not consume all its bytes is
// a decoding failure: two readers that disagree about where a value ends
// would see different messages.
func (d *Decoder) Widen(f Frame) {
	if d.err != nil {
		return
	}
	if d.pos != len(d.buf) {
		d.Fail(ErrDecoding)
		return
	}
	d.buf = f.buf
}

// Uint8 reads a Byte.
func (d *Decoder) Uint8() (v uint8) {
	if i := d.pos; i < len(d.buf) {
		v = d.buf[i]
		d.pos = i + 1
		return v
	}
	d.short()
	return 0
}

// Bool reads a Boolean. Any byte but 0 is true (Part 6, 5.2.2.1).
func (d *Decoder) Bool() bool { return d.Uint8() != 0 }

// Int8 reads an SByte.
func (d *Decoder) Int8() int8 { return int8(d.Uint8()) }

// Uint16 reads a UInt16.
func (d *Decoder) Uint16() (v uint16) {
	if i := d.pos; len(d.buf)-i >= 2 {
		v = binary.LittleEndian.Uint16(d.buf[i:])
		d.pos = i + 2
		return v
	}
	d.short()
	return 0
}

// Int16 reads an Int16.
func (d *Decoder) Int16() int16 { return int16(d.Uint16()) }

// Uint32 reads a UInt32.
func (d *Decoder) Uint32() (v uint32) {
	if i := d.pos; len(d.buf)-i >= 4 {
		v = binary.LittleEndian.Uint32(d.buf[i:])
		d.pos = i + 4
		return v
	}
	d.short()
	return 0
}

// Int32 reads an Int32.
func (d *Decoder) Int32() int32 { return int32(d.Uint32()) }

// Uint64 reads a UInt64.
func (d *Decoder) Uint64() (v uint64) {
	if i := d.pos; len(d.buf)-i >= 8 {
		v = binary.LittleEndian.Uint64(d.buf[i:])
		d.pos = i + 8
		return v
	}
	d.short()
	return 0
}

// Int64 reads an Int64.
func (d *Decoder) Int64() int64 { return int64(d.Uint64()) }

// Float32 reads a Float.
func (d *Decoder) Float32() float32 { return math.Float32frombits(d.Uint32()) }

// Float64 reads a Double.
func (d *Decoder) Float64() float64 { return math.Float64frombits(d.Uint64()) }

// Bits reads a number of 1 to 8 bytes as its bits, the rest being 0.
func (d *Decoder) Bits(size int) (v uint64) {
	i := d.pos
	if len(d.buf)-i >= 8 {
		d.pos = i + size
		return binary.LittleEndian.Uint64(d.buf[i:]) & (1<<(8*uint(size)) - 1)
	}
	for n, b := range d.Raw(size) {
		v |= uint64(b) << (8 * n)
	}
	return v
}

// Raw returns the next n bytes without copying them. It fails when n is
// negative or fewer bytes remain.
func (d *Decoder) Raw(n int) []byte {
	i := d.pos
	if n < 0 || n > len(d.buf)-i {
		d.short()
		return nil
	}
	d.pos = i + n
	return d.buf[i : i+n : i+n]
}

// length reads a length prefix and checks that so many bytes remain. Only -1
// means null (Part 6, 5.2.2.4); other negative lengths are malformed.
func (d *Decoder) length() int {
	n := int(d.Int32())
	if uint(n) <= uint(len(d.buf)-d.pos) {
		return n
	}
	if n != -1 {
		d.short()
		return -1
	}
	return -1
}

// String reads a String; a null String is "". It is checked for its length
// and for valid UTF-8 (see the package comment).
func (d *Decoder) String() string {
	i := d.pos + 4
	if i > len(d.buf) {
		d.short()
		return ""
	}
	n := int(int32(binary.LittleEndian.Uint32(d.buf[i-4:])))
	if uint(n) > uint(len(d.buf)-i) {
		if n != -1 {
			d.short()
			return ""
		}
		n = 0
	}
	d.pos = i + n
	if n == 0 {
		return ""
	}
	if n > d.lim.MaxStringLength && n > orDefault(d.lim.MaxStringLength, DefaultMaxStringLength) {
		d.Fail(ErrLimits)
		return ""
	}
	b := d.buf[i : i+n]
	s := unsafe.String(unsafe.SliceData(b), n)
	if !ascii(b) && !utf8.ValidString(s) {
		return d.invalid(s)
	}
	if d.alias {
		return s
	}
	return strings.Clone(s)
}

// ascii finds most texts valid, eight bytes at a time.
func ascii(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b)&0x8080_8080_8080_8080 != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// invalid decides what becomes of a string that is not UTF-8.
func (d *Decoder) invalid(s string) string {
	if !d.lim.ReplaceInvalidUTF8 {
		d.Fail(ErrDecoding)
		return ""
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}

// Bytes reads a ByteString; nil is null, an empty one is not nil.
func (d *Decoder) Bytes() []byte {
	n := d.length()
	if n < 0 || d.err != nil {
		return nil
	}
	if n > d.lim.MaxByteStringLength && n > orDefault(d.lim.MaxByteStringLength, DefaultMaxByteStringLength) {
		d.Fail(ErrLimits)
		return nil
	}
	i := d.pos
	d.pos = i + n
	b := d.buf[i : i+n : i+n]
	if d.alias {
		return b
	}
	c := make([]byte, n)
	copy(c, b)
	return c
}

// ArrayLen reads the length of an array whose elements take at least
// minElementSize (1 or more) bytes each. It returns -1 for a null array. The
// length is bounded by the bytes that remain, by what other arrays of the
// message have claimed, and by Limits.MaxArrayLength, so the caller may
// allocate that many elements.
func (d *Decoder) ArrayLen(minElementSize int) int {
	n := int(d.Int32())
	if n <= 0 {
		if n < -1 {
			d.short()
			return -1
		}
		return n
	}
	if n > (len(d.buf)-d.pos)/minElementSize || n*minElementSize > d.budget {
		d.short()
		return -1
	}
	if n > d.lim.MaxArrayLength && n > orDefault(d.lim.MaxArrayLength, DefaultMaxArrayLength) {
		d.Fail(ErrLimits)
		return -1
	}
	d.budget -= n * minElementSize
	return n
}

// RawString returns the next n bytes as a string that need not be text, shared
// or copied like String.
func (d *Decoder) RawString(n int) string {
	b := d.Raw(n)
	if d.alias {
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	return string(b)
}

// BytesString reads a ByteString as a string that need not be text, shared or
// copied like String; a null one is "".
func (d *Decoder) BytesString() string {
	n := d.length()
	if n <= 0 {
		return ""
	}
	if n > d.lim.MaxByteStringLength && n > orDefault(d.lim.MaxByteStringLength, DefaultMaxByteStringLength) {
		d.Fail(ErrLimits)
		return ""
	}
	return d.RawString(n)
}

// Opaque returns the next n bytes, shared or copied like Bytes. It is bounded
// by the message alone.
func (d *Decoder) Opaque(n int) []byte {
	b := d.Raw(n)
	if b == nil || d.alias {
		return b
	}
	return append(make([]byte, 0, n), b...)
}
