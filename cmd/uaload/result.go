package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// setting is what a load was told to do, as its result repeats it.
type setting struct {
	Command  string `json:"command"`
	Endpoint string `json:"endpoint"`
	Security string `json:"security"`
	Clients  int    `json:"clients"`
	InFlight int    `json:"inflight"`
	Nodes    int    `json:"nodes"`
}

// cost is what the load took from server and client. Those of the server are
// there if its process id was given.
type cost struct {
	ServerPercent *float64 `json:"server_cpu_percent,omitempty"`
	ServerRSS     *int64   `json:"server_rss_bytes,omitempty"`
	ClientPercent float64  `json:"client_cpu_percent"`
}

// result is what the loads print that keep requests in flight.
type result struct {
	setting
	// Operation is read or write, for arrays.
	Operation string `json:"operation,omitempty"`
	// ArrayElements is the length of the arrays; 0 for scalars.
	ArrayElements int `json:"array_elements,omitempty"`
	// References is the number of references in each answer to Browse.
	References int `json:"references_per_request,omitempty"`

	Seconds           float64 `json:"seconds"`
	Requests          int64   `json:"requests"` // with a good answer
	RequestsPerSecond float64 `json:"requests_per_second"`
	MegabytesPerSec   float64 `json:"megabytes_per_second,omitempty"` // of array elements
	Latency           latency `json:"latency_us"`
	// Failures is the number of requests that failed as a whole, or in one of
	// their operations; Errors counts both by StatusCode.
	Failures   int64            `json:"failures"`
	Errors     map[string]int64 `json:"errors"`
	Unanswered int64            `json:"unanswered"` // when the load ended
	// CPUPerRequest of the server, in microseconds; see cost.
	CPUPerRequest *float64 `json:"server_cpu_us_per_request,omitempty"`
	ClientCPU     float64  `json:"client_cpu_us_per_request"`
	cost
	// Notes say what else was seen.
	Notes []string `json:"notes,omitempty"`
}

func newResult(t *target, s *shape, elapsed time.Duration) *result {
	return &result{
		setting: setting{
			Endpoint: t.endpoint, Security: t.security, Clients: s.clients, InFlight: s.inflight, Nodes: s.nodes,
		},
		Seconds: elapsed.Seconds(), Errors: map[string]int64{},
	}
}

// of works out the shares of a core.
func (c *cost) of(m *meter, seconds float64) {
	if seconds <= 0 {
		return
	}
	c.ClientPercent = 100 * m.ownSpent.Seconds() / seconds
	if m.server > 0 && m.rss > 0 {
		percent := 100 * m.serverSpent.Seconds() / seconds
		c.ServerPercent, c.ServerRSS = &percent, &m.rss
	}
}

// perRequest works out what depends on the number of requests.
func (r *result) perRequest(m *meter) {
	r.cost.of(m, r.Seconds)
	if r.Seconds <= 0 || r.Requests == 0 {
		return
	}
	r.RequestsPerSecond = float64(r.Requests) / r.Seconds
	r.ClientCPU = microseconds(m.ownSpent) / float64(r.Requests)
	if m.server > 0 {
		each := microseconds(m.serverSpent) / float64(r.Requests)
		r.CPUPerRequest = &each
	}
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// failure is the error of a result with failures.
func (r *result) failure() error {
	if r.Failures > 0 {
		return fmt.Errorf("%d requests failed", r.Failures)
	}
	return nil
}

func (r *result) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	what := r.Command
	if r.Operation != "" {
		what += " " + r.Operation
	}
	fmt.Fprintf(w, "%s: %d clients x %d in flight x %d nodes, %s, %.1f s\n", what, r.Clients, r.InFlight, r.Nodes, r.Security, r.Seconds)
	if r.ArrayElements > 0 {
		fmt.Fprintf(w, "  arrays        %12d elements, %.0f MB/s\n", r.ArrayElements, r.MegabytesPerSec)
	}
	if r.References > 0 {
		fmt.Fprintf(w, "  references    %12d in each answer\n", r.References)
	}
	fmt.Fprintf(w, "  requests/s    %12.0f\n", r.RequestsPerSecond)
	fmt.Fprintf(w, "  latency us    p50 %d  p90 %d  p99 %d  p99.9 %d  max %d\n",
		r.Latency.P50, r.Latency.P90, r.Latency.P99, r.Latency.P999, r.Latency.Max)
	if r.CPUPerRequest != nil {
		fmt.Fprintf(w, "  server CPU    %12.2f us per request\n", *r.CPUPerRequest)
	}
	r.cost.print(w)
	fmt.Fprintf(w, "  client CPU    %12.2f us per request, %.0f %% of a core\n", r.ClientCPU, r.ClientPercent)
	printErrors(w, r.Errors)
	if r.Unanswered > 0 {
		fmt.Fprintf(w, "  unanswered    %12d when the load ended\n", r.Unanswered)
	}
	printNotes(w, r.Notes)
	return nil
}

func printNotes(w io.Writer, notes []string) {
	for _, note := range notes {
		fmt.Fprintf(w, "  note          %s\n", note)
	}
}

func (c *cost) print(w io.Writer) {
	if c.ServerPercent != nil {
		fmt.Fprintf(w, "  server        %12.0f %% of a core, resident %.1f MiB\n", *c.ServerPercent, float64(*c.ServerRSS)/(1<<20))
	}
}
