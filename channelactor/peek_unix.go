//go:build unix

package channelactor

import (
	"errors"
	"syscall"
)

// gone reports whether the peer has closed the connection or its half of it, as
// far as that can be seen without reading: bytes that wait to be read hide it.
// It may be asked from any goroutine. Where it cannot be known, the peer is there.
func (s *socket) gone() bool {
	if s.raw == nil {
		return false
	}
	gone := false
	err := s.raw.Control(func(fd uintptr) {
		var b [1]byte
		for {
			n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
			switch {
			case err == nil:
				gone = n == 0
			case errors.Is(err, syscall.EINTR):
				continue
			default:
				gone = !errors.Is(err, syscall.EAGAIN)
			}
			return
		}
	})
	return gone || err != nil
}
