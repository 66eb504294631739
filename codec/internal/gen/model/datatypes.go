package model

import (
	"fmt"
	"strings"
)

// addNodeSetTypes adds the structures and enumerations that the NodeSet
// defines and the binary schema does not know yet: the schema is published
// less often than the NodeSet.
func (m *Model) addNodeSetTypes() error {
	for _, n := range m.NodeSet.Nodes {
		name := n.Symbol()
		if n.XMLName.Local != "UADataType" || n.Definition == nil ||
			m.structures[name] != nil || m.enums[name] != nil {
			continue
		}
		if _, ok := Builtin[name]; ok {
			continue
		}
		base, err := m.NodeSet.BaseOf(n.ID)
		if err != nil {
			return err
		}
		switch {
		case base == idStructure:
			st, err := m.structureOf(n)
			if err != nil {
				return err
			}
			m.structures[name] = st
		case base == idEnumeration || n.Definition.IsOptionSet:
			e, err := enumOf(n, base)
			if err != nil {
				return err
			}
			m.enums[name] = e
		default:
			return fmt.Errorf("model: data type %s has a definition but is no structure, enumeration or option set", name)
		}
	}
	return nil
}

// Supertype returns the data type that a data type derives from, 0 at the top.
func (s *NodeSet) Supertype(id uint32) (uint32, error) {
	if s.supertypes == nil {
		s.supertypes = map[uint32]uint32{}
		for _, n := range s.Nodes {
			references, err := s.Forward(n)
			if err != nil {
				return 0, err
			}
			for _, r := range references {
				if r.Type == HasSubtype {
					s.supertypes[r.Target] = r.Source
				}
			}
		}
	}
	return s.supertypes[id], nil
}

// BaseOf walks up to the built-in type, Structure (22) or Enumeration (29)
// that decides how values of a data type are encoded.
func (s *NodeSet) BaseOf(id uint32) (uint32, error) {
	for start := id; ; {
		if id > 0 && id <= 25 || id == idEnumeration {
			return id, nil
		}
		up, err := s.Supertype(id)
		if err != nil {
			return 0, err
		}
		if up == 0 {
			// The abstract number types stand for any of their subtypes.
			if id >= 26 && id <= 28 {
				return 24, nil
			}
			return 0, fmt.Errorf("model: data type %d leads to no built-in type", start)
		}
		if id >= 26 && id <= 28 {
			return 24, nil
		}
		id = up
	}
}

// isUnion tells whether a data type derives from Union.
func (s *NodeSet) isUnion(id uint32) (bool, error) {
	for id != 0 {
		if id == idUnion {
			return true, nil
		}
		up, err := s.Supertype(id)
		if err != nil {
			return false, err
		}
		id = up
	}
	return false, nil
}

// structureOf builds a structure from the DataTypeDefinition of a node,
// inherited fields first (Part 6, 5.2.6).
func (m *Model) structureOf(n *Node) (*Structure, error) {
	st := &Structure{Name: n.Symbol()}
	union, err := m.NodeSet.isUnion(n.ID)
	if err != nil {
		return nil, err
	}
	if union {
		st.Kind = StructureUnion
	}
	up, err := m.NodeSet.Supertype(n.ID)
	if err != nil {
		return nil, err
	}
	if base := m.NodeSet.Node(up); base != nil && base.Definition != nil {
		inherited := m.structures[base.Symbol()]
		if inherited == nil {
			if inherited, err = m.structureOf(base); err != nil {
				return nil, err
			}
		}
		st.Kind = max(st.Kind, inherited.Kind)
		for _, f := range inherited.Fields {
			again := *f
			again.Inherited = true
			st.Fields = append(st.Fields, &again)
		}
	}
	for _, f := range n.Definition.Fields {
		id, err := m.NodeSet.Resolve(f.DataType, 24)
		if err != nil {
			return nil, err
		}
		field := &Field{Name: f.Name, Optional: f.IsOptional}
		if f.ValueRank != nil && *f.ValueRank >= 1 {
			if *f.ValueRank > 1 {
				return nil, fmt.Errorf("model: %s.%s: multi-dimensional fields are not supported", st.Name, f.Name)
			}
			field.Array = true
		}
		if field.Type, err = m.fieldType(id, f.AllowSubTypes); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", st.Name, f.Name, err)
		}
		switch {
		case st.Kind == StructureUnion:
			field.Switch = uint32(len(st.Fields) + 1)
		case field.Optional:
			st.Kind = StructureOptional
			for _, other := range st.Fields {
				if other.Optional {
					field.Switch++
				}
			}
		}
		st.Fields = append(st.Fields, field)
	}
	return st, nil
}

// fieldType names the type that a field of a data type is encoded as.
func (m *Model) fieldType(id uint32, allowSubTypes bool) (string, error) {
	base, err := m.NodeSet.BaseOf(id)
	if err != nil {
		return "", err
	}
	n := m.NodeSet.Node(id)
	if n == nil {
		return "", fmt.Errorf("model: no data type %d in the nodeset", id)
	}
	switch {
	case base == idStructure && (id == idStructure || n.IsAbstract || allowSubTypes):
		return "ExtensionObject", nil
	case base == idStructure:
		return n.Symbol(), nil
	case base == idEnumeration && id == idEnumeration:
		return "Int32", nil
	case base == idEnumeration, n.Definition != nil && n.Definition.IsOptionSet:
		return n.Symbol(), nil
	}
	for name, number := range Builtin {
		if number == base {
			return name, nil
		}
	}
	return "", fmt.Errorf("model: data type %d has the unknown base %d", id, base)
}

// enumOf builds an enumeration or option set from the definition of a node.
func enumOf(n *Node, base uint32) (*Enum, error) {
	e := &Enum{Name: n.Symbol(), Bits: 32, OptionSet: n.Definition.IsOptionSet}
	if e.OptionSet {
		bits, ok := map[uint32]int{3: 8, 5: 16, 7: 32, 9: 64}[base]
		if !ok {
			return nil, fmt.Errorf("model: option set %s is no unsigned integer", e.Name)
		}
		e.Bits = bits
		e.Values = append(e.Values, EnumValue{"None", 0})
	}
	for _, f := range n.Definition.Fields {
		if f.Value == nil {
			return nil, fmt.Errorf("model: %s.%s has no value", e.Name, f.Name)
		}
		value := *f.Value
		if e.OptionSet {
			value = 1 << value
		}
		e.Values = append(e.Values, EnumValue{strings.ReplaceAll(f.Name, " ", ""), value})
	}
	return e, nil
}
