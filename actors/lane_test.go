package actors

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// op is what a private-key operation takes in these tests.
const op = 2 * time.Millisecond

func always() bool { return true }

// later is a moment at which all that was due before has happened, and is seen.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// inLane runs a test with a lane in a bubble of fake time.
func inLane(t *testing.T, cfg LaneConfig, body func(t *testing.T, l *Lane)) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLane(cfg)
		body(t, l)
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * workerExpiry) // of idle workers
	})
}

// Started work goes before new work, and what keeps a live channel alive before both; but none waits
// for good.
func TestClassesAreServedInTheirOrder(t *testing.T) {
	inLane(t, LaneConfig{}, func(t *testing.T, l *Lane) {
		var order []Class
		task := func(class Class) {
			if err := l.Submit(class, uint64(class), always, func(bool) { time.Sleep(op); order = append(order, class) }); err != nil {
				t.Error(err)
			}
		}
		task(Last) // runs at once
		for range 3 {
			task(Last)
			task(Second)
			task(First)
		}
		later(100 * op)
		if want := []Class{Last, First, First, First, Second, Second, Second, Last, Last, Last}; !slices.Equal(order, want) {
			t.Errorf("order %v", order)
		}
		order = nil
		task(Last)
		for range 3 * patience {
			task(Second)
		}
		task(Last)
		later(100 * op)
		if i := slices.Index(order[1:], Last); i != patience {
			t.Errorf("the later class had its turn after %d tasks of the earlier one", i)
		}
	})
}

// The queue is bounded by time: what would wait longer than clients do is refused at once. What was
// taken has its turn within that time, and those who were sent away are told moments that differ.
func TestLaneRefusesWhatWouldWaitTooLong(t *testing.T) {
	const most = 100 * time.Millisecond
	inLane(t, LaneConfig{MaxWait: most}, func(t *testing.T, l *Lane) {
		var (
			mu      sync.Mutex
			longest time.Duration
			hints   []time.Duration
			taken   int
		)
		// Ten times as many as the lane can serve within the time.
		for i := range uint64(10 * most / op) {
			begin := time.Now()
			err := l.Submit(Last, i, always, func(bool) {
				mu.Lock()
				longest = max(longest, time.Since(begin))
				mu.Unlock()
				time.Sleep(op)
			})
			var busy *BusyError
			switch {
			case err == nil:
				taken++
			case errors.As(err, &busy) && errors.Is(err, ErrOverloaded):
				hints = append(hints, busy.RetryAfter)
			default:
				t.Fatal(err)
			}
		}
		if s := l.Stats(); s.Refused != uint64(len(hints)) || s.Wait < most/2 || s.Away < most/2 {
			t.Errorf("stats %+v", s)
		}
		later(time.Minute)
		if taken < int(most/op)*8/10 || longest > most*12/10 {
			t.Errorf("%d tasks taken, the longest wait was %v", taken, longest)
		}
		slices.Sort(hints)
		if n := len(slices.Compact(slices.Clone(hints))); n < len(hints)*9/10 || hints[0] < time.Second || hints[len(hints)-1] > 30*time.Second {
			t.Errorf("%d different hints of %d, from %v to %v", n, len(hints), hints[0], hints[len(hints)-1])
		}
		if s := l.Stats(); s.Away != 0 || s.Wait != 0 || s.Worked != uint64(taken) {
			t.Errorf("afterwards: %+v", s)
		}
		if err := l.Submit(Last, 1, always, func(bool) {}); err != nil {
			t.Errorf("the lane did not recover: %v", err)
		}
	})
}

// The lane measures what a turn really takes, earlier classes included: with half of the lane taken by
// those, half as many strangers are let in.
func TestLaneCountsWithEarlierClasses(t *testing.T) {
	const most = time.Second
	inLane(t, LaneConfig{MaxWait: most}, func(t *testing.T, l *Lane) {
		var mu sync.Mutex
		var longest time.Duration
		for i := range uint64(4000) { // one each millisecond, four times too many
			begin := time.Now()
			_ = l.Submit(Last, i, always, func(bool) {
				mu.Lock()
				longest = max(longest, time.Since(begin))
				mu.Unlock()
				time.Sleep(op)
				_ = l.Submit(Second, i, always, func(bool) { time.Sleep(op) })
			})
			time.Sleep(time.Millisecond)
		}
		later(time.Minute)
		if longest > most*3/2 {
			t.Errorf("the longest wait was %v", longest)
		}
		if s := l.Stats(); s.Refused < 2000 || s.Worked < 1500 {
			t.Errorf("%+v", s)
		}
	})
}

