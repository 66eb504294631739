// Package fuzzguard bounds what one input of a fuzz target may cost: processor time,
// memory that is allocated, and stack. An input that finds no wrong answer may still
// find a way to hold a server up. Only tests import it.
package fuzzguard

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// Bounds are what one input may cost. Zero values stand for the defaults.
type Bounds struct {
	// Time is how much processor time the whole process may use for one input, 2 s
	// unless set. Hang is how long it may take by the clock, on a machine that others
	// load, too: an input that has not ended then ends the process with all stacks.
	// 30 s unless set.
	Time, Hang time.Duration

	// Bytes may be allocated for each byte of the input (256 unless set), and Base
	// beside them (1 MiB unless set): what the target itself needs, the engine's own
	// garbage, and the grain in which the runtime counts. Not counted under the race
	// detector.
	Bytes, Base uint64

	// Stack is the largest stack of a goroutine, in bytes, 1 MiB unless set. Beyond it
	// the runtime ends the process.
	Stack int
}

func (b Bounds) withDefaults() Bounds {
	set := func(v *uint64, to uint64) {
		if *v == 0 {
			*v = to
		}
	}
	set(&b.Bytes, 256)
	set(&b.Base, 1<<20)
	if b.Time == 0 {
		b.Time = 2 * time.Second
	}
	if b.Hang == 0 {
		b.Hang = 30 * time.Second
	}
	if b.Stack == 0 {
		b.Stack = 1 << 20
	}
	return b
}

// Guard returns a fuzz function that does the same and fails when an input costs more
// than b allows. The bound of the stack is that of the whole process until f ends.
//
//	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, b []byte) { ... }))
func Guard[F any](f testing.TB, b Bounds, fuzz F) F {
	b = b.withDefaults()
	old := debug.SetMaxStack(b.Stack)
	f.Cleanup(func() { debug.SetMaxStack(old) })
	inner := reflect.ValueOf(fuzz)
	return reflect.MakeFunc(inner.Type(), func(args []reflect.Value) []reflect.Value {
		t := args[0].Interface().(*testing.T)
		size := sizeOf(args[1:])
		watchdog := time.AfterFunc(b.Hang, func() { hang(b.Hang) })
		allocated, start := allocatedBytes(), cpuTime()
		// Deferred, since t.Fatal leaves through runtime.Goexit; and silent where the
		// target has failed or panicked, whose own word says more.
		done := false
		defer func() {
			watchdog.Stop()
			if !done {
				return
			}
			if took := cpuTime() - start; took > b.Time {
				t.Errorf("%v of processor time for an input of %d bytes, at most %v are allowed", took, size, b.Time)
			}
			if n, limit := allocatedBytes()-allocated, b.Base+b.Bytes*uint64(size); n > limit && countsMemory {
				t.Errorf("%d bytes allocated for an input of %d bytes, at most %d are allowed", n, size, limit)
			}
		}()
		result := inner.Call(args)
		done = true
		return result
	}).Interface().(F)
}

// hang ends the process and shows every goroutine's stack.
func hang(limit time.Duration) {
	debug.SetTraceback("all")
	panic(fmt.Sprintf("fuzzguard: an input has not ended after %v", limit))
}

// sizeOf counts the bytes of an input.
func sizeOf(args []reflect.Value) int {
	size := 0
	for _, a := range args {
		switch a.Kind() {
		case reflect.String, reflect.Slice:
			size += a.Len()
		default:
			size += int(a.Type().Size())
		}
	}
	return size
}

// allocatedBytes returns what was allocated since the start, freed or not. Unlike
// runtime.ReadMemStats it does not stop the world, and counts small objects only when
// a span of them is full.
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
