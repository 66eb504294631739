//go:build unix && (!linux || race)

package channelactor

import "syscall"

// The ordinary calls, on other systems and for the race detector: it takes them for
// what orders the work of two ends of a connection, and does not see others.

func readNow(fd uintptr, b []byte) (int, error) { return syscall.Read(int(fd), b) }

func writeNow(fd uintptr, b []byte) (int, error) { return syscall.Write(int(fd), b) }
