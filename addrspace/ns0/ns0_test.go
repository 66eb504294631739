package ns0

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

func index(t *testing.T) map[uint32]*Node {
	t.Helper()
	nodes := make(map[uint32]*Node, len(Nodes))
	for i := range Nodes {
		n := &Nodes[i]
		if i > 0 && Nodes[i-1].ID >= n.ID {
			t.Fatalf("node %d does not ascend", n.ID)
		}
		nodes[n.ID] = n
	}
	return nodes
}

func variant(t *testing.T, n *Node, encoded string) ua.Variant {
	t.Helper()
	var v ua.Variant
	d := codec.NewDecoder([]byte(encoded), nil)
	v.DecodeFrom(d)
	if d.Err() != nil || d.Remaining() != 0 || string(v.AppendTo(nil)) != encoded {
		t.Fatalf("node %d: %v, %d bytes left", n.ID, d.Err(), d.Remaining())
	}
	return v
}

func TestCounts(t *testing.T) {
	classes := map[ua.NodeClass]int{}
	values, definitions, permissions := 0, 0, 0
	for i := range Nodes {
		n := &Nodes[i]
		classes[ua.NodeClass(n.Class)]++
		for text, count := range map[string]*int{n.Value: &values} {
			if text != "" {
				*count++
			}
		}
		if n.Definition != "" {
			definitions++
		}
		if n.Permissions != "" {
			permissions++
		}
	}
	want := map[ua.NodeClass]int{
		ua.NodeClassObject: 909, ua.NodeClassVariable: 3369, ua.NodeClassMethod: 462, ua.NodeClassObjectType: 281,
		ua.NodeClassVariableType: 64, ua.NodeClassReferenceType: 80, ua.NodeClassDataType: 308,
	}
	for class, n := range want {
		if classes[class] != n {
			t.Errorf("%d nodes of class %v, want %d", classes[class], class, n)
		}
	}
	if len(classes) != len(want) {
		t.Errorf("classes %v", classes)
	}
	if values != 1281 || definitions != 250 || permissions != 557 {
		t.Errorf("%d values, %d definitions, %d permissions", values, definitions, permissions)
	}
}

func TestReferencesHaveBothEndsAndStandOnce(t *testing.T) {
	nodes := index(t)
	seen := map[Ref]bool{}
	for i, r := range Refs {
		if i > 0 && Refs[i-1].Source > r.Source {
			t.Fatalf("%v does not ascend", r)
		}
		if seen[r] {
			t.Errorf("%v stands twice", r)
		}
		seen[r] = true
		if nodes[r.Source] == nil || nodes[r.Target] == nil {
			t.Errorf("%v has an end that does not exist", r)
		}
		if kind := nodes[r.Type]; kind == nil || ua.NodeClass(kind.Class) != ua.NodeClassReferenceType {
			t.Errorf("%v has no reference type", r)
		}
	}
}

func TestTheTreeHangsTogether(t *testing.T) {
	nodes := index(t)
	typed := map[uint32]int{}
	parents := map[uint32]int{}
	children := map[uint32][]uint32{}
	for _, r := range Refs {
		switch r.Type {
		case id.HasTypeDefinition:
			typed[r.Source]++
		case id.HasSubtype:
			parents[r.Target]++
		}
		if r.Type != id.HasTypeDefinition && r.Type != id.HasModellingRule {
			children[r.Source] = append(children[r.Source], r.Target)
		}
	}
	for _, n := range []uint32{id.Server, id.Server_ServerStatus_CurrentTime, id.Server_ServerCapabilities_OperationLimits_MaxNodesPerRead} {
		if nodes[n] == nil {
			t.Errorf("there is no node %d", n)
		}
	}
	reached := map[uint32]bool{}
	queue := []uint32{id.RootFolder}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if !reached[at] {
			reached[at] = true
			queue = append(queue, children[at]...)
		}
	}
	for i := range Nodes {
		n := &Nodes[i]
		switch ua.NodeClass(n.Class) {
		case ua.NodeClassObject, ua.NodeClassVariable:
			if typed[n.ID] != 1 {
				t.Errorf("%d %s has %d type definitions", n.ID, n.BrowseName, typed[n.ID])
			}
		case ua.NodeClassMethod:
			if !n.Executable {
				t.Errorf("method %d is not executable", n.ID)
			}
			if d := nodes[n.Declaration]; n.Declaration != 0 && (d == nil || ua.NodeClass(d.Class) != ua.NodeClassMethod) {
				t.Errorf("method %d stands for %d", n.ID, n.Declaration)
			}
		default:
			root := slices.Contains([]uint32{id.BaseObjectType, id.BaseVariableType, id.References, id.BaseDataType}, n.ID)
			if (parents[n.ID] == 0) != root || parents[n.ID] > 1 {
				t.Errorf("type %d %s has %d supertypes", n.ID, n.BrowseName, parents[n.ID])
			}
		}
		if n.BrowseName == "" || n.DisplayName == n.BrowseName {
			t.Errorf("node %d is called %q and shown as %q", n.ID, n.BrowseName, n.DisplayName)
		}
		// Properties and methods that any node may have stand alone in the
		// standard; types must be found from the root.
		isType := n.Class&uint8(ua.NodeClassObjectType|ua.NodeClassVariableType|ua.NodeClassReferenceType|ua.NodeClassDataType) != 0
		if isType && !reached[n.ID] {
			t.Errorf("nothing leads from the root to %d %s", n.ID, n.BrowseName)
		}
	}
}

