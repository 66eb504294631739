package ua

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/internal/fuzzguard"
)

// filler fills structures with random values by reflection. It is for tests
// only: the generated code itself uses none.
type filler struct{ *rand.Rand }

func newFiller(seed uint64) filler { return filler{rand.New(rand.NewPCG(seed, 1))} }

func (f filler) text() string {
	return strings.Repeat("ä", f.IntN(3)) + fmt.Sprint(f.IntN(100))
}

func (f filler) nodeID() NodeID {
	switch f.IntN(4) {
	case 0:
		return NumericID(0, f.Uint32N(300))
	case 1:
		return NumericID(uint16(f.IntN(70000)), f.Uint32())
	case 2:
		return StringID(uint16(f.IntN(3)), f.text())
	default:
		return OpaqueID(1, []byte(f.text()))
	}
}

// special returns a value for the types that are not plain structs of fields.
func (f filler) special(t reflect.Type) (any, bool) {
	switch t {
	case reflect.TypeFor[NodeID]():
		return f.nodeID(), true
	case reflect.TypeFor[ExpandedNodeID]():
		return ExpandedNodeID{NodeID: f.nodeID(), NamespaceURI: strings.Repeat("u", f.IntN(2)), ServerIndex: f.Uint32N(2)}, true
	case reflect.TypeFor[Variant]():
		return f.variant(), true
	case reflect.TypeFor[DataValue]():
		return DataValue{Value: f.variant(), Status: StatusCode(f.Uint32N(2) << 31), SourceTimestamp: DateTime(f.Int64N(1 << 40))}, true
	case reflect.TypeFor[DiagnosticInfo]():
		d := DiagnosticInfo{Mask: DiagnosticSymbolicID | DiagnosticAdditionalInfo, SymbolicID: f.Int32(), AdditionalInfo: f.text()}
		if f.IntN(2) == 0 {
			d.InnerDiagnosticInfo = &DiagnosticInfo{Mask: DiagnosticLocale, Locale: 3}
		}
		return d, true
	case reflect.TypeFor[ExtensionObject]():
		switch f.IntN(3) {
		case 0:
			return ExtensionObject{}, true
		case 1:
			return ObjectOf(&Range{Low: f.Float64(), High: 2}), true
		default:
			return ExtensionObject{TypeID: NumericID(9, 7), Raw: []byte{1, 2, 3}, Encoding: EncodingBinary}, true
		}
	}
	return nil, false
}

func (f filler) variant() Variant {
	switch f.IntN(5) {
	case 0:
		return Variant{}
	case 1:
		return VariantOf(f.Float64())
	case 2:
		return SliceVariant([]string{f.text(), "", f.text()})
	case 3:
		return VariantOf(ObjectOf(&Argument{Name: f.text(), ValueRank: -1}))
	default:
		return SliceVariant([]Variant{VariantOf(f.text()), SliceVariant([]int32{1, 2, 3})})
	}
}

func (f filler) fill(v reflect.Value) {
	if value, ok := f.special(v.Type()); ok {
		v.Set(reflect.ValueOf(value))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.Uint64()) >> (64 - v.Type().Bits()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(f.Uint64() >> (64 - v.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.IntN(1000)) / 8)
	case reflect.String:
		v.SetString(f.text())
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Slice:
		n := f.IntN(5) - 1
		if n < 0 {
			v.SetZero()
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i))
		}
	case reflect.Pointer:
		if f.IntN(3) == 0 {
			v.SetZero()
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	default:
		panic("no rule for " + v.Type().String())
	}
}

// decode reads s from body and checks that nothing is left over.
func decode(s Structure, body []byte) error {
	d := codec.NewDecoder(body, nil)
	s.DecodeFrom(d)
	if err := d.Err(); err != nil {
		return err
	}
	if d.Remaining() != 0 {
		return fmt.Errorf("%d bytes left", d.Remaining())
	}
	return nil
}

func eachStructure(t *testing.T, test func(t *testing.T, id uint32)) {
	t.Helper()
	for _, id := range encodingIDs {
		t.Run(TypeName(id), func(t *testing.T) { test(t, id) })
	}
}

