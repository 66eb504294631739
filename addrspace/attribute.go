package addrspace

import (
	"github.com/uahive/uahive/codec/ua"
)

// Attribute returns the value of an attribute. For the Value of a Variable it
// is the stored value; services read that through [Variable.Load] together with
// its status and timestamp. BadAttributeIDInvalid says that the node does not
// have the attribute (Part 4, 5.11.2.4), or only for somebody: UserRolePermissions
// are those of a user, see [Node.AttributeFor].
func (n *Node) Attribute(attribute ua.AttributeID) (ua.Variant, ua.StatusCode) {
	switch attribute {
	case ua.AttributeIDNodeID:
		return ua.VariantOf(n.id), ua.Good
	case ua.AttributeIDNodeClass:
		return ua.Int32Variant(int32(n.class)), ua.Good
	case ua.AttributeIDBrowseName:
		return ua.VariantOf(n.BrowseName()), ua.Good
	case ua.AttributeIDDisplayName:
		return ua.VariantOf(n.DisplayName()), ua.Good
	}
	a := n.rare()
	switch attribute {
	case ua.AttributeIDDescription:
		if a.description != (ua.LocalizedText{}) {
			return ua.VariantOf(a.description), ua.Good
		}
		return ua.Variant{}, ua.BadAttributeIDInvalid
	case ua.AttributeIDWriteMask:
		return ua.UInt32Variant(uint32(a.writeMask)), ua.Good
	case ua.AttributeIDUserWriteMask:
		return ua.UInt32Variant(uint32(a.userWriteMask & a.writeMask)), ua.Good
	case ua.AttributeIDRolePermissions:
		return permissions(a.rolePermissions)
	case ua.AttributeIDAccessRestrictions:
		if a.hasRestrictions {
			return ua.VariantOf(uint16(a.accessRestrictions)), ua.Good
		}
		return ua.Variant{}, ua.BadAttributeIDInvalid
	}
	switch n.class {
	case classVariable:
		return n.Variable().attribute(attribute)
	case classObject:
		if attribute == ua.AttributeIDEventNotifier {
			return ua.VariantOf(uint8(a.eventNotifier)), ua.Good
		}
	case classView:
		switch attribute {
		case ua.AttributeIDEventNotifier:
			return ua.VariantOf(uint8(a.eventNotifier)), ua.Good
		case ua.AttributeIDContainsNoLoops:
			return ua.BooleanVariant(a.containsNoLoops), ua.Good
		}
	case classMethod:
		switch attribute {
		case ua.AttributeIDExecutable:
			return ua.BooleanVariant(n.Executable()), ua.Good
		case ua.AttributeIDUserExecutable:
			return ua.BooleanVariant(n.UserExecutable()), ua.Good
		}
	default:
		return n.typeAttribute(a, attribute)
	}
	return ua.Variant{}, ua.BadAttributeIDInvalid
}

func permissions(p []ua.RolePermissionType) (ua.Variant, ua.StatusCode) {
	if p == nil {
		return ua.Variant{}, ua.BadAttributeIDInvalid
	}
	objects := make([]ua.ExtensionObject, len(p))
	for i := range p {
		objects[i] = ua.ObjectOf(&p[i])
	}
	return ua.SliceVariant(objects), ua.Good
}

// typeAttribute returns the attributes of type nodes.
func (n *Node) typeAttribute(a *attrs, attribute ua.AttributeID) (ua.Variant, ua.StatusCode) {
	if attribute == ua.AttributeIDIsAbstract {
		return ua.BooleanVariant(a.isAbstract), ua.Good
	}
	switch n.class {
	case classReferenceType:
		switch {
		case attribute == ua.AttributeIDSymmetric:
			return ua.BooleanVariant(a.symmetric), ua.Good
		case attribute == ua.AttributeIDInverseName && a.inverseName != (ua.LocalizedText{}):
			return ua.VariantOf(a.inverseName), ua.Good
		}
	case classDataType:
		if attribute == ua.AttributeIDDataTypeDefinition && a.definition != nil {
			return ua.VariantOf(ua.ObjectOf(a.definition)), ua.Good
		}
	case classVariableType:
		switch attribute {
		case ua.AttributeIDValue:
			if !a.varType.value.IsNull() {
				return a.varType.value, ua.Good
			}
		case ua.AttributeIDDataType:
			return ua.VariantOf(a.varType.dataType.id), ua.Good
		case ua.AttributeIDValueRank:
			return ua.Int32Variant(a.varType.valueRank), ua.Good
		case ua.AttributeIDArrayDimensions:
			return dimensions(a.varType.valueRank, a.varType.dimensions)
		}
	}
	return ua.Variant{}, ua.BadAttributeIDInvalid
}

// attribute returns the attributes of variables.
func (v *Variable) attribute(attribute ua.AttributeID) (ua.Variant, ua.StatusCode) {
	switch attribute {
	case ua.AttributeIDValue:
		return v.Load().Value, ua.Good
	case ua.AttributeIDDataType:
		return ua.VariantOf(v.DataType()), ua.Good
	case ua.AttributeIDValueRank:
		return ua.Int32Variant(v.ValueRank()), ua.Good
	case ua.AttributeIDArrayDimensions:
		return dimensions(v.ValueRank(), v.Dimensions())
	case ua.AttributeIDAccessLevel:
		return ua.VariantOf(uint8(v.AccessLevel())), ua.Good
	case ua.AttributeIDUserAccessLevel:
		return ua.VariantOf(uint8(v.UserAccessLevel())), ua.Good
	case ua.AttributeIDAccessLevelEx:
		return ua.UInt32Variant(uint32(v.AccessLevelEx())), ua.Good
	case ua.AttributeIDHistorizing:
		return ua.BooleanVariant(v.Historizing()), ua.Good
	case ua.AttributeIDMinimumSamplingInterval:
		if ms, ok := v.MinimumSamplingInterval(); ok {
			return ua.DoubleVariant(ms), ua.Good
		}
	}
	return ua.Variant{}, ua.BadAttributeIDInvalid
}

// dimensions returns the ArrayDimensions attribute, which has one number for
// each dimension of a fixed rank and is not present otherwise; 0 means that the
// length is not limited (Part 3, 5.6.2).
func dimensions(rank int32, dims []uint32) (ua.Variant, ua.StatusCode) {
	if len(dims) == 0 {
		if rank <= 0 {
			return ua.Variant{}, ua.BadAttributeIDInvalid
		}
		dims = make([]uint32, rank)
	}
	return ua.SliceVariant(dims), ua.Good
}
