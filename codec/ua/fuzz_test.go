package ua

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/internal/fuzzguard"
)

// fuzzBuiltin checks for any bytes that decoding does not panic and does not
// allocate out of proportion, and that what it accepts is written and read
// again to the same bytes.
func fuzzBuiltin(f *testing.F, zero func() builtin) {
	for _, g := range goldens {
		f.Add(wire(f, g.wire))
	}
	for _, kind := range []string{"Variant", "DataValue", "ExtensionObject"} {
		f.Add(nested(kind, 100))
		f.Add(nested(kind, 101))
	}
	// Arrays inside each other that all claim the rest of the message.
	f.Add(claimingArrays(2000))
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, raw []byte) {
		v := zero()
		d := codec.NewDecoder(raw, nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v.DecodeFrom(d)
		runtime.ReadMemStats(&after)
		// The slack is for what the fuzzing engine allocates beside us.
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(64*len(raw)+256<<10) {
			t.Fatalf("%d bytes allocated for %d", n, len(raw))
		}
		if d.Err() != nil {
			if code := StatusOf(d.Err()); code != BadDecodingError && code != BadEncodingLimitsExceeded {
				t.Fatalf("failed with %v", code)
			}
			return
		}
		first := v.AppendTo(nil)
		if roomy := v.AppendTo(make([]byte, 0, len(first)+64)); !bytes.Equal(first, roomy) {
			t.Fatalf("written\n% x\nand into a large buffer\n% x", first, roomy)
		}
		d = codec.NewDecoder(first, nil)
		again := fresh(v)
		again.DecodeFrom(d)
		if d.Err() != nil || d.Remaining() != 0 {
			t.Fatalf("what was written cannot be read: %v\n% x", d.Err(), first)
		}
		if second := again.AppendTo(nil); !bytes.Equal(first, second) {
			t.Fatalf("written\n% x\nand then\n% x", first, second)
		}
		if v, ok := v.(*Variant); ok {
			if !v.Equal(*again.(*Variant)) || !v.Clone().Equal(*v) {
				t.Fatal("equal values differ")
			}
			_ = v.String()
			_ = v.Any()
		}
	}))
}

// claimingArrays nests arrays of Variants of which each claims all that
// remains of the message.
func claimingArrays(size int) []byte {
	raw := make([]byte, size)
	for at := 0; at+5 < size && at < 95*5; at += 5 {
		n := size - at - 5
		raw[at] = 0x98
		raw[at+1], raw[at+2] = byte(n), byte(n>>8)
	}
	return raw
}

func FuzzGuid(f *testing.F)           { fuzzBuiltin(f, func() builtin { return new(Guid) }) }
func FuzzNodeID(f *testing.F)         { fuzzBuiltin(f, func() builtin { return new(NodeID) }) }
func FuzzExpandedNodeID(f *testing.F) { fuzzBuiltin(f, func() builtin { return new(ExpandedNodeID) }) }

func FuzzQualifiedName(f *testing.F) { fuzzBuiltin(f, func() builtin { return new(QualifiedName) }) }

func FuzzLocalizedText(f *testing.F) { fuzzBuiltin(f, func() builtin { return new(LocalizedText) }) }
func FuzzVariant(f *testing.F)       { fuzzBuiltin(f, func() builtin { return new(Variant) }) }
func FuzzDataValue(f *testing.F)     { fuzzBuiltin(f, func() builtin { return new(DataValue) }) }
func FuzzExtensionObject(f *testing.F) {
	fuzzBuiltin(f, func() builtin { return new(ExtensionObject) })
}

func FuzzDiagnosticInfo(f *testing.F) { fuzzBuiltin(f, func() builtin { return new(DiagnosticInfo) }) }

func FuzzParseNodeID(f *testing.F) {
	for _, s := range []string{
		"i=85", "ns=2;s=Pump", "g=09087e75-8e5e-499b-954f-f2a9603db28a", "b=M/RbKBsRVkePCePcx24oRA==", "svr=1;nsu=urn:a%3Bb;s=b", "ns=65536;i=1", "i=",
	} {
		f.Add(s)
	}
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, s string) {
		e, err := ParseExpandedNodeID(s)
		if err != nil {
			if err != BadNodeIDInvalid {
				t.Fatal(err)
			}
			return
		}
		again, err := ParseExpandedNodeID(e.String())
		if err != nil || again != e {
			t.Fatalf("%q became %q, %v", s, e, err)
		}
	}))
}

// The memory that a message makes the decoder allocate is in proportion to its
// size, however the arrays in it are nested (threat D1; gopcua #884 turned 4
// bytes into 800 MB, and arrays inside arrays multiply).
func TestNestedArraysDoNotMultiply(t *testing.T) {
	raw := claimingArrays(60_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var v Variant
	d := codec.NewDecoder(raw, nil)
	v.DecodeFrom(d)
	runtime.ReadMemStats(&after)
	if d.Err() != codec.ErrDecoding {
		t.Errorf("error %v", d.Err())
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(64*len(raw)) {
		t.Errorf("%d bytes allocated for %d", n, len(raw))
	}
}