func TestGeneratedStructuresRoundTrip(t *testing.T) {
	eachStructure(t, func(t *testing.T, id uint32) {
		dirty := newGenerated(id) // keeps what earlier rounds left in it
		for seed := range uint64(25) {
			s := newGenerated(id)
			newFiller(seed).fill(reflect.ValueOf(s).Elem())
			body := s.AppendTo(nil)
			fresh := newGenerated(id)
			if err := decode(fresh, body); err != nil {
				t.Fatalf("seed %d: decode: %v", seed, err)
			}
			if again := fresh.AppendTo(nil); !bytes.Equal(again, body) {
				t.Fatalf("seed %d:\n%x\nbecame\n%x", seed, body, again)
			}
			if err := decode(dirty, body); err != nil {
				t.Fatalf("seed %d: decode over old content: %v", seed, err)
			}
			if err := decode(fresh, dirty.AppendTo(nil)); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			want, got := normal(s), normal(dirty)
			if want != got {
				t.Fatalf("seed %d: old content shows:\n%s\nwant\n%s", seed, got, want)
			}
		}
	})
}

// normal prints a structure so that null and empty arrays look the same: a
// reused array cannot become null again.
func normal(s Structure) string {
	v := reflect.New(reflect.TypeOf(s).Elem())
	v.Elem().Set(reflect.ValueOf(s).Elem())
	emptied(v.Elem())
	return hex.EncodeToString(v.Interface().(Structure).AppendTo(nil))
}

