package ua

import (
	"bytes"
	"encoding/binary"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/uahive/uahive/codec"
)

// smallStack makes a walk without a depth counter end the test binary instead
// of passing by a large stack.
func smallStack(t *testing.T) {
	old := debug.SetMaxStack(1 << 20)
	t.Cleanup(func() { debug.SetMaxStack(old) })
}

// nested builds the bytes of a value that is n levels deep, counted in
// Variants and ExtensionObjects.
func nested(kind string, n int) []byte {
	switch kind {
	case "Variant":
		// Arrays of one Variant inside each other, with a Boolean inside.
		return append(bytes.Repeat([]byte{0x98, 1, 0, 0, 0}, n-1), 0x01, 0x01)
	case "DataValue":
		// A DataValue in a Variant in a DataValue in a Variant.
		return append(bytes.Repeat([]byte{0x17, 0x01}, n-1), 0x01, 0x01)
	case "ExtensionObject":
		// A ContentFilterElement (i=585) whose operand is another one; the
		// innermost is opaque.
		body := []byte{0x01, 0x07, 0x01, 0x00, 0x01, 0, 0, 0, 0}
		for range n - 1 {
			outer := []byte{0x01, 0x00, 0x49, 0x02, 0x01}
			outer = binary.LittleEndian.AppendUint32(outer, uint32(8+len(body)))
			outer = append(outer, 0, 0, 0, 0, 1, 0, 0, 0)
			body = append(outer, body...)
		}
		return body
	}
	panic(kind)
}

// Part 6, 5.2.2.15 and 5.2.2.16: at least 100 levels are supported, and what
// goes beyond the limit is BadEncodingLimitsExceeded. CVE-2018-12086 and its
// many successors are about decoders that do not count.
func TestNestingLimit(t *testing.T) {
	smallStack(t)
	for _, kind := range []string{"Variant", "DataValue", "ExtensionObject"} {
		for _, levels := range []int{1, 2, 99, 100, 101, 102, 10_000} {
			value := func() builtin {
				if kind == "ExtensionObject" {
					return new(ExtensionObject)
				}
				return new(Variant)
			}
			raw := nested(kind, levels)
			v := value()
			d := codec.NewDecoder(raw, nil)
			v.DecodeFrom(d)
			if levels > 100 {
				if d.Err() != codec.ErrLimits || StatusOf(d.Err()) != BadEncodingLimitsExceeded {
					t.Errorf("%s with %d levels: error %v", kind, levels, d.Err())
				}
				continue
			}
			if d.Err() != nil || d.Remaining() != 0 {
				t.Fatalf("%s with %d levels: error %v, %d left", kind, levels, d.Err(), d.Remaining())
			}
			if again := v.AppendTo(nil); !bytes.Equal(again, raw) {
				t.Errorf("%s with %d levels is not written as it was read", kind, levels)
			}
		}
	}
}

// The same message with a limit of its own.
func TestNestingLimitIsConfigurable(t *testing.T) {
	var v Variant
	d := codec.NewDecoder(nested("Variant", 6), &codec.Limits{MaxDepth: 5})
	v.DecodeFrom(d)
	if d.Err() != codec.ErrLimits {
		t.Errorf("error %v", d.Err())
	}
}

// A null below the last level is not a level: it is what an encoder leaves of
// a value that is too deep, and must be readable.
func TestNullBelowTheLastLevel(t *testing.T) {
	raw := nested("Variant", 100)
	raw = append(raw[:len(raw)-2], 0x98, 2, 0, 0, 0, 0, 0)
	var v Variant
	d := codec.NewDecoder(raw, nil)
	if v.DecodeFrom(d); d.Err() != nil {
		t.Error(d.Err())
	}
}

// Part 6, 5.2.2.12: DiagnosticInfo is chained at most 10 deep.
func TestDiagnosticInfoLimit(t *testing.T) {
	smallStack(t)
	for _, levels := range []int{1, 10, 11, 10_000} {
		raw := append(bytes.Repeat([]byte{0x40}, levels-1), 0x00)
		var v DiagnosticInfo
		d := codec.NewDecoder(raw, nil)
		v.DecodeFrom(d)
		want := error(nil)
		if levels > 10 {
			want = codec.ErrLimits
		}
		if d.Err() != want {
			t.Errorf("%d levels: error %v, want %v", levels, d.Err(), want)
		}
		if want == nil && !bytes.Equal(v.AppendTo(nil), raw) {
			t.Errorf("%d levels are not written as they were read", levels)
		}
	}
}

// Values that an application nests too deep, or into themselves, end at the
// limit in every walk over them.
func TestSelfContainingValues(t *testing.T) {
	smallStack(t)
	slice := make([]Variant, 1)
	slice[0] = SliceVariant(slice)

	dv := new(DataValue)
	dv.Value = boxed(TypeDataValue, dv)

	element := &ContentFilterElement{FilterOperands: make([]ExtensionObject, 1)}
	element.FilterOperands[0] = ObjectOf(element)

	chain := new(DiagnosticInfo)
	chain.InnerDiagnosticInfo = chain

	for name, v := range map[string]Variant{
		"Variant": slice[0], "DataValue": dv.Value, "ExtensionObject": VariantOf(ObjectOf(element)),
		"DiagnosticInfo": VariantOf(*chain),
	} {
		t.Run(name, func(t *testing.T) {
			raw := v.AppendTo(nil)
			var again Variant
			d := codec.NewDecoder(raw, nil)
			if again.DecodeFrom(d); d.Err() != nil || d.Remaining() != 0 {
				t.Fatalf("what was written cannot be read: %v", d.Err())
			}
			clone := v.Clone()
			if !bytes.Equal(clone.AppendTo(nil), raw) {
				t.Error("the clone is written differently")
			}
			if !v.Equal(clone) && name != "Variant" && name != "DataValue" {
				t.Error("the clone is not equal")
			}
			if s := v.String(); len(s) > 2*maxTextLength {
				t.Errorf("text of %d bytes", len(s))
			}
		})
	}
}

// The text of a value is bounded whatever its shape.
func TestTextIsBounded(t *testing.T) {
	wide := VariantOf(strings.Repeat("x", 1000))
	for range 20 {
		s := make([]Variant, 40)
		for i := range s {
			s[i] = wide
		}
		wide = SliceVariant(s)
	}
	if n := len(wide.String()); n > 2*maxTextLength {
		t.Errorf("text of %d bytes", n)
	}
}
