//go:build !unix

package fuzzguard

import "time"

var began = time.Now()

// cpuTime stands in with the clock where the system has no such count.
func cpuTime() time.Duration { return time.Since(began) }
