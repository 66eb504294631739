package actors

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// LaneConfig says how wide a lane is. Every field may stay zero.
type LaneConfig struct {
	// Size is the number of tasks that run at once. Default 1.
	Size int
	// MaxWait is how long a task may have to wait for its turn; what would wait longer is refused at
	// once. Default 4 s.
	MaxWait time.Duration
	// Follow is the number of tasks of class [Second] that somebody will bring who has begun with one
	// of class [Last]. They go before those who come, so their time counts before they are there.
	// Default 0.
	Follow int
	// OnPanic is that of [PoolConfig].
	OnPanic func(owner uint64, value any, stack []byte)
}

const (
	defaultMaxWait = 4 * time.Second
	// laneQueue bounds what waits by number, too.
	laneQueue = 32_768

	// The bounds of what a refused client is told.
	shortestRetry = time.Second
	longestRetry  = 30 * time.Second
)

// BusyError says that a lane has more to do than its clients would wait for. It is [ErrOverloaded].
type BusyError struct {
	// RetryAfter is when to come back: after what waits now, and after those who were sent away
	// before. It lies between 1 s and 30 s and differs a little from one error to the next.
	RetryAfter time.Duration
}

// Error implements error.
func (e *BusyError) Error() string {
	return fmt.Sprintf("%v: retry after %v", ErrOverloaded, e.RetryAfter)
}

// Unwrap implements the interface of package errors.
func (e *BusyError) Unwrap() error { return ErrOverloaded }

// Lane is a [Pool] for short, expensive tasks that somebody waits for, such as private-key operations.
// Its queue is bounded by time: how long a task takes, and how often one of a class has its turn, is
// measured, and a task that would wait too long is refused with a [BusyError]. What nobody waits for
// any more when its turn comes is dropped before it costs anything.
type Lane struct {
	// Immutable.
	pool    *Pool
	maxWait time.Duration

	mu sync.Mutex
	// Guarded by mu.
	estimate estimate
	promised time.Time // when the last of those comes back who were sent away
	worked   uint64
	dropped  uint64
	refused  uint64
}

// NewLane makes a lane. It must be closed.
func NewLane(cfg LaneConfig) *Lane {
	size := max(cfg.Size, 1)
	if cfg.MaxWait <= 0 {
		cfg.MaxWait = defaultMaxWait
	}
	return &Lane{
		pool: NewPool(PoolConfig{
			Size: size, Queue: laneQueue, OwnerQueue: laneQueue, OwnerActive: size, OnPanic: cfg.OnPanic,
		}),
		maxWait:  cfg.MaxWait,
		estimate: newEstimate(size, cfg.Follow, cfg.MaxWait),
	}
}

// Submit queues work for an owner. When its turn has come, wanted is asked whether somebody still waits
// for it, and run is told; where it is told no, it is expected to clean up and not to work. The error
// is a [BusyError] or [ErrPoolClosed], and then neither is called. Submit never blocks. Tasks of class
// [First] are refused only when the queue is full.
func (l *Lane) Submit(class Class, owner uint64, wanted func() bool, run func(wanted bool)) error {
	return l.submit(class, owner, l.maxWait, wanted, run)
}

// Enter is [Lane.Submit] of class [Last] for somebody who has been waiting for so long, wherever that
// was: he will give up that much earlier. An eighth of the time that others may wait is left to him in
// any case, so that whoever is slow gets in at a time when few others come.
func (l *Lane) Enter(owner uint64, since time.Duration, wanted func() bool, run func(wanted bool)) error {
	return l.submit(Last, owner, max(l.maxWait-since, l.maxWait/8), wanted, run)
}

// Finish is [Lane.Submit] for the next part of work that has begun: it would be wasted if this were
// refused for the time that it has to wait, so it is not.
func (l *Lane) Finish(class Class, owner uint64, wanted func() bool, run func(wanted bool)) error {
	return l.queue(class, owner, l.pool.ahead(class, owner), time.Now(), wanted, run)
}

func (l *Lane) submit(class Class, owner uint64, most time.Duration, wanted func() bool, run func(wanted bool)) error {
	ahead, now := l.pool.ahead(class, owner), time.Now()
	if class > First && !ahead.free {
		if err := l.admit(class, ahead, now, most); err != nil {
			return err
		}
	}
	return l.queue(class, owner, ahead, now, wanted, run)
}

func (l *Lane) queue(class Class, owner uint64, ahead ahead, now time.Time, wanted func() bool, run func(wanted bool)) error {
	err := l.pool.SubmitAs(class, owner, func() {
		start := time.Now()
		if !wanted() {
			l.mu.Lock()
			l.dropped++
			l.mu.Unlock()
			run(false)
			return
		}
		l.mu.Lock()
		l.estimate.began(class, !ahead.free, now, start)
		l.mu.Unlock()
		run(true)
		took := time.Since(start)
		l.mu.Lock()
		l.worked++
		l.estimate.ended(class, took)
		l.mu.Unlock()
	})
	if err == ErrOverloaded {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.refuse(class, ahead, now)
	}
	return err
}

// admit refuses a task that would wait longer than it may.
func (l *Lane) admit(class Class, ahead ahead, now time.Time, most time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.estimate.wait(class, ahead, now) <= most {
		return nil
	}
	return l.refuse(class, ahead, now)
}

// refuse makes the error of a task that is not taken. Everybody who is sent away is promised a moment
// of his own, so that they do not all come back together. Called with mu.
func (l *Lane) refuse(class Class, ahead ahead, now time.Time) error {
	l.refused++
	due := now.Add(l.estimate.wait(class, ahead, now))
	if due.Before(l.promised) {
		due = l.promised
	}
	l.promised = due.Add(l.estimate.spacing(class))
	if latest := now.Add(longestRetry); l.promised.After(latest) {
		l.promised = latest
	}
	return &BusyError{RetryAfter: Spread(due.Sub(now))}
}

// Spread bounds a time to stay away to 1 s to 30 s, and changes it by up to an eighth, so that many who
// are told the same do not come back in one moment.
func Spread(d time.Duration) time.Duration {
	d = min(max(d, shortestRetry), longestRetry)
	jitter := rand.N(d/8 + 1)
	if d+jitter > longestRetry {
		return d - jitter
	}
	return d + jitter
}

// LaneStats is a snapshot of a lane.
type LaneStats struct {
	PoolStats
	Worked  uint64        // tasks that ran
	Unheard uint64        // tasks that were dropped since nobody waited for them any more
	Refused uint64        // tasks that would have waited too long
	Average time.Duration // that a task takes, of the last ones
	Wait    time.Duration // for which what waits now will keep the lane busy
	// Away is the time until the last of those comes back who were sent away.
	Away    time.Duration
	MaxWait time.Duration // above which a task is refused
}

// Stats returns the lane's counters of this moment.
func (l *Lane) Stats() LaneStats {
	s, all := LaneStats{PoolStats: l.pool.Stats(), MaxWait: l.maxWait}, l.pool.everybody()
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Worked, s.Unheard, s.Refused, s.Average = l.worked, l.dropped, l.refused, l.estimate.average()
	s.Wait = l.estimate.wait(Last, all, time.Now())
	s.Away = max(0, time.Until(l.promised))
	return s
}

// Close is [Pool.Close].
func (l *Lane) Close(ctx context.Context) error { return l.pool.Close(ctx) }
