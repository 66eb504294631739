package uahive

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

var start = time.Date(2026, 11, 30, 6, 0, 0, 500, time.UTC)

type (
	gear  int32
	label string
	level uint8
	blob  []byte
	whole struct{}
)

func nothing(context.Context, whole) (whole, error)                    { return whole{}, nil }
func acceptInt(context.Context, int, int) error                        { return nil }
func readFloat(context.Context) (float64, error)                       { return 0, nil }
func takesInt(context.Context, int) (whole, error)                     { return whole{}, nil }
func takesHidden(context.Context, struct{ hidden int }) (whole, error) { return whole{}, nil }
func takesMap(context.Context, struct{ M map[string]int }) (whole, error) {
	return whole{}, nil
}

// goType is a Go type that variables may have: a first value, another one, and
// what clients are told about it.
type goType struct {
	name     string
	check    func(t *testing.T, ns *Namespace, name string)
	dataType uint32
	rank     int32
}

func typed[T any](name string, first, second T, dataType uint32, rank int32) goType {
	return goType{name, func(t *testing.T, ns *Namespace, name string) {
		v := AddVariable(ns, name, first)
		if v.Err() != nil {
			t.Fatal(v.Err())
		}
		if got := v.Get(); !reflect.DeepEqual(got, first) {
			t.Errorf("first value %v, want %v", got, first)
		}
		v.Set(second)
		if got := v.Get(); !reflect.DeepEqual(got, second) {
			t.Errorf("got %v, set %v", got, second)
		}
		if _, code := v.cell.CheckValue(v.Value().Value); code != ua.Good {
			t.Errorf("the value does not fit what is said about it: %v", code)
		}
		var zero T
		v.Set(zero)
		if got := v.Get(); !isEmpty(got) && !reflect.DeepEqual(got, zero) {
			t.Errorf("zero value %#v", got)
		}
	}, dataType, rank}
}

// isEmpty is for zero values that come back as empty ones.
func isEmpty(v any) bool {
	r := reflect.ValueOf(v)
	return r.IsValid() && (r.Kind() == reflect.Slice || r.Kind() == reflect.Pointer) && (r.IsNil() || r.Kind() == reflect.Slice && r.Len() == 0) || r.IsValid() && r.IsZero()
}

