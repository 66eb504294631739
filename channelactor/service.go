package channelactor

import (
	"github.com/uahive/uahive/codec/ua"
)

// Service answers the requests that channels bring in. It is what stands above
// the channels; sessions live there.
type Service interface {
	// Serve handles one request on the goroutine of the channel's reader. It
	// appends the answer to the batch, or keeps the request id and answers
	// later through [Channel.Respond]. The body aliases the receive buffer: it
	// is gone when Serve returns.
	Serve(b *Batch, req Request)
	// Closed is called once for every channel that was open, on the goroutine
	// of its reader, after its last request.
	Closed(c *Channel)
}

// Request is one request of a secure channel (Part 6, 6.7.2).
type Request struct {
	// ID is the request id that the response repeats.
	ID uint32
	// Body is the encoded message: the type id of the request and the request.
	Body []byte
}

// Appender is a message that can write itself. Every generated structure is one.
type Appender = interface {
	AppendTo(dst []byte) []byte
}

// AppendMessage appends a message with its type id in front (Part 6, 5.2.9).
func AppendMessage(dst []byte, m ua.Structure) []byte {
	return m.AppendTo(m.EncodingID().AppendTo(dst))
}
