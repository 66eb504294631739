package addrspace

import (
	"slices"
	"sync/atomic"

	"github.com/uahive/uahive/codec/ua"
)

// Rights is what somebody may do: it has the roles of a session, and knows how
// its channel is secured. It never changes, and sessions with the same roles may
// share one. The nil Rights may do nothing with a node that asks for anything.
type Rights struct {
	space *Space
	roles []ua.NodeID
	meets ua.AccessRestrictionType
	masks atomic.Pointer[[]uint64] // by the numbers of accessSets; grows
	// Made once, see Reader.
	read       func(*Node, ua.AttributeID) ua.StatusCode
	readAbsent func(uint16, ua.AttributeID) ua.StatusCode
}

// The lower half of a mask has the permissions (Part 3, 8.55). The upper half has
// those that the roles give and the channel is in the way of.
const (
	maskWithheld   = 32
	allPermissions = uint64(ua.PermissionTypeAddNode)<<1 - 1
)

// NewRights returns the rights of these roles on a channel that meets these
// requirements: SigningRequired where it signs, EncryptionRequired as well where
// it encrypts.
func (s *Space) NewRights(roles []ua.NodeID, meets ua.AccessRestrictionType) *Rights {
	r := &Rights{space: s, roles: slices.Clone(roles), meets: meets}
	r.masks.Store(new([]uint64))
	r.read, r.readAbsent = r.CheckRead, r.checkReadAbsent
	return r
}

// Reader returns CheckRead, and the same for nodes that are not in the space, as
// functions, always the same ones, so that keeping them for ten thousand sessions
// costs no memory.
func (r *Rights) Reader() (
	read func(*Node, ua.AttributeID) ua.StatusCode, absent func(namespace uint16, attribute ua.AttributeID) ua.StatusCode,
) {
	if r == nil {
		return readNothing, readAbsentNothing
	}
	return r.read, r.readAbsent
}

var readNothing, readAbsentNothing = (*Rights)(nil).CheckRead, (*Rights)(nil).checkReadAbsent

func (r *Rights) checkReadAbsent(namespace uint16, attribute ua.AttributeID) ua.StatusCode {
	return r.CheckAbsent(namespace, ReadPermission(attribute, ua.NodeClassVariable))
}

// Roles returns the roles. They must not be changed.
func (r *Rights) Roles() []ua.NodeID {
	if r == nil {
		return nil
	}
	return r.roles
}

// Has reports whether one of these roles is among those of the rights.
func (r *Rights) Has(roles ...ua.NodeID) bool {
	return r != nil && slices.ContainsFunc(r.roles, func(role ua.NodeID) bool { return slices.Contains(roles, role) })
}

// May reports whether one permission is there for a node.
func (r *Rights) May(n *Node, permission ua.PermissionType) bool {
	number := n.accessNumber()
	return number == 0 || r.mask(number)&uint64(permission) != 0
}

// Check is May with the status to answer (Part 3, 4.9.3): BadUserAccessDenied, or
// BadSecurityModeInsufficient where the roles would do and the channel does not.
func (r *Rights) Check(n *Node, permission ua.PermissionType) ua.StatusCode {
	return r.check(n.accessNumber(), permission)
}

// CheckAbsent is Check for a node that is not in the space, such as one of a
// manager: the default of its namespace holds for it.
func (r *Rights) CheckAbsent(namespace uint16, permission ua.PermissionType) ua.StatusCode {
	if r == nil || r.space == nil {
		return ua.BadUserAccessDenied
	}
	return r.check(r.space.access.of(namespace), permission)
}

func (r *Rights) check(number uint32, permission ua.PermissionType) ua.StatusCode {
	if number == 0 {
		return ua.Good
	}
	mask := r.mask(number)
	switch {
	case mask&uint64(permission) != 0:
		return ua.Good
	case mask>>maskWithheld&uint64(permission) != 0:
		return ua.BadSecurityModeInsufficient
	}
	return ua.BadUserAccessDenied
}

// CheckRead is Check for reading an attribute.
func (r *Rights) CheckRead(n *Node, attribute ua.AttributeID) ua.StatusCode {
	number := n.accessNumber()
	if number == 0 {
		return ua.Good
	}
	return r.check(number, ReadPermission(attribute, n.Class()))
}

// CheckWrite is Check for writing an attribute.
func (r *Rights) CheckWrite(n *Node, attribute ua.AttributeID) ua.StatusCode {
	number := n.accessNumber()
	if number == 0 {
		return ua.Good
	}
	return r.check(number, WritePermission(attribute, n.Class()))
}

// ReadPermission returns the permission that reading an attribute takes (Part 3,
// 8.55). The permission to read values is one of Variables only; that of a
// VariableType is an attribute like any other.
func ReadPermission(attribute ua.AttributeID, class ua.NodeClass) ua.PermissionType {
	switch {
	case attribute == ua.AttributeIDValue && class == ua.NodeClassVariable:
		return ua.PermissionTypeRead
	case attribute == ua.AttributeIDRolePermissions:
		return ua.PermissionTypeReadRolePermissions
	}
	return ua.PermissionTypeBrowse
}

// WritePermission returns the permission that writing an attribute takes.
func WritePermission(attribute ua.AttributeID, class ua.NodeClass) ua.PermissionType {
	switch {
	case attribute == ua.AttributeIDValue && class == ua.NodeClassVariable:
		return ua.PermissionTypeWrite
	case attribute == ua.AttributeIDRolePermissions:
		return ua.PermissionTypeWriteRolePermissions
	case attribute == ua.AttributeIDHistorizing:
		return ua.PermissionTypeWriteHistorizing
	}
	return ua.PermissionTypeWriteAttribute
}

