package uahive

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/internal/fuzzguard"
)

type (
	point struct {
		X, Y  float64
		Label string `ua:"Name,what the operator calls it"`
	}
	empty         struct{}
	hiding        struct{ x int }
	tree          struct{ Below []tree }
	pointing      struct{ P *point }
	pointingRange struct{ R *ua.Range }
	square        struct{ M Matrix[float64] }
	doubled       struct {
		A int
		B int `ua:"A"`
	}

	// record has a field of everything that a field can be.
	record struct {
		Bool     bool
		I8       int8
		U8       uint8
		I16      int16
		U16      uint16
		I32      int32
		U32      uint32
		I64      int64
		U64      uint64
		Int      int
		Uint     uint
		F32      float32
		F64      float64
		Text     string
		Label    label
		Blob     []byte
		Bytes    ByteArray
		Time     time.Time
		Wait     time.Duration
		Gear     gear
		Wide     wideGear
		State    ua.ServerState
		Node     ua.NodeID
		Status   ua.StatusCode
		Stamp    ua.DateTime
		Name     ua.QualifiedName
		Guid     ua.Guid
		Any      ua.Variant
		Object   ua.ExtensionObject
		Range    ua.Range
		Point    point
		Bools    []bool
		Floats   []float64
		Shorts   []uint16
		Texts    []string
		Gears    []gear
		Wides    []wideGear
		Ints     []int
		Times    []time.Time
		Waits    []time.Duration
		Blobs    [][]byte
		Statuses []ua.StatusCode
		Nodes    []ua.NodeID
		Ranges   []ua.Range
		Points   []point
		None     []point
	}
)

var _ = hiding{x: 1}

func addRecord(ns *Namespace) ua.NodeID {
	AddEnumeration[gear](ns, "Gear", "a", "b", "c")
	AddEnumeration[wideGear](ns, "Wide", "a", "b", "c")
	AddStructure[point](ns, "Point")
	return AddStructure[record](ns, "Record", Description("all of it"))
}

func filledRecord() record {
	return record{
		Bool: true, I8: -1, U8: 2, I16: -3, U16: 4, I32: -5, U32: 6, I64: -7, U64: 8, Int: -9, Uint: 10, F32: 1.5, F64: 2.5,
		Text: "text", Label: "label", Blob: []byte{1}, Bytes: ByteArray{2, 3},
		Time: start.Truncate(100), Wait: 1500 * time.Millisecond, Gear: 2, Wide: 1, State: ua.ServerStateFailed,
		Node: ua.StringID(2, "x"), Status: ua.BadTimeout, Stamp: 17, Name: ua.QualifiedName{Name: "n"}, Guid: ua.Guid{1, 2},
		Range: ua.Range{High: 2}, Point: point{1, 2, "p"},
		Bools: []bool{true, false}, Floats: []float64{1, 2}, Shorts: []uint16{7}, Texts: []string{"a", "b"}, Gears: []gear{1, 2},
		Wides: []wideGear{2}, Ints: []int{5, 6}, Times: []time.Time{start.Truncate(100)}, Waits: []time.Duration{time.Second},
		Blobs: [][]byte{{1}, nil}, Statuses: []ua.StatusCode{ua.BadTimeout}, Nodes: []ua.NodeID{ua.NumericID(0, 1)},
		Ranges: []ua.Range{{High: 4}}, Points: []point{{3, 4, "q"}, {}}, None: nil,
	}
}

func TestStructuresKeepEveryField(t *testing.T) {
	s, ns := newModel(t)
	dataType := addRecord(ns)
	want := filledRecord()
	v := AddVariable(ns, "V", want, Writable())
	list := AddVariable(ns, "L", []record{{}, want})
	zero := AddVariable(ns, "Z", record{})
	none := AddVariable(ns, "N", []record(nil))
	noErr(t, s)
	for name, got := range map[string]record{"scalar": v.Get(), "element": list.Get()[1]} {
		// Variants and ExtensionObjects are not comparable as Go values.
		got.Any, got.Object = ua.Variant{}, ua.ExtensionObject{}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%+v, want\n%+v", name, got, want)
		}
	}
	if got := zero.Get(); !got.Time.IsZero() || got.Points != nil || got.Blob != nil {
		t.Errorf("the zero value became %+v", got)
	}
	if v.cell.DataType() != dataType || list.cell.DataType() != dataType || list.cell.ValueRank() != 1 || none.Get() != nil {
		t.Errorf("DataType %v and %v", v.cell.DataType(), list.cell.DataType())
	}
	want.Any, want.Object = ua.StringVariant("any"), ua.ObjectOf(&ua.Range{High: 1})
	v.Set(want)
	if got := v.Get(); !got.Any.Equal(want.Any) || !got.Object.Equal(want.Object) {
		t.Errorf("Any %v, Object %v", got.Any, got.Object)
	}
}

