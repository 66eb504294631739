package publishloop

import "testing"

// Items that are created and deleted while a manager does not follow leave
// nothing behind; the others keep their order.
func TestThreat_V6_OrdersOfASlowManager(t *testing.T) {
	d := &deliverer{manager: New(Config{})} // without a pool nothing is carried out
	kept := make([]*item, 100)
	for i := range kept {
		kept[i] = new(item)
		d.start(kept[i])
		d.start(new(item))
	}
	for range 10_000 {
		it := new(item)
		d.start(it)
		d.stop(it)
	}
	if n := len(d.orders); n > 1000 || cap(d.orders) > 4000 {
		t.Errorf("%d orders wait, with room for %d", n, cap(d.orders))
	}
	d.stop(kept[50])
	d.stop(kept[50]) // of one that the manager knows
	d.start(kept[50])
	var left []*item
	for i, o := range d.orders {
		if o.it == nil {
			continue
		}
		left = append(left, o.it)
		if at, ok := d.starts[o.it]; o.watch && (!ok || at != i) {
			t.Errorf("order %d is looked for at %d", i, at)
		}
	}
	if len(left) != 201 || left[0] != kept[0] || left[len(left)-1] != kept[50] || d.orders[len(d.orders)-2].watch {
		t.Errorf("%d orders are left", len(left))
	}
}