// mask returns what is allowed with nodes of a number.
func (r *Rights) mask(number uint32) uint64 {
	if r == nil {
		return 0
	}
	if masks := *r.masks.Load(); number < uint32(len(masks)) {
		return masks[number]
	}
	return r.learn(number)
}

// learn works out the masks of all sets that there are. Whoever needs a new one
// makes them; two who do it at once find the same.
func (r *Rights) learn(number uint32) uint64 {
	sets := *r.space.access.list.Load()
	masks := make([]uint64, len(sets))
	for i := range sets {
		masks[i] = r.of(&sets[i])
	}
	r.masks.Store(&masks)
	if number < uint32(len(masks)) {
		return masks[number]
	}
	return 0 // accessNobody
}

// of works out what is allowed by one set. Permissions of several roles add up
// (Part 3, 4.9.3).
func (r *Rights) of(a *Access) uint64 {
	mask := allPermissions
	if a.Permissions != nil {
		mask = 0
		for i := range a.Permissions {
			if slices.Contains(r.roles, a.Permissions[i].RoleID) {
				mask |= uint64(a.Permissions[i].Permissions) & allPermissions
			}
		}
	}
	// Who comes without a session cannot read this: SessionRequired is met by
	// every session (Part 3, 8.56).
	const demands = ua.AccessRestrictionTypeSigningRequired | ua.AccessRestrictionTypeEncryptionRequired
	if a.Restrictions&demands&^r.meets == 0 {
		return mask
	}
	kept := mask & uint64(ua.PermissionTypeBrowse)
	if a.Restrictions&ua.AccessRestrictionTypeApplyRestrictionsToBrowse != 0 {
		kept = 0
	}
	return kept | (mask&^kept)<<maskWithheld
}

// AttributeFor is [Node.Attribute] as a user sees it: the attributes that begin
// with User are those of the rights. It does not ask whether the attribute may be
// read, see CheckRead.
func (n *Node) AttributeFor(r *Rights, attribute ua.AttributeID) (ua.Variant, ua.StatusCode) {
	number := n.accessNumber()
	if number == 0 {
		return n.Attribute(attribute)
	}
	switch attribute {
	case ua.AttributeIDUserRolePermissions:
		return n.userRolePermissions(r)
	case ua.AttributeIDUserWriteMask:
		a := n.rare()
		return ua.UInt32Variant(uint32(a.writeMask & a.userWriteMask & writable(r.mask(number)))), ua.Good
	case ua.AttributeIDUserAccessLevel:
		if v := n.Variable(); v != nil {
			return ua.VariantOf(uint8(v.UserAccessLevel() & accessible(r.mask(number)))), ua.Good
		}
	case ua.AttributeIDUserExecutable:
		if n.class == classMethod {
			return ua.BooleanVariant(n.UserExecutable() && r.mask(number)&uint64(ua.PermissionTypeCall) != 0), ua.Good
		}
	}
	return n.Attribute(attribute)
}

// userRolePermissions returns the permissions of the node's own RolePermissions
// that belong to the roles of the rights (Part 3, 5.2.10).
func (n *Node) userRolePermissions(r *Rights) (ua.Variant, ua.StatusCode) {
	all := n.rare().rolePermissions
	if all == nil {
		return ua.Variant{}, ua.BadAttributeIDInvalid
	}
	return permissions(r.Filter(all))
}

// Filter returns those of the permissions that belong to the roles of the rights;
// never nil.
func (r *Rights) Filter(all []ua.RolePermissionType) []ua.RolePermissionType {
	own := make([]ua.RolePermissionType, 0, len(all))
	for i := range all {
		if r.Has(all[i].RoleID) {
			own = append(own, all[i])
		}
	}
	return own
}

// writable returns the attributes that a mask of permissions allows to write.
func writable(mask uint64) ua.AttributeWriteMask {
	const special = ua.AttributeWriteMaskHistorizing | ua.AttributeWriteMaskRolePermissions
	var bits ua.AttributeWriteMask
	if mask&uint64(ua.PermissionTypeWriteAttribute) != 0 {
		bits |= ^special
	}
	if mask&uint64(ua.PermissionTypeWriteHistorizing) != 0 {
		bits |= ua.AttributeWriteMaskHistorizing
	}
	if mask&uint64(ua.PermissionTypeWriteRolePermissions) != 0 {
		bits |= ua.AttributeWriteMaskRolePermissions
	}
	return bits
}

// accessible returns the bits of an access level that a mask of permissions
// leaves.
func accessible(mask uint64) ua.AccessLevelType {
	const changes = ua.PermissionTypeInsertHistory | ua.PermissionTypeModifyHistory | ua.PermissionTypeDeleteHistory
	bits := ^ua.AccessLevelType(0)
	for _, b := range [...]struct {
		permission ua.PermissionType
		level      ua.AccessLevelType
	}{
		{ua.PermissionTypeRead, ua.AccessLevelTypeCurrentRead},
		{ua.PermissionTypeWrite, ua.AccessLevelTypeCurrentWrite},
		{ua.PermissionTypeReadHistory, ua.AccessLevelTypeHistoryRead},
		{changes, ua.AccessLevelTypeHistoryWrite},
	} {
		if mask&uint64(b.permission) == 0 {
			bits &^= b.level
		}
	}
	return bits
}
