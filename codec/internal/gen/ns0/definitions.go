package main

import (
	"fmt"

	"github.com/uahive/uahive/codec/internal/gen/model"
	"github.com/uahive/uahive/codec/ua"
)

// definition encodes the DataTypeDefinition attribute (Part 3, 8.47-8.52) as
// an ExtensionObject, "" for nodes without one. Descriptions are left out.
func definition(set *model.NodeSet, n *model.Node) (string, error) {
	if n.Definition == nil {
		return "", nil
	}
	base, err := set.BaseOf(n.ID)
	if err != nil {
		return "", err
	}
	var value ua.Structure
	if base == uint32(ua.TypeExtensionObject) {
		if value, err = structureDefinition(set, n); err != nil {
			return "", err
		}
	} else if len(n.Definition.Fields) > 0 {
		value = enumDefinition(n)
	} else {
		return "", nil // Enumeration itself
	}
	x := ua.ObjectOf(value)
	return string(x.AppendTo(nil)), nil
}

func enumDefinition(n *model.Node) *ua.EnumDefinition {
	d := new(ua.EnumDefinition)
	for _, f := range n.Definition.Fields {
		field := ua.EnumField{Name: f.Name, DisplayName: ua.LocalizedText{Text: f.Name}}
		if f.Value != nil {
			field.Value = *f.Value // for an option set, the number of the bit
		}
		d.Fields = append(d.Fields, field)
	}
	return d
}

func structureDefinition(set *model.NodeSet, n *model.Node) (*ua.StructureDefinition, error) {
	d := new(ua.StructureDefinition)
	// Part 3, 8.48: an abstract type has no default encoding.
	if encoding := set.BinaryEncoding(n.ID); encoding != 0 && !n.IsAbstract {
		d.DefaultEncodingID = ua.NumericID(0, encoding)
	}
	up, err := set.Supertype(n.ID)
	if err != nil {
		return nil, err
	}
	d.BaseDataType = ua.NumericID(0, up)
	// Part 3, 8.48: the list begins with the fields of the base type.
	var chain []*model.Node
	union := false
	for at := n; at != nil; {
		chain = append([]*model.Node{at}, chain...)
		up, err := set.Supertype(at.ID)
		if err != nil {
			return nil, err
		}
		union = union || up == unionDataType
		at = set.Node(up)
	}
	optional, subtyped := false, false
	for _, at := range chain {
		if at.Definition == nil {
			continue
		}
		for _, f := range at.Definition.Fields {
			dataType, err := set.Resolve(f.DataType, baseDataType)
			if err != nil {
				return nil, err
			}
			field := ua.StructureField{
				Name: f.Name, DataType: ua.NumericID(0, dataType), ValueRank: scalar,
				MaxStringLength: f.MaxString, IsOptional: f.IsOptional || f.AllowSubTypes,
			}
			if f.ValueRank != nil {
				field.ValueRank = *f.ValueRank
			}
			if field.ValueRank > 0 {
				field.ArrayDimensions = make([]uint32, field.ValueRank)
				if f.Dimensions != "" && f.Dimensions != "0" {
					return nil, fmt.Errorf("field %s has fixed dimensions %q", f.Name, f.Dimensions)
				}
			}
			optional = optional || f.IsOptional
			subtyped = subtyped || f.AllowSubTypes
			d.Fields = append(d.Fields, field)
		}
	}
	switch {
	case optional && subtyped:
		return nil, fmt.Errorf("%s has optional and subtyped fields, which Part 3, 8.49 excludes", n.BrowseName)
	case union && subtyped:
		d.StructureType = ua.StructureTypeUnionWithSubtypedValues
	case union:
		d.StructureType = ua.StructureTypeUnion
	case subtyped:
		d.StructureType = ua.StructureTypeStructureWithSubtypedValues
	case optional:
		d.StructureType = ua.StructureTypeStructureWithOptionalFields
	}
	return d, nil
}

const unionDataType = 12756
