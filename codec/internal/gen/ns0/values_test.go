package main

import (
	"encoding/xml"
	"reflect"
	"testing"

	"github.com/uahive/uahive/codec/internal/gen/model"
	"github.com/uahive/uahive/codec/ua"
)

func element(t *testing.T, text string) *model.Element {
	t.Helper()
	e := new(model.Element)
	if err := xml.Unmarshal([]byte(text), e); err != nil {
		t.Fatal(err)
	}
	return e
}

// The XML encoding of values: Part 6, 5.3.
func TestParseValue(t *testing.T) {
	for text, want := range map[string]any{
		`<Boolean>true</Boolean>`:                                          true,
		`<SByte>-128</SByte>`:                                              int8(-128),
		`<UInt64>18446744073709551615</UInt64>`:                            uint64(18446744073709551615),
		`<Double>-2.5</Double>`:                                            -2.5,
		`<String> kept as it is </String>`:                                 " kept as it is ",
		`<ByteString>AQ I=</ByteString>`:                                   []byte{1, 2},
		`<DateTime>1601-01-01T00:00:01Z</DateTime>`:                        ua.DateTime(10_000_000),
		`<ListOfInt32><Int32>1</Int32><Int32>2</Int32></ListOfInt32>`:      []int32{1, 2},
		`<ListOfString></ListOfString>`:                                    []string{},
		`<LocalizedText><Locale>en</Locale><Text>x</Text></LocalizedText>`: ua.LocalizedText{Locale: "en", Text: "x"},
		`<ListOfExtensionObject><ExtensionObject><Body><EnumValueType><Value>3</Value>
			<DisplayName><Text>Three</Text></DisplayName><Description><Text>prose</Text></Description>
			</EnumValueType></Body></ExtensionObject></ListOfExtensionObject>`: []ua.ExtensionObject{
			ua.ObjectOf(&ua.EnumValueType{Value: 3, DisplayName: ua.LocalizedText{Text: "Three"}}),
		},
		`<ExtensionObject><Body><Argument><Name>A</Name><DataType><Identifier>i=12</Identifier></DataType>
			<ValueRank>1</ValueRank><ArrayDimensions><UInt32>0</UInt32></ArrayDimensions>
			</Argument></Body></ExtensionObject>`: ua.ObjectOf(&ua.Argument{
			Name: "A", DataType: ua.NumericID(0, 12), ValueRank: 1, ArrayDimensions: []uint32{0},
		}),
	} {
		got, err := parseValue(element(t, text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v", text, got, err)
		}
	}
}

func TestParseValueRefusesWhatItWouldLose(t *testing.T) {
	for _, text := range []string{
		`<Byte>256</Byte>`, `<Int16>x</Int16>`, `<Boolean>maybe</Boolean>`, `<Matrix/>`, `<ListOfByte><Byte>-1</Byte></ListOfByte>`,
		`<ExtensionObject/>`, `<ExtensionObject><Body><Unknown/></Body></ExtensionObject>`,
	} {
		if got, err := parseValue(element(t, text)); err == nil {
			t.Errorf("%s became %#v", text, got)
		}
	}
	if _, err := encodeValue(element(t, `<Value><Int32>1</Int32><Int32>2</Int32></Value>`)); err == nil {
		t.Error("two values were taken for one")
	}
}
