package addrspace

import (
	"math"

	"github.com/uahive/uahive/codec/ua"
)

// attributeMask says which bit of the WriteMask allows to write an attribute
// (Part 3, 8.60). Attributes that are not listed can never be written.
var attributeMask = map[ua.AttributeID]ua.AttributeWriteMask{
	ua.AttributeIDBrowseName:              ua.AttributeWriteMaskBrowseName,
	ua.AttributeIDDisplayName:             ua.AttributeWriteMaskDisplayName,
	ua.AttributeIDDescription:             ua.AttributeWriteMaskDescription,
	ua.AttributeIDWriteMask:               ua.AttributeWriteMaskWriteMask,
	ua.AttributeIDUserWriteMask:           ua.AttributeWriteMaskUserWriteMask,
	ua.AttributeIDIsAbstract:              ua.AttributeWriteMaskIsAbstract,
	ua.AttributeIDSymmetric:               ua.AttributeWriteMaskSymmetric,
	ua.AttributeIDInverseName:             ua.AttributeWriteMaskInverseName,
	ua.AttributeIDContainsNoLoops:         ua.AttributeWriteMaskContainsNoLoops,
	ua.AttributeIDEventNotifier:           ua.AttributeWriteMaskEventNotifier,
	ua.AttributeIDValue:                   ua.AttributeWriteMaskValueForVariableType,
	ua.AttributeIDDataType:                ua.AttributeWriteMaskDataType,
	ua.AttributeIDValueRank:               ua.AttributeWriteMaskValueRank,
	ua.AttributeIDArrayDimensions:         ua.AttributeWriteMaskArrayDimensions,
	ua.AttributeIDAccessLevel:             ua.AttributeWriteMaskAccessLevel,
	ua.AttributeIDUserAccessLevel:         ua.AttributeWriteMaskUserAccessLevel,
	ua.AttributeIDMinimumSamplingInterval: ua.AttributeWriteMaskMinimumSamplingInterval,
	ua.AttributeIDHistorizing:             ua.AttributeWriteMaskHistorizing,
	ua.AttributeIDExecutable:              ua.AttributeWriteMaskExecutable,
	ua.AttributeIDUserExecutable:          ua.AttributeWriteMaskUserExecutable,
	ua.AttributeIDDataTypeDefinition:      ua.AttributeWriteMaskDataTypeDefinition,
	ua.AttributeIDRolePermissions:         ua.AttributeWriteMaskRolePermissions,
	ua.AttributeIDAccessRestrictions:      ua.AttributeWriteMaskAccessRestrictions,
	ua.AttributeIDAccessLevelEx:           ua.AttributeWriteMaskAccessLevelEx,
}

// WriteAttribute is the Write service for attributes other than the Value of a
// Variable: it asks the WriteMask and the rights of who writes, and copies what it
// keeps. An index range, a
// status or a timestamp cannot be written there (Part 4, 5.11.4.2).
func (n *Node) WriteAttribute(r *Rights, attribute ua.AttributeID, dv *ua.DataValue, rng ua.NumericRange) ua.StatusCode {
	if _, code := n.Attribute(attribute); code.IsBad() && !n.mayHave(attribute) {
		return ua.BadAttributeIDInvalid
	}
	bit, ok := attributeMask[attribute]
	a := n.rare()
	switch {
	case !ok || a.writeMask&bit == 0:
		return ua.BadNotWritable
	case r.CheckWrite(n, attribute) != ua.Good:
		return r.CheckWrite(n, attribute)
	case a.userWriteMask&bit == 0:
		return ua.BadUserAccessDenied
	case len(rng) > 0 || dv.Status != ua.Good || dv.SourceTimestamp != 0 || dv.ServerTimestamp != 0:
		return ua.BadWriteNotSupported
	}
	return n.SetAttribute(attribute, dv.Value.Clone())
}

