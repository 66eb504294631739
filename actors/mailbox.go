package actors

import (
	"fmt"
	"reflect"
	"sync"
)

// Mailbox is the queue in front of one actor. Any goroutine may post; one goroutine waits and drains.
//
// An idle mailbox holds no slice memory: the backing array of a queue is borrowed from a pool that
// all mailboxes of the same message type share, and is returned by the drain that empties it. Tens
// of thousands of mailboxes therefore cost their struct and a one-place channel each, while a busy
// one posts and drains without allocating.
type Mailbox[M any] struct {
	// Immutable.
	limit  int
	signal chan struct{}
	slabs  *sync.Pool

	mu sync.Mutex
	// Guarded by mu.
	slab    *slab[M] // nil when empty
	closed  bool
	refused uint64
}

// slab boxes a queue's slice, so that it goes in and out of the pool as one pointer.
type slab[M any] struct {
	queue []M
}

// slabPools has one *sync.Pool for each message type. It is consulted once when a mailbox is made.
var slabPools sync.Map

// maxPooledSlab is the largest queue, in messages, whose memory is kept for reuse after a burst.
const maxPooledSlab = 4096

// NewMailbox makes a mailbox that may hold up to limit messages; 0 means no limit.
// The limit is a statement about the protocol's credits ("never more than this can be under way"),
// not a policy for overload: see [Mailbox.Post].
func NewMailbox[M any](limit int) *Mailbox[M] {
	key := reflect.TypeFor[M]()
	pool, ok := slabPools.Load(key)
	if !ok {
		pool, _ = slabPools.LoadOrStore(key, &sync.Pool{New: func() any { return new(slab[M]) }})
	}
	return &Mailbox[M]{limit: limit, signal: make(chan struct{}, 1), slabs: pool.(*sync.Pool)}
}

// Post queues m and wakes the actor. It never blocks. It reports false when the mailbox is closed;
// the message is then still the caller's.
//
// A mailbox beyond its limit means that some credit was not accounted for. That is a bug of ours: in
// tests and debug builds Post panics, elsewhere it counts the message as refused and reports false.
func (b *Mailbox[M]) Post(m M) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	if b.slab == nil {
		b.slab = b.slabs.Get().(*slab[M])
	}
	if b.limit > 0 && len(b.slab.queue) >= b.limit {
		b.refused++
		b.mu.Unlock()
		if panicOnBug {
			panic(fmt.Sprintf("actors: more than %d messages of type %T in one mailbox", b.limit, m))
		}
		return false
	}
	b.slab.queue = append(b.slab.queue, m)
	first := len(b.slab.queue) == 1
	b.mu.Unlock()
	if first {
		b.wake()
	}
	return true
}

// wake leaves a signal for the actor unless one is already waiting.
func (b *Mailbox[M]) wake() {
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

// Wait returns the channel to receive from before a drain. One signal stands for any number of
// messages, and may be left over from messages that an earlier drain already took: a drain that
// yields nothing is normal. Close signals too.
func (b *Mailbox[M]) Wait() <-chan struct{} { return b.signal }

// Drain appends all queued messages to dst in the order of their posting, and returns it. A closed
// mailbox still yields what was posted before.
func (b *Mailbox[M]) Drain(dst []M) []M {
	b.mu.Lock()
	s := b.slab
	b.slab = nil
	b.mu.Unlock()
	if s == nil {
		return dst
	}
	dst = append(dst, s.queue...)
	clear(s.queue)
	s.queue = s.queue[:0]
	if cap(s.queue) > maxPooledSlab {
		s.queue = nil
	}
	b.slabs.Put(s)
	return dst
}

// Len is the number of messages queued now.
func (b *Mailbox[M]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.slab == nil {
		return 0
	}
	return len(b.slab.queue)
}

// Refused is the number of messages that came while the mailbox was at its limit. It is zero unless
// there is a bug.
func (b *Mailbox[M]) Refused() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// Close refuses all further posts and wakes the actor. Whatever is queued stays for a last Drain.
// Closing twice is fine.
func (b *Mailbox[M]) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.wake()
}

// Closed reports whether Close was called. After a drain that follows a true Closed, no message
// will ever come again.
func (b *Mailbox[M]) Closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}
