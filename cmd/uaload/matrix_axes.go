package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// axes are the lists that a matrix is made of.
type axes struct {
	sessions, subscriptions, items []int
	intervals                      []time.Duration
}

// cell is one load of a matrix.
type cell struct {
	security string
	sessions int
	// subscriptions of each session, and items of each subscription.
	subscriptions, items int
	interval             time.Duration // asked for
	rate                 float64       // changes of each variable per second
	nodes                int           // variables that change
}

// ofSession is the number of items of each session.
func (c cell) ofSession() int { return c.subscriptions * c.items }

// total is the number of items in all.
func (c cell) total() int { return c.sessions * c.ofSession() }

// asked is the number of notifications per second that the cell asks for.
func (c cell) asked() float64 { return float64(c.total()) * c.rate }

func (c cell) String() string {
	return fmt.Sprintf("%s, %d sessions x %d subscriptions x %d items, publishing every %v, %g changes/s",
		c.security, c.sessions, c.subscriptions, c.items, c.interval, c.rate)
}

// bounds leave cells out.
type bounds struct {
	items int     // most items in all
	rate  float64 // most notifications per second; 0: any
}

// cells lists what the axes span, within bounds. Sessions come in the order in
// which they are named, since establishing them takes the longest; what they do
// comes with the fewest items and the longest interval first, so that a server
// that gives up has shown before what it can do.
func (a axes) cells(security string, nodes int, rate float64, most bounds) []cell {
	var list []cell
	seen := map[cell]bool{}
	for _, sessions := range a.sessions {
		var group []cell
		for _, subscriptions := range a.subscriptions {
			for _, items := range a.items {
				for _, interval := range a.intervals {
					c := cell{security, sessions, subscriptions, items, interval, rate, 0}
					if rate == 0 {
						c.rate = round(1 / interval.Seconds())
					}
					// Each item of a session watches a variable of its own.
					c.nodes = max(c.ofSession(), min(nodes, c.total()))
					if c.total() > most.items || most.rate > 0 && c.asked() > most.rate || seen[c] {
						continue
					}
					seen[c] = true
					group = append(group, c)
				}
			}
		}
		slices.SortStableFunc(group, func(a, b cell) int {
			return cmp.Or(cmp.Compare(a.total(), b.total()), cmp.Compare(b.interval, a.interval))
		})
		list = append(list, group...)
	}
	return list
}

// round keeps a rate short enough to be the same when it has been written and
// read.
func round(rate float64) float64 {
	n, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 6, 64), 64)
	return n
}

// numbers reads the numbers of an axis, each from 1 on.
func numbers(name, text string) ([]int, error) {
	return list(name, text, `write numbers from 1 on with commas between them, like "10,100,1000"`, func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil && n >= 1
	})
}

// durations reads the intervals of an axis.
func durations(name, text string) ([]time.Duration, error) {
	return list(name, text, `write intervals with commas between them, like "100ms,1s"`, func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && d >= time.Millisecond
	})
}

// list reads the values of an axis.
func list[T any](name, text, instead string, read func(string) (T, bool)) ([]T, error) {
	var values []T
	for s := range strings.SplitSeq(text, ",") {
		v, ok := read(strings.TrimSpace(s))
		if !ok {
			return nil, wrong(name, text, "%s", instead)
		}
		values = append(values, v)
	}
	return values, nil
}
