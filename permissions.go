package uahive

import (
	"fmt"
	"slices"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// Permission is a set of things that a role may do with a node (Part 3, 8.55).
type Permission = ua.PermissionType

// The permissions. They can be joined: Read | Write.
const (
	// Browse shows the node, and all of its attributes but the value of a variable
	// and RolePermissions. Whoever is given another permission has it as well.
	Browse = ua.PermissionTypeBrowse
	// Read shows the value of a variable.
	Read = ua.PermissionTypeRead
	// Write changes it, where the variable is [Writable].
	Write = ua.PermissionTypeWrite
	// Call calls a method; both the method and its object have to allow it.
	Call = ua.PermissionTypeCall
	// ReadHistory shows what the value was.
	ReadHistory = ua.PermissionTypeReadHistory
	// ReceiveEvents shows the events that are about the node.
	ReceiveEvents = ua.PermissionTypeReceiveEvents
	// WriteAttribute changes attributes other than the value, where WriteMask says
	// that they can be.
	WriteAttribute = ua.PermissionTypeWriteAttribute
	// ReadRolePermissions shows what roles may do.
	ReadRolePermissions = ua.PermissionTypeReadRolePermissions
	// WriteRolePermissions changes that.
	WriteRolePermissions = ua.PermissionTypeWriteRolePermissions
)

// Grant gives permissions to one role; see [Role.Can].
type Grant = ua.RolePermissionType

// Restriction is what a client's channel has to be like (Part 3, 8.56).
type Restriction = ua.AccessRestrictionType

// The restrictions. They can be joined.
const (
	// SigningRequired keeps clients off whose channel does not sign.
	SigningRequired = ua.AccessRestrictionTypeSigningRequired
	// EncryptionRequired keeps clients off whose channel does not encrypt.
	EncryptionRequired = ua.AccessRestrictionTypeEncryptionRequired
	// ApplyRestrictionsToBrowse hides the node from them as well.
	ApplyRestrictionsToBrowse = ua.AccessRestrictionTypeApplyRestrictionsToBrowse
)

// Permissions says what roles may do with a node, in place of the default of its
// namespace; a role that is not named may do nothing:
//
//	uahive.AddVariable(press, "Speed", 12.5, uahive.Writable(), uahive.Permissions(
//		uahive.Observer.Can(uahive.Read),
//		uahive.Operator.Can(uahive.Read|uahive.Write),
//	))
//
// A session may do what any of its roles may (Part 3, 4.9.3), within what options
// like [Writable] allow to anybody; others are answered BadUserAccessDenied. Where
// the answer depends on more than the role, see [WritableBy] and [CallableBy].
//
// What is added below the node has the same permissions unless it names its own.
// The standard's own properties of it, such as EURange or InputArguments, can be
// read by all who see it.
func Permissions(grants ...Grant) NodeOption {
	list := seen(grants)
	return NodeOption{func(s *addrspace.NodeSpec) {
		s.RolePermissions = list
		if slices.ContainsFunc(list, func(g Grant) bool { return g.Permissions&WriteRolePermissions != 0 }) {
			s.WriteMask |= ua.AttributeWriteMaskRolePermissions
		}
	}}
}

// Restrictions says what a client's channel has to be like for a node, in place of
// the default of its namespace; others are answered BadSecurityModeInsufficient.
// They hold for what is added below the node, too. Restrictions(0) lifts the
// default.
func Restrictions(r Restriction) NodeOption {
	return NodeOption{func(s *addrspace.NodeSpec) { s.AccessRestrictions = &r }}
}

// seen adds to each grant that its role may see the node; never nil.
func seen(grants []Grant) []Grant {
	list := make([]Grant, len(grants))
	for i, g := range grants {
		if list[i] = g; g.Permissions != 0 {
			list[i].Permissions |= Browse
		}
	}
	return list
}

// RecommendedPermissions returns what the standard suggests that its roles may do
// (Part 3, 4.9.2), as a default for a program's namespace: nothing for those who do
// not say who they are, and for others to look but not to touch.
func RecommendedPermissions() []Grant {
	const look = Browse | Read
	const history = ReadHistory | ReceiveEvents
	return []Grant{
		AuthenticatedUser.Can(look), TrustedApplication.Can(look),
		Observer.Can(look | history), Operator.Can(look | history | Write | Call),
		Engineer.Can(look | history | Write | Call | WriteAttribute | ua.PermissionTypeWriteHistorizing),
		Supervisor.Can(look | history | Call),
		ConfigureAdmin.Can(look | history | Write | Call | WriteAttribute | ua.PermissionTypeWriteHistorizing | ReadRolePermissions),
		SecurityAdmin.Can(look | history | ReadRolePermissions | WriteRolePermissions),
	}
}

// SetPermissions changes what roles may do with the node, from now on: requests
// that come are checked against it, and monitored items report BadUserAccessDenied
// in place of values that their users may not read any more. What is below the
// node stays as it is.
func (n *node) SetPermissions(grants ...Grant) {
	if n.at == nil {
		return
	}
	list := seen(grants)
	if wrong := n.srv.wrongGrants(list, nodePermissions); wrong != nil {
		n.srv.fail(&ModelError{Operation: "SetPermissions", Path: n.path, Problem: wrong.problem, Instead: wrong.instead})
		return
	}
	objects := make([]ua.ExtensionObject, len(list))
	for i := range list {
		objects[i] = ua.ObjectOf(&list[i])
	}
	if code := n.at.SetAttribute(ua.AttributeIDRolePermissions, ua.SliceVariant(objects)); code.IsBad() {
		n.srv.fail(&ModelError{
			Operation: "SetPermissions", Path: n.path, Problem: "the permissions cannot be kept",
			Instead: "use fewer different lists of permissions", Err: code,
		})
	}
}

const (
	allPermissions  = ua.PermissionTypeAddNode<<1 - 1
	nodePermissions = allPermissions &^ ua.PermissionTypeAddNode // AddNode is one of namespaces
)

// wrongGrants says what is wrong with a list of permissions.
func (s *Server) wrongGrants(grants []Grant, valid Permission) *mistake {
	if len(grants) == 0 {
		return &mistake{"permissions for no role, so that nobody could see it", "name a role, like uahive.Operator.Can(uahive.Read)"}
	}
	for i := range grants {
		g := &grants[i]
		known := slices.ContainsFunc(s.Roles(), func(m RoleMapping) bool { return m.Role.ID() == g.RoleID }) ||
			slices.Contains([]ua.NodeID{Anonymous.ID(), AuthenticatedUser.ID(), TrustedApplication.ID()}, g.RoleID)
		switch {
		case !known:
			return &mistake{
				fmt.Sprintf("permissions for %v, a role that the server does not have", g.RoleID),
				"use a role of the standard, or list it in Config.Roles",
			}
		case g.Permissions == 0 || g.Permissions&^valid != 0:
			return &mistake{fmt.Sprintf("permissions %#x", uint32(g.Permissions)), "join some of uahive.Browse, Read, Write, Call and their like"}
		}
	}
	return nil
}

// wrongRestrictions says what is wrong with restrictions.
func (s *Server) wrongRestrictions(r Restriction) *mistake {
	offered := Restriction(0)
	for _, security := range s.config.Security {
		switch security.mode {
		case Basic256Sha256Encrypt.mode:
			offered |= SigningRequired | EncryptionRequired
		case Basic256Sha256Sign.mode:
			offered |= SigningRequired
		}
	}
	switch {
	case r&^(SigningRequired|EncryptionRequired|ApplyRestrictionsToBrowse|ua.AccessRestrictionTypeSessionRequired) != 0:
		return &mistake{fmt.Sprintf("restrictions %#x", uint16(r)), "join some of uahive.SigningRequired, EncryptionRequired and ApplyRestrictionsToBrowse"}
	case r&(SigningRequired|EncryptionRequired)&^offered != 0:
		return &mistake{fmt.Sprintf("restrictions %v, which nothing in Config.Security meets", r), "offer a pair that encrypts, such as uahive.Basic256Sha256Encrypt"}
	}
	return nil
}

// inherit gives a spec what holds for the node that it is added to, where that is
// a node of a program and the spec does not say otherwise, and checks it.
func (s *Server) inherit(spec *addrspace.NodeSpec) *mistake {
	own := spec.RolePermissions != nil
	if parent := s.space.Node(spec.Parent); parent != nil && parent.ID().Namespace() != 0 {
		permissions, restrictions := parent.OwnAccess()
		if spec.RolePermissions == nil {
			spec.RolePermissions = permissions
		}
		if spec.AccessRestrictions == nil {
			spec.AccessRestrictions = restrictions
		} else if wrong := s.wrongRestrictions(*spec.AccessRestrictions); wrong != nil {
			return wrong
		}
	} else if spec.AccessRestrictions != nil {
		if wrong := s.wrongRestrictions(*spec.AccessRestrictions); wrong != nil {
			return wrong
		}
	}
	if own {
		return s.wrongGrants(spec.RolePermissions, nodePermissions)
	}
	return nil
}

// readable returns permissions to read for all who may see a node: for the
// properties that describe it.
func readable(grants []Grant) []Grant {
	list := make([]Grant, 0, len(grants))
	for _, g := range grants {
		if g.Permissions&Browse != 0 {
			list = append(list, Grant{RoleID: g.RoleID, Permissions: Browse | Read | g.Permissions&ReadRolePermissions})
		}
	}
	if len(list) == 0 {
		return grants // nobody sees the node, or everybody may
	}
	return list
}
