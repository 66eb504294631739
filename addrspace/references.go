package addrspace

import (
	"iter"
	"sync/atomic"

	"github.com/uahive/uahive/codec/ua"
)

// Reference is one reference of a node, seen from that node.
type Reference struct {
	Type    *Node // the ReferenceType node
	Target  *Node // the node at the other end
	Inverse bool  // true: the reference points from Target to this node
}

// ref is one half of a reference; the other half is in the target's list.
// target and meta are read without a lock; mirror belongs to the structure lock.
type ref struct {
	target atomic.Pointer[Node] // nil: removed
	meta   uint32               // index of the reference type << 1 | inverse
	mirror uint32               // position of the other half in the target's list
}

// refList is the append-only list of a node's references, in both directions.
// Entries below n are published: they never move within this list, and only
// their target may still change, to nil. When a list is full or mostly dead its
// node gets a new one, and snapshots of the old one stay as they are.
type refList struct {
	n     atomic.Int32
	dead  int32 // guarded by the structure lock
	items []ref
	names atomic.Pointer[nameIndex] // made by readers; nil for short lists
}

// smallRefList is a list and its first two entries in one allocation: most
// variables have a type definition and a parent and nothing else.
type smallRefList struct {
	list  refList
	first [2]ref
}

func newRefList(capacity int) *refList {
	if capacity <= 2 {
		s := new(smallRefList)
		s.list.items = s.first[:]
		return &s.list
	}
	return &refList{items: make([]ref, capacity)}
}

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
	list := n.refs.Load()
	if list == nil {
		return Refs{}
	}
	// The types are loaded after the length, so that every type an entry
	// names is in the table.
	items := list.items[:list.n.Load()]
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

// AddReference adds the reference source -> target in both directions. All
// three nodes must be in the space. Errors are ua.StatusCode values of the
// AddReferences service (Part 4, 5.8.3.4).
func (s *Space) AddReference(source, refType, target ua.NodeID) error {
	s.mu.Lock()
	err := s.addReferenceLocked(source, refType, target)
	s.mu.Unlock()
	if err == nil {
		s.notifyModel(ModelChange{Node: source, Verb: ReferenceAdded})
	}
	return err
}

func (s *Space) addReferenceLocked(source, refType, target ua.NodeID) error {
	src, dst := s.index.get(&source), s.index.get(&target)
	typ := s.index.get(&refType)
	switch {
	case src == nil:
		return ua.BadSourceNodeIDInvalid
	case dst == nil:
		return ua.BadTargetNodeIDInvalid
	case typ == nil || typ.class != classReferenceType:
		return ua.BadReferenceTypeIDInvalid
	}
	return s.link(src, typ, dst)
}

// RemoveReference removes the reference source -> target in both directions.
// BadNoMatch says that there is none.
func (s *Space) RemoveReference(source, refType, target ua.NodeID) error {
	s.mu.Lock()
	err := s.removeReferenceLocked(source, refType, target)
	s.mu.Unlock()
	if err == nil {
		s.notifyModel(ModelChange{Node: source, Verb: ReferenceDeleted})
	}
	return err
}

func (s *Space) removeReferenceLocked(source, refType, target ua.NodeID) error {
	src, dst := s.index.get(&source), s.index.get(&target)
	typ := s.index.get(&refType)
	switch {
	case src == nil:
		return ua.BadSourceNodeIDInvalid
	case dst == nil:
		return ua.BadTargetNodeIDInvalid
	case typ == nil || typ.class != classReferenceType:
		return ua.BadReferenceTypeIDInvalid
	}
	pos, ok := find(src, typ.refIndex()<<1, dst)
	if !ok {
		return ua.BadNoMatch
	}
	s.unlink(src, pos)
	return nil
}

// link adds both halves. The structure lock is held.
func (s *Space) link(src, typ, dst *Node) error {
	meta := typ.refIndex() << 1
	if src == dst && s.isHierarchical(typ) {
		// Part 3, 7.3: a hierarchical reference never forms a loop of one node.
		return ua.BadReferenceNotAllowed
	}
	if _, dup := find(src, meta, dst); dup {
		return ua.BadDuplicateReferenceNotAllowed
	}
	if meta>>1 == refHasSubtype {
		if err := s.setSupertype(dst, src); err != nil {
			return err
		}
	}
	s.linkUnchecked(src, meta, dst)
	return nil
}

// linkUnchecked adds both halves, the target's first: whoever finds the new
// node through its parent also finds the way back.
func (s *Space) linkUnchecked(src *Node, meta uint32, dst *Node) {
	if src == dst {
		// The second append may move the first, but never apart from it.
		appendRef(src, src, meta)
		b := appendRef(src, src, meta|1)
		list := src.refs.Load()
		list.items[b-1].mirror, list.items[b].mirror = b, b-1
		return
	}
	b := appendRef(dst, src, meta|1)
	a := appendRef(src, dst, meta)
	src.refs.Load().items[a].mirror = b
	dst.refs.Load().items[b].mirror = a
}

