package publishloop

import (
	"math"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

var (
	hasProperty = ua.NumericID(0, id.HasProperty)
	numberType  = ua.NumericID(0, id.Number)
)

// target is what an item to create monitors, found and checked.
type target struct {
	node      *addrspace.Node // nil when a manager answers for the node
	nodeID    ua.NodeID
	attribute ua.AttributeID
	indexes   ua.NumericRange
	source    source
	mute      ua.StatusCode // reported in place of values when it is Bad
}

// target finds and checks what a request wants to monitor. No lock is held.
func (m *Manager) target(who *Identity, r *ua.ReadValueID) (target, ua.StatusCode) {
	t := target{attribute: r.AttributeID}
	if r.AttributeID < ua.AttributeIDNodeID || r.AttributeID > ua.AttributeIDAccessLevelEx {
		return t, ua.BadAttributeIDInvalid
	}
	if r.NodeID.IsNull() {
		return t, ua.BadNodeIDInvalid
	}
	if t.node = m.space.Node(r.NodeID); t.node == nil {
		switch m.space.Manager(r.NodeID.Namespace()).(type) {
		case addrspace.Reader, addrspace.Sampler, addrspace.Subscriber:
		default:
			return t, ua.BadNodeIDUnknown
		}
		t.nodeID = r.NodeID.Clone()
	} else {
		t.nodeID = t.node.ID()
		if code := hasAttribute(t.node, r.AttributeID); code != ua.Good {
			return t, code
		}
	}
	if code := dataEncoding(t.node, r); code != ua.Good {
		return t, code
	}
	if r.IndexRange != "" {
		var code ua.StatusCode
		if t.indexes, code = ua.ParseNumericRange(r.IndexRange); code != ua.Good {
			return t, code
		}
		if t.node != nil && !mayHaveRange(t.node, r.AttributeID, t.indexes) {
			return t, ua.BadIndexRangeNoData
		}
	}
	if r.AttributeID == ua.AttributeIDEventNotifier {
		// A node that gives no events has none to monitor, and the nodes of a manager
		// are in no hierarchy of notifiers.
		if t.node == nil || t.node.EventNotifier()&ua.EventNotifierTypeSubscribeToEvents == 0 {
			return t, ua.BadNotSupported
		}
		t.source = notifier{m}
	} else {
		t.source = m.sourceOf(t.node, t.nodeID, r.AttributeID)
	}
	t.mute = readable(who, t.node, t.nodeID, r.AttributeID)
	return t, ua.Good
}

// hasAttribute reports whether the node has the attribute. An optional one that
// is not there is not monitored either.
func hasAttribute(n *addrspace.Node, attribute ua.AttributeID) ua.StatusCode {
	if attribute == ua.AttributeIDValue && n.Variable() != nil {
		return ua.Good
	}
	_, code := n.Attribute(attribute)
	return code
}

// dataEncoding checks the DataEncoding parameter (Part 4, 7.29): it may be given
// for values that are structures, and only binary is offered.
func dataEncoding(n *addrspace.Node, r *ua.ReadValueID) ua.StatusCode {
	switch {
	case r.DataEncoding == (ua.QualifiedName{}):
		return ua.Good
	case r.AttributeID != ua.AttributeIDValue:
		return ua.BadDataEncodingInvalid
	case r.DataEncoding == ua.QualifiedName{Name: "Default Binary"}:
		if n != nil && n.Variable() != nil {
			switch n.Space().DataTypeKind(n.Variable().DataType()) {
			case ua.TypeExtensionObject, ua.TypeVariant, ua.TypeNull:
			default:
				return ua.BadDataEncodingInvalid
			}
		}
		return ua.Good
	case r.DataEncoding.NamespaceIndex == 0 && (r.DataEncoding.Name == "Default XML" || r.DataEncoding.Name == "Default JSON"):
		return ua.BadDataEncodingUnsupported
	}
	return ua.BadDataEncodingInvalid
}

// mayHaveRange reports whether an index range can ever deliver data. Where the
// length of an array may change, an item waits for data (Part 4, 5.13.2.4).
func mayHaveRange(n *addrspace.Node, attribute ua.AttributeID, indexes ua.NumericRange) bool {
	v := n.Variable()
	if attribute != ua.AttributeIDValue || v == nil {
		value, _ := n.Attribute(attribute)
		return value.IsArray()
	}
	rank := v.ValueRank()
	if rank == -1 {
		switch n.Space().DataTypeKind(v.DataType()) {
		case ua.TypeString, ua.TypeByteString, ua.TypeXMLElement:
			return len(indexes) == 1
		case ua.TypeVariant, ua.TypeNull:
			return true
		}
		return false
	}
	if rank > 0 && len(indexes) < int(rank) {
		return false
	}
	for i, size := range v.Dimensions() {
		if i < len(indexes) && size > 0 && int64(indexes[i].Low) >= int64(size) {
			return false
		}
	}
	return true
}

// readable says what is reported in place of values that the user may not see:
// creating such an item succeeds (Part 4, 5.13.2.1).
func readable(who *Identity, n *addrspace.Node, id ua.NodeID, attribute ua.AttributeID) ua.StatusCode {
	if n == nil {
		return who.accessAbsent(id.Namespace(), attribute)
	}
	if attribute == ua.AttributeIDValue && n.Variable() != nil {
		if n.Variable().AccessLevel()&ua.AccessLevelTypeCurrentRead == 0 {
			return ua.BadNotReadable
		}
		if n.Variable().UserAccessLevel()&ua.AccessLevelTypeCurrentRead == 0 {
			return ua.BadUserAccessDenied
		}
	}
	return who.access(n, attribute)
}

// filterOf checks the filter of an item (Part 4, 7.22.2, and Part 8, 7.2). A
// null filter is the default one.
func (m *Manager) filterOf(n *addrspace.Node, attribute ua.AttributeID, o *ua.ExtensionObject) (f filter, code ua.StatusCode) {
	switch v := o.Value.(type) {
	case nil:
		if o.TypeID.IsNull() && o.Raw == nil {
			return f, ua.Good
		}
		return f, ua.BadMonitoredItemFilterInvalid // not a filter at all
	case *ua.DataChangeFilter:
		if attribute != ua.AttributeIDValue {
			return f, ua.BadFilterNotAllowed
		}
		return m.dataChangeFilter(n, v)
	case *ua.AggregateFilter:
		return f, ua.BadMonitoredItemFilterUnsupported
	case *ua.EventFilter:
		return f, ua.BadFilterNotAllowed
	}
	return f, ua.BadMonitoredItemFilterInvalid
}

func (m *Manager) dataChangeFilter(n *addrspace.Node, in *ua.DataChangeFilter) (f filter, code ua.StatusCode) {
	switch in.Trigger {
	case ua.DataChangeTriggerStatus:
		f.trigger = statusOnly
	case ua.DataChangeTriggerStatusValue:
	case ua.DataChangeTriggerStatusValueTimestamp:
		f.trigger = statusValueTimestamp
	default:
		return f, ua.BadMonitoredItemFilterInvalid
	}
	kind := ua.DeadbandType(in.DeadbandType)
	if in.DeadbandType > uint32(ua.DeadbandTypePercent) {
		return f, ua.BadMonitoredItemFilterInvalid
	}
	if kind == ua.DeadbandTypeNone {
		return f, ua.Good
	}
	if n != nil && n.Variable() != nil && !m.space.IsSubtypeOf(n.Variable().DataType(), numberType) {
		return f, ua.BadFilterNotAllowed // a deadband needs numbers
	}
	if !(in.DeadbandValue >= 0) || math.IsInf(in.DeadbandValue, 0) {
		return f, ua.BadDeadbandFilterInvalid
	}
	f.deadband = true
	if kind == ua.DeadbandTypeAbsolute {
		f.limit = in.DeadbandValue
		return f, ua.Good
	}
	if in.DeadbandValue > 100 || n == nil || n.Variable() == nil {
		return f, ua.BadDeadbandFilterInvalid
	}
	limits, ok := n.Variable().EURange()
	if !ok {
		return f, ua.BadDeadbandFilterInvalid // no EURange is configured
	}
	f.relative, f.percent = true, in.DeadbandValue
	f.setRange(limits)
	return f, ua.Good
}
