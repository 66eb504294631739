//go:build unix

package main

import (
	"fmt"
	"syscall"
)

// reservedFiles are what a process has open beside its connections.
const reservedFiles = 64

// enoughFiles says why this process cannot open so many files. Go has raised the
// soft limit to the hard one when the program started.
func enoughFiles(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil // what cannot be asked will show
	}
	if uint64(limit.Cur) < uint64(n) {
		return fmt.Errorf("write fewer: this process may open %d files, and this takes %d; raise it with \"ulimit -n\"", limit.Cur, n)
	}
	return nil
}
