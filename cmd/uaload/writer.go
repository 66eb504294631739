package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

// writer is the session that changes the values that others watch, at a rate. It
// writes the same number to all, each time one more than before: all nodes in one
// Write request, or part after part, spread over the time that a change takes.
type writer struct {
	// Immutable.
	client  *client.Client
	parts   []*part
	perPart int          // nodes of each part but the last
	types   []ua.Variant // a value of each node
	before  int64        // the number before the first one
	wander  bool         // write at changing moments of the time that a change takes
	begun   time.Time    // what sentAt counts from

	// written is the highest number that was sent; it moves before it is sent.
	written atomic.Int64

	mu sync.Mutex
	// Guarded by mu.
	failed   []map[int64]bool // by node: numbers that the server did not take
	errors   tally
	failures int64
	late     int64 // changes left out because the server was not done with the one before
}

// part is what one Write request changes.
type part struct {
	first   int // of the writer's nodes
	request ua.WriteRequest
	// sentAt is when the last numbers were sent, in nanoseconds: number n at n
	// modulo its length.
	sentAt [1 << 14]atomic.Int64
}

// largestStart keeps the numbers within an Int32.
const largestStart = 1 << 30

// newWriter looks at the nodes: they must be there, be numbers, and take one.
// Each request changes perPart of them.
func newWriter(ctx context.Context, c *client.Client, nodes []ua.NodeID, perPart int) (*writer, error) {
	w := &writer{client: c, perPart: perPart, failed: make([]map[int64]bool, len(nodes)), begun: time.Now()}
	for some := range slices.Chunk(nodes, perPart) {
		if err := w.add(ctx, some); err != nil {
			return nil, err
		}
	}
	if w.before > largestStart {
		w.before = 0
	}
	// A number that nobody waits for shows whether they can be written.
	w.before++
	for _, p := range w.parts {
		if err := w.write(ctx, p, w.before); err != nil {
			return nil, err
		}
	}
	for i := range w.failed {
		if len(w.failed[i]) > 0 {
			return nil, fmt.Errorf("node %v cannot be written: %w", nodes[i], w.errors.any())
		}
	}
	w.written.Store(w.before)
	return w, nil
}

// add reads nodes and makes a part of them.
func (w *writer) add(ctx context.Context, nodes []ua.NodeID) error {
	values, err := w.client.ReadValues(ctx, nodes...)
	if err != nil {
		return err
	}
	p := &part{first: len(w.types)}
	for i, dv := range values {
		if dv.Status.IsBad() {
			return fmt.Errorf("node %v cannot be read: %w; name other nodes with -node and -nodes, or serve the benchmark's with \"uaload serve\"", nodes[i], dv.Status)
		}
		switch dv.Value.Type() {
		case ua.TypeInt32, ua.TypeUInt32, ua.TypeInt64, ua.TypeUInt64, ua.TypeDouble:
		default:
			return fmt.Errorf("node %v is %s; name nodes with -node that are Int32, UInt32, Int64, UInt64 or Double", nodes[i], kind(dv.Value))
		}
		if dv.Value.IsArray() {
			return fmt.Errorf("node %v is %s; name scalars with -node", nodes[i], kind(dv.Value))
		}
		n, _ := number(dv.Value)
		w.before = max(w.before, n)
		w.types = append(w.types, dv.Value)
		p.request.NodesToWrite = append(p.request.NodesToWrite, ua.WriteValue{NodeID: nodes[i], AttributeID: ua.AttributeIDValue})
	}
	w.parts = append(w.parts, p)
	return nil
}

// idleWriter is the writer of one node that does not change.
func idleWriter() *writer {
	return &writer{types: make([]ua.Variant, 1), failed: make([]map[int64]bool, 1), begun: time.Now()}
}

// nodes is the number of nodes that change.
func (w *writer) nodes() int { return len(w.types) }

// number is the value that a number was written as.
func number(v ua.Variant) (int64, bool) {
	if n, ok := v.Int(); ok {
		return n, true
	}
	if n, ok := v.Uint(); ok {
		return int64(n), true
	}
	f, ok := v.Float()
	return int64(f), ok
}

// run writes until the context ends. An error is that of a request; Bad results
// of nodes are counted.
func (w *writer) run(ctx context.Context, rate float64) error {
	period := time.Duration(float64(time.Second) / rate)
	next := time.Now()
	each := period / time.Duration(len(w.parts))
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for i, p := range w.parts {
			timer.Reset(time.Until(next.Add(each*time.Duration(i) + w.aside(each))))
			select {
			case <-timer.C:
			case <-ctx.Done():
				if i == 0 {
					return nil
				}
				// What one node has got all must get.
			}
			if err := w.change(ctx, i, p); err != nil {
				return err
			}
		}
		next = next.Add(period)
		if over := time.Since(next); over > period {
			skip := over / period
			next = next.Add(skip * period)
			w.mu.Lock()
			w.late += int64(skip)
			w.mu.Unlock()
		}
	}
}

// aside is how far from its beginning the next number is written within a time.
// Where changes keep step with the publishing of those who watch, all delays are
// that of one phase; these moments go through all of them, as multiples of the
// golden ratio do.
func (w *writer) aside(within time.Duration) time.Duration {
	if !w.wander {
		return 0
	}
	_, phase := math.Modf(float64(w.written.Load()-w.before) * math.Phi)
	return time.Duration(phase * float64(within))
}

// change writes the next number to a part; the first part says which that is.
func (w *writer) change(ctx context.Context, i int, p *part) error {
	n := w.written.Load()
	if i == 0 {
		n++
	}
	p.sentAt[n%int64(len(p.sentAt))].Store(int64(time.Since(w.begun)))
	w.written.Store(n)
	// Its own context, so that the last request is answered.
	return w.write(context.WithoutCancel(ctx), p, n)
}

// write writes a number to all nodes of a part.
func (w *writer) write(ctx context.Context, p *part, n int64) error {
	for i := range p.request.NodesToWrite {
		v, err := like(w.types[p.first+i], n)
		if err != nil {
			return err
		}
		p.request.NodesToWrite[i].Value.Value = v
	}
	var resp ua.WriteResponse
	err := w.client.Do(ctx, &p.request, &resp)
	if err == nil {
		err = sameCount(len(p.request.NodesToWrite), len(resp.Results))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failures++
		w.errors.add(ua.StatusOf(err))
		for i := range p.request.NodesToWrite {
			w.forgive(p.first+i, n) // nobody knows whether it was written
		}
		return err
	}
	bad := false
	for i, status := range resp.Results {
		if status.IsBad() {
			bad = true
			w.errors.add(status)
			w.forgive(p.first+i, n)
		}
	}
	if bad {
		w.failures++
	}
	return nil
}

// forgive notes that a number is not to be expected. The caller holds mu.
func (w *writer) forgive(node int, n int64) {
	if w.failed[node] == nil {
		w.failed[node] = make(map[int64]bool)
	}
	w.failed[node][n] = true
}

// failedNumbers are by node the numbers that the server did not take. The writer
// must have ended.
func (w *writer) failedNumbers() []map[int64]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// since is how long ago a number was sent to a node.
func (w *writer) since(node int, n int64, now time.Time) time.Duration {
	p := w.parts[node/w.perPart]
	return now.Sub(w.begun) - time.Duration(p.sentAt[n%int64(len(p.sentAt))].Load())
}
