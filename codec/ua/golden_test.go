package ua

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/uahive/uahive/codec"
)

// builtin is what the built-in types with methods of their own have in common.
type builtin interface {
	AppendTo(dst []byte) []byte
	DecodeFrom(d *codec.Decoder)
}

// wire turns annotated bytes into bytes: hexadecimal digits, where everything
// from a # to the end of the line is a comment.
func wire(t testing.TB, annotated string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(annotated) {
		line, _, _ = strings.Cut(line, "#")
		for field := range strings.FieldsSeq(line) {
			digits.WriteString(field)
		}
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// variant makes a pointer of a constructor's result.
func variant(v Variant, err ...error) *Variant {
	for _, e := range err {
		if e != nil {
			panic(e)
		}
	}
	return &v
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func ptr[T any](v T) *T { return &v }

// exampleGuid is the one of Part 6, 5.2.2.6.
var exampleGuid = must(ParseGuid("72962B91-FA75-4AE6-8D28-B404DC7DAF63"))

type golden struct {
	name  string
	value builtin
	wire  string
	// oneWay marks what is read but written in another form.
	oneWay bool
}

var goldens = []golden{
	{name: "Guid of Part 6, 5.2.2.6", value: &exampleGuid, wire: `
		91 2B 96 72              # Data1
		75 FA  E6 4A             # Data2, Data3
		8D 28 B4 04 DC 7D AF 63  # Data4`},

	{name: "NodeId two byte, Part 6, 5.2.2.9", value: ptr(NumericID(0, 72)), wire: `
		00  48  # two byte encoding, identifier 72`},
	{name: "NodeId four byte, Part 6, 5.2.2.9", value: ptr(NumericID(5, 1025)), wire: `
		01  05  # four byte encoding, namespace 5
		01 04   # identifier 1025`},
	{name: "NodeId four byte at its limits", value: ptr(NumericID(255, 65535)), wire: `
		01  FF  FF FF`},
	{name: "NodeId numeric because of the namespace", value: ptr(NumericID(256, 1)), wire: `
		02  00 01    # numeric encoding, namespace 256
		01 00 00 00  # identifier`},
	{name: "NodeId numeric because of the identifier", value: ptr(NumericID(0, 65536)), wire: `
		02  00 00  00 00 01 00`},
	{name: "NodeId string, Part 6, 5.2.2.9", value: ptr(StringID(1, "Hot水")), wire: `
		03  01 00          # string encoding, namespace 1
		06 00 00 00        # length in bytes
		48 6F 74 E6 B0 B4  # Hot水`},
	{name: "NodeId Guid", value: ptr(GUIDID(4, exampleGuid)), wire: `
		04  04 00  # Guid encoding, namespace 4
		91 2B 96 72 75 FA E6 4A 8D 28 B4 04 DC 7D AF 63`},
	{name: "NodeId opaque", value: ptr(OpaqueID(3, []byte{1, 2, 0xff})), wire: `
		05  03 00              # opaque encoding, namespace 3
		03 00 00 00  01 02 FF  # length, bytes`},
	{name: "NodeId two byte written long", value: ptr(NumericID(0, 72)), oneWay: true, wire: `
		02  00 00  48 00 00 00`},
	{name: "NodeId string null", value: ptr(StringID(2, "")), oneWay: true, wire: `
		03  02 00  FF FF FF FF`},

	{name: "ExpandedNodeId local", value: ptr(NumericID(0, 72).Expanded()), wire: `00 48`},
	{name: "ExpandedNodeId full", value: &ExpandedNodeID{StringID(0, "a"), "urn:x", 9}, wire: `
		C3  00 00                    # string with URI and server index, namespace 0
		01 00 00 00  61              # a
		05 00 00 00  75 72 6E 3A 78  # urn:x
		09 00 00 00                  # server index`},
	{name: "ExpandedNodeId with URI", value: &ExpandedNodeID{NodeID: NumericID(0, 1), NamespaceURI: "u"}, wire: `
		80  01  01 00 00 00  75`},
	{name: "ExpandedNodeId with server index", value: &ExpandedNodeID{NodeID: NumericID(2, 1), ServerIndex: 1}, wire: `
		41  02  01 00  01 00 00 00`},

	{name: "QualifiedName", value: &QualifiedName{2, "Pump"}, wire: `
		02 00  04 00 00 00  50 75 6D 70`},
	{name: "QualifiedName null", value: &QualifiedName{}, wire: `
		00 00  FF FF FF FF`},

	{name: "LocalizedText null", value: &LocalizedText{}, wire: `00`},
	{name: "LocalizedText text", value: ptr(Text("ab")), wire: `
		02  02 00 00 00  61 62  # mask: text`},
	{name: "LocalizedText both", value: &LocalizedText{"en", "ab"}, wire: `
		03                      # mask: locale, text
		02 00 00 00  65 6E      # en
		02 00 00 00  61 62      # ab`},
	{name: "LocalizedText with null text", value: &LocalizedText{Locale: "en"}, oneWay: true, wire: `
		03  02 00 00 00  65 6E  FF FF FF FF`},

	{name: "Variant null", value: &Variant{}, wire: `00`},
	{name: "Variant Boolean", value: variant(VariantOf(true)), wire: `01  01`},
	{name: "Variant Boolean from another byte", value: variant(VariantOf(true)), oneWay: true, wire: `01  7F`},
	{name: "Variant SByte", value: variant(VariantOf(int8(-1))), wire: `02  FF`},
	{name: "Variant Byte", value: variant(VariantOf(uint8(200))), wire: `03  C8`},
	{name: "Variant Int16", value: variant(VariantOf(int16(-2))), wire: `04  FE FF`},
	{name: "Variant UInt16", value: variant(VariantOf(uint16(513))), wire: `05  01 02`},
	{name: "Variant Int32 of Part 6, 5.2.2.2", value: variant(VariantOf(int32(1_000_000_000))), wire: `
		06  00 CA 9A 3B`},
	{name: "Variant UInt32", value: variant(VariantOf(uint32(1))), wire: `07  01 00 00 00`},
	{name: "Variant Int64", value: variant(VariantOf(int64(-1))), wire: `08  FF FF FF FF FF FF FF FF`},
	{name: "Variant UInt64", value: variant(VariantOf(uint64(1) << 56)), wire: `09  00 00 00 00 00 00 00 01`},
	{name: "Variant Float of Part 6, 5.2.2.3", value: variant(VariantOf(float32(-6.5))), wire: `0A  00 00 D0 C0`},
	{name: "Variant Double", value: variant(VariantOf(1.0)), wire: `0B  00 00 00 00 00 00 F0 3F`},
	{name: "Variant String of Part 6, 5.2.2.4", value: variant(VariantOf("水Boy")), wire: `
		0C                 # String
		06 00 00 00        # length in bytes
		E6 B0 B4 42 6F 79  # 水Boy`},
	{name: "Variant String empty", value: variant(VariantOf("")), wire: `0C  00 00 00 00`},
	{name: "Variant String null", value: variant(VariantOf("")), oneWay: true, wire: `0C  FF FF FF FF`},
	{name: "Variant DateTime", value: variant(VariantOf(DateTime(256))), wire: `0D  00 01 00 00 00 00 00 00`},
	{name: "Variant Guid", value: variant(VariantOf(exampleGuid)), wire: `
		0E  91 2B 96 72 75 FA E6 4A 8D 28 B4 04 DC 7D AF 63`},
	{name: "Variant ByteString", value: variant(VariantOf([]byte{9})), wire: `0F  01 00 00 00  09`},
	{name: "Variant ByteString empty", value: variant(VariantOf([]byte{})), wire: `0F  00 00 00 00`},
	{name: "Variant ByteString null", value: variant(VariantOf([]byte(nil))), wire: `0F  FF FF FF FF`},
	{name: "Variant of a reserved type", value: variant(VariantOf([]byte{9})), oneWay: true, wire: `
		1F  01 00 00 00  09  # types 26 to 31 are taken for ByteStrings`},
	{name: "Variant XmlElement", value: variant(VariantOf(XMLElement("<a/>"))), wire: `
		10  04 00 00 00  3C 61 2F 3E`},
	{name: "Variant NodeId", value: variant(VariantOf(NumericID(0, 85))), wire: `11  00 55`},
	{name: "Variant ExpandedNodeId", value: variant(VariantOf(NumericID(0, 85).Expanded())), wire: `12  00 55`},
	{name: "Variant StatusCode", value: variant(VariantOf(BadDecodingError)), wire: `13  00 00 07 80`},
	{name: "Variant QualifiedName", value: variant(VariantOf(QualifiedName{1, "a"})), wire: `
		14  01 00  01 00 00 00  61`},
	{name: "Variant LocalizedText", value: variant(VariantOf(Text("a"))), wire: `15  02  01 00 00 00  61`},
	{name: "Variant ExtensionObject", value: variant(VariantOf(ExtensionObject{})), wire: `
		16  00 00  00  # null type, no body`},
	{name: "Variant DataValue", value: variant(VariantOf(DataValue{Value: VariantOf(true)})), wire: `
		17  01  01 01  # mask: value; Boolean true`},
	{name: "Variant DiagnosticInfo", value: variant(VariantOf(DiagnosticInfo{})), wire: `19  00`},

	{name: "Variant array of Int32", value: variant(SliceVariant([]int32{1, -1})), wire: `
		86           # Int32, array
		02 00 00 00  # two elements
		01 00 00 00
		FF FF FF FF`},
	{name: "Variant array null", value: variant(SliceVariant([]int32(nil))), wire: `86  FF FF FF FF`},
	{name: "Variant array empty", value: variant(SliceVariant([]int32{})), wire: `86  00 00 00 00`},
	{name: "Variant array of Boolean", value: variant(SliceVariant([]bool{true, false})), wire: `
		81  02 00 00 00  01 00`},
	{name: "Variant array of Byte", value: variant(SliceVariant([]uint8{1, 2})), wire: `83  02 00 00 00  01 02`},
	{name: "Variant array of Int16", value: variant(SliceVariant([]int16{1, -2})), wire: `
		84  02 00 00 00  01 00  FE FF`},
	{name: "Variant array of Float", value: variant(SliceVariant([]float32{-6.5})), wire: `
		8A  01 00 00 00  00 00 D0 C0`},
	{name: "Variant array of Double", value: variant(SliceVariant([]float64{1})), wire: `
		8B  01 00 00 00  00 00 00 00 00 00 F0 3F`},
	{name: "Variant array of StatusCode", value: variant(SliceVariant([]StatusCode{Good, BadDecodingError})), wire: `
		93  02 00 00 00  00 00 00 00  00 00 07 80`},
	{name: "Variant array of DateTime", value: variant(SliceVariant([]DateTime{1})), wire: `
		8D  01 00 00 00  01 00 00 00 00 00 00 00`},
	{name: "Variant array of String", value: variant(SliceVariant([]string{"a", ""})), wire: `
		8C  02 00 00 00
		01 00 00 00  61
		00 00 00 00      # an empty element has length 0`},
	{name: "Variant array of ByteString", value: variant(SliceVariant([][]byte{{1}, nil, {}})), wire: `
		8F  03 00 00 00
		01 00 00 00  01
		FF FF FF FF      # null
		00 00 00 00      # empty`},
	{name: "Variant array of Variant", value: variant(SliceVariant([]Variant{VariantOf(true), {}})), wire: `
		98  02 00 00 00
		01 01            # Boolean true
		00               # null`},
	{name: "Variant matrix", value: variant(MatrixVariant([]uint8{1, 2, 3, 4, 5, 6}, 2, 3)), wire: `
		C3                 # Byte, array, dimensions
		06 00 00 00        # all elements
		01 02 03 04 05 06  # [0,0] [0,1] [0,2] [1,0] [1,1] [1,2]
		02 00 00 00        # two dimensions
		02 00 00 00  03 00 00 00`},
	{name: "Variant matrix without elements", value: variant(SliceVariant([]uint8{})), oneWay: true, wire: `
		C3  00 00 00 00  02 00 00 00  00 00 00 00  03 00 00 00`},
	{name: "Variant with one dimension", value: variant(SliceVariant([]uint8{7})), oneWay: true, wire: `
		C3  01 00 00 00  07  01 00 00 00  01 00 00 00`},

	{name: "DataValue empty", value: &DataValue{}, wire: `00`},
	{name: "DataValue full", value: &DataValue{
		Value: VariantOf(uint8(5)), Status: BadDecodingError,
		SourceTimestamp: 1, SourcePicoseconds: 2, ServerTimestamp: 3, ServerPicoseconds: 4,
	}, wire: `
		3F                       # all six fields
		03 05                    # value
		00 00 07 80              # status
		01 00 00 00 00 00 00 00  # source timestamp
		02 00                    # source picoseconds
		03 00 00 00 00 00 00 00  # server timestamp
		04 00                    # server picoseconds`},
	{name: "DataValue with picoseconds alone", value: &DataValue{}, oneWay: true, wire: `
		30  02 00  04 00  # no timestamp that they could refine`},
	{name: "DataValue with too many picoseconds", value: &DataValue{SourceTimestamp: 1, SourcePicoseconds: 9999}, oneWay: true, wire: `
		14  01 00 00 00 00 00 00 00  FF FF`},
	{name: "DataValue with status Good", value: &DataValue{}, oneWay: true, wire: `02  00 00 00 00`},

	{name: "ExtensionObject null", value: &ExtensionObject{}, wire: `00 00  00`},
	{name: "ExtensionObject known", value: ptr(ObjectOf(&Range{Low: 1, High: -1})), wire: `
		01 00 76 03              # i=886, Range_Encoding_DefaultBinary
		01                       # ByteString body
		10 00 00 00              # 16 bytes
		00 00 00 00 00 00 F0 3F  # Low
		00 00 00 00 00 00 F0 BF  # High`},
	{name: "ExtensionObject opaque", value: &ExtensionObject{TypeID: NumericID(7, 1), Raw: []byte{1, 2}, Encoding: EncodingBinary}, wire: `
		01 07 01 00  01  02 00 00 00  01 02`},
	{name: "ExtensionObject opaque null body", value: &ExtensionObject{TypeID: NumericID(7, 1), Encoding: EncodingBinary}, wire: `
		01 07 01 00  01  FF FF FF FF`},
	{name: "ExtensionObject XML", value: &ExtensionObject{TypeID: NumericID(0, 885), Raw: []byte("<a/>"), Encoding: EncodingXML}, wire: `
		01 00 75 03  02  04 00 00 00  3C 61 2F 3E`},

	{name: "DiagnosticInfo empty", value: &DiagnosticInfo{}, wire: `00`},
	{name: "DiagnosticInfo full", value: &DiagnosticInfo{
		Mask: 0x3f, SymbolicID: 1, NamespaceURI: 2, Locale: 3, LocalizedText: 4, AdditionalInfo: "x",
		InnerStatusCode:     BadDecodingError,
		InnerDiagnosticInfo: &DiagnosticInfo{Mask: DiagnosticSymbolicID, SymbolicID: -1},
	}, wire: `
		7F               # all seven fields
		01 00 00 00      # symbolic id
		02 00 00 00      # namespace URI
		03 00 00 00      # locale comes before the localized text, unlike their bits
		04 00 00 00      # localized text
		01 00 00 00  78  # additional info
		00 00 07 80      # inner status code
		01  FF FF FF FF  # inner diagnostic info with a symbolic id`},
}

// Every built-in type is written as Part 6, 5.2 says, and read from that.
func TestGoldenVectors(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			want := wire(t, g.wire)
			if got := g.value.AppendTo(nil); !g.oneWay && !bytes.Equal(got, want) {
				t.Errorf("AppendTo gave\n% x, want\n% x", got, want)
			}
			// With room in the buffer the encoder may take a shorter way.
			if roomy := g.value.AppendTo(make([]byte, 0, 256)); !bytes.Equal(roomy, g.value.AppendTo(nil)) {
				t.Errorf("AppendTo into a large buffer gave\n% x", roomy)
			}
			for _, alias := range []bool{false, true} {
				d := codec.NewDecoder(want, nil)
				d.Alias(alias)
				got := fresh(g.value)
				got.DecodeFrom(d)
				if d.Err() != nil || d.Remaining() != 0 {
					t.Fatalf("decoding failed: %v, %d bytes left", d.Err(), d.Remaining())
				}
				if a, b := got.AppendTo(nil), g.value.AppendTo(nil); !bytes.Equal(a, b) {
					t.Errorf("decoded %v, want %v", got, g.value)
				}
			}
		})
	}
}

