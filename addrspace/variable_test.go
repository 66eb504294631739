package addrspace

import (
	"bytes"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// variable adds a variable with the value's own type.
func variable(t testing.TB, s *Space, name string, value ua.Variant) *Variable {
	t.Helper()
	return variableOf(t, s, NodeSpec{BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: name}, Value: value})
}

func variableOf(t testing.TB, s *Space, spec NodeSpec) *Variable {
	t.Helper()
	spec.Class = ua.NodeClassVariable
	if spec.BrowseName.Name == "" {
		spec.BrowseName = ua.QualifiedName{NamespaceIndex: 2, Name: "V"}
	}
	if spec.AccessLevel == 0 {
		spec.AccessLevel = ReadWrite
	}
	n, err := s.AddNode(spec)
	if err != nil {
		t.Fatal(err)
	}
	return n.Variable()
}

// C5 and Part 4, 7.11.3: the source timestamp changes with value or status and
// with nothing else.
func TestSourceTimestampChangesOnlyWithValueOrStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpace(t)
		v := variable(t, s, "V", ua.Int32Variant(1))
		first := v.Load()
		if first.SourceTimestamp != ua.DateTimeOf(time.Now()) || first.ServerTimestamp != 0 {
			t.Errorf("first value: %+v", first)
		}
		time.Sleep(time.Second)
		if v.Load().SourceTimestamp != first.SourceTimestamp {
			t.Error("reading changes the timestamp")
		}
		v.Store(ua.DataValue{Value: ua.Int32Variant(1)})
		if v.Load().SourceTimestamp != first.SourceTimestamp {
			t.Error("storing the same value changes the timestamp")
		}
		v.Store(ua.DataValue{Value: ua.Int32Variant(2)})
		second := v.Load()
		if second.SourceTimestamp != ua.DateTimeOf(time.Now()) {
			t.Error("a new value has an old timestamp")
		}
		time.Sleep(time.Second)
		v.Store(ua.DataValue{Value: ua.Int32Variant(2), Status: ua.UncertainInitialValue})
		if v.Load().SourceTimestamp != ua.DateTimeOf(time.Now()) {
			t.Error("a new status has an old timestamp")
		}
		given := ua.DateTimeOf(time.Now().Add(-time.Hour))
		v.Store(ua.DataValue{
			Value: ua.Int32Variant(2), SourceTimestamp: given, SourcePicoseconds: 7,
			ServerTimestamp: 5, ServerPicoseconds: 5,
		})
		if dv := v.Load(); dv.SourceTimestamp != given || dv.SourcePicoseconds != 7 || dv.ServerTimestamp != 0 || dv.ServerPicoseconds != 0 {
			t.Errorf("a given timestamp is not kept: %+v", dv)
		}
	})
}

