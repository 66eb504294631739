package ua

import (
	"strconv"
	"strings"

	"github.com/uahive/uahive/codec"
)

// This file holds what the generated code of this package calls, and the
// interfaces that generated structures share.

// Request is implemented by the requests of all services.
type Request interface {
	Structure
	Header() *RequestHeader
	// DecodeParameters reads what stands behind the header.
	DecodeParameters(d *codec.Decoder)
}

// Response is implemented by the responses of all services.
type Response interface {
	Structure
	Header() *ResponseHeader
}

var (
	_ Request  = (*ReadRequest)(nil)
	_ Response = (*ServiceFault)(nil)
)

// grow gives s the length that Decoder.ArrayLen returned, keeping its memory
// where that is large enough. A null array (-1) becomes s[:0], which stays nil
// when s is nil; an empty one is never nil.
func grow[T any](s []T, n int) []T {
	if n < 0 {
		return s[:0]
	}
	if n > cap(s) || s == nil {
		return make([]T, n)
	}
	return s[:n]
}

// numbered names a value outside of its enumeration.
func numbered(name string, v int64) string {
	return name + "(" + strconv.FormatInt(v, 10) + ")"
}

type flag struct {
	bit  uint64
	name string
}

// flags joins the names of the bits that are set; bits without a name are
// shown as one number.
func flags(v uint64, names []flag) string {
	if v == 0 {
		return "None"
	}
	var out strings.Builder
	for _, f := range names {
		if v&f.bit != 0 {
			if out.Len() > 0 {
				out.WriteByte('|')
			}
			out.WriteString(f.name)
			v &^= f.bit
		}
	}
	if v != 0 {
		if out.Len() > 0 {
			out.WriteByte('|')
		}
		out.WriteString("0x" + strconv.FormatUint(v, 16))
	}
	return out.String()
}
