package actors

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// TestMailboxBehavesAsAQueue compares any sequence of operations with a plain slice.
func TestMailboxBehavesAsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		box := NewMailbox[int](0)
		var model []int
		closed := false
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"post": func(t *rapid.T) {
				next++
				if box.Post(next) == closed {
					t.Fatalf("Post on a mailbox with closed=%v", closed)
				}
				if !closed {
					model = append(model, next)
				}
			},
			"drain": func(t *rapid.T) {
				prefix := []int{-1}
				got := box.Drain(prefix)
				if !slices.Equal(got[1:], model) || got[0] != -1 {
					t.Fatalf("Drain: got %v, want %v appended", got, model)
				}
				model = nil
			},
			"close": func(t *rapid.T) {
				box.Close()
				closed = true
			},
			"": func(t *rapid.T) {
				if box.Len() != len(model) || box.Closed() != closed {
					t.Fatalf("Len %d, want %d; Closed %v, want %v", box.Len(), len(model), box.Closed(), closed)
				}
				if box.slab != nil && len(model) == 0 {
					t.Fatal("an empty mailbox holds memory")
				}
			},
		})
	})
}

// TestMailboxWakesItsActorForEveryMessage posts from many goroutines to an actor that only ever waits
// for the signal. A lost wake-up would leave it, and synctest reports the deadlock.
func TestMailboxWakesItsActorForEveryMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const posters, each = 8, 500
		box := NewMailbox[int](0)
		counts := make([]int, posters)
		done := make(chan struct{})
		go func() {
			defer close(done)
			var batch []int
			for !box.Closed() || box.Len() > 0 {
				<-box.Wait()
				batch = box.Drain(batch[:0])
				for _, m := range batch {
					if m%each != counts[m/each] {
						t.Errorf("poster %d: message %d came, expected %d", m/each, m%each, counts[m/each])
					}
					counts[m/each]++
				}
			}
		}()
		var wg sync.WaitGroup
		for p := range posters {
			wg.Go(func() {
				for i := range each {
					if !box.Post(p*each + i) {
						t.Error("refused")
					}
				}
			})
		}
		wg.Wait()
		box.Close()
		<-done
		for p, n := range counts {
			if n != each {
				t.Errorf("poster %d: %d of %d messages arrived", p, n, each)
			}
		}
	})
}

func TestMailboxOverItsLimitIsABug(t *testing.T) {
	box := NewMailbox[string](2)
	box.Post("a")
	box.Post("b")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic in a test binary")
			}
		}()
		box.Post("c")
	}()
	defer func(old bool) { panicOnBug = old }(panicOnBug)
	panicOnBug = false
	if box.Post("d") {
		t.Error("a post beyond the limit was taken in production")
	}
	if box.Refused() != 2 {
		t.Errorf("Refused is %d, want 2", box.Refused())
	}
	if got := box.Drain(nil); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("Drain: %q", got)
	}
	if !box.Post("e") {
		t.Error("a drained mailbox refuses")
	}
}

func TestMailboxForgetsMessagesItHandedOut(t *testing.T) {
	box := NewMailbox[*int](0)
	box.Post(new(int))
	s := box.slab
	box.Drain(nil)
	if s.queue[:1][0] != nil {
		t.Error("a drained message is still referenced by the pooled memory")
	}
}

func TestMailboxAllocatesNothingInSteadyState(t *testing.T) {
	if ownerChecks {
		t.Skip("the race detector makes sync.Pool drop objects at random")
	}
	type message [4]uint64
	box := NewMailbox[message](0)
	var batch []message
	allocs := testing.AllocsPerRun(1000, func() {
		for i := range 8 {
			box.Post(message{uint64(i)})
		}
		<-box.Wait()
		batch = box.Drain(batch[:0])
	})
	if allocs != 0 {
		t.Errorf("%v allocations in a cycle of 8 posts and a drain", allocs)
	}
}

func BenchmarkMailboxPostDrain(b *testing.B) {
	box := NewMailbox[[4]uint64](0)
	var batch [][4]uint64
	b.ReportAllocs()
	for b.Loop() {
		box.Post([4]uint64{})
		<-box.Wait()
		batch = box.Drain(batch[:0])
	}
}
