package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// process reads what another process has used from /proc.
type process int

// tick is the unit of CPU times in /proc/PID/stat: USER_HZ, which is 100 on
// every Linux that Go runs on.
const tick = 10 * time.Millisecond

// cpu returns the user and system time of the process.
func (p process) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", int(p)))
	if err != nil {
		return 0, err
	}
	// The command name may hold spaces; the fields count from behind it.
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	const utime, stime = 11, 12
	if len(fields) <= stime {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", int(p), len(fields))
	}
	user, err := strconv.Atoi(fields[utime])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[stime])
	return time.Duration(user+system) * tick, err
}

// rss returns the resident memory of the process in bytes.
func (p process) rss() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", int(p)))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/%d/statm has %d fields", int(p), len(fields))
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
