package sessionactor

import (
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

var auditEventType = ua.NumericID(0, id.AuditEventType)

// receiver returns what decides whether the session's user may see an event: it needs
// the permission ReceiveEvents on the event's type and on its source (Part 3, 8.55). Of
// the types of the audit trail the standard gives that to SecurityAdmin alone; what the
// trail says of other users also goes only where nobody else can read it.
func (s *Session) receiver() func(e *events.Event) bool {
	bound, space := s.bound.Load(), s.service.config.Space
	return func(e *events.Event) bool {
		if bound == nil {
			return false
		}
		typ, source := space.Node(e.Type), space.Node(e.SourceNode)
		if typ != nil && !bound.rights.May(typ, ua.PermissionTypeReceiveEvents) ||
			source != nil && !bound.rights.May(source, ua.PermissionTypeReceiveEvents) {
			return false
		}
		return bound.channel.Mode() == ua.MessageSecurityModeSignAndEncrypt || !isAudit(typ)
	}
}

// isAudit reports whether events of a type belong to the audit trail.
func isAudit(typ *addrspace.Node) bool {
	for ; typ != nil; typ = typ.Supertype() {
		if typ.ID() == auditEventType {
			return true
		}
	}
	return false
}
