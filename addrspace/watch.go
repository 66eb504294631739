package addrspace

import (
	"sync"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// Watcher is told what happens to one variable. Its methods are called under
// the variable's delivery lock, one at a time and in the order of the stores.
// They must not block, must not panic, and must not call back into this
// package. Locks that they take must never be held while Watch, Unwatch or
// Store is called on the same variable.
type Watcher interface {
	// ValueChanged is called for each new value, status or source timestamp. The
	// ServerTimestamp is the time of the call.
	// The DataValue is only good during the call; what its Value refers to is
	// immutable and may be kept.
	ValueChanged(dv *ua.DataValue)
	// NodeDeleted says that the variable is gone. It is the last call.
	NodeDeleted()
}

// side is the part of a variable that exists while it is watched or holds a
// large array.
type side struct {
	// mu is the delivery lock. It guards the fields up to encoded.
	mu       sync.Mutex
	watchers []Watcher
	// places finds a watcher in watchers; nil while there are few. Ten
	// thousand sessions that watch one variable also leave it one by one.
	places map[Watcher]int
	last   ua.DataValue

	encoded *encoded // guarded by the variable's mu
}

const fewWatchers = 32

// deliver tells the watchers, with the time of now as ServerTimestamp: one look at
// the clock serves them all.
func (s *side) deliver() {
	if len(s.watchers) > 0 {
		s.last.ServerTimestamp = ua.DateTimeOf(time.Now())
	}
	for _, w := range s.watchers {
		w.ValueChanged(&s.last)
	}
}

func (s *side) place(w Watcher) int {
	if s.places != nil {
		if i, ok := s.places[w]; ok {
			return i
		}
		return -1
	}
	for i := range s.watchers {
		if s.watchers[i] == w {
			return i
		}
	}
	return -1
}

func (s *side) add(w Watcher) {
	s.watchers = append(s.watchers, w)
	if s.places != nil {
		s.places[w] = len(s.watchers) - 1
	} else if len(s.watchers) > fewWatchers {
		s.places = make(map[Watcher]int, 2*len(s.watchers))
		for i := range s.watchers {
			s.places[s.watchers[i]] = i
		}
	}
}

func (s *side) remove(i int) {
	last := len(s.watchers) - 1
	if s.places != nil {
		delete(s.places, s.watchers[i])
		if i != last {
			s.places[s.watchers[last]] = i
		}
	}
	s.watchers[i] = s.watchers[last]
	s.watchers[last] = nil
	s.watchers = s.watchers[:last]
	if last == 0 {
		s.watchers, s.places = nil, nil
	}
}

// Watch registers a watcher and returns the value that its changes follow: no
// store is missed and none is seen twice. A watcher must be a comparable value
// (a pointer). It is told of each change once, however often it is registered.
// ok is false when the node is deleted; the watcher is then not registered.
func (v *Variable) Watch(w Watcher) (dv ua.DataValue, ok bool) {
	sd := v.lockSide(true)
	defer sd.mu.Unlock()
	v.mu.Lock()
	dv = v.load()
	v.mu.Unlock()
	// Deletion sets the flag before it asks for the delivery lock.
	if v.node.Deleted() {
		v.dropSide(sd)
		return dv, false
	}
	if sd.place(w) < 0 {
		sd.add(w)
	}
	return dv, true
}

// Unwatch ends what Watch began. When it returns, the watcher is not being
// called and will not be called again. Unknown watchers are ignored.
func (v *Variable) Unwatch(w Watcher) {
	sd := v.lockSide(false)
	if sd == nil {
		return
	}
	defer sd.mu.Unlock()
	if i := sd.place(w); i >= 0 {
		sd.remove(i)
	}
	v.dropSide(sd)
}

// Watchers returns the number of registered watchers.
func (v *Variable) Watchers() int {
	sd := v.lockSide(false)
	if sd == nil {
		return 0
	}
	defer sd.mu.Unlock()
	return len(sd.watchers)
}

// gone tells all watchers that the node is deleted and forgets them.
func (v *Variable) gone() {
	sd := v.lockSide(false)
	if sd == nil {
		return
	}
	defer sd.mu.Unlock()
	for _, w := range sd.watchers {
		w.NodeDeleted()
	}
	sd.watchers, sd.places = nil, nil
	v.dropSide(sd)
}

// lockSide returns the current side with its lock held, creating it on demand.
func (v *Variable) lockSide(create bool) *side {
	for {
		v.mu.Lock()
		if v.side == nil && create {
			v.side = new(side)
		}
		sd := v.side
		v.mu.Unlock()
		if sd == nil {
			return nil
		}
		sd.mu.Lock()
		v.mu.Lock()
		current := v.side == sd
		v.mu.Unlock()
		if current {
			return sd
		}
		sd.mu.Unlock()
	}
}

// dropSide forgets a side that is not needed any more. Its lock is held.
func (v *Variable) dropSide(sd *side) {
	if len(sd.watchers) > 0 {
		return
	}
	v.mu.Lock()
	if v.side == sd && sd.encoded == nil {
		v.side = nil
	}
	v.mu.Unlock()
}