// Part 3, 5.8.2, 5.8.4 and 8.48: by these a client learns how to decode.
func TestStructuresDescribeThemselves(t *testing.T) {
	s, ns := newModel(t)
	dataType := addRecord(ns)
	noErr(t, s)
	if !s.space.IsSubtypeOf(dataType, ua.NumericID(0, id.Structure)) {
		t.Error("not a subtype of Structure")
	}
	encoding := ns.NodeID("Record.Default Binary")
	if got := s.space.EncodedDataType(encoding); got == nil || got.ID() != dataType {
		t.Errorf("the encoding belongs to %v", got)
	}
	if n := s.space.Node(encoding); n.BrowseName() != (ua.QualifiedName{Name: "Default Binary"}) ||
		n.TypeDefinition().ID() != ua.NumericID(0, id.DataTypeEncodingType) {
		t.Errorf("encoding %v of type %v", n.BrowseName(), n.TypeDefinition().BrowseName())
	}
	attribute, _ := s.space.Node(ns.NodeID("Point")).Attribute(ua.AttributeIDDataTypeDefinition)
	x, _ := ua.As[ua.ExtensionObject](attribute)
	def, ok := x.Value.(*ua.StructureDefinition)
	if !ok {
		t.Fatalf("DataTypeDefinition %v", attribute)
	}
	double := ua.NumericID(0, id.Double)
	want := []ua.StructureField{
		{Name: "X", DataType: double, ValueRank: -1},
		{Name: "Y", DataType: double, ValueRank: -1},
		{Name: "Name", Description: ua.LocalizedText{Text: "what the operator calls it"}, DataType: ua.NumericID(0, id.String), ValueRank: -1},
	}
	if !reflect.DeepEqual(def.Fields, want) || def.BaseDataType != ua.NumericID(0, id.Structure) ||
		def.DefaultEncodingID != ns.NodeID("Point.Default Binary") || def.StructureType != ua.StructureTypeStructure {
		t.Errorf("definition %+v", def)
	}
	attribute, _ = s.space.Node(dataType).Attribute(ua.AttributeIDDataTypeDefinition)
	x, _ = ua.As[ua.ExtensionObject](attribute)
	for _, f := range x.Value.(*ua.StructureDefinition).Fields {
		switch f.Name {
		case "Points", "None":
			if f.DataType != ns.NodeID("Point") || f.ValueRank != 1 || !slices.Equal(f.ArrayDimensions, []uint32{0}) {
				t.Errorf("%+v", f)
			}
		case "Wides":
			if f.DataType != ns.NodeID("Wide") {
				t.Errorf("%+v", f)
			}
		case "Any":
			if f.DataType != ua.NumericID(0, id.BaseDataType) || f.ValueRank != -1 {
				t.Errorf("%+v", f)
			}
		}
	}
}

