package uahive

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// call calls a method as the Call service does.
func call(t testing.TB, m *Method, inputs ...ua.Variant) (outputs []ua.Variant, status ua.StatusCode, results []ua.StatusCode) {
	t.Helper()
	if m.Err() != nil {
		t.Fatal(m.Err())
	}
	if code, results := m.srv.space.CheckArguments(m.at.InputArguments(), inputs); code != ua.Good {
		return nil, code, results
	}
	c := addrspace.Call{Method: m.ID(), Inputs: inputs}
	err := m.at.Method().Func(context.Background(), &c)
	return c.Outputs, ua.StatusOf(err), c.InputResults
}

// everything has an argument of each kind.
type everything struct {
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
	State    ua.ServerState
	Node     ua.NodeID
	Status   ua.StatusCode
	Stamp    ua.DateTime
	Name     ua.QualifiedName
	Any      ua.Variant
	Object   ua.ExtensionObject
	Range    ua.Range
	Pointer  *ua.Range
	Floats   []float64
	Texts    []string
	Gears    []gear
	Labels   []label
	Ints     []int
	Times    []time.Time
	Waits    []time.Duration
	Ranges   []ua.Range
	Pointers []*ua.Range
	Objects  []ua.ExtensionObject
	Anys     []ua.Variant
	Matrix   Matrix[float64]
}

func filled() everything {
	return everything{
		true, -1, 2, -3, 4, -5, 6, -7, 8, -9, 10, 1.5, 2.5, "text", "label",
		[]byte{1},
		ByteArray{2, 3},
		start.Truncate(100), 1500 * time.Millisecond, 2, ua.ServerStateFailed, ua.StringID(2, "x"), ua.BadTimeout, 17,
		ua.QualifiedName{Name: "n"},
		ua.StringVariant("any"), ua.ObjectOf(&ua.Range{High: 1}),
		ua.Range{High: 2},
		&ua.Range{High: 3},
		[]float64{1, 2},
		[]string{"a", "b"},
		[]gear{1, 2},
		[]label{"x"},
		[]int{5, 6},
		[]time.Time{start.Truncate(100)},
		[]time.Duration{time.Second},
		[]ua.Range{{High: 4}},
		[]*ua.Range{{High: 5}},
		[]ua.ExtensionObject{ua.ObjectOf(&ua.Range{High: 6})},
		[]ua.Variant{ua.Int32Variant(1), ua.StringVariant("two")},
		MatrixOf([]float64{1, 2}, []float64{3, 4}),
	}
}

func TestArgumentsOfEveryTypeArriveAndReturn(t *testing.T) {
	_, ns := newModel(t)
	AddEnumeration[gear](ns, "Gear", "a", "b", "c")
	var got everything
	m := AddMethod(ns.Object("O"), "M", func(_ context.Context, in everything) (everything, error) {
		got = in
		return in, nil
	})
	if m.Err() != nil {
		t.Fatal(m.Err())
	}
	want := filled()
	plan, err := m.srv.signatureOf(reflect.TypeFor[everything]())
	if err != nil {
		t.Fatal(err)
	}
	inputs := plan.encode(reflect.ValueOf(want))
	outputs, status, results := call(t, m, inputs...)
	if status != ua.Good {
		t.Fatalf("%v %v", status, results)
	}
	// Variants are not comparable as Go values.
	if !got.Any.Equal(want.Any) || !got.Anys[1].Equal(want.Anys[1]) {
		t.Errorf("Any %v, Anys %v", got.Any, got.Anys)
	}
	got.Any, want.Any, got.Anys, want.Anys = ua.Variant{}, ua.Variant{}, nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	for i := range outputs {
		if !outputs[i].Equal(inputs[i]) {
			t.Errorf("%s returned as %v, sent as %v", plan.arguments[i].Name, outputs[i].Any(), inputs[i].Any())
		}
	}
}

func TestArgumentsAreDescribed(t *testing.T) {
	_, ns := newModel(t)
	m := AddMethod(ns.Object("O"), "M", func(_ context.Context, _ struct {
		Parts uint32    `ua:"NumberOfParts,how many"`
		Force []float64 `ua:",in kN"`
		Wear  Matrix[float64]
		When  time.Time
		What  ua.Range
		Any   ua.Variant
	},
	) (out struct{ Sum int32 }, err error) {
		return out, nil
	})
	if m.Err() != nil {
		t.Fatal(m.Err())
	}
	want := []ua.Argument{
		{Name: "NumberOfParts", DataType: ua.NumericID(0, id.UInt32), ValueRank: -1, Description: ua.LocalizedText{Text: "how many"}},
		{Name: "Force", DataType: ua.NumericID(0, id.Double), ValueRank: 1, ArrayDimensions: []uint32{0}, Description: ua.LocalizedText{Text: "in kN"}},
		{Name: "Wear", DataType: ua.NumericID(0, id.Double), ValueRank: 0},
		{Name: "When", DataType: ua.NumericID(0, id.DateTime), ValueRank: -1},
		{Name: "What", DataType: ua.NumericID(0, id.Range), ValueRank: -1},
		{Name: "Any", DataType: ua.NumericID(0, id.BaseDataType), ValueRank: -2},
	}
	if got := m.at.InputArguments(); !reflect.DeepEqual(got, want) {
		t.Errorf("inputs\n%+v, want\n%+v", got, want)
	}
	want = []ua.Argument{{Name: "Sum", DataType: ua.NumericID(0, id.Int32), ValueRank: -1}}
	if got := m.at.OutputArguments(); !reflect.DeepEqual(got, want) {
		t.Errorf("outputs %+v, want %+v", got, want)
	}
	// Part 3, 5.7: without arguments there is no such property.
	empty := AddMethod(ns.Object("P"), "M", nothing)
	for name := range empty.Children() {
		t.Errorf("a method without arguments has %s", name)
	}
}

