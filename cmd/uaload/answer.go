package main

import (
	"encoding/binary"
	"fmt"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// decodeLimits let through what the largest message may hold.
var decodeLimits = codec.Limits{
	MaxArrayLength: largestArray, MaxStringLength: largestMessage, MaxByteStringLength: largestMessage,
}

// decode decodes an answer completely.
func decode(body []byte, into ua.Structure) error {
	var d codec.Decoder
	d.Reset(body, &decodeLimits)
	into.DecodeFrom(&d)
	return d.Finish()
}

// results returns what follows the ResponseHeader, and the number of elements
// of the array that it begins with. ok is false if that cannot be decoded.
func results(body []byte) (count int, rest []byte, ok bool) {
	// A header without diagnostics, strings and additions (Part 4, 7.34), as
	// nearly every answer has it: time, handle, ServiceResult, a diagnostics
	// mask of 0, an array that is null or empty, and a null ExtensionObject.
	const plain = 8 + 4 + 4 + 1 + 4 + 3
	size := plain
	if len(body) < plain || body[16] != 0 || int32(binary.LittleEndian.Uint32(body[17:])) > 0 ||
		body[21] != 0 || body[22] != 0 || body[23] != 0 {
		var (
			d codec.Decoder
			h ua.ResponseHeader
		)
		d.Reset(body, &decodeLimits)
		h.DecodeFrom(&d)
		if d.Err() != nil {
			return 0, nil, false
		}
		size = d.Pos()
	}
	if len(body) < size+4 {
		return 0, nil, false
	}
	return int(int32(binary.LittleEndian.Uint32(body[size:]))), body[size+4:], true
}

// fixedSizes are the encoded sizes of the built-in types that have one (Part 6, 5.1.2).
var fixedSizes = [...]uint8{
	ua.TypeBoolean: 1, ua.TypeSByte: 1, ua.TypeByte: 1, ua.TypeInt16: 2, ua.TypeUInt16: 2, ua.TypeInt32: 4, ua.TypeUInt32: 4,
	ua.TypeInt64: 8, ua.TypeUInt64: 8, ua.TypeFloat: 4, ua.TypeDouble: 8, ua.TypeDateTime: 8, ua.TypeGuid: 16, ua.TypeStatusCode: 4,
}

// dataValue is what can be told of an encoded DataValue without decoding it.
type dataValue struct {
	size   int // encoded
	status ua.StatusCode
	value  bool
	length int // of an array; -1: no array, or not known
}

// peek looks at the DataValue at the beginning of b. ok is false if it cannot
// be decoded.
func peek(b []byte) (v dataValue, ok bool) {
	v.length = -1
	if len(b) < 1 {
		return v, false
	}
	mask := b[0]
	at := 1
	if mask&0x01 != 0 {
		v.value = true
		size, length, ok := peekVariant(b[1:])
		if !ok {
			return peekSlow(b)
		}
		at, v.length = at+size, length
	}
	if mask&0x02 != 0 {
		if len(b) < at+4 {
			return v, false
		}
		v.status = ua.StatusCode(binary.LittleEndian.Uint32(b[at:]))
		at += 4
	}
	// Timestamps and their picoseconds.
	at += int(mask>>2&1)*8 + int(mask>>4&1)*2 + int(mask>>3&1)*8 + int(mask>>5&1)*2
	v.size = at
	return v, at <= len(b)
}

// peekVariant measures a scalar, or an array of one dimension, of a type of
// fixed size. It does not know others.
func peekVariant(b []byte) (size, length int, ok bool) {
	if len(b) < 1 {
		return 0, 0, false
	}
	typ := int(b[0] & 0x3f)
	if typ >= len(fixedSizes) || fixedSizes[typ] == 0 || b[0]&0x40 != 0 {
		return 0, 0, false
	}
	if b[0]&0x80 == 0 {
		return 1 + int(fixedSizes[typ]), -1, true
	}
	if len(b) < 5 {
		return 0, 0, false
	}
	length = max(int(int32(binary.LittleEndian.Uint32(b[1:]))), 0)
	return 5 + length*int(fixedSizes[typ]), length, true
}

// peekSlow decodes what peek has no rule for.
func peekSlow(b []byte) (dataValue, bool) {
	var (
		d codec.Decoder
		v ua.DataValue
	)
	d.Reset(b, &decodeLimits)
	d.Alias(true)
	v.DecodeFrom(&d)
	p := dataValue{size: d.Pos(), status: v.Status, value: !v.Value.IsNull(), length: -1}
	if v.Value.IsArray() {
		p.length = v.Value.Len()
	}
	return p, d.Err() == nil
}

// checkStatuses judges the results of a service that has nothing but a
// StatusCode for each operation.
func checkStatuses(body []byte, want int, bad *tally) bool {
	count, rest, ok := results(body)
	if !ok || count != want || len(rest) < 4*count {
		bad.add(ua.BadUnknownResponse)
		return false
	}
	good := true
	for i := range count {
		if status := ua.StatusCode(binary.LittleEndian.Uint32(rest[4*i:])); status.IsBad() {
			bad.add(status)
			good = false
		}
	}
	return good
}

// sameCount says that there is not one result for each operation.
func sameCount(want, got int) error {
	if want != got {
		return fmt.Errorf("%d results for %d operations: %w", got, want, ua.BadUnknownResponse)
	}
	return nil
}
