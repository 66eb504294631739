package uasc

import "github.com/uahive/uahive/codec/ua"

// Layout is what MSG and CLO frames of one channel look like: where the body
// starts, how long it may be, what follows it. It is fixed once policy, mode
// and limits are, holds no state and may be used by any goroutine.
type Layout struct{ x int }

// NewLayout returns the layout of a channel. response says which side this is: a
// server's too long message fails with BadResponseTooLarge, a client's with
// BadRequestTooLarge.
func NewLayout(p *Policy, mode Mode, lim Limits, channelID uint32, response bool) (*Layout, error) {
	return nil, nil
}

// Begin reserves the header of a message at the end of dst. The caller appends
// the message's body to out and then calls End with the same mark.
func (l *Layout) Begin(dst []byte) (out []byte, mark int) { return dst, 0 }

// End turns the body that was appended since Begin into frames ready for a
// Sealer.
func (l *Layout) End(dst []byte, mark int, t MessageType, requestID uint32) ([]byte, error) {
	return dst, nil
}

// Abort appends an abort chunk.
func (l *Layout) Abort(dst []byte, requestID uint32, code ua.StatusCode, reason string) []byte {
	return dst
}