func goTypes() []goType {
	guid := ua.Guid{1, 2, 3}
	node := ua.StringID(2, "x")
	unit := Celsius
	return []goType{
		typed("bool", true, false, id.Boolean, -1),
		typed("int8", int8(-128), int8(127), id.SByte, -1),
		typed("uint8", uint8(255), uint8(1), id.Byte, -1),
		typed("int16", int16(-32768), int16(5), id.Int16, -1),
		typed("uint16", uint16(65535), uint16(5), id.UInt16, -1),
		typed("int32", int32(math.MinInt32), int32(5), id.Int32, -1),
		typed("uint32", uint32(math.MaxUint32), uint32(5), id.UInt32, -1),
		typed("int64", int64(math.MinInt64), int64(5), id.Int64, -1),
		typed("uint64", uint64(math.MaxUint64), uint64(5), id.UInt64, -1),
		typed("int", -5, 7, id.Int64, -1),
		typed("uint", uint(5), uint(7), id.UInt64, -1),
		typed("float32", float32(-1.5), float32(math.Inf(1)), id.Float, -1),
		typed("float64", 21.5, math.Inf(-1), id.Double, -1),
		typed("string", "a", "Grüße", id.String, -1),
		typed("bytes", []byte{1, 2}, []byte{}, id.ByteString, -1),
		typed("time", start, start.Add(time.Second), id.DateTime, -1),
		typed("duration", 1500*time.Millisecond, -time.Hour, id.Duration, -1),
		typed("DateTime", ua.DateTime(1), ua.DateTime(2), id.DateTime, -1),
		typed("Guid", guid, ua.Guid{9}, id.Guid, -1),
		typed("XmlElement", ua.XMLElement("<a/>"), ua.XMLElement("<b/>"), id.XmlElement, -1),
		typed("NodeID", node, ua.NumericID(0, 85), id.NodeId, -1),
		typed("ExpandedNodeID", ua.ExpandedNodeID{NodeID: node}, ua.ExpandedNodeID{NamespaceURI: "urn:x", NodeID: node}, id.ExpandedNodeId, -1),
		typed("StatusCode", ua.BadTimeout, ua.Good, id.StatusCode, -1),
		typed("QualifiedName", ua.QualifiedName{NamespaceIndex: 2, Name: "a"}, ua.QualifiedName{Name: "b"}, id.QualifiedName, -1),
		typed("LocalizedText", ua.LocalizedText{Locale: "de", Text: "a"}, ua.LocalizedText{Text: "b"}, id.LocalizedText, -1),
		typed("ExtensionObject", ua.ObjectOf(&ua.Range{High: 1}), ua.ObjectOf(&unit), id.Structure, -1),
		typed("structure", ua.Range{High: 1}, ua.Range{Low: -1}, id.Range, -1),
		typed("structure pointer", &ua.Range{High: 1}, &ua.Range{Low: -1}, id.Range, -1),
		typed("structures", []ua.Range{{High: 1}, {Low: 1}}, []ua.Range{{High: 2}}, id.Range, 1),
		typed("structure pointers", []*ua.EUInformation{&unit}, []*ua.EUInformation{&unit, &unit}, id.EUInformation, 1),
		typed("standard enumeration", ua.ServerStateRunning, ua.ServerStateFailed, id.ServerState, -1),
		typed("standard enumerations", []ua.ServerState{1, 2}, []ua.ServerState{3}, id.ServerState, 1),
		typed("named string", label("a"), label("b"), id.String, -1),
		typed("named byte", level(1), level(255), id.Byte, -1),
		typed("bools", []bool{true}, []bool{false, true}, id.Boolean, 1),
		typed("int8s", []int8{1}, []int8{-1, 2}, id.SByte, 1),
		typed("byte array", ByteArray{1}, ByteArray{2, 3}, id.Byte, 1),
		typed("int16s", []int16{1}, []int16{2, 3}, id.Int16, 1),
		typed("uint16s", []uint16{1}, []uint16{2, 3}, id.UInt16, 1),
		typed("int32s", []int32{1}, []int32{2, 3}, id.Int32, 1),
		typed("uint32s", []uint32{1}, []uint32{2, 3}, id.UInt32, 1),
		typed("int64s", []int64{1}, []int64{2, 3}, id.Int64, 1),
		typed("uint64s", []uint64{1}, []uint64{2, 3}, id.UInt64, 1),
		typed("ints", []int{1}, []int{2, 3}, id.Int64, 1),
		typed("float32s", []float32{1}, []float32{2, 3}, id.Float, 1),
		typed("float64s", []float64{1}, []float64{}, id.Double, 1),
		typed("strings", []string{"a", ""}, []string{"b"}, id.String, 1),
		typed("named strings", []label{"a"}, []label{"b", "c"}, id.String, 1),
		typed("byte strings", [][]byte{{1}, {2, 3}}, [][]byte{{4}}, id.ByteString, 1),
		typed("times", []time.Time{start}, []time.Time{start, start.Add(1000)}, id.DateTime, 1),
		typed("durations", []time.Duration{time.Second}, []time.Duration{1, time.Hour}, id.Duration, 1),
		typed("node ids", []ua.NodeID{node}, []ua.NodeID{node, node}, id.NodeId, 1),
		typed("matrix", MatrixOf([]float64{1, 2}, []float64{3, 4}), MatrixOf([]float64{5, 6, 7}, []float64{8, 9, 0}), id.Double, 2),
		typed("cube", NewMatrix[int32](2, 3, 4), NewMatrix[int32](1, 1, 1), id.Int32, 3),
	}
}

func TestGoTypesHaveADataTypeAndKeepTheirValues(t *testing.T) {
	s, ns := newModel(t)
	for _, c := range goTypes() {
		t.Run(c.name, func(t *testing.T) {
			c.check(t, ns, c.name)
			cell := s.space.Node(ns.NodeID(c.name)).Variable()
			if got := cell.DataType(); got != ua.NumericID(0, c.dataType) {
				t.Errorf("DataType %v, want %d", got, c.dataType)
			}
			if got := cell.ValueRank(); got != c.rank {
				t.Errorf("ValueRank %d, want %d", got, c.rank)
			}
		})
	}
	noErr(t, s)
}

func TestVariantTakesEverything(t *testing.T) {
	s, ns := newModel(t)
	v := AddVariable(ns, "V", ua.DoubleVariant(1), Writable())
	noErr(t, s)
	if v.cell.DataType() != ua.NumericID(0, id.BaseDataType) || v.cell.ValueRank() != -2 {
		t.Errorf("DataType %v, ValueRank %d", v.cell.DataType(), v.cell.ValueRank())
	}
	for _, value := range []ua.Variant{ua.StringVariant("a"), ua.SliceVariant([]uint16{1, 2}), {}} {
		if code := v.cell.Write(&ua.DataValue{Value: value}, nil); code != ua.Good {
			t.Errorf("writing %v: %v", value.Any(), code)
		}
		if got := v.Get(); !got.Equal(value) {
			t.Errorf("got %v, want %v", got.Any(), value.Any())
		}
	}
}

