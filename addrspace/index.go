package addrspace

import (
	"hash/maphash"
	"iter"
	"math/bits"
	"sync/atomic"

	"github.com/uahive/uahive/codec/ua"
)

// nodeIndex finds nodes by id. Readers take no lock: the table is open
// addressing over atomic pointers, and a grown table is published whole.
//
// It stores nothing but a pointer and a byte for each node, because a node
// carries its own id. The bytes are parts of the hashes and stand in one cache
// line with the pointers that they belong to: a look-up touches that line, and
// then, but for one in a hundred, no node other than the one it is for.
type nodeIndex struct {
	table atomic.Pointer[indexTable]

	// Guarded by the space's structure lock.
	live int
	dead int
}

type indexTable struct {
	mask   uint64
	groups []indexGroup
}

// indexGroup is one cache line of the table.
type indexGroup struct {
	tags  atomic.Uint64 // byte i is the tag of nodes[i]; the last byte is unused
	nodes [groupSlots]atomic.Pointer[Node]
}

const (
	groupSlots = 7
	minGroups  = 8

	// Tags. A look-up goes on to the next group unless one place was never used.
	tagFree    = 0
	tagRemoved = 1
	tagFirst   = 2 // and all above belong to nodes

	tagBytes  = 0x0101010101010101 // times a tag: the tag in each byte
	tagUnused = tagRemoved << (8 * groupSlots)
)

func newIndexTable(groups int) *indexTable {
	return &indexTable{mask: uint64(groups - 1), groups: make([]indexGroup, groups)}
}

// textSeed makes the places of string ids unpredictable: where a program makes
// ids of what it was told, nobody can choose ones that meet in one place. Clients
// cannot add nodes at all, and a look-up leaves nothing behind.
var textSeed = maphash.MakeSeed()

// hashID returns a hash with all bits well spread: the low ones pick a group, the
// highest are the tag.
func hashID(id *ua.NodeID) uint64 {
	h := uint64(id.Namespace())<<40 | uint64(id.Type())<<32 | uint64(id.Numeric())
	switch id.Type() {
	case ua.IDTypeNumeric:
	case ua.IDTypeString:
		h ^= maphash.String(textSeed, id.Text())
	default:
		h ^= id.Hash()
	}
	hi, lo := bits.Mul64(h^0x8ebc6af09c88c6e3, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

func tagOf(hash uint64) uint64 { return hash>>57 + tagFirst }

// matchTag returns a word with the highest bit set in each byte of tags that
// equals the tag. A byte above a true match may be set in error, which costs a
// comparison; the unused byte never is.
func matchTag(tags, tag uint64) uint64 {
	x := tags ^ tag*tagBytes
	return (x - tagBytes) &^ x & (tagBytes << 7)
}

// free returns a word with the highest bit set in the bytes of places that were
// never used; only the lowest of them is sure.
func free(tags uint64) uint64 { return matchTag(tags|tagUnused, tagFree) }

func (x *nodeIndex) get(id *ua.NodeID) *Node {
	t := x.table.Load()
	if t == nil || id.IsNull() {
		return nil
	}
	h := hashID(id)
	tag := tagOf(h)
	for i := h & t.mask; ; i = (i + 1) & t.mask {
		g := &t.groups[i]
		tags := g.tags.Load()
		for m := matchTag(tags, tag); m != 0; m &= m - 1 {
			n := g.nodes[bits.TrailingZeros64(m)>>3].Load()
			if n != nil && n.id == *id {
				return n
			}
		}
		if free(tags) != 0 {
			return nil
		}
	}
}

// put adds a node whose id is not there yet.
func (x *nodeIndex) put(n *Node) {
	t := x.table.Load()
	// One place in seven is kept free on average, so that look-ups end soon.
	if t == nil || x.live+x.dead+1 > len(t.groups)*(groupSlots-1) {
		t = x.rebuild(t, x.live+1)
	}
	x.live++
	if t.put(n) == tagRemoved {
		x.dead--
	}
}

// put fills the first place that holds no node, and returns the tag it had.
func (t *indexTable) put(n *Node) (was uint64) {
	h := hashID(&n.id)
	for i := h & t.mask; ; i = (i + 1) & t.mask {
		g := &t.groups[i]
		tags := g.tags.Load()
		for place := range groupSlots {
			if was = tags >> (8 * place) & 0xff; was < tagFirst {
				// Readers look at the tag first.
				g.nodes[place].Store(n)
				g.tags.Store(tags&^(0xff<<(8*place)) | tagOf(h)<<(8*place))
				return was
			}
		}
	}
}

func (x *nodeIndex) remove(n *Node) {
	t := x.table.Load()
	for i := hashID(&n.id) & t.mask; ; i = (i + 1) & t.mask {
		g := &t.groups[i]
		tags := g.tags.Load()
		for place := range groupSlots {
			if g.nodes[place].Load() != n {
				continue
			}
			x.live--
			tags &^= 0xff << (8 * place)
			if free(g.tags.Load()) == 0 {
				// The group was full once: nodes of it may stand in the next.
				tags |= tagRemoved << (8 * place)
				x.dead++
			}
			g.tags.Store(tags)
			g.nodes[place].Store(nil)
			return
		}
		if free(tags) != 0 {
			return
		}
	}
}

// reserve makes room for n more nodes at once.
func (x *nodeIndex) reserve(n int) {
	t := x.table.Load()
	if t == nil || x.live+x.dead+n > len(t.groups)*(groupSlots-1) {
		x.rebuild(t, x.live+n)
	}
}

// rebuild publishes a table with room for the given number of nodes and half as
// many more, without the marks of removed ones.
func (x *nodeIndex) rebuild(old *indexTable, nodes int) *indexTable {
	groups := minGroups
	for groups*(groupSlots-1)*2 < nodes*3 {
		groups *= 2
	}
	t := newIndexTable(groups)
	if old != nil {
		for n := range old.all() {
			t.put(n)
		}
	}
	x.dead = 0
	x.table.Store(t)
	return t
}

// all yields the nodes of a table in no order.
func (t *indexTable) all() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for i := range t.groups {
			for place := range groupSlots {
				if n := t.groups[i].nodes[place].Load(); n != nil && !yield(n) {
					return
				}
			}
		}
	}
}
