package channelactor

import (
	"errors"
	"os"
	"time"
)

const (
	// drainTime is how long a channel that has said why it ends waits for its peer to close.
	drainTime = time.Second
	// drainBytes is how much it still takes from the peer meanwhile: more than what a client has under way
	// that was not told yet, and too little for one that wants to be read for nothing.
	drainBytes = 1 << 20
	// drainers is how many of a running server's channels wait like that. Each keeps its connection, though
	// it has no place among the channels any more, so a peer that makes mistakes on purpose gets no more.
	drainers = 100
)

// drain lets the peer read why the channel ends. A connection that is closed while bytes wait which nobody
// has read, or that gets some afterwards, is reset, and a reset takes from the peer what it has not read yet
// (RFC 1122, 4.2.2.13). So only the sending half is closed, and what the peer sends is dropped until it has
// closed too (Part 6, 7.1.5: the client does when it has got an Error message), within bounds.
func (c *Channel) drain() {
	conn, ok := c.sock.conn.(interface{ CloseWrite() error })
	if !ok || c.sock.raw == nil {
		return
	}
	server := c.server
	defer server.draining.Add(-1)
	if server.draining.Add(1) > drainers && !server.isClosed() {
		return
	}
	if conn.CloseWrite() != nil {
		return
	}
	left := drainBytes
	for end := time.Now().Add(drainTime); time.Now().Before(end); {
		c.sock.conn.SetReadDeadline(end)
		// Who ends a channel wakes its reader by a deadline that has passed, and that may come late.
		if err := c.sock.discard(&left); !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}
