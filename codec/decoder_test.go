package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/uahive/uahive/internal/fuzzguard"
)

func le32(n int32) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }

// Part 6, 5.2.2: the numbers, with the standard's own examples among them.
func TestNumbers(t *testing.T) {
	raw := []byte{
		1,          // Boolean
		0xff,       // SByte -1
		0xc8,       // Byte 200
		0xfe, 0xff, // Int16 -2
		0x01, 0x02, // UInt16 513
		0x00, 0xca, 0x9a, 0x3b, // Int32 1,000,000,000 (5.2.2.2)
		0xff, 0xff, 0xff, 0xff, // UInt32
		0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // Int64 -2
		0, 0, 0, 0, 0, 0, 0, 0x80, // UInt64 2^63
		0x00, 0x00, 0xd0, 0xc0, // Float -6.5 (5.2.2.3)
		0, 0, 0, 0, 0, 0, 0xf0, 0x3f, // Double 1
		0x06, 0x00, 0x00, 0x00, 0xe6, 0xb0, 0xb4, 0x42, 0x6f, 0x79, // 水Boy (5.2.2.4)
		0xff, 0xff, 0xff, 0xff, // null String
		0x02, 0x00, 0x00, 0x00, 8, 9, // ByteString
		0x00, 0x00, 0x00, 0x00, // empty ByteString
		0xff, 0xff, 0xff, 0xff, // null ByteString
	}
	d := NewDecoder(raw, nil)
	var out []byte
	check := func(what string, ok bool) {
		t.Helper()
		if !ok {
			t.Error(what)
		}
	}
	b := d.Bool()
	check("Bool", b)
	out = AppendBool(out, b)
	i8 := d.Int8()
	check("Int8", i8 == -1)
	out = AppendInt8(out, i8)
	u8 := d.Uint8()
	check("Uint8", u8 == 200)
	out = AppendUint8(out, u8)
	i16 := d.Int16()
	check("Int16", i16 == -2)
	out = AppendInt16(out, i16)
	u16 := d.Uint16()
	check("Uint16", u16 == 513)
	out = AppendUint16(out, u16)
	i32 := d.Int32()
	check("Int32", i32 == 1_000_000_000)
	out = AppendInt32(out, i32)
	u32 := d.Uint32()
	check("Uint32", u32 == math.MaxUint32)
	out = AppendUint32(out, u32)
	i64 := d.Int64()
	check("Int64", i64 == -2)
	out = AppendInt64(out, i64)
	u64 := d.Uint64()
	check("Uint64", u64 == 1<<63)
	out = AppendUint64(out, u64)
	f32 := d.Float32()
	check("Float32", f32 == -6.5)
	out = AppendFloat32(out, f32)
	f64 := d.Float64()
	check("Float64", f64 == 1)
	out = AppendFloat64(out, f64)
	s := d.String()
	check("String", s == "水Boy")
	out = AppendString(out, s)
	s = d.String()
	check("null String", s == "")
	out = AppendString(out, s)
	bs := d.Bytes()
	check("Bytes", bytes.Equal(bs, []byte{8, 9}))
	out = AppendBytes(out, bs)
	bs = d.Bytes()
	check("empty Bytes", bs != nil && len(bs) == 0)
	out = AppendBytes(out, bs)
	bs = d.Bytes()
	check("null Bytes", bs == nil)
	out = AppendBytes(out, bs)
	check("error", d.Err() == nil)
	check("remaining", d.Remaining() == 0 && d.Pos() == len(raw))
	check("appended bytes", bytes.Equal(out, raw))
	if got := AppendStringValue(nil, ""); !bytes.Equal(got, le32(0)) {
		t.Errorf("an empty String value is % x", got)
	}
	if got := AppendArrayLen(nil, -1); !bytes.Equal(got, le32(-1)) {
		t.Errorf("a null array is % x", got)
	}
}

