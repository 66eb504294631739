package uahive

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

func TestNamespacesAreFoundByURI(t *testing.T) {
	s, ns := newModel(t)
	if ns.Index() != 2 || ns.URI() != "urn:test:model" {
		t.Errorf("index %d, URI %q", ns.Index(), ns.URI())
	}
	if again := s.Namespace("urn:test:model"); again.Index() != 2 {
		t.Errorf("the same URI again has index %d", again.Index())
	}
	if own := s.Namespace("urn:test:server"); own.Index() != 1 {
		t.Errorf("the application's own URI has index %d", own.Index())
	}
	if next := s.Namespace("urn:test:other"); next.Index() != 3 {
		t.Errorf("a new URI has index %d", next.Index())
	}
	noErr(t, s)
}

func TestNodesHaveTheirDottedPathAsID(t *testing.T) {
	s, ns := newModel(t)
	plant := ns.Folder("Plant", DisplayName("Works"), Description("all of it"))
	press := plant.Object("Press1")
	temperature := AddVariable(press, "Temperature", 21.5)
	odd := press.Object("Odd", NodeID(ua.NumericID(ns.Index(), 77)))
	part := AddVariable(odd, "Part", "x")
	noErr(t, s)
	for _, c := range []struct {
		got  ua.NodeID
		want string
	}{
		{plant.ID(), "ns=2;s=Plant"},
		{press.ID(), "ns=2;s=Plant.Press1"},
		{temperature.ID(), "ns=2;s=Plant.Press1.Temperature"},
		{odd.ID(), "ns=2;i=77"},
		{part.ID(), "ns=2;s=Plant.Press1.Odd.Part"}, // an id of one's own does not change the path
	} {
		if c.got.String() != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	if got := ns.NodeID(temperature.Path()); got != temperature.ID() {
		t.Errorf("NodeID of the path: %s", got)
	}
	if n := plant.Node(); n.DisplayName().Text != "Works" || n.BrowseName().Name != "Plant" || n.BrowseName().NamespaceIndex != 2 {
		t.Errorf("DisplayName %v, BrowseName %v", n.DisplayName(), n.BrowseName())
	}
	if d, _ := plant.Node().Attribute(ua.AttributeIDDescription); !d.Equal(ua.VariantOf(ua.LocalizedText{Text: "all of it"})) {
		t.Errorf("Description %v", d.Any())
	}
	if def := plant.Node().TypeDefinition(); def.ID() != ua.NumericID(0, id.FolderType) {
		t.Errorf("a folder is a %v", def.BrowseName())
	}
}

// references tells how a node hangs on its parent.
func referenceType(t *testing.T, child interface {
	ID() ua.NodeID
	Path() string
}, s *Server,
) uint32 {
	t.Helper()
	r, _, ok := s.space.Node(child.ID()).References().Next(0, ua.BrowseDirectionInverse, nil)
	for pos := 0; ok; {
		var next int
		if r, next, ok = s.space.Node(child.ID()).References().Next(pos, ua.BrowseDirectionInverse, nil); ok {
			return r.Type.ID().Numeric()
		}
		pos = next
	}
	t.Fatalf("%s hangs nowhere", child.Path())
	return 0
}

// Part 3, 7.7 to 7.11: folders organize, objects have components and properties.
func TestNodesHangOnTheRightReferences(t *testing.T) {
	s, ns := newModel(t)
	folder := ns.Folder("Folder")
	object := folder.Object("Object")
	noErr(t, s)
	for _, c := range []struct {
		node interface {
			ID() ua.NodeID
			Path() string
		}
		want uint32
	}{
		{folder, id.Organizes},
		{object, id.Organizes},
		{object.Object("Part"), id.HasComponent},
		{AddVariable(object, "Variable", 1), id.HasComponent},
		{AddProperty(object, "Property", 1), id.HasProperty},
		{AddMethod(object, "Method", nothing), id.HasComponent},
	} {
		if got := referenceType(t, c.node, s); got != c.want {
			t.Errorf("%s: reference type %d, want %d", c.node.Path(), got, c.want)
		}
	}
}

func TestObjectsOfOthersCanBeParents(t *testing.T) {
	s, ns := newModel(t)
	server := ns.At(ua.NumericID(0, id.Server))
	AddProperty(server, "Vendor", "acme")
	ns.Folder("Plant").Object("Press1")
	AddVariable(ns.At(ns.NodeID("Plant.Press1")), "Speed", 1.5)
	noErr(t, s)
	if s.space.Node(ua.StringID(2, "Vendor")) == nil || s.space.Node(ua.StringID(2, "Plant.Press1.Speed")) == nil {
		t.Error("nodes have other ids")
	}
	ns.At(ns.NodeID("Plant.Nowhere"))
	if s.Err() == nil {
		t.Error("an object that is not there is no error")
	}
}

func TestChildrenAreYieldedInOrder(t *testing.T) {
	s, ns := newModel(t)
	o := ns.Object("O")
	for _, name := range []string{"c", "a", "b"} {
		o.Object(name)
	}
	noErr(t, s)
	var names []string
	for name, child := range o.Children() {
		names = append(names, name)
		if child.ID() != ns.NodeID("O."+name) {
			t.Errorf("%s is %s", name, child.ID())
		}
	}
	if !slices.Equal(names, []string{"c", "a", "b"}) {
		t.Errorf("children %v", names)
	}
	for range o.Children() {
		break
	}
}

func TestRemoveTakesEverythingBelow(t *testing.T) {
	s, ns := newModel(t)
	before := s.space.Len()
	o := ns.Object("O")
	v := AddVariable(o.Object("Inner"), "V", 1.0, EURange(0, 1))
	noErr(t, s)
	o.Remove()
	o.Remove()
	if s.space.Len() != before {
		t.Errorf("%d nodes are left over", s.space.Len()-before)
	}
	v.Set(2) // has no effect on anyone
	if got := ns.Object("O"); got.Err() != nil {
		t.Errorf("the name is not free again: %v", got.Err())
	}
}

func TestDisplayNamesChangeAtRunTime(t *testing.T) {
	s, ns := newModel(t)
	o := ns.Object("O")
	noErr(t, s)
	o.SetDisplayName("Press No. 1")
	o.SetDescription("the old one")
	if got := o.Node().DisplayName().Text; got != "Press No. 1" {
		t.Errorf("DisplayName %q", got)
	}
	o.SetDisplayName("")
	if got := o.Node().DisplayName().Text; got != "O" {
		t.Errorf("DisplayName %q after it was taken back", got)
	}
}

// Constructors return no error, so that they chain; the first cause is kept and
// nothing that follows from it.
func TestErrorsAreKeptWithTheirCause(t *testing.T) {
	for _, c := range []struct {
		name  string
		do    func(s *Server, ns *Namespace)
		wants []string
		code  ua.StatusCode
	}{
		{"no URI", func(s *Server, _ *Namespace) { AddVariable(s.Namespace("acme").Object("O"), "V", 1) }, []string{`Namespace("acme")`, "urn:acme:model"}, 0},
		{"standard namespace", func(s *Server, _ *Namespace) { s.Namespace("http://opcfoundation.org/UA/").Object("O") }, []string{"standard"}, 0},
		{"same name twice", func(_ *Server, ns *Namespace) { ns.Object("O"); AddVariable(ns.Object("O"), "V", 1) }, []string{`Object("O")`, "another name"}, ua.BadNodeIDExists},
		{"no name", func(_ *Server, ns *Namespace) { ns.Object("").Object("P") }, []string{"1 to 512"}, ua.BadBrowseNameInvalid},
		{"map", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", map[string]int{}) }, []string{`AddVariable("V")`, "map[string]int"}, 0},
		{"nested slices", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", [][]int32{}) }, []string{"uahive.Matrix"}, 0},
		{"Go array", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", [3]int32{}) }, []string{"use a slice"}, 0},
		{"any", func(_ *Server, ns *Namespace) { AddVariable[any](ns, "V", 1) }, []string{"ua.Variant"}, 0},
		{"struct", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", point{}) }, []string{"AddStructure[uahive.point]"}, 0},
		{"slice of structs", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", []point{}) }, []string{"AddStructure[uahive.point]"}, 0},
		{"named bytes", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", blob{}) }, []string{"[]byte", "ByteArray"}, 0},
		{"EURange of a string", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", "", EURange(0, 1)) }, []string{"EURange is for numbers"}, 0},
		{"EnumStrings of an int32", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", int32(0), EnumStrings("a")) }, []string{"AddEnumeration"}, 0},
		{"EnumStrings without names", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", uint8(0), EnumStrings()) }, []string{"without names", "0, 1, 2"}, 0},
		{"EnumStrings without the first value", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", uint8(9), EnumStrings("a")) }, []string{"first value, 9", "1 values"}, 0},
		{"EnumStrings without an element", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", []uint32{0, 1}, EnumStrings("a")) }, []string{"first value"}, 0},
		{"empty EURange", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", 1.0, EURange(10, 1)) }, []string{"EURange(10, 1)", "lower end first"}, 0},
		{"EURange of NaN", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", 1.0, EURange(0, math.NaN())) }, []string{"EURange(0, NaN)"}, 0},
		{"empty InstrumentRange", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", 1.0, InstrumentRange(1, 1)) }, []string{"InstrumentRange(1, 1)"}, 0},
		{"SetEURange", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", 1.0, EURange(0, 1)).SetEURange(2, 1) }, []string{`SetEURange("V")`}, 0},
		{"unit that is no code", func(_ *Server, ns *Namespace) {
			AddVariable(ns, "V", 1.0, EngineeringUnits(Unit("furlongs", "fur", "furlong")))
		}, []string{`"fur"`, "NamespaceURI of your own"}, 0},
		{"unit in small letters", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", 1.0, EngineeringUnits(Unit("cel", "°C", ""))) }, []string{`"°C"`}, 0},
		{"unit without a code", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", 1.0, EngineeringUnits(Unit("", "u", ""))) }, []string{`"u"`}, 0},
		{"SetEngineeringUnits", func(_ *Server, ns *Namespace) {
			AddVariable(ns, "V", 1.0, EngineeringUnits(Bar)).SetEngineeringUnits(Unit("four", "f", ""))
		}, []string{`SetEngineeringUnits("V")`}, 0},
		{"property below a property", func(_ *Server, ns *Namespace) { AddProperty(AddProperty(ns.Object("O"), "P", 1), "Q", 1) }, []string{`AddProperty("O.P.Q")`, "no parts"}, 0},
		{"variable below a property", func(_ *Server, ns *Namespace) { AddVariable(AddProperty(ns.Object("O"), "P", 1), "V", 1) }, []string{`AddVariable("O.P.V")`, "no parts"}, 0},
		{"property with a property", func(_ *Server, ns *Namespace) { AddProperty(ns.Object("O"), "P", 1.0, EURange(0, 1)) }, []string{"EURange", "AddVariable"}, 0},
		{"no OnRead", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", 1, OnRead[int](nil)) }, []string{"OnRead(nil)"}, 0},
		{"no OnWrite", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", 1, OnWrite[int](nil)) }, []string{"OnWrite(nil)"}, 0},
		{"no AfterWrite", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", 1, AfterWrite[int](nil)) }, []string{"AfterWrite(nil)"}, 0},
		{"AfterWrite of another type", func(_ *Server, ns *Namespace) {
			AddVariable(ns, "V", 1, AfterWrite(func(context.Context, string) {}))
		}, []string{"AfterWrite", "func(context.Context, int)"}, 0},
		{"AfterWrite with OnRead", func(_ *Server, ns *Namespace) {
			AddVariable(ns, "V", 1.0, OnRead(readFloat), AfterWrite(func(context.Context, float64) {}))
		}, []string{"stores nothing", "OnWrite"}, 0},
		{"Writable with OnRead", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", 1.0, Writable(), OnRead(readFloat)) }, []string{"nowhere to store", "add OnWrite"}, 0},
		{"no WritableBy", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", 1, WritableBy(nil)) }, []string{"WritableBy(nil)"}, 0},
		{"WritableBy inline", func(_ *Server, ns *Namespace) {
			AddVariable(ns, "V", 1, Inline(), WritableBy(func(Caller) bool { return true }))
		}, []string{"Inline"}, 0},
		{"no method", func(_ *Server, ns *Namespace) { AddMethod[struct{}, struct{}](ns.Object("O"), "M", nil) }, []string{`AddMethod("O.M")`, "no function"}, 0},
		{"no CallableBy", func(_ *Server, ns *Namespace) { AddMethod(ns.Object("O"), "M", nothing, CallableBy(nil)) }, []string{"CallableBy(nil)"}, 0},
		{"StateNames of a number", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", 1, StateNames("a", "b")) }, []string{"bool"}, 0},
		{"OnWrite of another type", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", 1.0, OnWrite(acceptInt)) }, []string{"OnWrite", "float64"}, 0},
		{"OnRead of another type", func(_ *Server, ns *Namespace) { AddVariable(ns, "V", 1, OnRead(readFloat)) }, []string{"OnRead", "int"}, 0},
		{"value outside of DataType", func(_ *Server, ns *Namespace) {
			AddVariable(ns, "V", "x", DataType(ua.NumericID(0, id.Double)))
		}, []string{"fit each other"}, ua.BadTypeMismatch},
		{"type of another class", func(_ *Server, ns *Namespace) { ns.Object("O", TypeDefinition(ua.NumericID(0, id.Double))) }, []string{"ObjectType"}, ua.BadTypeDefinitionInvalid},
		{"foreign namespace", func(_ *Server, ns *Namespace) { ns.Object("O", NodeID(ua.StringID(9, "O"))) }, []string{"ns=9"}, ua.BadNodeIDRejected},
		{"method without struct", func(_ *Server, ns *Namespace) { AddMethod(ns.Object("O"), "M", takesInt) }, []string{`AddMethod("O.M")`, "structs"}, 0},
		{"method with a hidden field", func(_ *Server, ns *Namespace) { AddMethod(ns.Object("O"), "M", takesHidden) }, []string{"hidden", "capital"}, 0},
		{"method with a map", func(_ *Server, ns *Namespace) { AddMethod(ns.Object("O"), "M", takesMap) }, []string{"field M", "map"}, 0},
		{"enumeration of int32", func(_ *Server, ns *Namespace) { AddEnumeration[int32](ns, "E", "a") }, []string{"type State int32"}, 0},
		{"enumeration without values", func(_ *Server, ns *Namespace) { AddEnumeration[gear](ns, "E") }, []string{"no values"}, 0},
		{"enumeration twice", func(_ *Server, ns *Namespace) { AddEnumeration[gear](ns, "E", "a"); AddEnumeration[gear](ns, "F", "a") }, []string{"already"}, 0},
		{"enumeration after a variable of it", func(_ *Server, ns *Namespace) {
			AddVariable(ns, "V", []gear{1})
			AddEnumeration[gear](ns, "E", "a", "b")
		}, []string{"uahive.gear", "before AddVariable"}, 0},
		{"enumeration after a method with it", func(_ *Server, ns *Namespace) {
			AddMethod(ns.Object("O"), "M", func(context.Context, struct{ G wideGear }) (out struct{}, err error) { return })
			AddEnumeration[wideGear](ns, "E", "a", "b")
		}, []string{"uahive.wideGear", "before AddVariable"}, 0},
		{"enumeration of an int", func(_ *Server, ns *Namespace) { AddEnumeration[int](ns, "E", "a") }, []string{"int has a meaning"}, 0},
		{"enumeration beyond an int32", func(_ *Server, ns *Namespace) {
			AddEnumerationMap(ns, "E", map[wideGear]string{1: "a", 1 << 40: "b"})
		}, []string{"1099511627776", "int32"}, 0},
		{"enumeration with a name twice", func(_ *Server, ns *Namespace) { AddEnumeration[gear](ns, "E", "a", "a") }, []string{`the name "a" of the value 1`}, 0},
		{"enumeration and a value of it that is none", func(_ *Server, ns *Namespace) {
			AddEnumeration[wideGear](ns, "E", "a")
			AddVariable(ns, "V", wideGear(1<<33))
		}, []string{`AddVariable("V")`}, ua.BadOutOfRange},
		{"structure twice", func(_ *Server, ns *Namespace) { AddStructure[point](ns, "P"); AddStructure[point](ns, "Q") }, []string{"already"}, 0},
		{"structure of a number", func(_ *Server, ns *Namespace) { AddStructure[int](ns, "P") }, []string{"struct type of your own"}, 0},
		{"structure of the standard", func(_ *Server, ns *Namespace) { AddStructure[ua.Range](ns, "P") }, []string{"struct type of your own"}, 0},
		{"structure without a name", func(_ *Server, ns *Namespace) { AddStructure[struct{ A int }](ns, "P") }, []string{"type Point struct"}, 0},
		{"structure without fields", func(_ *Server, ns *Namespace) { AddStructure[empty](ns, "P") }, []string{"give it a field"}, 0},
		{"structure with a hidden field", func(_ *Server, ns *Namespace) { AddStructure[hiding](ns, "P") }, []string{"field x", "capital"}, 0},
		{"structure with itself", func(_ *Server, ns *Namespace) { AddStructure[tree](ns, "P") }, []string{"field Below", "AddStructure[uahive.tree] first"}, 0},
		{"structure with a pointer", func(_ *Server, ns *Namespace) { AddStructure[pointing](ns, "P") }, []string{"field P", "without a pointer"}, 0},
		{"structure with a pointer to a standard one", func(_ *Server, ns *Namespace) { AddStructure[pointingRange](ns, "P") }, []string{"field R", "use a value"}, 0},
		{"structure with a matrix", func(_ *Server, ns *Namespace) { AddStructure[square](ns, "P") }, []string{"field M", "use a slice"}, 0},
		{"structure with a name twice", func(_ *Server, ns *Namespace) { AddStructure[doubled](ns, "P") }, []string{`"A"`, "name of its own"}, 0},
		{"structure whose name is taken", func(_ *Server, ns *Namespace) { ns.Object("P"); AddStructure[point](ns, "P") }, []string{`AddStructure("P")`, "another name"}, ua.BadNodeIDExists},
		{"pointer to a structure", func(_ *Server, ns *Namespace) { AddStructure[point](ns, "P"); AddVariable(ns, "V", &point{}) }, []string{"without a pointer"}, 0},
		{"manager of nothing", func(_ *Server, ns *Namespace) { ns.Mount(1) }, []string{"Mount", "int"}, 0},
		{"parent was removed", func(_ *Server, ns *Namespace) { o := ns.Object("O"); o.Remove(); o.Object("P") }, []string{"not removed"}, ua.BadParentNodeIDInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, ns := newModel(t)
			c.do(s, ns)
			err := s.Err()
			var model *ModelError
			if !errors.As(err, &model) {
				t.Fatalf("error %v", err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than the cause:\n%v", err)
			}
			for _, want := range c.wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
			if c.code != 0 && !errors.Is(err, c.code) && ua.StatusOf(err).Code() != c.code {
				t.Errorf("status %v, want %v", ua.StatusOf(err), c.code)
			}
		})
	}
}

func TestWhatCouldNotBeMadeDoesNothing(t *testing.T) {
	s, ns := newModel(t)
	ns.Object("O")
	broken := ns.Object("O")
	v := AddVariable(broken, "V", 1.5)
	v.Set(2)
	v.SetAt(2, ua.Good, start)
	v.SetStatus(ua.Bad)
	v.SetEURange(0, 1)
	s.Update(func(tx *Tx) { v.SetIn(tx, 3) })
	v.SetDisplayName("x")
	v.Remove()
	m := AddMethod(broken, "M", nothing)
	m.SetExecutable(false)
	for range broken.Children() {
		t.Error("a child")
	}
	if v.Get() != 0 || !v.Value().Status.IsBad() || !v.ID().IsNull() || v.Node() != nil {
		t.Error("the variable lives")
	}
	if broken.Err() == nil || !errors.Is(v.Err(), broken.Err()) || !errors.Is(m.Err(), broken.Err()) {
		t.Errorf("errors %v, %v, %v", broken.Err(), v.Err(), m.Err())
	}
	if err := v.SetVariant(ua.DoubleVariant(1)); err == nil {
		t.Error("SetVariant succeeded")
	}
}

func TestErrorsAreBounded(t *testing.T) {
	s, ns := newModel(t)
	for range keptErrors + 5 {
		AddVariable(ns, "", 1)
	}
	if text := s.Err().Error(); strings.Count(text, "\n") != keptErrors || !strings.Contains(text, "and 5 more") {
		t.Error(text)
	}
}
