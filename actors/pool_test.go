package actors

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// testPool makes a pool that the test's end closes.
func testPool(t *testing.T, cfg PoolConfig) *Pool {
	t.Helper()
	p := NewPool(cfg)
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return p
}

// journal records the order in which tasks ran.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) task(line string) func() {
	return func() {
		j.mu.Lock()
		j.lines = append(j.lines, line)
		j.mu.Unlock()
	}
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, " ")
}

func TestPoolServesOwnersInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPool(t, PoolConfig{Size: 1})
		var j journal
		release := make(chan struct{})
		mustSubmit(t, p, 9, func() { <-release })
		for i := range 3 {
			mustSubmit(t, p, 1, j.task(fmt.Sprint("a", i)))
		}
		mustSubmit(t, p, 2, j.task("b0"))
		mustSubmit(t, p, 3, j.task("c0"))
		mustSubmit(t, p, 2, j.task("b1"))
		close(release)
		synctest.Wait()
		if got, want := j.String(), "a0 b0 c0 a1 b1 a2"; got != want {
			t.Errorf("order %q, want %q", got, want)
		}
	})
}

func TestPoolLeavesWorkersForOtherOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPool(t, PoolConfig{Size: 4}) // so one owner may have two
		var j journal
		release := make(chan struct{})
		for range 5 {
			mustSubmit(t, p, 1, func() { <-release })
		}
		synctest.Wait()
		if st := p.Stats(); st.Active != 2 || st.Waiting != 3 {
			t.Errorf("with five slow tasks of one owner: %+v", st)
		}
		mustSubmit(t, p, 2, j.task("other"))
		synctest.Wait()
		if got := j.String(); got != "other" {
			t.Errorf("another owner's task did not run: %q", got)
		}
		close(release)
		synctest.Wait()
		if st := p.Stats(); st.Active != 0 || st.Waiting != 0 || st.Owners != 0 || st.Completed != 6 {
			t.Errorf("at rest: %+v", st)
		}
	})
}

func TestPoolRefusesWhenItsQueuesAreFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPool(t, PoolConfig{Size: 1, Queue: 3, OwnerQueue: 2})
		release := make(chan struct{})
		block := func() { <-release }
		mustSubmit(t, p, 1, block)
		mustSubmit(t, p, 1, block)
		mustSubmit(t, p, 1, block)
		if err := p.Submit(1, block); !errors.Is(err, ErrOverloaded) {
			t.Errorf("beyond the owner's share: %v", err)
		}
		mustSubmit(t, p, 2, block)
		if err := p.Submit(3, block); !errors.Is(err, ErrOverloaded) {
			t.Errorf("beyond the queue: %v", err)
		}
		if st := p.Stats(); st.Rejected != 2 || st.Active != 1 || st.Waiting != 3 || st.Owners != 2 {
			t.Errorf("%+v", st)
		}
		close(release)
		synctest.Wait()
		mustSubmit(t, p, 3, block)
	})
}

func TestPoolRecoversPanicsAndTellsTheHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type report struct {
			owner uint64
			value any
			stack string
		}
		var reports []report
		p := testPool(t, PoolConfig{Size: 1, OnPanic: func(owner uint64, value any, stack []byte) {
			reports = append(reports, report{owner, value, string(stack)})
		}})
		var j journal
		mustSubmit(t, p, 5, panicker)
		mustSubmit(t, p, 5, j.task("next"))
		synctest.Wait()
		if len(reports) != 1 || reports[0].owner != 5 || reports[0].value != "boom" || !strings.Contains(reports[0].stack, "panicker") {
			t.Errorf("reports: %+v", reports)
		}
		if st := p.Stats(); st.Panics != 1 || st.Completed != 2 || j.String() != "next" {
			t.Errorf("%+v, ran %q", st, j.String())
		}
	})
}

func panicker() { panic("boom") }

// TestPoolKeepsItsSizeAfterGoexit: a callback that ends its goroutine must not cost the pool a worker.
func TestPoolKeepsItsSizeAfterGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPool(t, PoolConfig{Size: 1})
		var j journal
		for range 3 {
			mustSubmit(t, p, 1, runtime.Goexit)
			mustSubmit(t, p, 2, j.task("ran"))
		}
		synctest.Wait()
		if st := p.Stats(); st.Active != 0 || st.Waiting != 0 || st.Completed != 6 {
			t.Errorf("%+v", st)
		}
		if got := j.String(); got != "ran ran ran" {
			t.Errorf("%q", got)
		}
	})
}

func TestPoolCloseFinishesWhatItTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(PoolConfig{Size: 1})
		ran := 0
		for range 3 {
			mustSubmit(t, p, 1, func() { time.Sleep(time.Second); ran++ })
		}
		if err := p.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if ran != 3 {
			t.Errorf("%d of 3 tasks ran before Close returned", ran)
		}
		if err := p.Submit(1, func() {}); !errors.Is(err, ErrPoolClosed) {
			t.Errorf("Submit after Close: %v", err)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
}

func TestPoolCloseGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(PoolConfig{Size: 1})
		release := make(chan struct{})
		mustSubmit(t, p, 1, func() { <-release })
		mustSubmit(t, p, 1, func() { t.Error("a dropped task ran") })
		mustSubmit(t, p, 2, func() { t.Error("a dropped task ran") })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		if st := p.Stats(); st.Dropped != 2 || st.Waiting != 0 || st.Active != 1 || st.Owners != 1 {
			t.Errorf("%+v", st)
		}
		close(release)
		synctest.Wait()
		if st := p.Stats(); st.Active != 0 || st.Owners != 0 || st.Completed != 1 {
			t.Errorf("afterwards: %+v", st)
		}
	})
}

