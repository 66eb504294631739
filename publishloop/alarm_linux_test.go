package publishloop

import (
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// kernelWorld has timers of the kernel, which know no fake time: these tests wait
// for what they expect, as long as it takes.
func kernelWorld(t *testing.T) *world {
	w := newWorld(t, Limits{})
	w.m.UseKernelTimers()
	return w
}

// answered is a channel that tells of each answer.
type answered chan struct{}

func (a answered) MaxResponse() int { return 0 }

func (a answered) Respond(uint32, Appender) error {
	a <- struct{}{}
	return nil
}

func (a answered) await(t *testing.T) {
	t.Helper()
	select {
	case <-a:
	case <-time.After(20 * time.Second):
		t.Fatal("no answer")
	}
}

// TestKernelTimersEndCycles: cycles end again and again, none early, and nothing is
// left of the timers with the last subscription.
func TestKernelTimersEndCycles(t *testing.T) {
	w := kernelWorld(t)
	defer w.end()
	c := w.client()
	const interval, cycles = 20 * time.Millisecond, 10
	began := time.Now()
	c.subscribe(interval, counting(1000, 1, 0))
	if n := w.m.beats.kernel.count.Load(); n != 1 {
		t.Fatalf("%d timers of the kernel", n)
	}
	got := make(answered, cycles)
	for n := range uint32(cycles) {
		c.q.Publish(n, new(ua.PublishRequest), got)
	}
	for range cycles {
		got.await(t)
	}
	if took := time.Since(began); took < (cycles-1)*interval {
		t.Errorf("%d cycles in %v", cycles, took)
	}
	c.close()
	for end := time.Now().Add(20 * time.Second); w.m.beats.kernel.count.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the timer is still there")
		}
	}
}

// TestKernelTimersAreFew: clients choose the intervals, and cannot use up the file
// descriptors that connections need; long intervals take none.
func TestKernelTimersAreFew(t *testing.T) {
	w := kernelWorld(t)
	defer w.end()
	c := w.client()
	defer c.close()
	c.subscribe(kernelLongest + time.Millisecond)
	if n := w.m.beats.kernel.count.Load(); n != 0 {
		t.Errorf("%d timers for a long interval", n)
	}
	for i := range kernelMost + 5 {
		other := w.client()
		defer other.close()
		other.subscribe(500*time.Millisecond + time.Duration(i)*time.Millisecond)
	}
	if n := w.m.beats.kernel.count.Load(); n != kernelMost {
		t.Errorf("%d timers, want %d", n, kernelMost)
	}
}

// TestKernelTimerRescue: one that holds up a round does not hold up the others
// for ever, though no timer runs for each round.
func TestKernelTimerRescue(t *testing.T) {
	w := kernelWorld(t)
	defer w.end()
	deaf, c := w.client(), w.client()
	defer deaf.close()
	defer c.close()
	for _, x := range []*client{deaf, c} {
		x.subscribe(50*time.Millisecond, counting(1000, 1, 0))
	}
	stuck := &blocked{release: make(chan struct{})}
	defer close(stuck.release)
	got := make(answered, 100)
	for n := range uint32(10) {
		deaf.q.Publish(n, new(ua.PublishRequest), stuck)
		c.q.Publish(n, new(ua.PublishRequest), got)
	}
	for range 10 {
		got.await(t)
	}
}
