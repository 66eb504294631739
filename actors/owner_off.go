//go:build !race && !uahivedebug

package actors

const ownerChecks = false

// Owner asserts that a state is touched by one goroutine at a time. The zero value has no owner.
// It checks only in builds with the race detector or the tag uahivedebug; in this build it has no
// size and its methods compile to nothing.
type Owner struct{}

// Take makes the calling goroutine the owner. It panics when another one is; taking twice is fine.
func (*Owner) Take() {}

// Give ends the ownership, so that another goroutine may take the state. Only the owner may do it.
func (*Owner) Give() {}

// Check panics when the calling goroutine is not the owner.
func (*Owner) Check() {}
