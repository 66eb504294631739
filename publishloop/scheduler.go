package publishloop

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// scheduler asks for the values of all monitored items whose source does not
// deliver changes. It is one goroutine for the whole server, which runs while
// there are such items; calls that can wait run on the worker pool, in batches.
type scheduler struct {
	manager *Manager
	kick    chan struct{}
	single  [1]*poll // owned by the goroutine

	mu sync.Mutex
	// Guarded by mu.
	queue   pollQueue // those that are not being asked, by time
	count   int
	running bool
	closed  bool
}

// poll is what the scheduler keeps for an item.
type poll struct {
	it     *item
	reader reader

	// Guarded by scheduler.mu.
	due      time.Duration
	interval time.Duration
	index    int  // in the queue, -1 when it is not there
	spread   bool // was moved away from those that were created with it
	removed  bool

	// Guarded by item.mu: the last value without a timestamp of its own, and
	// when it was first seen.
	seen ua.DataValue
}

// reader asks for values.
type reader interface {
	// inline says that read does not wait.
	inline() bool
	// key is equal for readers whose items may be in one batch.
	key() int
	// read asks for the values of a batch and gives them to the items.
	read(ctx context.Context, polls []*poll)
}

func newScheduler(m *Manager) *scheduler {
	return &scheduler{manager: m, kick: make(chan struct{}, 1)}
}

// add begins to ask for an item's value, at once and then in its interval. The
// subscription's mutex is held.
func (s *scheduler) add(it *item, r reader) {
	p := &poll{it: it, reader: r, index: -1, interval: s.period(it)}
	it.mu.Lock()
	it.asked = p
	it.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		p.removed = true
		return
	}
	p.due = s.manager.now()
	s.count++
	s.push(p)
	if !s.running {
		s.running = s.manager.group.Go("sampling", s.run)
	}
}

// period is the item's sampling interval, but never one that would make the
// scheduler spin.
func (s *scheduler) period(it *item) time.Duration {
	return max(it.interval, s.manager.limits.MinSamplingInterval)
}

// change follows a new sampling interval of an item.
func (s *scheduler) change(it *item) {
	p := it.asked
	if p == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.interval = s.period(it)
	if p.index >= 0 {
		p.due = min(p.due, s.manager.now()+p.interval)
		heap.Fix(&s.queue, p.index)
		s.wake()
	}
}

// remove ends what add began.
func (s *scheduler) remove(it *item) {
	p := it.asked
	if p == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	it.mu.Lock()
	it.asked = nil
	it.mu.Unlock()
	if p.removed {
		return
	}
	p.removed = true
	s.count--
	if p.index >= 0 {
		heap.Remove(&s.queue, p.index)
	}
	if s.count == 0 {
		s.wake()
	}
}

// push puts an entry into the queue and wakes the goroutine when it is the first.
func (s *scheduler) push(p *poll) {
	heap.Push(&s.queue, p)
	if p.index == 0 {
		s.wake()
	}
}

func (s *scheduler) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// close ends the goroutine.
func (s *scheduler) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wake()
}

// run is the scheduler's goroutine. It ends when there is nothing to ask for.
func (s *scheduler) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-s.kick:
		}
		due, wait, over := s.next()
		if over {
			return
		}
		s.dispatch(due)
		timer.Reset(wait)
	}
}

// next takes out what is due and returns the time until something else is.
func (s *scheduler) next() (due []*poll, wait time.Duration, over bool) {
	now := s.manager.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.count == 0 {
		s.running = false
		return nil, 0, true
	}
	for len(s.queue) > 0 && s.queue[0].due-s.queue[0].slack() <= now {
		p := heap.Pop(&s.queue).(*poll)
		due = append(due, p)
	}
	if len(s.queue) == 0 {
		return due, time.Hour, false
	}
	return due, s.queue[0].due - now, false
}

// slack is by how much earlier a value may be asked for, so that those of many
// items are asked for together.
func (p *poll) slack() time.Duration { return min(p.interval/20, 25*time.Millisecond) }

// done puts an entry back after its call. The first time, a part of the interval
// is added, so that items which were created together are not asked together
// ever after; an answer that took longer than the interval leaves out cycles.
func (s *scheduler) done(p *poll, failed bool) {
	now := s.manager.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.removed {
		return
	}
	switch {
	case failed:
		p.due = now + min(p.interval, retryAfter)
	case p.due+p.interval <= now:
		p.due = now + p.interval
	default:
		p.due += p.interval
	}
	if !p.spread {
		p.spread = true
		p.due += rand.N(max(p.interval/8, 1))
	}
	s.push(p)
}

// retryAfter is when to try again after the worker pool had no room.
const retryAfter = 100 * time.Millisecond

