package addrspace

import (
	"sync/atomic"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// IsSubtypeOf reports whether sub is super or a direct or indirect subtype of
// it. Unknown nodes are subtypes of nothing.
func (s *Space) IsSubtypeOf(sub, super ua.NodeID) bool {
	if n := s.index.get(&sub); n != nil {
		return n.isSubtypeOf(super)
	}
	return false
}

// Supertype returns the node that this type node is a direct subtype of, or
// nil for the root of a hierarchy and for nodes that are no types.
func (n *Node) Supertype() *Node {
	if a := n.attrs.Load(); a != nil {
		return a.super
	}
	return nil
}

func (n *Node) isSubtypeOf(super ua.NodeID) bool {
	for range maxTypeDepth {
		if n.id == super {
			return true
		}
		if n = n.Supertype(); n == nil {
			return false
		}
	}
	return false
}

// setSupertype records that sub is a subtype of super. The structure lock is
// held. Part 3, 7.10: HasSubtype stays within one NodeClass, and a type has one
// supertype; a loop would have no root.
func (s *Space) setSupertype(sub, super *Node) error {
	if sub.class != super.class || !isTypeClass(sub.class) {
		return ua.BadReferenceNotAllowed
	}
	if sub.Supertype() != nil || super.isSubtypeOf(sub.id) {
		return ua.BadReferenceNotAllowed
	}
	sub.update(func(a *attrs) { a.super = super })
	if sub.class == classReferenceType {
		s.resetReferenceTypes()
	}
	return nil
}

func (s *Space) clearSupertype(sub *Node) {
	sub.update(func(a *attrs) { a.super = nil })
	if sub.class == classReferenceType {
		s.resetReferenceTypes()
	}
}

func isTypeClass(class uint8) bool {
	switch class {
	case classObjectType, classVariableType, classReferenceType, classDataType:
		return true
	}
	return false
}

// ReferenceTypes is an immutable set of reference types, as a browse filter
// needs it: asking is one bit test.
type ReferenceTypes struct {
	bits []uint64
}

func (t *ReferenceTypes) hasIndex(i uint32) bool {
	return int(i>>6) < len(t.bits) && t.bits[i>>6]&(1<<(i&63)) != 0
}

// Has reports whether a reference type node is in the set. The nil set holds
// every type.
func (t *ReferenceTypes) Has(n *Node) bool {
	return t == nil || n.class == classReferenceType && t.hasIndex(n.refIndex())
}

// ReferenceTypes returns the set of a reference type and, on demand, all its
// subtypes. The null NodeId stands for all reference types, which is the nil
// set (Part 4, 5.9.2.2). ok is false when the id is not a ReferenceType node.
func (s *Space) ReferenceTypes(refType ua.NodeID, includeSubtypes bool) (set *ReferenceTypes, ok bool) {
	if refType.IsNull() {
		return nil, true
	}
	n := s.index.get(&refType)
	if n == nil || n.class != classReferenceType {
		return nil, false
	}
	return s.referenceTypes(n, includeSubtypes), true
}

// refSets caches the sets of the current hierarchy, two for each reference
// type. A change of the hierarchy replaces it by an empty one.
type refSets struct {
	sets []atomic.Pointer[ReferenceTypes]
}

func (s *Space) referenceTypes(n *Node, includeSubtypes bool) *ReferenceTypes {
	cache := s.refSets.Load()
	slot := int(n.refIndex() * 2)
	if includeSubtypes {
		slot++
	}
	if cache != nil && slot < len(cache.sets) {
		if set := cache.sets[slot].Load(); set != nil {
			return set
		}
	}
	types := *s.refTypes.Load()
	set := &ReferenceTypes{bits: make([]uint64, (len(types)+63)/64)}
	for i, t := range types {
		if t != nil && (t == n || includeSubtypes && t.isSubtypeOf(n.id)) {
			set.bits[i>>6] |= 1 << (i & 63)
		}
	}
	// The set belongs to the cache that was current before the hierarchy was
	// looked at: a newer hierarchy has a newer cache, and this one is dropped.
	if cache != nil && slot < len(cache.sets) {
		cache.sets[slot].Store(set)
	}
	return set
}

// resetReferenceTypes forgets all sets. The structure lock is held.
func (s *Space) resetReferenceTypes() {
	s.refSets.Store(&refSets{sets: make([]atomic.Pointer[ReferenceTypes], 2*len(*s.refTypes.Load()))})
}

// addReferenceType gives a ReferenceType node its place in the table. The
// place is never given to another node: references and sets name types by it.
func (s *Space) addReferenceType(n *Node) {
	types := *s.refTypes.Load()
	index := uint32(len(types))
	if n.id.Namespace() == 0 {
		if fixed, ok := fixedReferenceTypes[n.id.Numeric()]; ok && types[fixed] == nil {
			index = fixed
		}
	}
	grown := make([]*Node, max(len(types), int(index)+1))
	copy(grown, types)
	grown[index] = n
	n.update(func(a *attrs) { a.refIndex = index })
	s.refTypes.Store(&grown)
	s.resetReferenceTypes()
}

// isHierarchical reports whether a reference type is HierarchicalReferences or
// a subtype of it.
func (s *Space) isHierarchical(refType *Node) bool {
	return refType.isSubtypeOf(ns0ID(id.HierarchicalReferences))
}

// TypeDefinition returns the node at the end of the HasTypeDefinition
// reference of an Object or Variable, or nil.
func (n *Node) TypeDefinition() *Node {
	if n.class != classObject && n.class != classVariable {
		return nil
	}
	// It is the first reference of every node that was added with one.
	items := n.halves()
	for i := range items {
		if it := &items[i]; it.meta == refHasTypeDefinition<<1 {
			if t := it.target.Load(); t != nil {
				return t
			}
		}
	}
	return nil
}