// Every method fails on an empty buffer, returns its zero value, and leaves
// the first error in place.
func TestErrorsStick(t *testing.T) {
	first := errors.New("first")
	methods := map[string]func(d *Decoder) bool{
		"Bool":        func(d *Decoder) bool { return !d.Bool() },
		"Int8":        func(d *Decoder) bool { return d.Int8() == 0 },
		"Uint16":      func(d *Decoder) bool { return d.Uint16() == 0 },
		"Uint32":      func(d *Decoder) bool { return d.Uint32() == 0 },
		"Uint64":      func(d *Decoder) bool { return d.Uint64() == 0 },
		"Float64":     func(d *Decoder) bool { return d.Float64() == 0 },
		"String":      func(d *Decoder) bool { return d.String() == "" },
		"Bytes":       func(d *Decoder) bool { return d.Bytes() == nil },
		"BytesString": func(d *Decoder) bool { return d.BytesString() == "" },
		"Raw":         func(d *Decoder) bool { return d.Raw(1) == nil },
		"RawString":   func(d *Decoder) bool { return d.RawString(1) == "" },
		"Opaque":      func(d *Decoder) bool { return d.Opaque(1) == nil },
		"ArrayLen":    func(d *Decoder) bool { return d.ArrayLen(1) <= 0 },
		"ReadSlice":   func(d *Decoder) bool { return len(ReadSlice[int32](d, nil)) == 0 },
	}
	for name, read := range methods {
		d := NewDecoder(nil, nil)
		if !read(d) || d.Err() != ErrDecoding {
			t.Errorf("%s on nothing: error %v", name, d.Err())
		}
		d = NewDecoder(bytes.Repeat([]byte{1}, 64), nil)
		d.Uint16()
		d.Fail(first)
		d.Fail(ErrLimits)
		if !read(d) || d.Err() != first || d.Pos() != 2 || d.Remaining() != 0 {
			t.Errorf("%s after a failure: error %v at %d", name, d.Err(), d.Pos())
		}
	}
}

// Only -1 is a null length (Part 6, 5.2.2.4, 5.2.2.7 and 5.2.5).
func TestLengths(t *testing.T) {
	for _, n := range []int32{-2, math.MinInt32, 5, math.MaxInt32} {
		raw := append(le32(n), 1, 2, 3, 4)
		for name, read := range map[string]func(d *Decoder){
			"String":      func(d *Decoder) { _ = d.String() },
			"Bytes":       func(d *Decoder) { d.Bytes() },
			"BytesString": func(d *Decoder) { d.BytesString() },
			"ArrayLen":    func(d *Decoder) { d.ArrayLen(1) },
			"ReadSlice":   func(d *Decoder) { ReadSlice[uint16](d, nil) },
		} {
			d := NewDecoder(raw, nil)
			if read(d); d.Err() != ErrDecoding {
				t.Errorf("%s with length %d: error %v", name, n, d.Err())
			}
		}
	}
}

// The limits apply to what would otherwise be valid, and 0 means the default,
// not "none".
func TestLimits(t *testing.T) {
	long := func(n int) []byte { return append(le32(int32(n)), make([]byte, n)...) }
	tests := []struct {
		name string
		raw  []byte
		lim  *Limits
		read func(d *Decoder)
		want error
	}{
		{"String", long(5), &Limits{MaxStringLength: 4}, func(d *Decoder) { _ = d.String() }, ErrLimits},
		{"String", long(4), &Limits{MaxStringLength: 4}, func(d *Decoder) { _ = d.String() }, nil},
		{"String by default", long(1<<20 + 1), nil, func(d *Decoder) { _ = d.String() }, ErrLimits},
		{"String by default", long(1 << 20), &Limits{}, func(d *Decoder) { _ = d.String() }, nil},
		{"Bytes", long(5), &Limits{MaxByteStringLength: 4}, func(d *Decoder) { d.Bytes() }, ErrLimits},
		{"Bytes by default", long(4<<20 + 1), nil, func(d *Decoder) { d.Bytes() }, ErrLimits},
		{"Bytes by default", long(4 << 20), nil, func(d *Decoder) { d.Bytes() }, nil},
		{"BytesString", long(5), &Limits{MaxByteStringLength: 4}, func(d *Decoder) { d.BytesString() }, ErrLimits},
		{"array", long(5), &Limits{MaxArrayLength: 4}, func(d *Decoder) { d.ArrayLen(1) }, ErrLimits},
		{"array", long(5), &Limits{MaxArrayLength: 5}, func(d *Decoder) { d.ArrayLen(1) }, nil},
		{"array by default", long(1<<20 + 1), nil, func(d *Decoder) { d.ArrayLen(1) }, ErrLimits},
		{"array by default", long(1 << 20), nil, func(d *Decoder) { d.ArrayLen(1) }, nil},
	}
	for _, tt := range tests {
		d := NewDecoder(tt.raw, tt.lim)
		if tt.read(d); d.Err() != tt.want {
			t.Errorf("%s of %d bytes: error %v, want %v", tt.name, len(tt.raw)-4, d.Err(), tt.want)
		}
	}
}

