package publishloop

import (
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// Appender is a message that can write itself, with its type id in front.
type Appender = interface {
	AppendTo(dst []byte) []byte
}

// Responder is where a Publish request came from and its answer goes: a secure
// channel. Two responders are compared with ==, so that the parked requests of a
// channel that ended can be found.
type Responder interface {
	// Respond sends a message as the answer to a request, without blocking. It
	// calls AppendTo before it returns, at most once, and keeps nothing. The
	// error is BadResponseTooLarge when the peer does not take messages of that
	// size; every other error means that the channel has ended. In both cases
	// nothing was sent.
	Respond(requestID uint32, m Appender) error
	// MaxResponse is the size in bytes of the largest message that the peer
	// takes, 0 when it takes any.
	MaxResponse() int
}

// fault is a ServiceFault, the answer to a Publish request that brings no message.
type fault struct {
	handle uint32
	status ua.StatusCode
	now    ua.DateTime
}

func (f *fault) AppendTo(dst []byte) []byte {
	dst = appendHeader(dst, serviceFaultID, f.now, f.handle, f.status)
	return dst
}

// encoded is a message that was written before.
type encoded []byte

func (e *encoded) AppendTo(dst []byte) []byte { return append(dst, *e...) }

// Type ids of the binary encodings that this package writes by itself.
const (
	serviceFaultID           = 397
	dataChangeNotificationID = 811
	statusChangeID           = 820
	eventNotificationListID  = 916
	publishResponseID        = 829
)

// appendHeader appends a type id of namespace 0 and a ResponseHeader without
// diagnostics (Part 4, 7.33).
func appendHeader(dst []byte, typeID uint16, now ua.DateTime, handle uint32, status ua.StatusCode) []byte {
	dst = append(dst, 1, 0, byte(typeID), byte(typeID>>8)) // four-byte NodeId
	dst = codec.AppendInt64(dst, int64(now))
	dst = codec.AppendUint32(dst, handle)
	dst = codec.AppendUint32(dst, uint32(status))
	dst = append(dst, 0)                      // serviceDiagnostics
	dst = append(dst, 0xff, 0xff, 0xff, 0xff) // stringTable
	return append(dst, 0, 0, 0)               // additionalHeader: null id, no body
}
