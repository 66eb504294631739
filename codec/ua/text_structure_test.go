package ua

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uahive/uahive/codec"
)

func TestStructuresPrintTheirFields(t *testing.T) {
	for want, s := range map[string]Structure{
		"Range{Low: -5, High: 120.5}": &Range{Low: -5, High: 120.5},
		`EUInformation{NamespaceURI: "u", UnitID: 7, DisplayName: "°C", Description: ""}`: &EUInformation{
			NamespaceURI: "u", UnitID: 7, DisplayName: Text("°C"),
		},
		`Argument{Name: "A", DataType: "i=6", ValueRank: -1, ArrayDimensions: [1 2], Description: ""}`: &Argument{
			Name: "A", DataType: NumericID(0, 6), ValueRank: -1, ArrayDimensions: []uint32{1, 2},
		},
		`KeyValuePair{Key: "2:limit", Value: [1 2]}`: &KeyValuePair{
			Key: QualifiedName{2, "limit"}, Value: SliceVariant([]int32{1, 2}),
		},
		"AggregateFilter{StartTime: null, AggregateType: ": new(AggregateFilter),
		"DataChangeFilter{Trigger: StatusValue, DeadbandType: 1, DeadbandValue: 0.5}": &DataChangeFilter{
			Trigger: DataChangeTriggerStatusValue, DeadbandType: 1, DeadbandValue: 0.5,
		},
	} {
		got := ObjectOf(s).String()
		if !strings.HasPrefix(got, want) || VariantOf(ObjectOf(s)).String() != got {
			t.Errorf("%s, want %s", got, want)
		}
	}
	array := SliceVariant([]ExtensionObject{ObjectOf(&Range{High: 1}), {}})
	if got := array.String(); got != "[Range{Low: 0, High: 1} ExtensionObject(null)]" {
		t.Error(got)
	}
}

// Structures are printed into logs, where nobody must find what lets him in.
func TestStructuresKeepTheirSecrets(t *testing.T) {
	const secret = "hunter2"
	token := ObjectOf(&UserNameIdentityToken{UserName: "op", Password: []byte(secret)})
	for _, s := range []Structure{
		&UserNameIdentityToken{UserName: "op", Password: []byte(secret)},
		&IssuedIdentityToken{TokenData: []byte(secret)},
		&ActivateSessionRequest{UserIdentityToken: token},
		&RequestHeader{AuthenticationToken: StringID(0, secret)},
		&CreateSessionResponse{AuthenticationToken: StringID(0, secret), ServerNonce: []byte(secret)},
		&KeyValuePair{Value: VariantOf(token)},
		&login{User: "op", PassPhrase: secret},
	} {
		for _, verb := range []string{"%v", "%+v", "%s"} {
			text := fmt.Sprintf(verb, ObjectOf(s))
			if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
				t.Errorf("%T: %s", s, text)
			}
		}
	}
	if got := ObjectOf(&login{User: "op", PassPhrase: secret}).String(); got != `login{User: "op", PassPhrase: ***, Tries: 0}` {
		t.Error(got)
	}
}

// login is a structure as a program may have it.
type login struct {
	User, PassPhrase string
	Tries            int32
	private          map[string]int
}

func (*login) EncodingID() NodeID          { return NumericID(1, 1) }
func (*login) AppendTo(dst []byte) []byte  { return dst }
func (l *login) DecodeFrom(*codec.Decoder) { l.private = nil }

func TestTextOfStructuresIsBounded(t *testing.T) {
	inner := ObjectOf(&KeyValuePair{Value: VariantOf(strings.Repeat("x", 1000))})
	for range 60 {
		wide := make([]ExtensionObject, 40)
		for i := range wide {
			wide[i] = inner
		}
		inner = ObjectOf(&ContentFilterElement{FilterOperands: wide})
	}
	if n := len(inner.String()); n > 2*maxTextLength {
		t.Errorf("text of %d bytes", n)
	}
}
