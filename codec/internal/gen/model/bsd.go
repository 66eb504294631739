package model

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
)

// schema is a binary schema (Part 6, Annex C) as it stands in the file.
type schema struct {
	Structures []schemaStructure `xml:"StructuredType"`
	Enums      []schemaEnum      `xml:"EnumeratedType"`
	Opaques    []struct {
		Name string `xml:"Name,attr"`
	} `xml:"OpaqueType"`
}

type schemaStructure struct {
	Name     string        `xml:"Name,attr"`
	BaseType string        `xml:"BaseType,attr"`
	Fields   []schemaField `xml:"Field"`
}

type schemaField struct {
	Name        string `xml:"Name,attr"`
	TypeName    string `xml:"TypeName,attr"`
	SourceType  string `xml:"SourceType,attr"` // set on fields repeated from the base type
	Length      int    `xml:"Length,attr"`     // width of a bit field
	LengthField string `xml:"LengthField,attr"`
	SwitchField string `xml:"SwitchField,attr"`
	SwitchValue string `xml:"SwitchValue,attr"`
}

type schemaEnum struct {
	Name        string `xml:"Name,attr"`
	Bits        int    `xml:"LengthInBits,attr"`
	IsOptionSet bool   `xml:"IsOptionSet,attr"`
	Values      []struct {
		Name  string `xml:"Name,attr"`
		Value int64  `xml:"Value,attr"`
	} `xml:"EnumeratedValue"`
}

func readSchema(path string) (*schema, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseSchema(content)
}

func parseSchema(content []byte) (*schema, error) {
	s := new(schema)
	if err := xml.Unmarshal(content, s); err != nil {
		return nil, fmt.Errorf("model: binary schema: %w", err)
	}
	return s, nil
}

// schemaTypes maps the wire names of the schema language to the names that the
// standard gives the built-in types.
var schemaTypes = map[string]string{
	"opc:Boolean": "Boolean", "opc:SByte": "SByte", "opc:Byte": "Byte",
	"opc:Int16": "Int16", "opc:UInt16": "UInt16", "opc:Int32": "Int32", "opc:UInt32": "UInt32",
	"opc:Int64": "Int64", "opc:UInt64": "UInt64", "opc:Float": "Float", "opc:Double": "Double",
	"opc:String": "String", "opc:CharArray": "String", "opc:DateTime": "DateTime", "opc:Guid": "Guid",
	"opc:ByteString": "ByteString",
}

func schemaTypeName(name string) string {
	if builtin, ok := schemaTypes[name]; ok {
		return builtin
	}
	_, local, _ := strings.Cut(name, ":")
	return local
}

// structure turns a schema structure into the model's form: length fields and
// reserved bits vanish, optional fields and unions are recognised.
func (s *schemaStructure) structure() (*Structure, error) {
	out := &Structure{Name: s.Name}
	lengths := map[string]bool{}
	bits := map[string]int{} // name of a presence bit to its position
	position := 0
	for _, f := range s.Fields {
		if f.LengthField != "" {
			lengths[f.LengthField] = true
		}
		if f.TypeName == "opc:Bit" {
			width := max(f.Length, 1)
			if width == 1 {
				bits[f.Name] = position
			}
			position += width
		}
	}
	if position != 0 && position != 32 {
		return nil, fmt.Errorf("model: %s has %d bits of presence mask, not 32 (Part 6, 5.2.7)", s.Name, position)
	}
	if position == 32 {
		out.Kind = StructureOptional
	}
	for _, f := range s.Fields {
		switch {
		case f.TypeName == "opc:Bit" || lengths[f.Name]:
			continue
		case f.Name == "SwitchField" && f.TypeName == "opc:UInt32":
			out.Kind = StructureUnion
			continue
		}
		field := &Field{
			Name: f.Name, Type: schemaTypeName(f.TypeName),
			Array: f.LengthField != "", Inherited: f.SourceType != "",
		}
		if f.SwitchField != "" {
			if out.Kind == StructureUnion {
				if _, err := fmt.Sscan(f.SwitchValue, &field.Switch); err != nil {
					return nil, fmt.Errorf("model: %s.%s: switch value: %w", s.Name, f.Name, err)
				}
			} else {
				bit, ok := bits[f.SwitchField]
				if !ok {
					return nil, fmt.Errorf("model: %s.%s: unknown switch field %q", s.Name, f.Name, f.SwitchField)
				}
				field.Optional, field.Switch = true, uint32(bit)
			}
		}
		out.Fields = append(out.Fields, field)
	}
	return out, nil
}
