//go:build unix

package fuzzguard

import (
	"syscall"
	"time"
)

// cpuTime returns what the process has used of the processors.
func cpuTime() time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