func TestWrongArgumentsAreRefusedBeforeTheCall(t *testing.T) {
	_, ns := newModel(t)
	m := AddMethod(ns.Object("O"), "M", func(_ context.Context, _ struct {
		Range ua.Range
		State ua.ServerState
	},
	) (whole, error) {
		t.Error("called")
		return whole{}, nil
	})
	good, state := ua.VariantOf(ua.ObjectOf(&ua.Range{})), ua.Int32Variant(0)
	for _, c := range []struct {
		inputs  []ua.Variant
		status  ua.StatusCode
		results []ua.StatusCode
	}{
		{nil, ua.BadArgumentsMissing, nil},
		{[]ua.Variant{good, state, state}, ua.BadTooManyArguments, nil},
		{[]ua.Variant{ua.StringVariant("a"), state}, ua.BadInvalidArgument, []ua.StatusCode{ua.BadTypeMismatch, 0}},
		{[]ua.Variant{ua.VariantOf(ua.ObjectOf(&ua.EUInformation{})), state}, ua.BadInvalidArgument, []ua.StatusCode{ua.BadTypeMismatch, 0}},
		{[]ua.Variant{good, ua.Int32Variant(99)}, ua.BadInvalidArgument, []ua.StatusCode{0, ua.BadOutOfRange}},
		{[]ua.Variant{ua.VariantOf(ua.ExtensionObject{TypeID: ua.NumericID(0, id.Range_Encoding_DefaultBinary), Encoding: 2, Raw: []byte("<Range/>")}), state}, ua.BadInvalidArgument, []ua.StatusCode{ua.BadTypeMismatch, 0}},
	} {
		_, status, results := call(t, m, c.inputs...)
		if status != c.status || !reflect.DeepEqual(results, c.results) {
			t.Errorf("%v: %v %v, want %v %v", c.inputs, status, results, c.status, c.results)
		}
	}
}

func TestErrorsOfMethodsBecomeTheirStatus(t *testing.T) {
	_, ns := newModel(t)
	o := ns.Object("O")
	for i, c := range []struct {
		err     error
		status  ua.StatusCode
		results []ua.StatusCode
		outputs int
	}{
		{nil, ua.Good, nil, 1},
		{ua.BadInvalidState, ua.BadInvalidState, nil, 0},
		{fmt.Errorf("pressing: %w", ua.BadOutOfRange), ua.BadOutOfRange, nil, 0},
		{errors.New("no oil"), ua.BadInternalError, nil, 0},
		{ua.UncertainSubNormal, ua.UncertainSubNormal, nil, 1},
		{&ArgumentError{Argument: "B"}, ua.BadInvalidArgument, []ua.StatusCode{0, ua.BadOutOfRange}, 0},
		{fmt.Errorf("x: %w", &ArgumentError{"A", ua.BadNoMatch}), ua.BadInvalidArgument, []ua.StatusCode{ua.BadNoMatch, 0}, 0},
		{context.DeadlineExceeded, ua.BadTimeout, nil, 0},
	} {
		m := AddMethod(o, fmt.Sprint("M", i), func(context.Context, struct{ A, B int32 }) (struct{ S int32 }, error) {
			return struct{ S int32 }{7}, c.err
		})
		outputs, status, results := call(t, m, ua.Int32Variant(1), ua.Int32Variant(2))
		if status != c.status || !reflect.DeepEqual(results, c.results) || len(outputs) != c.outputs {
			t.Errorf("%v: %v %v, %d outputs", c.err, status, results, len(outputs))
		}
	}
}

func TestPanicsOfMethodsCostTheirCall(t *testing.T) {
	_, ns := newModel(t)
	m := AddMethod(ns.Object("O"), "M", func(context.Context, whole) (whole, error) { panic("oil") }, Inline())
	if _, status, _ := call(t, m); status != ua.BadInternalError {
		t.Errorf("status %v", status)
	}
	if n := m.srv.model.panics.Load(); n != 1 {
		t.Errorf("%d panics were counted", n)
	}
	if !m.at.Method().Inline {
		t.Error("not inline")
	}
	m.SetExecutable(false)
	if m.at.Executable() {
		t.Error("executable")
	}
}

func TestCallsAllocateLittle(t *testing.T) {
	_, ns := newModel(t)
	m := AddMethod(ns.Object("O"), "M", func(_ context.Context, in struct{ A, B int32 }) (out struct{ Sum int32 }, err error) {
		out.Sum = in.A + in.B
		return out, nil
	})
	c := addrspace.Call{Inputs: []ua.Variant{ua.Int32Variant(1), ua.Int32Variant(2)}}
	run, ctx := m.at.Method().Func, context.Background()
	// The arguments, the result, and the slice of results.
	if allocs := testing.AllocsPerRun(100, func() { run(ctx, &c) }); allocs > 4 {
		t.Errorf("%v allocations", allocs)
	}
	if n, _ := c.Outputs[0].Int(); n != 3 {
		t.Errorf("sum %v", c.Outputs[0].Any())
	}
}
