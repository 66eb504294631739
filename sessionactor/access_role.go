package sessionactor

import (
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// Role is a function that users have, such as Operator (Part 3, 4.9). Permissions
// are given to roles, and roles to users. Roles with the same id are the same; the
// zero Role is none.
type Role struct {
	nodeID ua.NodeID
	name   string
}

// NewRole returns the role with that id, the NodeId of its object below the
// standard's RoleSet. The name is for people.
func NewRole(nodeID ua.NodeID, name string) Role { return Role{nodeID, name} }

// ID returns the NodeId of the role, which User.Roles and RolePermissions name it
// by.
func (r Role) ID() ua.NodeID { return r.nodeID }

// String returns the name of the role, and its id where it has none.
func (r Role) String() string {
	if r.name == "" {
		return r.nodeID.String()
	}
	return r.name
}

// Can gives permissions to the role: Operator.Can(Browse | Read | Write).
func (r Role) Can(p ua.PermissionType) ua.RolePermissionType {
	return ua.RolePermissionType{RoleID: r.nodeID, Permissions: p}
}

func wellKnown(nodeID uint32, name string) Role { return Role{ua.NumericID(0, nodeID), name} }

// The roles of the standard (Part 3, 4.9.2). The first three follow from how a
// session was made and cannot be given otherwise.
var (
	RoleAnonymous          = wellKnown(id.WellKnownRole_Anonymous, "Anonymous")
	RoleAuthenticatedUser  = wellKnown(id.WellKnownRole_AuthenticatedUser, "AuthenticatedUser")
	RoleTrustedApplication = wellKnown(id.WellKnownRole_TrustedApplication, "TrustedApplication")

	RoleObserver       = wellKnown(id.WellKnownRole_Observer, "Observer")
	RoleOperator       = wellKnown(id.WellKnownRole_Operator, "Operator")
	RoleEngineer       = wellKnown(id.WellKnownRole_Engineer, "Engineer")
	RoleSupervisor     = wellKnown(id.WellKnownRole_Supervisor, "Supervisor")
	RoleConfigureAdmin = wellKnown(id.WellKnownRole_ConfigureAdmin, "ConfigureAdmin")
	RoleSecurityAdmin  = wellKnown(id.WellKnownRole_SecurityAdmin, "SecurityAdmin")

	roleKeyServerAdmin  = wellKnown(id.WellKnownRole_SecurityKeyServerAdmin, "SecurityKeyServerAdmin")
	roleKeyServerPush   = wellKnown(id.WellKnownRole_SecurityKeyServerPush, "SecurityKeyServerPush")
	roleKeyServerAccess = wellKnown(id.WellKnownRole_SecurityKeyServerAccess, "SecurityKeyServerAccess")
)

// standardRoles are those that rules can give, in the order of the standard.
var standardRoles = []Role{
	RoleObserver, RoleOperator, RoleEngineer, RoleSupervisor, RoleConfigureAdmin, RoleSecurityAdmin,
	roleKeyServerAdmin, roleKeyServerPush, roleKeyServerAccess,
}

// fixedRoles are those that no rule can give (Part 18, 4.3).
var fixedRoles = []Role{RoleAnonymous, RoleAuthenticatedUser, RoleTrustedApplication}

// administers says of a role that it may change what others may do, so that not
// just anybody can have it.
func administers(role ua.NodeID) bool {
	switch role {
	case RoleConfigureAdmin.nodeID, RoleSecurityAdmin.nodeID, roleKeyServerAdmin.nodeID, roleKeyServerPush.nodeID,
		roleKeyServerAccess.nodeID:
		return true
	}
	return false
}
