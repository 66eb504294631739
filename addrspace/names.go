package addrspace

import (
	"hash/maphash"
	"iter"

	"github.com/uahive/uahive/codec/ua"
)

// nameIndex finds the references of one list by the BrowseName of their target.
// Only long lists get one, when somebody first asks: a browse path through a
// folder of a hundred thousand children would otherwise look at each of them,
// and one request may hold thousands of paths.
//
// It is immutable. References beyond those it was made of are looked at one by
// one, until they are so many that a new index is made.
type nameIndex struct {
	renames uint64  // the space's count of renamed nodes before it was made
	first   []int32 // by the low bits of a name's hash: the first position, or -1
	next    []int32 // by position: the next one with the same bits, or -1
}

// find returns the first position where a name may stand, or -1.
func (x *nameIndex) find(name ua.QualifiedName) int32 {
	return x.first[hashName(name)&uint64(len(x.first)-1)]
}

const fewReferences = 128

// Named yields the targets of the node's references in the given direction, of
// the given types (nil: all), that have a BrowseName, in the order of the
// references. It is a step of a browse path (Part 4, 5.9.4).
func (n *Node) Named(name ua.QualifiedName, direction ua.BrowseDirection, types *ReferenceTypes) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		list := n.refs.Load()
		if list == nil {
			n.References().yieldAllNamed(0, name, direction, types, yield)
			return
		}
		index := list.names.Load()
		// Loaded after the index, which thus never covers more than these.
		refs := Refs{items: list.items[:list.n.Load()], types: *n.space.refTypes.Load()}
		index = list.nameIndex(index, &refs, n.space.renames.Load())
		from := 0
		if index != nil {
			for pos := index.find(name); pos >= 0; {
				if !refs.yieldNamed(int(pos), name, direction, types, yield) {
					return
				}
				pos = index.next[pos]
			}
			from = len(index.next)
		}
		refs.yieldAllNamed(from, name, direction, types, yield)
	}
}

func (r Refs) yieldAllNamed(from int, name ua.QualifiedName, direction ua.BrowseDirection, types *ReferenceTypes,
	yield func(*Node) bool,
) {
	for i := from; i < len(r.items); i++ {
		if !r.yieldNamed(i, name, direction, types, yield) {
			return
		}
	}
}

// yieldNamed yields the target at a position if it is asked for. It returns
// false when the caller has enough.
func (r *Refs) yieldNamed(pos int, name ua.QualifiedName, direction ua.BrowseDirection, types *ReferenceTypes,
	yield func(*Node) bool,
) bool {
	x, ok := r.match(pos, direction, types)
	return !ok || x.Target.BrowseName() != name || yield(x.Target)
}

// nameIndex returns an index that covers most of the given references, the one
// that is there if it is good; nil when there are few references.
func (l *refList) nameIndex(index *nameIndex, refs *Refs, renames uint64) *nameIndex {
	count := len(refs.items)
	if count <= fewReferences {
		return nil
	}
	if index != nil && index.renames == renames {
		if covered := len(index.next); count-covered <= fewReferences+covered/4 {
			return index
		}
	}
	index = makeNameIndex(refs, renames)
	l.names.Store(index)
	return index
}

func makeNameIndex(refs *Refs, renames uint64) *nameIndex {
	buckets := fewReferences
	for buckets < len(refs.items) {
		buckets *= 2
	}
	index := &nameIndex{renames: renames, first: make([]int32, buckets), next: make([]int32, len(refs.items))}
	for i := range index.first {
		index.first[i] = -1
	}
	// From the end, so that each chain is in the order of the references.
	for i := len(refs.items) - 1; i >= 0; i-- {
		index.next[i] = -1
		if target := refs.items[i].target.Load(); target != nil {
			first := &index.first[hashName(target.BrowseName())&uint64(buckets-1)]
			index.next[i], *first = *first, int32(i)
		}
	}
	return index
}

// hashName is seeded: where a program names nodes after what it was told, nobody
// can choose names that share a chain.
func hashName(name ua.QualifiedName) uint64 {
	return maphash.String(textSeed, name.Name) + uint64(name.NamespaceIndex)
}