// mayHave reports whether a node could have an optional attribute that it does
// not have yet.
func (n *Node) mayHave(attribute ua.AttributeID) bool {
	switch attribute {
	case ua.AttributeIDDescription, ua.AttributeIDRolePermissions, ua.AttributeIDAccessRestrictions:
		return true
	case ua.AttributeIDInverseName:
		return n.class == classReferenceType
	case ua.AttributeIDDataTypeDefinition:
		return n.class == classDataType
	case ua.AttributeIDValue:
		return n.class == classVariableType
	case ua.AttributeIDArrayDimensions:
		return n.class == classVariable || n.class == classVariableType
	case ua.AttributeIDMinimumSamplingInterval:
		return n.class == classVariable
	}
	return false
}

// SetAttribute changes an attribute without asking for rights, and owns the
// value. The Value of a Variable is set with [Variable.Store]. The status is
// BadTypeMismatch when the value does not fit, BadAttributeIDInvalid when the
// node's class does not have the attribute, and BadNotWritable for NodeId,
// NodeClass and the Value of a Variable.
func (n *Node) SetAttribute(attribute ua.AttributeID, value ua.Variant) ua.StatusCode {
	n.space.mu.Lock()
	status, dataTypeChanged := n.setAttribute(attribute, value)
	n.space.mu.Unlock()
	if dataTypeChanged {
		n.space.notifyModel(ModelChange{Node: n.id, Verb: DataTypeChanged})
	}
	if status.IsGood() && changesAccess(attribute) {
		n.space.notifyAccess()
	}
	return status
}

// changesAccess reports whether an attribute says who may read the node, or
// whether it can be read at all.
func changesAccess(attribute ua.AttributeID) bool {
	switch attribute {
	case ua.AttributeIDRolePermissions, ua.AttributeIDAccessRestrictions,
		ua.AttributeIDAccessLevel, ua.AttributeIDAccessLevelEx, ua.AttributeIDUserAccessLevel:
		return true
	}
	return false
}

func (n *Node) setAttribute(attribute ua.AttributeID, value ua.Variant) (status ua.StatusCode, dataTypeChanged bool) {
	switch attribute {
	case ua.AttributeIDNodeID, ua.AttributeIDNodeClass:
		return ua.BadNotWritable, false
	case ua.AttributeIDBrowseName:
		name, ok := ua.As[ua.QualifiedName](value)
		if !ok {
			return ua.BadTypeMismatch, false
		}
		s := n.space
		if name.Name == "" || len(name.Name) > s.limits.BrowseNameLength || int(name.NamespaceIndex) >= len(s.Namespaces()) {
			return ua.BadBrowseNameInvalid, false
		}
		n.rename(name)
		s.renames.Add(1)
		return ua.Good, false
	case ua.AttributeIDDisplayName:
		name, ok := ua.As[ua.LocalizedText](value)
		if !ok {
			return ua.BadTypeMismatch, false
		}
		n.setDisplayName(name)
		return ua.Good, false
	case ua.AttributeIDDescription:
		return set(n, value, func(a *attrs, v ua.LocalizedText) { a.description = v }), false
	case ua.AttributeIDWriteMask:
		return set(n, value, func(a *attrs, v uint32) { a.writeMask = ua.AttributeWriteMask(v) }), false
	case ua.AttributeIDUserWriteMask:
		return set(n, value, func(a *attrs, v uint32) { a.userWriteMask = ua.AttributeWriteMask(v) }), false
	case ua.AttributeIDAccessRestrictions:
		v, ok := ua.As[uint16](value)
		if !ok {
			return ua.BadTypeMismatch, false
		}
		return n.setAccess(func(a *attrs) { a.accessRestrictions, a.hasRestrictions = ua.AccessRestrictionType(v), true }), false
	case ua.AttributeIDRolePermissions:
		return n.setPermissions(value), false
	case ua.AttributeIDUserRolePermissions:
		return ua.BadNotWritable, false // it follows from the others (Part 3, 5.2.10)
	}
	switch n.class {
	case classVariable:
		return n.Variable().setAttribute(attribute, value)
	case classVariableType:
		return n.setVariableTypeAttribute(attribute, value)
	}
	return n.setClassAttribute(attribute, value), false
}