// unlink removes the reference at a position of a node's list, both halves.
func (s *Space) unlink(n *Node, pos uint32) {
	list := n.refs.Load()
	it := &list.items[pos]
	other, mirror, meta := it.target.Load(), it.mirror, it.meta
	if meta>>1 == refHasSubtype {
		if meta&1 != 0 {
			s.clearSupertype(n)
		} else {
			s.clearSupertype(other)
		}
	}
	olist := other.refs.Load()
	it.target.Store(nil)
	list.dead++
	olist.items[mirror].target.Store(nil)
	olist.dead++
	compactRefs(n)
	if other != n {
		compactRefs(other)
	}
}

// unlinkAll removes every reference of a node.
//
// It does not go through unlink: the node's own list is dropped as a whole and
// needs no compaction on the way.
func (s *Space) unlinkAll(n *Node) {
	list := n.refs.Load()
	if list == nil {
		return
	}
	for i := range list.n.Load() {
		it := &list.items[i]
		other := it.target.Load()
		if other == nil {
			continue
		}
		if it.meta>>1 == refHasSubtype {
			if it.meta&1 != 0 {
				s.clearSupertype(n)
			} else {
				s.clearSupertype(other)
			}
		}
		it.target.Store(nil)
		if other == n {
			continue // its other half is met on this same walk
		}
		olist := other.refs.Load()
		olist.items[it.mirror].target.Store(nil)
		olist.dead++
		compactRefs(other)
	}
	n.refs.Store(nil)
}

// find returns the position in src's list of the reference (meta, dst). It
// looks through the shorter of the two lists, so that adding the n-th child to
// a folder costs as much as adding the first.
func find(src *Node, meta uint32, dst *Node) (pos uint32, ok bool) {
	a, b := src.refs.Load(), dst.refs.Load()
	if a == nil || b == nil {
		return 0, false
	}
	if a.n.Load() <= b.n.Load() {
		for i := range a.n.Load() {
			if it := &a.items[i]; it.meta == meta && it.target.Load() == dst {
				return uint32(i), true
			}
		}
		return 0, false
	}
	for i := range b.n.Load() {
		if it := &b.items[i]; it.meta == meta|1 && it.target.Load() == src {
			return it.mirror, true
		}
	}
	return 0, false
}

// appendRef adds one half and returns its position. The caller sets mirror.
func appendRef(n, target *Node, meta uint32) uint32 {
	list := n.refs.Load()
	if list == nil {
		list = newRefList(1)
		n.refs.Store(list)
	} else if int(list.n.Load()) == len(list.items) {
		list = rebuildRefs(n, list, 1)
	}
	pos := list.n.Load()
	it := &list.items[pos]
	it.meta = meta
	it.target.Store(target)
	list.n.Store(pos + 1)
	return uint32(pos)
}

// compactRefs gives a node a list without its removed entries once they are the
// greater part, so that the cost is spread over the removals that caused it.
func compactRefs(n *Node) {
	list := n.refs.Load()
	if live := list.n.Load() - list.dead; live == 0 {
		n.refs.Store(nil)
	} else if list.dead > 16 && list.dead > live {
		rebuildRefs(n, list, 0)
	}
}

// rebuildRefs copies the live entries into a new list with room for more,
// tells their other halves where they are now, and publishes it.
func rebuildRefs(n *Node, old *refList, room int) *refList {
	count := int(old.n.Load())
	live := count - int(old.dead)
	list := newRefList(refCapacity(live + room))
	if old.dead == 0 {
		for i := range count {
			copyRef(&list.items[i], &old.items[i])
		}
		list.n.Store(int32(count))
		n.refs.Store(list)
		return list
	}
	moved := make([]uint32, count)
	var p uint32
	for i := range count {
		if old.items[i].target.Load() == nil {
			continue
		}
		copyRef(&list.items[p], &old.items[i])
		moved[i] = p
		p++
	}
	for i := range p {
		it := &list.items[i]
		if t := it.target.Load(); t == n {
			it.mirror = moved[it.mirror]
		} else {
			t.refs.Load().items[it.mirror].mirror = i
		}
	}
	list.n.Store(int32(p))
	n.refs.Store(list)
	return list
}

func copyRef(dst, src *ref) {
	dst.target.Store(src.target.Load())
	dst.meta, dst.mirror = src.meta, src.mirror
}

// refCapacity rounds a needed capacity up: doubling while small, then by a
// quarter, which is what bounds the slack of a folder with a million children.
func refCapacity(n int) int {
	switch {
	case n <= 2:
		return 2
	case n <= 1024:
		c := 4
		for c < n {
			c *= 2
		}
		return c
	default:
		return n + n/4
	}
}