// An array's elements need bytes of their own: those that remain, and those
// that no other array of the message has claimed.
func TestArrayLenClaimsBytes(t *testing.T) {
	raw := append(append(le32(10), le32(6)...), make([]byte, 10)...)
	d := NewDecoder(raw, nil)
	if n := d.ArrayLen(1); n != 10 {
		t.Fatal(n, d.Err())
	}
	// 10 bytes are claimed of 18, so that 8 could still be.
	if n := d.ArrayLen(1); n != 6 || d.Err() != nil {
		t.Fatal(n, d.Err())
	}
	d.Reset(raw, nil)
	d.ArrayLen(1)
	if n := d.ArrayLen(2); n != -1 || d.Err() != ErrDecoding {
		t.Errorf("12 more bytes were claimed: %d, %v", n, d.Err())
	}
	d.Reset(append(le32(-1), le32(0)...), nil)
	if n := d.ArrayLen(8); n != -1 || d.Err() != nil {
		t.Errorf("null array: %d, %v", n, d.Err())
	}
	if n := d.ArrayLen(8); n != 0 || d.Err() != nil {
		t.Errorf("empty array: %d, %v", n, d.Err())
	}
}

func TestDepth(t *testing.T) {
	for _, lim := range []*Limits{nil, {}, {MaxDepth: 3}} {
		d := NewDecoder(make([]byte, 1), lim)
		want := 100
		if lim != nil && lim.MaxDepth != 0 {
			want = lim.MaxDepth
		}
		n := 0
		for d.Enter() {
			n++
		}
		if n != want || d.Err() != ErrLimits {
			t.Errorf("%d levels, error %v", n, d.Err())
		}
	}
	d := NewDecoder(nil, &Limits{MaxDepth: 1, MaxDiagnosticDepth: 7})
	for range 1000 {
		if !d.Enter() {
			t.Fatal("levels that were left still count")
		}
		d.Leave()
	}
	if d.MaxDiagnosticDepth() != 7 || NewDecoder(nil, nil).MaxDiagnosticDepth() != 10 {
		t.Error("MaxDiagnosticDepth")
	}
}

func TestNarrow(t *testing.T) {
	raw := []byte{1, 2, 3, 4}
	d := NewDecoder(raw, nil)
	outer := d.Narrow(3)
	inner := d.Narrow(1)
	if d.Uint8() != 1 || d.Remaining() != 0 {
		t.Error("the inner end is wrong")
	}
	d.Widen(inner)
	if d.Uint16() != 0x0302 || d.Remaining() != 0 {
		t.Error("the outer end is wrong")
	}
	d.Widen(outer)
	if d.Uint8() != 4 || d.Err() != nil {
		t.Error(d.Err())
	}
	for _, n := range []int{-1, 5, math.MaxInt} {
		d.Reset(raw, nil)
		d.Widen(d.Narrow(n))
		if d.Err() != ErrDecoding {
			t.Errorf("narrowed to %d: %v", n, d.Err())
		}
	}
	d.Reset(raw, nil)
	f := d.Narrow(2)
	d.Uint8()
	if d.Widen(f); d.Err() != ErrDecoding || d.Remaining() != 0 {
		t.Errorf("a rest was ignored: %v", d.Err())
	}
}

// Threat D5: text that is not UTF-8 is refused, or replaced where the limits
// say so, and an embedded NUL is text.
func TestInvalidUTF8(t *testing.T) {
	for s, want := range map[string]string{
		"\xc8":             "\uFFFD",
		"a\xc8":            "a\uFFFD",
		"\xc0\xaf":         "\uFFFD",  // overlong
		"\xed\xa0\x80x":    "\uFFFDx", // lone surrogate
		"\xf4\x90\x80\x80": "\uFFFD",  // beyond U+10FFFF
		"M\xfcller":        "M\uFFFDller",
	} {
		raw := AppendString(nil, s)
		d := NewDecoder(raw, nil)
		if got := d.String(); got != "" || d.Err() != ErrDecoding {
			t.Errorf("%q: %q, %v", s, got, d.Err())
		}
		d.Reset(append(raw, 7), &Limits{ReplaceInvalidUTF8: true})
		if got := d.String(); got != want || d.Err() != nil || d.Uint8() != 7 {
			t.Errorf("%q replaced: %q, %v", s, got, d.Err())
		}
	}
	d := NewDecoder(AppendString(nil, "a\x00b"), nil)
	if got := d.String(); got != "a\x00b" || d.Err() != nil {
		t.Errorf("NUL: %q, %v", got, d.Err())
	}
}

