package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is what a cell has shown. Figures that nobody knows are NaN.
type row struct {
	cell
	crew    crew
	seconds float64 // measured
	// create and remove are for the subscriptions with all their items.
	create, remove float64 // seconds

	received            float64 // notifications per second
	cpu, cpuEach        float64 // of the server: percent of a core, us per notification
	clientCPU           float64 // percent of a core
	rss, rssEach        float64 // of the server, in bytes: while measuring; of each item with its share of the subscription
	p50, p99, most      float64 // ms from before a write until its notification has come
	queue               uint32  // as granted
	granted             float64 // publishing interval in ms
	expected            int64   // values, each at each item that watches
	missing, repeated   int64
	disordered, strange int64
	skipped             int64 // changes of each variable that were left out since the writes took too long
	changes             int64 // those that were written, in the whole run
	failed              map[string]int64
	wrong               []string // what else has gone wrong

	verdict, why string
}

// crew is what was seen when the sessions of a cell were established.
type crew struct {
	established int
	perSecond   float64
	rssEach     float64 // bytes of the server for each
}

var unknown = math.NaN()

func newRow(c cell, sessions crew) *row {
	return &row{
		cell: c, crew: sessions, create: unknown, remove: unknown, received: unknown, cpu: unknown, cpuEach: unknown,
		clientCPU: unknown, rss: unknown, rssEach: unknown, p50: unknown, p99: unknown, most: unknown, granted: unknown,
		failed: map[string]int64{},
	}
}

// take takes in what a load has counted.
func (r *row) take(s *subscribeResult) {
	r.seconds, r.received, r.clientCPU = s.Seconds, s.NotificationsPerSecond, s.ClientPercent
	if s.ServerPercent != nil {
		r.cpu, r.rss = *s.ServerPercent, float64(*s.ServerRSS)
	}
	if s.CPUPerNotification != nil {
		r.cpuEach = *s.CPUPerNotification
	}
	if s.Notifications > 0 {
		r.p50, r.p99, r.most = float64(s.Latency.P50)/1000, float64(s.Latency.P99)/1000, float64(s.Latency.Max)/1000
	}
	r.queue, r.granted = s.Queue, s.Publishing
	r.expected, r.missing, r.repeated, r.disordered, r.strange = s.Expected, s.Missing, s.Repeated, s.Disordered, s.Strange
	r.skipped = s.LateChanges
	maps.Copy(r.failed, s.Errors)
	r.fault(s.Lost > 0, "%d messages were lost", s.Lost)
	r.fault(s.Overflows > 0 && s.Missing == 0, "%d values are marked as behind dropped ones", s.Overflows)
}

// fault notes something that has gone wrong.
func (r *row) fault(is bool, format string, args ...any) {
	if is {
		r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
	}
}

// errors is the number of things that have gone wrong.
func (r *row) errors() int64 {
	n := int64(len(r.wrong))
	for _, some := range r.failed {
		n += some
	}
	return n
}

// The verdicts. A cell that has several faults shows the gravest.
const (
	keptUp    = "kept up"
	withError = "error" // a request failed, a session was lost, something was left behind
	withLoss  = "loss"  // a value did not come, or came twice or out of order
	withDelay = "late"  // values, or the writes that make them, took too long
)

// mostSkipped is the share of changes that may be left out because the server
// was not done with those before: a machine that other programs share stops all
// of them now and then.
const mostSkipped = 0.02

// judge says whether the server has kept up, and if not, why.
func (r *row) judge(late time.Duration) {
	var why []string
	r.verdict = keptUp
	blame := func(verdict, format string, args ...any) {
		if r.verdict == keptUp {
			r.verdict = verdict
		}
		why = append(why, fmt.Sprintf(format, args...))
	}
	for _, w := range r.wrong {
		blame(withError, "%s", w)
	}
	for _, name := range slices.Sorted(maps.Keys(r.failed)) {
		blame(withError, "%d x %s", r.failed[name], name)
	}
	for _, lost := range []struct {
		n    int64
		what string
	}{{r.missing, "missing"}, {r.repeated, "repeated"}, {r.disordered, "out of order"}, {r.strange, "unexpected"}} {
		if lost.n > 0 {
			blame(withLoss, "%d of %d values %s", lost.n, r.expected, lost.what)
		}
	}
	if most := milliseconds(r.interval) + milliseconds(late); r.p99 > most {
		blame(withDelay, "a hundredth of the values took %.0f ms or more, and may take %.0f", r.p99, most)
	}
	if all := r.changes + r.skipped; r.skipped > 1 && float64(r.skipped) > mostSkipped*float64(all) {
		blame(withDelay, "%d of %d changes were left out, since the writes before took too long", r.skipped, all)
	}
	if r.verdict == keptUp && !(r.received > 0) {
		blame(withError, "no notification has come")
	}
	r.why = strings.Join(why, "; ")
}

