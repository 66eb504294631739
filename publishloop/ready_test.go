package publishloop

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestReadyListKeepsOrder: items come, go from anywhere, and come back in front, as
// in a plain slice; what has left takes no memory for long.
func TestReadyListKeepsOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	items := make([]*item, 40)
	for i := range items {
		items[i] = &item{id: uint32(i)}
	}
	l := readyList{base: 1<<32 - 100} // places wrap around on the way
	var model []*item
	for step := range 20_000 {
		it := items[random.IntN(len(items))]
		at := slices.Index(model, it)
		switch {
		case at >= 0 && random.IntN(2) == 0:
			l.unlink(it)
			model = slices.Delete(model, at, at+1)
		case at < 0 && random.IntN(8) == 0:
			l.addFirst(it)
			model = slices.Insert(model, 0, it)
		default:
			l.add(it)
			if at < 0 {
				model = append(model, it)
			}
		}
		if len(model) > 30 { // as publishing does
			for range 25 {
				l.unlink(l.head())
				model = model[1:]
			}
		}
		if l.count != len(model) || len(model) == 0 != (l.head() == nil) || len(model) > 0 && l.head() != model[0] {
			t.Fatalf("step %d: %d items, want %d", step, l.count, len(model))
		}
	}
	if cap(l.items) > 8*len(items) {
		t.Errorf("memory for %d places", cap(l.items))
	}
	var got []*item
	for l.count > 0 {
		got = append(got, l.head())
		l.unlink(l.head())
	}
	if !slices.Equal(got, model) {
		t.Error("another order")
	}
}
