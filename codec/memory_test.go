package codec

import "testing"

// The memory is all there and belongs to the caller alone.
func TestUnclearedMemoryIsWritable(t *testing.T) {
	for _, n := range []int{0, 1, 7, 4096, 5_000_000} {
		a, b := Uncleared(n), Uncleared(n)
		if len(a) != 0 || cap(a) != n {
			t.Fatalf("length %d, capacity %d, want 0 and %d", len(a), cap(a), n)
		}
		a, b = a[:n], b[:n]
		for i := range a {
			a[i], b[i] = 1, 2
		}
		for i := range a {
			if a[i] != 1 || b[i] != 2 {
				t.Fatalf("%d bytes: two of them share memory", n)
			}
		}
	}
}

// An array that is most of a message of its own becomes the value; any other is
// copied out of it.
func TestAdoptedArrayIsTheMessage(t *testing.T) {
	encode := func(pad, n int) []byte {
		b := make([]byte, pad, pad+4+8*n)
		return AppendSlice(b, make([]uint64, n))
	}
	for name, c := range map[string]struct {
		adopt  bool
		pad, n int
		shared bool
	}{
		"most of the message": {true, 4, 1000, true},
		"not aligned":         {true, 5, 1000, false},
		"a small part":        {true, 4000, 1000, false},
		"not asked for":       {false, 4, 1000, false},
	} {
		b := encode(c.pad, c.n)
		d := NewDecoder(b, nil)
		d.Adopt(c.adopt)
		d.Raw(c.pad)
		got := ReadSlice[uint64](d, nil)
		if d.Err() != nil || len(got) != c.n || c.shared && cap(got) != c.n {
			t.Fatalf("%s: %v, %d elements", name, d.Err(), len(got))
		}
		b[c.pad+4] = 1
		if shared := got[0] != 0; shared != c.shared {
			t.Errorf("%s: shared %v", name, shared)
		}
	}
}
