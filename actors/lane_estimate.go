package actors

import (
	"math"
	"time"
)

// estimate is how long tasks of a lane will have to wait. It is plain data without a lock.
//
// What waits is counted with what each of its class takes. Somebody who comes costs more than the task
// that he comes with: he brings others, which then go before those who come after him. When a crowd comes
// in one moment, none of that has been seen when it is decided who may wait, so it is reckoned and not
// measured. What is measured, the time between two turns, counts where it is longer.
type estimate struct {
	size   float64
	follow float64
	forget time.Duration // after which nothing more is expected of whoever has not gone on

	took  [classes]time.Duration // by a task, on average; 0 before one was seen
	paces [classes]pace
	owed  float64 // tasks that are expected of those who have begun
	at    time.Time
}

// pace is how fast a class is served while its tasks wait.
type pace struct {
	every time.Duration // from one task to the next, on average; 0 before two were seen
	last  time.Time
}

const (
	// firstGuess is what a task is taken to need before one was measured.
	firstGuess = 2 * time.Millisecond
	// slowest is the longest time that one task is counted with, so that a pause of the whole process
	// does not look like a slow lane.
	slowest = 250 * time.Millisecond
)

func newEstimate(size, follow int, forget time.Duration) estimate {
	return estimate{size: float64(size), follow: float64(max(follow, 0)), forget: forget}
}

// wait is how long a task waits that has so much before it.
func (e *estimate) wait(class Class, before ahead, now time.Time) time.Duration {
	if before.free {
		return 0
	}
	earlier := float64(before.earlier)
	if class == Last {
		// Part of what is owed waits already.
		earlier = max(earlier, e.owing(now))
	}
	reckoned := float64(before.own)*e.entrance(class) + earlier*e.each(Second)
	return time.Duration(max(reckoned/e.size, float64(before.own)*float64(e.paces[class].every), 1))
}

// spacing is the time between two who come back: half of what one of them costs. While a crowd is there
// everything takes longer, clients on the same machine included, and a lane that waits for people who were
// sent away too far is lost time; who comes too early waits in the queue, or is sent away once more.
func (e *estimate) spacing(class Class) time.Duration {
	return time.Duration(max(e.entrance(class)/e.size/2, float64(time.Microsecond)))
}

// entrance is what somebody costs who begins with a task of a class, in nanoseconds.
func (e *estimate) entrance(class Class) float64 {
	if class != Last {
		return e.each(class)
	}
	return e.each(Last) + e.follow*e.each(Second)
}

// each is what a task of a class takes, in nanoseconds.
func (e *estimate) each(class Class) float64 {
	if took := e.took[class]; took > 0 {
		return float64(took)
	}
	return float64(firstGuess)
}

// average is what a task takes, whatever its class.
func (e *estimate) average() time.Duration {
	return time.Duration(e.entrance(Last) / (1 + e.follow))
}

// owing is the number of tasks that those bring who have begun. Who does not go on is forgotten, all the
// sooner the longer ago it is.
func (e *estimate) owing(now time.Time) float64 {
	if past := now.Sub(e.at); past > 0 && e.owed > 0 {
		e.owed *= math.Exp(-float64(past) / float64(e.forget))
	}
	e.at = now
	return e.owed
}

// began takes in the start of a task, and by one that had to wait for its turn measures the pace of its
// class.
func (e *estimate) began(class Class, waited bool, submitted, start time.Time) {
	switch owed := e.owing(start); class {
	case Last:
		e.owed = owed + e.follow
	case Second:
		e.owed = max(0, owed-1)
	}
	p := &e.paces[class]
	since := p.last
	p.last = start
	if !waited || since.IsZero() {
		return
	}
	if since.Before(submitted) {
		since = submitted
	}
	p.every = towards(p.every, min(start.Sub(since), slowest))
}

// ended takes in what a task of a class took.
func (e *estimate) ended(class Class, took time.Duration) {
	e.took[class] = towards(e.took[class], min(max(took, 1), slowest))
}

// towards moves an average towards a new value.
func towards(average, value time.Duration) time.Duration {
	const weight = 16
	if average == 0 {
		return value
	}
	return average + (value-average)/weight
}