// The program may go on with what it gave and what it got.
func TestValuesAreCopied(t *testing.T) {
	s, ns := newModel(t)
	given := []float64{1, 2, 3}
	v := AddVariable(ns, "V", given)
	unit := Celsius
	u := AddVariable(ns, "U", &unit)
	m := NewMatrix[float64](2, 2)
	w := AddVariable(ns, "W", m)
	deep := [][]byte{{1}}
	d := AddVariable(ns, "D", deep)
	noErr(t, s)
	given[0], unit.UnitID, deep[0][0] = 9, 9, 9
	m.Set(9, 0, 0)
	v.Get()[1] = 9
	u.Get().NamespaceURI = "urn:other"
	w.Get().Set(9, 1, 1)
	d.Get()[0][0] = 8
	if got := v.Get(); !reflect.DeepEqual(got, []float64{1, 2, 3}) {
		t.Errorf("slice %v", got)
	}
	if got := u.Get(); !reflect.DeepEqual(*got, Celsius) {
		t.Errorf("structure %v", got)
	}
	if got := w.Get(); !reflect.DeepEqual(got, NewMatrix[float64](2, 2)) {
		t.Errorf("matrix %v", got)
	}
	if got := d.Get(); got[0][0] != 1 {
		t.Errorf("nested %v", got)
	}
}

func TestSetVariantOwnsAndChecks(t *testing.T) {
	s, ns := newModel(t)
	v := AddVariable(ns, "V", []float64{1})
	noErr(t, s)
	frame := []float64{1, 2}
	if err := v.SetVariant(ua.SliceVariant(frame)); err != nil {
		t.Fatal(err)
	}
	if got, _ := ua.As[[]float64](v.Value().Value); &got[0] != &frame[0] {
		t.Error("it was copied")
	}
	if err := v.SetVariant(ua.StringVariant("a")); ua.StatusOf(err) != ua.BadTypeMismatch {
		t.Errorf("a string: %v", err)
	}
}

func TestStatusAndTimestampsAreKept(t *testing.T) {
	s, ns := newModel(t)
	v := AddVariable(ns, "V", 1.5, InitialStatus(ua.BadWaitingForInitialData))
	noErr(t, s)
	if got := v.Value().Status; got != ua.BadWaitingForInitialData {
		t.Errorf("initial status %v", got)
	}
	v.SetAt(2, ua.UncertainLastUsableValue, start)
	dv := v.Value()
	if v.Get() != 2 || dv.Status != ua.UncertainLastUsableValue || dv.SourceTimestamp != ua.DateTimeOf(start) {
		t.Errorf("after SetAt: %v", dv)
	}
	v.SetStatus(ua.BadCommunicationError)
	if dv := v.Value(); v.Get() != 2 || dv.Status != ua.BadCommunicationError || dv.SourceTimestamp <= ua.DateTimeOf(start) {
		t.Errorf("after SetStatus: %v", dv)
	}
	v.Set(2)
	first := v.Value()
	if !first.Status.IsGood() {
		t.Errorf("after Set: %v", first)
	}
	// Part 4, 7.11.3: the source timestamp is that of the last change.
	v.Set(2)
	if again := v.Value(); again.SourceTimestamp != first.SourceTimestamp {
		t.Error("the same value has another timestamp")
	}
}

func TestSetStatusLosesNoValue(t *testing.T) {
	s, ns := newModel(t)
	v := AddVariable(ns, "V", 0)
	noErr(t, s)
	const n = 2000
	var both sync.WaitGroup
	both.Go(func() {
		for i := 1; i <= n; i++ {
			v.Set(i)
		}
	})
	both.Go(func() {
		for i := range n {
			v.SetStatus([]ua.StatusCode{ua.Good, ua.BadTimeout}[i&1])
		}
	})
	both.Wait()
	if v.Get() != n {
		t.Errorf("the last value is %d", v.Get())
	}
}

