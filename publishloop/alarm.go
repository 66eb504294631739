package publishloop

import (
	"sync/atomic"
	"time"
)

const (
	// kernelLongest is the longest interval for which a beat takes a timer of the
	// kernel: what that saves, it saves once in each interval.
	kernelLongest = time.Second
	// kernelMost is how many timers of the kernel there may be, since each takes a
	// file descriptor. Clients choose the intervals, of which each needs a beat.
	kernelMost = 64
)

// alarm wakes the goroutine of a beat.
type alarm interface {
	// wait returns when the alarm goes off.
	wait()
	// again sets it for the next cycle, which ends in d.
	again(d time.Duration)
	// ring has it go off now. That may be called after stop, and does nothing then.
	ring()
	// stop lets go of it.
	stop()
	// periodic says that it goes off by itself in each cycle.
	periodic() bool
}

// runtimeAlarm is a timer of the Go runtime.
type runtimeAlarm struct{ timer *time.Timer }

func (a runtimeAlarm) wait()                 { <-a.timer.C }
func (a runtimeAlarm) again(d time.Duration) { a.timer.Reset(d) }
func (a runtimeAlarm) ring()                 { a.timer.Reset(0) }
func (a runtimeAlarm) stop()                 { a.timer.Stop() }
func (a runtimeAlarm) periodic() bool        { return false }

// kernelAlarms says whether beats may take timers of the kernel, and counts them.
type kernelAlarms struct {
	wanted atomic.Bool
	count  atomic.Int64
}

// UseKernelTimers lets subscriptions that are created from now on end their cycles
// by timers of the kernel, where it has such. A timer of the Go runtime wakes
// threads several times in each cycle: early, since it waits for whole
// milliseconds, and the runtime's monitor twice; on an idle machine those wake-ups
// cost more than the cycle. Timers of the kernel do not follow the fake clock of
// testing/synctest.
func (m *Manager) UseKernelTimers() { m.beats.kernel.wanted.Store(true) }

// set returns an alarm that goes off after d, and once in each interval if it is
// periodic. Only one that goes off in the future can keep its phase by itself.
func (k *kernelAlarms) set(d, interval time.Duration) alarm {
	if k.wanted.Load() && d > 0 && interval <= kernelLongest && take(&k.count, 1, kernelMost) {
		if a, ok := newKernelAlarm(d, interval, &k.count); ok {
			return a
		}
		k.count.Add(-1)
	}
	return runtimeAlarm{time.NewTimer(d)}
}