// column is one of the CSV.
type column struct {
	name string
	of   func(r *row) string
}

// keyColumns are how many columns, from the first one on, say which cell a line
// is of.
const keyColumns = 7

var columns = []column{
	{"security", func(r *row) string { return r.security }},
	{"sessions", func(r *row) string { return strconv.Itoa(r.sessions) }},
	{"subscriptions_per_session", func(r *row) string { return strconv.Itoa(r.subscriptions) }},
	{"items_per_subscription", func(r *row) string { return strconv.Itoa(r.items) }},
	{"publishing_interval_ms", func(r *row) string { return short(milliseconds(r.interval)) }},
	{"changes_per_second", func(r *row) string { return short(r.rate) }},
	{"nodes", func(r *row) string { return strconv.Itoa(r.nodes) }},
	{"items", func(r *row) string { return strconv.Itoa(r.total()) }},
	{"notifications_per_second_asked", func(r *row) string { return places(r.asked(), 0) }},
	{"notifications_per_second", func(r *row) string { return places(r.received, 0) }},
	{"server_cpu_percent", func(r *row) string { return places(r.cpu, 1) }},
	{"server_cpu_us_per_notification", func(r *row) string { return places(r.cpuEach, 3) }},
	{"client_cpu_percent", func(r *row) string { return places(r.clientCPU, 1) }},
	{"server_rss_bytes", func(r *row) string { return places(r.rss, 0) }},
	{"rss_bytes_per_session", func(r *row) string { return places(r.crew.rssEach, 0) }},
	{"rss_bytes_per_item", func(r *row) string { return places(r.rssEach, 0) }},
	{"delay_p50_ms", func(r *row) string { return places(r.p50, 1) }},
	{"delay_p99_ms", func(r *row) string { return places(r.p99, 1) }},
	{"delay_max_ms", func(r *row) string { return places(r.most, 1) }},
	{"values_expected", func(r *row) string { return strconv.FormatInt(r.expected, 10) }},
	{"missing", func(r *row) string { return strconv.FormatInt(r.missing, 10) }},
	{"repeated", func(r *row) string { return strconv.FormatInt(r.repeated, 10) }},
	{"out_of_order", func(r *row) string { return strconv.FormatInt(r.disordered, 10) }},
	{"errors", func(r *row) string { return strconv.FormatInt(r.errors(), 10) }},
	{"established", func(r *row) string { return strconv.Itoa(r.crew.established) }},
	{"established_per_second", func(r *row) string { return places(r.crew.perSecond, 0) }},
	{"create_seconds", func(r *row) string { return places(r.create, 2) }},
	{"delete_seconds", func(r *row) string { return places(r.remove, 2) }},
	{"publishing_interval_ms_granted", func(r *row) string { return places(r.granted, 0) }},
	{"queue_size_granted", func(r *row) string { return strconv.Itoa(int(r.queue)) }},
	{"seconds", func(r *row) string { return places(r.seconds, 1) }},
	{"verdict", func(r *row) string { return r.verdict }},
	{"why", func(r *row) string { return r.why }},
}

// short writes a number with as many digits as it needs.
func short(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// places writes a figure, or nothing where it is not known.
func places(v float64, digits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// record is a line of the CSV.
func (r *row) record() []string {
	fields := make([]string, len(columns))
	for i, c := range columns {
		fields[i] = c.of(r)
	}
	return fields
}

// key says which cell a line is of.
func key(record []string) string { return strings.Join(record[:keyColumns], " ") }

// key is that of the cell's line.
func (c cell) key() string { return key((&row{cell: c, failed: nil}).record()) }
