package uahive

import (
	"context"
	"slices"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// DefaultPermissions says what roles may do with the nodes of the namespace that
// have no [Permissions], those of a manager among them, before and after the call.
// Without it, and without Permissions, a node is for everybody, within what options
// like [Writable] allow. [RecommendedPermissions] are what the standard suggests.
// Clients see the default in the NamespaceMetadata (Part 5, 6.3.13).
func (n *Namespace) DefaultPermissions(grants ...Grant) *Namespace {
	list := seen(grants)
	if n.root.failed == nil {
		if wrong := n.root.srv.wrongGrants(list, allPermissions); wrong != nil {
			return n.mistaken("DefaultPermissions", wrong)
		}
	}
	return n.setDefault("DefaultPermissions", func(a *addrspace.Access) { a.Permissions = list })
}

// DefaultRestrictions says what a client's channel has to be like for the nodes of
// the namespace that have no [Restrictions].
func (n *Namespace) DefaultRestrictions(r Restriction) *Namespace {
	if n.root.failed == nil {
		if wrong := n.root.srv.wrongRestrictions(r); wrong != nil {
			return n.mistaken("DefaultRestrictions", wrong)
		}
	}
	return n.setDefault("DefaultRestrictions", func(a *addrspace.Access) { a.Restrictions = r })
}

func (n *Namespace) mistaken(operation string, wrong *mistake) *Namespace {
	n.root.srv.fail(&ModelError{Operation: operation, Path: n.uri, Problem: wrong.problem, Instead: wrong.instead})
	return n
}

func (n *Namespace) setDefault(operation string, change func(*addrspace.Access)) *Namespace {
	if n.root.failed != nil {
		return n
	}
	srv := n.root.srv
	srv.defaults.Lock()
	defer srv.defaults.Unlock()
	a := srv.space.DefaultAccess(n.root.ns)
	change(&a)
	err := srv.space.SetDefaultAccess(n.root.ns, a)
	if err == nil {
		err = srv.describeNamespace(n.root.ns, n.uri)
	}
	if err != nil {
		srv.fail(&ModelError{
			Operation: operation, Path: n.uri, Problem: "the default cannot be kept",
			Instead: "use fewer different lists of permissions", Err: err,
		})
	}
	return n
}

// secureNamespaceZero sets the default for the standard's own nodes that say
// nothing themselves, which are nearly all: everybody looks, and calls what has
// something to run; administrators change. What is about security has permissions
// of its own in the standard's tables, and these hold as they are.
func (s *Server) secureNamespaceZero() error {
	const look = Browse | Read | ReadHistory | ReceiveEvents | Call
	const change = Write | WriteAttribute | ua.PermissionTypeWriteHistorizing | ReadRolePermissions
	if err := s.space.SetDefaultAccess(0, addrspace.Access{Permissions: []Grant{
		Anonymous.Can(look), ConfigureAdmin.Can(look | change), SecurityAdmin.Can(look | change | WriteRolePermissions),
	}}); err != nil {
		return err
	}
	s.bindDefaults(0, [3]*addrspace.Node{
		s.space.Node(ua.NumericID(0, id.OPCUANamespaceMetadata_DefaultRolePermissions)),
		s.space.Node(ua.NumericID(0, id.OPCUANamespaceMetadata_DefaultUserRolePermissions)),
		s.space.Node(ua.NumericID(0, id.OPCUANamespaceMetadata_DefaultAccessRestrictions)),
	})
	return nil
}

// bindDefaults connects the properties DefaultRolePermissions,
// DefaultUserRolePermissions and DefaultAccessRestrictions of a namespace.
func (s *Server) bindDefaults(ns uint16, properties [3]*addrspace.Node) {
	bind := func(n *addrspace.Node, inline bool, read func(ctx context.Context, a *addrspace.Access) (ua.Variant, error)) {
		if n == nil || n.Variable() == nil {
			return
		}
		n.Variable().SetSource(&addrspace.Source{Inline: inline, Read: func(ctx context.Context) (dv ua.DataValue, err error) {
			a := s.space.DefaultAccess(ns)
			dv.Value, err = read(ctx, &a)
			return dv, err
		}})
	}
	bind(properties[0], true, func(_ context.Context, a *addrspace.Access) (ua.Variant, error) { return ua.ValueOf(a.Permissions) })
	bind(properties[1], false, func(ctx context.Context, a *addrspace.Access) (ua.Variant, error) {
		caller, ok := CallerFrom(ctx)
		if !ok {
			return ua.Variant{}, ua.BadUserAccessDenied // samples are for everybody
		}
		own := make([]Grant, 0, len(a.Permissions))
		for _, g := range a.Permissions {
			if slices.Contains(caller.Roles, g.RoleID) {
				own = append(own, g)
			}
		}
		return ua.ValueOf(own)
	})
	bind(properties[2], true, func(_ context.Context, a *addrspace.Access) (ua.Variant, error) {
		return ua.VariantOf(uint16(a.Restrictions)), nil
	})
}

// describeNamespace adds the NamespaceMetadata of a namespace with a default
// (Part 5, 6.3.13), once.
func (s *Server) describeNamespace(ns uint16, uri string) error {
	object := ua.StringID(ns, "NamespaceMetadata")
	if s.space.Node(object) != nil {
		return nil
	}
	// Everybody may see what a namespace is; what its roles may do is for those who
	// administer them, and each user's own for the user.
	const look = Browse | Read
	everybody := []Grant{Anonymous.Can(look), ConfigureAdmin.Can(look | ReadRolePermissions), SecurityAdmin.Can(look | ReadRolePermissions)}
	admins := []Grant{ConfigureAdmin.Can(look | ReadRolePermissions), SecurityAdmin.Can(look | ReadRolePermissions)}
	if _, err := s.space.AddNode(addrspace.NodeSpec{
		ID: object, Class: ua.NodeClassObject, BrowseName: ua.QualifiedName{NamespaceIndex: ns, Name: uri},
		Parent: ua.NumericID(0, id.Server_Namespaces), ReferenceType: ua.NumericID(0, id.HasComponent),
		TypeDefinition: ua.NumericID(0, id.NamespaceMetadataType), RolePermissions: everybody, AccessRestrictions: new(Restriction),
	}); err != nil {
		return err
	}
	list := int32(1)
	var defaults [3]*addrspace.Node
	for i, p := range []struct {
		name     string
		dataType uint32
		rank     *int32
		value    ua.Variant
		grants   []Grant
	}{
		{"DefaultRolePermissions", id.RolePermissionType, &list, ua.Variant{}, admins},
		{"DefaultUserRolePermissions", id.RolePermissionType, &list, ua.Variant{}, everybody},
		{"DefaultAccessRestrictions", id.AccessRestrictionType, nil, ua.VariantOf(uint16(0)), everybody},
		{"NamespaceUri", id.String, nil, ua.StringVariant(uri), everybody},
		{"NamespaceVersion", id.String, nil, ua.StringVariant(""), everybody},
		{"NamespacePublicationDate", id.DateTime, nil, ua.VariantOf(ua.DateTime(0)), everybody},
		{"IsNamespaceSubset", id.Boolean, nil, ua.BooleanVariant(false), everybody},
		{"StaticNodeIdTypes", id.IdType, &list, ua.SliceVariant([]int32{}), everybody},
		{"StaticNumericNodeIdRange", id.NumericRange, &list, ua.SliceVariant([]string{}), everybody},
		{"StaticStringNodeIdPattern", id.String, nil, ua.StringVariant(""), everybody},
	} {
		n, err := s.space.AddNode(addrspace.NodeSpec{
			ID: ua.StringID(ns, "NamespaceMetadata."+p.name), Class: ua.NodeClassVariable, BrowseName: ua.QualifiedName{Name: p.name},
			Parent: object, ReferenceType: ua.NumericID(0, id.HasProperty), DataType: ua.NumericID(0, p.dataType), ValueRank: p.rank,
			Value: p.value, RolePermissions: p.grants, AccessRestrictions: new(Restriction),
		})
		if err != nil {
			return err
		}
		if i < len(defaults) {
			defaults[i] = n
		}
	}
	s.bindDefaults(ns, defaults)
	return nil
}
