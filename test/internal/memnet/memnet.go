// Package memnet is a network in memory for tests under testing/synctest: a
// listener, and buffered connections with deadlines that follow the time of the
// bubble. Unlike net.Pipe a write returns as soon as there is room, as on a
// socket, so that two ends may write at once without a deadlock.
package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// DefaultBuffer is the number of bytes that a connection holds in each direction
// before its writer has to wait.
const DefaultBuffer = 256 << 10

// Listener hands out the server ends of connections that Dial makes.
type Listener struct {
	// Buffer is the size of each direction of the next connections in bytes;
	// 0 stands for DefaultBuffer. Set it before Dial.
	Buffer int

	address net.Addr
	queue   chan net.Conn
	closed  chan struct{}
	once    sync.Once

	mu   sync.Mutex
	port int
}

// Listen returns a listener whose address is 127.0.0.1:4840; nothing of the
// system's network is used.
func Listen() *Listener {
	return &Listener{
		address: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4840},
		queue:   make(chan net.Conn, 64), closed: make(chan struct{}), port: 49152,
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.address }

// Dial returns the client end of a new connection. Each one has a port of its own.
func (l *Listener) Dial() (net.Conn, error) {
	l.mu.Lock()
	l.port++
	remote := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: l.port}
	l.mu.Unlock()
	server, client := Pipe(l.Buffer, l.address, remote)
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	default:
	}
	select {
	case l.queue <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Pipe returns both ends of a connection: a has the address a, its peer b.
func Pipe(buffer int, a, b net.Addr) (net.Conn, net.Conn) {
	if buffer <= 0 {
		buffer = DefaultBuffer
	}
	ab, ba := newStream(buffer), newStream(buffer)
	return &conn{in: ba, out: ab, local: a, remote: b}, &conn{in: ab, out: ba, local: b, remote: a}
}

// stream is one direction of a connection.
type stream struct {
	mu sync.Mutex
	// Guarded by mu.
	data    []byte
	limit   int
	ended   bool          // the writer has closed: EOF after data
	broken  bool          // the reader has closed: writes fail
	changed chan struct{} // closed and replaced when anything above changes
}

func newStream(limit int) *stream {
	return &stream{limit: limit, changed: make(chan struct{})}
}

// notify wakes who waits for a change. mu is held.
func (s *stream) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// conn is one end of a connection.
type conn struct {
	in, out         *stream
	local, remote   net.Addr
	reading, writer deadline
	closed          sync.Once
}

func (c *conn) Read(b []byte) (int, error) {
	s := c.in
	for {
		over := c.reading.passed()
		s.mu.Lock()
		switch {
		case s.broken:
			s.mu.Unlock()
			return 0, net.ErrClosed
		case isDone(over):
			s.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		case len(s.data) > 0 || len(b) == 0:
			n := copy(b, s.data)
			s.data = s.data[n:]
			s.notify()
			s.mu.Unlock()
			return n, nil
		case s.ended:
			s.mu.Unlock()
			return 0, io.EOF
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-over:
		}
	}
}

func (c *conn) Write(b []byte) (written int, err error) {
	s := c.out
	for {
		over := c.writer.passed()
		s.mu.Lock()
		switch {
		case s.ended:
			s.mu.Unlock()
			return written, net.ErrClosed
		case s.broken:
			s.mu.Unlock()
			return written, io.ErrClosedPipe
		case isDone(over):
			s.mu.Unlock()
			return written, os.ErrDeadlineExceeded
		}
		if n := min(len(b), s.limit-len(s.data)); n > 0 {
			s.data = append(s.data, b[:n]...)
			b = b[n:]
			written += n
			s.notify()
		}
		changed := s.changed
		s.mu.Unlock()
		if len(b) == 0 {
			return written, nil
		}
		select {
		case <-changed:
		case <-over:
		}
	}
}

// Close ends both directions; what was written before can still be read.
func (c *conn) Close() error {
	c.closed.Do(func() {
		c.out.mu.Lock()
		c.out.ended = true
		c.out.notify()
		c.out.mu.Unlock()
		c.in.mu.Lock()
		c.in.broken = true
		c.in.data = nil
		c.in.notify()
		c.in.mu.Unlock()
		c.reading.set(time.Time{})
		c.writer.set(time.Time{})
	})
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetDeadline(t time.Time) error {
	c.reading.set(t)
	c.writer.set(t)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.reading.set(t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.writer.set(t)
	return nil
}

// deadline is a channel that is closed when a moment has come. A new moment
// moves who waits for the old one too, since both wait on one channel.
type deadline struct {
	mu sync.Mutex
	// Guarded by mu.
	over  chan struct{}
	timer *time.Timer
}

func (d *deadline) passed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over == nil {
		d.over = make(chan struct{})
	}
	return d.over
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if d.over == nil || isDone(d.over) {
		d.over = make(chan struct{})
	}
	if t.IsZero() {
		return
	}
	over := d.over
	if wait := time.Until(t); wait > 0 {
		d.timer = time.AfterFunc(wait, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.over == over && !isDone(over) {
				close(over)
			}
		})
		return
	}
	close(over)
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