// set publishes one changed attribute if the value is a scalar T.
func set[T any](n *Node, value ua.Variant, change func(*attrs, T)) ua.StatusCode {
	v, ok := ua.As[T](value)
	if !ok {
		return ua.BadTypeMismatch
	}
	n.update(func(a *attrs) { change(a, v) })
	return ua.Good
}

func (n *Node) setPermissions(value ua.Variant) ua.StatusCode {
	objects, ok := ua.As[[]ua.ExtensionObject](value)
	if !ok {
		return ua.BadTypeMismatch
	}
	list := make([]ua.RolePermissionType, len(objects))
	for i := range objects {
		p, ok := objects[i].Value.(*ua.RolePermissionType)
		if !ok {
			return ua.BadTypeMismatch
		}
		list[i] = *p
	}
	return n.setAccess(func(a *attrs) { a.rolePermissions = list })
}

// setAccess publishes a change of permissions or restrictions. One that the space
// has no room for leaves everything as it was.
func (n *Node) setAccess(change func(*attrs)) ua.StatusCode {
	before := n.attrs.Load()
	n.update(change)
	err := n.resetAccess()
	if err != nil {
		n.attrs.Store(before)
		_ = n.resetAccess() // what was there before is kept
	}
	return ua.StatusOf(err)
}

func (n *Node) setClassAttribute(attribute ua.AttributeID, value ua.Variant) ua.StatusCode {
	type key struct {
		class     uint8
		attribute ua.AttributeID
	}
	switch (key{n.class, attribute}) {
	case key{classObject, ua.AttributeIDEventNotifier}, key{classView, ua.AttributeIDEventNotifier}:
		return set(n, value, func(a *attrs, v uint8) { a.eventNotifier = ua.EventNotifierType(v) })
	case key{classView, ua.AttributeIDContainsNoLoops}:
		return set(n, value, func(a *attrs, v bool) { a.containsNoLoops = v })
	case key{classMethod, ua.AttributeIDExecutable}:
		return set(n, value, func(a *attrs, v bool) { a.notExecutable = !v })
	case key{classMethod, ua.AttributeIDUserExecutable}:
		return set(n, value, func(a *attrs, v bool) { a.userNotExecutable = !v })
	case key{classObjectType, ua.AttributeIDIsAbstract}, key{classReferenceType, ua.AttributeIDIsAbstract},
		key{classDataType, ua.AttributeIDIsAbstract}:
		return set(n, value, func(a *attrs, v bool) { a.isAbstract = v })
	case key{classReferenceType, ua.AttributeIDSymmetric}:
		return set(n, value, func(a *attrs, v bool) { a.symmetric = v })
	case key{classReferenceType, ua.AttributeIDInverseName}:
		return set(n, value, func(a *attrs, v ua.LocalizedText) { a.inverseName = v })
	case key{classDataType, ua.AttributeIDDataTypeDefinition}:
		object, ok := ua.As[ua.ExtensionObject](value)
		if !ok || object.Value == nil {
			return ua.BadTypeMismatch
		}
		n.update(func(a *attrs) { a.definition, a.enum = object.Value, enumOf(object.Value) })
		return ua.Good
	}
	return ua.BadAttributeIDInvalid
}

