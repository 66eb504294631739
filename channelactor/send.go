package channelactor

import (
	"errors"

	"github.com/uahive/uahive/codec"
)

// parcel is what waits to be sent: frames that lack nothing but numbers,
// signatures and encryption, or a large message.
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
	if c.unsent != nil || c.sending != nil || c.outbox.len() > 0 || c.sock.raw == nil {
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
		c.wake()
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
		c.unsent, c.written = p.frames, int32(n)
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
		c.nudge.signal()
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
	start, ok := c.outbox.put(p)
	if !ok {
		p.release()
		c.queued.Add(-size)
	}
	if start {
		c.startActor()
	}
}

// wake sees that the actor looks at what is left to send.
func (c *Channel) wake() {
	if c.outbox.wake() {
		c.startActor()
	}
}

// startActor starts the channel's actor. While the server ends there may be none:
// then the channel ends too, and its reader sends what is left.
func (c *Channel) startActor() {
	if !c.server.config.Group.Go("channel", c.act) {
		c.outbox.missed()
		c.close(CloseReason{Code: reasonShutdown})
	}
}

// act is the channel's actor: it sends what could not leave at once, and ends
// when that has left. When the channel is done, it sends what it can, and then
// nothing is sent any more.
func (c *Channel) act() {
	for {
		c.outbox.begin()
		c.flush()
		if c.ended() {
			c.farewell()
			return
		}
		if c.outbox.rest() {
			return
		}
	}
}

// farewell sends what is left and why the channel ends, and closes the connection.
func (c *Channel) farewell() {
	c.flush()
	told := c.sayError()
	if left := c.outbox.close(); left != nil {
		for _, p := range left.list {
			p.release()
		}
		left.release()
	}
	if told {
		c.drain()
	}
	c.sock.conn.Close()
	c.dropUnsent()
}

// flush seals and writes everything that is queued. It may block until the
// peer reads, no longer than the write time-out.
func (c *Channel) flush() {
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	if err := c.flushLocked(); err != nil {
		c.close(CloseReason{Code: reasonWrite, Err: err})
	}
	c.nudge.signal()
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
	for queue := c.outbox.take(); queue != nil; queue = c.outbox.take() {
		err := c.writeQueue(queue.list)
		queue.release()
		if err != nil {
			return err
		}
	}
	return nil
}

// writeQueue gathers small buffers so that they leave with one write.
func (c *Channel) writeQueue(queue []parcel) error {
	var failed error
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