func TestAlias(t *testing.T) {
	raw := AppendBytes(AppendString(nil, "text"), []byte("data"))
	raw = append(raw, "raw!"...)
	for _, alias := range []bool{false, true} {
		buf := bytes.Clone(raw)
		d := NewDecoder(buf, nil)
		d.Alias(alias)
		s, b, r := d.String(), d.Bytes(), d.RawString(4)
		inside := func(p *byte) bool {
			return uintptr(unsafe.Pointer(p)) >= uintptr(unsafe.Pointer(&buf[0])) && uintptr(unsafe.Pointer(p)) <= uintptr(unsafe.Pointer(&buf[len(buf)-1]))
		}
		if inside(unsafe.StringData(s)) != alias || inside(&b[0]) != alias || inside(unsafe.StringData(r)) != alias {
			t.Errorf("alias %v is not kept", alias)
		}
		if s != "text" || string(b) != "data" || r != "raw!" || cap(b) != len(b) && alias {
			t.Errorf("%q %q %q", s, b, r)
		}
	}
}

func TestFinish(t *testing.T) {
	d := NewDecoder([]byte{1, 2}, nil)
	d.Uint8()
	d.Uint8()
	if err := d.Finish(); err != nil {
		t.Error(err)
	}
	d.Reset([]byte{1, 2}, nil)
	d.Uint8()
	if err := d.Finish(); err != ErrDecoding {
		t.Error(err)
	}
	d.Reset([]byte{1, 2}, nil)
	d.Fail(ErrLimits)
	if err := d.Finish(); err != ErrLimits {
		t.Error(err)
	}
}

// Bits reads the same near the end of a message as far from it.
func TestBits(t *testing.T) {
	raw := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	for size := 1; size <= 8; size++ {
		var want uint64
		for i := size; i > 0; i-- {
			want = want<<8 | uint64(raw[i-1])
		}
		for _, n := range []int{size, 8, 9} {
			d := NewDecoder(append(raw, 9)[:n], nil)
			if got := d.Bits(size); got != want || d.Pos() != size || d.Err() != nil {
				t.Errorf("%d of %d bytes: %x, %v", size, n, got, d.Err())
			}
		}
		d := NewDecoder(raw[:size-1], nil)
		if got := d.Bits(size); got != 0 || d.Err() != ErrDecoding {
			t.Errorf("%d of %d bytes: %x, %v", size, size-1, got, d.Err())
		}
	}
}

// Reset keeps nothing of the former message.
func TestReset(t *testing.T) {
	d := NewDecoder([]byte{1}, &Limits{MaxDepth: 1, MaxStringLength: 1})
	d.Alias(true)
	d.Enter()
	d.Enter()
	d.Uint64()
	d.Reset(AppendString(nil, strings.Repeat("x", 100)), nil)
	if d.Err() != nil || !d.Enter() || !d.Enter() || len(d.String()) != 100 {
		t.Error(d.Err())
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3}, []byte("\x04\x00\x00\x00text\xff\xff\xff\xff"))
	f.Add([]byte{9, 9, 9, 12}, bytes.Repeat([]byte{1, 0, 0, 0}, 20))
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, program, raw []byte) {
		d := NewDecoder(raw, nil)
		d.Alias(len(program)%2 == 0)
		var frames []Frame
		for _, op := range program {
			before := d.Pos()
			switch op % 16 {
			case 0:
				d.Bool()
			case 1:
				d.Int16()
			case 2:
				d.Int32()
			case 3:
				d.Int64()
			case 4:
				_ = d.String()
			case 5:
				d.Bytes()
			case 6:
				if n := d.ArrayLen(1 + int(op>>4)); n > d.Remaining() {
					t.Fatal("a longer array than the message")
				}
			case 7:
				d.Raw(int(op >> 4))
			case 8:
				d.Enter()
			case 9:
				d.Leave()
			case 10:
				ReadSlice[bool](d, nil)
			case 11:
				ReadSlice[float64](d, nil)
			case 12:
				frames = append(frames, d.Narrow(int(op>>4)))
			case 13:
				if len(frames) > 0 {
					d.Widen(frames[len(frames)-1])
					frames = frames[:len(frames)-1]
				}
			case 14:
				d.BytesString()
			case 15:
				d.Opaque(int(op >> 4))
			}
			if d.Pos() < before || d.Pos() > len(raw) || d.Remaining() < 0 {
				t.Fatalf("position %d after %d, %d remaining", d.Pos(), before, d.Remaining())
			}
			if d.Err() != nil && d.Remaining() != 0 {
				t.Fatal("bytes remain after a failure")
			}
		}
	}))
}
