package sessionactor

import (
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// appendResponseHeader writes a ResponseHeader (Part 4, 7.34) without
// diagnostics, string table or additional header.
func appendResponseHeader(dst []byte, now time.Time, handle uint32, result ua.StatusCode) []byte {
	dst = codec.AppendInt64(dst, int64(ua.DateTimeOf(now)))
	dst = codec.AppendUint32(dst, handle)
	dst = codec.AppendUint32(dst, uint32(result))
	// No diagnostic info, a null string table, a null extension object.
	return append(dst, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0)
}

func appendFault(dst []byte, now time.Time, handle uint32, code ua.StatusCode) []byte {
	dst = ua.NumericID(0, id.ServiceFault_Encoding_DefaultBinary).AppendTo(dst)
	return appendResponseHeader(dst, now, handle, code)
}

// faultMessage is a ServiceFault as a message for Channel.Respond.
type faultMessage struct {
	handle uint32
	code   ua.StatusCode
}

func (f faultMessage) AppendTo(dst []byte) []byte {
	return appendFault(dst, time.Now(), f.handle, f.code)
}

// encoded is a message that was encoded before, with its type id in front.
type encoded []byte

func (m encoded) AppendTo(dst []byte) []byte { return append(dst, m...) }