// emptied makes null arrays empty, copying what it changes.
func emptied(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type().PkgPath() != reflect.TypeFor[Range]().PkgPath() || !v.CanSet() {
			return
		}
		switch v.Type() {
		case reflect.TypeFor[NodeID](), reflect.TypeFor[ExpandedNodeID](), reflect.TypeFor[Variant](),
			reflect.TypeFor[DataValue](), reflect.TypeFor[DiagnosticInfo](), reflect.TypeFor[ExtensionObject]():
			return
		}
		for i := range v.NumField() {
			emptied(v.Field(i))
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[[]byte]() {
			return // a null ByteString is distinct from an empty one
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		v.Set(c)
		for i := range v.Len() {
			emptied(v.Index(i))
		}
	}
}

func TestGeneratedStructuresRefuseTruncation(t *testing.T) {
	eachStructure(t, func(t *testing.T, id uint32) {
		s := newGenerated(id)
		newFiller(7).fill(reflect.ValueOf(s).Elem())
		body := s.AppendTo(nil)
		for n := range body {
			if err := decode(newGenerated(id), body[:n:n]); !errors.Is(err, codec.ErrDecoding) {
				t.Fatalf("%d of %d bytes: %v", n, len(body), err)
			}
		}
	})
}

// An announced length is checked against the bytes that are there before
// anything is allocated for it (CVE-2022-25231, gopcua #884).
func TestGeneratedStructuresCheckLengthsBeforeAllocating(t *testing.T) {
	body := new(ReadRequest).AppendTo(nil)
	body = append(body[:len(body)-4], 0xff, 0xff, 0xff, 0x7f) // NodesToRead
	r, d := new(ReadRequest), new(codec.Decoder)
	if got := testing.AllocsPerRun(10, func() {
		d.Reset(body, nil)
		r.DecodeFrom(d)
		if !errors.Is(d.Err(), codec.ErrDecoding) {
			t.Fatal(d.Err())
		}
	}); got != 0 {
		t.Fatalf("%v allocations", got)
	}
}

func TestEncodingIDsMatchTheRegistry(t *testing.T) {
	for i, id := range encodingIDs {
		if i > 0 && encodingIDs[i-1] >= id {
			t.Fatalf("%d does not ascend", id)
		}
		s := newGenerated(id)
		if s == nil || s.EncodingID() != NumericID(0, id) || TypeName(id) == "" {
			t.Fatalf("i=%d gives %T", id, s)
		}
	}
	if newGenerated(1) != nil || TypeName(1) != "" {
		t.Fatal("i=1 is no encoding")
	}
}

// The layout of a service request, byte by byte: Part 4, 5.10.2.2 and 7.32,
// in the encoding of Part 6, 5.2.
func TestReadRequestBytes(t *testing.T) {
	req := ReadRequest{
		RequestHeader: RequestHeader{
			AuthenticationToken: NumericID(0, 13), Timestamp: 1, RequestHandle: 2, TimeoutHint: 3,
		},
		TimestampsToReturn: TimestampsToReturnNeither,
		NodesToRead:        []ReadValueID{{NodeID: NumericID(0, 2258), AttributeID: AttributeIDValue}},
	}
	want := unhex(t, `
		00 0d                     AuthenticationToken, two-byte form
		01 00 00 00 00 00 00 00   Timestamp
		02 00 00 00               RequestHandle
		00 00 00 00               ReturnDiagnostics
		ff ff ff ff               AuditEntryId, null
		03 00 00 00               TimeoutHint
		00 00 00                  AdditionalHeader, null id and no body
		00 00 00 00 00 00 00 00   MaxAge
		03 00 00 00               TimestampsToReturn
		01 00 00 00               one node to read
		01 00 d2 08               NodeId, four-byte form
		0d 00 00 00               AttributeId
		ff ff ff ff               IndexRange, null
		00 00 ff ff ff ff         DataEncoding, null
	`)
	if got := req.AppendTo(nil); !bytes.Equal(got, want) {
		t.Fatalf("got\n%x\nwant\n%x", got, want)
	}
	var back ReadRequest
	if err := decode(&back, want); err != nil || !reflect.DeepEqual(back, req) {
		t.Fatalf("%v: %+v", err, back)
	}
}

// Optional fields are announced by a mask in front (Part 6, 5.2.7).
func TestLogRecordBytes(t *testing.T) {
	name := "n"
	record := LogRecord{Time: 5, Severity: 6, SourceName: &name, AdditionalData: []NameValuePair{}}
	want := unhex(t, `
		14 00 00 00               SourceName is bit 2, AdditionalData bit 4
		05 00 00 00 00 00 00 00   Time
		06 00                     Severity
		01 00 00 00 6e            SourceName
		00                        Message
		00 00 00 00               AdditionalData
	`)
	if got := record.AppendTo(nil); !bytes.Equal(got, want) {
		t.Fatalf("got\n%x\nwant\n%x", got, want)
	}
	var back LogRecord
	if err := decode(&back, want); err != nil || !reflect.DeepEqual(back, record) {
		t.Fatalf("%v: %+v", err, back)
	}
	want[0] |= 0x20
	if err := decode(&back, want); !errors.Is(err, codec.ErrDecoding) {
		t.Fatalf("an unknown field was accepted: %v", err)
	}
}

// unhex reads lines of hexadecimal bytes; what follows three spaces is a note.
func unhex(t *testing.T, lines string) []byte {
	t.Helper()
	var out []byte
	for line := range strings.Lines(lines) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "  ")
		b, err := hex.DecodeString(strings.ReplaceAll(line, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}

func TestNamesOfEnumerationsAndOptionSets(t *testing.T) {
	for _, c := range []struct {
		value fmt.Stringer
		want  string
	}{
		{NodeClassVariable, "Variable"},
		{NodeClass(77), "NodeClass(77)"},
		{NodeClass(-1), "NodeClass(-1)"},
		{IDTypeOpaque, "Opaque"},
		{AttributeIDValue, "Value"},
		{AttributeID(28), "AttributeId(28)"},
		{AttributeIDAccessLevelEx, "AccessLevelEx"},
		{AccessLevelTypeCurrentRead | AccessLevelTypeHistoryWrite, "CurrentRead|HistoryWrite"},
		{AccessLevelType(0), "None"},
		{AccessRestrictionType(0x8001), "SigningRequired|0x8000"},
		{BadNodeIDUnknown, "BadNodeIdUnknown"},
		{BadTcpMessageTooLarge | 0x480, "BadTcpMessageTooLarge"},
		{Good, "Good"},
		{StatusCode(0x80ff1234), "StatusCode(0x80FF1234)"},
	} {
		if got := c.value.String(); got != c.want {
			t.Errorf("%#v: %q, want %q", c.value, got, c.want)
		}
	}
}

func FuzzStructure(f *testing.F) {
	for i, id := range encodingIDs {
		s := newGenerated(id)
		newFiller(3).fill(reflect.ValueOf(s).Elem())
		f.Add(uint16(i), s.AppendTo(nil))
	}
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, index uint16, body []byte) {
		id := encodingIDs[int(index)%len(encodingIDs)]
		s := newGenerated(id)
		d := codec.NewDecoder(body, nil)
		d.Alias(true)
		s.DecodeFrom(d)
		if d.Err() != nil {
			return
		}
		first := s.AppendTo(nil)
		again := newGenerated(id)
		if err := decode(again, first); err != nil {
			t.Fatalf("%s: what we encode, we refuse: %v", TypeName(id), err)
		}
		if second := again.AppendTo(nil); !bytes.Equal(first, second) {
			t.Fatalf("%s:\n%x\nbecame\n%x", TypeName(id), first, second)
		}
	}))
}
