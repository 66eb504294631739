"use strict";
// What is written and read back, for each built-in type.
const { BinaryStream } = require("node-opcua-binary-stream");
const { EUInformation, Range } = require("node-opcua-types");
const {
  coerceNodeId,
  DataType,
  encodeVariant,
  ExpandedNodeId,
  LocalizedText,
  NodeId,
  QualifiedName,
  StatusCodes,
  Variant,
  VariantArrayType,
} = require("node-opcua-client");

const guid = "72962B91-FA75-4AE6-8D28-B404DC7DAF63";
const text = NodeId.NodeIdType.STRING;

const scalars = {
  Boolean: [true, false],
  SByte: [-128, 127],
  Byte: [0, 255],
  Int16: [-32768, 32767],
  UInt16: [0, 65535],
  Int32: [-2147483648, 2147483647],
  UInt32: [0, 4294967295],
  // This client holds 64 bit integers as [high, low].
  Int64: [[0x80000000, 0], [0x7fffffff, 0xffffffff]],
  UInt64: [[0, 0], [0xffffffff, 0xffffffff]],
  Float: [-1.5, Infinity, 0],
  Double: [Math.PI, -Infinity, 5e-324, NaN],
  String: ["plain", "Grüße 你好 🏭", ""],
  DateTime: [new Date("2026-11-30T12:30:15.123Z"), new Date(0)],
  Guid: [guid],
  ByteString: [Buffer.from([0, 1, 255]), Buffer.alloc(0)],
  XmlElement: ["<press id='1'>ü</press>"],
  NodeId: ["ns=0;i=2258", "ns=2;i=70000", "ns=2;s=Plant.Press1", `ns=2;g=${guid}`, "ns=2;b=AQI="].map((s) => coerceNodeId(s)),
  ExpandedNodeId: [new ExpandedNodeId(text, "Plant", 2), new ExpandedNodeId(text, "Far", 0, "urn:elsewhere", 3)],
  StatusCode: [StatusCodes.BadNodeIdUnknown, StatusCodes.Good],
  QualifiedName: [new QualifiedName({ namespaceIndex: 2, name: "name" }), new QualifiedName({ namespaceIndex: 0, name: "Grüße" })],
  LocalizedText: [new LocalizedText({ locale: "de", text: "Druck" }), new LocalizedText({ text: "no locale" })],
  ExtensionObject: [
    new Range({ low: -1.5, high: 99.25 }),
    new EUInformation({
      namespaceUri: "http://www.opcfoundation.org/UA/units/un/cefact",
      unitId: 4408652,
      displayName: { text: "°C" },
      description: { text: "degree Celsius" },
    }),
  ],
};

const names = [...Object.keys(scalars), "Variant"];

function scalar(type, value) {
  return new Variant({ dataType: DataType[type], arrayType: VariantArrayType.Scalar, value });
}

function array(type, value) {
  return new Variant({ dataType: DataType[type], arrayType: VariantArrayType.Array, value });
}

/** The values that are written to Types.Scalar.<name> or Types.Array.<name>. */
function cases(name, asArray) {
  if (name === "Variant") {
    const mixed = [scalar("Int32", 7), scalar("String", "mixed"), scalar("Boolean", true)];
    return asArray ? [array("Variant", mixed)] : [scalar("Double", 4.5), scalar("String", "text"), array("UInt16", [1, 2])];
  }
  const values = scalars[name];
  if (!asArray) {
    return values.map((v) => scalar(name, v));
  }
  return [array(name, [...values, ...values]), array(name, values.slice(0, 1)), array(name, [])];
}

function matrix(type, dimensions, value) {
  return new Variant({ dataType: DataType[type], arrayType: VariantArrayType.Matrix, dimensions, value });
}

/** The bytes of a variant: two are the same when they go the same over the wire. */
function bytes(variant) {
  const stream = new BinaryStream(1 << 16);
  encodeVariant(variant, stream);
  return stream.buffer.subarray(0, stream.length);
}

function same(a, b) {
  return bytes(a).equals(bytes(b));
}

module.exports = { array, cases, matrix, names, same, scalar };
