//go:build unix

package main

import "syscall"

// fileLimit is the number of files that the process may have open. The runtime
// has raised it to what the system allows.
func fileLimit() (uint64, bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return uint64(limit.Cur), true
}
