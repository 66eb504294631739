package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

// lane is one client of a load with its requests in flight. Answers arrive on
// the goroutine that reads the connection, and on that of a timer when there is
// none in time; each answer sends the next request, and the client lets all
// requests that the answers of one read caused leave with one write.
type lane struct {
	// Immutable.
	load   *load
	client *client.Client
	number int
	slots  []slot

	mu sync.Mutex
	// Guarded by mu.
	verified bool // the first answer was, completely
	handled  int64
	answers  int64 // good ones, while measuring
	failures int64
	errors   tally
	times    times
	waiting  []*slot // that found no room to send, until there is an answer
}

// slot is one request in flight.
type slot struct {
	lane *lane
	next int       // of the load's requests
	sent time.Time // zero until the first one is
}

func newLane(l *load, c *client.Client, number, inflight int) *lane {
	lane := &lane{load: l, client: c, number: number, slots: make([]slot, inflight)}
	for i := range lane.slots {
		lane.slots[i] = slot{lane: lane, next: (number*inflight + i) % len(l.work.requests)}
	}
	return lane
}

func (l *lane) start() {
	for i := range l.slots {
		l.slots[i].send(time.Now())
	}
}

// send sends the slot's next request, or ends it.
func (s *slot) send(now time.Time) {
	l := s.lane
	if l.load.phase.Load() == stopped {
		l.load.ended.Add(1)
		return
	}
	request := l.load.work.requests[s.next]
	if s.next++; s.next == len(l.load.work.requests) {
		s.next = 0
	}
	s.sent = now
	err := l.client.Send(request, s)
	switch {
	case err == nil:
	case errors.Is(err, client.ErrBusy):
		// Large requests in front of this one fill the client's queue.
		l.mu.Lock()
		l.waiting = append(l.waiting, s)
		l.mu.Unlock()
	default:
		l.mu.Lock()
		l.lost(err)
		l.mu.Unlock()
		l.load.ended.Add(1)
	}
}

// HandleResponse implements [client.ResponseHandler]: it judges the answer and
// sends the next request.
func (s *slot) HandleResponse(_ uint32, body []byte, err error) {
	l := s.lane
	now := time.Now()
	gone := isLost(err)
	l.mu.Lock()
	if gone {
		l.lost(err)
	} else {
		l.answered(body, err, now.Sub(s.sent))
	}
	waiting := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	if gone {
		l.load.ended.Add(1 + int64(len(waiting)))
		return
	}
	s.send(now)
	for _, other := range waiting {
		other.send(now)
	}
}

// answered counts one answer. The caller holds mu.
func (l *lane) answered(body []byte, err error, took time.Duration) {
	ok := err == nil && l.judge(body)
	if err != nil && l.load.phase.Load() == measuring {
		l.errors.add(ua.StatusOf(err))
	}
	l.handled++
	if l.load.phase.Load() != measuring {
		return
	}
	if !ok {
		l.failures++
		return
	}
	l.answers++
	l.times.record(took, l.load.times)
}

// judge looks at an answer, at the first one in full.
func (l *lane) judge(body []byte) bool {
	if !l.verified {
		if err := l.load.work.verify(body); err != nil {
			l.failures++
			l.errors.add(ua.StatusOf(err))
			l.load.fail(fmt.Errorf("client %d: the first answer is wrong: %w", l.number+1, err))
			return false
		}
		l.verified = true
		return true
	}
	var bad *tally
	if l.load.phase.Load() == measuring {
		bad = &l.errors
	} else {
		bad = new(tally)
	}
	return l.load.work.check(body, bad)
}

// lost counts a request that the end of the connection took, and ends the load.
// The caller holds mu.
func (l *lane) lost(err error) {
	l.failures++
	l.errors.add(ua.StatusOf(err))
	l.load.fail(fmt.Errorf("client %d has lost its connection: %w", l.number+1, err))
}

// isLost says that an error means that the connection is gone.
func isLost(err error) bool {
	var gone *client.ConnectionError
	return errors.As(err, &gone) || errors.Is(err, client.ErrClosed) || errors.Is(err, client.ErrNotConnected)
}

// report adds the counters to a result.
func (l *lane) report(r *result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times.flush(l.load.times)
	r.Requests += l.answers
	r.Failures += l.failures
	l.errors.into(r.Errors)
}
