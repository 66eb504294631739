package client

import (
	"context"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

const (
	// leadRounds is how often a caller writes what others have queued before a
	// goroutine of its own does, so that no caller serves the others for long.
	leadRounds = 4
	// queueStart is the size of a queue's first buffer, filledMost the largest one
	// that a queue gets because the one before was as large.
	queueStart = 4 << 10
	filledMost = 256 << 10
)

// request is what is needed to send one. Either body or tail is set.
type request struct {
	handler  ResponseHandler // nil: the answer is of no interest
	body     ua.Structure    // with a RequestHeader, parts of which are replaced
	typeID   ua.NodeID       // of tail
	tail     []byte          // what follows the RequestHeader
	hint     uint32          // TimeoutHint in milliseconds
	deadline int64           // when to fail it, in Unix nanoseconds; 0: never
	within   time.Duration   // if not 0, deadline is set to so long from now
	own      bool            // the client's own, which does not count against MaxInFlight
}

// send queues a request and sees that it leaves. It does not wait for room: an
// error of errNoRoom says that there is none. The id is 0 with an error.
func (ch *channel) send(r *request) (id uint32, err error) {
	ch.mu.Lock()
	// Looking at the clock is a tenth of what it takes to send a small request.
	// What is sent while responses are handed out follows from one of them, and
	// takes the time at which they were read.
	now := ch.handed
	if !ch.handing {
		now = time.Now()
	}
	if r.within != 0 {
		r.deadline = now.Add(r.within).UnixNano()
	}
	if ch.failure != nil {
		err = ch.failure
		ch.mu.Unlock()
		return 0, err
	}
	if ch.queue != nil && len(ch.queue.B) > queueRoom {
		ch.mu.Unlock()
		return 0, errNoRoom
	}
	limit := ch.cfg.MaxInFlight
	if r.own {
		limit = largestInFlight
	}
	if id = ch.slots.put(r.handler, r.deadline, limit); id == 0 {
		ch.mu.Unlock()
		return 0, errNoRoom
	}
	if err = ch.appendRequest(r, uasc.TypeMessage, id, now); err != nil {
		ch.slots.take(id)
		ch.mu.Unlock()
		return 0, err
	}
	lead := ch.takeLead()
	ch.mu.Unlock()
	if lead {
		ch.writeQueue()
	}
	return id, nil
}

// sendWait is send, but it waits for room until the context ends or until passes.
func (ch *channel) sendWait(ctx context.Context, r *request, until time.Time) (uint32, error) {
	id, err := ch.send(r)
	if err != errNoRoom {
		return id, err
	}
	ch.mu.Lock()
	ch.crowded++
	ch.mu.Unlock()
	defer func() {
		ch.mu.Lock()
		ch.crowded--
		ch.mu.Unlock()
	}()
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	for {
		if id, err = ch.send(r); err != errNoRoom {
			ch.wakeCrowd() // there may be room for the next one, too
			return id, err
		}
		select {
		case <-ch.room:
		case <-ctx.Done():
			return 0, ended(ctx)
		case <-late.C:
			return 0, ua.BadTimeout
		}
	}
}

// wakeCrowd lets one caller that waits for room try again.
func (ch *channel) wakeCrowd() {
	select {
	case ch.room <- struct{}{}:
	default:
	}
}

// abandon forgets a request. It reports false when the response is being
// handed out already.
func (ch *channel) abandon(id uint32) bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return ch.slots.take(id) != nil
}

// takeLead makes the caller the writer if there is something to write and
// nobody else does it. The caller holds mu and calls writeQueue after it.
func (ch *channel) takeLead() bool {
	if ch.writing || ch.handing || !ch.hasWork() {
		return false
	}
	ch.writing = true
	return true
}

func (ch *channel) hasWork() bool {
	return ch.queue != nil || ch.renewal != nil && !ch.renewal.sent
}

// writeQueue writes until the queue is empty. It may block.
func (ch *channel) writeQueue() {
	for round := 0; ; round++ {
		buf, err := ch.sealQueue()
		if buf == nil && err == nil {
			return
		}
		if err == nil {
			err = ch.wire.write(buf.B, ch.cfg.WriteTimeout)
		}
		if !ch.written(buf, err) {
			return
		}
		if round == leadRounds {
			ch.crew.start("client writer", ch.writeQueue)
			return
		}
	}
}

