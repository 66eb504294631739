package uahive

import (
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

func TestVariablesAreFoundByTheirPath(t *testing.T) {
	s, ns := newModel(t)
	press := ns.Folder("Plant").Object("Press1")
	want := AddVariable(press, "Temperature", 21.5, EURange(0, 300))
	odd := AddVariable(ns.Object("Own.Dots", NodeID(ua.NumericID(ns.Index(), 77))), "V.W", "x")
	part := AddVariable(want, "Part", []int32{1})
	utc := AddVariable(press, "Start", start, DataType(ua.NumericID(0, id.UtcTime)))
	matrix := AddVariable(press, "M", MatrixOf([]int32{1}, []int32{2}))
	AddStructure[point](ns, "Point")
	origin := AddVariable(press, "Origin", []point{{Label: "o"}})
	noErr(t, s)

	v, err := FindVariable[float64](ns, "Plant.Press1.Temperature")
	if err != nil {
		t.Fatal(err)
	}
	if v.Set(5); want.Get() != 5 || v.Path() != want.Path() || v.ID() != want.ID() {
		t.Errorf("found %s %s with %v", v.Path(), v.ID(), want.Get())
	}
	v.SetEURange(1, 2)
	if r, _ := want.cell.EURange(); r.High != 2 {
		t.Errorf("EURange %v", r)
	}
	for _, c := range []struct {
		find func() (ua.NodeID, error)
		want ua.NodeID
	}{
		{found[string](ns, "Own.Dots.V.W"), odd.ID()},
		{found[[]int32](press, "Temperature.Part"), part.ID()},
		{found[time.Time](press, "Start"), utc.ID()},
		{found[Matrix[int32]](press, "M"), matrix.ID()},
		{found[[]point](ns, "Plant.Press1.Origin"), origin.ID()},
		{found[ua.Variant](press, "M"), matrix.ID()},
	} {
		if got, err := c.find(); err != nil || got != c.want {
			t.Errorf("found %v (%v), want %v", got, err, c.want)
		}
	}
	for want, find := range map[string]func() (ua.NodeID, error){
		"DataType Double and ValueRank -1": found[float32](press, "Temperature"),
		"not those of []float64":           found[[]float64](press, "Temperature"),
		"no such variable":                 found[float64](press, "Pressure"),
		`FindVariable("Plant")`:            found[float64](ns, "Plant"),
		"DataType Point":                   found[int32](press, "Origin"),
		"AddStructure[uahive.doubled]":     found[doubled](press, "Origin"),
	} {
		if _, err := find(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	noErr(t, s) // looking is no mistake in the model
	if _, err := FindVariable[float64](s.Namespace("bad"), "V"); err == nil {
		t.Error("found in a namespace that could not be made")
	}
}

func found[T any](parent Parent, path string) func() (ua.NodeID, error) {
	return func() (ua.NodeID, error) {
		v, err := FindVariable[T](parent, path)
		if err != nil {
			return ua.NodeID{}, err
		}
		return v.ID(), nil
	}
}