// Who comes brings more tasks, which go first: a crowd that comes in one moment, of which nothing has been
// measured, is let in only as far as all that it brings can be done in time. A crowd that does not go on is
// forgotten.
func TestLaneReckonsWithWhatNewcomersBring(t *testing.T) {
	const (
		most   = time.Second
		follow = 3
		reply  = 50 * time.Millisecond // after which a client brings its next task
	)
	inLane(t, LaneConfig{MaxWait: most, Follow: follow}, func(t *testing.T, l *Lane) {
		var mu sync.Mutex
		var longest time.Duration
		taken := 0
		for i := range uint64(1000) {
			begin := time.Now()
			var bring func(n int)
			bring = func(n int) {
				if n == 0 {
					mu.Lock()
					longest = max(longest, time.Since(begin))
					mu.Unlock()
					return
				}
				time.AfterFunc(reply, func() {
					if err := l.Submit(Second, i, always, func(bool) { time.Sleep(op); bring(n - 1) }); err != nil {
						t.Error(err)
					}
				})
			}
			if err := l.Submit(Last, i, always, func(bool) { time.Sleep(op); bring(follow) }); err == nil {
				taken++
			}
		}
		later(time.Minute)
		if fit := int(most / op / (1 + follow)); taken < fit*8/10 || taken > fit*11/10 {
			t.Errorf("%d were taken, and %d fit", taken, fit)
		}
		if longest > most*12/10+follow*reply {
			t.Errorf("all that somebody brought was done after %v", longest)
		}
		for i := range uint64(100) { // they begin, and are not heard of again
			if err := l.Submit(Last, i, always, func(bool) { time.Sleep(op) }); err != nil {
				t.Error(err)
			}
		}
		later(100 * op)
		wait := func() time.Duration {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.estimate.wait(Last, ahead{own: 1}, time.Now())
		}
		if now := wait(); now < 100*follow*op*7/10 {
			t.Errorf("those who have begun count as %v", now)
		}
		later(10 * most)
		if now := wait(); now > (2+follow)*op {
			t.Errorf("those who do not go on still count as %v", now)
		}
	})
}

// Who has been waiting elsewhere gives up earlier, and is refused where another one may wait; but not when
// there is next to nothing to wait for.
func TestWhoHasWaitedIsLetInForLess(t *testing.T) {
	const most = 80 * op
	inLane(t, LaneConfig{MaxWait: most}, func(t *testing.T, l *Lane) {
		var taken [3]int
		enter := func(i int, since time.Duration) {
			if l.Enter(uint64(i), since, always, func(bool) { time.Sleep(op) }) == nil {
				taken[int(since/(most/2))]++
			}
		}
		for i := range 40 { // the longest wait first, since others would fill the lane
			enter(i, most)
		}
		for i := range 100 {
			enter(100+i, most/2)
		}
		for i := range 200 {
			enter(1000+i, 0)
		}
		if want := [3]int{40, 30, 11}; taken != want {
			t.Errorf("%v were taken, want %v", taken, want)
		}
		later(time.Minute)
	})
}

// A refused client that comes back when it was told finds its place: all of a crowd get in, and each is
// refused but a few times.
func TestRefusedComeBackInTurn(t *testing.T) {
	inLane(t, LaneConfig{MaxWait: 4 * time.Second}, func(t *testing.T, l *Lane) {
		const crowd = 10_000
		var done sync.WaitGroup
		start := time.Now()
		for i := range uint64(crowd) {
			done.Go(func() {
				for {
					ran := make(chan bool, 1)
					err := l.Submit(Last, i, always, func(bool) { time.Sleep(3 * op); ran <- true })
					if err == nil {
						<-ran
						return
					}
					var busy *BusyError
					errors.As(err, &busy)
					time.Sleep(busy.RetryAfter)
				}
			})
		}
		done.Wait()
		s, took := l.Stats(), time.Since(start)
		t.Logf("%v for %d clients, %d refusals", took, crowd, s.Refused)
		if took > crowd*3*op*3/2 || s.Refused > 6*crowd {
			t.Errorf("%v for %d clients, %d refusals", took, crowd, s.Refused)
		}
	})
}

// What nobody waits for is dropped when its turn comes, and costs nothing.
func TestLaneDropsWhatIsNotWanted(t *testing.T) {
	inLane(t, LaneConfig{}, func(t *testing.T, l *Lane) {
		ran, told := 0, 0
		start := time.Now()
		for i := range uint64(1000) {
			gone := i%10 != 0
			err := l.Submit(Last, i, func() bool { return !gone }, func(wanted bool) {
				if !wanted {
					told++
					return
				}
				ran++
				time.Sleep(op)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if ran != 100 || told != 900 || time.Since(start) > 101*op {
			t.Errorf("%d ran, %d told, in %v", ran, told, time.Since(start))
		}
		if s := l.Stats(); s.Worked != 100 || s.Unheard != 900 {
			t.Errorf("%+v", s)
		}
		if err := l.Submit(First, 1, always, func(bool) {}); !errors.Is(err, ErrPoolClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}
