package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// sessionsResult is what "uaload sessions" prints.
type sessionsResult struct {
	Endpoint             string  `json:"endpoint"`
	Security             string  `json:"security"`
	Sessions             int     `json:"sessions"`
	EstablishSeconds     float64 `json:"establish_seconds"`
	EstablishedPerSecond float64 `json:"established_per_second"`
	Notifications        int64   `json:"notifications"`
	RSSBefore            int64   `json:"rss_bytes_before,omitempty"`
	RSSAfter             int64   `json:"rss_bytes_after,omitempty"`
	RSSPerSession        float64 `json:"rss_bytes_per_session,omitempty"`
	CPUPercent           float64 `json:"server_cpu_percent,omitempty"`
	// Note says why there is no RSSPerSession.
	Note string `json:"note,omitempty"`
}

// compareMemory works out what a session takes, where that can be told. A server
// that has served others keeps memory of them, which these sessions use then.
// earlier is how many sessions there were before, -1 if the server does not say.
func (r *sessionsResult) compareMemory(earlier int64) {
	per := float64(r.RSSAfter-r.RSSBefore) / float64(r.Sessions)
	switch {
	case earlier > int64(r.Sessions/20):
		r.Note = fmt.Sprintf("memory per session is unknown: the server had %d sessions before and may still hold their memory; restart it to measure", earlier)
	case per <= 0:
		r.Note = "memory per session is unknown: the server held memory before that these sessions use; restart it to measure"
	default:
		r.RSSPerSession = per
	}
}

// earlierSessions is how many sessions the server has had but ours; -1 where it
// does not count (Part 5, 12.9).
func earlierSessions(ctx context.Context, c *client.Client, ours int) int64 {
	dv, err := c.ReadValue(ctx, ua.NumericID(0, id.Server_ServerDiagnostics_ServerDiagnosticsSummary_CumulatedSessionCount))
	count, ok := ua.As[uint32](dv.Value)
	if err != nil || !ok || int64(count) < int64(ours) {
		return -1
	}
	return int64(count) - int64(ours)
}

// holdSessions opens sessions with one subscription and one monitored item each
// on a value that does not change, waits until they are idle, and measures what
// one of them costs the server.
func holdSessions(ctx context.Context, c *command, args []string, out io.Writer) error {
	var f target
	flags := c.flags()
	f.add(flags)
	n := flags.Int("sessions", 500, "number of sessions")
	duration := flags.Duration("duration", 10*time.Second, "how long to hold them before measuring memory and CPU")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	if *n < 1 {
		return wrong("sessions", *n, "write a number from 1 on")
	}
	if *duration <= 0 {
		return wrong("duration", *duration, `write a time like "10s"`)
	}
	server := process(f.pid)
	r := sessionsResult{Endpoint: f.endpoint, Security: f.security, Sessions: *n}
	if f.pid > 0 {
		var err error
		if r.RSSBefore, err = server.rss(); err != nil {
			return err
		}
	}
	start := time.Now()
	crew, err := f.connect(ctx, *n, nil)
	if err != nil {
		return err
	}
	defer closeAll(crew)
	earlier := earlierSessions(ctx, crew[0], len(crew))
	var received atomic.Int64
	err = each(ctx, len(crew), connecting, func(ctx context.Context, i int) error {
		sub, err := crew[i].Subscribe(ctx, client.SubscriptionConfig{Interval: time.Second})
		if err != nil {
			return err
		}
		count := func(client.Change) { received.Add(1) }
		_, err = sub.Monitor(ctx, count, client.Value(ua.NumericID(1, firstScalar)))
		return err
	}, nil)
	if err != nil {
		return err
	}
	r.EstablishSeconds = time.Since(start).Seconds()
	r.EstablishedPerSecond = float64(*n) / r.EstablishSeconds
	meter := meter{server: server}
	if err := meter.start(); err != nil {
		return err
	}
	if err := watch(ctx, *duration, nil, newProgress("holding", f.json), "notifications", received.Load); err != nil {
		return err
	}
	if err := meter.stop(); err != nil {
		return err
	}
	r.Notifications = received.Load()
	if f.pid > 0 {
		r.RSSAfter = meter.rss
		r.compareMemory(earlier)
		r.CPUPercent = 100 * meter.serverSpent.Seconds() / duration.Seconds()
	}
	return r.print(out, f.json, f.pid > 0)
}

func (r *sessionsResult) print(w io.Writer, asJSON, measured bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%d sessions, %s, established in %.1f s (%.0f per second), %d notifications\n",
		r.Sessions, r.Security, r.EstablishSeconds, r.EstablishedPerSecond, r.Notifications)
	if !measured {
		return nil
	}
	per := ""
	if r.Note == "" {
		per = fmt.Sprintf("%.1f KiB per session, ", r.RSSPerSession/1024)
	}
	fmt.Fprintf(w, "  server RSS    %s%.1f MiB before, %.1f MiB after\n", per, float64(r.RSSBefore)/(1<<20), float64(r.RSSAfter)/(1<<20))
	fmt.Fprintf(w, "  server CPU    %.1f %% of a core while idle\n", r.CPUPercent)
	if r.Note != "" {
		fmt.Fprintf(w, "  note          %s\n", r.Note)
	}
	return nil
}
