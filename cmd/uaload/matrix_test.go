package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A mistake in an axis or a limit is told with the flag and what to write.
func TestMistakesInAMatrixAreExplained(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-sessions 10,none", `-sessions = "10,none": write numbers from 1 on with commas`},
		{"-sessions 0", `-sessions = "0": write numbers`},
		{"-subscriptions 1,", `-subscriptions = "1,": write numbers`},
		{"-items -5", `-items = "-5": write numbers`},
		{"-intervals 100", `-intervals = "100": write intervals with commas`},
		{"-intervals 1us", `-intervals = "1us": write intervals`},
		{"-max-items 0", `-max-items = "0": write a number from 1 on`},
		{"-sessions 10 -items 10 -subscriptions 1 -max-items 99", `-max-items = "99": write more`},
		{"-max-rate NaN", `-max-rate = "NaN": write a number of notifications`},
		{"-rate -1", `-rate = "-1": write a number of changes`},
		{"-rate NaN", `-rate = "NaN": write a number of changes`},
		{"-nodes -1", `-nodes = "-1": write a number of variables`},
		{"-seconds 0s", `-seconds = "0s": write a time`},
		{"-warmup -1s", `-warmup = "-1s": write a time`},
		{"-queue -1", `-queue = "-1": write a number of values`},
		{"-inflight 0", `-inflight = "0": write a number from 1`},
		{"-late -1s", `-late = "-1s": write a time`},
		{"-patience 0s", `-patience = "0s": write a time`},
		{"-time -1s", `-time = "-1s": write a time`},
		{"-connecting 0", `-connecting = "0": write a number`},
		{"-subscribing 0", `-subscribing = "0": write a number`},
		{"-csv=", `-csv = "": write the name of a file`},
		{"-page 127.0.0.1:6060", `-page = "127.0.0.1:6060": write a URL`},
		{"-node ns=1;s=one", `-node = "ns=1;s=one": write a node with a numeric id: 10000 variables`},
		{"-node one", `-node = "one": write a NodeId`},
		{"-sessions 1000000000 -items 1 -subscriptions 1 -max-items 1000000000", `-sessions = "1000000000": write fewer`},
	} {
		err := run(context.Background(), strings.Fields("matrix -list "+c.args), io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("uaload matrix %s:\n got %v\nwant %s", c.args, err, c.want)
		}
	}
}

// Sessions come as they are named, and what they do with the lightest first; no
// cell comes twice, nor beyond the bounds.
func TestCellsComeLightestFirstForTheSameSessions(t *testing.T) {
	a := axes{[]int{100, 10}, []int{10, 1}, []int{1, 10, 1}, []time.Duration{100 * time.Millisecond, time.Second}}
	var got []string
	for _, c := range a.cells("None", 0, 0, bounds{items: 1000, rate: 5000}) {
		if c.nodes != c.ofSession() {
			t.Errorf("%v: %d nodes", c, c.nodes)
		}
		got = append(got, strings.Join(strings.Split(c.key(), " ")[1:6], " "))
	}
	want := []string{
		"100 1 1 1000 1", "100 1 1 100 10",
		"100 10 1 1000 1", "100 1 10 1000 1", // 1,000 items; at 100 ms they ask for 10,000 per second
		"10 1 1 1000 1", "10 1 1 100 10",
		"10 10 1 1000 1", "10 1 10 1000 1", "10 10 1 100 10", "10 1 10 100 10",
		"10 10 10 1000 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// More variables than a session has items are spread over the sessions, and no
// more are written than are watched.
func TestVariablesOfACell(t *testing.T) {
	a := axes{[]int{10}, []int{2}, []int{5, 500}, []time.Duration{time.Second}}
	for i, c := range a.cells("None", 400, 0.5, bounds{items: 1 << 30}) {
		if want := []int{100, 1000}[i]; c.nodes != want || c.rate != 0.5 {
			t.Errorf("%v: %d nodes, want %d", c, c.nodes, want)
		}
	}
	for _, c := range []struct{ nodes, want int }{{1, 1}, {9, 9}, {10, 10}, {15, 10}, {150, 15}, {1000, 100}, {5000, 500}, {10_000, 1000}, {1_000_000, 1000}} {
		if got := perWrite(c.nodes); got != c.want {
			t.Errorf("%d of %d nodes are written at once, want %d", got, c.nodes, c.want)
		}
	}
}

func goodRow() *row {
	r := newRow(cell{"None", 10, 1, 100, time.Second, 1, 100}, crew{10, 1000, unknown})
	r.received, r.p50, r.p99, r.most = 1000, 500, 1300, 1400
	r.expected, r.changes = 10_000, 100
	return r
}

// Each fault has its verdict, and the gravest is shown.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		spoil         func(r *row)
		verdict, want string
	}{
		{func(*row) {}, keptUp, ""},
		{func(r *row) { r.skipped = 1 }, keptUp, ""},
		{func(r *row) { r.skipped = 3 }, withDelay, "3 of 103 changes were left out"},
		{func(r *row) { r.p99 = 1301 }, withDelay, "took 1301 ms or more, and may take 1300"},
		{func(r *row) { r.missing = 7 }, withLoss, "7 of 10000 values missing"},
		{func(r *row) { r.repeated = 1 }, withLoss, "1 of 10000 values repeated"},
		{func(r *row) { r.disordered = 1 }, withLoss, "1 of 10000 values out of order"},
		{func(r *row) { r.strange = 1 }, withLoss, "1 of 10000 values unexpected"},
		{func(r *row) { r.missing, r.p99 = 7, 2000 }, withLoss, "missing; a hundredth"},
		{func(r *row) { r.failed["BadTimeout"] = 2; r.missing = 7 }, withError, "2 x BadTimeout; 7 of"},
		{func(r *row) { r.fault(true, "%d sessions were lost", 3) }, withError, "3 sessions were lost"},
		{func(r *row) { r.received = 0 }, withError, "no notification has come"},
		{func(r *row) { r.received = unknown }, withError, "no notification has come"},
	} {
		r := goodRow()
		c.spoil(r)
		r.judge(300 * time.Millisecond)
		if r.verdict != c.verdict || !strings.Contains(r.why, c.want) || (r.why == "") != (c.want == "") {
			t.Errorf("%s: %q, want %s: %q", r.verdict, r.why, c.verdict, c.want)
		}
	}
}

