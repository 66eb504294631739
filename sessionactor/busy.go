package sessionactor

import (
	"errors"
	"time"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// retryFull is what a client is told that found all sessions taken: it is not
// known when somebody leaves.
const retryFull = 5 * time.Second

// retryAfter is when the lane wants to see a client again, or when a lockout ends;
// 0 if neither says.
func retryAfter(err error) time.Duration {
	var locked *lockout
	if errors.As(err, &locked) {
		return locked.after
	}
	var busy *actors.BusyError
	if errors.As(err, &busy) {
		return busy.RetryAfter
	}
	return 0
}

// wanted reports whether somebody still waits for the answer: neither TimeoutHint
// nor channel, session or server have ended.
func (r *deferred) wanted() bool { return r.ctx.Err() == nil }

// busy is fault for a server that has too much to do, and tells the client when
// to come back.
func (r *deferred) busy(code ua.StatusCode, after time.Duration) {
	if !r.done.CompareAndSwap(false, true) {
		return
	}
	r.channel.Respond(r.id, busyMessage{r.handle, code, after})
	r.finish(code)
}

// busyMessage is a ServiceFault whose string table has a hint. The table is meant
// for diagnostic texts (Part 4, 7.34); a client that does not know the hint has no
// index into it and passes it over.
type busyMessage struct {
	handle uint32
	code   ua.StatusCode
	after  time.Duration
}

// AppendTo implements [channelactor.Appender].
func (m busyMessage) AppendTo(dst []byte) []byte {
	header := ua.ResponseHeader{Timestamp: ua.DateTimeOf(time.Now()), RequestHandle: m.handle, ServiceResult: m.code}
	if hint := channelactor.RetryHint(m.after); hint != "" {
		header.StringTable = []string{hint}
	}
	dst = ua.NumericID(0, id.ServiceFault_Encoding_DefaultBinary).AppendTo(dst)
	return header.AppendTo(dst)
}
