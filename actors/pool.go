package actors

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/panjf2000/ants/v2"
)

// Errors of [Pool.Submit].
var (
	// ErrOverloaded says that the pool's queue, or the owner's share of it, is full. The task was not
	// taken and will not run.
	ErrOverloaded = errors.New("actors: pool overloaded")
	// ErrPoolClosed says that the pool was closed. The task was not taken and will not run.
	ErrPoolClosed = errors.New("actors: pool closed")
)

// PoolConfig says how large a pool is. Every field may stay zero.
type PoolConfig struct {
	// Size is the number of tasks that run at once. Default 64.
	Size int
	// Queue is the number of tasks that wait at once, over all owners. Default 8192.
	Queue int
	// OwnerQueue is the number of tasks that wait at once for one owner, so that one cannot fill the
	// whole queue. Default 128, and never more than Queue.
	OwnerQueue int
	// OwnerActive is the number of tasks of one owner that run at once, so that one owner with slow
	// calls cannot hold every worker. Default half of Size, but at least 1.
	OwnerActive int
	// OnPanic is told of each recovered panic, on the worker's goroutine, with the stack of the panic.
	// The default ignores it; [PoolStats] counts it in any case.
	OnPanic func(owner uint64, value any, stack []byte)
}

// Pool runs tasks that can wait, such as user code and slow cryptography, on a bounded number of
// goroutines. Tasks beyond its size wait, and are served in turns between their owners, first come
// first served within one owner: an owner with a thousand waiting tasks delays another's single task
// by one place.
//
// The goroutines belong to ants, which makes them when needed and ends them when they stay idle. The
// bound and the queue are the pool's own, as ants has no queue: it runs a task, blocks, or refuses.
type Pool struct {
	// Immutable.
	size, queue, ownerQueue int

	onPanic func(uint64, any, []byte)
	workers *ants.Pool
	work    func() // the method value, made once so that starting a worker does not allocate

	mu sync.Mutex
	// Guarded by mu.
	closed    bool
	active    int
	completed uint64
	rejected  uint64
	panics    uint64
	dropped   uint64
	begun     taskList       // tasks that a worker was started for
	turns     [classes]turns // who is served when a worker becomes free
	passed    int            // tasks that were taken before one of a later class
	idle      chan struct{}  // made by Close, closed when nothing is active or waiting
}

// workerExpiry is how long an idle worker's goroutine, whose stack has grown, is kept.
const workerExpiry = 10 * time.Second

// NewPool makes a pool. It must be closed.
func NewPool(cfg PoolConfig) *Pool {
	if cfg.Size <= 0 {
		cfg.Size = 64
	}
	if cfg.Queue <= 0 {
		cfg.Queue = 8192
	}
	if cfg.OwnerQueue <= 0 {
		cfg.OwnerQueue = 128
	}
	if cfg.OwnerActive <= 0 {
		cfg.OwnerActive = max(1, cfg.Size/2)
	}
	p := &Pool{
		size:       cfg.Size,
		queue:      cfg.Queue,
		ownerQueue: min(cfg.OwnerQueue, cfg.Queue),
		onPanic:    cfg.OnPanic,
	}
	for i := range p.turns {
		p.turns[i] = newTurns(cfg.OwnerActive)
	}
	p.work = p.worker
	// The ants pool has no size of its own: a worker counts as running for ants until shortly after
	// its last task ended for us, and a second bound would refuse a task in that moment.
	workers, err := ants.NewPool(-1, ants.WithNonblocking(true), ants.WithExpiryDuration(workerExpiry))
	if err != nil {
		panic("actors: " + err.Error()) // only an invalid option can fail
	}
	p.workers = workers
	return p
}

// Submit queues task for owner, and starts a worker for it when one is due. It never blocks. It fails
// with [ErrOverloaded] or [ErrPoolClosed], and then the task will not run.
func (p *Pool) Submit(owner uint64, task func()) error {
	return p.SubmitAs(Last, owner, task)
}

