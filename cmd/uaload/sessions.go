package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
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
}

// holdSessions opens sessions with one subscription and one monitored item each
// on a value that does not change, waits until they are idle, and measures what
// one of them costs the server.
func holdSessions(ctx context.Context, args []string) error {
	var f common
	flags := flag.NewFlagSet("uaload sessions", flag.ContinueOnError)
	f.add(flags)
	n := flags.Int("sessions", 500, "number of sessions")
	duration := flags.Duration("duration", 10*time.Second, "how long to hold them before measuring memory and CPU")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *n < 1 {
		return errors.New("-sessions must be at least 1")
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
	var received atomic.Int64
	for _, c := range crew {
		sub, err := c.Subscribe(ctx, client.SubscriptionConfig{Interval: time.Second})
		if err != nil {
			return err
		}
		count := func(client.Change) { received.Add(1) }
		if _, err := sub.Monitor(ctx, count, client.Value(ua.NumericID(1, firstScalar))); err != nil {
			return err
		}
	}
	r.EstablishSeconds = time.Since(start).Seconds()
	r.EstablishedPerSecond = float64(*n) / r.EstablishSeconds
	before, err := f.cpu(server)
	if err != nil {
		return err
	}
	if err := f.progress(ctx, *duration, received.Load); err != nil {
		return err
	}
	after, err := f.cpu(server)
	if err != nil {
		return err
	}
	r.Notifications = received.Load()
	if f.pid > 0 {
		if r.RSSAfter, err = server.rss(); err != nil {
			return err
		}
		r.RSSPerSession = float64(r.RSSAfter-r.RSSBefore) / float64(*n)
		r.CPUPercent = 100 * (after - before).Seconds() / duration.Seconds()
	}
	if f.json {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	fmt.Printf("%d sessions, %s, established in %.1f s (%.0f per second), %d notifications\n",
		*n, f.security, r.EstablishSeconds, r.EstablishedPerSecond, r.Notifications)
	if f.pid > 0 {
		fmt.Printf("  server RSS    %.1f KiB per session (%.1f MiB before, %.1f MiB after)\n",
			r.RSSPerSession/1024, float64(r.RSSBefore)/(1<<20), float64(r.RSSAfter)/(1<<20))
		fmt.Printf("  server CPU    %.1f %% of a core while idle\n", r.CPUPercent)
	}
	return nil
}
