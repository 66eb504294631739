package main

import (
	"fmt"

	"github.com/uahive/uahive/codec/internal/gen/model"
	"github.com/uahive/uahive/codec/internal/gen/source"
)

// attributes are the ids of Part 6, A.1 in order, the first being 1.
var attributes = []string{
	"NodeId", "NodeClass", "BrowseName", "DisplayName", "Description", "WriteMask", "UserWriteMask",
	"IsAbstract", "Symmetric", "InverseName", "ContainsNoLoops", "EventNotifier", "Value", "DataType",
	"ValueRank", "ArrayDimensions", "AccessLevel", "UserAccessLevel", "MinimumSamplingInterval",
	"Historizing", "Executable", "UserExecutable", "DataTypeDefinition", "RolePermissions",
	"UserRolePermissions", "AccessRestrictions", "AccessLevelEx",
}

func emitEnums(enums []*model.Enum) *source.File {
	f := &source.File{Package: "ua"}
	emitAttributes(f)
	for _, e := range enums {
		if e.OptionSet {
			emitOptionSet(f, e)
		} else {
			emitEnum(f, e)
		}
	}
	return f
}

func emitAttributes(f *source.File) {
	f.P("// AttributeID numbers the attributes of nodes (Part 6, A.1).")
	f.P("type AttributeID uint32")
	f.P("")
	f.P("// The attributes.")
	f.P("const (")
	for i, name := range attributes {
		f.P("AttributeID%s AttributeID = %d", goName(name), i+1)
	}
	f.P(")")
	f.P("")
	f.P("// String returns the standard's name of the attribute.")
	f.P("func (v AttributeID) String() string {")
	f.P("switch v {")
	for i, name := range attributes {
		f.P("case %d:", i+1)
		f.P("return %q", name)
	}
	f.P("}")
	f.P("return numbered(\"AttributeId\", int64(v))")
	f.P("}")
	f.P("")
}

// emitEnum prints an enumeration, an Int32 on the wire (Part 6, 5.2.4).
func emitEnum(f *source.File, e *model.Enum) {
	name := goName(e.Name)
	f.P("// %s is the enumeration of that name.", name)
	f.P("type %s int32", name)
	f.P("")
	constants(f, e, name)
	f.P("// DataTypeNodeID returns the id of the data type, i=%d.", e.DataTypeID)
	f.P("func (%s) DataTypeNodeID() NodeID { return NumericID(0, %d) }", name, e.DataTypeID)
	f.P("")
	f.P("// String returns the standard's name of the value.")
	f.P("func (v %s) String() string {", name)
	f.P("switch v {")
	seen := map[int64]bool{}
	for _, v := range e.Values {
		if !seen[v.Value] {
			seen[v.Value] = true
			f.P("case %d:", v.Value)
			f.P("return %q", v.Name)
		}
	}
	f.P("}")
	f.P("return numbered(%q, int64(v))", e.Name)
	f.P("}")
	f.P("")
}

// emitOptionSet prints an option set, an unsigned integer of its own width.
func emitOptionSet(f *source.File, e *model.Enum) {
	name := goName(e.Name)
	f.P("// %s is the option set of that name.", name)
	f.P("type %s uint%d", name, e.Bits)
	f.P("")
	constants(f, e, name)
	f.P("// DataTypeNodeID returns the id of the data type, i=%d.", e.DataTypeID)
	f.P("func (%s) DataTypeNodeID() NodeID { return NumericID(0, %d) }", name, e.DataTypeID)
	f.P("")
	f.P("// String returns the standard's names of the bits that are set.")
	f.P("func (v %s) String() string {", name)
	f.P("return flags(uint64(v), []flag{")
	for _, v := range e.Values {
		if v.Value > 0 && v.Value&(v.Value-1) == 0 {
			f.P("{%#x, %q},", v.Value, v.Name)
		}
	}
	f.P("})")
	f.P("}")
	f.P("")
}

func constants(f *source.File, e *model.Enum, name string) {
	f.P("// The values of %s.", name)
	f.P("const (")
	for _, v := range e.Values {
		value := fmt.Sprint(v.Value)
		if e.OptionSet {
			value = fmt.Sprintf("%#x", v.Value)
		}
		f.P("%s%s %s = %s", name, goName(v.Name), name, value)
	}
	f.P(")")
	f.P("")
}
