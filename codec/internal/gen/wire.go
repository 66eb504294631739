package main

import (
	"fmt"

	"github.com/uahive/uahive/codec/internal/gen/model"
)

// wire says how values of one type are declared, written and read.
type wire struct {
	goType string
	min    int  // bytes that the shortest encoding takes
	fixed  bool // memory layout equals the wire's, see codec.Fixed
	depth  bool // can nest, so the encoder carries a depth
	append string
	read   string // an expression, or "" when the value has DecodeFrom
}

// builtins are the built-in types of Part 6, 5.2.2. The append and read
// layouts take the value, respectively nothing.
var builtins = map[string]wire{
	"Boolean":         {goType: "bool", min: 1, fixed: true, append: "codec.AppendBool(dst, %s)", read: "d.Bool()"},
	"SByte":           {goType: "int8", min: 1, fixed: true, append: "codec.AppendInt8(dst, %s)", read: "d.Int8()"},
	"Byte":            {goType: "uint8", min: 1, fixed: true, append: "codec.AppendUint8(dst, %s)", read: "d.Uint8()"},
	"Int16":           {goType: "int16", min: 2, fixed: true, append: "codec.AppendInt16(dst, %s)", read: "d.Int16()"},
	"UInt16":          {goType: "uint16", min: 2, fixed: true, append: "codec.AppendUint16(dst, %s)", read: "d.Uint16()"},
	"Int32":           {goType: "int32", min: 4, fixed: true, append: "codec.AppendInt32(dst, %s)", read: "d.Int32()"},
	"UInt32":          {goType: "uint32", min: 4, fixed: true, append: "codec.AppendUint32(dst, %s)", read: "d.Uint32()"},
	"Int64":           {goType: "int64", min: 8, fixed: true, append: "codec.AppendInt64(dst, %s)", read: "d.Int64()"},
	"UInt64":          {goType: "uint64", min: 8, fixed: true, append: "codec.AppendUint64(dst, %s)", read: "d.Uint64()"},
	"Float":           {goType: "float32", min: 4, fixed: true, append: "codec.AppendFloat32(dst, %s)", read: "d.Float32()"},
	"Double":          {goType: "float64", min: 8, fixed: true, append: "codec.AppendFloat64(dst, %s)", read: "d.Float64()"},
	"String":          {goType: "string", min: 4, append: "codec.AppendString(dst, %s)", read: "d.String()"},
	"DateTime":        {goType: "DateTime", min: 8, fixed: true, append: "codec.AppendInt64(dst, int64(%s))", read: "DateTime(d.Int64())"},
	"Guid":            {goType: "Guid", min: 16, append: "%s.AppendTo(dst)"},
	"ByteString":      {goType: "[]byte", min: 4, append: "codec.AppendBytes(dst, %s)", read: "d.Bytes()"},
	"XmlElement":      {goType: "XMLElement", min: 4, append: "codec.AppendString(dst, string(%s))", read: "XMLElement(d.String())"},
	"NodeId":          {goType: "NodeID", min: 2, append: "%s.AppendTo(dst)"},
	"ExpandedNodeId":  {goType: "ExpandedNodeID", min: 2, append: "%s.AppendTo(dst)"},
	"StatusCode":      {goType: "StatusCode", min: 4, fixed: true, append: "codec.AppendUint32(dst, uint32(%s))", read: "StatusCode(d.Uint32())"},
	"QualifiedName":   {goType: "QualifiedName", min: 6, append: "%s.AppendTo(dst)"},
	"LocalizedText":   {goType: "LocalizedText", min: 1, append: "%s.AppendTo(dst)"},
	"ExtensionObject": {goType: "ExtensionObject", min: 3, depth: true, append: "%s.appendDepth(dst, depth)"},
	"DataValue":       {goType: "DataValue", min: 1, depth: true, append: "%s.appendDepth(dst, depth)"},
	"Variant":         {goType: "Variant", min: 1, depth: true, append: "%s.appendDepth(dst, depth)"},
	"DiagnosticInfo":  {goType: "DiagnosticInfo", min: 1, depth: true, append: "%s.appendDepth(dst, depth)"},
}

// enumWire describes an enumeration (an Int32, Part 6, 5.2.4) or an option
// set (an unsigned integer of its own width).
func enumWire(e *model.Enum) (wire, error) {
	w := wire{goType: goName(e.Name), fixed: true, min: e.Bits / 8}
	name := w.goType
	if !e.OptionSet {
		if e.Bits != 32 {
			return wire{}, fmt.Errorf("enumeration %s has %d bits, not 32", e.Name, e.Bits)
		}
		w.append, w.read = "codec.AppendInt32(dst, int32(%s))", name+"(d.Int32())"
		return w, nil
	}
	switch e.Bits {
	case 8, 16, 32, 64:
		w.append = fmt.Sprintf("codec.AppendUint%d(dst, uint%d(%%s))", e.Bits, e.Bits)
		w.read = fmt.Sprintf("%s(d.Uint%d())", name, e.Bits)
		return w, nil
	}
	return wire{}, fmt.Errorf("option set %s has %d bits", e.Name, e.Bits)
}
