package addrspace

import (
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// RemoveNode removes a node and all references from and to it. Its children
// stay. Watchers of a variable are told that it is gone (see [Watcher]).
// BadNodeIDUnknown says that there is no such node.
func (s *Space) RemoveNode(nodeID ua.NodeID) error {
	s.mu.Lock()
	n := s.index.get(&nodeID)
	if n == nil {
		s.mu.Unlock()
		return ua.BadNodeIDUnknown
	}
	change := s.removeNode(n)
	s.mu.Unlock()
	s.removed(n, change)
	return nil
}

// RemoveTree removes a node and, below it, everything that hangs on no other
// node: targets of hierarchical references whose every parent is removed too.
// It returns how many nodes were removed.
func (s *Space) RemoveTree(nodeID ua.NodeID) (int, error) {
	s.mu.Lock()
	root := s.index.get(&nodeID)
	hierarchical, ok := s.ReferenceTypes(ns0ID(id.HierarchicalReferences), true)
	if root == nil || !ok {
		s.mu.Unlock()
		return 0, ua.BadNodeIDUnknown
	}
	// A node leaves once all of its parents left, so each is looked at when
	// the last of the references that hold it is taken away.
	var nodes []*Node
	var changes []ModelChange
	for work := []*Node{root}; len(work) > 0; {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		if n.Deleted() {
			continue
		}
		var children []*Node
		refs := n.References()
		for pos := 0; ; {
			r, next, ok := refs.Next(pos, ua.BrowseDirectionForward, hierarchical)
			if !ok {
				break
			}
			children = append(children, r.Target)
			pos = next
		}
		nodes = append(nodes, n)
		changes = append(changes, s.removeNode(n))
		for i := len(children) - 1; i >= 0; i-- {
			if _, _, held := children[i].References().Next(0, ua.BrowseDirectionInverse, hierarchical); !held {
				work = append(work, children[i])
			}
		}
	}
	s.mu.Unlock()
	for i, n := range nodes {
		s.removed(n, changes[i])
	}
	return len(nodes), nil
}

// removeNode takes a node out of the structure. The structure lock is held.
func (s *Space) removeNode(n *Node) ModelChange {
	change := ModelChange{Node: n.id, Verb: NodeDeleted}
	if t := n.TypeDefinition(); t != nil {
		change.Type = t.id
	}
	n.state.Or(stateDeleted)
	s.unlinkAll(n)
	s.index.remove(n)
	return change
}

// removed tells whom it concerns, without the structure lock.
func (s *Space) removed(n *Node, change ModelChange) {
	if v := n.Variable(); v != nil {
		v.gone()
	}
	s.notifyModel(change)
}
