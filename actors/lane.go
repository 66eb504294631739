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
	// OnPanic is that of [PoolConfig].
	OnPanic func(owner uint64, value any, stack []byte)
}

const (
	defaultMaxWait = 4 * time.Second
	// firstGuess is what a task is taken to need before one was measured.
	firstGuess = 2 * time.Millisecond
	// slowest is the longest time that one task is counted with, so that a pause of the whole process
	// does not look like a slow lane.
	slowest = 250 * time.Millisecond
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
	size    time.Duration // as a number to divide by
	maxWait time.Duration

	mu sync.Mutex
	// Guarded by mu.
	took     time.Duration // by a task, on average
	paces    [classes]pace
	promised time.Time // when the last of those comes back who were sent away
	worked   uint64
	dropped  uint64
	refused  uint64
}

// pace is how fast a class is served while its tasks wait.
type pace struct {
	every time.Duration // from one task to the next, on average; 0 before two were seen
	last  time.Time
	begun uint64
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
		size: time.Duration(size), maxWait: cfg.MaxWait, took: firstGuess,
	}
}

// Submit queues work for an owner. When its turn has come, wanted is asked whether somebody still waits
// for it, and run is told; where it is told no, it is expected to clean up and not to work. The error
// is a [BusyError] or [ErrPoolClosed], and then neither is called. Submit never blocks. Tasks of class
// [First] are refused only when the queue is full.
func (l *Lane) Submit(class Class, owner uint64, wanted func() bool, run func(wanted bool)) error {
	ahead, now := l.pool.ahead(class, owner), time.Now()
	if class > First && ahead > 0 {
		if err := l.admit(class, ahead, now); err != nil {
			return err
		}
	}
	return l.queue(class, owner, ahead, now, wanted, run)
}

// Finish is [Lane.Submit] for the next part of work that has begun: it would be wasted if this were
// refused for the time that it has to wait, so it is not.
func (l *Lane) Finish(class Class, owner uint64, wanted func() bool, run func(wanted bool)) error {
	return l.queue(class, owner, l.pool.ahead(class, owner), time.Now(), wanted, run)
}

func (l *Lane) queue(class Class, owner uint64, ahead int, now time.Time, wanted func() bool, run func(wanted bool)) error {
	err := l.pool.SubmitAs(class, owner, func() {
		start := time.Now()
		if !wanted() {
			l.mu.Lock()
			l.dropped++
			l.mu.Unlock()
			run(false)
			return
		}
		l.began(class, ahead > 0, now, start)
		run(true)
		l.ended(time.Since(start))
	})
	if err == ErrOverloaded {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.refuse(class, ahead, now)
	}
	return err
}

// admit refuses a task that would wait too long.
func (l *Lane) admit(class Class, ahead int, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wait(class, ahead) <= l.maxWait {
		return nil
	}
	return l.refuse(class, ahead, now)
}

// wait is how long a task waits that has so many before it. Called with mu.
func (l *Lane) wait(class Class, ahead int) time.Duration {
	return time.Duration(ahead) * l.each(class)
}

// each is the time between two turns of a class. Called with mu.
func (l *Lane) each(class Class) time.Duration {
	return max(l.paces[class].every, l.took/l.size, time.Microsecond)
}

// spacing is the time between two who come back: what one of them costs the lane,
// with all that follows in other classes. The pace of a crowded moment is often
// slower, as clients on the same machine are busy too, and would leave the lane
// idle later. Called with mu.
func (l *Lane) spacing(class Class) time.Duration {
	each, n := l.each(class), l.paces[class].begun
	if n < 32 || l.worked < n {
		return each
	}
	return min(each, time.Duration(float64(l.took)/float64(l.size)*float64(l.worked)/float64(n)))
}

// refuse makes the error of a task that is not taken. Everybody who is sent away is promised a moment
// of his own, so that they do not all come back together. Called with mu.
func (l *Lane) refuse(class Class, ahead int, now time.Time) error {
	l.refused++
	due := now.Add(l.wait(class, ahead))
	if due.Before(l.promised) {
		due = l.promised
	}
	l.promised = due.Add(l.spacing(class))
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

// average moves an average towards a new value.
func average(old, value time.Duration) time.Duration { return old + (value-old)/8 }

// began measures the pace of a class by a task that had to wait for its turn.
func (l *Lane) began(class Class, waited bool, submitted, start time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &l.paces[class]
	p.begun++
	since := p.last
	p.last = start
	if !waited || since.IsZero() {
		return
	}
	if since.Before(submitted) {
		since = submitted
	}
	every := min(start.Sub(since), slowest)
	if p.every == 0 {
		p.every = every
		return
	}
	p.every = average(p.every, every)
}

func (l *Lane) ended(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.worked++
	l.took = average(l.took, min(took, slowest))
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
	s := LaneStats{PoolStats: l.pool.Stats(), MaxWait: l.maxWait}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Worked, s.Unheard, s.Refused, s.Average = l.worked, l.dropped, l.refused, l.took
	s.Wait = l.wait(Last, s.Waiting)
	s.Away = max(0, time.Until(l.promised))
	return s
}

// Close is [Pool.Close].
func (l *Lane) Close(ctx context.Context) error { return l.pool.Close(ctx) }
