package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// report counts checks: one PASS or FAIL line each, and a closing line that
// totals them.
type report struct {
	mu             sync.Mutex
	passed, failed int
}

// check runs f as one check with a deadline. What f returns as text ends the
// PASS line; a returned error or a panic is a failure.
func (r *report) check(ctx context.Context, name string, f func(ctx context.Context) (string, error)) bool {
	return r.checkWithin(ctx, 30*time.Second, name, f)
}

func (r *report) checkWithin(ctx context.Context, limit time.Duration, name string, f func(ctx context.Context) (string, error)) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	note, err := guarded(ctx, f)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failed++
		fmt.Printf("FAIL %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", "; "))
		return false
	}
	r.passed++
	if note != "" {
		note = ": " + note
	}
	fmt.Printf("PASS %s%s\n", name, note)
	return true
}

func guarded(ctx context.Context, f func(ctx context.Context) (string, error)) (note string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return f(ctx)
}

// close prints the closing line and gives the exit code.
func (r *report) close() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Printf("%d passed, %d failed\n", r.passed, r.failed)
	if r.failed > 0 || r.passed == 0 {
		return 1
	}
	return 0
}
