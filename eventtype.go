package uahive

import (
	"reflect"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

// EventType is a type of events whose fields are those of T.
type EventType[T any] struct {
	node
	fields signature
	paths  [][]ua.QualifiedName
}

// EventTypeOption is an option of [AddEventType].
type EventTypeOption interface{ eventType(*addrspace.NodeSpec) }

func (o NodeOption) eventType(s *addrspace.NodeSpec) { o.apply(s) }

type supertypeOption struct{ nodeID ua.NodeID }

func (o supertypeOption) eventType(s *addrspace.NodeSpec) { s.Parent = o.nodeID }

// SubtypeOf names the type of events that a new one is a subtype of. Default:
// BaseEventType.
func SubtypeOf(nodeID ua.NodeID) EventTypeOption { return supertypeOption{nodeID} }

// AddEventType adds a type of events. T is a struct: each field is a property of the
// type, with its name and a DataType that follows from its Go type, as [AddMethod] says
// of arguments. struct{} adds none.
//
//	stopped := uahive.AddEventType[struct {
//		Reason string
//		Parts  uint32 `ua:"PartsMade"`
//	}](ns, "MachineStoppedEventType")
//	...
//	stopped.Report(press, "Press 1 has stopped", struct{...}{"no material", 17}, uahive.Severity(400))
//
// Clients select the fields by their names in the namespace, and the events by the
// type, whose id is a string id like those of other nodes.
func AddEventType[T any](n *Namespace, name string, opts ...EventTypeOption) *EventType[T] {
	const operation = "AddEventType"
	t := &EventType[T]{node: n.parent().child(name)}
	if t.failed != nil {
		return t
	}
	spec := addrspace.NodeSpec{
		ID: ua.StringID(t.ns, t.path), Class: ua.NodeClassObjectType, BrowseName: ua.QualifiedName{NamespaceIndex: t.ns, Name: name},
		Parent: ua.NumericID(0, id.BaseEventType),
	}
	for _, opt := range opts {
		opt.eventType(&spec)
	}
	base := ua.NumericID(0, id.BaseEventType)
	if !t.srv.space.IsSubtypeOf(spec.Parent, base) {
		t.refuse(&ModelError{
			Operation: operation, Path: t.path, Problem: spec.Parent.String() + " is no type of events",
			Instead: "name BaseEventType or a subtype of it",
		})
		return t
	}
	fields, err := t.srv.signatureOf(reflect.TypeFor[T]())
	if err != nil {
		t.refuse(&ModelError{Operation: operation, Path: t.path, Problem: "not a struct of fields", Instead: err.Error()})
		return t
	}
	t.fields = fields
	if t.add(operation, spec); t.at == nil {
		return t
	}
	var zero T // what the type's own properties read as
	for i, value := range fields.encode(reflect.ValueOf(&zero).Elem()) {
		t.addField(operation, &fields.arguments[i].Argument, value)
	}
	return t
}

// addField adds a mandatory property (Part 3, 6.4.4.4), which events of the type have.
func (t *EventType[T]) addField(operation string, field *ua.Argument, value ua.Variant) {
	name := ua.QualifiedName{NamespaceIndex: t.ns, Name: field.Name}
	t.paths = append(t.paths, []ua.QualifiedName{name})
	property := node{srv: t.srv, ns: t.ns, path: t.path + "." + field.Name}
	property.add(operation, addrspace.NodeSpec{
		ID: ua.StringID(t.ns, property.path), Class: ua.NodeClassVariable, BrowseName: name, Description: field.Description,
		Parent: t.at.ID(), ReferenceType: ua.NumericID(0, id.HasProperty), DataType: field.DataType,
		ValueRank: &field.ValueRank, Dimensions: field.ArrayDimensions, Value: value,
	})
	if property.at == nil {
		return
	}
	err := t.srv.space.AddReference(property.at.ID(), ua.NumericID(0, id.HasModellingRule), ua.NumericID(0, id.ModellingRule_Mandatory))
	if err != nil {
		property.refuse(&ModelError{Operation: operation, Path: property.path, Problem: "no modelling rule", Instead: advice(err), Err: err})
	}
}

// Report tells clients of an event of the type; see [Server.Report]. source is what the
// event is about; nil stands for the server. What fields refer to must not be changed any
// more. An event of a type that could not be made is not reported.
func (t *EventType[T]) Report(source EventSource, message string, fields T, opts ...EventOption) {
	if t.at != nil && t.srv.subs.Heard() {
		t.report(source, message, fields, opts)
	}
}

// report is apart from Report because here the fields are moved to the heap.
func (t *EventType[T]) report(source EventSource, message string, fields T, opts []EventOption) {
	e := &events.Event{Type: t.at.ID(), Message: ua.LocalizedText{Text: message}}
	if source == nil {
		e.SourceNode, e.SourceName = ua.NumericID(0, id.Server), "Server"
	} else if n := source.Node(); n != nil {
		e.SourceNode, e.SourceName = n.ID(), n.DisplayName().Text
	}
	values := t.fields.encode(reflect.ValueOf(&fields).Elem())
	e.Fields = make([]events.Field, len(values))
	for i, v := range values {
		e.Fields[i] = events.Field{Path: t.paths[i], Value: v}
	}
	for _, opt := range opts {
		opt(e)
	}
	t.srv.subs.Report(e)
}
