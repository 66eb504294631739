package uahive_test

import (
	"context"
	"slices"
	"testing"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

func TestClientsUseStructuresOfTheProgram(t *testing.T) {
	var hook *uahive.Variable[Point]
	c := serve(t, func(_ *uahive.Server, ns *uahive.Namespace) {
		uahive.AddStructure[Point](ns, "Point")
		hook = uahive.AddVariable(ns, "Hook", Point{1, 2, "a"}, uahive.Writable())
		uahive.AddVariable(ns, "Path", []Point{{1, 2, "a"}, {3, 4, "b"}})
		uahive.AddMethod(ns.Object("Crane"), "Mirror", func(_ context.Context, in struct{ P Point }) (out struct{ P []Point }, err error) {
			out.P = []Point{in.P, {-in.P.X, -in.P.Y, in.P.Label}}
			return out, nil
		})
	})
	ctx := t.Context()
	dv := read(t, c, "Path")
	if path, err := uahive.DecodeStructure[[]Point](dv.Value); err != nil || !slices.Equal(path, []Point{{1, 2, "a"}, {3, 4, "b"}}) {
		t.Errorf("Path %v, %v", path, err)
	}
	object, _ := ua.As[ua.ExtensionObject](read(t, c, "Hook").Value)
	value, err := uahive.EncodeStructure(object.TypeID, Point{5, 6, "c"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.WriteValue(ctx, node("Hook"), value); err != nil || hook.Get() != (Point{5, 6, "c"}) {
		t.Errorf("writing: %v, stored %v", err, hook.Get())
	}
	broken := ua.VariantOf(ua.ExtensionObject{TypeID: object.TypeID, Encoding: ua.EncodingBinary, Raw: object.Raw[:9]})
	if err := c.WriteValue(ctx, node("Hook"), broken); ua.StatusOf(err) != ua.BadTypeMismatch {
		t.Errorf("writing what is no Point: %v", err)
	}
	out, err := c.Call(ctx, node("Crane"), node("Crane.Mirror"), value)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := uahive.DecodeStructure[[]Point](out[0]); err != nil || !slices.Equal(got, []Point{{5, 6, "c"}, {-5, -6, "c"}}) {
		t.Errorf("called: %v, %v", got, err)
	}
}

func TestRightsAreAskedForEachOperation(t *testing.T) {
	allowed, stored := "somebody", []float64{}
	may := func(caller uahive.Caller) bool { return caller.User.Name == allowed }
	c := serve(t, func(_ *uahive.Server, ns *uahive.Namespace) {
		o := ns.Object("O")
		uahive.AddVariable(o, "V", 1.0, uahive.WritableBy(may), uahive.AfterWrite(func(ctx context.Context, value float64) {
			if caller, ok := uahive.CallerFrom(ctx); !ok || caller.User.Name != "operator" {
				t.Errorf("stored for %v", caller)
			}
			stored = append(stored, value)
		}))
		uahive.AddVariable(o, "Broken", 1.0, uahive.WritableBy(func(uahive.Caller) bool { panic("oil") }))
		nothing := func(context.Context, struct{}) (out struct{}, err error) { return out, nil }
		uahive.AddMethod(o, "M", nothing, uahive.CallableBy(may))
		uahive.AddMethod(o, "Inline", nothing, uahive.CallableBy(may), uahive.Inline())
	})
	ctx := t.Context()
	try := func(want ua.StatusCode) {
		t.Helper()
		if err := c.WriteValue(ctx, node("O.V"), 2.0); ua.StatusOf(err) != want {
			t.Errorf("write: %v, want %v", err, want)
		}
		for _, method := range []string{"O.M", "O.Inline"} {
			if _, err := c.Call(ctx, node("O"), node(method)); ua.StatusOf(err) != want {
				t.Errorf("%s: %v, want %v", method, err, want)
			}
		}
	}
	try(ua.BadUserAccessDenied)
	allowed = "operator"
	try(ua.Good)
	if !slices.Equal(stored, []float64{2}) {
		t.Errorf("stored %v", stored)
	}
	if err := c.WriteValue(ctx, node("O.Broken"), 2.0); ua.StatusOf(err) != ua.BadInternalError {
		t.Errorf("a panic of the question: %v", err)
	}
}

func TestClientsUseTheNodesOfAManager(t *testing.T) {
	c := serve(t, func(_ *uahive.Server, ns *uahive.Namespace) {
		folder := ns.Folder("PLC")
		ns.Mount(&plc{ns: ns.Index(), folder: folder.ID(), registers: map[string]float64{"R1": 1.5, "R2": 0}})
	})
	ctx := t.Context()
	var names []string
	for ref, err := range c.Browse(ctx, node("PLC")) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, ref.BrowseName.Name)
	}
	if !slices.Equal(names, []string{"R1", "R2"}) {
		t.Errorf("below the folder: %v", names)
	}
	if err := c.WriteValue(ctx, node("R1"), 7.5); err != nil {
		t.Error(err)
	}
	if dv := read(t, c, "R1"); dv.Status != ua.Good || !dv.Value.Equal(ua.DoubleVariant(7.5)) {
		t.Errorf("R1 %v", dv)
	}
	for path, want := range map[string]ua.StatusCode{"R1": ua.BadTypeMismatch, "R9": ua.BadNodeIDUnknown} {
		if err := c.WriteValue(ctx, node(path), "text"); ua.StatusOf(err) != want {
			t.Errorf("writing a text to %s: %v", path, err)
		}
	}
	if dv := read(t, c, "R9"); dv.Status != ua.BadNodeIDUnknown {
		t.Errorf("R9 %v", dv)
	}
	for range c.Browse(ctx, node("R1")) {
		t.Error("something below a register")
	}
	values, err := c.Read(ctx, ua.ReadValueID{NodeID: node("R1"), AttributeID: ua.AttributeIDDataType})
	if err != nil || !values[0].Value.Equal(ua.VariantOf(ua.NumericID(0, id.Double))) {
		t.Errorf("DataType %v, %v", values, err)
	}
}
