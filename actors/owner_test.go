package actors

import "testing"

// TestOwnerRefusesASecondGoroutine covers what the check says in builds that have it, and that it says
// nothing in the others.
func TestOwnerRefusesASecondGoroutine(t *testing.T) {
	var o Owner
	o.Take()
	o.Take()
	o.Check()
	elsewhere := func(fn func()) (panicked bool) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { panicked = recover() != nil }()
			fn()
		}()
		<-done
		return panicked
	}
	if got := elsewhere(o.Check); got != ownerChecks {
		t.Errorf("Check on another goroutine panics: %v, want %v", got, ownerChecks)
	}
	if got := elsewhere(o.Take); got != ownerChecks {
		t.Errorf("Take on another goroutine panics: %v, want %v", got, ownerChecks)
	}
	if got := elsewhere(o.Give); got != ownerChecks {
		t.Errorf("Give on another goroutine panics: %v, want %v", got, ownerChecks)
	}
	o.Give()
	if elsewhere(func() { o.Take(); o.Give() }) {
		t.Error("a state that was given back cannot be taken")
	}
}
