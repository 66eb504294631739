package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

// readFlags are the flags of "uaload read".
type readFlags struct {
	common
	clients, inflight, nodes int
	duration, warmup         time.Duration
}

// loadRead keeps a number of Read requests in flight on each client and
// measures how many come back, how fast, and what they cost the server.
func loadRead(ctx context.Context, args []string) error {
	var f readFlags
	flags := flag.NewFlagSet("uaload read", flag.ContinueOnError)
	f.add(flags)
	flags.IntVar(&f.clients, "clients", 1, "number of clients, each with its connection and session")
	flags.IntVar(&f.inflight, "inflight", 1, "requests in flight on each client")
	flags.IntVar(&f.nodes, "nodes", 1, "nodes in each request, from ns=1;i=1001 on")
	flags.DurationVar(&f.duration, "duration", 10*time.Second, "how long to measure")
	flags.DurationVar(&f.warmup, "warmup", 2*time.Second, "how long to run before measuring")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if f.clients < 1 || f.inflight < 1 || f.nodes < 1 {
		return errors.New("-clients, -inflight and -nodes must be at least 1")
	}
	request := ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturnBoth}
	for i := range f.nodes {
		request.NodesToRead = append(request.NodesToRead, client.ValueID(ua.NumericID(1, uint32(firstScalar+i%scalars))))
	}
	prepared, err := client.Prepare(&request)
	if err != nil {
		return err
	}
	crew, err := f.connect(ctx, f.clients, nil)
	if err != nil {
		return err
	}
	defer closeAll(crew)

	load := &readLoad{prepared: prepared}
	for _, c := range crew {
		r := &reader{load: load, client: c, histogram: hdrhistogram.New(1, 60_000_000, 3)}
		load.readers = append(load.readers, r)
		for range f.inflight {
			if err := (&readSlot{reader: r}).send(); err != nil {
				return err
			}
		}
	}
	result, err := load.measure(ctx, &f)
	if err != nil {
		return err
	}
	return result.print(os.Stdout, f.json)
}

// readLoad is a running load.
type readLoad struct {
	prepared  *client.Prepared
	readers   []*reader
	measuring atomic.Bool
	stopped   atomic.Bool
}

// reader counts the answers of one client, on the goroutine that reads its
// connection.
type reader struct {
	load      *readLoad
	client    *client.Client
	histogram *hdrhistogram.Histogram
	answers   atomic.Int64
	failures  atomic.Int64
	lastError atomic.Pointer[error]
}

// readSlot is one request in flight.
type readSlot struct {
	reader *reader
	sent   time.Time
}

func (s *readSlot) send() error {
	s.sent = time.Now()
	return s.reader.client.Send(s.reader.load.prepared, s)
}

// HandleResponse implements [client.ResponseHandler]: it counts the answer and
// sends the next request.
func (s *readSlot) HandleResponse(_ uint32, body []byte, err error) {
	r := s.reader
	if err == nil {
		err = checkRead(body)
	}
	if r.load.measuring.Load() {
		if err != nil {
			r.failures.Add(1)
			r.lastError.Store(&err)
		} else {
			r.answers.Add(1)
			_ = r.histogram.RecordValue(max(1, time.Since(s.sent).Microseconds()))
		}
	}
	if r.load.stopped.Load() {
		return
	}
	if err := s.send(); err != nil {
		r.failures.Add(1)
		r.lastError.Store(&err)
	}
}

// checkRead looks at the first result of a ReadResponse: it must carry a value
// and no status. Decoding all of it would measure the client.
func checkRead(body []byte) error {
	const header = 8 + 4 + 4 + 1 + 4 + 3 // ResponseHeader without diagnostics
	if len(body) < header+5 {
		return io.ErrUnexpectedEOF
	}
	if mask := body[header+4]; mask&0x03 != 0x01 {
		return fmt.Errorf("first result has encoding mask %#x", mask)
	}
	return nil
}

// measure warms up, and takes the difference of all counters over the time.
func (l *readLoad) measure(ctx context.Context, f *readFlags) (*readResult, error) {
	if err := sleep(ctx, f.warmup); err != nil {
		return nil, err
	}
	server := process(f.pid)
	before, err := f.cpu(server)
	if err != nil {
		return nil, err
	}
	l.measuring.Store(true)
	start := time.Now()
	err = f.progress(ctx, f.duration, l.answered)
	l.measuring.Store(false)
	elapsed := time.Since(start)
	after, cpuErr := f.cpu(server)
	l.stopped.Store(true)
	if err != nil || cpuErr != nil {
		return nil, errors.Join(err, cpuErr)
	}
	result := newReadResult(f, l, elapsed, after-before)
	if f.pid > 0 {
		result.RSS, err = server.rss()
	}
	return result, err
}

func (l *readLoad) answered() int64 {
	n := int64(0)
	for _, r := range l.readers {
		n += r.answers.Load()
	}
	return n
}
