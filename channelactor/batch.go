package channelactor

import (
	"sync"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/uasc"
)

// flushAt is the size at which a batch is sent though more requests wait, so
// that one read full of requests for large answers does not gather them all.
const flushAt = 256 << 10

// maxReserve is the most that is kept free for an answer before its size is
// known. Larger ones are rare, and grow their buffer as they need to.
const maxReserve = 256 << 10

// Batch collects the answers to what one socket read brought in. Its messages
// stand one behind the other as chunk-shaped frames that only lack sequence
// numbers, signatures and encryption. A batch belongs to the reader that took it.
type Batch struct {
	// Scratch belongs to the Service and keeps its value when the batch is used
	// again, by this channel or another: request structures live there, so that
	// decoding a request allocates nothing.
	Scratch any

	channel *Channel
	buf     *codec.Buffer
	mark    int
	clock   clock

	requests uint64 // not counted yet
}

var batches = sync.Pool{New: func() any { return new(Batch) }}

func takeBatch(c *Channel) *Batch {
	b := batches.Get().(*Batch)
	b.channel, b.requests = c, 0
	b.clock.stale = true
	return b
}

func (b *Batch) release() {
	if b.buf != nil {
		b.buf.Release()
		b.buf = nil
	}
	b.channel = nil
	batches.Put(b)
}

// Channel returns the channel whose requests the batch answers.
func (b *Batch) Channel() *Channel { return b.channel }

// Begin starts a message. The caller appends to the slice and gives it to
// [Batch.End]; nothing else of the batch may be used in between.
func (b *Batch) Begin() []byte {
	b.reserve(b.channel.answer)
	var dst []byte
	dst, b.mark = b.channel.layout.Begin(b.buf.B)
	return dst
}

// End finishes the message that Begin started. When it is larger than the peer
// takes, the message is dropped and the error is BadResponseTooLarge.
func (b *Batch) End(dst []byte, requestID uint32) error {
	dst, err := b.channel.layout.End(dst, b.mark, uasc.TypeMessage, requestID)
	b.keep(dst)
	// A peer asks for much the same again and again. What is remembered follows
	// larger answers at once and smaller ones slowly, so that a peer which asks
	// for both in turn is served from pooled memory too.
	b.channel.answer = max(len(dst)-b.mark, b.channel.answer-b.channel.answer/8)
	return err
}

// reserve makes room for an answer of so many bytes before it is encoded, in
// pooled memory: what append would grow into instead is garbage after each batch.
func (b *Batch) reserve(room int) {
	room = max(narrowSize/4, min(room, maxReserve))
	if b.buf == nil {
		b.buf = codec.GetBuffer(max(room, narrowSize))
		return
	}
	if cap(b.buf.B)-len(b.buf.B) >= room {
		return
	}
	larger := codec.GetBuffer(len(b.buf.B) + room)
	larger.B = append(larger.B, b.buf.B...)
	b.buf.Release()
	b.buf = larger
}

// Drop forgets the message that Begin started.
func (b *Batch) Drop(dst []byte) { b.keep(dst[:b.mark]) }

// keep stores a slice that may have outgrown the pooled buffer.
func (b *Batch) keep(dst []byte) { b.buf.B = dst }

// Len returns the number of bytes that wait in the batch.
func (b *Batch) Len() int {
	if b.buf == nil {
		return 0
	}
	return len(b.buf.B)
}

// Flush sends what was collected before its time, so that an answer which
// leaves by [Channel.Respond] does not overtake it.
func (b *Batch) Flush() {
	if b.buf == nil {
		return
	}
	buf := b.buf
	b.buf = nil
	if len(buf.B) == 0 {
		buf.Release()
		return
	}
	b.channel.send(buf)
}