// Cells that stand in the file are not run again: those of the same numbers, and
// no others.
func TestAFileIsTakenUpAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "matrix.csv")
	file, err := openMatrix(name)
	if err != nil || len(file.records) > 0 {
		t.Fatal(file, err)
	}
	r := goodRow()
	r.why = "a | and a, comma"
	if err := file.add(r); err != nil {
		t.Fatal(err)
	}
	other := goodRow()
	other.security, other.interval = "Basic256Sha256/SignAndEncrypt", 2500*time.Microsecond
	if err := file.add(other); err != nil {
		t.Fatal(err)
	}
	again, err := openMatrix(name)
	if err != nil || len(again.records) != 2 {
		t.Fatal(again, err)
	}
	changed := []cell{r.cell, other.cell, r.cell, r.cell, r.cell, r.cell}
	changed[2].rate = 10
	changed[3].nodes++
	changed[4].interval++ // less than is written
	changed[5].sessions++
	if left := again.left(changed); !slices.Equal(left, []cell{changed[2], changed[3], changed[5]}) {
		t.Errorf("%v are left", left)
	}
	text, _ := os.ReadFile(name)
	if n := strings.Count(string(text), "security"); n != 1 {
		t.Errorf("%d headers in\n%s", n, text)
	}

	var table, objects bytes.Buffer
	if err := again.print(&table, false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[2], "| None | 10 | 1 x 100 | 1,000 | 1,000 |") || !strings.Contains(lines[2], "a / and a, comma") {
		t.Errorf("%s", table.String())
	}
	for _, line := range lines {
		if strings.Count(line, "|") != len(shown)+1 {
			t.Errorf("%d columns, want %d: %s", strings.Count(line, "|")-1, len(shown), line)
		}
	}
	if err := again.print(&objects, true); err != nil {
		t.Fatal(err)
	}
	var decoded []map[string]any
	if err := json.Unmarshal(objects.Bytes(), &decoded); err != nil || decoded[0]["delay_p99_ms"] != 1300.0 || decoded[0]["server_cpu_percent"] != nil {
		t.Errorf("%v: %s", err, objects.String())
	}
}

