package model

import (
	"encoding/xml"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// NodeSet is an information model file (Part 6, Annex F) with the parts that
// the generators need.
type NodeSet struct {
	Models []struct {
		URI             string `xml:"ModelUri,attr"`
		Version         string `xml:"Version,attr"`
		PublicationDate string `xml:"PublicationDate,attr"`
	} `xml:"Models>Model"`
	Aliases []struct {
		Name string `xml:"Alias,attr"`
		ID   string `xml:",chardata"`
	} `xml:"Aliases>Alias"`
	Nodes []*Node `xml:",any"`

	byID       map[uint32]*Node
	aliases    map[string]uint32
	supertypes map[uint32]uint32 // built on first use, as is encodings
	encodings  map[uint32]uint32
}

// Node is one UAObject, UAVariable, ... element.
type Node struct {
	XMLName        xml.Name
	NodeID         string  `xml:"NodeId,attr"`
	BrowseName     string  `xml:"BrowseName,attr"`
	SymbolicName   string  `xml:"SymbolicName,attr"`
	ParentNodeID   string  `xml:"ParentNodeId,attr"`
	Declaration    string  `xml:"MethodDeclarationId,attr"`
	DataType       string  `xml:"DataType,attr"`
	ValueRank      *int32  `xml:"ValueRank,attr"`
	Dimensions     string  `xml:"ArrayDimensions,attr"`
	AccessLevel    *uint32 `xml:"AccessLevel,attr"`
	MinSampling    float64 `xml:"MinimumSamplingInterval,attr"`
	Historizing    bool    `xml:"Historizing,attr"`
	IsAbstract     bool    `xml:"IsAbstract,attr"`
	Symmetric      bool    `xml:"Symmetric,attr"`
	EventNotifier  uint8   `xml:"EventNotifier,attr"`
	ContainsNoLoop bool    `xml:"ContainsNoLoops,attr"`
	Executable     *bool   `xml:"Executable,attr"`
	UserExecutable *bool   `xml:"UserExecutable,attr"`
	Restrictions   *uint16 `xml:"AccessRestrictions,attr"`
	DesignToolOnly bool    `xml:"DesignToolOnly,attr"`
	ReleaseStatus  string  `xml:"ReleaseStatus,attr"`
	DisplayName    string  `xml:"DisplayName"`
	InverseName    string  `xml:"InverseName"`
	Documentation  string  `xml:"Documentation"`
	References     []struct {
		Type    string `xml:"ReferenceType,attr"`
		Forward *bool  `xml:"IsForward,attr"`
		Target  string `xml:",chardata"`
	} `xml:"References>Reference"`
	RolePermissions []struct {
		Permissions uint32 `xml:"Permissions,attr"`
		Role        string `xml:",chardata"`
	} `xml:"RolePermissions>RolePermission"`
	Definition *Definition `xml:"Definition"`
	Value      *Element    `xml:"Value"`

	ID uint32 `xml:"-"`
}

// Definition is the DataTypeDefinition of a UADataType.
type Definition struct {
	Name         string `xml:"Name,attr"`
	SymbolicName string `xml:"SymbolicName,attr"`
	IsOptionSet  bool   `xml:"IsOptionSet,attr"`
	IsUnion      bool   `xml:"IsUnion,attr"`
	Fields       []struct {
		Name          string `xml:"Name,attr"`
		SymbolicName  string `xml:"SymbolicName,attr"`
		DataType      string `xml:"DataType,attr"`
		ValueRank     *int32 `xml:"ValueRank,attr"`
		Dimensions    string `xml:"ArrayDimensions,attr"`
		MaxString     uint32 `xml:"MaxStringLength,attr"`
		Value         *int64 `xml:"Value,attr"`
		IsOptional    bool   `xml:"IsOptional,attr"`
		AllowSubTypes bool   `xml:"AllowSubTypes,attr"`
	} `xml:"Field"`
}

// Element is a piece of XML kept as a tree, the form in which values stand in
// a NodeSet.
type Element struct {
	XMLName  xml.Name
	Text     string     `xml:",chardata"`
	Children []*Element `xml:",any"`
}

// Child returns the first child of that local name, or nil.
func (e *Element) Child(name string) *Element {
	for _, c := range e.Children {
		if c.XMLName.Local == name {
			return c
		}
	}
	return nil
}

func readNodeSet(path string) (*NodeSet, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseNodeSet(content)
}

func parseNodeSet(content []byte) (*NodeSet, error) {
	set := &NodeSet{byID: map[uint32]*Node{}, aliases: map[string]uint32{}}
	if err := xml.Unmarshal(content, set); err != nil {
		return nil, fmt.Errorf("model: nodeset: %w", err)
	}
	for _, a := range set.Aliases {
		id, err := parseID(a.ID)
		if err != nil {
			return nil, err
		}
		set.aliases[a.Name] = id
	}
	nodes := set.Nodes[:0]
	for _, n := range set.Nodes {
		if !strings.HasPrefix(n.XMLName.Local, "UA") {
			continue
		}
		id, err := parseID(n.NodeID)
		if err != nil {
			return nil, err
		}
		if set.byID[id] != nil {
			return nil, fmt.Errorf("model: node %s stands twice in the nodeset", n.NodeID)
		}
		n.ID = id
		if n.BrowseName, err = localName(n.BrowseName); err != nil {
			return nil, err
		}
		set.byID[id] = n
		nodes = append(nodes, n)
	}
	set.Nodes = nodes
	return set, nil
}

// localName strips the namespace that may stand in front of a browse name,
// which is 0 in the standard's own NodeSet.
func localName(name string) (string, error) {
	number, local, ok := strings.Cut(name, ":")
	if !ok {
		return name, nil
	}
	switch namespace, err := strconv.ParseUint(number, 10, 16); {
	case err != nil:
		return name, nil // the colon belongs to the name
	case namespace != 0:
		return "", fmt.Errorf("model: browse name %q is not in namespace 0", name)
	}
	return local, nil
}

// parseID accepts the only form that namespace 0 uses, "i=84".
func parseID(s string) (uint32, error) {
	number, ok := strings.CutPrefix(strings.TrimSpace(s), "i=")
	if !ok {
		return 0, fmt.Errorf("model: node id %q is not numeric in namespace 0", s)
	}
	id, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("model: node id %q: %w", s, err)
	}
	return uint32(id), nil
}