func TestStructuresFromClientsAreDecodedBeforeTheyAreAccepted(t *testing.T) {
	s, ns := newModel(t)
	AddStructure[point](ns, "Point")
	type other struct{ A float64 }
	AddStructure[other](ns, "Other")
	v := AddVariable(ns, "V", point{}, Writable())
	list := AddVariable(ns, "L", []point{{}, {}}, Writable())
	m := AddMethod(ns.Object("O"), "M", func(_ context.Context, in struct{ A, B point }) (out struct{ Points []point }, err error) {
		out.Points = []point{in.B, in.A}
		return out, nil
	})
	noErr(t, s)
	encoding := ns.NodeID("Point.Default Binary")
	value := func(v any) ua.Variant {
		var out ua.Variant
		var err error
		switch x := v.(type) {
		case point:
			out, err = EncodeStructure(encoding, x)
		case []point:
			out, err = EncodeStructure(encoding, x)
		case other:
			out, err = EncodeStructure(ns.NodeID("Other.Default Binary"), x)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	broken := ua.VariantOf(ua.ExtensionObject{TypeID: encoding, Encoding: ua.EncodingBinary, Raw: make([]byte, 21)})
	noText := ua.VariantOf(ua.ExtensionObject{
		TypeID: encoding, Encoding: ua.EncodingBinary, Raw: append(make([]byte, 16), 1, 0, 0, 0, 0xFF),
	})
	xml := ua.VariantOf(ua.ExtensionObject{TypeID: encoding, Encoding: ua.EncodingXML, Raw: []byte("<Point/>")})
	p := point{1, 2, "p"}
	for name, c := range map[string]struct {
		value ua.Variant
		want  ua.StatusCode
	}{
		"a point":            {value(p), ua.Good},
		"of another type":    {value(other{1}), ua.BadTypeMismatch},
		"too long":           {broken, ua.BadTypeMismatch},
		"text, and no UTF-8": {noText, ua.BadTypeMismatch},
		"XML":                {xml, ua.BadTypeMismatch},
	} {
		v.Set(point{})
		if code := clientWrite(v, c.value, ""); code != c.want {
			t.Errorf("%s: %v", name, code)
		}
		if got := v.Get(); (got == p) != (c.want == ua.Good) {
			t.Errorf("%s: stored %v", name, got)
		}
	}
	if code := clientWrite(list, value([]point{p}), "1"); code != ua.Good || !slices.Equal(list.Get(), []point{{}, p}) {
		t.Errorf("an element: %v, %v", code, list.Get())
	}
	outputs, code, _ := call(t, m, value(p), value(point{Label: "q"}))
	if code != ua.Good {
		t.Fatal(code)
	}
	if got, err := DecodeStructure[[]point](outputs[0]); err != nil || !slices.Equal(got, []point{{Label: "q"}, p}) {
		t.Errorf("called: %v, %v", got, err)
	}
	if _, code, results := call(t, m, value(p), broken); code != ua.BadInvalidArgument || results[1] != ua.BadTypeMismatch {
		t.Errorf("a broken argument: %v %v", code, results)
	}
}

func TestServersOfOneProcessShareNoStructures(t *testing.T) {
	_, first := newModel(t)
	other, _ := newModel(t)
	second := other.Namespace("urn:test:another") // has another index
	if first.Index() == second.Index() {
		t.Fatal("the same index")
	}
	AddStructure[point](first, "Point")
	AddStructure[point](second, "Point")
	p := point{1, 2, "p"}
	a, b := AddVariable(first, "V", p), AddVariable(second, "V", p)
	if a.Err() != nil || b.Err() != nil || a.Get() != p || b.Get() != p {
		t.Errorf("%v %v", a.Err(), b.Err())
	}
	x, _ := ua.As[ua.ExtensionObject](b.Value().Value)
	if x.TypeID != second.NodeID("Point.Default Binary") {
		t.Errorf("encoding %v", x.TypeID)
	}
}

func TestClientsDecodeByTheFields(t *testing.T) {
	x := ua.VariantOf(ua.ObjectOf(&ua.Range{Low: 1, High: 2})) // a structure that package ua knows
	type pair struct{ A, B float64 }
	if got, err := DecodeStructure[pair](x); err != nil || got != (pair{1, 2}) {
		t.Errorf("%v %v", got, err)
	}
	if _, err := DecodeStructure[point](x); ua.StatusOf(err) != ua.BadTypeMismatch {
		t.Errorf("other fields: %v", err)
	}
	if _, err := DecodeStructure[[]pair](x); ua.StatusOf(err) != ua.BadTypeMismatch {
		t.Errorf("an array: %v", err)
	}
	if _, err := DecodeStructure[tree](x); err == nil {
		t.Error("a type that contains itself")
	}
	if _, err := EncodeStructure(ua.NumericID(2, 1), pointing{}); err == nil {
		t.Error("a type with a pointer")
	}
}

func TestReadingAStructureCostsNothing(t *testing.T) {
	_, ns := newModel(t)
	AddStructure[point](ns, "Point")
	v := AddVariable(ns, "V", point{1, 2, "p"})
	var dst []byte
	read := func() {
		dv := v.Value()
		dst = dv.AppendTo(dst[:0])
	}
	read()
	if allocs := testing.AllocsPerRun(100, read); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// What a peer sends is decoded within the bounds of its bytes, or refused.
func FuzzStructureBody(f *testing.F) {
	plan, err := clientPlan(reflect.TypeFor[record]())
	if err != nil {
		f.Fatal(err)
	}
	t := structType{plan: plan, encoding: ua.NumericID(1, 1)}
	for _, r := range []record{{}, filledRecord()} {
		x, _ := ua.As[ua.ExtensionObject](t.encode(reflect.ValueOf(&r).Elem()))
		f.Add(x.Raw)
	}
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, body []byte) {
		v := ua.VariantOf(ua.ExtensionObject{TypeID: ua.NumericID(1, 1), Encoding: ua.EncodingBinary, Raw: body})
		got, err := DecodeStructure[record](v)
		if err != nil {
			return
		}
		again, err := EncodeStructure(ua.NumericID(1, 1), got)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeStructure[record](again); err != nil && !math.IsNaN(got.F64) {
			t.Errorf("what was encoded again: %v", err)
		}
	}))
}
