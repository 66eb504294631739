package ua

// TypeID is the number of a built-in type (Part 6, 5.1.2). It is also the
// numeric NodeId of the type's DataType node in namespace 0.
type TypeID uint8

// The built-in types.
const (
	TypeNull            TypeID = 0
	TypeBoolean         TypeID = 1
	TypeSByte           TypeID = 2
	TypeByte            TypeID = 3
	TypeInt16           TypeID = 4
	TypeUInt16          TypeID = 5
	TypeInt32           TypeID = 6
	TypeUInt32          TypeID = 7
	TypeInt64           TypeID = 8
	TypeUInt64          TypeID = 9
	TypeFloat           TypeID = 10
	TypeDouble          TypeID = 11
	TypeString          TypeID = 12
	TypeDateTime        TypeID = 13
	TypeGuid            TypeID = 14
	TypeByteString      TypeID = 15
	TypeXMLElement      TypeID = 16
	TypeNodeID          TypeID = 17
	TypeExpandedNodeID  TypeID = 18
	TypeStatusCode      TypeID = 19
	TypeQualifiedName   TypeID = 20
	TypeLocalizedText   TypeID = 21
	TypeExtensionObject TypeID = 22
	TypeDataValue       TypeID = 23
	TypeVariant         TypeID = 24
	TypeDiagnosticInfo  TypeID = 25
)

var typeNames = [...]string{
	"Null", "Boolean", "SByte", "Byte", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64",
	"Float", "Double", "String", "DateTime", "Guid", "ByteString", "XmlElement", "NodeId",
	"ExpandedNodeId", "StatusCode", "QualifiedName", "LocalizedText", "Structure", "DataValue",
	"BaseDataType", "DiagnosticInfo",
}

// String returns the BrowseName of the type's DataType node, which is
// Structure for an ExtensionObject and BaseDataType for a Variant.
func (t TypeID) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "Reserved"
}
