package addrspace

import (
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// The reference types that this package itself asks about have fixed places in
// the table of reference types, so that asking needs no look-up. Place 0 stays
// empty. Their nodes come with namespace 0.
const (
	refHasTypeDefinition uint32 = iota + 1
	refHasSubtype
	refHasProperty
	refHasComponent
	refHasEncoding
	refOrganizes
	refHierarchical
	refFree // the first place for all others
)

var fixedReferenceTypes = map[uint32]uint32{
	id.HasTypeDefinition:      refHasTypeDefinition,
	id.HasSubtype:             refHasSubtype,
	id.HasProperty:            refHasProperty,
	id.HasComponent:           refHasComponent,
	id.HasEncoding:            refHasEncoding,
	id.Organizes:              refOrganizes,
	id.HierarchicalReferences: refHierarchical,
}

// The node classes as they are kept in a node (ua.NodeClass is four bytes wide).
const (
	classObject        = uint8(ua.NodeClassObject)
	classVariable      = uint8(ua.NodeClassVariable)
	classMethod        = uint8(ua.NodeClassMethod)
	classObjectType    = uint8(ua.NodeClassObjectType)
	classVariableType  = uint8(ua.NodeClassVariableType)
	classReferenceType = uint8(ua.NodeClassReferenceType)
	classDataType      = uint8(ua.NodeClassDataType)
	classView          = uint8(ua.NodeClassView)
)

// ns0ID is the NodeId of a node of the standard.
func ns0ID(n uint32) ua.NodeID { return ua.NumericID(0, n) }