// What is no file of a matrix is left alone.
func TestAnotherFileIsAMistake(t *testing.T) {
	for text, want := range map[string]string{
		"a,b\n1,2\n": "its columns are not those",
		strings.Join(header(), ",") + "\nNone,10,":    "delete the last line",
		strings.Join(header(), ",") + "\nNone,10,1\n": "wrong number of fields",
	} {
		name := filepath.Join(t.TempDir(), "matrix.csv")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openMatrix(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// A line sorts by its numbers, and None before what is secured.
func TestLinesAreSortedByTheirCells(t *testing.T) {
	of := func(security string, sessions, items int) []string {
		r := goodRow()
		r.security, r.sessions, r.items = security, sessions, items
		return r.record()
	}
	want := [][]string{of("None", 9, 1), of("None", 10, 2), of("None", 10, 10), of("Basic256Sha256/Sign", 1, 1)}
	got := [][]string{want[2], want[3], want[1], want[0]}
	slices.SortFunc(got, ordered)
	for i := range want {
		if key(got[i]) != key(want[i]) {
			t.Errorf("%d is %s, want %s", i, key(got[i]), key(want[i]))
		}
	}
}

func TestThousandsAreGrouped(t *testing.T) {
	for number, want := range map[string]string{"": "", "1": "1", "999": "999", "1000": "1,000", "1234567.25": "1,234,567.25"} {
		if got := grouped(number); got != want {
			t.Errorf("%s is %s, want %s", number, got, want)
		}
	}
	if places(math.NaN(), 1) != "" || places(math.Inf(1), 1) != "" || places(1.25, 1) != "1.2" {
		t.Error("figures")
	}
}

// What a server keeps is told; what is not known is not.
func TestWhatIsLeftBehindIsTold(t *testing.T) {
	before := holding{sessions: 3, subscriptions: 2, items: -1}
	for _, c := range []struct {
		now  holding
		want string
	}{
		{holding{3, 2, 50}, ""},
		{holding{3, 1, -1}, ""},
		{holding{-1, 2, -1}, ""},
		{holding{4, 2, -1}, "1 sessions more"},
		{holding{3, 12, -1}, "10 subscriptions more"},
	} {
		err := c.now.beyond(before)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.now, err, c.want)
		}
	}
	before.items = 40
	if err := (holding{3, 2, 50}).beyond(before); err == nil || !strings.Contains(err.Error(), "10 items more") {
		t.Error(err)
	}
}

// matrixLines runs a matrix and returns its lines by column.
func matrixLines(t *testing.T, name, args string) []map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, strings.Fields("matrix -csv "+name+" "+args), io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var lines []map[string]string
	for _, r := range records[1:] {
		line := map[string]string{}
		for i, c := range columns {
			line[c.name] = r[i]
		}
		lines = append(lines, line)
	}
	return lines
}

// A matrix measures every cell, with sessions that come and go, and takes up
// where it was ended.
func TestAMatrixMeasuresEveryCell(t *testing.T) {
	url, stop := startServer(t, "-array-sizes", "none", "-nodes", "300")
	name := filepath.Join(t.TempDir(), "matrix.csv")
	args := "-sessions 3,5,2 -subscriptions 1,2 -items 4,120 -max-items 650 -intervals 50ms -seconds 200ms -warmup 0s" + secure +
		" -pid " + pid() + " -endpoint " + url
	if lines := matrixLines(t, name, args+" -time 1ns -table "+name+".md"); len(lines) != 0 {
		t.Fatalf("%v", lines)
	}
	lines := matrixLines(t, name, args)
	if len(lines) != 10 { // 2 x 120 items are too many for 3 and for 5 sessions
		t.Fatalf("%d lines", len(lines))
	}
	for _, l := range lines {
		if l["verdict"] != keptUp && l["verdict"] != withDelay || l["errors"] != "0" || l["missing"] != "0" || l["established"] != l["sessions"] {
			t.Errorf("%v", l)
		}
		for _, column := range []string{
			"notifications_per_second", "values_expected", "delay_p50_ms", "delay_p99_ms", "delay_max_ms",
			"server_rss_bytes", "established_per_second", "publishing_interval_ms_granted", "queue_size_granted", "seconds",
		} {
			if l[column] == "" || l[column] == "0" {
				t.Errorf("%s is %q in %v", column, l[column], l)
			}
		}
	}
	stop()
	if again := matrixLines(t, name, args); len(again) != len(lines) {
		t.Errorf("%d lines, without a server", len(again))
	}
}

// What a cell does wrong is in its line, and the next one is run all the same.
func TestAMatrixGoesOnBehindACellThatFails(t *testing.T) {
	url, _ := startServer(t, "-array-sizes", "none", "-nodes", "40", "-max-sessions", "4", "-max-subscriptions", "6")
	name := filepath.Join(t.TempDir(), "matrix.csv")
	args := " -intervals 50ms -seconds 300ms -warmup 0s -endpoint " + url
	matrixLines(t, name, "-sessions 3 -subscriptions 2,3 -items 1"+args)
	matrixLines(t, name, "-sessions 1 -subscriptions 1 -items 40 -rate 100 -queue 1"+args)
	lines := matrixLines(t, name, "-sessions 9,2 -subscriptions 1 -items 3"+args)
	for i, want := range []struct{ verdict, why string }{
		{keptUp, ""},
		{withError, "BadTooManySubscriptions"},
		{withLoss, "values missing"},
		{withError, "of 9 sessions were established"},
		{keptUp, ""},
	} {
		if i >= len(lines) || lines[i]["verdict"] != want.verdict || !strings.Contains(lines[i]["why"], want.why) {
			t.Fatalf("%d: want %+v, got %v", i, want, lines)
		}
	}
}
