//go:build unix

package client

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// attach prepares a connection. A system socket is then read and written
// through its descriptor, so that a wait holds no buffer.
func (w *wire) attach(conn net.Conn) {
	w.conn = conn
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	w.raw, w.onRead, w.onWrite = raw, w.readNow, w.writeNow
}

// readNow reads what is there. It returns false, to be called again when the
// socket is readable, if that is nothing.
func (w *wire) readNow(fd uintptr) bool {
	w.grow(readRoom)
	for {
		n, err := syscall.Read(int(fd), w.in.B[len(w.in.B):cap(w.in.B)])
		switch {
		case n > 0:
			w.in.B = w.in.B[:len(w.in.B)+n]
			return true
		case err == nil:
			w.readErr = io.EOF
			return true
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			w.shrink()
			return false
		}
		w.readErr = err
		return true
	}
}

// writeNow writes until the kernel takes no more, and never asks to wait.
func (w *wire) writeNow(fd uintptr) bool {
	for w.written < len(w.out) {
		n, err := syscall.Write(int(fd), w.out[w.written:])
		switch {
		case n > 0:
			w.written += n
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return true
		case err != nil:
			w.writeErr = err
			return true
		}
	}
	return true
}
