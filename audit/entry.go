package audit

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

// Entry is one entry of the audit trail: an action of a client, or the refusal of one.
// It is immutable once it is recorded.
type Entry struct {
	// Type is the EventType in namespace 0, such as AuditCreateSessionEventType of
	// package id.
	Type uint32
	// EventID is the EventId of the event that clients get, which also names the entry.
	EventID []byte
	// Source is the node that the action was about; null stands for the Server object.
	Source ua.NodeID
	// SourceName names the service, as "Session/CreateSession".
	SourceName string
	// Time is when the client's request was begun to be served: the ActionTimeStamp.
	Time time.Time
	// Result is the status of the action, as exactly as the server knows it. Clients
	// may have been told less.
	Result ua.StatusCode
	// ServerID is the server's ApplicationUri.
	ServerID string
	// ClientEntryID is what the client calls its own entry about this action: the
	// auditEntryId of its request, which it can choose freely. It is cut at 512 bytes.
	ClientEntryID string
	// ClientUserID is the user for whom the client acted, as far as it is known;
	// empty for Anonymous. In a refused login it is the name that was claimed.
	ClientUserID string
	// ClientApplicationURI names the client's application, where it is known.
	ClientApplicationURI string
	// Peer is the address of the client with its port, and Host the same without it.
	// Clients who listen are not told.
	Peer, Host string
	// Fields are the values that the type has beyond those above, in any order.
	Fields []events.Field

	size int
}

// Size is about the memory that a recorded entry holds.
func (e *Entry) Size() int { return e.size }

// Failed reports whether the action was refused or failed.
func (e *Entry) Failed() bool { return e.Result.IsBad() }

// Value returns a field that the type has beyond those of Entry, such as "SessionId"
// or "NewValue"; null where there is none of the name.
func (e *Entry) Value(name string) ua.Variant {
	for i := range e.Fields {
		if p := e.Fields[i].Path; len(p) == 1 && p[0].NamespaceIndex == 0 && p[0].Name == name {
			return e.Fields[i].Value
		}
	}
	return ua.Variant{}
}

// TypeName returns the BrowseName of the EventType.
func (e *Entry) TypeName() string { return typeNames[e.Type] }

// security reports whether the entry concerns who may do what: all but writes and the
// calls of methods that the standard has nothing special for.
func (e *Entry) security() bool {
	return e.Type != id.AuditWriteUpdateEventType && e.Type != id.AuditUpdateMethodEventType
}

// The severities of entries (Part 5, 6.4.2 has 1 to 1000 and leaves them to the server).
const (
	severityDone   = 100
	severityFailed = 600
)

var serverObject = ua.NumericID(0, id.Server)

// event makes the event that clients get.
func (e *Entry) event(now time.Time) *events.Event {
	source := e.Source
	if source.IsNull() {
		source = serverObject
	}
	severity := uint16(severityDone)
	if e.Failed() {
		severity = severityFailed
	}
	fields := make([]events.Field, 0, len(e.Fields)+7)
	fields = append(fields,
		events.FieldOf("ActionTimeStamp", ua.DateTimeVariant(ua.DateTimeOf(e.Time))),
		events.FieldOf("Status", ua.BooleanVariant(!e.Failed())),
		events.FieldOf("ServerId", ua.StringVariant(e.ServerID)),
		events.FieldOf("ClientAuditEntryId", ua.StringVariant(e.ClientEntryID)),
		events.FieldOf("ClientUserId", ua.StringVariant(e.ClientUserID)),
		events.FieldOf("ClientApplicationUri", ua.StringVariant(e.ClientApplicationURI)),
	)
	// Events about writes have no StatusCodeId (Part 5, 6.4.25); all others here do.
	if e.Type != id.AuditWriteUpdateEventType {
		fields = append(fields, events.FieldOf("StatusCodeId", ua.VariantOf(e.Result)))
	}
	event := &events.Event{
		Type: ua.NumericID(0, e.Type), SourceNode: source, SourceName: e.SourceName, Severity: severity,
		Message: ua.LocalizedText{Text: e.SourceName + ": " + e.Result.String()},
		Fields:  append(fields, e.Fields...),
	}
	event.Complete(ua.DateTimeOf(now))
	return event
}

// maxText is the length in bytes of what an entry keeps of a text that a client has
// chosen. It stops an auditEntryId of a megabyte from becoming many of them.
const maxText = 512

// cut shortens a text of a client and copies it, since requests are decoded in
// memory that is used again.
func cut(text string) string {
	if len(text) > maxText {
		end := maxText
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return strings.Clone(text)
}

// maxCertificate is the size in bytes up to which an entry keeps a certificate as it
// was sent. What is larger is no certificate that anybody uses.
const maxCertificate = 16 << 10

// certificateOf returns a field for a certificate; null without one.
func certificateOf(name string, der []byte) events.Field {
	if len(der) == 0 || len(der) > maxCertificate {
		return events.FieldOf(name, ua.Variant{})
	}
	return events.FieldOf(name, ua.VariantOf(der))
}

// maxValue is the size in bytes, as it is encoded, up to which an entry shows a
// value. A larger one is null in the entry: each listener would be sent all of it.
const maxValue = 64 << 10

// shown returns a value as an entry shows it. Nothing of it refers to the memory of
// a request.
func shown(v ua.Variant) ua.Variant {
	// A large array of numbers is not encoded just to see how large it is.
	if v.IsNull() || len(v.Memory()) > maxValue || len(v.AppendTo(nil)) > maxValue {
		return ua.Variant{}
	}
	return v.Clone()
}
