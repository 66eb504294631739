package channelactor

import (
	"errors"
	"slices"

	"github.com/uahive/uahive/codec"
)

// parcel is what waits to be sent: frames that lack nothing but numbers,
// signatures and encryption, or a large message. The zero value is nothing, and
// only wakes the actor.
type parcel struct {
	frames *codec.Buffer
	large  *large
}

// held is the memory that a parcel takes while it waits: many small answers hold
// much more than their bytes, and what a large message shares may be kept from
// being freed by it alone.
func (p parcel) held() int64 {
	if p.large != nil {
		return p.large.size
	}
	return held(p.frames)
}

func (p parcel) release() {
	if p.large != nil {
		p.large.release()
	}
	if p.frames != nil {
		p.frames.Release()
	}
}

// send sees that frames that are not sealed yet leave in order.
func (c *Channel) send(buf *codec.Buffer) { c.dispatch(parcel{frames: buf}) }

// dispatch takes a parcel and sees that it leaves in its turn. It never blocks:
// when nobody else is sending it seals and writes what the kernel takes at once;
// else, and for the rest, the actor does it.
func (c *Channel) dispatch(p parcel) {
	size := p.held()
	if c.queued.Add(size) > c.server.limits.MaxSendQueueBytes {
		// The reader was held back long ago: these are answers that were owed.
		p.release()
		c.queued.Add(-size)
		c.close(CloseReason{Code: reasonWrite, Err: errSendQueue})
		return
	}
	if !c.sendMu.TryLock() {
		c.post(p)
		return
	}
	if c.unsent != nil || c.sending != nil || c.outbox.Len() > 0 || c.sock.raw == nil {
		c.sendMu.Unlock()
		c.post(p)
		return
	}
	rest, err := c.try(p)
	c.sendMu.Unlock()
	switch {
	case err != nil:
		c.queued.Add(-size)
		c.close(CloseReason{Code: reasonWrite, Err: err})
	case rest:
		c.outbox.Post(parcel{}) // wakes the actor
	default:
		c.left(size)
	}
}

// try writes what leaves at once of a parcel, and keeps the rest for the actor.
// The send state is held.
func (c *Channel) try(p parcel) (rest bool, err error) {
	if p.large != nil {
		err = c.tryLarge(p.large)
		if err == nil && !p.large.done() {
			c.sending = p.large
			return true, nil
		}
		p.release()
		return false, err
	}
	n, err := 0, c.sealer.SealAll(p.frames.B)
	if err == nil {
		n, err = c.sock.tryWrite(p.frames.B)
	}
	c.server.stats.bytesOut.Add(uint64(n))
	if err == nil && n < len(p.frames.B) {
		c.unsent, c.written = p.frames, n
		return true, nil
	}
	p.release()
	return false, err
}

// errSendQueue says in the log why a channel was closed.
var errSendQueue = errors.New("more is queued than one peer may have")

// left counts bytes that have left. The reader may wait for that, though the
// actor, which tells it after each of its own writes, was not needed.
func (c *Channel) left(size int64) {
	if now := c.queued.Add(-size); now+size > c.server.limits.SendQueueBytes {
		signal(c.drained)
	}
}

func held(buf *codec.Buffer) int64 { return int64(cap(buf.B)) }

// post hands a parcel to the actor. What waits there counts as the memory that
// it holds, so few frames do not wait in a large buffer.
func (c *Channel) post(p parcel) {
	size := p.held()
	if buf := p.frames; buf != nil && cap(buf.B) > narrowSize && len(buf.B) <= cap(buf.B)/4 {
		p.frames = codec.GetBuffer(len(buf.B))
		p.frames.B = append(p.frames.B, buf.B...)
		buf.Release()
		c.queued.Add(p.held() - size)
		size = p.held()
	}
	if !c.outbox.Post(p) {
		p.release()
		c.queued.Add(-size)
	}
}

