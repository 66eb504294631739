//go:build race || uahivedebug

package actors

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
)

const ownerChecks = true

// Owner asserts that a state is touched by one goroutine at a time. The zero value has no owner.
// It checks only in builds with the race detector or the tag uahivedebug; elsewhere it has no size
// and its methods compile to nothing. The race detector alone does not replace it: two goroutines
// that take turns through some unrelated lock are no data race, but still break an actor.
type Owner struct {
	goroutine atomic.Uint64
}

// Take makes the calling goroutine the owner. It panics when another one is; taking twice is fine.
func (o *Owner) Take() {
	me := goroutineID()
	if !o.goroutine.CompareAndSwap(0, me) && o.goroutine.Load() != me {
		panic(fmt.Sprintf("actors: goroutine %d takes a state that goroutine %d owns", me, o.goroutine.Load()))
	}
}

// Give ends the ownership, so that another goroutine may take the state. Only the owner may do it.
func (o *Owner) Give() {
	o.Check()
	o.goroutine.Store(0)
}

// Check panics when the calling goroutine is not the owner.
func (o *Owner) Check() {
	if me, owner := goroutineID(), o.goroutine.Load(); me != owner {
		panic(fmt.Sprintf("actors: goroutine %d touches a state of goroutine %d", me, owner))
	}
}

// goroutineID reads the number from the first line of the stack trace ("goroutine 7 [running]:").
// The runtime offers no other way, and this one is far too slow for production: hence the build tag.
func goroutineID() uint64 {
	var buf [64]byte
	line := buf[:runtime.Stack(buf[:], false)]
	line = bytes.TrimPrefix(line, []byte("goroutine "))
	digits, _, _ := bytes.Cut(line, []byte(" "))
	id, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		panic("actors: unreadable goroutine header: " + string(line))
	}
	return id
}