func TestOptionsOfVariables(t *testing.T) {
	s, ns := newModel(t)
	analog := AddVariable(ns, "Analog", 1.5, EngineeringUnits(Bar), EURange(0, 10), InstrumentRange(-1, 11), ValuePrecision(2))
	unit := AddVariable(ns, "Unit", 1.5, EngineeringUnits(Bar))
	states := AddVariable(ns, "States", uint32(1), EnumStrings("off", "on"))
	two := AddVariable(ns, "Two", true, StateNames("off", "on"))
	own := AddVariable(ns, "Own", 1.5, TypeDefinition(ua.NumericID(0, id.DataItemType)), EURange(0, 1))
	rest := AddVariable(ns, "Rest", []int32{1}, Writable(), Dimensions(3), MinimumSamplingInterval(250*time.Millisecond), Historizing(),
		DataType(ua.NumericID(0, id.Int32)))
	noErr(t, s)
	for _, c := range []struct {
		node *addrspace.Node
		want uint32
	}{
		{analog.Node(), id.AnalogItemType},
		{unit.Node(), id.AnalogUnitType},
		{states.Node(), id.MultiStateDiscreteType},
		{two.Node(), id.TwoStateDiscreteType},
		{own.Node(), id.DataItemType},
		{rest.Node(), id.BaseDataVariableType},
	} {
		if got := c.node.TypeDefinition().ID(); got != ua.NumericID(0, c.want) {
			t.Errorf("%s is a %s, want %d", c.node.BrowseName().Name, got, c.want)
		}
	}
	if r, ok := analog.cell.EURange(); !ok || r != (ua.Range{Low: 0, High: 10}) {
		t.Errorf("EURange %v %v", r, ok)
	}
	analog.SetEURange(0, 20)
	if r, _ := analog.cell.EURange(); r.High != 20 {
		t.Errorf("EURange %v after SetEURange", r)
	}
	analog.SetEngineeringUnits(Pascal)
	if got, _ := ua.As[ua.EUInformation](s.space.Node(ns.NodeID("Analog.EngineeringUnits")).Variable().Load().Value); got.UnitID != Pascal.UnitID {
		t.Errorf("EngineeringUnits %v", got)
	}
	if level := rest.cell.AccessLevelEx(); level != addrspace.ReadWrite {
		t.Errorf("AccessLevel %v", level)
	}
	if ms, ok := rest.cell.MinimumSamplingInterval(); ms != 250 || !ok || !rest.cell.Historizing() {
		t.Errorf("MinimumSamplingInterval %v %v", ms, ok)
	}
	if code := rest.cell.Write(&ua.DataValue{Value: ua.SliceVariant(make([]int32, 4))}, nil); code == ua.Good {
		t.Error("more elements than Dimensions were written")
	}
	if level := unit.cell.AccessLevel(); level != ua.AccessLevelTypeCurrentRead {
		t.Errorf("AccessLevel %v without an option", level)
	}
}

// Part 8, 5.6.4.3: the id of degree Celsius, whose code is CEL, is 4408652.
func TestUnitIDsAreMadeFromTheirCode(t *testing.T) {
	if Celsius.UnitID != 4408652 || Percent.UnitID != 20529 {
		t.Errorf("CEL %d, P1 %d", Celsius.UnitID, Percent.UnitID)
	}
}

// wideGear is an enumeration as most programs write them.
type wideGear int

