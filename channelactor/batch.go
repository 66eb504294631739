package channelactor

import (
	"sync"
	"time"

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
	shares  []share // of the message that was begun
	shared  int     // bytes of them
	gone    int     // bytes of large messages that did not wait for the batch
	clock   clock

	requests uint64 // not counted yet
}

var batches = sync.Pool{New: func() any { return new(Batch) }}

func takeBatch(c *Channel) *Batch {
	b := batches.Get().(*Batch)
	b.channel, b.requests = c, 0
	b.clock.first, b.clock.stale = time.Time{}, true
	return b
}

func (b *Batch) release() {
	if b.buf != nil {
		b.buf.Release()
		b.buf = nil
	}
	b.channel, b.gone = nil, 0
	b.forgetShares()
	batches.Put(b)
}

// Channel returns the channel whose requests the batch answers.
func (b *Batch) Channel() *Channel { return b.channel }

// Begin starts a message. The caller appends to the slice and gives it to
// [Batch.End]; nothing else of the batch may be used in between.
func (b *Batch) Begin() []byte {
	b.reserve(int(b.channel.answer))
	var dst []byte
	dst, b.mark = b.channel.layout.Begin(b.buf.B)
	return dst
}

// End finishes the message that Begin started. When it is larger than the peer
// takes, the message is dropped and the error is BadResponseTooLarge.
func (b *Batch) End(dst []byte, requestID uint32) error {
	if len(b.shares) > 0 {
		return b.endLarge(dst, requestID)
	}
	dst, err := b.channel.layout.End(dst, b.mark, uasc.TypeMessage, requestID)
	b.keep(dst)
	// A peer asks for much the same again and again. What is remembered follows
	// larger answers at once and smaller ones slowly, so that a peer which asks
	// for both in turn is served from pooled memory too.
	b.channel.answer = max(int32(len(dst)-b.mark), b.channel.answer-b.channel.answer/8)
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
func (b *Batch) Drop(dst []byte) {
	b.keep(dst[:b.mark])
	b.forgetShares()
}

// Share puts a large piece of memory into the message that Begin started,
// between the bytes of dst before and behind the place at. It is sent from where
// it lies, some time after End, and must not change any more: it is the caller's
// promise that what is there is replaced and never written to. Places come in
// ascending order. What is to stand behind the piece is appended to dst as ever.
func (b *Batch) Share(dst []byte, at int, piece []byte) {
	b.shares = append(b.shares, share{at - b.mark - uasc.HeaderSize, piece})
	b.shared += len(piece)
}

// Shared returns how many bytes of the message that Begin started are shared,
// beside those in the caller's slice.
func (b *Batch) Shared() int { return b.shared }

func (b *Batch) forgetShares() {
	clear(b.shares)
	b.shares, b.shared = b.shares[:0], 0
}

// endLarge is End for a message with shared parts. It does not wait for the rest
// of the batch, which leaves before it.
func (b *Batch) endLarge(dst []byte, requestID uint32) error {
	m, err := b.channel.newLarge(requestID, dst[b.mark+uasc.HeaderSize:], b.shares)
	b.Drop(dst)
	if err != nil {
		return err
	}
	sent := b.Len() + int(m.size)
	b.Flush()
	b.gone = sent
	b.channel.dispatch(parcel{large: m})
	return nil
}

// keep stores a slice that may have outgrown the pooled buffer.
func (b *Batch) keep(dst []byte) { b.buf.B = dst }

// Len returns the number of bytes that wait in the batch, or were sent for it
// since it was flushed last.
func (b *Batch) Len() int {
	if b.buf == nil {
		return b.gone
	}
	return b.gone + len(b.buf.B)
}

// Flush sends what was collected before its time, so that an answer which
// leaves by [Channel.Respond] does not overtake it.
func (b *Batch) Flush() {
	b.gone = 0
	if buf := b.buf; buf != nil {
		b.buf = nil
		if len(buf.B) == 0 {
			buf.Release()
		} else {
			b.channel.send(buf)
		}
	}
	if observer := b.channel.server.observer; observer != nil {
		observer.Answered(b)
	}
}
