package ua

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/uahive/uahive/codec"
)

func TestVariantIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Variant{}); n != 32 {
		t.Errorf("a Variant takes %d bytes", n)
	}
	if n := unsafe.Sizeof(DataValue{}); n != 56 {
		t.Errorf("a DataValue takes %d bytes", n)
	}
}

func TestVariantShape(t *testing.T) {
	matrix := must(MatrixVariant([]int32{1, 2, 3, 4, 5, 6}, 3, 2))
	tests := []struct {
		v    Variant
		typ  TypeID
		dims []int32
		n    int
	}{
		{Variant{}, TypeNull, nil, 0},
		{VariantOf(int32(5)), TypeInt32, nil, 1},
		{SliceVariant([]string{"a", "b"}), TypeString, []int32{2}, 2},
		{SliceVariant([]string(nil)), TypeString, []int32{0}, 0},
		{matrix, TypeInt32, []int32{3, 2}, 6},
		{must(MatrixVariant([]int32{1, 2}, 2)), TypeInt32, []int32{2}, 2},
	}
	for _, tt := range tests {
		if tt.v.Type() != tt.typ || tt.v.Len() != tt.n || tt.v.Rank() != len(tt.dims) || !reflect.DeepEqual(tt.v.Dimensions(), tt.dims) {
			t.Errorf("%v: type %v, length %d, dimensions %v", tt.v, tt.v.Type(), tt.v.Len(), tt.v.Dimensions())
		}
	}
	if e, ok := matrix.Element(4); !ok || !e.Equal(VariantOf(int32(5))) {
		t.Errorf("element 4 is %v", e)
	}
	if _, ok := matrix.Element(6); ok {
		t.Error("there is no element 6")
	}
}

func TestMatrixVariantChecksDimensions(t *testing.T) {
	for _, dims := range [][]int32{{}, {2, 2}, {-1, -3}, {3, 0}, {1 << 30, 1 << 30, 16}, make([]int32, 65)} {
		if _, err := MatrixVariant([]int32{1, 2, 3}, dims...); err != BadOutOfRange {
			t.Errorf("dimensions %v: error %v", dims, err)
		}
	}
}

type pressure float64

func TestValueOf(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	eu := EUInformation{NamespaceURI: "urn:x", UnitID: 7}
	tests := []struct {
		in   any
		want Variant
	}{
		{nil, Variant{}},
		{true, VariantOf(true)},
		{int8(-1), VariantOf(int8(-1))},
		{int16(-1), VariantOf(int16(-1))},
		{7, VariantOf(int64(7))},
		{uint(7), VariantOf(uint64(7))},
		{float32(1.5), VariantOf(float32(1.5))},
		{"a", VariantOf("a")},
		{[]byte{1}, VariantOf([]byte{1})},
		{now, VariantOf(DateTimeOf(now))},
		{NodeClassVariable, VariantOf(int32(2))},
		{pressure(2), VariantOf(2.0)},
		{BadTimeout, VariantOf(BadTimeout)},
		{exampleGuid, VariantOf(exampleGuid)},
		{NumericID(1, 2), VariantOf(NumericID(1, 2))},
		{ptr(7), VariantOf(int64(7))},
		{(*int)(nil), Variant{}},
		{Text("a"), VariantOf(Text("a"))},
		{&eu, VariantOf(ObjectOf(&eu))},
		{eu, VariantOf(ObjectOf(&eu))},
		{DataValue{Status: BadTimeout}, VariantOf(DataValue{Status: BadTimeout})},
		{[]int32{1, 2}, SliceVariant([]int32{1, 2})},
		{[]int{1, 2}, SliceVariant([]int64{1, 2})},
		{[]uint16(nil), SliceVariant([]uint16(nil))},
		{[2]float64{1, 2}, SliceVariant([]float64{1, 2})},
		{[]NodeClass{NodeClassMethod}, SliceVariant([]int32{4})},
		{[]pressure{1}, SliceVariant([]float64{1})},
		{[]time.Time{now}, SliceVariant([]DateTime{DateTimeOf(now)})},
		{[]time.Time(nil), SliceVariant([]DateTime(nil))},
		{[]EUInformation{eu}, SliceVariant([]ExtensionObject{ObjectOf(&eu)})},
		{[]*EUInformation{&eu, nil}, SliceVariant([]ExtensionObject{ObjectOf(&eu), {}})},
		{[][]byte{{1}, {2}}, SliceVariant([][]byte{{1}, {2}})},
		{[][]int32{{1, 2, 3}, {4, 5, 6}}, must(MatrixVariant([]int32{1, 2, 3, 4, 5, 6}, 2, 3))},
		{[2][2]NodeClass{{1, 2}, {4, 8}}, must(MatrixVariant([]int32{1, 2, 4, 8}, 2, 2))},
		{[]Variant{VariantOf(true)}, SliceVariant([]Variant{VariantOf(true)})},
		{VariantOf(1.5), VariantOf(1.5)},
		{[]any{true, "a", []any{nil}}, SliceVariant([]Variant{VariantOf(true), VariantOf("a"), SliceVariant([]Variant{{}})})},
		{[]any(nil), SliceVariant([]Variant(nil))},
	}
	for _, tt := range tests {
		got, err := ValueOf(tt.in)
		if err != nil || !got.Equal(tt.want) {
			t.Errorf("ValueOf(%#v) = %v %v, %v, want %v %v", tt.in, got.Type(), got, err, tt.want.Type(), tt.want)
		}
	}
	for _, in := range []any{struct{}{}, map[string]int{}, make(chan int), [][]int{{1}, {1, 2}}, []struct{}{}, complex(1, 1), func() {}, []any{struct{}{}}} {
		if _, err := ValueOf(in); err != BadTypeMismatch {
			t.Errorf("ValueOf(%T): error %v", in, err)
		}
	}
	self := make([]any, 1)
	self[0] = self
	if _, err := ValueOf(self); err != BadEncodingLimitsExceeded {
		t.Errorf("a slice in itself: error %v", err)
	}
}