// Node returns the node of that id, or nil.
func (s *NodeSet) Node(id uint32) *Node { return s.byID[id] }

// Resolve turns an id or an alias into a number; an empty string into def.
func (s *NodeSet) Resolve(text string, def uint32) (uint32, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return def, nil
	}
	if id, ok := s.aliases[text]; ok {
		return id, nil
	}
	return parseID(text)
}

// Reference is one resolved reference, always in forward direction.
type Reference struct{ Source, Type, Target uint32 }

// Forward returns the references that stand at a node, turned forward.
func (s *NodeSet) Forward(n *Node) ([]Reference, error) {
	var out []Reference
	for _, r := range n.References {
		kind, err := s.Resolve(r.Type, 0)
		if err != nil {
			return nil, err
		}
		target, err := s.Resolve(r.Target, 0)
		if err != nil {
			return nil, err
		}
		if r.Forward == nil || *r.Forward {
			out = append(out, Reference{n.ID, kind, target})
		} else {
			out = append(out, Reference{target, kind, n.ID})
		}
	}
	return out, nil
}

// Numbers of the reference types and nodes that carry meaning here.
const (
	HasEncoding = 38
	HasSubtype  = 45

	idStructure   = 22
	idEnumeration = 29
	idUnion       = 12756
)

// Symbol is the name of a node in source code: the SymbolicName where the
// browse name is no identifier.
func (n *Node) Symbol() string {
	if n.SymbolicName != "" {
		return n.SymbolicName
	}
	return n.BrowseName
}
