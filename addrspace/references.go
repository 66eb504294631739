package addrspace

import (
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

// refList is the append-only list of a node's references, in both directions,
// once they are more than the node itself has room for. Entries below n are
// published: they never move within this list, and only their target may still
// change, to nil. When a list is full or mostly dead its node gets a new one,
// and snapshots of the old one stay as they are.
type refList struct {
	n     atomic.Int32
	dead  int32 // guarded by the structure lock
	items []ref
	names atomic.Pointer[nameIndex] // made by readers; nil for short lists
}

// noRefs is the list of a node that has no references any more. It is never
// added to. The node's own places cannot be used a second time, since there may
// be snapshots of them.
var noRefs refList

func newRefList(capacity int) *refList { return &refList{items: make([]ref, capacity)} }

// halves returns the published references of the node. Most variables have a
// type definition and a parent and nothing else: those stand in the node itself.
func (n *Node) halves() []ref {
	if list := n.refs.Load(); list != nil {
		return list.items[:list.n.Load()]
	}
	return n.short[:n.state.Load()&stateShort]
}

// deadRefs returns how many of the published references were removed. The
// structure lock is held.
func (n *Node) deadRefs() int {
	if list := n.refs.Load(); list != nil {
		return int(list.dead)
	}
	dead := 0
	for i := range n.state.Load() & stateShort {
		if n.short[i].target.Load() == nil {
			dead++
		}
	}
	return dead
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
	if meta>>1 == refHasTypeDefinition {
		src.retype()
	}
	return nil
}

// linkUnchecked adds both halves, the target's first: whoever finds the new
// node through its parent also finds the way back.
func (s *Space) linkUnchecked(src *Node, meta uint32, dst *Node) {
	if src == dst {
		// The second append may move the first, but never apart from it.
		appendRef(src, src, meta)
		b := appendRef(src, src, meta|1)
		items := src.halves()
		items[b-1].mirror, items[b].mirror = b, b-1
		return
	}
	b := appendRef(dst, src, meta|1)
	a := appendRef(src, dst, meta)
	src.halves()[a].mirror = b
	dst.halves()[b].mirror = a
}

// unlink removes the reference at a position of a node's list, both halves.
func (s *Space) unlink(n *Node, pos uint32) {
	it := &n.halves()[pos]
	other, mirror, meta := it.target.Load(), it.mirror, it.meta
	source, target := n, other
	if meta&1 != 0 {
		source, target = other, n
	}
	if meta>>1 == refHasSubtype {
		s.clearSupertype(target)
	}
	n.kill(pos)
	other.kill(mirror)
	if meta>>1 == refHasTypeDefinition {
		source.retype()
	}
	compactRefs(n)
	if other != n {
		compactRefs(other)
	}
}

// kill marks one half as removed.
func (n *Node) kill(pos uint32) {
	it := &n.halves()[pos]
	target := it.target.Load()
	it.target.Store(nil)
	list := n.refs.Load()
	if list == nil {
		return
	}
	list.dead++
	// The places of the node itself still have what came first, for snapshots.
	for i := range n.short {
		if old := &n.short[i]; old.meta == it.meta && old.target.Load() == target {
			old.target.Store(nil)
		}
	}
}

// unlinkAll removes every reference of a node.
//
// It does not go through unlink: the node's own list is dropped as a whole and
// needs no compaction on the way.
func (s *Space) unlinkAll(n *Node) {
	items := n.halves()
	for i := range items {
		it := &items[i]
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
		other.kill(it.mirror)
		if it.meta == refHasTypeDefinition<<1|1 {
			other.retype()
		}
		compactRefs(other)
	}
	n.refs.Store(&noRefs)
	for i := range n.short {
		n.short[i].target.Store(nil)
	}
}

// find returns the position in src's list of the reference (meta, dst). It
// looks through the shorter of the two lists, so that adding the n-th child to
// a folder costs as much as adding the first.
func find(src *Node, meta uint32, dst *Node) (pos uint32, ok bool) {
	a, b := src.halves(), dst.halves()
	if len(a) <= len(b) {
		for i := range a {
			if it := &a[i]; it.meta == meta && it.target.Load() == dst {
				return uint32(i), true
			}
		}
		return 0, false
	}
	for i := range b {
		if it := &b[i]; it.meta == meta|1 && it.target.Load() == src {
			return it.mirror, true
		}
	}
	return 0, false
}

// appendRef adds one half and returns its position. The caller sets mirror.
func appendRef(n, target *Node, meta uint32) uint32 {
	list := n.refs.Load()
	if list == nil {
		if pos := n.state.Load() & stateShort; int(pos) < len(n.short) {
			n.short[pos].meta = meta
			n.short[pos].target.Store(target)
			n.state.Add(1)
			return pos
		}
	}
	if list == nil || int(list.n.Load()) == len(list.items) {
		list = rebuildRefs(n, 1)
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
	if list == nil {
		return
	}
	if live := list.n.Load() - list.dead; live == 0 {
		n.refs.Store(&noRefs)
	} else if list.dead > 16 && list.dead > live {
		rebuildRefs(n, 0)
	}
}

// rebuildRefs copies the live entries into a new list with room for more,
// tells their other halves where they are now, and publishes it.
func rebuildRefs(n *Node, room int) *refList {
	old, dead := n.halves(), n.deadRefs()
	list := newRefList(refCapacity(len(old) - dead + room))
	if dead == 0 {
		// Nobody changes either list meanwhile, so that a plain copy does.
		copy(list.items, old)
		list.n.Store(int32(len(old)))
		n.refs.Store(list)
		return list
	}
	moved := make([]uint32, len(old))
	var p uint32
	for i := range old {
		if old[i].target.Load() == nil {
			continue
		}
		it := &list.items[p]
		it.target.Store(old[i].target.Load())
		it.meta, it.mirror = old[i].meta, old[i].mirror
		moved[i] = p
		p++
	}
	for i := range p {
		it := &list.items[i]
		if t := it.target.Load(); t == n {
			it.mirror = moved[it.mirror]
		} else {
			t.halves()[it.mirror].mirror = i
		}
	}
	list.n.Store(int32(p))
	n.refs.Store(list)
	return list
}

// refCapacity rounds a needed capacity up: doubling while small, then by a
// quarter and, in a folder of a hundred thousand, by an eighth, which is what
// bounds the slack of a folder with a million children.
func refCapacity(n int) int {
	switch {
	case n <= 1024:
		c := 4
		for c < n {
			c *= 2
		}
		return c
	case n <= 100_000:
		return n + n/4
	default:
		return n + n/8
	}
}