// An int is an Int64 to clients, and an enumeration an Int32 (Part 6, 5.2.4).
func TestEnumerationsOfAnIntAreInt32(t *testing.T) {
	s, ns := newModel(t)
	dataType := AddEnumerationMap(ns, "Gear", map[wideGear]string{10: "low", -5: "reverse", 700: "overdrive"})
	v := AddVariable(ns, "V", wideGear(10), Writable())
	list := AddVariable(ns, "L", []wideGear{-5, 700}, Writable())
	none := AddVariable(ns, "N", []wideGear(nil))
	type job struct {
		G  wideGear
		Gs []wideGear
	}
	m := AddMethod(ns.Object("O"), "M", func(_ context.Context, in job) (job, error) { return in, nil })
	noErr(t, s)
	if v.cell.DataType() != dataType || list.cell.DataType() != dataType {
		t.Errorf("DataType %v and %v", v.cell.DataType(), list.cell.DataType())
	}
	if got := v.Value().Value; !got.Equal(ua.Int32Variant(10)) {
		t.Errorf("stored %v", got)
	}
	for n, want := range map[int32]ua.StatusCode{700: ua.Good, 11: ua.BadOutOfRange} {
		if code := v.cell.Write(&ua.DataValue{Value: ua.Int32Variant(n)}, nil); code != want {
			t.Errorf("writing %d: %v", n, code)
		}
	}
	if code := v.cell.Write(&ua.DataValue{Value: ua.Int64Variant(10)}, nil); code != ua.BadTypeMismatch {
		t.Errorf("writing an Int64: %v", code)
	}
	if v.Get() != 700 || !slices.Equal(list.Get(), []wideGear{-5, 700}) || none.Get() != nil {
		t.Errorf("values %v, %v, %v", v.Get(), list.Get(), none.Get())
	}
	v.Set(1 << 40)
	if got := v.Value().Value; !got.Equal(ua.Int32Variant(math.MaxInt32)) {
		t.Errorf("what no Int32 holds became %v", got)
	}
	if allocs := testing.AllocsPerRun(100, func() { v.Set(v.Get() ^ 1) }); allocs != 0 {
		t.Errorf("%v allocations for a value", allocs)
	}
	inputs := []ua.Variant{ua.Int32Variant(-5), ua.SliceVariant([]int32{10, 700})}
	outputs, code, _ := call(t, m, inputs...)
	if code != ua.Good || !outputs[0].Equal(inputs[0]) || !outputs[1].Equal(inputs[1]) {
		t.Errorf("called: %v %v", outputs, code)
	}
	values, _ := ua.As[[]ua.ExtensionObject](s.space.Node(ns.NodeID("Gear.EnumValues")).Variable().Load().Value)
	var names []string
	for _, x := range values {
		e := x.Value.(*ua.EnumValueType)
		names = append(names, fmt.Sprintf("%d %s", e.Value, e.DisplayName.Text))
	}
	if !slices.Equal(names, []string{"-5 reverse", "10 low", "700 overdrive"}) {
		t.Errorf("EnumValues %v", names)
	}
}

func TestTheSameTypeIsAnEnumerationOnOneServerOnly(t *testing.T) {
	_, first := newModel(t)
	_, second := newModel(t)
	AddEnumeration[wideGear](first, "Gear", "a", "b")
	a, b := AddVariable(first, "V", wideGear(1)), AddVariable(second, "V", wideGear(1))
	if a.Value().Value.Type() != ua.TypeInt32 || b.Value().Value.Type() != ua.TypeInt64 || a.Get() != b.Get() {
		t.Errorf("values %v and %v", a.Value(), b.Value())
	}
}

// Part 8, 5.3.3.3: EnumStrings names all values of a MultiStateDiscrete.
func TestStatesWithoutANameCannotBeWritten(t *testing.T) {
	s, ns := newModel(t)
	v := AddVariable(ns, "V", uint16(0), Writable(), EnumStrings("a", "b", "c"))
	list := AddVariable(ns, "L", ByteArray{0, 1}, Writable(), EnumStrings("a", "b"))
	asked := 0
	asking := AddVariable(ns, "W", uint32(0), EnumStrings("a"), OnWrite(func(_ context.Context, _, _ uint32) error { asked++; return nil }))
	noErr(t, s)
	if !v.cell.Source().Inline || asking.cell.Source().Inline {
		t.Error("only what calls nobody is inline")
	}
	for n, want := range map[uint16]ua.StatusCode{2: ua.Good, 3: ua.BadOutOfRange, 99: ua.BadOutOfRange} {
		if code := clientWrite(v, ua.VariantOf(n), ""); code != want {
			t.Errorf("writing %d: %v", n, code)
		}
	}
	if code := clientWrite(asking, ua.UInt32Variant(1), ""); code != ua.BadOutOfRange || asked != 0 {
		t.Errorf("%v, asked %d times", code, asked)
	}
	for n, want := range map[uint8]ua.StatusCode{1: ua.Good, 2: ua.BadOutOfRange} {
		if code := clientWrite(list, ua.SliceVariant([]uint8{n}), "0"); code != want {
			t.Errorf("writing an element %d: %v", n, code)
		}
	}
	if v.Get() != 2 || !slices.Equal(list.Get(), ByteArray{1, 1}) {
		t.Errorf("values %v, %v", v.Get(), list.Get())
	}
}

