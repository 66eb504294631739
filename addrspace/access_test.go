package addrspace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

var (
	operator = ns0ID(id.WellKnownRole_Operator)
	observer = ns0ID(id.WellKnownRole_Observer)
	admin    = ns0ID(id.WellKnownRole_SecurityAdmin)
)

func grant(role ua.NodeID, p ua.PermissionType) ua.RolePermissionType {
	return ua.RolePermissionType{RoleID: role, Permissions: p}
}

// Permissions of several roles add up, those of a node stand in place of the
// default of its namespace, and a node without either is open (Part 3, 4.9.3).
func TestRightsAddUpAndTheNodesOwnGoFirst(t *testing.T) {
	s := newSpace(t)
	ns, err := s.AddNamespace("urn:access")
	if err != nil {
		t.Fatal(err)
	}
	add := func(name string, permissions []ua.RolePermissionType) *Node {
		t.Helper()
		n, err := s.AddNode(NodeSpec{
			Class: ua.NodeClassVariable, ID: ua.StringID(ns, name), Value: ua.Int32Variant(1), Parent: ns0ID(id.ObjectsFolder),
			BrowseName: ua.QualifiedName{NamespaceIndex: ns, Name: name}, RolePermissions: permissions,
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := add("before", nil)
	own := add("own", []ua.RolePermissionType{grant(operator, ua.PermissionTypeWrite), grant(observer, ua.PermissionTypeRead)})
	nobody := add("nobody", []ua.RolePermissionType{})
	op, both := s.NewRights([]ua.NodeID{operator}, 0), s.NewRights([]ua.NodeID{operator, observer}, 0)
	var none *Rights

	if before.Restricted() || !none.May(before, ua.PermissionTypeWrite) {
		t.Error("a node without permissions is not open")
	}
	if err := s.SetDefaultAccess(ns, Access{Permissions: []ua.RolePermissionType{grant(observer, ua.PermissionTypeRead)}}); err != nil {
		t.Fatal(err)
	}
	after := add("after", nil)
	for _, tt := range []struct {
		name       string
		rights     *Rights
		node       *Node
		permission ua.PermissionType
		may        bool
	}{
		{"own, of the role", op, own, ua.PermissionTypeWrite, true},
		{"own, of another role", op, own, ua.PermissionTypeRead, false},
		{"own, of both roles", both, own, ua.PermissionTypeRead, true},
		{"own, of no role", both, own, ua.PermissionTypeBrowse, false},
		{"the default of a node from before", both, before, ua.PermissionTypeRead, true},
		{"the default without the role", op, before, ua.PermissionTypeRead, false},
		{"the default of a node from after", both, after, ua.PermissionTypeRead, true},
		{"the default does not give more", both, after, ua.PermissionTypeWrite, false},
		{"an empty list gives nobody anything", both, nobody, ua.PermissionTypeRead, false},
		{"no rights", none, own, ua.PermissionTypeWrite, false},
	} {
		if got := tt.rights.May(tt.node, tt.permission); got != tt.may {
			t.Errorf("%s: %v", tt.name, got)
		}
		want := ua.Good
		if !tt.may {
			want = ua.BadUserAccessDenied
		}
		if got := tt.rights.Check(tt.node, tt.permission); got != want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if got := both.CheckAbsent(ns, ua.PermissionTypeWrite); got != ua.BadUserAccessDenied {
		t.Errorf("a node of a manager: %v", got)
	}
	if err := s.SetDefaultAccess(ns, Access{}); err != nil {
		t.Fatal(err)
	}
	if after.Restricted() || !own.Restricted() {
		t.Error("taking the default away changed the wrong nodes")
	}
}

// The channel has to be what the restrictions ask for; Browse is only meant with
// ApplyRestrictionsToBrowse (Part 3, 8.56).
func TestRestrictionsOfTheChannel(t *testing.T) {
	const (
		sign    = ua.AccessRestrictionTypeSigningRequired
		encrypt = ua.AccessRestrictionTypeEncryptionRequired
		session = ua.AccessRestrictionTypeSessionRequired
		browse  = ua.AccessRestrictionTypeApplyRestrictionsToBrowse
	)
	s := newSpace(t)
	for _, tt := range []struct {
		restrictions, channel ua.AccessRestrictionType
		read, browse          ua.StatusCode
	}{
		{sign, 0, ua.BadSecurityModeInsufficient, ua.Good},
		{sign, sign, ua.Good, ua.Good},
		{encrypt, sign, ua.BadSecurityModeInsufficient, ua.Good},
		{encrypt, sign | encrypt, ua.Good, ua.Good},
		{encrypt | browse, sign, ua.BadSecurityModeInsufficient, ua.BadSecurityModeInsufficient},
		{encrypt | browse, sign | encrypt, ua.Good, ua.Good},
		{session, 0, ua.Good, ua.Good},
		{browse, 0, ua.Good, ua.Good},
	} {
		n, err := s.AddNode(NodeSpec{
			Class: ua.NodeClassVariable, BrowseName: name("v"), Value: ua.Int32Variant(1), AccessRestrictions: &tt.restrictions,
		})
		if err != nil {
			t.Fatal(err)
		}
		r := s.NewRights(nil, tt.channel)
		if got := r.CheckRead(n, ua.AttributeIDValue); got != tt.read {
			t.Errorf("restrictions %v, channel %v: Read %v, want %v", tt.restrictions, tt.channel, got, tt.read)
		}
		if got := r.CheckRead(n, ua.AttributeIDDisplayName); got != tt.browse {
			t.Errorf("restrictions %v, channel %v: Browse %v, want %v", tt.restrictions, tt.channel, got, tt.browse)
		}
	}
}

// Each attribute takes the permission that is named for it (Part 3, 8.55).
func TestAttributesTakeTheirOwnPermission(t *testing.T) {
	s := newSpace(t)
	n, err := s.AddNode(NodeSpec{
		Class: ua.NodeClassVariable, BrowseName: name("v"), Value: ua.Int32Variant(1), AccessLevel: ReadWrite,
		WriteMask: ua.AttributeWriteMaskDisplayName | ua.AttributeWriteMaskRolePermissions | ua.AttributeWriteMaskHistorizing,
		RolePermissions: []ua.RolePermissionType{
			grant(operator, ua.PermissionTypeRead|ua.PermissionTypeWriteHistorizing),
			grant(observer, ua.PermissionTypeBrowse|ua.PermissionTypeWrite|ua.PermissionTypeWriteAttribute),
			grant(admin, ua.PermissionTypeReadRolePermissions|ua.PermissionTypeWriteRolePermissions),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	op, ob, ad := s.NewRights([]ua.NodeID{operator}, 0), s.NewRights([]ua.NodeID{observer}, 0), s.NewRights([]ua.NodeID{admin}, 0)
	for _, tt := range []struct {
		attribute   ua.AttributeID
		read, write *Rights
	}{
		{ua.AttributeIDValue, op, ob},
		{ua.AttributeIDDisplayName, ob, ob},
		{ua.AttributeIDHistorizing, ob, op},
		{ua.AttributeIDRolePermissions, ad, ad},
		{ua.AttributeIDUserRolePermissions, ob, ob},
	} {
		for name, r := range map[string]*Rights{"operator": op, "observer": ob, "admin": ad} {
			if got := r.CheckRead(n, tt.attribute) == ua.Good; got != (r == tt.read) {
				t.Errorf("%v: %s may read: %v", tt.attribute, name, got)
			}
			if got := r.CheckWrite(n, tt.attribute) == ua.Good; got != (r == tt.write) {
				t.Errorf("%v: %s may write: %v", tt.attribute, name, got)
			}
		}
	}
	user := func(r *Rights, attribute ua.AttributeID) any {
		v, _ := n.AttributeFor(r, attribute)
		return v.Any()
	}
	if got := user(op, ua.AttributeIDUserAccessLevel); got != uint8(ua.AccessLevelTypeCurrentRead|ua.AccessLevelTypeStatusWrite|ua.AccessLevelTypeTimestampWrite) {
		t.Errorf("UserAccessLevel of the operator: %v", got)
	}
	if got := user(op, ua.AttributeIDUserWriteMask); got != uint32(ua.AttributeWriteMaskHistorizing) {
		t.Errorf("UserWriteMask of the operator: %v", got)
	}
	if got := user(ad, ua.AttributeIDUserWriteMask); got != uint32(ua.AttributeWriteMaskRolePermissions) {
		t.Errorf("UserWriteMask of the administrator: %v", got)
	}
	v, code := n.AttributeFor(ob, ua.AttributeIDUserRolePermissions)
	if list, _ := ua.As[[]ua.ExtensionObject](v); code != ua.Good || len(list) != 1 || list[0].Value.(*ua.RolePermissionType).RoleID != observer {
		t.Errorf("UserRolePermissions of the observer: %v, %v", list, code)
	}
}

// A change of permissions counts at once, and who keeps what a user may read is
// told.
func TestPermissionsChangeAtRunTime(t *testing.T) {
	s := newSpace(t)
	n, err := s.AddNode(NodeSpec{Class: ua.NodeClassVariable, BrowseName: name("v"), Value: ua.Int32Variant(1)})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	s.OnAccessChange(func() { told++ })
	op := s.NewRights([]ua.NodeID{operator}, 0)
	set := func(list ...ua.RolePermissionType) {
		t.Helper()
		v, _ := permissions(list)
		if code := n.SetAttribute(ua.AttributeIDRolePermissions, v); code != ua.Good {
			t.Fatal(code)
		}
	}
	set(grant(operator, ua.PermissionTypeRead))
	if !op.May(n, ua.PermissionTypeRead) {
		t.Error("what was given cannot be used")
	}
	set(grant(observer, ua.PermissionTypeRead))
	if op.May(n, ua.PermissionTypeRead) {
		t.Error("what was taken away can still be used")
	}
	if told != 2 {
		t.Errorf("told %d times of 2 changes", told)
	}
	if n.SetAttribute(ua.AttributeIDDisplayName, ua.VariantOf(ua.LocalizedText{Text: "x"})); told != 2 {
		t.Error("told of a display name")
	}
	// The node is still found, and its references and state are what they were.
	if s.Node(n.ID()) != n || n.Deleted() {
		t.Error("the node changed with its permissions")
	}
}

// Sets of permissions are kept once, so that a million nodes with the same cost
// one, and what does not fit any more changes nothing.
func TestAccessSetsAreSharedAndBounded(t *testing.T) {
	s := newSpace(t)
	made := len(*s.access.list.Load())
	var nodes [3]*Node
	for i := range nodes {
		var err error
		nodes[i], err = s.AddNode(NodeSpec{
			Class: ua.NodeClassObject, BrowseName: name(fmt.Sprint("o", i)),
			RolePermissions: []ua.RolePermissionType{grant(operator, ua.PermissionTypeBrowse)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := len(*s.access.list.Load()) - made; got != 1 {
		t.Errorf("%d sets for three equal lists", got)
	}
	full := make([]Access, accessNobody)
	copy(full, *s.access.list.Load())
	s.access.list.Store(&full)
	v, _ := permissions([]ua.RolePermissionType{grant(observer, ua.PermissionTypeBrowse)})
	if code := nodes[0].SetAttribute(ua.AttributeIDRolePermissions, v); code != ua.BadOutOfMemory {
		t.Errorf("one set too many: %v", code)
	}
	if !s.NewRights([]ua.NodeID{operator}, 0).May(nodes[0], ua.PermissionTypeBrowse) {
		t.Error("the permissions from before are gone")
	}
	_, err := s.AddNode(NodeSpec{
		Class: ua.NodeClassObject, BrowseName: name("late"), RolePermissions: []ua.RolePermissionType{grant(admin, ua.PermissionTypeBrowse)},
	})
	if err == nil || !strings.Contains(err.Error(), "permissions") {
		t.Errorf("a node whose permissions cannot be kept: %v", err)
	}
}

// A browse leaves out what may not be browsed, on both of its ways.
func TestReferencesToHiddenNodesAreLeftOut(t *testing.T) {
	s := newSpace(t)
	parent, err := s.AddNode(NodeSpec{Class: ua.NodeClassObject, BrowseName: name("parent")})
	if err != nil {
		t.Fatal(err)
	}
	for i, list := range [][]ua.RolePermissionType{
		{grant(operator, ua.PermissionTypeRead)}, nil, {grant(operator, ua.PermissionTypeBrowse)}, {grant(observer, ua.PermissionTypeBrowse)},
	} {
		if _, err := s.AddNode(NodeSpec{
			Class: ua.NodeClassVariable, BrowseName: name(fmt.Sprint("v", i)), Value: ua.Int32Variant(1), Parent: parent.ID(), RolePermissions: list,
		}); err != nil {
			t.Fatal(err)
		}
	}
	components, _ := s.ReferenceTypes(ns0ID(id.HasComponent), true)
	f := Filter{Types: components, Mask: ua.BrowseResultMaskAll, Rights: s.NewRights([]ua.NodeID{operator}, 0)}
	refs := parent.References()
	if _, _, count := refs.AppendTo(nil, 0, &f, 10); count != 2 {
		t.Errorf("%d of 2 references", count)
	}
	first := refs.Skip(0, &f)
	second := refs.Skip(first+1, &f)
	if end := refs.Skip(second+1, &f); first == second || second == refs.Len() || end != refs.Len() {
		t.Errorf("Skip stops at %d, %d and %d of %d", first, second, end, refs.Len())
	}
	f.Rights = nil
	if _, _, count := refs.AppendTo(nil, 0, &f, 10); count != 1 {
		t.Errorf("without rights %d references, want the one to the open node", count)
	}
}

func TestRightsAllocateNothing(t *testing.T) {
	s := newSpace(t)
	n, err := s.AddNode(NodeSpec{
		Class: ua.NodeClassVariable, BrowseName: name("v"), Value: ua.Int32Variant(1),
		RolePermissions: []ua.RolePermissionType{grant(operator, ua.PermissionTypeRead)},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := s.NewRights([]ua.NodeID{operator}, 0)
	r.May(n, ua.PermissionTypeRead)
	if objects := testing.AllocsPerRun(100, func() {
		if !r.May(n, ua.PermissionTypeRead) || r.CheckRead(n, ua.AttributeIDDisplayName) != ua.BadUserAccessDenied {
			t.Fatal("wrong")
		}
	}); objects != 0 {
		t.Errorf("%v objects", objects)
	}
}

// Who has no role for it is told that, and not to come back encrypted.
func TestTheRoleIsLookedAtBeforeTheChannel(t *testing.T) {
	s := newSpace(t)
	n, err := s.AddNode(NodeSpec{
		Class: ua.NodeClassVariable, BrowseName: name("v"), Value: ua.Int32Variant(1),
		AccessRestrictions: new(ua.AccessRestrictionTypeEncryptionRequired),
		RolePermissions:    []ua.RolePermissionType{grant(operator, ua.PermissionTypeRead)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.NewRights([]ua.NodeID{observer}, 0).CheckRead(n, ua.AttributeIDValue); got != ua.BadUserAccessDenied {
		t.Errorf("without the role: %v", got)
	}
	if got := s.NewRights([]ua.NodeID{operator}, 0).CheckRead(n, ua.AttributeIDValue); got != ua.BadSecurityModeInsufficient {
		t.Errorf("with the role: %v", got)
	}
}