// dispatch asks: at once what does not wait, and in batches on the pool the
// rest. A batch has one owner at the pool, and one manager if any.
func (s *scheduler) dispatch(due []*poll) {
	type group struct {
		owner uint32
		key   int
	}
	groups := make(map[group][]*poll)
	for _, p := range due {
		if p.reader.inline() {
			s.readInline(p)
			s.done(p, false)
			continue
		}
		g := group{p.it.sub.id, p.reader.key()}
		groups[g] = append(groups[g], p)
	}
	for g, polls := range groups {
		size := max(len(polls)/batches, 1)
		if g.key != anySource {
			size = max(size, managerBatch)
		}
		for len(polls) > 0 {
			n := min(size, len(polls))
			s.submit(uint64(g.owner), polls[:n])
			polls = polls[n:]
		}
	}
}

// readInline asks on the scheduler's own goroutine. A panic in user code costs
// that one value.
func (s *scheduler) readInline(p *poll) {
	defer func() {
		if r := recover(); r != nil {
			s.manager.log.Error().Stringer("node", p.it.nodeID()).Interface("panic", r).Bytes("stack", debug.Stack()).
				Msg("panic in the source of a value")
			p.it.sampled(p, &ua.DataValue{Status: ua.BadInternalError})
		}
	}()
	s.single[0] = p
	p.reader.read(context.Background(), s.single[:])
}

const (
	// batches is the number of tasks that the polls of one subscription make at
	// most, or about that: it is below what the pool takes from one owner.
	batches = 48
	// managerBatch is the smallest batch that a manager gets, where there is so much.
	managerBatch = 256
)

func (s *scheduler) submit(owner uint64, batch []*poll) {
	finished := func(failed bool) {
		for _, p := range batch {
			s.done(p, failed)
		}
	}
	if s.manager.pool == nil {
		finished(true)
		return
	}
	err := s.manager.pool.Submit(owner, func() {
		ok := false
		defer func() {
			if !ok { // the source panicked, which the pool logs
				for _, p := range batch {
					p.it.sampled(p, &ua.DataValue{Status: ua.BadInternalError})
				}
			}
			finished(false)
		}()
		ctx, cancel := context.WithTimeout(context.Background(), s.manager.limits.SampleTimeout)
		defer cancel()
		batch[0].reader.read(ctx, batch)
		ok = true
	})
	if err != nil {
		s.manager.stats.skippedSamples.Add(uint64(len(batch)))
		finished(true)
	}
}

// pollQueue is a heap by due.
type pollQueue []*poll

func (q pollQueue) Len() int           { return len(q) }
func (q pollQueue) Less(i, j int) bool { return q[i].due < q[j].due }
func (q pollQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *pollQueue) Push(x any) {
	p := x.(*poll)
	p.index = len(*q)
	*q = append(*q, p)
}

func (q *pollQueue) Pop() any {
	old := *q
	last := len(old) - 1
	p := old[last]
	old[last] = nil
	p.index = -1
	*q = old[:last]
	return p
}

// anySource is the key of readers that ask one item at a time.
const anySource = -1

// attributeReader reads an attribute that is in memory and tells nobody when it
// changes.
type attributeReader struct{}

func (attributeReader) inline() bool { return true }
func (attributeReader) key() int     { return anySource }

func (attributeReader) read(_ context.Context, polls []*poll) {
	for _, p := range polls {
		n := p.it.node
		if n.Deleted() {
			p.it.NodeDeleted()
			continue
		}
		value, status := n.Attribute(p.it.attribute)
		p.it.sampled(p, &ua.DataValue{Value: value, Status: status})
	}
}

// sourceReader asks the source of one variable.
type sourceReader struct{ source *addrspace.Source }

func (r sourceReader) inline() bool { return r.source.Inline }
func (sourceReader) key() int       { return anySource }

func (sourceReader) read(ctx context.Context, polls []*poll) {
	for _, p := range polls {
		if p.it.node.Deleted() {
			p.it.NodeDeleted()
			continue
		}
		dv, err := p.reader.(sourceReader).source.Read(ctx)
		if err != nil {
			dv = ua.DataValue{Status: ua.StatusOf(err)}
		}
		p.it.sampled(p, &dv)
	}
}

// managerReader asks the manager of a namespace.
type managerReader struct {
	manager   any
	namespace uint16
}

func (managerReader) inline() bool { return false }
func (r managerReader) key() int   { return int(r.namespace) }

func (r managerReader) read(ctx context.Context, polls []*poll) {
	items := make([]addrspace.ReadItem, len(polls))
	values := true
	for i, p := range polls {
		p.it.mu.Lock()
		age := millis(p.it.interval)
		p.it.mu.Unlock()
		items[i] = addrspace.ReadItem{
			NodeID: p.it.nodeID(), Attribute: p.it.attribute, MaxAge: age,
			Result: ua.DataValue{Status: ua.BadNodeIDUnknown},
		}
		values = values && p.it.attribute == ua.AttributeIDValue
	}
	if s, ok := r.manager.(addrspace.Sampler); ok && values {
		s.Sample(ctx, items)
	} else if s, ok := r.manager.(addrspace.Reader); ok {
		s.Read(ctx, items)
	}
	for i, p := range polls {
		p.it.sampled(p, &items[i].Result)
	}
}
