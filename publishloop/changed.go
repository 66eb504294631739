package publishloop

import "sync"

// changedList holds the items of a subscription that have something to report
// since the last cycle, oldest first. It is an array: the cycle finds the items
// cold, and with links between them it would wait for one after the other.
type changedList struct {
	mu sync.Mutex // a leaf
	// Guarded by mu.
	items []*item
}

// add appends an item that is in no list. Its mutex is held, or its subscription's.
func (l *changedList) add(it *item) {
	l.mu.Lock()
	l.items = append(l.items, it)
	l.mu.Unlock()
}

// swap returns what the list holds, in memory that is the caller's from now on,
// and goes on in spare, which is empty. It returns nil, and leaves spare to the
// caller, when the list is empty.
func (l *changedList) swap(spare []*item) []*item {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.items) == 0 {
		return nil
	}
	items := l.items
	l.items = spare
	return items
}
