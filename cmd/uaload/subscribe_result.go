package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/uahive/uahive/client"
)

// subscribeResult is what "uaload subscribe" prints.
type subscribeResult struct {
	setting
	Subscriptions int     `json:"subscriptions"` // of each session
	Items         int     `json:"items"`         // of each subscription
	Rate          float64 `json:"rate_hz"`
	// What the server made of the flags.
	Publishing float64 `json:"publishing_interval_ms"`
	Sampling   float64 `json:"sampling_interval_ms"`
	Queue      uint32  `json:"queue_size"`

	Seconds                float64 `json:"seconds"`
	Notifications          int64   `json:"notifications"`
	NotificationsPerSecond float64 `json:"notifications_per_second"`
	ChangesPerSecond       float64 `json:"changes_per_second"` // of all variables together
	// Latency is the time from before a change is written until its
	// notification has arrived.
	Latency latency `json:"latency_us"`

	// Of the whole run, warming up included: each number that was written is to
	// arrive once at each item that watches the variable.
	Expected   int64 `json:"expected"`
	Missing    int64 `json:"missing"`
	Repeated   int64 `json:"repeated"`
	Disordered int64 `json:"out_of_order"`
	Strange    int64 `json:"unexpected"` // numbers that were not written in this run
	Overflows  int64 `json:"overflows"`  // values marked with the overflow bit
	// Messages that the client had to ask for again, that it got twice, and that
	// it never got.
	Republished uint64 `json:"republished_messages"`
	Duplicates  uint64 `json:"duplicate_messages"`
	Lost        uint64 `json:"lost_messages"`

	// Failures is the number of Write requests that failed; Errors counts their
	// results and those of notifications by StatusCode.
	Failures int64            `json:"failures"`
	Errors   map[string]int64 `json:"errors"`
	// LateChanges were left out because the server was not done with the one before.
	LateChanges        int64    `json:"late_changes"`
	CPUPerNotification *float64 `json:"server_cpu_us_per_notification,omitempty"`
	ClientCPU          float64  `json:"client_cpu_us_per_notification"`
	cost
	// Notes say why values may be missing by design.
	Notes []string `json:"notes,omitempty"`
}

func newSubscribeResult(f *subscribeFlags, got revised, elapsed time.Duration, changes int64) *subscribeResult {
	r := &subscribeResult{
		setting: setting{
			Endpoint: f.endpoint, Security: f.security, Clients: f.clients, InFlight: f.inflight, Nodes: min(f.nodes, f.items),
		},
		Subscriptions: f.subscriptions, Items: f.items, Rate: f.rate,
		Publishing: milliseconds(got.interval), Sampling: milliseconds(got.sampling), Queue: got.queue,
		Seconds: elapsed.Seconds(), Errors: map[string]int64{},
	}
	if elapsed > 0 {
		r.ChangesPerSecond = float64(changes) / elapsed.Seconds()
	}
	return r
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// take adds what writer and clients have counted.
func (r *subscribeResult) take(w *writer, seen counted) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errors.into(r.Errors)
	r.Failures, r.LateChanges = w.failures, w.late
	r.Republished, r.Duplicates, r.Lost = seen.republished, seen.duplicates, seen.lost
}

// counted are counters of clients, all added up.
type counted struct {
	republished, duplicates, lost, publishFailures uint64
}

func countedBy(watchers []*client.Client) (n counted) {
	for _, c := range watchers {
		s := c.Stats()
		n.republished += s.Republished
		n.duplicates += s.Duplicates
		n.lost += s.Lost
		n.publishFailures += s.PublishFailures
	}
	return n
}

// since is what was counted after an earlier look.
func (n counted) since(earlier counted) counted {
	n.republished -= earlier.republished
	n.duplicates -= earlier.duplicates
	n.lost -= earlier.lost
	n.publishFailures -= earlier.publishFailures
	return n
}

