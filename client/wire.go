package client

import (
	"net"
	"syscall"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/uasc"
)

const (
	// readRoom is offered to each read of a system socket. It is taken from the
	// pool once there is something to read, and given back before the next wait.
	readRoom = 64 << 10
	// keptRoom is the largest buffer that stays with a connection while it waits
	// for the rest of a chunk, and what a connection without a file descriptor
	// waits with.
	keptRoom = 4 << 10
)

// wire is the byte stream below a channel. It reads whole frames and waits
// without holding a buffer where the connection is a system socket.
type wire struct {
	// Immutable.
	conn net.Conn
	raw  syscall.RawConn // nil: conn is no system socket

	// Owned by the reader.
	in      *codec.Buffer // nil while no byte is pending
	off     int           // of the first pending byte in in.B
	readErr error
	onRead  func(fd uintptr) bool

	// Owned by the writer.
	out      []byte
	written  int
	writeErr error
	onWrite  func(fd uintptr) bool
}

// next takes a whole frame from the pending bytes; ok is false when more must
// be read first. The frame aliases the buffer until the next fill.
func (w *wire) next(maxSize uint32) (h uasc.Header, frame []byte, ok bool, err error) {
	if w.in == nil {
		return h, nil, false, nil
	}
	pending := w.in.B[w.off:]
	if len(pending) < 8 {
		return h, nil, false, nil
	}
	if h, err = uasc.ParseHeader(pending, maxSize); err != nil {
		return h, nil, false, err
	}
	if len(pending) < int(h.Size) {
		return h, nil, false, nil
	}
	w.off += int(h.Size)
	return h, pending[:h.Size:h.Size], true, nil
}

// fill waits for bytes and appends what there is to the pending ones.
func (w *wire) fill() error {
	w.shrink()
	if w.raw == nil {
		w.grow(keptRoom)
		n, err := w.conn.Read(w.in.B[len(w.in.B):cap(w.in.B)])
		w.in.B = w.in.B[:len(w.in.B)+n]
		if n > 0 {
			return nil
		}
		return err
	}
	w.readErr = nil
	if err := w.raw.Read(w.onRead); err != nil {
		return err
	}
	return w.readErr
}

// shrink drops what was consumed. What remains of an unfinished chunk moves
// into the smallest buffer that holds it.
func (w *wire) shrink() {
	if w.in == nil {
		return
	}
	rest := w.in.B[w.off:]
	if len(rest) == 0 {
		w.release()
		return
	}
	if len(rest) < keptRoom/2 && cap(w.in.B) > keptRoom {
		small := codec.GetBuffer(keptRoom)
		small.B = append(small.B[:0], rest...)
		w.in.Release()
		w.in = small
	} else if w.off > 0 {
		w.in.B = w.in.B[:copy(w.in.B, rest)]
	}
	w.off = 0
}

// grow makes room for another read behind the pending bytes.
func (w *wire) grow(room int) {
	if w.in == nil {
		w.in, w.off = codec.GetBuffer(room), 0
		w.in.B = w.in.B[:0]
		return
	}
	if cap(w.in.B)-len(w.in.B) >= room/2 {
		return
	}
	big := codec.GetBuffer(len(w.in.B) + room)
	big.B = append(big.B[:0], w.in.B...)
	w.in.Release()
	w.in = big
}

func (w *wire) release() {
	if w.in != nil {
		w.in.Release()
	}
	w.in, w.off = nil, 0
}

// readFrame returns the next whole frame, waiting for it.
func (w *wire) readFrame(maxSize uint32) (uasc.Header, []byte, error) {
	for {
		h, frame, ok, err := w.next(maxSize)
		if ok || err != nil {
			return h, frame, err
		}
		if err := w.fill(); err != nil {
			return h, nil, err
		}
	}
}

// tryWrite writes what the kernel takes at once and returns how much that was;
// nothing where the connection is no system socket.
func (w *wire) tryWrite(b []byte) (int, error) {
	if w.raw == nil {
		return 0, nil
	}
	w.out, w.written, w.writeErr = b, 0, nil
	err := w.raw.Write(w.onWrite)
	w.out = nil
	if err == nil {
		err = w.writeErr
	}
	return w.written, err
}

// write blocks until the peer took all of b or made no progress for timeout.
func (w *wire) write(b []byte, timeout time.Duration) error {
	n, err := w.tryWrite(b)
	if err != nil || n == len(b) {
		return err
	}
	if err := w.conn.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err = w.conn.Write(b[n:]); err != nil {
		return err
	}
	return w.conn.SetWriteDeadline(time.Time{})
}
