//go:build !unix

package client

import "net"

// attach prepares a connection, which on this system waits with a small buffer.
func (w *wire) attach(conn net.Conn) { w.conn = conn }
