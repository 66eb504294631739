package model

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Model is the standard as the generators see it. All lists are sorted, so
// that output made from them in order is the same every time.
type Model struct {
	Structures  []*Structure
	Enums       []*Enum
	StatusCodes []StatusCode
	NodeIDs     []NodeIDName
	NodeSet     *NodeSet

	structures map[string]*Structure
	enums      map[string]*Enum
	ids        map[string]uint32
}

// StructureKind tells the three wire forms of a structure (Part 6, 5.2.6-5.2.8).
type StructureKind int

// The wire forms.
const (
	StructurePlain    StructureKind = iota
	StructureOptional               // a UInt32 mask says which optional fields follow
	StructureUnion                  // a UInt32 says which one field follows
)

// Structure is a structured data type with all inherited fields in front.
type Structure struct {
	Name       string
	Kind       StructureKind
	Fields     []*Field
	DataTypeID uint32
	EncodingID uint32 // of the binary encoding; 0 for types that only exist as a base or as JSON
	Part       int    // of the standard; 0 when the NodeSet does not say
	Abstract   bool
}

// Field is one field of a Structure.
type Field struct {
	Name      string
	Type      string // name of a built-in type, a Structure or an Enum
	Array     bool
	Optional  bool
	Switch    uint32 // bit of an optional field, or number of a union's field
	Inherited bool
}

// Enum is an enumeration or an option set.
type Enum struct {
	Name       string
	Bits       int
	OptionSet  bool
	Values     []EnumValue
	DataTypeID uint32
}

// EnumValue is a named number; for an option set the number is the mask.
type EnumValue struct {
	Name  string
	Value int64
}

// Builtin lists the built-in types of Part 6, 5.1.2 by number, except that a
// field is never declared as the abstract number types. Index 24 and 22 carry
// their wire names.
var Builtin = map[string]uint32{
	"Boolean": 1, "SByte": 2, "Byte": 3, "Int16": 4, "UInt16": 5, "Int32": 6, "UInt32": 7,
	"Int64": 8, "UInt64": 9, "Float": 10, "Double": 11, "String": 12, "DateTime": 13, "Guid": 14,
	"ByteString": 15, "XmlElement": 16, "NodeId": 17, "ExpandedNodeId": 18, "StatusCode": 19,
	"QualifiedName": 20, "LocalizedText": 21, "ExtensionObject": 22, "DataValue": 23,
	"Variant": 24, "DiagnosticInfo": 25,
}

// handWritten are schema entries that describe the built-in types themselves.
var handWritten = map[string]bool{
	"NodeIdType": true, "TwoByteNodeId": true, "FourByteNodeId": true, "NumericNodeId": true,
	"StringNodeId": true, "GuidNodeId": true, "ByteStringNodeId": true,
}

// Load reads and joins the inputs.
func Load(in Inputs) (*Model, error) {
	s, err := readSchema(in.Schema)
	if err != nil {
		return nil, err
	}
	set, err := readNodeSet(in.NodeSet)
	if err != nil {
		return nil, err
	}
	official, err := readNodeIDs(in.NodeIDs)
	if err != nil {
		return nil, err
	}
	newer, err := readConstants(in.Constants)
	if err != nil {
		return nil, err
	}
	codes, err := readStatusCodes(in.StatusCode)
	if err != nil {
		return nil, err
	}
	m, err := join(s, set, official, newer)
	if err != nil {
		return nil, err
	}
	m.StatusCodes = codes
	return m, nil
}

// Parse joins a binary schema, a NodeSet and lists of names given as content.
// It is what Load does with files, without status codes.
func Parse(binarySchema, nodeSet []byte, names ...[]NodeIDName) (*Model, error) {
	s, err := parseSchema(binarySchema)
	if err != nil {
		return nil, err
	}
	set, err := parseNodeSet(nodeSet)
	if err != nil {
		return nil, err
	}
	return join(s, set, names...)
}

