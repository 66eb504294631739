package publishloop

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// deliverer is the source of values that the manager of a namespace delivers by
// itself. Its calls can wait, so they run on the worker pool, one at a time so
// that the end of an item never overtakes its beginning, and in batches.
type deliverer struct {
	manager    *Manager
	subscriber addrspace.Subscriber
	namespace  uint16

	mu sync.Mutex
	// Guarded by mu.
	orders  []order
	starts  map[*item]int // where in orders an item's beginning waits
	dead    int           // orders that were taken back
	running bool
}

// order is a call to make: Watch for an item, or Unwatch.
type order struct {
	it    *item
	watch bool
}

// deliverer returns the source for a namespace, the same for all of its items.
func (m *Manager) deliverer(namespace uint16, w addrspace.Subscriber) *deliverer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.deliverers[namespace]; d != nil && d.subscriber == w {
		return d
	}
	d := &deliverer{manager: m, subscriber: w, namespace: namespace}
	if m.deliverers == nil {
		m.deliverers = make(map[uint16]*deliverer)
	}
	m.deliverers[namespace] = d
	return d
}

func (d *deliverer) start(it *item) { d.order(order{it, true}) }
func (d *deliverer) stop(it *item)  { d.order(order{it, false}) }

// order puts a call behind those that wait. The end of an item whose beginning
// still waits takes that back instead, so that a client which creates and deletes
// items faster than the manager follows does not have them pile up.
func (d *deliverer) order(o order) {
	d.mu.Lock()
	if i, ok := d.starts[o.it]; ok && !o.watch {
		delete(d.starts, o.it)
		d.orders[i].it = nil
		d.dead++
		d.compact()
		d.mu.Unlock()
		return
	}
	if o.watch {
		if d.starts == nil {
			d.starts = make(map[*item]int)
		}
		d.starts[o.it] = len(d.orders)
	}
	d.orders = append(d.orders, o)
	start := !d.running
	d.running = true
	d.mu.Unlock()
	if start {
		d.submit()
	}
}

// compact lets go of the places of orders that were taken back, once they are
// the greater part. mu is held.
func (d *deliverer) compact() {
	if d.dead < 64 || 2*d.dead < len(d.orders) {
		return
	}
	d.orders = slices.DeleteFunc(d.orders, func(o order) bool { return o.it == nil })
	d.dead = 0
	for i, o := range d.orders {
		if o.watch {
			d.starts[o.it] = i
		}
	}
}

// submit has the orders carried out. When the pool has no room, it tries again.
func (d *deliverer) submit() {
	if d.manager.pool == nil {
		return
	}
	if err := d.manager.pool.Submit(uint64(d.namespace)|1<<62, d.run); err != nil && !d.manager.isClosed() {
		time.AfterFunc(retryAfter, d.submit)
	}
}

// run carries out the orders on a goroutine of the pool.
func (d *deliverer) run() {
	ended := false
	defer func() {
		if !ended {
			d.submit() // the manager panicked, which the pool logs
		}
	}()
	for {
		d.mu.Lock()
		orders := slices.DeleteFunc(d.orders, func(o order) bool { return o.it == nil })
		d.orders, d.starts, d.dead = nil, nil, 0
		if len(orders) == 0 {
			d.running, ended = false, true
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		for len(orders) > 0 {
			n := 1
			for n < len(orders) && orders[n].watch == orders[0].watch {
				n++
			}
			d.call(orders[:n])
			orders = orders[n:]
		}
	}
}

func (d *deliverer) call(orders []order) {
	items := make([]addrspace.WatchItem, len(orders))
	for i, o := range orders {
		items[i] = addrspace.WatchItem{NodeID: o.it.nodeID(), Watcher: o.it, Result: ua.BadNodeIDUnknown}
	}
	if !orders[0].watch {
		d.subscriber.Unwatch(items)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.manager.limits.SampleTimeout)
	defer cancel()
	defer func() {
		// Also after a panic, which goes on to the pool: then the items say
		// that nothing was delivered.
		d.deliverFirst(orders, items)
	}()
	d.subscriber.Watch(ctx, items)
}

// deliverFirst gives the items their current values.
func (d *deliverer) deliverFirst(orders []order, items []addrspace.WatchItem) {
	for i, o := range orders {
		if items[i].Result.IsBad() {
			items[i].Current = ua.DataValue{Status: items[i].Result}
		}
		o.it.first(&items[i].Current)
	}
}