// explain notes why values that are missing could not but be. Where none is
// missing there is nothing to explain: a server may do better than it promises.
func (r *subscribeResult) explain() {
	if r.Missing == 0 {
		return
	}
	if need := int(math.Ceil(r.Rate*r.Publishing/1000)) + 1; int(r.Queue) < need {
		r.Notes = append(r.Notes, fmt.Sprintf("the queue of %d values is too small for %d changes between two publishings: the server drops values by design; write a larger -queue or a shorter -publishing interval", r.Queue, need))
	}
	if r.Sampling > 1000/r.Rate/2 {
		r.Notes = append(r.Notes, fmt.Sprintf("the server looks at values every %g ms only: it cannot see all changes at %g per second", r.Sampling, r.Rate))
	}
}

// perNotification works out what depends on the number of notifications.
func (r *subscribeResult) perNotification(m *meter) {
	r.cost.of(m, r.Seconds)
	if r.Seconds <= 0 || r.Notifications == 0 {
		return
	}
	r.NotificationsPerSecond = float64(r.Notifications) / r.Seconds
	r.ClientCPU = microseconds(m.ownSpent) / float64(r.Notifications)
	if m.server > 0 {
		each := microseconds(m.serverSpent) / float64(r.Notifications)
		r.CPUPerNotification = &each
	}
}

// failure is the error of a result in which something is missing or too much.
func (r *subscribeResult) failure() error {
	switch {
	case r.Notifications == 0:
		return fmt.Errorf("no notification has come within %.1f s", r.Seconds)
	case r.Missing+r.Repeated+r.Disordered+r.Strange > 0:
		return fmt.Errorf("of %d values %d are missing, %d repeated, %d out of order, %d unexpected",
			r.Expected, r.Missing, r.Repeated, r.Disordered, r.Strange)
	case r.Failures > 0:
		return fmt.Errorf("%d writes failed", r.Failures)
	case len(r.Errors) > 0:
		return fmt.Errorf("notifications with a Bad status have come")
	}
	return nil
}

func (r *subscribeResult) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "subscribe: %d sessions x %d subscriptions x %d items, %d variables at %g Hz, %s, %.1f s\n",
		r.Clients, r.Subscriptions, r.Items, r.Nodes, r.Rate, r.Security, r.Seconds)
	fmt.Fprintf(w, "  server grants         publishing every %g ms, sampling every %g ms, queue of %d\n", r.Publishing, r.Sampling, r.Queue)
	fmt.Fprintf(w, "  changes/s     %12.0f\n", r.ChangesPerSecond)
	fmt.Fprintf(w, "  notifications %12.0f per second\n", r.NotificationsPerSecond)
	fmt.Fprintf(w, "  delay us      p50 %d  p90 %d  p99 %d  p99.9 %d  max %d\n",
		r.Latency.P50, r.Latency.P90, r.Latency.P99, r.Latency.P999, r.Latency.Max)
	fmt.Fprintf(w, "  values        %12d expected, %d missing, %d repeated, %d out of order, %d unexpected, %d with overflow bit\n",
		r.Expected, r.Missing, r.Repeated, r.Disordered, r.Strange, r.Overflows)
	if r.Republished+r.Duplicates+r.Lost > 0 {
		fmt.Fprintf(w, "  messages      %12d republished, %d twice, %d lost\n", r.Republished, r.Duplicates, r.Lost)
	}
	if r.CPUPerNotification != nil {
		fmt.Fprintf(w, "  server CPU    %12.2f us per notification, writes included\n", *r.CPUPerNotification)
	}
	r.cost.print(w)
	fmt.Fprintf(w, "  client CPU    %12.2f us per notification, %.0f %% of a core\n", r.ClientCPU, r.ClientPercent)
	if r.LateChanges > 0 {
		fmt.Fprintf(w, "  late          %12d changes left out, since the server was busy with the one before\n", r.LateChanges)
	}
	printErrors(w, r.Errors)
	printNotes(w, r.Notes)
	return nil
}
