package sessionactor

import (
	"context"
	"fmt"
	"slices"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// BindRoles connects the objects of the standard's RoleSet (Part 18, 4.3) with
// the rules in force, and adds objects for roles of the program's own. Who may
// see and change them is said by their permissions, as by those of any node: the
// standard has them for the SecurityAdmin on an encrypted channel.
func (s *Service) BindRoles() error {
	for _, role := range fixedRoles {
		if n := s.config.Space.Node(role.nodeID); n != nil {
			s.property(n, "Identities", fixedIdentities(role))
		}
	}
	for _, m := range s.Roles() {
		n := s.config.Space.Node(m.Role.nodeID)
		if n == nil {
			var err error
			if n, err = s.addRole(m.Role); err != nil {
				return fmt.Errorf("role %v: %w", m.Role, err)
			}
		}
		s.bindRole(n, m.Role)
	}
	return nil
}

// fixedIdentities returns the rules of the roles that nobody can change.
func fixedIdentities(role Role) func() any {
	var rules []ua.IdentityMappingRuleType
	switch role.nodeID {
	case RoleAnonymous.nodeID:
		rules = []ua.IdentityMappingRuleType{
			{CriteriaType: ua.IdentityCriteriaTypeAnonymous}, {CriteriaType: ua.IdentityCriteriaTypeAuthenticatedUser},
		}
	case RoleAuthenticatedUser.nodeID:
		rules = []ua.IdentityMappingRuleType{{CriteriaType: ua.IdentityCriteriaTypeAuthenticatedUser}}
	case RoleTrustedApplication.nodeID:
		rules = []ua.IdentityMappingRuleType{{CriteriaType: ua.IdentityCriteriaTypeTrustedApplication}}
	}
	return func() any { return rules }
}

// bindRole connects the properties and methods of one role's object.
func (s *Service) bindRole(n *addrspace.Node, role Role) {
	s.property(n, "Identities", func() any { return s.mapping(role).Identities })
	s.property(n, "Applications", func() any { return s.mapping(role).Applications })
	s.property(n, "Endpoints", func() any { return s.mapping(role).Endpoints })
	s.property(n, "CustomConfiguration", func() any {
		// Without a rule, only the program decides who has the role.
		return s.config.Authenticate != nil && len(s.mapping(role).Identities) == 0
	})
	s.flag(n, role, "ApplicationsExclude", func(m *RoleMapping) *bool { return &m.ApplicationsExclude })
	s.flag(n, role, "EndpointsExclude", func(m *RoleMapping) *bool { return &m.EndpointsExclude })

	change := func(name string, change func(m *RoleMapping, input *ua.Variant) ua.StatusCode) {
		method := n.Component(ua.QualifiedName{Name: name})
		if method == nil {
			return
		}
		// The program may have to write a file for it: it does not run inline.
		method.SetMethod(&addrspace.Method{Func: func(_ context.Context, c *addrspace.Call) error {
			return s.changeRole(role, func(m *RoleMapping) ua.StatusCode { return change(m, &c.Inputs[0]) }).Err()
		}})
	}
	change("AddIdentity", addIdentity)
	change("RemoveIdentity", removeIdentity)
	change("AddApplication", addApplication)
	change("RemoveApplication", removeApplication)
	change("AddEndpoint", addEndpoint)
	change("RemoveEndpoint", removeEndpoint)
}

// mapping returns the rules of a role that are in force.
func (s *Service) mapping(role Role) RoleMapping {
	list := *s.access.mappings.Load()
	if i := slices.IndexFunc(list, func(m RoleMapping) bool { return m.Role.nodeID == role.nodeID }); i >= 0 {
		return list[i]
	}
	return RoleMapping{Role: role}
}

func (s *Service) property(n *addrspace.Node, name string, read func() any) {
	if p := n.Property(name); p != nil && p.Variable() != nil {
		p.Variable().SetSource(&addrspace.Source{Inline: true, Read: reader(read)})
	}
}

func reader(read func() any) addrspace.ReadFunc {
	return func(context.Context) (ua.DataValue, error) {
		v, err := ua.ValueOf(read())
		return ua.DataValue{Value: v}, err
	}
}

// flag connects one of the two properties that are written and not set by a
// method (Part 18, 4.4.1).
func (s *Service) flag(n *addrspace.Node, role Role, name string, of func(*RoleMapping) *bool) {
	p := n.Property(name)
	if p == nil || p.Variable() == nil {
		return
	}
	p.Variable().SetSource(&addrspace.Source{
		Read: reader(func() any { m := s.mapping(role); return *of(&m) }),
		Write: func(_ context.Context, dv ua.DataValue, _ ua.NumericRange) error {
			on, ok := ua.As[bool](dv.Value)
			if !ok {
				return ua.BadTypeMismatch
			}
			return s.changeRole(role, func(m *RoleMapping) ua.StatusCode { *of(m) = on; return ua.Good }).Err()
		},
	})
}

// changeRole changes the rules of a role, has the program keep them, and gives
// all sessions the roles that follow (Part 18, 4.4.1).
func (s *Service) changeRole(role Role, change func(m *RoleMapping) ua.StatusCode) ua.StatusCode {
	s.access.changing.Lock()
	defer s.access.changing.Unlock()
	list := s.Roles()
	i := slices.IndexFunc(list, func(m RoleMapping) bool { return m.Role.nodeID == role.nodeID })
	if i < 0 {
		return ua.BadNotFound
	}
	if code := change(&list[i]); code != ua.Good {
		return code
	}
	if save := s.config.SaveRoles; save != nil {
		if err := save(cloneMappings(list)); err != nil {
			s.log.Error().Err(err).Stringer("role", role).Msg("changed roles cannot be saved, and stay as they were")
			return ua.BadResourceUnavailable
		}
	}
	s.access.mappings.Store(&list)
	s.log.Info().Stringer("role", role).Msg("the rules of a role changed")
	for _, session := range s.sessions.All() {
		session.post(message{kind: messageRegrant})
	}
	return ua.Good
}

func ruleOf(input *ua.Variant) (*ua.IdentityMappingRuleType, bool) {
	object, _ := ua.As[ua.ExtensionObject](*input)
	rule, ok := object.Value.(*ua.IdentityMappingRuleType)
	return rule, ok
}

// addIdentity is the method of that name (Part 18, 4.4.5).
func addIdentity(m *RoleMapping, input *ua.Variant) ua.StatusCode {
	rule, ok := ruleOf(input)
	switch {
	case !ok || checkRule(rule) != nil:
		return ua.BadInvalidArgument
	case !admits(m.Role.nodeID, rule):
		return ua.BadRequestNotAllowed
	case slices.Contains(m.Identities, *rule):
		return ua.BadAlreadyExists
	case len(m.Identities) >= maxRules:
		return ua.BadResourceUnavailable
	}
	m.Identities = append(m.Identities, *rule)
	return ua.Good
}

func removeIdentity(m *RoleMapping, input *ua.Variant) ua.StatusCode {
	rule, ok := ruleOf(input)
	if !ok {
		return ua.BadInvalidArgument
	}
	return without(&m.Identities, *rule)
}

// addApplication is the method of that name (Part 18, 4.4.7).
func addApplication(m *RoleMapping, input *ua.Variant) ua.StatusCode {
	uri, _ := ua.As[string](*input)
	switch {
	case !isURI(uri):
		return ua.BadInvalidArgument
	case slices.Contains(m.Applications, uri):
		return ua.BadAlreadyExists
	case len(m.Applications) >= maxRules:
		return ua.BadResourceUnavailable
	}
	m.Applications = append(m.Applications, uri)
	return ua.Good
}

func removeApplication(m *RoleMapping, input *ua.Variant) ua.StatusCode {
	uri, _ := ua.As[string](*input)
	return without(&m.Applications, uri)
}

func endpointOf(input *ua.Variant) (*ua.EndpointType, bool) {
	object, _ := ua.As[ua.ExtensionObject](*input)
	endpoint, ok := object.Value.(*ua.EndpointType)
	return endpoint, ok
}

// addEndpoint is the method of that name (Part 18, 4.4.9).
func addEndpoint(m *RoleMapping, input *ua.Variant) ua.StatusCode {
	endpoint, ok := endpointOf(input)
	switch {
	case !ok || !isURI(endpoint.EndpointURL) || len(endpoint.SecurityPolicyURI) > maxURI || len(endpoint.TransportProfileURI) > maxURI:
		return ua.BadInvalidArgument
	case slices.Contains(m.Endpoints, *endpoint):
		return ua.BadAlreadyExists
	case len(m.Endpoints) >= maxRules:
		return ua.BadResourceUnavailable
	}
	m.Endpoints = append(m.Endpoints, *endpoint)
	return ua.Good
}

func removeEndpoint(m *RoleMapping, input *ua.Variant) ua.StatusCode {
	endpoint, ok := endpointOf(input)
	if !ok {
		return ua.BadInvalidArgument
	}
	return without(&m.Endpoints, *endpoint)
}

func without[T comparable](list *[]T, x T) ua.StatusCode {
	i := slices.Index(*list, x)
	if i < 0 {
		return ua.BadNotFound
	}
	*list = slices.Delete(*list, i, i+1)
	return ua.Good
}

// addRole adds the object of a role that the standard does not have, with the
// parts, and the permissions, that those of the standard have.
func (s *Service) addRole(role Role) (*addrspace.Node, error) {
	like := s.config.Space.Node(RoleObserver.nodeID)
	if like == nil {
		return nil, ua.BadNodeIDUnknown
	}
	ns := role.nodeID.Namespace()
	n, err := s.config.Space.AddNode(addrspace.NodeSpec{
		ID: role.nodeID, Class: ua.NodeClassObject, BrowseName: ua.QualifiedName{NamespaceIndex: ns, Name: role.name},
		Parent: ua.NumericID(0, id.Server_ServerCapabilities_RoleSet), ReferenceType: ua.NumericID(0, id.HasComponent),
		TypeDefinition: ua.NumericID(0, id.RoleType), RolePermissions: like.Access().Permissions,
	})
	if err != nil {
		return nil, err
	}
	return n, s.addParts(n, like, role.nodeID.Text())
}

// addParts copies the properties and methods of a node to another one.
func (s *Service) addParts(to, from *addrspace.Node, path string) error {
	for _, r := range from.References().All() {
		part := r.Target
		if r.Inverse || part.Class() != ua.NodeClassVariable && part.Class() != ua.NodeClassMethod {
			continue
		}
		access, name := part.Access(), path+"."+part.BrowseName().Name
		spec := addrspace.NodeSpec{
			ID: ua.StringID(to.ID().Namespace(), name), Class: part.Class(), BrowseName: part.BrowseName(),
			Parent: to.ID(), ReferenceType: r.Type.ID(),
			RolePermissions: access.Permissions, AccessRestrictions: &access.Restrictions,
		}
		if v := part.Variable(); v != nil {
			rank := v.ValueRank()
			spec.DataType, spec.ValueRank, spec.AccessLevel = v.DataType(), &rank, v.AccessLevelEx()
			if v.Source() == nil {
				spec.Value = v.Load().Value
			}
		}
		n, err := s.config.Space.AddNode(spec)
		if err != nil {
			return err
		}
		if part.Class() == ua.NodeClassMethod {
			if err := s.addParts(n, part, name); err != nil {
				return err
			}
		}
	}
	return nil
}
