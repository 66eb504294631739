package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/uahive/uahive/codec/ua"
)

// tally counts failures by StatusCode: of whole requests, and of single
// operations in the results of others. The zero value counts.
type tally map[ua.StatusCode]int64

func (t *tally) add(status ua.StatusCode) {
	if *t == nil {
		*t = make(tally)
	}
	(*t)[status.Code()]++
}

// into adds everything to a count by name.
func (t tally) into(names map[string]int64) {
	for status, n := range t {
		names[status.String()] += n
	}
}

// any is one of the statuses, for a message; Good if there is none.
func (t tally) any() ua.StatusCode {
	for status := range t {
		return status
	}
	return ua.Good
}

// printErrors writes one line for each kind of failure.
func printErrors(w io.Writer, errors map[string]int64) {
	for _, name := range slices.Sorted(maps.Keys(errors)) {
		fmt.Fprintf(w, "  failed        %12d  %s\n", errors[name], name)
	}
}
