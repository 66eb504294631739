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

// Observer is a Service that counts what it answered when the answers have left.
type Observer interface {
	// Answered is called on the goroutine of the channel's reader whenever the
	// answers that were gathered in a batch have been handed to the socket, or,
	// where the peer reads slowly, to the queue in front of it. There may be none
	// since the last call.
	Answered(b *Batch)
}

// Request is one request of a secure channel (Part 6, 6.7.2).
type Request struct {
	// ID is the request id that the response repeats.
	ID uint32
	// Body is the encoded message: the type id of the request and the request.
	Body []byte
	// Owned says that the memory of Body is used for nothing else, so that what is
	// decoded may stay in it. See [Foreseer].
	Owned bool
}

// Foreseer is a Service that knows from the first chunk of a request how large it
// will be, so that a large value is received where it will stay.
type Foreseer interface {
	// Foresee gets the beginning of a request's body, and returns the most that
	// the whole of it can have in bytes, 0 when that is not known, and the place
	// of a byte that is to stand at an address divisible by 8.
	Foresee(first []byte) (size, align int)
}

// foresee returns what the service foresees, nil when it does not.
func (s *Server) foresee() func(first []byte) (size, align int) {
	if f, ok := s.config.Service.(Foreseer); ok {
		return f.Foresee
	}
	return nil
}

// Appender is a message that can write itself. Every generated structure is one.
type Appender = interface {
	AppendTo(dst []byte) []byte
}

// AppendMessage appends a message with its type id in front (Part 6, 5.2.9).
func AppendMessage(dst []byte, m ua.Structure) []byte {
	return m.AppendTo(m.EncodingID().AppendTo(dst))
}