func TestLoadAndStoreDoNotAllocate(t *testing.T) {
	s := newSpace(t)
	v := variable(t, s, "V", ua.DoubleVariant(1))
	x := 0.0
	if n := testing.AllocsPerRun(1000, func() {
		x++
		v.Store(ua.DataValue{Value: ua.DoubleVariant(x)})
		if f, ok := v.Load().Value.Float(); !ok || f != x {
			t.Fatal("lost value")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	w := new(recorder)
	v.Watch(w)
	if n := testing.AllocsPerRun(1000, func() {
		x++
		w.values = w.values[:0]
		v.Store(ua.DataValue{Value: ua.DoubleVariant(x)})
	}); n != 0 {
		t.Errorf("%v allocations with a watcher", n)
	}
	dv := ua.DataValue{Value: ua.DoubleVariant(1)}
	if n := testing.AllocsPerRun(1000, func() {
		w.values = w.values[:0]
		if code := v.Write(&dv, nil); code != ua.Good {
			t.Fatal(code)
		}
	}); n != 0 {
		t.Errorf("%v allocations in Write", n)
	}
}

// A Load sees value, status and timestamp of one store.
func TestLoadIsCoherent(t *testing.T) {
	s := newSpace(t)
	v := variable(t, s, "V", ua.Int64Variant(0))
	v.Store(ua.DataValue{Value: ua.Int64Variant(1), Status: 1 << 16, SourceTimestamp: 1})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range int64(5000) {
				v.Store(ua.DataValue{
					Value: ua.Int64Variant(i + 1), Status: ua.StatusCode(i+1) << 16, SourceTimestamp: ua.DateTime(i + 1),
				})
			}
		})
		wg.Go(func() {
			for range 5000 {
				dv := v.Load()
				n, _ := dv.Value.Int()
				if dv.Status != ua.StatusCode(n)<<16 || dv.SourceTimestamp != ua.DateTime(n) {
					t.Errorf("torn: %+v", dv)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestLargeArraysAreEncodedOnce(t *testing.T) {
	s := newSpace(t)
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = "text"
	}
	v := variable(t, s, "V", ua.SliceVariant(texts))
	dv, data := v.LoadEncoded()
	var back ua.Variant
	d := codec.NewDecoder(data, nil)
	back.DecodeFrom(d)
	if d.Err() != nil || !back.Equal(dv.Value) {
		t.Fatal("the encoded form is another value")
	}
	if _, again := v.LoadEncoded(); &again[0] != &data[0] {
		t.Error("encoded twice")
	}
	if n := testing.AllocsPerRun(100, func() { v.LoadEncoded() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	changed := append([]string{"other"}, texts...)
	v.Store(ua.DataValue{Value: ua.SliceVariant(changed)})
	if _, next := v.LoadEncoded(); bytes.Equal(next, data) {
		t.Error("the encoded form is of the value before")
	}
	v.Store(ua.DataValue{Value: ua.SliceVariant(texts[:1])})
	if _, none := v.LoadEncoded(); none != nil {
		t.Error("a small array keeps its encoded form")
	}
	if _, none := variable(t, s, "N", ua.SliceVariant(make([]float64, 100_000))).LoadEncoded(); none != nil {
		t.Error("numbers are copied in bulk and need no encoded form")
	}
}

func TestLoadEncodedWhileStoring(t *testing.T) {
	s := newSpace(t)
	value := func(i int) ua.Variant {
		texts := make([]string, 300)
		texts[0] = string(rune('a' + i%20))
		return ua.SliceVariant(texts)
	}
	v := variable(t, s, "V", value(0))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range 300 {
				v.Store(ua.DataValue{Value: value(i)})
			}
		})
		wg.Go(func() {
			for range 300 {
				dv, data := v.LoadEncoded()
				if !bytes.Equal(data, dv.Value.AppendTo(nil)) {
					t.Error("value and encoded form differ")
				}
			}
		})
	}
	wg.Wait()
}

func TestRangesOfAnalogItems(t *testing.T) {
	s := newSpace(t)
	v := variable(t, s, "V", ua.DoubleVariant(1))
	if _, ok := v.EURange(); ok {
		t.Error("a range from nowhere")
	}
	for name, high := range map[string]float64{"EURange": 100, "InstrumentRange": 400} {
		variableOf(t, s, NodeSpec{
			BrowseName: ua.QualifiedName{Name: name}, Parent: v.Node().ID(), ReferenceType: ns0ID(id.HasProperty),
			Value: ua.VariantOf(ua.ObjectOf(&ua.Range{Low: -1, High: high})),
		})
	}
	if r, ok := v.EURange(); !ok || r != (ua.Range{Low: -1, High: 100}) {
		t.Errorf("EURange = %v, %v", r, ok)
	}
	if r, ok := v.InstrumentRange(); !ok || r != (ua.Range{Low: -1, High: 400}) {
		t.Errorf("InstrumentRange = %v, %v", r, ok)
	}
	p := v.Node().Property("EURange")
	if td := p.TypeDefinition(); td == nil || td.ID() != ns0ID(id.PropertyType) {
		t.Error("a property is not a PropertyType")
	}
	if p.Variable().DataType() != ns0ID(id.Range) {
		t.Errorf("DataType = %v", p.Variable().DataType())
	}
}

func BenchmarkLoad(b *testing.B) {
	v := variable(b, newSpace(b), "V", ua.DoubleVariant(1))
	for b.Loop() {
		dv := v.Load()
		if dv.Status != 0 {
			b.Fatal()
		}
	}
}

func BenchmarkStore(b *testing.B) {
	v := variable(b, newSpace(b), "V", ua.DoubleVariant(1))
	x := 0.0
	for b.Loop() {
		x++
		v.Store(ua.DataValue{Value: ua.DoubleVariant(x)})
	}
}
