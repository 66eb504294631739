//go:build !unix

package channelactor

import "net"

// poll does nothing: on this system a waiting reader holds a small buffer.
func (s *socket) poll(net.Conn) {}

func isTransient(error) bool { return false }

// gone is not known on this system.
func (s *socket) gone() bool { return false }

// discard does nothing.
func (s *socket) discard(*int) error { return nil }