func check[T any](t *testing.T, v Variant, want T) {
	t.Helper()
	if got, ok := As[T](v); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("As[%T](%v) = %v, %v", want, v, got, ok)
	}
}

func refuse[T any](t *testing.T, v Variant) {
	t.Helper()
	if got, ok := As[T](v); ok {
		t.Errorf("As[%T](%v %v) = %v", got, v.Type(), v, got)
	}
}

func TestAs(t *testing.T) {
	check(t, VariantOf(true), true)
	check(t, VariantOf(int8(-7)), int8(-7))
	check(t, VariantOf(int32(-7)), int32(-7))
	check(t, VariantOf(uint64(math.MaxUint64)), uint64(math.MaxUint64))
	check(t, VariantOf(float32(-6.5)), float32(-6.5))
	check(t, VariantOf("x"), "x")
	check(t, VariantOf([]byte{1}), []byte{1})
	check(t, VariantOf(exampleGuid), exampleGuid)
	check(t, VariantOf(BadTimeout), BadTimeout)
	check(t, VariantOf(XMLElement("<a/>")), XMLElement("<a/>"))
	check(t, VariantOf(int32(2)), NodeClassVariable)
	check(t, VariantOf(2.0), pressure(2))
	check(t, VariantOf(int64(2)), 2)
	check(t, VariantOf(DateTime(0)), time.Time{})
	check(t, VariantOf(NumericID(1, 1)), NumericID(1, 1))
	check(t, SliceVariant([]float64{1, 2}), []float64{1, 2})
	check(t, SliceVariant([]float64{1, 2}), []pressure{1, 2})
	check(t, SliceVariant([]float64(nil)), []pressure(nil))
	check(t, SliceVariant([]int32{1, 2}), []NodeClass{NodeClassObject, NodeClassVariable})
	check[any](t, VariantOf(int32(2)), int32(2))
	eu := EUInformation{UnitID: 7}
	check(t, VariantOf(ObjectOf(&eu)), &eu)
	check(t, VariantOf(ObjectOf(&eu)), eu)
	check(t, SliceVariant([]ExtensionObject{ObjectOf(&eu)}), []EUInformation{eu})
	check(t, SliceVariant([]ExtensionObject{ObjectOf(&eu)}), []*EUInformation{&eu})

	refuse[bool](t, Variant{})
	refuse[any](t, Variant{})
	refuse[int32](t, VariantOf(uint32(1)))
	refuse[int32](t, SliceVariant([]int32{1}))
	refuse[int64](t, VariantOf(DateTime(1)))
	refuse[NodeClass](t, VariantOf(int64(1)))
	refuse[string](t, VariantOf(XMLElement("x")))
	refuse[uint32](t, VariantOf(BadTimeout))
	refuse[*EUInformation](t, VariantOf(ObjectOf(&Range{})))
	refuse[[]EUInformation](t, SliceVariant([]ExtensionObject{{}}))
	refuse[[]int64](t, SliceVariant([]DateTime{1}))
}

