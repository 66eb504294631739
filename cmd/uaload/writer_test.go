package main

import (
	"context"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// A writer that writes in parts brings each number to every node, and stops
// behind a whole round.
func TestAWriterInPartsWritesTheSameToAll(t *testing.T) {
	url, _ := startServer(t, "-array-sizes", "none", "-nodes", "25", "-security", "None")
	f := target{endpoint: url, security: "None", timeout: 5 * time.Second, json: true}
	crew, err := f.connect(context.Background(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(crew)
	var nodes []ua.NodeID
	for i := range 25 {
		nodes = append(nodes, ua.NumericID(1, firstMore+uint32(i)))
	}
	w, err := newWriter(context.Background(), crew[0], nodes, 10)
	if err != nil || len(w.parts) != 3 || w.nodes() != 25 {
		t.Fatal(w, err)
	}
	w.wander = true
	ctx, cancel := context.WithTimeout(context.Background(), 170*time.Millisecond)
	defer cancel()
	if err := w.run(ctx, 50); err != nil {
		t.Fatal(err)
	}
	values, err := crew[0].ReadValues(context.Background(), nodes...)
	if err != nil {
		t.Fatal(err)
	}
	last := w.written.Load()
	for i, v := range values {
		if n, _ := number(v.Value); n != last {
			t.Errorf("node %d is %d, want %d", i, n, last)
		}
		if since := w.since(i, last, time.Now()); since <= 0 || since > 10*time.Second {
			t.Errorf("node %d was written %v ago", i, since)
		}
	}
	if last < w.before+2 {
		t.Errorf("%d numbers were written", last-w.before)
	}
}

// The moments of a writer that wanders lie within their time, all over it.
func TestAWriterWandersThroughItsTime(t *testing.T) {
	w := writer{before: 7, wander: true}
	var tenths [10]int
	for i := range 100 {
		w.written.Store(7 + int64(i))
		aside := w.aside(time.Second)
		if aside < 0 || aside >= time.Second {
			t.Fatalf("%v aside", aside)
		}
		tenths[aside*10/time.Second]++
	}
	for i, n := range tenths {
		if n < 8 || n > 12 {
			t.Errorf("%d of 100 in tenth %d", n, i)
		}
	}
	w.wander = false
	if w.aside(time.Second) != 0 {
		t.Error("a writer that does not wander does")
	}
}
