package channelactor

import "sync"

// outbox holds what could not leave at once, and knows whether the channel's
// actor runs. The actor is started when there is something to send that the
// kernel does not take, or somebody else is sending, and for the last words of a
// channel; it ends when nothing is left. An idle channel has none, nor any
// memory here.
type outbox struct {
	mu sync.Mutex
	// Guarded by mu.
	waiting *parcels // nil when empty
	woken   bool     // somebody wants the actor since it has begun its round
	acting  bool     // the actor runs
	closed  bool     // nothing leaves any more
}

// parcels is a queue of the outbox. Its memory is pooled.
type parcels struct{ list []parcel }

var parcelPool = sync.Pool{New: func() any { return new(parcels) }}

// maxPooledParcels is the largest queue whose memory is kept after a burst.
const maxPooledParcels = 4096

// release gives the memory of a queue back.
func (p *parcels) release() {
	clear(p.list[:cap(p.list)])
	p.list = p.list[:0]
	if cap(p.list) <= maxPooledParcels {
		parcelPool.Put(p)
	}
}

// put adds a parcel and asks for the actor. start says that the caller has to
// start it; ok is false when the outbox is closed, and the parcel still the
// caller's.
func (o *outbox) put(p parcel) (start, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false, false
	}
	if o.waiting == nil {
		o.waiting = parcelPool.Get().(*parcels)
	}
	o.waiting.list = append(o.waiting.list, p)
	return o.wakeLocked(), true
}

// wake asks for the actor, and reports whether the caller has to start it.
func (o *outbox) wake() (start bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wakeLocked()
}

func (o *outbox) wakeLocked() (start bool) {
	o.woken = true
	start = !o.acting && !o.closed
	o.acting = o.acting || start
	return start
}

// take returns all that waits, nil when there is nothing.
func (o *outbox) take() *parcels {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.waiting
	o.waiting = nil
	return p
}

// len is the number of parcels that wait.
func (o *outbox) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting == nil {
		return 0
	}
	return len(o.waiting.list)
}

// begin starts a round of the actor.
func (o *outbox) begin() {
	o.mu.Lock()
	o.woken = false
	o.mu.Unlock()
}

// rest ends the actor, unless somebody wanted it during its round.
func (o *outbox) rest() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.woken {
		return false
	}
	o.acting = false
	return true
}

// missed notes that the actor could not be started.
func (o *outbox) missed() {
	o.mu.Lock()
	o.acting = false
	o.mu.Unlock()
}

// close refuses everything from now on, and returns what was still there.
func (o *outbox) close() *parcels {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	p := o.waiting
	o.waiting = nil
	return p
}
