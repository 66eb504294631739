package addrspace

import (
	"context"
	"slices"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

func addMethod(t *testing.T, s *Space, text string, parent ua.NodeID, m *Method) *Node {
	t.Helper()
	n, err := s.AddNode(NodeSpec{
		ID: ua.StringID(2, text), Class: ua.NodeClassMethod, BrowseName: name("Start"), Parent: parent,
		ReferenceType: ns0ID(id.HasComponent), Method: m,
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Part 4, 5.12.2.2: the method is a component of the object or of its type.
func TestFindMethod(t *testing.T) {
	s := newSpace(t)
	run := func() *Method { return &Method{Func: func(context.Context, *Call) error { return nil }} }
	typ, err := s.AddNode(NodeSpec{ID: ua.StringID(2, "Type"), Class: ua.NodeClassObjectType, BrowseName: name("Type"), Parent: ns0ID(id.BaseObjectType)})
	if err != nil {
		t.Fatal(err)
	}
	sub, err := s.AddNode(NodeSpec{ID: ua.StringID(2, "Sub"), Class: ua.NodeClassObjectType, BrowseName: name("Sub"), Parent: typ.ID()})
	if err != nil {
		t.Fatal(err)
	}
	instance := func(text string) *Node {
		n, err := s.AddNode(NodeSpec{ID: ua.StringID(2, text), Class: ua.NodeClassObject, BrowseName: name(text), TypeDefinition: sub.ID()})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	onType := addMethod(t, s, "Type.Start", typ.ID(), run())
	plain, own, empty := instance("Plain"), instance("Own"), instance("Empty")
	ownStart := addMethod(t, s, "Own.Start", own.ID(), run())
	emptyStart := addMethod(t, s, "Empty.Start", empty.ID(), nil)
	stranger := object(t, s, "Stranger", ua.NodeID{})
	bare := addMethod(t, s, "Stranger.Start", stranger.ID(), nil)
	for _, tt := range []struct {
		name           string
		object, method ua.NodeID
		wantNode       *Node
		wantRun        *Method
		want           ua.StatusCode
	}{
		{"own", own.ID(), ownStart.ID(), ownStart, ownStart.Method(), ua.Good},
		{"by the type's method", plain.ID(), onType.ID(), onType, onType.Method(), ua.Good},
		{"by the type's method, own goes first", own.ID(), onType.ID(), ownStart, ownStart.Method(), ua.Good},
		{"own without a function", empty.ID(), emptyStart.ID(), onType, onType.Method(), ua.Good},
		{"on the type", typ.ID(), onType.ID(), onType, onType.Method(), ua.Good},
		{"on the subtype", sub.ID(), onType.ID(), onType, onType.Method(), ua.Good},
		{"of another object", plain.ID(), ownStart.ID(), nil, nil, ua.BadMethodInvalid},
		{"of another type", stranger.ID(), onType.ID(), nil, nil, ua.BadMethodInvalid},
		{"nothing to run", stranger.ID(), bare.ID(), bare, nil, ua.BadNotImplemented},
		{"unknown object", ua.NumericID(2, 999), onType.ID(), nil, nil, ua.BadNodeIDUnknown},
		{"unknown method", plain.ID(), ua.NumericID(2, 999), nil, nil, ua.BadMethodInvalid},
		{"not a method", plain.ID(), own.ID(), nil, nil, ua.BadMethodInvalid},
		{"object is a method", onType.ID(), onType.ID(), nil, nil, ua.BadMethodInvalid},
	} {
		n, m, code := s.FindMethod(tt.object, tt.method)
		if n != tt.wantNode || m != tt.wantRun || code != tt.want {
			t.Errorf("%s: %v, %v, %v", tt.name, n, m, code)
		}
	}
	if !onType.Executable() || !onType.UserExecutable() || plain.Executable() {
		t.Error("Executable is wrong")
	}
	bare.SetMethod(run())
	if _, m, code := s.FindMethod(stranger.ID(), bare.ID()); m == nil || code != ua.Good {
		t.Errorf("after SetMethod: %v", code)
	}
}

func TestArguments(t *testing.T) {
	s := newSpace(t)
	get := s.Node(ns0ID(id.Server_GetMonitoredItems))
	in, out := get.InputArguments(), get.OutputArguments()
	if len(in) != 1 || in[0].Name != "SubscriptionId" || len(out) != 2 || out[1].ValueRank != 1 {
		t.Fatalf("arguments of GetMonitoredItems: %v, %v", in, out)
	}
	if object(t, s, "X", ua.NodeID{}).InputArguments() != nil {
		t.Error("arguments from nowhere")
	}
	args := []ua.Argument{
		{Name: "A", DataType: ns0ID(id.Int32), ValueRank: -1},
		{Name: "B", DataType: ns0ID(id.Byte), ValueRank: 1},
		{Name: "C", DataType: ns0ID(id.Range), ValueRank: -1},
	}
	good := func() []ua.Variant {
		return []ua.Variant{ua.Int32Variant(1), ua.VariantOf([]byte{1}), ua.VariantOf(ua.ObjectOf(&ua.Range{}))}
	}
	inputs := good()
	if code, results := s.CheckArguments(args, inputs); code != ua.Good || results != nil {
		t.Errorf("CheckArguments = %v, %v", code, results)
	}
	if !inputs[1].Equal(ua.SliceVariant([]byte{1})) {
		t.Error("a ByteString for an array of Byte is not converted")
	}
	if code, _ := s.CheckArguments(args, good()[:2]); code != ua.BadArgumentsMissing {
		t.Errorf("missing: %v", code)
	}
	if code, _ := s.CheckArguments(args, append(good(), ua.Variant{})); code != ua.BadTooManyArguments {
		t.Errorf("too many: %v", code)
	}
	wrong := good()
	wrong[0], wrong[2] = ua.StringVariant("1"), ua.VariantOf(ua.ObjectOf(&ua.Argument{}))
	code, results := s.CheckArguments(args, wrong)
	want := []ua.StatusCode{ua.BadTypeMismatch, ua.Good, ua.BadTypeMismatch}
	if code != ua.BadInvalidArgument || !slices.Equal(results, want) {
		t.Errorf("wrong: %v, %v", code, results)
	}
	if code, _ := s.CheckArguments([]ua.Argument{{DataType: ua.NumericID(2, 999)}}, good()[:1]); code != ua.BadInvalidArgument {
		t.Errorf("unknown data type: %v", code)
	}
}
