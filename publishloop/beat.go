package publishloop

import (
	"slices"
	"sync"
	"time"
)

const (
	// beatSize is how many subscriptions share a beat at most. Their messages
	// leave one behind the other, so that the last waits for all others.
	beatSize = 32
	// beatWork is how long a round of a beat may take. Above it the beat splits,
	// and other cores share the work.
	beatWork = 5 * time.Millisecond
	// beatSlack is the part of its interval by which the first cycle of a
	// subscription may be shorter so that it joins a beat.
	beatSlack = 8
	// beatStuck is how long the others of a beat wait for one of them, and the
	// shorter half of their interval. Nothing that a cycle does blocks; even then
	// it holds up nobody for longer.
	beatStuck = 50 * time.Millisecond
	// beatLook is how often a beat with a periodic alarm is looked at for that.
	// There a timer for each round would cost the wake-ups that the alarm saves, so
	// that the others may wait for a second more.
	beatLook = time.Second
)

// beats are the publishing timers of all subscriptions. A wake-up of an idle
// core costs more than a publishing cycle, a timer of the runtime more than one
// wake-up; so subscriptions of the same interval share a timer and a goroutine.
//
// A subscription is created with the phase of its creation, which spreads the
// load of many over the interval. After their next round, beats that fit
// together become one: the cycle in which that happens is shorter for those that
// move. A beat whose round takes long splits in two that run beside each other.
type beats struct {
	manager *Manager
	kernel  kernelAlarms

	mu sync.Mutex
	// Guarded by mu, which is a leaf.
	byInterval map[time.Duration][]*beat
}

// beat is one timer and the subscriptions whose cycles it ends. Its goroutine
// ends when it has no subscriptions any more.
type beat struct {
	// Immutable.
	beats    *beats
	interval time.Duration
	alarm    alarm       // wakes the goroutine; set with beats.mu held
	guard    *time.Timer // rescues a round

	// Guarded by beats.mu.
	members []*Subscription // none: it has ended, or is about to
	next    time.Duration   // when the cycle ends, on the manager's clock
	cost    time.Duration   // of a round, about the longest of late
	serving *Subscription   // in a round
	began   time.Duration   // of the round
	stuck   bool            // the others were rescued from this round
	watched bool            // the guard runs, with a periodic alarm
}

// join gives a subscription a beat. It reports false when the server has closed.
// The subscription's mutex is held.
func (bs *beats) join(s *Subscription, interval time.Duration) bool {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	next := bs.manager.now() + interval
	for _, b := range bs.byInterval[interval] {
		if early := next - b.next; early >= 0 && early <= interval/beatSlack && b.fits(1, 0) {
			b.add(s)
			return true
		}
	}
	b := bs.make(interval, next)
	b.add(s)
	if !bs.manager.group.Go("subscription", b.run) {
		bs.leaveLocked(s)
		b.alarm.stop()
		return false
	}
	return true
}

// make returns a new beat without subscriptions. mu is held.
func (bs *beats) make(interval, next time.Duration) *beat {
	b := &beat{beats: bs, interval: interval, next: next, alarm: bs.kernel.set(next-bs.manager.now(), interval)}
	b.guard = time.AfterFunc(time.Hour, b.rescue)
	b.guard.Stop()
	bs.byInterval[interval] = append(bs.byInterval[interval], b)
	return b
}

// fits reports whether a beat may take so many more subscriptions, and so much
// more work in a round. mu is held.
func (b *beat) fits(more int, cost time.Duration) bool {
	return len(b.members) > 0 && !b.stuck && len(b.members)+more <= beatSize && b.cost+cost <= beatWork/2
}

func (b *beat) add(s *Subscription) {
	b.members = append(b.members, s)
	s.beat = b
}

// leave takes a subscription off its beat, if it has one. A round that is under
// way may still reach it.
func (bs *beats) leave(s *Subscription) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	bs.leaveLocked(s)
}

func (bs *beats) leaveLocked(s *Subscription) {
	b := s.beat
	if b == nil {
		return
	}
	s.beat = nil
	if i := slices.Index(b.members, s); i >= 0 {
		b.members = slices.Delete(b.members, i, i+1)
	}
	if len(b.members) == 0 {
		bs.drop(b)
		b.alarm.ring()
	}
}

// drop forgets a beat without subscriptions. mu is held.
func (bs *beats) drop(b *beat) {
	same := bs.byInterval[b.interval]
	if i := slices.Index(same, b); i >= 0 {
		same = slices.Delete(same, i, i+1)
	}
	if len(same) == 0 {
		delete(bs.byInterval, b.interval)
		return
	}
	bs.byInterval[b.interval] = same
}

