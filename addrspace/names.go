package addrspace

import (
	"iter"

	"github.com/cespare/xxhash/v2"

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
	renames uint64           // the space's count of renamed nodes before it was made
	first   map[uint64]int32 // hash of a name to the first position with it
	next    []int32          // position to the next one with the same hash, or -1
}

const fewReferences = 128

// Named yields the targets of the node's references in the given direction, of
// the given types (nil: all), that have a BrowseName, in the order of the
// references. It is a step of a browse path (Part 4, 5.9.4).
func (n *Node) Named(name ua.QualifiedName, direction ua.BrowseDirection, types *ReferenceTypes) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		list := n.refs.Load()
		if list == nil {
			return
		}
		index := list.names.Load()
		// Loaded after the index, which thus never covers more than these.
		refs := Refs{items: list.items[:list.n.Load()], types: *n.space.refTypes.Load()}
		index = list.nameIndex(index, &refs, n.space.renames.Load())
		from := 0
		if index != nil {
			pos, ok := index.first[hashName(name)]
			for ok && pos >= 0 {
				if !refs.yieldNamed(int(pos), name, direction, types, yield) {
					return
				}
				pos = index.next[pos]
			}
			from = len(index.next)
		}
		for i := from; i < len(refs.items); i++ {
			if !refs.yieldNamed(i, name, direction, types, yield) {
				return
			}
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
	index := &nameIndex{
		renames: renames, first: make(map[uint64]int32, len(refs.items)), next: make([]int32, len(refs.items)),
	}
	// From the end, so that each chain is in the order of the references.
	for i := len(refs.items) - 1; i >= 0; i-- {
		index.next[i] = -1
		target := refs.items[i].target.Load()
		if target == nil {
			continue
		}
		h := hashName(target.BrowseName())
		if later, ok := index.first[h]; ok {
			index.next[i] = later
		}
		index.first[h] = int32(i)
	}
	return index
}

func hashName(name ua.QualifiedName) uint64 {
	return mix(xxhash.Sum64String(name.Name) + uint64(name.NamespaceIndex))
}
