//go:build !linux

package main

import (
	"errors"
	"time"
)

func (process) cpu() (time.Duration, error) {
	return 0, errors.New("the CPU time of a process is measured on Linux only")
}

func ownCPU() time.Duration { return 0 }
