package channelactor

import (
	"sync"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/uasc"
)

// A message with large values in it is not laid out as a whole. What is written
// of it at a time is a window: under SecurityPolicy None up to windowFrames
// frames whose bodies are written from where the values are stored, else a
// quarter of a MiB of sealed frames. Windows follow each other as the peer takes
// them, so a peer that reads slowly holds one window, and the values themselves
// against being freed when they are replaced. They count in full towards what
// may wait for the peer.
const (
	windowFrames = 64
	windowBytes  = 256 << 10
)

// large is a message that leaves in windows. Whoever holds the send state owns it.
type large struct {
	stream uasc.Stream
	own    *codec.Buffer // the parts of the body that are the message's own
	parts  [][]byte
	size   int64 // what it counts as while it waits

	window *codec.Buffer // headers, or sealed frames
	vector [][]byte      // what is left to write of the window
	rest   [][]byte      // what is left of vector, while it is written
}

var larges = sync.Pool{New: func() any { return new(large) }}

// share is a part of a message that stays where it is: it belongs between the
// bytes of the message's own at the given place.
type share struct {
	at    int
	piece []byte
}

// newLarge makes a message of its own bytes, which are copied, and what is
// shared in between.
func (c *Channel) newLarge(requestID uint32, own []byte, shares []share) (*large, error) {
	m := larges.Get().(*large)
	m.own = codec.GetBuffer(len(own))
	m.own.B = append(m.own.B, own...)
	m.size = held(m.own) + windowBytes
	done := 0
	for _, s := range shares {
		m.parts = append(m.parts, m.own.B[done:s.at:s.at], s.piece)
		m.size += int64(len(s.piece))
		done = s.at
	}
	m.parts = append(m.parts, m.own.B[done:])
	if err := m.stream.Start(c.layout, requestID, m.parts); err != nil {
		m.release()
		return nil, err
	}
	return m, nil
}

func (m *large) release() {
	m.own.Release()
	if m.window != nil {
		m.window.Release()
	}
	clear(m.parts[:cap(m.parts)])
	clear(m.vector[:cap(m.vector)])
	*m = large{parts: m.parts[:0], vector: m.vector[:0]}
	if cap(m.vector) <= 4*windowFrames {
		larges.Put(m)
	}
}

// done reports whether all of the message has been written.
func (m *large) done() bool { return len(m.rest) == 0 && m.stream.Left() == 0 }

// advance makes the next window when the last one has left. The send state is held.
func (m *large) advance(c *Channel) error {
	if len(m.rest) > 0 || m.stream.Left() == 0 {
		return nil
	}
	m.vector = m.vector[:0]
	if c.layout.Plain() {
		if m.window == nil {
			m.window = codec.GetBuffer(windowFrames * uasc.HeaderSize)
		}
		headers := m.window.B[: 0 : windowFrames*uasc.HeaderSize]
		headers, m.vector = m.stream.Gather(headers, m.vector)
		m.rest = m.vector
		return c.sealer.NumberAll(headers)
	}
	if m.window == nil {
		m.window = codec.GetBuffer(windowBytes)
	}
	m.window.B = m.stream.Frames(m.window.B[:0])
	m.vector = append(m.vector, m.window.B)
	m.rest = m.vector
	return c.sealer.SealAll(m.window.B)
}

// wrote passes over n bytes that have been written.
func (m *large) wrote(n int) {
	for n > 0 || len(m.rest) > 0 && len(m.rest[0]) == 0 {
		if n < len(m.rest[0]) {
			m.rest[0] = m.rest[0][n:]
			return
		}
		n -= len(m.rest[0])
		m.rest = m.rest[1:]
	}
}

// tryLarge writes what the kernel takes at once of a message. The send state is held.
func (c *Channel) tryLarge(m *large) error {
	for !m.done() {
		if err := m.advance(c); err != nil {
			return err
		}
		for len(m.rest) > 0 {
			n, err := c.sock.tryWriteAll(m.rest)
			m.wrote(n)
			c.server.stats.bytesOut.Add(uint64(n))
			if err != nil || n == 0 {
				return err
			}
		}
	}
	return nil
}

// writeLarge writes the rest of a message. It blocks until the peer has taken
// it, no longer than the write time-out for each window. The send state is held.
func (c *Channel) writeLarge(m *large) error {
	for !m.done() {
		if err := m.advance(c); err != nil {
			return err
		}
		for len(m.rest) > 0 {
			n, err := c.writeAll(m.rest)
			m.wrote(n)
			c.server.stats.bytesOut.Add(uint64(n))
			if err != nil {
				return err
			}
		}
	}
	return nil
}