func TestVariantEqual(t *testing.T) {
	all := []Variant{
		{},
		VariantOf(false), VariantOf(true), VariantOf(int8(1)), VariantOf(uint8(1)), VariantOf(0.0), VariantOf(math.Copysign(0, -1)),
		VariantOf(math.NaN()), VariantOf(""), VariantOf("a"), VariantOf("b"), VariantOf(XMLElement("a")), VariantOf([]byte(nil)),
		VariantOf([]byte{}), VariantOf([]byte{1}), SliceVariant([]uint8{1}), SliceVariant([]uint8(nil)), SliceVariant([]uint8{}),
		VariantOf(exampleGuid), VariantOf(Guid{}), VariantOf(NumericID(0, 1)), VariantOf(StringID(0, "1")), VariantOf(Text("a")),
		VariantOf(LocalizedText{"a", ""}), VariantOf(QualifiedName{1, "a"}), SliceVariant([]string{"a"}), SliceVariant([]string{"b"}),
		SliceVariant([][]byte{nil}), SliceVariant([][]byte{{}}), SliceVariant([]Variant{{}}), SliceVariant([]Variant{VariantOf(1.5)}),
		must(MatrixVariant([]uint8{1, 2, 3, 4}, 2, 2)), must(MatrixVariant([]uint8{1, 2, 3, 4}, 4, 1)), SliceVariant([]uint8{1, 2, 3, 4}),
		VariantOf(ExtensionObject{}), VariantOf(ObjectOf(&Range{Low: 1})), VariantOf(ObjectOf(&Range{Low: 2})),
		VariantOf(DataValue{}), VariantOf(DataValue{Status: 1}), VariantOf(DiagnosticInfo{}), VariantOf(DiagnosticInfo{Mask: 1}),
		SliceVariant([]DataValue{{Status: 1}}), SliceVariant([]DiagnosticInfo{{Mask: 1}}), SliceVariant([]NodeID{{}}),
		SliceVariant([]ExpandedNodeID{{}}), SliceVariant([]QualifiedName{{}}), SliceVariant([]LocalizedText{{}}),
		SliceVariant([]ExtensionObject{{}}), SliceVariant([]Guid{{}}), VariantOf(ExpandedNodeID{ServerIndex: 1}),
	}
	for i, a := range all {
		for j, b := range all {
			if got := a.Equal(b.Clone()); got != (i == j) {
				t.Errorf("%v %v equal to %v %v: %v", a.Type(), a, b.Type(), b, got)
			}
		}
	}
}

// A clone survives the buffer that the value was decoded from.
func TestCloneSharesNothing(t *testing.T) {
	text := strings.Repeat("text", 4)
	values := []Variant{
		VariantOf(text), VariantOf([]byte(text)), VariantOf(XMLElement(text)), VariantOf(StringID(1, text)),
		VariantOf(GUIDID(1, exampleGuid)), VariantOf(ExpandedNodeID{StringID(1, text), text, 1}), VariantOf(QualifiedName{1, text}),
		VariantOf(LocalizedText{text, text}), VariantOf(ExtensionObject{TypeID: StringID(1, text), Raw: []byte(text), Encoding: 1}),
		VariantOf(ObjectOf(&EUInformation{NamespaceURI: text})), VariantOf(DataValue{Value: VariantOf(text)}),
		VariantOf(DiagnosticInfo{Mask: 16, AdditionalInfo: text, InnerDiagnosticInfo: &DiagnosticInfo{Mask: 16, AdditionalInfo: text}}),
		SliceVariant([]string{text}), SliceVariant([][]byte{[]byte(text)}), SliceVariant([]NodeID{StringID(1, text)}),
		SliceVariant([]Variant{VariantOf(text)}), SliceVariant([]DataValue{{Value: VariantOf(text)}}),
		SliceVariant([]ExtensionObject{ObjectOf(&EUInformation{NamespaceURI: text})}), SliceVariant([]LocalizedText{{text, text}}),
		SliceVariant([]QualifiedName{{1, text}}), SliceVariant([]ExpandedNodeID{{NamespaceURI: text}}),
		SliceVariant([]DiagnosticInfo{{Mask: 16, AdditionalInfo: text}}), SliceVariant([]uint64{1, 2}), SliceVariant([]Guid{exampleGuid}),
		must(MatrixVariant([]string{text, text}, 1, 2)),
	}
	for _, want := range values {
		raw := want.AppendTo(nil)
		d := codec.NewDecoder(raw, nil)
		d.Alias(true)
		var v Variant
		v.DecodeFrom(d)
		clone := v.Clone()
		clear(raw)
		if !clone.Equal(want) {
			t.Errorf("%v: the clone became %v", want, clone)
		}
	}
}

// A value's own slices are not changed through a clone.
func TestCloneCopiesSlices(t *testing.T) {
	s := []float64{1, 2}
	clone := SliceVariant(s).Clone()
	s[0] = 9
	if x, _ := As[[]float64](clone); x[0] != 1 {
		t.Error("the clone shares the slice")
	}
}

// A text with control characters stays one line of printable text.
func TestTextIsPrintable(t *testing.T) {
	for _, v := range []Variant{
		VariantOf("a\nb\x00\x1b[31m"), VariantOf(StringID(1, "a\nb")), VariantOf(Text("a\nb")), VariantOf(QualifiedName{1, "\n"}),
		VariantOf(ExtensionObject{TypeID: StringID(1, "\n"), Encoding: 1}), VariantOf(DiagnosticInfo{AdditionalInfo: "\n"}),
		SliceVariant([]string{"\n"}), VariantOf(XMLElement("\n")),
		VariantOf(ExpandedNodeID{NamespaceURI: "\n"}), VariantOf(DataValue{Value: VariantOf("\n")}),
	} {
		if s := v.String(); strings.ContainsAny(s, "\n\x00\x1b") {
			t.Errorf("text %q", s)
		}
	}
	if s := VariantOf(ObjectOf(&UserNameIdentityToken{Password: []byte("secret")})).String(); strings.Contains(s, "secret") {
		t.Error("a password is shown")
	}
}
