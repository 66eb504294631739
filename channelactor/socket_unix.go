//go:build unix

package channelactor

import (
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/uahive/uahive/codec"
)

// poll arranges reads and writes that wait in the runtime's poller without a
// buffer of their own.
func (s *socket) poll(conn net.Conn) {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	s.raw = raw
	s.readFunc = s.readOnce
	s.writeFunc = s.writeOnce
}

func (s *socket) readOnce(fd uintptr) bool {
	s.widen(int(s.room))
	for {
		n, err := readNow(fd, s.in.B[len(s.in.B):cap(s.in.B)])
		switch {
		case err == nil && n > 0:
			s.in.B = s.in.B[:len(s.in.B)+n]
			return true
		case err == nil:
			s.readErr = io.EOF
			return true
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			s.readErr = s.settle()
			return s.readErr != nil
		default:
			s.readErr = err
			return true
		}
	}
}

func (s *socket) writeOnce(fd uintptr) bool {
	for s.written < len(s.out) {
		n, err := writeNow(fd, s.out[s.written:])
		switch {
		case err == nil:
			s.written += n
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return true
		default:
			s.writeErr = err
			return true
		}
	}
	return true
}

// discard reads and drops what comes, until the peer has closed, the deadline has passed, or more than left
// has come. It holds no buffer while it waits.
func (s *socket) discard(left *int) error {
	var failed error
	err := s.raw.Read(func(fd uintptr) bool {
		buf := codec.GetBuffer(narrowSize)
		defer buf.Release()
		for *left > 0 {
			n, err := readNow(fd, buf.B[:cap(buf.B)])
			switch {
			case err == nil && n > 0:
				*left -= n
			case err == nil:
				failed = io.EOF
				return true
			case errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EAGAIN):
				return false
			default:
				failed = err
				return true
			}
		}
		return true
	})
	return errors.Join(err, failed)
}

// isTransient reports whether accept may succeed later: no descriptors or
// memory left, or a peer that gave up in the queue.
func isTransient(err error) bool {
	for _, code := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}
