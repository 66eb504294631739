package ua

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func ExampleVariantOf() {
	v := VariantOf(21.5)
	x, ok := As[float64](v)
	fmt.Println(v.Type(), x, ok)
	// Output: Double 21.5 true
}

func ExampleVariant_Slice() {
	v := SliceVariant([]string{"alpha", "beta", "gamma"})
	r, _ := ParseNumericRange("1:2,0:1")
	part, code := v.Slice(r)
	fmt.Println(part, code)
	// Output: ["be" "ga"] Good
}

func TestText(t *testing.T) {
	long := make([]int32, 20)
	for _, tt := range []struct {
		v    fmt.Stringer
		want string
	}{
		{Variant{}, "null"},
		{VariantOf(true), "true"},
		{VariantOf(int8(-5)), "-5"},
		{VariantOf(1.5), "1.5"},
		{VariantOf("a\"b"), `"a\"b"`},
		{VariantOf([]byte{0xab, 1}), "0xab01"},
		{VariantOf(make([]byte, 40)), "0x" + strings.Repeat("00", 32) + "... of 40"},
		{VariantOf(BadTimeout), "BadTimeout"},
		{VariantOf(NumericID(1, 2)), `"ns=1;i=2"`},
		{VariantOf(exampleGuid), "72962b91-fa75-4ae6-8d28-b404dc7daf63"},
		{VariantOf(QualifiedName{2, "a"}), `"2:a"`},
		{VariantOf(Text("a")), `"a"`},
		{VariantOf(strings.Repeat("x", 300)), `"` + strings.Repeat("x", 256) + `"...`},
		{SliceVariant([]int16{1, -2}), "[1 -2]"},
		{SliceVariant(long), "[" + strings.Repeat("0 ", 16) + "... of 20]"},
		{must(MatrixVariant([]bool{true, false}, 2, 1)), "[2][1][true false]"},
		{SliceVariant([]Variant{VariantOf(uint8(1)), {}}), "[1 null]"},
		{VariantOf(ExtensionObject{}), "ExtensionObject(null)"},
		{VariantOf(ObjectOf(&Range{})), "Range{Low: 0, High: 0}"},
		{VariantOf(DataValue{Value: VariantOf(int32(1))}), "1 (Good)"},
		{VariantOf(DataValue{SourceTimestamp: 1}), "null (Good, 1601-01-01T00:00:00.0000001Z)"},
		{VariantOf(DiagnosticInfo{AdditionalInfo: "x"}), `DiagnosticInfo(Good, "x")`},
		{VariantOf(ExtensionObject{TypeID: NumericID(1, 1), Encoding: 1}), `ExtensionObject("ns=1;i=1", 0 bytes)`},
		{QualifiedName{0, "a"}, "a"},
		{Text("a"), "a"},
		{TypeDouble, "Double"},
		{TypeID(31), "Reserved"},
		{DateTimeOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), "2026-01-02T03:04:05Z"},
	} {
		if got := tt.v.String(); got != tt.want {
			t.Errorf("%T: %s, want %s", tt.v, got, tt.want)
		}
	}
	if s := fmt.Sprint(DataValue{Value: VariantOf(int32(1)), Status: BadTimeout}); s != "1 (BadTimeout)" {
		t.Error(s)
	}
}

func TestNullness(t *testing.T) {
	if !(Variant{}).IsNull() || (Variant{}).IsScalar() || VariantOf("").IsNull() || !VariantOf("").IsScalar() ||
		SliceVariant([]bool(nil)).IsNull() || SliceVariant([]bool(nil)).IsScalar() {
		t.Error("Variant")
	}
	if !(QualifiedName{}).IsNull() || (QualifiedName{NamespaceIndex: 1}).IsNull() {
		t.Error("QualifiedName")
	}
	if !(LocalizedText{}).IsNull() || Text("a").IsNull() {
		t.Error("LocalizedText")
	}
	if !(&DiagnosticInfo{}).IsNull() || (&DiagnosticInfo{Mask: 1}).IsNull() || (&DiagnosticInfo{InnerDiagnosticInfo: &DiagnosticInfo{}}).IsNull() {
		t.Error("DiagnosticInfo")
	}
	if x := ObjectOf(nil); !x.IsNull() {
		t.Error("ObjectOf(nil)")
	}
	if x := ObjectOf((*Range)(nil)); !x.IsNull() {
		t.Error("ObjectOf of a nil pointer")
	}
	if e := NumericID(0, 1).Expanded(); !e.IsLocal() || (ExpandedNodeID{ServerIndex: 1}).IsLocal() {
		t.Error("ExpandedNodeID")
	}
}

// Named types are held as the built-in type that they are made of.
func TestTypeOfGo(t *testing.T) {
	type (
		b   bool
		i8  int8
		u8  uint8
		i16 int16
		u16 uint16
		i32 int32
		u32 uint32
		i64 int64
		u64 uint64
		f32 float32
		f64 float64
		s   string
		raw []byte
	)
	for x, want := range map[any]TypeID{
		b(true): TypeBoolean, i8(-1): TypeSByte, u8(1): TypeByte, i16(-1): TypeInt16, u16(1): TypeUInt16, i32(-1): TypeInt32,
		u32(1): TypeUInt32, i64(-1): TypeInt64, u64(1): TypeUInt64, f32(1.5): TypeFloat, f64(1.5): TypeDouble, s("x"): TypeString,
		NodeClassObject: TypeInt32, int(1): TypeInt64, uint(1): TypeUInt64, time.Time{}: TypeDateTime, Range{}: TypeExtensionObject,
		(*Range)(nil): TypeExtensionObject, struct{}{}: TypeNull, complex64(0): TypeNull,
	} {
		if got := TypeOfGo(reflect.TypeOf(x)); got != want {
			t.Errorf("TypeOfGo(%T) = %v, want %v", x, got, want)
		}
		if want == TypeNull {
			continue
		}
		v, err := ValueOf(x)
		if err != nil || v.Type() != want {
			t.Errorf("ValueOf(%T) = %v %v, %v", x, v.Type(), v, err)
		}
		if want < TypeString && x != NodeClassObject && !strings.HasPrefix(fmt.Sprintf("%v", x), v.String()) {
			t.Errorf("ValueOf(%v) = %v", x, v)
		}
	}
	if v, err := ValueOf(raw{1}); err != nil || !v.Equal(VariantOf([]byte{1})) || TypeOfGo(nil) != TypeNull {
		t.Errorf("named bytes: %v, %v", v, err)
	}
}
