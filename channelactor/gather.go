package channelactor

import (
	"net"
	"time"
)

// tryWriteAll writes what the kernel takes at once of several pieces, and
// returns how much that was: 0 when it takes nothing now, and where gathering
// without blocking cannot be had.
func (s *socket) tryWriteAll(pieces [][]byte) (int, error) {
	if s.raw == nil || !gathers {
		return 0, nil
	}
	return s.gather(pieces, false)
}

// writeSome waits until the kernel takes some of several pieces.
func (s *socket) writeSome(pieces [][]byte) (int, error) {
	if s.raw == nil || !gathers {
		buffers := net.Buffers(append([][]byte(nil), pieces...))
		n, err := buffers.WriteTo(s.conn)
		return int(n), err
	}
	return s.gather(pieces, true)
}

// gathering is what a call of the runtime's poller needs to know of several
// pieces. Few channels ever need it.
type gathering struct {
	pieces [][]byte
	wait   bool
	once   func(fd uintptr) bool
}

func (s *socket) gather(pieces [][]byte, wait bool) (int, error) {
	g := s.gathering
	if g == nil {
		g = &gathering{once: s.gatherOnce}
		s.gathering = g
	}
	g.pieces, g.wait, s.written, s.writeErr = pieces, wait, 0, nil
	err := s.raw.Write(g.once)
	g.pieces = nil
	if err != nil {
		return s.written, err
	}
	return s.written, s.writeErr
}

func (s *socket) gatherOnce(fd uintptr) bool {
	s.written, s.writeErr = writev(fd, s.gathering.pieces)
	return s.written > 0 || s.writeErr != nil || !s.gathering.wait
}

// writeAll blocks until some of several pieces have been written, or the peer
// has left them waiting for the write time-out. The send state is held.
func (c *Channel) writeAll(pieces [][]byte) (int, error) {
	if err := c.limitWrite(time.Now().Add(c.server.limits.WriteTimeout)); err != nil {
		return 0, err
	}
	n, err := c.sock.writeSome(pieces)
	if err != nil {
		return n, err
	}
	return n, c.limitWrite(time.Time{}) // writes that do not block know no time
}