// writeFromReader is writeQueue for the reader, which must not block: where
// the peer does not take everything, a goroutine writes the rest. Otherwise two
// ends that both write before they read would wait for each other.
func (ch *channel) writeFromReader() {
	if ch.wire.raw == nil {
		ch.crew.start("client writer", ch.writeQueue)
		return
	}
	for {
		buf, err := ch.sealQueue()
		if buf == nil && err == nil {
			return
		}
		var n int
		if err == nil {
			n, err = ch.wire.tryWrite(buf.B)
		}
		if err == nil && n < len(buf.B) {
			ch.crew.start("client writer", func() {
				if ch.written(buf, ch.wire.write(buf.B[n:], ch.cfg.WriteTimeout)) {
					ch.writeQueue()
				}
			})
			return
		}
		if !ch.written(buf, err) {
			return
		}
	}
}

// sealQueue takes the queue and makes it ready to be written. Both results are
// nil when there was nothing, and the caller is the writer no longer.
func (ch *channel) sealQueue() (*codec.Buffer, error) {
	ch.mu.Lock()
	var renew *renewal
	if r := ch.renewal; r != nil && !r.sent {
		r.sent, renew = true, r
	}
	if ch.queue == nil && renew == nil {
		ch.writing = false
		ch.mu.Unlock()
		return nil, nil
	}
	buf, token := ch.queue, ch.token
	ch.queue, ch.token = nil, nil
	if buf != nil {
		ch.filled = min(len(buf.B)+len(buf.B)/4, filledMost)
	}
	crowded := ch.crowded > 0
	ch.mu.Unlock()
	if crowded {
		ch.wakeCrowd()
	}
	if token != nil {
		ch.sealer.Use(token)
	}
	if buf == nil {
		buf = codec.GetBuffer(queueStart)
		buf.B = buf.B[:0]
	}
	err := ch.sealer.SealAll(buf.B)
	if err == nil && renew != nil {
		buf.B, err = ch.sealOpen(buf.B, renew.requestID, renew.body)
	}
	return buf, err
}

// written ends a round of the writer. It reports whether there may be another.
func (ch *channel) written(buf *codec.Buffer, err error) bool {
	size := 0
	if buf != nil {
		size = len(buf.B)
		buf.Release()
	}
	if err != nil {
		ch.fail(&ConnectionError{Op: "write", Err: err})
		ch.mu.Lock()
		ch.writing = false
		ch.mu.Unlock()
		return false
	}
	ch.stats.bytesOut.Add(uint64(size))
	ch.sent.Store(time.Now().UnixNano())
	return true
}

// appendRequest encodes a request at the end of the queue. The caller holds mu.
func (ch *channel) appendRequest(r *request, t uasc.MessageType, id uint32, now time.Time) error {
	if ch.queue == nil {
		// As much as the queue took last, so that it need not grow while it is filled.
		ch.queue = codec.GetBuffer(max(queueStart, ch.filled))
		ch.queue.B = ch.queue.B[:0]
	}
	before := len(ch.queue.B)
	dst, mark := ch.layout.Begin(ch.queue.B)
	h := ua.RequestHeader{
		AuthenticationToken: ch.authToken,
		Timestamp:           ua.DateTimeOf(now),
		RequestHandle:       id,
		TimeoutHint:         r.hint,
	}
	if r.body != nil {
		dst = r.body.EncodingID().AppendTo(dst)
		dst = appendWithHeader(dst, r.body, &h)
	} else {
		dst = r.typeID.AppendTo(dst)
		dst = h.AppendTo(dst)
		dst = append(dst, r.tail...)
	}
	dst, err := ch.layout.End(dst, mark, t, id)
	ch.queue.B = dst
	if err != nil {
		ch.queue.B = dst[:before]
		if before == 0 {
			ch.queue.Release()
			ch.queue = nil
		}
		return err
	}
	ch.stats.requests.Add(1)
	return nil
}
