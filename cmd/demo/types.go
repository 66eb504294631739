package main

import (
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
)

// addTypes adds variables of every built-in type, for trying out a client: as
// scalars, arrays and matrices. All of them can be written.
func addTypes(ns *uahive.Namespace) {
	types := ns.Folder("Types", uahive.Description("Every built-in type, to read and write"))
	t := typeFolders{types.Folder("Scalar"), types.Folder("Array")}

	addType(t, "Boolean", true, []bool{true, false, true})
	addType(t, "SByte", int8(-8), []int8{-8, 0, 8})
	addType(t, "Byte", uint8(8), uahive.ByteArray{1, 2, 3})
	addType(t, "Int16", int16(-1600), []int16{-16, 0, 16})
	addType(t, "UInt16", uint16(1600), []uint16{16, 160, 1600})
	addType(t, "Int32", int32(-32), []int32{-32, 0, 32})
	addType(t, "UInt32", uint32(32), []uint32{32, 320, 3200})
	addType(t, "Int64", int64(-64), []int64{-64, 0, 64})
	addType(t, "UInt64", uint64(64), []uint64{64, 640, 6400})
	addType(t, "Float", float32(0.5), []float32{0.25, 0.5, 1})
	addType(t, "Double", 3.141592653589793, []float64{1.5, 2.5, 3.5})
	addType(t, "String", "Grüße aus der Anlage", []string{"one", "two", "three"})

	start := time.Date(2026, time.January, 1, 6, 0, 0, 0, time.UTC)
	addType(t, "DateTime", start, []time.Time{start, start.Add(time.Hour)})
	guid := ua.Guid{0x72, 0x96, 0x2b, 0x91, 0xfa, 0x75, 0x4a, 0xe6, 0x8d, 0x28, 0xb4, 0x04, 0xdc, 0x7d, 0xaf, 0x63}
	addType(t, "Guid", guid, []ua.Guid{guid, {}})
	addType(t, "ByteString", []byte{0xCA, 0xFE}, [][]byte{{1}, {2, 3}})
	addType(t, "XmlElement", ua.XMLElement("<press id='1'/>"), []ua.XMLElement{"<a/>", "<b/>"})
	press := ns.NodeID("Plant.Press1")
	addType(t, "NodeId", press, []ua.NodeID{press, ua.NumericID(0, 2258)})
	far := ua.ExpandedNodeID{NodeID: ua.StringID(0, "Far"), NamespaceURI: "urn:elsewhere"}
	addType(t, "ExpandedNodeId", ua.ExpandedNodeID{NodeID: press}, []ua.ExpandedNodeID{{NodeID: press}, far})
	addType(t, "StatusCode", ua.Good, []ua.StatusCode{ua.Good, ua.BadOutOfRange})
	name := ua.QualifiedName{NamespaceIndex: ns.Index(), Name: "Press1"}
	addType(t, "QualifiedName", name, []ua.QualifiedName{name, {Name: "Server"}})
	text := ua.LocalizedText{Locale: "de", Text: "Druck"}
	addType(t, "LocalizedText", text, []ua.LocalizedText{text, {Locale: "en", Text: "pressure"}})
	object := ua.ObjectOf(&ua.Range{Low: -1, High: 1})
	unit := ua.ObjectOf(&uahive.Celsius)
	addType(t, "ExtensionObject", object, []ua.ExtensionObject{object, unit})
	addType(t, "Variant", ua.DoubleVariant(4.5), []ua.Variant{ua.Int32Variant(7), ua.StringVariant("mixed")})

	matrices := types.Folder("Matrix")
	uahive.AddVariable(matrices, "Double", uahive.MatrixOf([]float64{1, 2, 3}, []float64{4, 5, 6}), uahive.Writable())
	uahive.AddVariable(matrices, "Int32", uahive.MatrixOf([]int32{1, 2, 3}, []int32{4, 5, 6}), uahive.Writable())
}

// typeFolders are where the variables of each type go.
type typeFolders struct{ scalar, array *uahive.Object }

func addType[T, A any](t typeFolders, name string, scalar T, array A) {
	uahive.AddVariable(t.scalar, name, scalar, uahive.Writable())
	uahive.AddVariable(t.array, name, array, uahive.Writable())
}
