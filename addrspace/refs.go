package addrspace

import (
	"iter"

	"github.com/uahive/uahive/codec/ua"
)

// Refs is a snapshot of a node's references in the order in which they were
// added. It is a small value; the zero Refs is empty. It stays valid for as
// long as it is kept, also when the node changes or goes away.
type Refs struct {
	items []ref
	types []*Node
}

// References returns a snapshot of all references of the node in both
// directions. It allocates nothing and takes no lock.
func (n *Node) References() Refs {
	// The types are loaded after the references, so that every type that one
	// names is in the table.
	items := n.halves()
	return Refs{items: items, types: *n.space.refTypes.Load()}
}

// Len returns the number of positions. Positions of removed references count.
func (r Refs) Len() int { return len(r.items) }

// At returns the reference at a position below Len; ok is false when it was
// removed since.
func (r Refs) At(pos int) (reference Reference, ok bool) {
	it := &r.items[pos]
	target := it.target.Load()
	if target == nil {
		return Reference{}, false
	}
	return Reference{Type: r.types[it.meta>>1], Target: target, Inverse: it.meta&1 != 0}, true
}

// All yields the references with their positions.
func (r Refs) All() iter.Seq2[int, Reference] {
	return func(yield func(int, Reference) bool) {
		for i := range r.items {
			if x, ok := r.At(i); ok && !yield(i, x) {
				return
			}
		}
	}
}

// Next finds the first reference at or after pos that goes in the given
// direction and whose type is in types (nil: every type). It returns the
// position after it, at which the next call continues; ok is false when there
// is none, and next is then Len. A browse continuation point keeps a Refs and
// such a position.
func (r Refs) Next(pos int, direction ua.BrowseDirection, types *ReferenceTypes) (reference Reference, next int, ok bool) {
	for i := max(pos, 0); i < len(r.items); i++ {
		if x, ok := r.match(i, direction, types); ok {
			return x, i + 1, true
		}
	}
	return Reference{}, len(r.items), false
}

// match returns the reference at a position if it is still there, goes in the
// given direction, and is of one of the types (nil: all).
func (r *Refs) match(i int, direction ua.BrowseDirection, types *ReferenceTypes) (Reference, bool) {
	it := &r.items[i]
	inverse := it.meta&1 != 0
	if direction != ua.BrowseDirectionBoth && inverse != (direction == ua.BrowseDirectionInverse) {
		return Reference{}, false
	}
	if types != nil && !types.hasIndex(it.meta>>1) {
		return Reference{}, false
	}
	target := it.target.Load()
	if target == nil {
		return Reference{}, false
	}
	return Reference{Type: r.types[it.meta>>1], Target: target, Inverse: inverse}, true
}

// Filter says which references a Browse is about, and what of them (Part 4,
// 5.9.2.2).
type Filter struct {
	Direction ua.BrowseDirection
	Types     *ReferenceTypes     // nil: every type
	Classes   ua.NodeClass        // of the targets; 0: every class
	Rights    *Rights             // who asks: targets that it may not browse are left out
	Mask      ua.BrowseResultMask // the fields to return
}

// WantsClass reports whether a target of that class passes.
func (f *Filter) WantsClass(class ua.NodeClass) bool { return f.Classes == 0 || f.Classes&class != 0 }

// Skip returns the position of the first reference at or after pos that passes
// the filter, and Len if there is none.
func (r Refs) Skip(pos int, f *Filter) int {
	for ; pos < len(r.items); pos++ {
		if x, ok := r.match(pos, f.Direction, f.Types); ok && f.WantsClass(x.Target.Class()) && f.Rights.May(x.Target, ua.PermissionTypeBrowse) {
			break
		}
	}
	return pos
}

// AppendTo appends the ReferenceDescriptions (Part 4, 7.30) of the references at
// or after pos that pass the filter, at most so many. It returns how many they
// are, and the position to go on at.
//
// It looks at each reference and its target once, asks nothing of the type tree,
// and copies what is encoded already.
func (r Refs) AppendTo(dst []byte, pos int, f *Filter, most int) (_ []byte, next, count int) {
	const fields = ua.BrowseResultMaskAll &^ (ua.BrowseResultMaskReferenceTypeID | ua.BrowseResultMaskIsForward)
	whole := f.Mask&fields == fields
	// A direction is a value of the lowest bit of meta; Both looks at none.
	var directionBit, direction uint32 = 1, 0
	switch f.Direction {
	case ua.BrowseDirectionInverse:
		direction = 1
	case ua.BrowseDirectionBoth:
		directionBit = 0
	}
	// What stands in front of the target is the same for all references of one
	// type and direction, and these come in rows.
	var head []byte
	var headSpace [32]byte
	headOf := ^uint32(0)
	for ; pos < len(r.items) && count < most; pos++ {
		it := &r.items[pos]
		if it.meta&directionBit != direction || f.Types != nil && !f.Types.hasIndex(it.meta>>1) {
			continue
		}
		target := it.target.Load()
		if target == nil || f.Classes != 0 && f.Classes&ua.NodeClass(target.class) == 0 {
			continue
		}
		if number := target.accessNumber(); number != 0 && f.Rights.mask(number)&uint64(ua.PermissionTypeBrowse) == 0 {
			continue
		}
		if it.meta != headOf {
			headOf = it.meta
			head = r.appendHead(headSpace[:0], it.meta, f.Mask)
		}
		if len(head) == 3 {
			dst = append(dst, head[0], head[1], head[2])
		} else {
			dst = append(dst, head...)
		}
		if d := target.description(); whole {
			dst = append(dst, d...)
		} else {
			dst = d.appendMasked(dst, f.Mask)
		}
		count++
	}
	return dst, pos, count
}

// appendHead appends the fields ReferenceTypeId and IsForward.
func (r Refs) appendHead(dst []byte, meta uint32, mask ua.BrowseResultMask) []byte {
	if mask&ua.BrowseResultMaskReferenceTypeID != 0 {
		dst = append(dst, r.types[meta>>1].described.id()...)
	} else {
		dst = append(dst, nullID...)
	}
	if mask&ua.BrowseResultMaskIsForward != 0 && meta&1 == 0 {
		return append(dst, 1)
	}
	return append(dst, 0)
}
