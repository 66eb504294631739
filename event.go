package uahive

import (
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

// Report tells all clients of an event that listen for it: at the Server object, and
// at the objects above its SourceNode that give events (see [EventNotifier]). What is
// left out of it has the defaults that [events.Event] states. Neither the event nor
// what it refers to may be changed any more.
//
// Report may be called from any goroutine and with any lock held. It does not wait: each
// client has a queue of its own, and where nobody listens the call is next to nothing.
// Clients see only events for which their user has the permission.
//
// [AddEventType] makes events with fields of their own, and takes them from a struct.
func (s *Server) Report(e events.Event) {
	if s.subs.Heard() {
		kept := e // so that e stays where it is when nobody listens
		s.subs.Report(&kept)
	}
}

// EventSource is a node that an event can be about: an [Object], a [Variable] or a
// [Method].
type EventSource interface {
	ID() ua.NodeID
	Node() *addrspace.Node
}

// EventNotifierOption is an [ObjectOption].
type EventNotifierOption struct{}

func (EventNotifierOption) object(s *addrspace.NodeSpec) {
	s.EventNotifier |= ua.EventNotifierTypeSubscribeToEvents
}

// EventNotifier lets clients listen for the events of an object: those that are about
// itself, and those of its sources (see [Object.AddEventSource]). Without it they hear
// of its events at the Server object only (Part 3, 5.5.1).
func EventNotifier() EventNotifierOption { return EventNotifierOption{} }

// AddEventSource says that the object gives the events of other nodes as well: objects
// that give events themselves (HasNotifier), with all of their sources, and others
// (HasEventSource; Part 3, 7.17 and 7.18). The first call also makes the object a
// notifier of the Server object, unless it is one of another.
func (o *Object) AddEventSource(sources ...EventSource) {
	const operation = "AddEventSource"
	refuse := func(problem, instead string, err error) {
		o.srv.fail(&ModelError{Operation: operation, Path: o.path, Problem: problem, Instead: instead, Err: err})
	}
	if o.at == nil {
		return
	}
	if !givesEvents(o.at) {
		refuse("an object that gives no events", "make it with the option uahive.EventNotifier()", nil)
		return
	}
	hasNotifier, hasEventSource := ua.NumericID(0, id.HasNotifier), ua.NumericID(0, id.HasEventSource)
	if types, ok := o.srv.space.ReferenceTypes(hasNotifier, true); ok {
		if _, _, above := o.at.References().Next(0, ua.BrowseDirectionInverse, types); !above {
			if err := o.srv.space.AddReference(ua.NumericID(0, id.Server), hasNotifier, o.at.ID()); err != nil {
				refuse("it cannot become a notifier of the server", advice(err), err)
			}
		}
	}
	for _, source := range sources {
		if source.Node() == nil {
			continue // that it could not be made is reported already
		}
		reference := hasEventSource
		if givesEvents(source.Node()) {
			reference = hasNotifier
		}
		if err := o.srv.space.AddReference(o.at.ID(), reference, source.ID()); err != nil {
			refuse("a source that cannot be added", "name each source once", err)
		}
	}
}

func givesEvents(n *addrspace.Node) bool {
	return n.EventNotifier()&ua.EventNotifierTypeSubscribeToEvents != 0
}

// EventOption is an option of [EventType.Report].
type EventOption func(*events.Event)

// Severity is the urgency of an event: 1 (least) to 1000 (Part 5, 6.4.2). Default: 1.
func Severity(severity uint16) EventOption {
	return func(e *events.Event) { e.Severity = severity }
}

// OccurredAt is when an event happened. Default: the time of the report.
func OccurredAt(t time.Time) EventOption {
	return func(e *events.Event) { e.Time = ua.DateTimeOf(t) }
}
