package addrspace

import (
	"sync/atomic"

	"github.com/uahive/uahive/codec/ua"
)

// nodeIndex finds nodes by id. Readers take no lock: the table is an open
// addressing array of atomic pointers, and a grown table is published whole.
// It stores nothing but the pointer, because a node carries its own id; that is
// 8 bytes per slot where a map would hold the 24 bytes of the key again.
type nodeIndex struct {
	table atomic.Pointer[indexTable]

	// Guarded by the space's structure lock.
	live int
	dead int
}

type indexTable struct {
	mask  uint64
	slots []atomic.Pointer[Node]
}

// removedNode marks a slot whose node was taken out. Its id is the null NodeId,
// which get never looks for.
var removedNode = new(Node)

const minIndexSlots = 64

func newIndexTable(slots int) *indexTable {
	return &indexTable{mask: uint64(slots - 1), slots: make([]atomic.Pointer[Node], slots)}
}

func hashID(id *ua.NodeID) uint64 {
	return mix(id.Hash())
}

// mix spreads a hash over all bits, so that the low ones can pick a slot
// whatever the quality of the hash below (ids often come in sequences).
func mix(h uint64) uint64 {
	h ^= h >> 32
	h *= 0x9e3779b97f4a7c15
	return h ^ h>>29
}

func (x *nodeIndex) get(id *ua.NodeID) *Node {
	t := x.table.Load()
	if t == nil || id.IsNull() {
		return nil
	}
	for i := hashID(id) & t.mask; ; i = (i + 1) & t.mask {
		n := t.slots[i].Load()
		if n == nil {
			return nil
		}
		if n.id == *id {
			return n
		}
	}
}

// put adds a node whose id is not there yet.
func (x *nodeIndex) put(n *Node) {
	t := x.table.Load()
	// Linear probing stays short below 5/8; removed slots count as used.
	if t == nil || (x.live+x.dead+1)*8 > len(t.slots)*5 {
		t = x.grow(t)
	}
	x.live++
	for i := hashID(&n.id) & t.mask; ; i = (i + 1) & t.mask {
		switch t.slots[i].Load() {
		case removedNode:
			x.dead--
			t.slots[i].Store(n)
			return
		case nil:
			t.slots[i].Store(n)
			return
		}
	}
}

func (x *nodeIndex) remove(n *Node) {
	t := x.table.Load()
	for i := hashID(&n.id) & t.mask; ; i = (i + 1) & t.mask {
		switch t.slots[i].Load() {
		case n:
			t.slots[i].Store(removedNode)
			x.live--
			x.dead++
			return
		case nil:
			return
		}
	}
}

// reserve makes room for n more nodes at once.
func (x *nodeIndex) reserve(n int) {
	t := x.table.Load()
	if t == nil || (x.live+x.dead+n)*8 > len(t.slots)*5 {
		x.rebuild(t, x.live+n)
	}
}

func (x *nodeIndex) grow(old *indexTable) *indexTable {
	return x.rebuild(old, x.live+1)
}

// rebuild publishes a table with room for the given number of nodes and drops
// the marks of removed ones.
func (x *nodeIndex) rebuild(old *indexTable, nodes int) *indexTable {
	slots := minIndexSlots
	for nodes*2 > slots {
		slots *= 2
	}
	t := newIndexTable(slots)
	if old != nil {
		for i := range old.slots {
			n := old.slots[i].Load()
			if n == nil || n == removedNode {
				continue
			}
			j := hashID(&n.id) & t.mask
			for t.slots[j].Load() != nil {
				j = (j + 1) & t.mask
			}
			t.slots[j].Store(n)
		}
	}
	x.dead = 0
	x.table.Store(t)
	return t
}
