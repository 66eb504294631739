//go:build unix && !linux

package channelactor

import "syscall"

func readNow(fd uintptr, b []byte) (int, error) { return syscall.Read(int(fd), b) }

func writeNow(fd uintptr, b []byte) (int, error) { return syscall.Write(int(fd), b) }
