// Package ns0 holds the standard's own address space, namespace 0, as static
// tables.
//
// It owns data only: arrays of constants that the linker places into the
// program, with no code that runs at start and nothing on the heap. Package
// addrspace turns them into nodes. The tables are written by the generator in
// codec/internal/gen from the OPC Foundation's NodeSet2 and leave out
// description texts, nodes that are for modelling tools only, and the content
// of the two deprecated type dictionaries (i=7617 and i=8252).
package ns0

// Node is one node of namespace 0. Fields that do not apply to its class are
// zero. All ids are numeric and in namespace 0.
type Node struct {
	ID          uint32
	Class       uint8  // a value of ua.NodeClass
	BrowseName  string // in namespace 0
	DisplayName string // "" when it equals BrowseName

	// Of variables and variable types.
	DataType  uint32
	ValueRank int32
	Dims      string // ArrayDimensions as decimal numbers separated by commas; "" is null
	Value     string // a binary-encoded Variant; "" is null

	// Of variables.
	AccessLevel uint8 // also the UserAccessLevel
	Historizing bool
	MinSampling float64 // milliseconds

	// Of types.
	IsAbstract  bool
	Symmetric   bool
	InverseName string
	Definition  string // DataTypeDefinition as a binary-encoded ExtensionObject; "" is none

	EventNotifier uint8
	Executable    bool   // also UserExecutable
	Declaration   uint32 // the method of the owner's type that a method stands for; 0 is none

	Restrictions uint16 // AccessRestrictions; 0 is none
	Permissions  string // RolePermissions as a binary-encoded Variant; "" is none
}

// Ref is one reference in forward direction.
type Ref struct{ Source, Type, Target uint32 }
