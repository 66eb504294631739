package actors

import (
	"context"
	"runtime/pprof"
	"sync"
	"sync/atomic"
)

// Group starts goroutines and knows when they have all ended. The zero value is ready to use.
//
// The goroutines are counted by kind ("channel", "session"), and carry their kind as the profiler
// label "actor", so that a goroutine profile of a large server can be read. A panic in one of them is
// a bug of ours and is not recovered: it takes the process down with its stack, rather than leaving
// behind a server that lacks a part. User code runs on a [Pool], which does recover.
type Group struct {
	kinds sync.Map // string → *kind

	mu sync.Mutex
	// Guarded by mu.
	running int
	closed  bool
	idle    chan struct{} // made by a waiter, closed when running becomes 0
}

// kind is what the goroutines of one name share.
type kind struct {
	running atomic.Int64
	labels  context.Context
}

// Go runs fn on a new goroutine of the named kind. It reports false, and does not run fn, when the
// group is closed. Kinds are few and fixed: a name with a number in it would never be forgotten.
func (g *Group) Go(name string, fn func()) bool {
	k := g.kind(name)
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return false
	}
	g.running++
	g.mu.Unlock()
	k.running.Add(1)
	go g.run(k, fn)
	return true
}

func (g *Group) run(k *kind, fn func()) {
	defer g.ended(k)
	pprof.SetGoroutineLabels(k.labels)
	fn()
}

func (g *Group) ended(k *kind) {
	k.running.Add(-1)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if g.running == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

func (g *Group) kind(name string) *kind {
	if k, ok := g.kinds.Load(name); ok {
		return k.(*kind)
	}
	k := &kind{labels: pprof.WithLabels(context.Background(), pprof.Labels("actor", name))}
	first, _ := g.kinds.LoadOrStore(name, k)
	return first.(*kind)
}

// Running is the number of goroutines of each kind that run now. Kinds without any are left out.
func (g *Group) Running() map[string]int {
	counts := make(map[string]int)
	g.kinds.Range(func(name, k any) bool {
		if n := k.(*kind).running.Load(); n > 0 {
			counts[name.(string)] = int(n)
		}
		return true
	})
	return counts
}

// Close makes every later Go report false. It neither stops nor waits for what runs: whoever
// started a goroutine also owns what stops it.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
}

// Wait returns nil once no goroutine of the group runs, or the context's error when that ends first.
// Unless the group is closed, new ones may start meanwhile, and also right after Wait returned.
func (g *Group) Wait(ctx context.Context) error {
	g.mu.Lock()
	if g.running == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
