package channelactor

import (
	"errors"
	"net"
	"syscall"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/uasc"
)

// readSize is the room that a reader offers to one read call: one chunk of the
// largest size that is agreed by default, so that most batches arrive whole.
const readSize = 64 << 10

// narrowSize is the largest remainder of a message that is moved into a small
// buffer while its reader waits, so that a peer which sends one byte of a chunk
// does not hold a large one.
const narrowSize = 4 << 10

// socket reads and writes a connection without holding a buffer while it
// waits. For connections that are no system sockets (tests run on in-memory
// ones) it falls back to blocking calls with a small buffer.
type socket struct {
	// Immutable.
	conn net.Conn
	raw  syscall.RawConn

	// Owned by the reader.
	in       *codec.Buffer // nil while there is no byte of a message
	room     int32         // that is offered to a read: little until the channel is open
	placed   bool          // in is memory where a body stays, see place
	consumed int           // bytes of in that have been handled
	want     int           // size of the chunk whose beginning is in, 0 when it is not known
	taken    int           // bytes that in has of the budget while its reader waits
	budget   uasc.Budget
	readErr  error
	readFunc func(fd uintptr) bool

	// Owned by the holder of the send state.
	out       []byte
	written   int
	writeErr  error
	writeFunc func(fd uintptr) bool
	gathering *gathering // nil until a large message is sent
}

func (s *socket) init(conn net.Conn, budget uasc.Budget) {
	s.conn, s.budget = conn, budget
	// What opens a channel is small. Its reader waits for the lane with the buffer
	// that it came in, and so do hundreds in a storm of connections.
	s.room = narrowSize
	s.poll(conn)
}

// pending returns the bytes that were received and not yet consumed.
func (s *socket) pending() []byte {
	if s.in == nil {
		return nil
	}
	return s.in.B[s.consumed:]
}

func (s *socket) consume(n int) { s.consumed += n }

// errInputBudget says that too much memory is held by the beginnings of chunks.
var errInputBudget = errors.New("no memory for an unfinished chunk")

// settle gives the buffer back, or keeps what is left of an unfinished chunk:
// a little in a small buffer, more only when the budget allows.
func (s *socket) settle() error {
	s.compact()
	held := 0
	if s.in != nil && !s.placed && cap(s.in.B) > narrowSize {
		held = cap(s.in.B)
	}
	if more := held - s.taken; more > 0 && !s.budget.Take(more) {
		return errInputBudget
	} else if more < 0 {
		s.budget.Give(-more)
	}
	s.taken = held
	return nil
}

func (s *socket) compact() {
	if s.in == nil || s.placed && s.consumed == 0 {
		return
	}
	rest := s.in.B[s.consumed:]
	switch {
	case len(rest) == 0:
		s.drop()
	case s.placed:
		s.leave(0)
	case len(rest) <= narrowSize && cap(s.in.B) > narrowSize:
		small := codec.GetBuffer(narrowSize)
		small.B = append(small.B[:0], rest...)
		s.in.Release()
		s.in = small
	case s.consumed > 0:
		s.in.B = s.in.B[:copy(s.in.B, rest)]
	}
	s.consumed = 0
}

// widen makes room for a read, keeping the unfinished bytes. It is as large as
// the chunk that they begin where that is larger than a whole read, but not
// larger, so that unfinished chunks hold little more than their peers have sent.
func (s *socket) widen(room int) {
	if s.in == nil {
		s.in = codec.GetBuffer(room)
		s.in.B = s.in.B[:0]
		return
	}
	if s.placed {
		// The chunk is larger than the ones before it, or it is no chunk yet.
		if s.want > cap(s.in.B) {
			s.leave(s.want)
		}
		return
	}
	room = max(room, s.want)
	if cap(s.in.B) >= room && len(s.in.B) < cap(s.in.B) {
		return
	}
	big := codec.GetBuffer(max(room, len(s.in.B)+narrowSize))
	big.B = append(big.B[:0], s.in.B...)
	s.in.Release()
	s.in = big
}

// fill waits for bytes and adds all there are to the pending ones.
func (s *socket) fill() error {
	if err := s.settle(); err != nil {
		return err
	}
	if s.raw == nil {
		s.widen(narrowSize)
		n, err := s.conn.Read(s.in.B[len(s.in.B):cap(s.in.B)])
		s.in.B = s.in.B[:len(s.in.B)+n]
		if n > 0 {
			return nil
		}
		return err
	}
	s.readErr = nil
	if err := s.raw.Read(s.readFunc); err != nil {
		return err
	}
	return s.readErr
}

// tryWrite writes what the kernel takes at once and returns its length. It
// never blocks; where that cannot be had it writes nothing.
func (s *socket) tryWrite(b []byte) (int, error) {
	if s.raw == nil {
		return 0, nil
	}
	s.out, s.written, s.writeErr = b, 0, nil
	err := s.raw.Write(s.writeFunc)
	s.out = nil
	if err != nil {
		return s.written, err
	}
	return s.written, s.writeErr
}

func (s *socket) releaseInput() {
	s.drop()
	s.consumed = 0
	s.budget.Give(s.taken)
	s.taken = 0
}