func TestValuesDecodeAndFitTheirDeclaration(t *testing.T) {
	nodes := index(t)
	super := map[uint32]uint32{}
	for _, r := range Refs {
		if r.Type == id.HasSubtype {
			super[r.Target] = r.Source
		}
	}
	for i := range Nodes {
		n := &Nodes[i]
		if n.DataType != 0 {
			if d := nodes[n.DataType]; d == nil || ua.NodeClass(d.Class) != ua.NodeClassDataType {
				t.Errorf("node %d has the data type %d", n.ID, n.DataType)
			}
		}
		dims := 0
		if n.Dims != "" {
			for text := range strings.SplitSeq(n.Dims, ",") {
				if _, err := strconv.ParseUint(text, 10, 32); err != nil {
					t.Errorf("node %d has the dimensions %q", n.ID, n.Dims)
				}
				dims++
			}
		}
		if dims != 0 && dims != int(n.ValueRank) {
			t.Errorf("node %d has %d dimensions and rank %d", n.ID, dims, n.ValueRank)
		}
		if n.Value == "" {
			continue
		}
		v := variant(t, n, n.Value)
		if v.IsArray() != (n.ValueRank >= 1) {
			t.Errorf("node %d: array %v, rank %d", n.ID, v.IsArray(), n.ValueRank)
		}
		base := n.DataType
		for base > 25 && base != id.Enumeration {
			base = super[base]
		}
		want := ua.TypeID(base)
		if base == id.Enumeration {
			want = ua.TypeInt32
		}
		if base != id.BaseDataType && v.Type() != want {
			t.Errorf("node %d holds %v, declared is %v", n.ID, v.Type(), want)
		}
		if list, ok := v.Any().([]ua.ExtensionObject); ok {
			for _, x := range list {
				if x.Value == nil {
					t.Errorf("node %d holds an unknown structure %v", n.ID, x.TypeID)
				}
			}
		}
	}
}

func TestGetMonitoredItemsArguments(t *testing.T) {
	n := index(t)[id.Server_GetMonitoredItems_OutputArguments]
	list := variant(t, n, n.Value).Any().([]ua.ExtensionObject)
	if len(list) != 2 {
		t.Fatalf("%d arguments", len(list))
	}
	a, ok := list[1].Value.(*ua.Argument)
	if !ok || a.Name != "ClientHandles" || a.DataType != ua.NumericID(0, id.UInt32) || a.ValueRank != 1 {
		t.Fatalf("%+v", list[1].Value)
	}
}

func TestPermissionsNameRoles(t *testing.T) {
	nodes := index(t)
	for i := range Nodes {
		n := &Nodes[i]
		if n.Permissions == "" {
			continue
		}
		for _, x := range variant(t, n, n.Permissions).Any().([]ua.ExtensionObject) {
			p, ok := x.Value.(*ua.RolePermissionType)
			if !ok || nodes[p.RoleID.Numeric()] == nil || p.Permissions == 0 {
				t.Errorf("node %d: %+v", n.ID, x.Value)
			}
		}
	}
}

func definition(t *testing.T, n *Node) ua.Structure {
	t.Helper()
	var x ua.ExtensionObject
	d := codec.NewDecoder([]byte(n.Definition), nil)
	x.DecodeFrom(d)
	if d.Err() != nil || d.Remaining() != 0 {
		t.Fatalf("node %d: %v", n.ID, d.Err())
	}
	return x.Value
}

// Part 3, 8.48: inherited fields come first, an abstract type has no default
// encoding, and the encoding is the one that package ua decodes.
func TestDefinitions(t *testing.T) {
	nodes := index(t)
	for i := range Nodes {
		n := &Nodes[i]
		if n.Definition == "" {
			continue
		}
		switch d := definition(t, n).(type) {
		case *ua.StructureDefinition:
			encoding := d.DefaultEncodingID.Numeric()
			if (encoding == 0) != n.IsAbstract {
				t.Errorf("%s: encoding %d, abstract %v", n.BrowseName, encoding, n.IsAbstract)
			}
			if encoding != 0 && ua.TypeName(encoding) == "" {
				t.Errorf("%s: encoding %d is unknown to ua", n.BrowseName, encoding)
			}
			for _, f := range d.Fields {
				if nodes[f.DataType.Numeric()] == nil || f.Name == "" {
					t.Errorf("%s: field %+v", n.BrowseName, f)
				}
				if len(f.ArrayDimensions) != max(int(f.ValueRank), 0) {
					t.Errorf("%s.%s: %d dimensions, rank %d", n.BrowseName, f.Name, len(f.ArrayDimensions), f.ValueRank)
				}
			}
		case *ua.EnumDefinition:
			if len(d.Fields) == 0 {
				t.Errorf("%s has no fields", n.BrowseName)
			}
		default:
			t.Errorf("%s: %T", n.BrowseName, d)
		}
	}
	user, _ := definition(t, nodes[id.UserNameIdentityToken]).(*ua.StructureDefinition)
	if user == nil || len(user.Fields) != 4 || user.Fields[0].Name != "PolicyId" ||
		user.BaseDataType != ua.NumericID(0, id.UserIdentityToken) || user.StructureType != ua.StructureTypeStructure {
		t.Errorf("UserNameIdentityToken: %+v", user)
	}
	log, _ := definition(t, nodes[id.LogRecord]).(*ua.StructureDefinition)
	if log == nil || log.StructureType != ua.StructureTypeStructureWithOptionalFields || !log.Fields[2].IsOptional {
		t.Errorf("LogRecord: %+v", log)
	}
	access, _ := definition(t, nodes[id.AccessLevelType]).(*ua.EnumDefinition)
	if access == nil || access.Fields[1].Name != "CurrentWrite" || access.Fields[1].Value != 1 {
		t.Errorf("AccessLevelType: %+v", access)
	}
}
