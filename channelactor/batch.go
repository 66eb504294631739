package channelactor

import (
	"sync"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/uasc"
)

// flushAt is the size at which a batch is sent though more requests wait, so
// that one read full of requests for large answers does not gather them all.
const flushAt = 256 << 10

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
}

var batches = sync.Pool{New: func() any { return new(Batch) }}

func takeBatch(c *Channel) *Batch {
	b := batches.Get().(*Batch)
	b.channel = c
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
	if b.buf == nil {
		b.buf = codec.GetBuffer(narrowSize)
		b.buf.B = b.buf.B[:0]
	}
	var dst []byte
	dst, b.mark = b.channel.layout.Begin(b.buf.B)
	return dst
}

// End finishes the message that Begin started. When it is larger than the peer
// takes, the message is dropped and the error is BadResponseTooLarge.
func (b *Batch) End(dst []byte, requestID uint32) error {
	dst, err := b.channel.layout.End(dst, b.mark, uasc.TypeMessage, requestID)
	b.keep(dst)
	return err
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
