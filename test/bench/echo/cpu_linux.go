package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the user and system time of a process, 0 without one. The kernel has a clock for each process
// (clock_getcpuclockid(3)), which counts nanoseconds; /proc rounds to hundredths of a second.
func cpuTime(pid int) (time.Duration, error) {
	if pid == 0 {
		return 0, nil
	}
	const sched = 2 // CPUCLOCK_SCHED: user and system together
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
