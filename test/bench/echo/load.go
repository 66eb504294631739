package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// result has the keys of uaload's, so that one reader understands both.
type result struct {
	Clients           int     `json:"clients"`
	InFlight          int     `json:"inflight"`
	RequestBytes      int     `json:"request_bytes"`
	ResponseBytes     int     `json:"response_bytes"`
	Each              bool    `json:"write_each"`
	Seconds           float64 `json:"seconds"`
	Requests          int64   `json:"requests"`
	RequestsPerSecond float64 `json:"requests_per_second"`
	CPUPerRequest     float64 `json:"server_cpu_us_per_request,omitempty"`
	Latency           latency `json:"latency_us"`
}

type latency struct {
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// loader is one connection of the load and what was measured on it.
type loader struct {
	conn     net.Conn
	terms    terms
	inflight int
	rate     float64 // requests per second; 0: as fast as answers come
	running  *running

	histogram *hdrhistogram.Histogram
	answers   atomic.Int64
}

// running is what all connections of a load share.
type running struct{ measuring, stopped atomic.Bool }

// run keeps requests in flight. TCP keeps the order, so the oldest time of sending is that of the next answer.
func (l *loader) run() error {
	sent := make([]time.Time, l.inflight) // a ring
	in := make([]byte, readSize(l.terms.response))
	out := make([]byte, l.terms.request*max(1, min(l.inflight, largest/l.terms.request)))
	next, pending, due := 0, 0, l.inflight
	pace := time.Now()
	for !l.running.stopped.Load() {
		if l.rate > 0 {
			pace = pace.Add(time.Duration(float64(time.Second) / l.rate))
			time.Sleep(time.Until(pace))
		}
		now := time.Now()
		for i := range due {
			sent[(next+i)%l.inflight] = now
		}
		if err := send(l.conn, out, due, terms{response: l.terms.request, each: l.terms.each}); err != nil {
			return err
		}
		for due = 0; due == 0; {
			n, err := l.conn.Read(in)
			if err != nil {
				return err
			}
			pending += n
			due = pending / l.terms.response
			pending %= l.terms.response
		}
		now = time.Now()
		for range due {
			if l.running.measuring.Load() {
				l.answers.Add(1)
				_ = l.histogram.RecordValue(max(1, now.Sub(sent[next]).Microseconds()))
			}
			next = (next + 1) % l.inflight
		}
	}
	return nil
}

func load(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("echo load", flag.ContinueOnError)
	address := flags.String("connect", "127.0.0.1:14800", "address of echo serve")
	var t terms
	flags.IntVar(&t.request, "request", 64, "bytes of a request")
	flags.IntVar(&t.response, "response", 64, "bytes of an answer")
	flags.BoolVar(&t.each, "each", false, "write each message alone, on both sides, instead of all that are due at once")
	flags.IntVar(&t.push, "push", 0, "milliseconds between two answers of a connection, which a timer of the server sends; 0 for answers at once")
	clients := flags.Int("clients", 1, "number of connections")
	inflight := flags.Int("inflight", 1, "requests in flight on each connection")
	rate := flags.Float64("rate", 0, "requests per second of each connection; 0 for as many as there are answers")
	duration := flags.Duration("duration", 5*time.Second, "how long to measure")
	warmup := flags.Duration("warmup", time.Second, "how long to run before measuring")
	pid := flags.Int("pid", 0, "process id of the server, to measure its CPU time")
	asJSON := flags.Bool("json", false, "print the result as JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *clients < 1 || *inflight < 1 || *rate < 0 {
		return errors.New("-clients and -inflight must be at least 1, -rate at least 0")
	}
	if err := t.check(); err != nil {
		return err
	}
	var (
		shared running
		group  sync.WaitGroup
		failed atomic.Pointer[error]
		crew   []*loader
	)
	defer func() {
		shared.stopped.Store(true)
		for _, l := range crew {
			l.conn.Close()
		}
		group.Wait()
	}()
	for range *clients {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", *address)
		if err != nil {
			return err
		}
		l := &loader{conn: conn, terms: t, inflight: *inflight, rate: *rate, running: &shared, histogram: hdrhistogram.New(1, 60_000_000, 3)}
		crew = append(crew, l)
		if _, err := conn.Write(t.encode()); err != nil {
			return err
		}
	}
	for _, l := range crew {
		group.Go(func() {
			if err := l.run(); err != nil && !shared.stopped.Load() {
				failed.Store(&err)
			}
		})
	}
	if err := wait(ctx, *warmup); err != nil {
		return err
	}
	before, err := cpuTime(*pid)
	if err != nil {
		return err
	}
	shared.measuring.Store(true)
	start := time.Now()
	err = wait(ctx, *duration)
	shared.measuring.Store(false)
	elapsed := time.Since(start)
	after, cpuErr := cpuTime(*pid)
	if err := errors.Join(err, cpuErr); err != nil {
		return err
	}
	shared.stopped.Store(true)
	if p := failed.Load(); p != nil {
		return *p
	}
	for _, l := range crew {
		l.conn.Close()
	}
	group.Wait() // the histograms are the loaders' until they end
	return report(crew, elapsed, after-before, *asJSON)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func report(crew []*loader, elapsed, cpu time.Duration, asJSON bool) error {
	one := crew[0]
	r := result{
		Clients: len(crew), InFlight: one.inflight, RequestBytes: one.terms.request, ResponseBytes: one.terms.response,
		Each: one.terms.each, Seconds: elapsed.Seconds(),
	}
	all := hdrhistogram.New(1, 60_000_000, 3)
	for _, l := range crew {
		r.Requests += l.answers.Load()
		all.Merge(l.histogram)
	}
	r.RequestsPerSecond = float64(r.Requests) / elapsed.Seconds()
	if r.Requests > 0 {
		r.CPUPerRequest = float64(cpu.Nanoseconds()) / 1e3 / float64(r.Requests)
	}
	r.Latency = latency{
		P50: all.ValueAtPercentile(50), P90: all.ValueAtPercentile(90), P99: all.ValueAtPercentile(99),
		P999: all.ValueAtPercentile(99.9), Max: all.Max(),
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	fmt.Printf("%d connections x %d in flight, %d bytes there, %d back: %.0f requests/s, server CPU %.2f us per request, p50 %d us, p99 %d us\n",
		r.Clients, r.InFlight, r.RequestBytes, r.ResponseBytes, r.RequestsPerSecond, r.CPUPerRequest, r.Latency.P50, r.Latency.P99)
	return nil
}