// fresh returns a new value of the same type, filled with something that
// decoding has to overwrite.
func fresh(v builtin) builtin {
	switch v.(type) {
	case *Guid:
		return &Guid{1, 2, 3}
	case *NodeID:
		return ptr(StringID(9, "old"))
	case *ExpandedNodeID:
		return &ExpandedNodeID{StringID(9, "old"), "old", 9}
	case *QualifiedName:
		return &QualifiedName{9, "old"}
	case *LocalizedText:
		return &LocalizedText{"old", "old"}
	case *Variant:
		return variant(MatrixVariant([]string{"old", "old", "old", "old"}, 2, 2))
	case *DataValue:
		return &DataValue{VariantOf("old"), 9, 9, 9, 9, 9}
	case *ExtensionObject:
		return ptr(ObjectOf(&Range{9, 9}))
	case *DiagnosticInfo:
		return &DiagnosticInfo{Mask: 0x3f, SymbolicID: 9, AdditionalInfo: "old", InnerDiagnosticInfo: &DiagnosticInfo{}}
	}
	panic("unknown type")
}

// A value that is cut at any place is a decoding error, never a panic, and
// never a success (Part 6, 5.2; CVE-2022-30551 came of waiting for the rest).
func TestTruncatedValues(t *testing.T) {
	for _, g := range goldens {
		whole := wire(t, g.wire)
		for n := range whole {
			d := codec.NewDecoder(whole[:n], nil)
			fresh(g.value).DecodeFrom(d)
			if d.Err() != codec.ErrDecoding {
				t.Errorf("%s cut to %d bytes: error %v", g.name, n, d.Err())
			}
		}
	}
}

