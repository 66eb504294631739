package uasc

import (
	"encoding/binary"
	"slices"

	"github.com/uahive/uahive/codec/ua"
)

// Layout is what MSG and CLO frames of one channel look like: where the body
// starts, how long it may be, what follows it. It is fixed once policy, mode
// and limits are, holds no state and may be used by any goroutine.
type Layout struct {
	channelID  uint32
	signature  int // bytes of the signature, 0 under None
	block      int // bytes of a cipher block, 0 where nothing is encrypted
	maxBody    int // body bytes of a full chunk
	stride     int // bytes of a full chunk
	maxMessage int // body bytes of a message
	maxChunks  int
	tooLarge   ua.StatusCode
}

// NewLayout returns the layout of a channel. response says which side this is:
// a server's message beyond the limits fails with BadResponseTooLarge, a
// client's with BadRequestTooLarge. It fails with BadSecurityModeRejected when
// mode and policy do not fit.
func NewLayout(p *Policy, mode Mode, lim Limits, channelID uint32, response bool) (*Layout, error) {
	if err := p.CheckMode(mode); err != nil {
		return nil, err
	}
	lim = lim.withDefaults()
	l := &Layout{
		channelID:  channelID,
		signature:  p.signature,
		maxMessage: int(min(lim.MaxSendMessage, 1<<31-1)),
		maxChunks:  int(min(lim.MaxSendChunks, 1<<31-1)),
		tooLarge:   ua.BadRequestTooLarge,
	}
	if response {
		l.tooLarge = ua.BadResponseTooLarge
	}
	room := int(min(lim.SendBuffer, 1<<31-1))
	if mode == ModeSignAndEncrypt {
		// Part 6, 6.7.2.5: whole blocks only, and one byte of padding size.
		l.block = p.block
		room = sequenceStart + (room-sequenceStart)/l.block*l.block - 1
	}
	l.maxBody = room - prefixSize - l.signature
	l.stride = l.frameSize(l.maxBody)
	return l, nil
}

// frameSize returns the size of a chunk with n bytes of body.
func (l *Layout) frameSize(n int) int {
	size := prefixSize + n + l.signature
	if l.block == 0 {
		return size
	}
	return size + 1 + l.padding(n)
}

// padding returns how many bytes of padding follow the padding size.
func (l *Layout) padding(n int) int {
	used := prefixSize - sequenceStart + n + 1 + l.signature
	return (l.block - used%l.block) % l.block
}

// MaxBody returns how many bytes of body fit into one chunk.
func (l *Layout) MaxBody() int { return l.maxBody }

// MaxMessage returns how many bytes of body fit into one message, by its size and
// by the number of its chunks.
func (l *Layout) MaxMessage() int {
	if l.maxMessage/l.maxBody < l.maxChunks {
		return l.maxMessage
	}
	return l.maxChunks * l.maxBody
}

// Begin reserves the header of a message at the end of dst. The caller appends
// the message's body to out and then calls End with the same mark.
func (l *Layout) Begin(dst []byte) (out []byte, mark int) {
	var room [prefixSize]byte
	return append(dst, room[:]...), len(dst)
}

// End turns the body appended since Begin into frames ready for a Sealer: one,
// or as many as the body needs. The body is moved within dst, from its end, so
// that splitting needs no second buffer.
//
// A message beyond the peer's or our own limits yields BadResponseTooLarge or
// BadRequestTooLarge, and dst cut back to mark; the channel is unharmed and the
// caller may answer with a fault instead.
func (l *Layout) End(dst []byte, mark int, t MessageType, requestID uint32) ([]byte, error) {
	n := len(dst) - mark - prefixSize
	chunks := 1
	if n > l.maxBody {
		chunks = (n + l.maxBody - 1) / l.maxBody
	}
	if n > l.maxMessage || chunks > l.maxChunks || chunks > 1 && t != TypeMessage {
		return dst[:mark], l.tooLarge
	}
	last := n - (chunks-1)*l.maxBody
	total := (chunks-1)*l.stride + l.frameSize(last)
	dst = slices.Grow(dst, mark+total-len(dst))[:mark+total]

	frames, bodies := dst[mark:], dst[mark+prefixSize:]
	for i := chunks - 1; i > 0; i-- {
		// Chunk i goes behind the bodies of all chunks before it, so those
		// still stand where they were.
		frame := frames[i*l.stride:]
		copy(frame[prefixSize:], bodies[i*l.maxBody:][:last])
		chunk := ChunkIntermediate
		if i == chunks-1 {
			chunk = ChunkFinal
		}
		l.finish(frame, t, chunk, requestID, last)
		last = l.maxBody
	}
	first := ChunkIntermediate
	if chunks == 1 {
		first = ChunkFinal
	}
	l.finish(frames, t, first, requestID, last)
	return dst, nil
}

// finish writes the header in front of and the padding behind n bytes of body.
func (l *Layout) finish(frame []byte, t MessageType, chunk byte, requestID uint32, n int) {
	putHeader(frame, t, chunk, l.frameSize(n))
	binary.LittleEndian.PutUint32(frame[headerSize:], l.channelID)
	binary.LittleEndian.PutUint32(frame[prefixSize-4:], requestID)
	if l.block == 0 {
		return
	}
	pad := l.padding(n)
	footer := frame[prefixSize+n:][:1+pad]
	for i := range footer {
		footer[i] = byte(pad)
	}
}

// Abort appends a chunk that tells the receiver to forget the chunks of
// requestID that it has, and why (Part 6, 6.7.3). The channel goes on. reason
// must not say anything about security.
func (l *Layout) Abort(dst []byte, requestID uint32, code ua.StatusCode, reason string) []byte {
	dst, mark := l.Begin(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(code))
	dst = appendText(dst, truncate(reason, MaxReasonLength))
	n := len(dst) - mark - prefixSize
	total := l.frameSize(n)
	dst = slices.Grow(dst, mark+total-len(dst))[:mark+total]
	l.finish(dst[mark:], TypeMessage, ChunkAbort, requestID, n)
	return dst
}
