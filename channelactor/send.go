package channelactor

import (
	"errors"
	"slices"

	"github.com/uahive/uahive/codec"
)

// send takes frames that are not sealed yet and sees that they leave in order.
// It never blocks: when nobody else is sending it seals and writes what the
// kernel takes at once; else, and for the rest, the actor does it.
func (c *Channel) send(buf *codec.Buffer) {
	size := held(buf)
	if c.queued.Add(size) > c.server.limits.MaxSendQueueBytes {
		// The reader was held back long ago: these are answers that were owed.
		buf.Release()
		c.queued.Add(-size)
		c.close(CloseReason{Code: reasonWrite, Err: errSendQueue})
		return
	}
	if !c.sendMu.TryLock() {
		c.post(buf)
		return
	}
	if c.unsent != nil || c.outbox.Len() > 0 || c.sock.raw == nil {
		c.sendMu.Unlock()
		c.post(buf)
		return
	}
	n, err := 0, c.sealer.SealAll(buf.B)
	if err == nil {
		n, err = c.sock.tryWrite(buf.B)
	}
	switch {
	case err != nil:
		buf.Release()
		c.sendMu.Unlock()
		c.queued.Add(-size)
		c.close(CloseReason{Code: reasonWrite, Err: err})
	case n == len(buf.B):
		buf.Release()
		c.sendMu.Unlock()
		c.left(size)
		c.server.stats.bytesOut.Add(uint64(n))
	default:
		c.unsent, c.written = buf, n
		c.sendMu.Unlock()
		c.outbox.Post(nil) // wakes the actor
	}
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

// held is the memory that a buffer takes while it waits: many small answers hold
// much more than their bytes.
func held(buf *codec.Buffer) int64 { return int64(cap(buf.B)) }

// post hands frames to the actor. What waits there counts as the memory that it
// holds, so little of it does not wait in a large buffer.
func (c *Channel) post(buf *codec.Buffer) {
	size := held(buf)
	if cap(buf.B) > narrowSize && len(buf.B) <= cap(buf.B)/4 {
		small := codec.GetBuffer(len(buf.B))
		small.B = append(small.B, buf.B...)
		buf.Release()
		buf = small
		c.queued.Add(held(buf) - size)
		size = held(buf)
	}
	if !c.outbox.Post(buf) {
		buf.Release()
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
			for _, buf := range c.outbox.Drain(nil) {
				if buf != nil {
					buf.Release()
				}
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
func (c *Channel) writeQueue(queue []*codec.Buffer) error {
	var failed error
	queue = slices.DeleteFunc(queue, func(b *codec.Buffer) bool { return b == nil })
	for i := 0; i < len(queue); {
		end, bytes, size := i+1, len(queue[i].B), held(queue[i])
		for end < len(queue) && bytes+len(queue[end].B) <= readSize {
			bytes += len(queue[end].B)
			size += held(queue[end])
			end++
		}
		first := queue[i]
		if cap(first.B) < bytes {
			first = codec.GetBuffer(bytes)
			first.B = append(first.B, queue[i].B...)
			queue[i].Release()
		}
		for _, buf := range queue[i+1 : end] {
			first.B = append(first.B, buf.B...)
			buf.Release()
		}
		i = end
		if failed == nil {
			failed = c.sealer.SealAll(first.B)
		}
		if failed == nil {
			failed = c.write(first.B)
		}
		first.Release()
		c.queued.Add(-size)
		c.server.stats.bytesOut.Add(uint64(bytes))
	}
	return failed
}

func (c *Channel) dropUnsent() {
	c.sendMu.Lock()
	c.dropUnsentLocked()
	c.sendMu.Unlock()
}

func (c *Channel) dropUnsentLocked() {
	if c.unsent == nil {
		return
	}
	c.queued.Add(-held(c.unsent))
	c.unsent.Release()
	c.unsent, c.written = nil, 0
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
