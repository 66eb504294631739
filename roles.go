package uahive

import (
	"fmt"
	"slices"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/sessionactor"
)

// Role is a function that users have, such as [Operator]. Nodes give permissions to
// roles, see [Permissions]; a session has the roles that [Config.Roles] and
// [User.Roles] give it, worked out once when it is activated and again when the
// rules change.
type Role = sessionactor.Role

// The roles of the standard (Part 3, 4.9.2). Every session is Anonymous, every one
// with a user is AuthenticatedUser, and every one of a trusted application on a
// channel that signs is TrustedApplication: no rule gives these. The others are
// for the program to give.
var (
	Anonymous          = sessionactor.RoleAnonymous
	AuthenticatedUser  = sessionactor.RoleAuthenticatedUser
	TrustedApplication = sessionactor.RoleTrustedApplication

	// Observer browses, reads and subscribes.
	Observer = sessionactor.RoleObserver
	// Operator also writes live values and calls methods.
	Operator = sessionactor.RoleOperator
	// Engineer also writes configuration.
	Engineer = sessionactor.RoleEngineer
	// Supervisor reads and calls methods.
	Supervisor = sessionactor.RoleSupervisor
	// ConfigureAdmin changes settings that are not about security.
	ConfigureAdmin = sessionactor.RoleConfigureAdmin
	// SecurityAdmin changes settings that are about security: who has which role
	// and, where a node allows it, what roles may do.
	SecurityAdmin = sessionactor.RoleSecurityAdmin
)

// CustomRole returns a role of the program's own, which is to stand in
// [Config.Roles] with the rules for it, or without any when Authenticate alone
// gives it. Roles with the same name are the same.
func CustomRole(name string) Role {
	return sessionactor.NewRole(ua.StringID(1, "Role."+name), name)
}

// RoleMapping says who has a role: whoever one of its Identities is about, from one
// of its Applications, on one of its Endpoints.
type RoleMapping = sessionactor.RoleMapping

// IdentityRule says whom a role is for, see [RoleMapping] and [ByUserName].
type IdentityRule = ua.IdentityMappingRuleType

// ByUserName is for the user that Authenticate returned with that name for a user
// name and password.
func ByUserName(name string) IdentityRule {
	return IdentityRule{CriteriaType: ua.IdentityCriteriaTypeUserName, Criteria: name}
}

// ByGroup is for users whom [User.Groups] says to be in a group.
func ByGroup(name string) IdentityRule {
	return IdentityRule{CriteriaType: ua.IdentityCriteriaTypeGroupID, Criteria: name}
}

// ByTokenRole is for users whose access token has a role, which is in [User.Claims]
// by that name.
func ByTokenRole(name string) IdentityRule {
	return IdentityRule{CriteriaType: ua.IdentityCriteriaTypeRole, Criteria: name}
}

// ByThumbprint is for the user with that certificate: 40 hexadecimal digits in
// upper case.
func ByThumbprint(digits string) IdentityRule {
	return IdentityRule{CriteriaType: ua.IdentityCriteriaTypeThumbprint, Criteria: digits}
}

// BySubject is for users with a certificate that has this subject, or is issued by
// one that does: CN="name"/O="organization"/OU="unit", with all parts that the
// certificate has, in the order CN, O, OU, DC, L, S, C, DNQ, SERIALNUMBER.
func BySubject(subject string) IdentityRule {
	return IdentityRule{CriteriaType: ua.IdentityCriteriaTypeX509Subject, Criteria: subject}
}

// ByApplication is for sessions without a user, of the application with that
// ApplicationUri.
func ByApplication(uri string) IdentityRule {
	return IdentityRule{CriteriaType: ua.IdentityCriteriaTypeApplication, Criteria: uri}
}

// The rules that are about many. They cannot make administrators.
var (
	// AllAnonymous is for sessions without a user.
	AllAnonymous = IdentityRule{CriteriaType: ua.IdentityCriteriaTypeAnonymous}
	// AllUsers is for sessions with a user, whoever it is.
	AllUsers = IdentityRule{CriteriaType: ua.IdentityCriteriaTypeAuthenticatedUser}
	// AllApplications is for sessions of trusted applications.
	AllApplications = IdentityRule{CriteriaType: ua.IdentityCriteriaTypeTrustedApplication}
)

// Roles returns who has which role now: [Config.Roles] with what administrators
// changed since.
func (s *Server) Roles() []RoleMapping { return s.sessions.Roles() }

// checkRoles says what is wrong with the rules of the configuration.
func (c *Config) checkRoles() error {
	for i := range c.Roles {
		m := &c.Roles[i]
		entry := fmt.Sprintf("Roles[%d]", i)
		if field, err := m.Check(); err != nil {
			return &ConfigError{
				Field: entry + "." + field, Value: fmt.Sprint(m.Role),
				Instead: "name a role that can be given, and rules made by ByUserName and its like", Err: err,
			}
		}
		if m.Role.ID().Namespace() != 0 && m.Role != CustomRole(m.Role.String()) {
			return &ConfigError{Field: entry + ".Role", Value: fmt.Sprint(m.Role), Instead: "make it with uahive.CustomRole"}
		}
		if slices.ContainsFunc(c.Roles[:i], func(o RoleMapping) bool { return o.Role.ID() == m.Role.ID() }) {
			return &ConfigError{Field: entry + ".Role", Value: fmt.Sprint(m.Role), Instead: "put all rules of a role into one entry"}
		}
		for k := range m.Identities {
			rule := &m.Identities[k]
			if rule.CriteriaType == ua.IdentityCriteriaTypeUserName && c.Authenticate == nil {
				return &ConfigError{
					Field: fmt.Sprintf("%s.Identities[%d]", entry, k), Value: rule.Criteria,
					Instead: "set Authenticate, without which nobody has a name",
				}
			}
		}
	}
	return nil
}
