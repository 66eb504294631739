package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/uahive/uahive/codec/internal/gen/model"
	"github.com/uahive/uahive/codec/internal/gen/source"
	"github.com/uahive/uahive/codec/ua"
)

// classes are the node classes by the name of their element.
var classes = map[string]ua.NodeClass{
	"UAObject": ua.NodeClassObject, "UAVariable": ua.NodeClassVariable, "UAMethod": ua.NodeClassMethod,
	"UAObjectType": ua.NodeClassObjectType, "UAVariableType": ua.NodeClassVariableType,
	"UAReferenceType": ua.NodeClassReferenceType, "UADataType": ua.NodeClassDataType, "UAView": ua.NodeClassView,
}

const (
	baseDataType = 24
	scalar       = -1 // the ValueRank of what does not say otherwise (Part 6, F.9)
	currentRead  = 1  // the AccessLevel of what does not say otherwise
)

// dictionaries are the two variables that hold the binary and the XML schema
// of the standard as text, 750 KiB of it. They belong to the deprecated way of
// describing types, which DataTypeDefinition replaced in 1.04; no one needs a
// dictionary to decode the standard's own types, so their values stay empty.
var dictionaries = map[uint32]bool{7617: true, 8252: true}

// generate returns the files of addrspace/ns0.
func generate(set *model.NodeSet) (map[string]*source.File, error) {
	var nodes []*model.Node
	for _, n := range set.Nodes {
		// Such nodes help modelling tools and are not part of an address
		// space (Part 6, F.5).
		if !n.DesignToolOnly {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b *model.Node) int { return cmp.Compare(a.ID, b.ID) })
	f := &source.File{Package: "ns0"}
	if len(set.Models) != 1 {
		return nil, fmt.Errorf("ns0: %d models, not 1", len(set.Models))
	}
	f.P("// What the tables were made from.")
	f.P("const (")
	f.P("Version = %q", set.Models[0].Version)
	f.P("PublicationDate = %q", set.Models[0].PublicationDate)
	f.P(")")
	f.P("")
	f.P("// Nodes are the nodes of namespace 0, ascending by id.")
	f.P("var Nodes = [...]Node{")
	for _, n := range nodes {
		line, err := node(set, n)
		if err != nil {
			return nil, fmt.Errorf("ns0: node %d: %w", n.ID, err)
		}
		f.P("%s,", line)
	}
	f.P("}")
	references, err := references(set, nodes)
	if err != nil {
		return nil, err
	}
	r := &source.File{Package: "ns0"}
	r.P("// Refs are the references of namespace 0 in forward direction, each once,")
	r.P("// ascending by source.")
	r.P("var Refs = [...]Ref{")
	for _, ref := range references {
		r.P("{%d, %d, %d},", ref.Source, ref.Type, ref.Target)
	}
	r.P("}")
	return map[string]*source.File{"nodes_gen.go": f, "refs_gen.go": r}, nil
}

// references collects what stands at the nodes, in either direction and
// possibly at both ends. Below one source, the order is that of the document.
func references(set *model.NodeSet, nodes []*model.Node) ([]model.Reference, error) {
	var out []model.Reference
	seen := map[model.Reference]bool{}
	known := map[uint32]bool{}
	for _, n := range nodes {
		known[n.ID] = true
	}
	// The document's order groups what belongs together, the order by id does not.
	for _, n := range set.Nodes {
		list, err := set.Forward(n)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if n.DesignToolOnly || seen[r] {
				continue
			}
			if !known[r.Source] || !known[r.Type] || !known[r.Target] {
				return nil, fmt.Errorf("ns0: reference %v has an end outside of the nodeset", r)
			}
			seen[r] = true
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b model.Reference) int { return cmp.Compare(a.Source, b.Source) })
	return out, nil
}

// node prints one element of the table; fields that are zero are left out.
func node(set *model.NodeSet, n *model.Node) (string, error) {
	class, ok := classes[n.XMLName.Local]
	if !ok {
		return "", fmt.Errorf("unknown element %s", n.XMLName.Local)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "{ID: %d, Class: %d, BrowseName: %q", n.ID, class, n.BrowseName)
	put := func(name, layout string, value any, show bool) {
		if show {
			fmt.Fprintf(&out, ", %s: "+layout, name, value)
		}
	}
	put("DisplayName", "%q", n.DisplayName, n.DisplayName != n.BrowseName)
	if class == ua.NodeClassVariable || class == ua.NodeClassVariableType {
		dataType, err := set.Resolve(n.DataType, baseDataType)
		if err != nil {
			return "", err
		}
		rank := int32(scalar)
		if n.ValueRank != nil {
			rank = *n.ValueRank
		}
		put("DataType", "%d", dataType, true)
		put("ValueRank", "%d", rank, rank != 0)
		put("Dims", "%q", n.Dimensions, n.Dimensions != "")
	}
	if class == ua.NodeClassVariable {
		access := uint32(currentRead)
		if n.AccessLevel != nil {
			access = *n.AccessLevel
		}
		if access > 0xff {
			return "", fmt.Errorf("access level %#x needs AccessLevelEx", access)
		}
		put("AccessLevel", "%d", access, true)
		put("MinSampling", "%v", n.MinSampling, n.MinSampling != 0)
		put("Historizing", "%v", true, n.Historizing)
	}
	put("IsAbstract", "%v", true, n.IsAbstract)
	put("Symmetric", "%v", true, n.Symmetric)
	put("InverseName", "%q", n.InverseName, n.InverseName != "")
	put("EventNotifier", "%d", n.EventNotifier, n.EventNotifier != 0)
	if class == ua.NodeClassMethod {
		put("Executable", "%v", true, n.Executable == nil || *n.Executable)
		declaration, err := set.Resolve(n.Declaration, 0)
		if err != nil {
			return "", err
		}
		put("Declaration", "%d", declaration, declaration != 0)
	}
	if n.Restrictions != nil {
		put("Restrictions", "%d", *n.Restrictions, *n.Restrictions != 0)
	}
	permissions, err := permissions(set, n)
	if err != nil {
		return "", err
	}
	put("Permissions", "%q", permissions, permissions != "")
	definition, err := definition(set, n)
	if err != nil {
		return "", err
	}
	put("Definition", "%q", definition, definition != "")
	if n.Value != nil && !dictionaries[n.ID] {
		value, err := encodeValue(n.Value)
		if err != nil {
			return "", err
		}
		put("Value", "%q", value, true)
	}
	return out.String() + "}", nil
}

// permissions encodes the RolePermissions attribute, "" when the node leaves
// it to the namespace's defaults.
func permissions(set *model.NodeSet, n *model.Node) (string, error) {
	if len(n.RolePermissions) == 0 {
		return "", nil
	}
	var list []ua.ExtensionObject
	for _, p := range n.RolePermissions {
		role, err := set.Resolve(p.Role, 0)
		if err != nil {
			return "", err
		}
		list = append(list, ua.ObjectOf(&ua.RolePermissionType{
			RoleID: ua.NumericID(0, role), Permissions: ua.PermissionType(p.Permissions),
		}))
	}
	return encodeVariant(list)
}