// run is the goroutine of the beat. The timer follows the cycle's own grid, so
// that neither the work of a round nor a late wake-up makes it drift.
func (b *beat) run() {
	defer b.alarm.stop()
	defer b.guard.Stop()
	var round []*Subscription
	for {
		b.alarm.wait()
		var alive bool
		if round, alive = b.begin(round[:0]); !alive {
			return
		}
		start := b.beats.manager.now()
		for _, s := range round {
			if !b.turn(s) {
				break
			}
			s.serve(Tick)
		}
		took := b.beats.manager.now() - start
		clear(round)
		if len(round) > 0 && !b.end(took) {
			return
		}
	}
}

// begin appends the subscriptions whose cycle ends now, and sets the timer for
// the next. It reports false when there are none any more.
func (b *beat) begin(round []*Subscription) ([]*Subscription, bool) {
	b.beats.mu.Lock()
	defer b.beats.mu.Unlock()
	if len(b.members) == 0 {
		return round, false
	}
	now := b.beats.manager.now()
	if now >= b.next {
		round = append(round, b.members...)
		// Cycles that were missed are not made up for.
		b.next += ((now-b.next)/b.interval + 1) * b.interval
	}
	b.alarm.again(b.next - now)
	b.began = now
	if len(round) > 1 {
		b.guardRound()
	}
	return round, true
}

// guardRound has somebody look whether the round that begins comes to its end.
// beats.mu is held.
func (b *beat) guardRound() {
	switch {
	case !b.alarm.periodic():
		b.guard.Reset(b.patience())
	case !b.watched:
		b.watched = true
		b.guard.Reset(beatLook)
	}
}

// patience is how long the others wait for one of them.
func (b *beat) patience() time.Duration { return min(b.interval/2, beatStuck) }

// turn says whose turn it is in a round. It reports false when the round is over
// because its subscriptions were rescued from it.
func (b *beat) turn(s *Subscription) bool {
	b.beats.mu.Lock()
	defer b.beats.mu.Unlock()
	b.serving = s
	return !b.stuck
}

// rescue gives all subscriptions but the one that holds up a round to a new
// beat, whose first round is at once; for those that had their turn that is a
// cycle more. It runs on the goroutine of the guard.
func (b *beat) rescue() {
	bs := b.beats
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b.watched = false
	if b.serving == nil || b.stuck || len(b.members) < 2 {
		return
	}
	if left := b.began + b.patience() - bs.manager.now(); left > 0 {
		b.watched = true
		b.guard.Reset(left) // this round has begun just now
		return
	}
	fresh := bs.make(b.interval, b.next-b.interval)
	for _, s := range b.members {
		if s != b.serving {
			fresh.add(s)
		}
	}
	if !bs.manager.group.Go("subscription", fresh.run) {
		for _, s := range fresh.members {
			s.beat = b
		}
		bs.drop(fresh)
		fresh.alarm.stop()
		return
	}
	b.stuck = true
	b.members = slices.DeleteFunc(b.members, func(s *Subscription) bool { return s.beat != b })
}

// end looks at what a round has cost, and splits the beat or gives its
// subscriptions to another. It reports false when none are left.
func (b *beat) end(took time.Duration) bool {
	bs := b.beats
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if !b.alarm.periodic() {
		b.guard.Stop()
	}
	b.serving, b.stuck = nil, false
	b.cost = max(took, b.cost-b.cost/8)
	if took > beatWork && len(b.members) > 1 {
		b.split()
		return true
	}
	for _, other := range bs.byInterval[b.interval] {
		if other == b {
			break // the older stays, so that nobody moves again and again
		}
		if other.fits(len(b.members), b.cost) {
			for _, s := range b.members {
				other.add(s)
			}
			other.cost += b.cost
			b.members = nil
			bs.drop(b)
			return false
		}
	}
	return len(b.members) > 0
}

// split gives half of the subscriptions to a new beat, which keeps their phase.
// beats.mu is held.
func (b *beat) split() {
	half := b.beats.make(b.interval, b.next)
	keep := len(b.members) / 2
	for _, s := range b.members[keep:] {
		half.add(s)
	}
	half.cost = b.cost
	if !b.beats.manager.group.Go("subscription", half.run) {
		for _, s := range half.members {
			s.beat = b
		}
		half.members = nil
		b.beats.drop(half)
		half.alarm.stop()
		return
	}
	clear(b.members[keep:])
	b.members = b.members[:keep]
}