func TestEnumerationsOfTheProgram(t *testing.T) {
	s, ns := newModel(t)
	dataType := AddEnumeration[gear](ns, "Gear", "neutral", "first", "second")
	v := AddVariable(ns, "V", gear(1), Writable())
	list := AddVariable(ns, "L", []gear{0, 2})
	noErr(t, s)
	if v.cell.DataType() != dataType || list.cell.DataType() != dataType {
		t.Errorf("DataType %v and %v", v.cell.DataType(), list.cell.DataType())
	}
	if kind := s.space.DataTypeKind(dataType); kind != ua.TypeInt32 {
		t.Errorf("built-in type %v", kind)
	}
	if code := v.cell.Write(&ua.DataValue{Value: ua.Int32Variant(2)}, nil); code != ua.Good || v.Get() != 2 {
		t.Errorf("writing a value of it: %v, %v", code, v.Get())
	}
	// Part 3, 5.8.3: a value that is not defined is out of range.
	if code := v.cell.Write(&ua.DataValue{Value: ua.Int32Variant(3)}, nil); code != ua.BadOutOfRange {
		t.Errorf("writing another value: %v", code)
	}
	texts, ok := ua.As[[]ua.LocalizedText](s.space.Node(ns.NodeID("Gear.EnumStrings")).Variable().Load().Value)
	if !ok || len(texts) != 3 || texts[2].Text != "second" {
		t.Errorf("EnumStrings %v", texts)
	}
}

func TestMatrixIndexes(t *testing.T) {
	m := MatrixOf([]int32{1, 2, 3}, []int32{4, 5})
	if m.At(1, 1) != 5 || m.At(1, 2) != 0 || !reflect.DeepEqual(m.Dims(), []int{2, 3}) || len(m.Elements()) != 6 {
		t.Errorf("%v %v", m.Dims(), m.Elements())
	}
	for _, index := range [][]int{{2, 0}, {0, -1}, {0}, {0, 0, 0}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("index %v did not panic", index)
				}
			}()
			m.At(index...)
		}()
	}
	if empty := MatrixOf[int32](); len(empty.Elements()) != 0 || empty.variant().Len() != 0 {
		t.Error("no rows")
	}
}

func TestDurationsStayInRange(t *testing.T) {
	for ms, want := range map[float64]time.Duration{
		1.5: 1500 * time.Microsecond, math.Inf(1): math.MaxInt64, math.Inf(-1): math.MinInt64, 1e300: math.MaxInt64, -1e300: math.MinInt64,
	} {
		if got := duration(ms); got != want {
			t.Errorf("%g ms is %v, want %v", ms, got, want)
		}
	}
	if duration(math.NaN()) != 0 {
		t.Error("NaN")
	}
}

func TestSettingScalarsAllocatesNothing(t *testing.T) {
	s, ns := newModel(t)
	f := AddVariable(ns, "F", 0.0)
	i := AddVariable(ns, "I", int32(0))
	u := AddVariable(ns, "U", uint8(0))
	b := AddVariable(ns, "B", false)
	x := AddVariable(ns, "X", "")
	tm := AddVariable(ns, "T", start)
	d := AddVariable(ns, "D", time.Second)
	AddEnumeration[gear](ns, "Gear", "a", "b")
	g := AddVariable(ns, "G", gear(0))
	noErr(t, s)
	n := 0
	texts := []string{"one", "two"}
	if allocs := testing.AllocsPerRun(1000, func() {
		n++
		f.Set(float64(n))
		i.Set(int32(n))
		u.Set(uint8(n))
		b.Set(n&1 == 0)
		x.Set(texts[n&1])
		tm.Set(start.Add(time.Duration(n) * time.Second))
		d.Set(time.Duration(n) * time.Second)
		g.Set(gear(n & 1))
		f.SetAt(float64(n), ua.Good, start)
		if f.Get() != float64(n) || g.Get() != gear(n&1) || i.Get() != int32(n) || x.Get() != texts[n&1] {
			t.Fatal("not what was set")
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func BenchmarkSetScalar(b *testing.B) {
	_, ns := newModel(b)
	v := AddVariable(ns, "V", 0.0)
	b.ReportAllocs()
	n := 0.0
	for b.Loop() {
		n++
		v.Set(n)
	}
}

func BenchmarkGetScalar(b *testing.B) {
	_, ns := newModel(b)
	v := AddVariable(ns, "V", 0.0)
	b.ReportAllocs()
	for b.Loop() {
		v.Get()
	}
}

func BenchmarkAddVariable(b *testing.B) {
	s, ns := newModel(b)
	folder := ns.Folder("Folder")
	names := make([]string, 100_000)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n == len(names) {
			b.StopTimer()
			s, ns = newModel(b)
			folder, n = ns.Folder("Folder"), 0
			b.StartTimer()
		}
		AddVariable(folder, names[n], 0.0)
		n++
	}
	noErr(b, s)
}