// TestPoolTurnsAreFair drives the pure order with any sequence of submissions and ends, and checks that
// an owner's tasks run in their order, that no owner is above its share, and that a waiting owner is
// passed over at most once by each other owner before its turn.
func TestPoolTurnsAreFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const owners, share = 5, 2
		q := newTurns(share)
		var (
			submitted, started [owners]int
			running            []*poolOwner
			served             = make(map[[2]int]int) // times that [1] was served since [0] could have been
			current            [2]int                 // owner and number of the task that next returned
		)
		active := func(id int) int {
			n := 0
			for _, o := range running {
				if o.id == uint64(id) {
					n++
				}
			}
			return n
		}
		t.Repeat(map[string]func(*rapid.T){
			"wait": func(t *rapid.T) {
				id := rapid.IntRange(0, owners-1).Draw(t, "owner")
				n := submitted[id]
				submitted[id]++
				o := q.owners[uint64(id)]
				if o == nil {
					o = q.newOwner(uint64(id))
				}
				q.wait(o, func() { current = [2]int{id, n} })
			},
			"next": func(t *rapid.T) {
				o, run := q.next()
				if o == nil {
					for id := range owners {
						if submitted[id] > started[id] && active(id) < share {
							t.Fatalf("owner %d has a task that could run, but has no turn", id)
						}
					}
					return
				}
				run()
				id := current[0]
				if uint64(id) != o.id || current[1] != started[id] {
					t.Fatalf("task %v runs for owner %d, whose next is %d", current, o.id, started[id])
				}
				started[id]++
				running = append(running, o)
				if active(id) > share {
					t.Fatalf("owner %d runs %d tasks", id, active(id))
				}
				for other := range owners {
					delete(served, [2]int{id, other})
					if other == id {
						continue
					}
					if submitted[other] > started[other] && active(other) < share {
						served[[2]int{other, id}]++
						if served[[2]int{other, id}] > 1 {
							t.Fatalf("owner %d was served %d times while %d waited", id, served[[2]int{other, id}], other)
						}
					} else {
						delete(served, [2]int{other, id})
					}
				}
			},
			"end": func(t *rapid.T) {
				if len(running) == 0 {
					t.Skip("nothing runs")
				}
				i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
				o := running[i]
				running = slices.Delete(running, i, i+1)
				q.ended(o)
			},
			"": func(t *rapid.T) {
				waiting, alive := 0, 0
				for id := range owners {
					waiting += submitted[id] - started[id]
					if submitted[id] > started[id] || active(id) > 0 {
						alive++
					}
				}
				if q.waiting != waiting || len(q.owners) != alive {
					t.Fatalf("waiting %d, want %d; owners %d, want %d", q.waiting, waiting, len(q.owners), alive)
				}
			},
		})
	})
}

// TestPoolUnderLoad lets many goroutines submit at once: everything that was taken runs exactly once,
// and never more than Size at a time.
func TestPoolUnderLoad(t *testing.T) {
	const size = 4
	p := testPool(t, PoolConfig{Size: size, Queue: 64, OwnerQueue: 16, OwnerActive: 3})
	var running, most, ran, taken atomic.Int64
	var submitters sync.WaitGroup
	for owner := range uint64(8) {
		submitters.Go(func() {
			for range 2000 {
				err := p.Submit(owner, func() {
					n := running.Add(1)
					for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
					}
					runtime.Gosched()
					ran.Add(1)
					running.Add(-1)
				})
				if err == nil {
					taken.Add(1)
				} else if !errors.Is(err, ErrOverloaded) {
					t.Errorf("Submit: %v", err)
				} else {
					runtime.Gosched()
				}
			}
		})
	}
	submitters.Wait()
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ran.Load() != taken.Load() || taken.Load() == 0 || most.Load() > size {
		t.Errorf("ran %d of %d, at most %d at a time", ran.Load(), taken.Load(), most.Load())
	}
	st := p.Stats()
	if st.Active != 0 || st.Waiting != 0 || st.Owners != 0 || st.Completed != uint64(ran.Load()) {
		t.Errorf("%+v", st)
	}
}

func TestPoolSubmitAllocatesNothingInSteadyState(t *testing.T) {
	if ownerChecks {
		t.Skip("the race detector makes sync.Pool drop objects at random")
	}
	p := testPool(t, PoolConfig{Size: 2})
	done := make(chan struct{}, 8)
	task := func() { done <- struct{}{} }
	allocs := testing.AllocsPerRun(1000, func() {
		for owner := range uint64(4) {
			if err := p.Submit(owner, task); err != nil {
				t.Fatal(err)
			}
		}
		for range 4 {
			<-done
		}
	})
	if allocs >= 1 {
		t.Errorf("%v allocations for four tasks", allocs)
	}
}

func BenchmarkPoolSubmit(b *testing.B) {
	p := NewPool(PoolConfig{})
	defer func() { _ = p.Close(context.Background()) }()
	done := make(chan struct{})
	task := func() { done <- struct{}{} }
	b.ReportAllocs()
	for b.Loop() {
		_ = p.Submit(1, task)
		<-done
	}
}

func mustSubmit(t *testing.T, p *Pool, owner uint64, task func()) {
	t.Helper()
	if err := p.Submit(owner, task); err != nil {
		t.Fatalf("Submit: %v", err)
	}
}
