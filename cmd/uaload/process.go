package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// process measures what another process has used.
type process int

// rss returns the resident memory of the process in bytes, from /proc.
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

// ownRSS is the resident memory of this process in bytes.
func ownRSS() (int64, error) { return process(os.Getpid()).rss() }
