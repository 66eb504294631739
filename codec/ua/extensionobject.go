package ua

import (
	"bytes"
	"reflect"

	"github.com/uahive/uahive/codec"
)

// Structure is a structured value with a binary encoding. All generated
// structures implement it with pointer receivers.
//
// The encoder counts the depth through structures of this package. One that
// is implemented elsewhere starts a new count, so it must not contain itself.
type Structure interface {
	// EncodingID returns the NodeId of the Default Binary encoding node.
	EncodingID() NodeID
	// AppendTo appends the fields without type id and length.
	AppendTo(dst []byte) []byte
	// DecodeFrom replaces all fields by what it reads.
	DecodeFrom(d *codec.Decoder)
}

// depthAppender is implemented by generated structures that can hold a
// Variant or an ExtensionObject.
type depthAppender interface {
	appendDepth(dst []byte, depth int) []byte
}

// The encoding of an ExtensionObject's body (Part 6, 5.2.2.15).
const (
	EncodingNone   byte = 0
	EncodingBinary byte = 1
	EncodingXML    byte = 2
)

// ExtensionObject carries a structure together with its type. A type that is
// known is decoded into Value; of others the body is kept in Raw and encoded
// again as it came. The zero value is null.
type ExtensionObject struct {
	// TypeID names the encoding. It is ignored by the encoder when Value is
	// set.
	TypeID NodeID
	// Value is the structure when its type is known.
	Value Structure
	// Raw is the body when Value is nil and Encoding is not EncodingNone.
	Raw []byte
	// Encoding says how the body is encoded. It is ignored by the encoder
	// when Value is set, which is always written in binary.
	Encoding byte
}

// ObjectOf returns an ExtensionObject that holds s, and a null one for nil or
// a nil pointer.
func ObjectOf(s Structure) ExtensionObject {
	if r := reflect.ValueOf(s); !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil() {
		return ExtensionObject{}
	}
	return ExtensionObject{TypeID: s.EncodingID(), Value: s, Encoding: EncodingBinary}
}

// IsNull reports whether there is neither a type nor a body.
func (x *ExtensionObject) IsNull() bool {
	return x.Value == nil && x.TypeID.IsNull() && x.Encoding == EncodingNone
}

// AppendTo appends the encoding.
func (x *ExtensionObject) AppendTo(dst []byte) []byte { return x.appendDepth(dst, 0) }

func (x *ExtensionObject) appendDepth(dst []byte, depth int) []byte {
	if depth >= MaxDepth {
		return append(dst, nodeIDTwoByte, 0, EncodingNone)
	}
	if x.Value == nil {
		dst = append(x.TypeID.AppendTo(dst), x.Encoding)
		if x.Encoding == EncodingNone {
			return dst
		}
		return codec.AppendBytes(dst, x.Raw)
	}
	dst = x.Value.EncodingID().AppendTo(dst)
	dst = append(dst, EncodingBinary, 0, 0, 0, 0)
	at := len(dst)
	dst = appendStructure(dst, x.Value, depth+1)
	n := len(dst) - at
	dst[at-4], dst[at-3], dst[at-2], dst[at-1] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
	return dst
}

// DecodeFrom reads an ExtensionObject. A binary body of a known type must be
// consumed to its last byte, otherwise another reader could see other values
// in the same message. One without a body is not a level of nesting.
func (x *ExtensionObject) DecodeFrom(d *codec.Decoder) {
	*x = ExtensionObject{}
	x.TypeID.DecodeFrom(d)
	x.Encoding = d.Uint8()
	if x.Encoding == EncodingNone {
		return
	}
	if !d.Enter() {
		*x = ExtensionObject{}
		d.Leave()
		return
	}
	switch x.Encoding {
	case EncodingBinary:
		x.decodeBinary(d)
	case EncodingXML:
		x.decodeRaw(d, int(d.Int32()))
	default:
		d.Fail(codec.ErrDecoding)
	}
	if d.Err() != nil {
		*x = ExtensionObject{}
	}
	d.Leave()
}

func (x *ExtensionObject) decodeBinary(d *codec.Decoder) {
	n := int(d.Int32())
	if d.Err() != nil {
		return
	}
	s := NewStructure(x.TypeID)
	if s == nil {
		x.decodeRaw(d, n)
		return
	}
	if n == -1 {
		n = 0 // a null body is an empty one
	}
	frame := d.Narrow(n)
	s.DecodeFrom(d)
	d.Widen(frame)
	x.Value = s
}

// decodeRaw keeps a body whose type nothing here knows.
func (x *ExtensionObject) decodeRaw(d *codec.Decoder, n int) {
	if n == -1 {
		return
	}
	x.Raw = d.Opaque(n)
}

// Clone returns a deep copy that does not share memory. A structure that
// cannot be made anew, because its type is not registered, becomes an opaque
// body with the same bytes.
func (x ExtensionObject) Clone() ExtensionObject { return x.cloneDepth(0) }

func (x ExtensionObject) cloneDepth(depth int) ExtensionObject {
	if depth >= MaxDepth {
		return ExtensionObject{}
	}
	x.TypeID = x.TypeID.Clone()
	if x.Value == nil {
		x.Raw = bytes.Clone(x.Raw)
		return x
	}
	id := x.Value.EncodingID().Clone()
	body := appendStructure(nil, x.Value, depth+1)
	if s := NewStructure(id); s != nil {
		d := codec.NewDecoder(body, &codec.Limits{
			MaxStringLength: len(body), MaxByteStringLength: len(body), MaxArrayLength: len(body),
			MaxDepth: MaxDepth + 1, ReplaceInvalidUTF8: true,
		})
		if s.DecodeFrom(d); d.Err() == nil {
			return ExtensionObject{TypeID: id, Value: s, Encoding: EncodingBinary}
		}
	}
	return ExtensionObject{TypeID: id, Raw: body, Encoding: EncodingBinary}
}

func appendStructure(dst []byte, s Structure, depth int) []byte {
	if a, ok := s.(depthAppender); ok {
		return a.appendDepth(dst, depth)
	}
	return s.AppendTo(dst)
}

// Equal reports whether both would be encoded alike.
func (x ExtensionObject) Equal(o ExtensionObject) bool { return x.equalDepth(o, 0) }

func (x ExtensionObject) equalDepth(o ExtensionObject, depth int) bool {
	if x.Value == nil && o.Value == nil {
		return x.TypeID == o.TypeID && x.Encoding == o.Encoding &&
			(x.Raw == nil) == (o.Raw == nil) && bytes.Equal(x.Raw, o.Raw)
	}
	return bytes.Equal(x.appendDepth(nil, depth), o.appendDepth(nil, depth))
}