// SubmitAs is Submit for a task of a class. An owner has its turns, and its bounds, in each class.
func (p *Pool) SubmitAs(class Class, owner uint64, task func()) error {
	p.mu.Lock()
	if p.closed {
		p.rejected++
		p.mu.Unlock()
		return ErrPoolClosed
	}
	turns := &p.turns[class]
	o := turns.owners[owner]
	start := p.active < p.size && (o == nil || o.waiting == 0 && o.active < turns.ownerActive)
	if !start && (p.waiting() >= p.queue || o != nil && o.waiting >= p.ownerQueue) {
		p.rejected++
		p.mu.Unlock()
		return ErrOverloaded
	}
	if o == nil {
		o = turns.newOwner(owner)
	}
	if start {
		p.active++
		p.begun.push(turns.begin(o, task))
	} else {
		turns.wait(o, task)
	}
	p.mu.Unlock()
	if start {
		p.startWorker()
	}
	return nil
}

// startWorker runs a worker for a place in active that the caller has already taken.
func (p *Pool) startWorker() {
	if err := p.workers.Submit(p.work); err != nil {
		// Only a released ants pool refuses, and Close releases it after the last worker.
		go p.work()
	}
}

// worker runs tasks until none can be run.
func (p *Pool) worker() {
	var (
		owner  *poolOwner
		task   func()
		normal bool
	)
	// A task that calls runtime.Goexit ends this goroutine. Its place must not be lost with it.
	defer func() {
		if normal {
			return
		}
		p.mu.Lock()
		p.finish(owner)
		p.mu.Unlock()
		p.startWorker()
	}()
	for {
		p.mu.Lock()
		if owner != nil {
			p.finish(owner)
		}
		owner, task = p.next()
		if owner == nil {
			p.active--
			p.signalIdle()
			p.mu.Unlock()
			normal = true
			return
		}
		id := owner.id
		p.mu.Unlock()
		p.run(id, task)
	}
}

// next removes the task to run now, or returns nil. Tasks that were promised a worker come first: it
// does not matter which worker runs them. Called with mu.
func (p *Pool) next() (*poolOwner, func()) {
	if p.begun.first != nil {
		t := p.begun.pop()
		return t.owner.turns.take(t)
	}
	return p.nextTurn()
}

// finish accounts for an ended task of o. Called with mu.
func (p *Pool) finish(o *poolOwner) {
	p.completed++
	o.turns.ended(o)
}

func (p *Pool) signalIdle() {
	if p.active == 0 && p.waiting() == 0 && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
}

// run calls one task, and recovers its panic.
func (p *Pool) run(owner uint64, task func()) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		stack := debug.Stack()
		p.mu.Lock()
		p.panics++
		p.mu.Unlock()
		if p.onPanic != nil {
			p.onPanic(owner, value, stack)
		}
	}()
	task()
}

// PoolStats is a snapshot of a pool.
type PoolStats struct {
	Size      int    // tasks that can run at once
	Queue     int    // tasks that can wait at once
	Active    int    // workers that run
	Waiting   int    // tasks that wait
	Owners    int    // owners with a task that runs or waits
	Completed uint64 // tasks that ended, panicked ones included
	Rejected  uint64 // tasks that Submit refused
	Panics    uint64 // tasks that panicked
	Dropped   uint64 // tasks that still waited when the context of Close ended
}

// Stats returns the pool's counters of this moment.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	owners := 0
	for i := range p.turns {
		owners += len(p.turns[i].owners)
	}
	return PoolStats{
		Size:      p.size,
		Queue:     p.queue,
		Active:    p.active,
		Waiting:   p.waiting(),
		Owners:    owners,
		Completed: p.completed,
		Rejected:  p.rejected,
		Panics:    p.panics,
		Dropped:   p.dropped,
	}
}

// Close refuses new tasks, and waits until those that it has taken are done. When the context ends
// first, the tasks that still wait are dropped, those that run go on (a goroutine cannot be stopped
// from outside: they end by their own contexts), and Close returns the context's error.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	if p.idle == nil {
		p.idle = make(chan struct{})
	}
	idle := p.idle
	p.signalIdle()
	p.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
		p.drop()
		p.workers.Release()
		return ctx.Err()
	}
	if err := p.workers.ReleaseContext(ctx); err != nil && !errors.Is(err, ants.ErrPoolClosed) {
		return err
	}
	return nil
}

// drop forgets all waiting tasks.
func (p *Pool) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.turns {
		p.dropped += uint64(p.turns[i].drop())
	}
	p.signalIdle()
}