func join(s *schema, set *NodeSet, lists ...[]NodeIDName) (*Model, error) {
	m := &Model{
		NodeSet: set, structures: map[string]*Structure{}, enums: map[string]*Enum{},
		ids: map[string]uint32{},
	}
	if err := m.joinIDs(lists); err != nil {
		return nil, err
	}
	for i := range s.Structures {
		raw := &s.Structures[i]
		if _, ok := Builtin[raw.Name]; ok || handWritten[raw.Name] {
			continue
		}
		out, err := raw.structure()
		if err != nil {
			return nil, err
		}
		m.structures[out.Name] = out
	}
	for _, e := range s.Enums {
		if handWritten[e.Name] {
			continue
		}
		out := &Enum{Name: e.Name, Bits: e.Bits, OptionSet: e.IsOptionSet}
		for _, v := range e.Values {
			out.Values = append(out.Values, EnumValue{v.Name, v.Value})
		}
		m.enums[e.Name] = out
	}
	if err := m.addNodeSetTypes(); err != nil {
		return nil, err
	}
	for _, st := range m.structures {
		m.identify(st)
		// The JSON envelopes of Part 14 have no binary encoding and no field
		// of any other structure, so nothing could ever carry them here.
		if st.EncodingID == 0 && strings.HasPrefix(st.Name, "Json") {
			continue
		}
		m.Structures = append(m.Structures, st)
	}
	for _, e := range m.enums {
		e.DataTypeID = m.ids[e.Name]
		m.Enums = append(m.Enums, e)
	}
	slices.SortFunc(m.Structures, func(a, b *Structure) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(m.Enums, func(a, b *Enum) int { return cmp.Compare(a.Name, b.Name) })
	return m, m.check()
}

// joinIDs names the nodes of the NodeSet by their paths and takes from the
// lists, the later one winning, what has no node: the types of the services
// and their encodings. The rest of the lists is left out. It names declarations
// that no published NodeSet contains, whose numbers the standard reuses: of
// those that NodeIds.csv once gave away, over six hundred belong to other
// nodes by 1.05.07.
func (m *Model) joinIDs(lists [][]NodeIDName) error {
	for _, n := range m.NodeSet.Nodes {
		if n.DesignToolOnly {
			continue
		}
		name := m.NodeSet.Path(n)
		if other, ok := m.ids[name]; ok {
			return fmt.Errorf("model: nodes %d and %d are both called %s", other, n.ID, name)
		}
		m.ids[name] = n.ID
	}
	listed := map[string]uint32{}
	for _, list := range lists {
		for _, n := range list {
			if m.NodeSet.Node(n.ID) == nil && (n.Type || strings.Contains(n.Name, "_Encoding_Default")) {
				listed[n.Name] = n.ID
			}
		}
	}
	for name, id := range listed {
		if _, ok := m.ids[name]; !ok {
			m.ids[name] = id
		}
	}
	for name, id := range m.ids {
		m.NodeIDs = append(m.NodeIDs, NodeIDName{Name: name, ID: id})
	}
	slices.SortFunc(m.NodeIDs, func(a, b NodeIDName) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Name, b.Name))
	})
	return nil
}

// Path derives the symbolic name of a node from its owners, in the manner of
// NodeIds.csv: Server_ServerStatus_CurrentTime.
func (s *NodeSet) Path(n *Node) string {
	own := identifier(n.Symbol())
	if n.ParentNodeID != "" {
		id, err := s.Resolve(n.ParentNodeID, 0)
		if parent := s.Node(id); err == nil && parent != nil && parent != n {
			return s.Path(parent) + "_" + own
		}
	}
	for _, r := range n.References {
		kind, err := s.Resolve(r.Type, 0)
		if err != nil || kind != HasEncoding {
			continue
		}
		id, err := s.Resolve(r.Target, 0)
		if owner := s.Node(id); err == nil && owner != nil && owner != n {
			return s.Path(owner) + "_Encoding_" + own
		}
	}
	return own
}

var notIdentifier = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// identifier drops what cannot stand in a symbolic name; a browse name in
// angle brackets is a placeholder (Part 3, 6.2.6).
func identifier(name string) string {
	if strings.HasPrefix(name, "<") && strings.HasSuffix(name, ">") {
		name += "_Placeholder"
	}
	return notIdentifier.ReplaceAllString(name, "")
}

// ID returns the number of a symbolic name, 0 when there is none.
func (m *Model) ID(name string) uint32 { return m.ids[name] }

// Structure returns the structure of that name, or nil.
func (m *Model) Structure(name string) *Structure { return m.structures[name] }

// Enum returns the enumeration or option set of that name, or nil.
func (m *Model) Enum(name string) *Enum { return m.enums[name] }

var docPart = regexp.MustCompile(`/Part(\d+)/`)

// identify sets the ids of a structure: from the NodeSet where it has a node,
// else from the name lists (the structures of the services have none).
func (m *Model) identify(st *Structure) {
	st.DataTypeID = m.ids[st.Name]
	st.EncodingID = m.ids[st.Name+"_Encoding_DefaultBinary"]
	n := m.NodeSet.Node(st.DataTypeID)
	if n == nil {
		return
	}
	st.Abstract = n.IsAbstract
	if match := docPart.FindStringSubmatch(n.Documentation); match != nil {
		fmt.Sscan(match[1], &st.Part)
	}
	if id := m.NodeSet.BinaryEncoding(st.DataTypeID); id != 0 {
		st.EncodingID = id
	}
}

// BinaryEncoding returns the id of the "Default Binary" encoding node of a
// data type, 0 when it has none.
func (s *NodeSet) BinaryEncoding(dataType uint32) uint32 {
	if s.encodings == nil {
		s.encodings = map[uint32]uint32{}
		for _, n := range s.Nodes {
			if n.BrowseName != "Default Binary" {
				continue
			}
			references, err := s.Forward(n)
			if err != nil {
				continue
			}
			for _, r := range references {
				if r.Type == HasEncoding && r.Target == n.ID {
					s.encodings[r.Source] = n.ID
				}
			}
		}
	}
	return s.encodings[dataType]
}

// check verifies that every field's type is known and that no structure holds
// itself by value.
func (m *Model) check() error {
	for _, st := range m.Structures {
		for _, f := range st.Fields {
			if _, ok := Builtin[f.Type]; ok || m.structures[f.Type] != nil || m.enums[f.Type] != nil {
				continue
			}
			return fmt.Errorf("model: %s.%s has the unknown type %q", st.Name, f.Name, f.Type)
		}
	}
	return nil
}
