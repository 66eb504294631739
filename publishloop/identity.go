package publishloop

import (
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/events"
)

// Identity is what a subscription has to know of the session that it belongs to:
// on whose behalf it acts, and what it may read.
type Identity struct {
	// Session is the id of the session, for diagnostics.
	Session ua.NodeID
	// User names the user. It must not be possible to be two users of one name,
	// such as a user name and the subject of a certificate.
	User string
	// Anonymous says that there is no user.
	Anonymous bool
	// Application is the client's ApplicationUri.
	Application string
	// Secure says that the client proved to be that application.
	Secure bool
	// Access says whether the session's user may read an attribute of a node:
	// Good, or the status that is reported in place of values. It is called
	// without a lock held. Nil allows everything.
	Access func(n *addrspace.Node, attribute ua.AttributeID) ua.StatusCode
	// AccessAbsent is Access for nodes of a namespace that are not in the space, such
	// as those of a manager.
	AccessAbsent func(namespace uint16, attribute ua.AttributeID) ua.StatusCode
	// Receives says whether the session's user may see an event, for which it needs
	// the permission ReceiveEvents on the event's type and on its source (Part 3,
	// 8.55). It is called for each event, without a lock held, on a goroutine that
	// serves all listeners. Nil allows everything.
	Receives func(e *events.Event) bool
}

// receives asks Receives.
func (i *Identity) receives(e *events.Event) bool { return i.Receives == nil || i.Receives(e) }

// accessAbsent asks AccessAbsent.
func (i *Identity) accessAbsent(namespace uint16, attribute ua.AttributeID) ua.StatusCode {
	if i.AccessAbsent == nil {
		return ua.Good
	}
	return i.AccessAbsent(namespace, attribute)
}

// access asks Access.
func (i *Identity) access(n *addrspace.Node, attribute ua.AttributeID) ua.StatusCode {
	if i.Access == nil {
		return ua.Good
	}
	return i.Access(n, attribute)
}

// mayTake reports whether a session of this identity may take over a
// subscription of another. The same user may; anonymous clients are told apart
// by their application instance certificate, so that without one nobody may
// (Part 4, 5.14.7.1).
func (i *Identity) mayTake(from *Identity) bool {
	if i.Anonymous || from.Anonymous {
		return i.Anonymous && from.Anonymous && i.Secure && from.Secure && i.Application == from.Application
	}
	return i.User == from.User
}
