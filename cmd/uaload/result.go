package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// latency holds percentiles in microseconds.
type latency struct {
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// readResult is what "uaload read" prints.
type readResult struct {
	Endpoint          string           `json:"endpoint"`
	Security          string           `json:"security"`
	Clients           int              `json:"clients"`
	InFlight          int              `json:"inflight"`
	Nodes             int              `json:"nodes"`
	Seconds           float64          `json:"seconds"`
	Requests          int64            `json:"requests"`
	RequestsPerSecond float64          `json:"requests_per_second"`
	Latency           latency          `json:"latency_us"`
	Failures          int64            `json:"failures"`
	Errors            map[string]int64 `json:"errors"`
	CPUPerRequest     float64          `json:"server_cpu_us_per_request,omitempty"`
	CPUPercent        float64          `json:"server_cpu_percent,omitempty"`
	RSS               int64            `json:"server_rss_bytes,omitempty"`
}

func newReadResult(f *readFlags, l *readLoad, elapsed, cpu time.Duration) *readResult {
	r := &readResult{
		Endpoint: f.endpoint, Security: f.security, Clients: f.clients, InFlight: f.inflight, Nodes: f.nodes,
		Seconds: elapsed.Seconds(), Errors: map[string]int64{},
	}
	all := hdrhistogram.New(1, 60_000_000, 3)
	for _, one := range l.readers {
		r.Requests += one.answers.Load()
		all.Merge(one.histogram)
		if n := one.failures.Load(); n > 0 {
			r.Failures += n
			r.Errors[(*one.lastError.Load()).Error()] += n
		}
	}
	r.RequestsPerSecond = float64(r.Requests) / elapsed.Seconds()
	r.Latency = latency{
		P50: all.ValueAtPercentile(50), P90: all.ValueAtPercentile(90), P99: all.ValueAtPercentile(99),
		P999: all.ValueAtPercentile(99.9), Max: all.Max(),
	}
	if f.pid > 0 && r.Requests > 0 {
		r.CPUPerRequest = float64(cpu.Microseconds()) / float64(r.Requests)
		r.CPUPercent = 100 * cpu.Seconds() / elapsed.Seconds()
	}
	return r
}

func (r *readResult) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%d clients x %d in flight x %d nodes, %s, %.1f s\n", r.Clients, r.InFlight, r.Nodes, r.Security, r.Seconds)
	fmt.Fprintf(w, "  requests/s    %12.0f\n", r.RequestsPerSecond)
	fmt.Fprintf(w, "  latency us    p50 %d  p90 %d  p99 %d  p99.9 %d  max %d\n",
		r.Latency.P50, r.Latency.P90, r.Latency.P99, r.Latency.P999, r.Latency.Max)
	if r.CPUPerRequest > 0 {
		fmt.Fprintf(w, "  server CPU    %12.2f us per request, %.0f %% of a core\n", r.CPUPerRequest, r.CPUPercent)
		fmt.Fprintf(w, "  server RSS    %12.1f MiB\n", float64(r.RSS)/(1<<20))
	}
	for text, n := range r.Errors {
		fmt.Fprintf(w, "  failed        %12d  %s\n", n, text)
	}
	if r.Failures > 0 {
		return fmt.Errorf("%d requests failed", r.Failures)
	}
	return nil
}
