package events

import (
	"crypto/rand"
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// Event is one occurrence of a BaseEventType or of a subtype (Part 5, 6.4.2). It is
// made, filled in and reported, and neither it nor what it refers to is changed
// after that: all who listen share it.
type Event struct {
	// ID is the EventId, by which the event is told from all others. When it is
	// empty, Complete makes one.
	ID []byte
	// Type is the EventType. Null stands for BaseEventType.
	Type ua.NodeID
	// SourceNode is the node that the event is about; null when there is none. It
	// also decides which notifiers the event passes (Part 3, 5.5.1).
	SourceNode ua.NodeID
	// SourceName describes the source, as a rule with its DisplayName.
	SourceName string
	// Time is when the event happened. 0 stands for the time of the report.
	Time ua.DateTime
	// ReceiveTime is when the server got to know of it. 0 stands for the time of
	// the report.
	ReceiveTime ua.DateTime
	// Message describes the event for people.
	Message ua.LocalizedText
	// Severity is its urgency, 1 to 1000 (Part 5, 6.4.2). 0 stands for 1; what is
	// above 1000 counts as 1000.
	Severity uint16
	// Fields are the values of all other properties of the type, in any order.
	// There are few of them, so that they are looked for one after the other.
	Fields []Field

	size int // see Size
}

// Field is the value of a property or component that the type of an event has
// beyond those of BaseEventType.
type Field struct {
	// Path leads to the property, from the type: nearly always one name. The empty
	// path is the NodeId of the node that the event is an instance of, where there
	// is one.
	Path  []ua.QualifiedName
	Value ua.Variant
}

// FieldOf returns a field of namespace 0, which those of the standard's types are.
func FieldOf(name string, value ua.Variant) Field {
	return Field{[]ua.QualifiedName{{Name: name}}, value}
}

var baseEventType = ua.NumericID(0, id.BaseEventType)

// Complete gives everything that was left out its default. Reporting does that; a
// program that wants to know the ID of its event calls it before.
func (e *Event) Complete(now ua.DateTime) {
	if len(e.ID) == 0 {
		e.ID = newID()
	}
	if e.Type.IsNull() {
		e.Type = baseEventType
	}
	if e.Time == 0 {
		e.Time = now
	}
	if e.ReceiveTime == 0 {
		e.ReceiveTime = now
	}
	e.Severity = min(max(e.Severity, 1), 1000)
	e.size = e.measure()
}

// lastID counts the events of this process, and idPrefix tells it from others.
var (
	lastID   atomic.Uint64
	idPrefix = func() (prefix [8]byte) {
		rand.Read(prefix[:])
		return prefix
	}()
)

// newID returns an id that no other event has.
func newID() []byte {
	return binary.BigEndian.AppendUint64(slices.Clone(idPrefix[:]), lastID.Add(1))
}

// Size is about the memory that a completed event holds.
func (e *Event) Size() int { return e.size }

// eachField is what a field holds beside its value, roughly.
const eachField = 128

func (e *Event) measure() int {
	size := 256 + len(e.ID) + len(e.SourceName) + len(e.Message.Text) + len(e.Message.Locale)
	for i := range e.Fields {
		size += eachField + valueSize(&e.Fields[i].Value)
	}
	return size
}

// valueSize is about the memory of a value, and the length of its encoding at least.
func valueSize(v *ua.Variant) int {
	var space [256]byte
	return len(v.AppendTo(space[:0]))
}

// Value returns the value at a path of browse names; null where the event has none.
func (e *Event) Value(path []ua.QualifiedName) ua.Variant {
	if len(path) == 1 && path[0].NamespaceIndex == 0 {
		if f := baseFieldOf(path[0].Name); f != noBaseField {
			return e.base(f)
		}
	}
	return e.field(path)
}

// field looks for a value among Fields.
func (e *Event) field(path []ua.QualifiedName) ua.Variant {
	for i := range e.Fields {
		if slices.Equal(e.Fields[i].Path, path) {
			return e.Fields[i].Value
		}
	}
	return ua.Variant{}
}

// baseField names a field of BaseEventType.
type baseField uint8

const (
	noBaseField baseField = iota
	fieldEventID
	fieldEventType
	fieldSourceNode
	fieldSourceName
	fieldTime
	fieldReceiveTime
	fieldMessage
	fieldSeverity
)

func baseFieldOf(name string) baseField {
	switch name {
	case "EventId":
		return fieldEventID
	case "EventType":
		return fieldEventType
	case "SourceNode":
		return fieldSourceNode
	case "SourceName":
		return fieldSourceName
	case "Time":
		return fieldTime
	case "ReceiveTime":
		return fieldReceiveTime
	case "Message":
		return fieldMessage
	case "Severity":
		return fieldSeverity
	}
	return noBaseField
}

func (e *Event) base(f baseField) ua.Variant {
	switch f {
	case fieldEventID:
		return ua.VariantOf(e.ID)
	case fieldEventType:
		return ua.VariantOf(e.Type)
	case fieldSourceNode:
		return ua.VariantOf(e.SourceNode)
	case fieldSourceName:
		return ua.StringVariant(e.SourceName)
	case fieldTime:
		return ua.DateTimeVariant(e.Time)
	case fieldReceiveTime:
		return ua.DateTimeVariant(e.ReceiveTime)
	case fieldMessage:
		return ua.VariantOf(e.Message)
	case fieldSeverity:
		return ua.VariantOf(e.Severity)
	}
	return ua.Variant{}
}