func (n *Node) setVariableTypeAttribute(attribute ua.AttributeID, value ua.Variant) (ua.StatusCode, bool) {
	next := *n.rare().varType
	status, dataTypeChanged := ua.BadAttributeIDInvalid, false
	switch attribute {
	case ua.AttributeIDIsAbstract:
		return set(n, value, func(a *attrs, v bool) { a.isAbstract = v }), false
	case ua.AttributeIDValue:
		sh := shape{dataType: next.dataType, rank: next.valueRank, dimensions: next.dimensions}
		next.value, status = sh.check(n.space, value)
	case ua.AttributeIDDataType:
		next.dataType, status = n.space.dataTypeNode(value)
		dataTypeChanged = status.IsGood()
	case ua.AttributeIDValueRank:
		next.valueRank, status = rankOf(value)
	case ua.AttributeIDArrayDimensions:
		next.dimensions, status = dimensionsOf(value, next.valueRank)
	}
	if status.IsGood() {
		n.update(func(a *attrs) { a.varType = &next })
	}
	return status, dataTypeChanged
}

func (s *Space) dataTypeNode(value ua.Variant) (*Node, ua.StatusCode) {
	nodeID, ok := ua.As[ua.NodeID](value)
	if !ok {
		return nil, ua.BadTypeMismatch
	}
	n := s.Node(nodeID)
	if n == nil || n.class != classDataType {
		return nil, ua.BadOutOfRange
	}
	return n, ua.Good
}

func rankOf(value ua.Variant) (int32, ua.StatusCode) {
	rank, ok := ua.As[int32](value)
	if !ok {
		return 0, ua.BadTypeMismatch
	}
	if rank < -3 {
		return 0, ua.BadOutOfRange
	}
	return rank, ua.Good
}

func dimensionsOf(value ua.Variant, rank int32) ([]uint32, ua.StatusCode) {
	dims, ok := ua.As[[]uint32](value)
	if !ok && !value.IsNull() {
		return nil, ua.BadTypeMismatch
	}
	if len(dims) > 0 && int(rank) != len(dims) {
		return nil, ua.BadOutOfRange
	}
	return dims, ua.Good
}

func (v *Variable) setAttribute(attribute ua.AttributeID, value ua.Variant) (status ua.StatusCode, dataTypeChanged bool) {
	switch attribute {
	case ua.AttributeIDValue:
		return ua.BadNotWritable, false
	case ua.AttributeIDDataType:
		t, status := v.node.space.dataTypeNode(value)
		if status.IsGood() {
			v.dataType.Store(t)
		}
		return status, status.IsGood()
	case ua.AttributeIDValueRank:
		rank, status := rankOf(value)
		if status.IsGood() {
			v.rank.Store(rank)
		}
		return status, false
	case ua.AttributeIDArrayDimensions:
		dims, status := dimensionsOf(value, v.ValueRank())
		if status.IsGood() {
			v.configure(func(c *variableConfig) { c.dimensions = dims })
		}
		return status, false
	case ua.AttributeIDAccessLevel:
		level, ok := ua.As[uint8](value)
		if !ok {
			return ua.BadTypeMismatch, false
		}
		v.access.Store(v.access.Load()&^math.MaxUint8 | uint32(level))
	case ua.AttributeIDAccessLevelEx:
		level, ok := ua.As[uint32](value)
		if !ok {
			return ua.BadTypeMismatch, false
		}
		v.access.Store(level)
	case ua.AttributeIDUserAccessLevel:
		level, ok := ua.As[uint8](value)
		if !ok {
			return ua.BadTypeMismatch, false
		}
		v.configure(func(c *variableConfig) { c.userAccess, c.hasUserAccess = ua.AccessLevelType(level), true })
	case ua.AttributeIDMinimumSamplingInterval:
		ms, ok := ua.As[float64](value)
		if !ok {
			return ua.BadTypeMismatch, false
		}
		if !(ms >= 0) { // also NaN
			return ua.BadOutOfRange, false
		}
		v.configure(func(c *variableConfig) { c.minimumSampling = ms })
	case ua.AttributeIDHistorizing:
		on, ok := ua.As[bool](value)
		if !ok {
			return ua.BadTypeMismatch, false
		}
		v.configure(func(c *variableConfig) { c.historizing = on })
	default:
		return ua.BadAttributeIDInvalid, false
	}
	return ua.Good, false
}