// Malformed encodings are refused with the code that the standard names.
func TestMalformedValues(t *testing.T) {
	tests := []struct {
		name  string
		value builtin
		wire  string
		want  error
	}{
		{"NodeId with an unknown form", new(NodeID), `06 00 00 00 00 00 00`, codec.ErrDecoding},
		{"NodeId with ExpandedNodeId flags", new(NodeID), `80 55 FF FF FF FF`, codec.ErrDecoding},
		{"NodeId with a length of -2", new(NodeID), `03 00 00  FE FF FF FF`, codec.ErrDecoding},
		{"NodeId with invalid UTF-8", new(NodeID), `03 00 00  01 00 00 00  C8`, codec.ErrDecoding},
		{"LocalizedText with unknown bits", new(LocalizedText), `04`, codec.ErrDecoding},
		{"DataValue with unknown bits", new(DataValue), `40`, codec.ErrDecoding},
		{"DiagnosticInfo with unknown bits", new(DiagnosticInfo), `80`, codec.ErrDecoding},
		{"Variant that directly contains a Variant", new(Variant), `18  01 01`, codec.ErrDecoding},
		{"Variant with dimensions and no array", new(Variant), `41 01  01 00 00 00  01 00 00 00`, codec.ErrDecoding},
		{"Variant of an unknown type", new(Variant), `20  00`, codec.ErrDecoding},
		{"Variant array of null", new(Variant), `80  01 00 00 00  00`, codec.ErrDecoding},
		{"Variant array with length -2", new(Variant), `86  FE FF FF FF`, codec.ErrDecoding},
		{"Variant array with length -2^31", new(Variant), `86  00 00 00 80`, codec.ErrDecoding},
		{"Variant array with length 2^31-1", new(Variant), `98  FF FF FF 7F  00`, codec.ErrDecoding},
		{"matrix with a product below the length", new(Variant), `
			C3  04 00 00 00  01 02 03 04  02 00 00 00  01 00 00 00  03 00 00 00`, codec.ErrDecoding},
		{"matrix whose product overflows 32 bits to the length", new(Variant), `
			C3  00 00 00 00               # no elements
			02 00 00 00                   # two dimensions
			00 00 01 00  00 00 01 00      # 65536 x 65536 = 2^32`, codec.ErrDecoding},
		{"matrix whose product overflows 64 bits", new(Variant), `
			C3  00 00 00 00  04 00 00 00
			00 00 01 00  00 00 01 00  00 00 01 00  00 00 01 00`, codec.ErrDecoding},
		{"matrix with negative dimensions", new(Variant), `
			C3  01 00 00 00  01  02 00 00 00  FF FF FF FF  FF FF FF FF`, codec.ErrDecoding},
		{"matrix with null dimensions", new(Variant), `C3  01 00 00 00  01  FF FF FF FF`, codec.ErrDecoding},
		{"matrix with a zero dimension and elements", new(Variant), `
			C3  01 00 00 00  01  02 00 00 00  00 00 00 00  01 00 00 00`, codec.ErrDecoding},
		{"matrix with 2^31 dimensions", new(Variant), `C3  01 00 00 00  01  FF FF FF 7F`, codec.ErrDecoding},
		{"ExtensionObject with an unknown encoding", new(ExtensionObject), `00 00 03`, codec.ErrDecoding},
		{"ExtensionObject that ends too early", new(ExtensionObject), `
			01 00 76 03  01  0F 00 00 00
			00 00 00 00 00 00 F0 3F  00 00 00 00 00 00 F0 BF`, codec.ErrDecoding},
		{"ExtensionObject with a byte too many", new(ExtensionObject), `
			01 00 76 03  01  11 00 00 00
			00 00 00 00 00 00 F0 3F  00 00 00 00 00 00 F0 BF  00`, codec.ErrDecoding},
		{"ExtensionObject with length -2", new(ExtensionObject), `01 00 76 03  01  FE FF FF FF`, codec.ErrDecoding},
		{"opaque ExtensionObject with length -2", new(ExtensionObject), `01 07 01 00  01  FE FF FF FF`, codec.ErrDecoding},
		{"opaque ExtensionObject longer than the message", new(ExtensionObject), `01 07 01 00  01  FF FF FF 7F`, codec.ErrDecoding},
		{"known ExtensionObject with a null body", new(ExtensionObject), `01 00 76 03  01  FF FF FF FF`, codec.ErrDecoding},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := codec.NewDecoder(wire(t, tt.wire), nil)
			tt.value.DecodeFrom(d)
			if d.Err() != tt.want {
				t.Errorf("error %v, want %v", d.Err(), tt.want)
			}
			if d.Remaining() != 0 {
				t.Error("a failed decoder still has bytes")
			}
		})
	}
}
