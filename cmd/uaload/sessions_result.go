package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// sessionsResult is what "uaload sessions" prints, beside what "uaload
// subscribe" does.
type sessionsResult struct {
	subscribeResult
	Sessions int `json:"sessions"` // asked for

	Established          int     `json:"established"`
	EstablishSeconds     float64 `json:"establish_seconds"`
	EstablishedPerSecond float64 `json:"established_per_second"`
	// FirstPerSecond and LastPerSecond tell whether a server gets slower. Each is
	// of a thousand sessions, or of a tenth where that is less.
	FirstPerSecond float64 `json:"first_1000_per_second"`
	LastPerSecond  float64 `json:"last_1000_per_second"`
	// Retries are attempts that a busy server had come again later.
	Retries int64 `json:"retries"`
	// Per session, of establishing alone.
	ServerCPUEach *float64 `json:"server_cpu_ms_per_established_session,omitempty"`
	ClientCPUEach float64  `json:"client_cpu_ms_per_established_session"`
	// SubscribeSeconds is for CreateSubscription and CreateMonitoredItems of all.
	SubscribeSeconds float64 `json:"subscribe_seconds"`

	// The time from a write to its arrival.
	DelayP50 float64 `json:"delay_p50_ms"`
	DelayP99 float64 `json:"delay_p99_ms"`
	DelayMax float64 `json:"delay_max_ms"`

	LostSessions    int64 `json:"lost_sessions"` // connections that broke
	PublishFailures int64 `json:"publish_failures"`
	// KeepAlives came while nothing changed; SilentSessions are those without one.
	KeepAlives     int64 `json:"keep_alives"`
	SilentSessions int   `json:"sessions_without_keep_alive"`

	// What the server says of its sessions; -1 where it does not. Before is with
	// the one that writes, During the largest number, After when all others have
	// been closed.
	SessionsBefore int64 `json:"server_sessions_before"`
	SessionsDuring int64 `json:"server_sessions"`
	SessionsAfter  int64 `json:"server_sessions_after"`

	RSSBefore     int64   `json:"rss_bytes_before,omitempty"`
	RSSAfter      int64   `json:"rss_bytes_after,omitempty"`
	RSSPerSession float64 `json:"rss_bytes_per_session,omitempty"`
	RSSClient     int64   `json:"client_rss_bytes"`
	// Note says why there is no RSSPerSession.
	Note string `json:"note,omitempty"`

	earlier int64 // sessions that the server had before, see compareMemory
}

// compareMemory works out what a session takes, where that can be told. A server
// that has served others keeps memory of them, which these sessions use then.
// earlier is how many sessions there were before, -1 if the server does not say.
func (r *sessionsResult) compareMemory(earlier int64) {
	per := float64(r.RSSAfter-r.RSSBefore) / float64(r.Established)
	switch {
	case r.RSSAfter == 0:
	case earlier > int64(r.Established/20)+1:
		r.Note = fmt.Sprintf("memory per session is unknown: the server had %d sessions before and may still hold their memory; restart it to measure", earlier)
	case per <= 0:
		r.Note = "memory per session is unknown: the server held memory before that these sessions use; restart it to measure"
	default:
		r.RSSPerSession = per
	}
}

// established takes in how the sessions were established.
func (r *sessionsResult) established(w *crowd, elapsed time.Duration, m *meter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.at)
	r.Established, r.EstablishSeconds, r.Retries = n, elapsed.Seconds(), w.retries
	if n == 0 {
		return
	}
	r.EstablishedPerSecond = float64(n) / elapsed.Seconds()
	part := min(max(n/10, 1), 1000)
	const instant = time.Microsecond // what would divide by nothing
	r.FirstPerSecond = float64(part) / max(w.at[part-1], instant).Seconds()
	r.LastPerSecond = r.FirstPerSecond
	if n > part {
		r.LastPerSecond = float64(part) / max(w.at[n-1]-w.at[n-1-part], instant).Seconds()
	}
	r.ClientCPUEach = microseconds(m.ownSpent) / 1000 / float64(n)
	if m.server > 0 {
		each := microseconds(m.serverSpent) / 1000 / float64(n)
		r.ServerCPUEach = &each
	}
}

// sessionsDuring takes in a look at the server's number of sessions.
func (r *sessionsResult) sessionsDuring(n int64) { r.SessionsDuring = max(r.SessionsDuring, n) }

// quietSessions compares the keep-alives of each session before and after a time
// without changes.
func (r *sessionsResult) quietSessions(before, after []uint64) {
	for i := range before {
		n := int64(after[i] - before[i])
		r.KeepAlives += n
		if n == 0 {
			r.SilentSessions++
		}
	}
}

