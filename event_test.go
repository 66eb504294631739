package uahive_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

type stopped struct {
	Reason string
	Parts  uint32 `ua:"PartsMade,how many parts were made"`
	Forces []float64
}

// TestEventsOverTheNetwork: a client listens at the Server object and at an object for
// the events of a type of the program's own, with a where clause, and sees them with
// the fields that it selected.
func TestEventsOverTheNetwork(t *testing.T) {
	var srv *uahive.Server
	var typ *uahive.EventType[stopped]
	var line, press, other *uahive.Object
	c := serve(t, func(s *uahive.Server, ns *uahive.Namespace) {
		srv = s
		line = ns.Object("Line", uahive.EventNotifier())
		press, other = line.Object("Press"), ns.Object("Other")
		line.AddEventSource(press)
		typ = uahive.AddEventType[stopped](ns, "StoppedEventType", uahive.SubtypeOf(ua.NumericID(0, id.SystemEventType)))
	})
	type heard struct {
		at     string
		fields []ua.Variant
	}
	got := make(chan heard, 100)
	select_ := func(ns uint16, typ ua.NodeID, names ...string) (list []ua.SimpleAttributeOperand) {
		for _, name := range names {
			list = append(list, ua.SimpleAttributeOperand{
				TypeDefinitionID: typ, AttributeID: ua.AttributeIDValue, BrowsePath: []ua.QualifiedName{{NamespaceIndex: ns, Name: name}},
			})
		}
		return list
	}
	base := ua.NumericID(0, id.BaseEventType)
	filter := &ua.EventFilter{
		SelectClauses: append(select_(0, base, "EventId", "SourceName", "Message", "Severity", "SourceNode"),
			select_(2, typ.ID(), "Reason", "PartsMade", "Forces")...),
		WhereClause: ua.ContentFilter{Elements: []ua.ContentFilterElement{
			{FilterOperator: ua.FilterOperatorAnd, FilterOperands: []ua.ExtensionObject{ua.ObjectOf(&ua.ElementOperand{Index: 1}), ua.ObjectOf(&ua.ElementOperand{Index: 2})}},
			{FilterOperator: ua.FilterOperatorOfType, FilterOperands: []ua.ExtensionObject{ua.ObjectOf(&ua.LiteralOperand{Value: ua.VariantOf(typ.ID())})}},
			{FilterOperator: ua.FilterOperatorGreaterThan, FilterOperands: []ua.ExtensionObject{
				ua.ObjectOf(&select_(0, base, "Severity")[0]), ua.ObjectOf(&ua.LiteralOperand{Value: ua.Int32Variant(300)}),
			}},
		}},
	}
	sub, err := c.Subscribe(t.Context(), client.SubscriptionConfig{Interval: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	listen := func(at string) func(client.Change) {
		return func(ch client.Change) { got <- heard{at, ch.Fields} }
	}
	items, err := sub.Monitor(t.Context(), nil,
		client.MonitorItem{Node: ua.NumericID(0, id.Server), Attribute: ua.AttributeIDEventNotifier, Filter: filter, OnChange: listen("server")},
		client.MonitorItem{Node: line.ID(), Attribute: ua.AttributeIDEventNotifier, Filter: filter, OnChange: listen("line")},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		if it.Status() != ua.Good {
			t.Fatal(it.Status())
		}
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	typ.Report(press, "not urgent", stopped{}, uahive.Severity(300))
	srv.Report(events.Event{Severity: 999, SourceName: "of another type"})
	typ.Report(press, "Press has stopped", stopped{"no material", 17, []float64{1, 2}}, uahive.Severity(400), uahive.OccurredAt(at))
	typ.Report(other, "Other has stopped", stopped{}, uahive.Severity(401))
	typ.Report(nil, "The server has stopped", stopped{}, uahive.Severity(402))
	seen := map[string][]string{}
	for range 4 {
		select {
		case h := <-got:
			text, _ := ua.As[ua.LocalizedText](h.fields[2])
			seen[h.at] = append(seen[h.at], text.Text)
			if text.Text != "Press has stopped" {
				continue
			}
			id, _ := ua.As[[]byte](h.fields[0])
			source, _ := ua.As[ua.NodeID](h.fields[4])
			if len(id) != 16 || source != press.ID() {
				t.Errorf("EventId %x, SourceNode %v", id, source)
			}
			for i, want := range map[int]any{1: "Press", 3: uint16(400), 5: "no material", 6: uint32(17), 7: []float64{1, 2}} {
				if v, _ := ua.ValueOf(want); !h.fields[i].Equal(v) {
					t.Errorf("field %d is %v, want %v", i, h.fields[i], want)
				}
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("only %v arrived", seen)
		}
	}
	if len(seen["line"]) != 1 || len(seen["server"]) != 3 {
		t.Errorf("seen %v", seen)
	}
	for what, node := range map[string]ua.NodeID{"gives no events": other.ID(), "no node": ua.StringID(2, "nothing")} {
		items, err := sub.Monitor(t.Context(), nil, client.MonitorItem{Node: node, Attribute: ua.AttributeIDEventNotifier, Filter: filter})
		if err == nil && items[0].Status() == ua.Good {
			t.Errorf("%s: can be monitored", what)
		}
	}
	if s := srv.Stats().Subscriptions; s.EventsReported != 5 || s.EventsDropped != 0 {
		t.Errorf("%+v", s)
	}
}

// TestEventTypesThatCannotBe: mistakes are reported with what to write instead.
func TestEventTypesThatCannotBe(t *testing.T) {
	srv, err := uahive.New(uahive.Config{PKI: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	ns := srv.Namespace("urn:test:model")
	silent := ns.Object("Silent")
	silent.AddEventSource(ns.Object("Source"))
	if srv.Err() == nil {
		t.Error("an object that gives no events has a source")
	}
	for name, err := range map[string]error{
		"no struct":     uahive.AddEventType[int](ns, "A").Err(),
		"hidden field":  uahive.AddEventType[struct{ a int32 }](ns, "B").Err(),
		"other subtype": uahive.AddEventType[struct{}](ns, "C", uahive.SubtypeOf(ua.NumericID(0, id.FolderType))).Err(),
		"same name":     errors.Join(uahive.AddEventType[struct{}](ns, "D").Err(), uahive.AddEventType[struct{}](ns, "D").Err()),
	} {
		var model *uahive.ModelError
		if !errors.As(err, &model) || model.Instead == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	uahive.AddEventType[int](ns, "E").Report(silent, "is not reported", 5)
}

// Events that clients listen for, with fields of the program's own.
func ExampleAddEventType() {
	srv, err := uahive.New(uahive.Config{ApplicationURI: "urn:acme:press", PKI: "memory"})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	ns := srv.Namespace("urn:acme:model")
	hall := ns.Object("Hall", uahive.EventNotifier())
	press := hall.Object("Press1")
	hall.AddEventSource(press)
	type fields struct {
		Reason string
		Parts  uint32 `ua:"PartsMade"`
	}
	stopped := uahive.AddEventType[fields](ns, "StoppedEventType")
	// Clients that listen at the Server object or at the hall are told of it.
	stopped.Report(press, "Press 1 has stopped", fields{"no material", 17}, uahive.Severity(400))
}

// TestUnheardEventsCostNothing: where nobody listens, an event allocates nothing.
func TestUnheardEventsCostNothing(t *testing.T) {
	srv, err := uahive.New(uahive.Config{PKI: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	ns := srv.Namespace("urn:test:model")
	source := ns.Object("Source")
	typ := uahive.AddEventType[stopped](ns, "StoppedEventType")
	if n := testing.AllocsPerRun(100, func() {
		srv.Report(events.Event{SourceName: "x", Severity: 5})
		typ.Report(source, "stopped", stopped{Parts: 5})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
