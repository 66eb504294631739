package main

import (
	"fmt"
	"net/url"
	"slices"
	"time"
)

// matrixFlags are the flags of "uaload matrix". What is watched and how is that
// of "uaload subscribe", with numbers that are different in each cell.
type matrixFlags struct {
	subscribeFlags
	axes                    axes
	most                    bounds
	late, patience, time    time.Duration
	connecting, subscribing int
	page, csv, table        string
	listing                 bool

	cells []cell
}

func (f *matrixFlags) parse(c *command, args []string) error {
	var sessions, subscriptions, items, intervals string
	set := c.flags()
	f.target.add(set)
	set.StringVar(&sessions, "sessions", "10,100,1000", "numbers of sessions, each with a connection of its own; one more writes")
	set.StringVar(&subscriptions, "subscriptions", "1,10", "numbers of subscriptions of each session")
	set.StringVar(&items, "items", "1,100,1000", "numbers of monitored items of each subscription")
	set.StringVar(&intervals, "intervals", "100ms,1s", "publishing intervals")
	set.IntVar(&f.most.items, "max-items", 1_000_000, "leave out cells with more items in all")
	set.Float64Var(&f.most.rate, "max-rate", 0, "leave out cells that ask for more notifications per `second`; 0: none")
	set.Float64Var(&f.rate, "rate", 0, "changes of each variable per second; 0: one in each publishing interval")
	set.StringVar(&f.text, "node", fmt.Sprintf("ns=1;i=%d", firstMore), "the first `node` of those that change")
	set.IntVar(&f.nodes, "nodes", 0, "variables that change, at least; there are as many as a session has items, so that each item of a session has one of its own, and with more than that the sessions watch different ones")
	set.DurationVar(&f.duration, "seconds", 5*time.Second, "how `long` to measure each cell, and one change and one publishing interval at least")
	set.DurationVar(&f.warmup, "warmup", time.Second, "how long to run before measuring, and as long as that at least; what arrives is checked as well")
	set.IntVar(&f.queue, "queue", 0, "queue `size` of each item; 0: as many values as change in three publishing intervals, at least 10")
	set.IntVar(&f.inflight, "inflight", 2, "Publish requests that each session keeps at the server for each subscription, and one more")
	set.DurationVar(&f.late, "late", 300*time.Millisecond, "how much longer than the publishing interval the slowest hundredth of the values may take")
	set.DurationVar(&f.patience, "patience", 30*time.Second, "how long the subscriptions of a cell may take to be made, to bring their last values, and to be deleted")
	set.DurationVar(&f.time, "time", 0, "begin no cell after so long; 0: run them all")
	set.IntVar(&f.connecting, "connecting", connecting, "sessions that are established at once")
	set.IntVar(&f.subscribing, "subscribing", 64, "subscriptions that are made at once")
	set.StringVar(&f.page, "page", "", "`URL` of the counters of \"uaload serve -pprof\", as http://127.0.0.1:6060/stats, to see what is left behind a cell, and memory without garbage")
	set.StringVar(&f.csv, "csv", "matrix.csv", "`file` that gets a line for each cell; cells that it has are not run again")
	set.StringVar(&f.table, "table", "", "`file` that gets all lines of the CSV as a table in Markdown; without one it is printed")
	set.BoolVar(&f.listing, "list", false, "print the cells that are to be run, and run none")
	if err := parse(set, args); err != nil {
		return err
	}
	for _, err := range []error{
		read(&f.axes.sessions, numbers, "sessions", sessions),
		read(&f.axes.subscriptions, numbers, "subscriptions", subscriptions),
		read(&f.axes.items, numbers, "items", items),
		read(&f.axes.intervals, durations, "intervals", intervals),
	} {
		if err != nil {
			return err
		}
	}
	return f.check()
}

// read reads an axis.
func read[T any](into *[]T, how func(name, text string) ([]T, error), name, text string) (err error) {
	*into, err = how(name, text)
	return err
}

func (f *matrixFlags) check() error {
	if err := f.target.check(); err != nil {
		return err
	}
	switch {
	case f.most.items < 1:
		return wrong("max-items", f.most.items, "write a number from 1 on")
	case !(f.most.rate >= 0):
		return wrong("max-rate", f.most.rate, "write a number of notifications per second, or 0 for any")
	case !(f.rate >= 0 && f.rate <= fastest):
		return wrong("rate", f.rate, "write a number of changes per second, at most %d, or 0 for one in each publishing interval", fastest)
	case f.nodes < 0:
		return wrong("nodes", f.nodes, "write a number of variables, or 0 for as many as a session has items")
	case f.duration <= 0:
		return wrong("seconds", f.duration, `write a time like "5s"`)
	case f.warmup < 0:
		return wrong("warmup", f.warmup, `write a time like "1s", or 0`)
	case f.queue < 0:
		return wrong("queue", f.queue, "write a number of values, or 0 for enough")
	case f.inflight < 1 || f.inflight > mostInFlight:
		return wrong("inflight", f.inflight, "write a number from 1 to %d", mostInFlight)
	case f.late < 0:
		return wrong("late", f.late, `write a time like "300ms"`)
	case f.patience <= 0:
		return wrong("patience", f.patience, `write a time like "30s"`)
	case f.time < 0:
		return wrong("time", f.time, `write a time like "3m", or 0`)
	case f.connecting < 1:
		return wrong("connecting", f.connecting, "write a number from 1 on")
	case f.subscribing < 1:
		return wrong("subscribing", f.subscribing, "write a number from 1 on")
	case f.csv == "":
		return wrong("csv", f.csv, "write the name of a file")
	}
	if u, err := url.Parse(f.page); f.page != "" && (err != nil || u.Scheme != "http" || u.Host == "") {
		return wrong("page", f.page, `write a URL like "http://127.0.0.1:6060/stats"`)
	}
	f.cells = f.axes.cells(f.security, f.nodes, f.rate, f.most)
	if len(f.cells) == 0 {
		return wrong("max-items", f.most.items, "write more: no cell has so few items and notifications per second")
	}
	f.count = 1
	for _, c := range f.cells {
		f.count = max(f.count, c.nodes)
	}
	nodes := f.count
	if err := f.nodeRange.check(); err != nil {
		return err
	}
	if f.count < nodes {
		return wrong("node", f.text, "write a node with a numeric id: %d variables whose ids follow each other are needed", nodes)
	}
	most := slices.Max(f.axes.sessions)
	if err := enoughFiles(most + reservedFiles); err != nil {
		return wrong("sessions", most, "%v", err)
	}
	return nil
}

// of are the flags of the load that a cell is.
func (f *matrixFlags) of(c cell) (*subscribeFlags, error) {
	s := f.subscribeFlags
	s.clients, s.subscriptions, s.items, s.nodes = c.sessions, c.subscriptions, c.items, c.nodes
	// Everything changes once before and once while it is measured, at least.
	round := max(c.interval, time.Duration(float64(time.Second)/c.rate))
	s.publishing, s.rate, s.warmup, s.duration = c.interval, c.rate, max(f.warmup, round), max(f.duration, round)
	return &s, s.check()
}
