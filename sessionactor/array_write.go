package sessionactor

import (
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

var _ channelactor.Foreseer = (*Service)(nil)

// tailSize is more than what follows the elements of an array in a Write of one
// value: its dimensions, status and timestamps (Part 6, 5.2.2.16 and 5.2.2.17).
const tailSize = 256

// elementSizes has, for each type of fixed size, the size of an element in bytes.
var elementSizes = [...]uint8{
	ua.TypeBoolean: 1, ua.TypeSByte: 1, ua.TypeByte: 1, ua.TypeInt16: 2, ua.TypeUInt16: 2, ua.TypeInt32: 4, ua.TypeUInt32: 4,
	ua.TypeInt64: 8, ua.TypeUInt64: 8, ua.TypeFloat: 4, ua.TypeDouble: 8, ua.TypeDateTime: 8, ua.TypeStatusCode: 4,
}

// Foresee implements [channelactor.Foreseer] for a Write of one large array of
// numbers: its elements are received where the variable will keep them. It is a
// guess about memory and nothing else; the request is checked when it is whole.
func (s *Service) Foresee(first []byte) (size, align int) {
	var (
		d      codec.Decoder
		typeID ua.NodeID
		header ua.RequestHeader
		node   ua.NodeID
	)
	d.Reset(first, &s.decoding)
	d.Alias(true)
	typeID.DecodeFrom(&d)
	if typeID != ua.NumericID(0, id.WriteRequest_Encoding_DefaultBinary) {
		return 0, 0
	}
	header.DecodeFrom(&d)
	writes := d.Int32()
	node.DecodeFrom(&d)
	attribute, indexRange, mask, kind, n := d.Uint32(), d.String(), d.Uint8(), d.Uint8(), int(d.Int32())
	const hasValue, isArray, typeMask = 0x01, 0x80, 0x3F
	typ := ua.TypeID(kind & typeMask)
	if d.Err() != nil || writes != 1 || attribute != uint32(ua.AttributeIDValue) || indexRange != "" || mask&hasValue == 0 ||
		kind&isArray == 0 || int(typ) >= len(elementSizes) || elementSizes[typ] == 0 || n <= 0 || n > s.limits.ArrayLength {
		return 0, 0
	}
	return d.Pos() + n*int(elementSizes[typ]) + tailSize, d.Pos()
}