// act is the channel's actor: it sends what could not leave at once. It ends
// when the channel is done and has sent what it can.
func (c *Channel) act() {
	for {
		select {
		case <-c.outbox.Wait():
			c.flush()
		case <-c.done:
			c.flush()
			c.sayError()
			c.outbox.Close()
			for _, p := range c.outbox.Drain(nil) {
				p.release()
			}
			c.sock.conn.Close()
			c.dropUnsent()
			return
		}
	}
}

// flush seals and writes everything that is queued. It may block until the
// peer reads, no longer than the write time-out.
func (c *Channel) flush() {
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	if err := c.flushLocked(); err != nil {
		c.close(CloseReason{Code: reasonWrite, Err: err})
	}
	signal(c.drained)
}

func (c *Channel) flushLocked() error {
	if c.unsent != nil {
		err := c.write(c.unsent.B[c.written:])
		c.dropUnsentLocked()
		if err != nil {
			return err
		}
	}
	if c.sending != nil {
		err := c.writeLarge(c.sending)
		c.dropUnsentLocked()
		if err != nil {
			return err
		}
	}
	for c.outbox.Len() > 0 {
		queue := c.outbox.Drain(nil)
		err := c.writeQueue(queue)
		if err != nil {
			return err
		}
	}
	return nil
}

// writeQueue gathers small buffers so that they leave with one write.
func (c *Channel) writeQueue(queue []parcel) error {
	var failed error
	queue = slices.DeleteFunc(queue, func(p parcel) bool { return p == parcel{} })
	for i := 0; i < len(queue); {
		p, size := queue[i], queue[i].held()
		end := i + 1
		if p.frames != nil {
			end, size = joined(queue, i)
			p.frames = join(queue[i:end])
		}
		i = end
		switch {
		case failed != nil:
		case p.large != nil:
			failed = c.writeLarge(p.large)
		default:
			if failed = c.sealer.SealAll(p.frames.B); failed == nil {
				failed = c.write(p.frames.B)
			}
			c.server.stats.bytesOut.Add(uint64(len(p.frames.B)))
		}
		p.release()
		c.queued.Add(-size)
	}
	return failed
}

// joined returns the end of those parcels from the given one on that leave with
// one write, and the memory that they hold.
func joined(queue []parcel, from int) (end int, size int64) {
	bytes := 0
	for end = from; end < len(queue) && queue[end].frames != nil; end++ {
		if bytes += len(queue[end].frames.B); bytes > readSize && end > from {
			break
		}
		size += queue[end].held()
	}
	return end, size
}

// join puts frames into one buffer.
func join(queue []parcel) *codec.Buffer {
	bytes := 0
	for _, p := range queue {
		bytes += len(p.frames.B)
	}
	first := queue[0].frames
	if cap(first.B) < bytes {
		first = codec.GetBuffer(bytes)
		first.B = append(first.B, queue[0].frames.B...)
		queue[0].frames.Release()
	}
	for _, p := range queue[1:] {
		first.B = append(first.B, p.frames.B...)
		p.frames.Release()
	}
	return first
}

func (c *Channel) dropUnsent() {
	c.sendMu.Lock()
	c.dropUnsentLocked()
	c.sendMu.Unlock()
}

func (c *Channel) dropUnsentLocked() {
	p := parcel{c.unsent, c.sending}
	if p != (parcel{}) {
		c.queued.Add(-p.held())
		p.release()
	}
	c.unsent, c.written, c.sending = nil, 0, nil
}

// awaitDrain holds the reader back while its peer does not read the answers
// that it has asked for. It reports whether the channel still lives.
func (c *Channel) awaitDrain() bool {
	for c.queued.Load() > c.server.limits.SendQueueBytes {
		select {
		case <-c.drained:
		case <-c.done:
			return false
		}
	}
	return true
}

// awaitCredit holds the reader back while the worker pool still has as many of
// its requests as it may have.
func (c *Channel) awaitCredit() bool {
	for !c.hasCredit() {
		select {
		case <-c.credit:
		case <-c.done:
			return false
		}
	}
	return true
}

// hasCredit reports whether the worker pool may take one more request. It is
// asked after each one, since a single read brings in hundreds.
func (c *Channel) hasCredit() bool { return int(c.inFlight.Load()) < c.server.limits.InFlight }