// take adds what is known once all is over.
func (r *sessionsResult) take(l *sessionsLoad) {
	r.compareMemory(r.earlier)
	r.Clients, r.Endpoint, r.Security = r.Established, l.endpoint, l.security
	r.DelayP50, r.DelayP99, r.DelayMax = float64(r.Latency.P50)/1000, float64(r.Latency.P99)/1000, float64(r.Latency.Max)/1000
	if r.Errors == nil {
		r.Errors = map[string]int64{}
	}
	l.crowd.mu.Lock()
	defer l.crowd.mu.Unlock()
	l.crowd.errors.into(r.Errors)
	r.LostSessions = l.crowd.lost
}

// failure is the error of a run in which anything went wrong.
func (r *sessionsResult) failure(l *sessionsLoad) error {
	var wrong []error
	add := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	add(r.Established < r.Sessions, "%d of %d sessions were established", r.Established, r.Sessions)
	add(r.LostSessions > 0, "%d sessions were lost", r.LostSessions)
	if l.every > 0 {
		if err := r.subscribeResult.failure(); err != nil {
			wrong = append(wrong, err)
		}
		most := r.Publishing + milliseconds(l.late)
		add(r.DelayP99 > most, "a hundredth of the values took %.0f ms or more, and may take %.0f", r.DelayP99, most)
	} else {
		add(r.Strange > 0, "%d values have come that nobody wrote", r.Strange)
		add(len(r.Errors) > 0, "there were errors")
	}
	add(r.Lost > 0, "%d messages were lost", r.Lost)
	add(r.PublishFailures > 0, "%d Publish requests failed", r.PublishFailures)
	add(r.SilentSessions > 0, "%d sessions got no keep-alive while nothing changed", r.SilentSessions)
	if r.SessionsBefore >= 0 {
		extra := r.SessionsDuring - r.SessionsBefore - int64(r.Established)
		add(extra > 0, "the server has %d sessions more than there are", extra)
		add(r.SessionsAfter > r.SessionsBefore, "the server has %d sessions when all are closed, and had %d", r.SessionsAfter, r.SessionsBefore)
	}
	return errors.Join(wrong...)
}

func (r *sessionsResult) print(w io.Writer, asJSON, measured bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%d of %d sessions, %s, established in %.1f s (%.0f per second, first %.0f, last %.0f), subscribed in %.2f s\n",
		r.Established, r.Sessions, r.Security, r.EstablishSeconds, r.EstablishedPerSecond, r.FirstPerSecond, r.LastPerSecond, r.SubscribeSeconds)
	if r.Retries > 0 {
		fmt.Fprintf(w, "  came again    %12d times, as the busy server had asked\n", r.Retries)
	}
	if r.Rate > 0 {
		fmt.Fprintf(w, "  values        %12d expected, %d missing, %d repeated, %d out of order, %d unexpected, %d with overflow bit\n",
			r.Expected, r.Missing, r.Repeated, r.Disordered, r.Strange, r.Overflows)
		fmt.Fprintf(w, "  notifications %12.0f per second over %.1f s\n", r.NotificationsPerSecond, r.Seconds)
		fmt.Fprintf(w, "  delay ms      p50 %.0f  p99 %.0f  max %.0f\n", r.DelayP50, r.DelayP99, r.DelayMax)
	}
	fmt.Fprintf(w, "  keep-alives   %12d while nothing changed, %d sessions without\n", r.KeepAlives, r.SilentSessions)
	fmt.Fprintf(w, "  sessions lost %12d\n", r.LostSessions)
	if r.SessionsBefore >= 0 {
		fmt.Fprintf(w, "  server counts %12d sessions, %d before and %d after\n", r.SessionsDuring, r.SessionsBefore, r.SessionsAfter)
	}
	if r.Republished+r.Duplicates+r.Lost > 0 {
		fmt.Fprintf(w, "  messages      %12d republished, %d twice, %d lost\n", r.Republished, r.Duplicates, r.Lost)
	}
	if measured {
		r.printServer(w)
	}
	fmt.Fprintf(w, "  client        %12.2f ms of CPU to establish a session, %.0f %% of a core then, resident %.1f MiB\n",
		r.ClientCPUEach, r.ClientPercent, float64(r.RSSClient)/(1<<20))
	printErrors(w, r.Errors)
	printNotes(w, r.Notes)
	return nil
}

// printServer writes what is known of the server's process.
func (r *sessionsResult) printServer(w io.Writer) {
	per := ""
	if r.RSSPerSession > 0 {
		per = fmt.Sprintf("%.1f KiB per session, ", r.RSSPerSession/1024)
	}
	fmt.Fprintf(w, "  server RSS    %s%.1f MiB before, %.1f MiB after\n", per, float64(r.RSSBefore)/(1<<20), float64(r.RSSAfter)/(1<<20))
	if r.ServerCPUEach != nil && r.ServerPercent != nil {
		fmt.Fprintf(w, "  server CPU    %.2f ms to establish a session, %.1f %% of a core then\n", *r.ServerCPUEach, *r.ServerPercent)
	}
	if r.Note != "" {
		fmt.Fprintf(w, "  note          %s\n", r.Note)
	}
}
