package uahive

import (
	"fmt"
	"iter"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// Parent is what nodes can be added to: a [Namespace], an [Object] or, for
// parts and properties of a variable, a [Variable].
type Parent interface {
	parent() *node
}

// node is what objects, variables and methods have in common.
type node struct {
	srv    *Server
	at     *addrspace.Node // nil: could not be made
	failed *ModelError     // why
	ns     uint16
	path   string // below the namespace, dotted
}

func (n *node) parent() *node { return n }

// refuse keeps an error and makes this a node that nothing has an effect on.
func (n *node) refuse(err *ModelError) {
	n.failed = err
	n.srv.fail(err)
}

// child returns the description of a node to be made below this one.
func (n *node) child(name string) node {
	path := name
	if n.path != "" {
		path = n.path + "." + name
	}
	return node{srv: n.srv, ns: n.ns, path: path, failed: n.failed}
}

// add makes the node that a spec describes below a parent.
func (n *node) add(operation string, spec addrspace.NodeSpec) {
	if wrong := n.srv.inherit(&spec); wrong != nil {
		n.refuse(&ModelError{Operation: operation, Path: n.path, Problem: wrong.problem, Instead: wrong.instead})
		return
	}
	at, err := n.srv.space.AddNode(spec)
	if err != nil {
		n.refuse(&ModelError{
			Operation: operation, Path: n.path, Problem: fmt.Sprintf("node %s cannot be added", spec.ID),
			Instead: advice(err), Err: err,
		})
		return
	}
	n.at = at
}

// isProperty reports whether the node can have no parts.
func (n *node) isProperty() bool {
	if n.at == nil {
		return false
	}
	t := n.at.TypeDefinition()
	return t != nil && t.ID() == ua.NumericID(0, id.PropertyType)
}

// Err says why the node could not be made, with a [ModelError]; nil if it was.
func (n *node) Err() error {
	if n.failed == nil {
		return nil
	}
	return n.failed
}

// ID returns the NodeId; null for a node that could not be made.
func (n *node) ID() ua.NodeID {
	if n.at == nil {
		return ua.NodeID{}
	}
	return n.at.ID()
}

// Path returns the dotted path below the namespace.
func (n *node) Path() string { return n.path }

// Node returns the node below the typed API, nil if it could not be made.
func (n *node) Node() *addrspace.Node { return n.at }

// SetDisplayName changes the name that clients show. An empty text brings back
// the BrowseName.
func (n *node) SetDisplayName(text string) {
	if n.at != nil {
		n.at.SetAttribute(ua.AttributeIDDisplayName, ua.VariantOf(ua.LocalizedText{Text: text}))
	}
}

// SetDescription changes the text that explains the node.
func (n *node) SetDescription(text string) {
	if n.at != nil {
		n.at.SetAttribute(ua.AttributeIDDescription, ua.VariantOf(ua.LocalizedText{Text: text}))
	}
}

// Remove removes the node and everything below it that hangs on no other node.
// Who monitors a variable of it is told once that it is gone
// (BadNodeIdUnknown). Removing twice has no effect.
func (n *node) Remove() {
	if n.at != nil {
		n.srv.space.RemoveTree(n.at.ID())
	}
}

// Children yields the nodes right below this one with their BrowseNames, in the
// order in which they were added. It may go on while nodes are added and
// removed: those that came after the start are not seen.
func (n *node) Children() iter.Seq2[string, *addrspace.Node] {
	return func(yield func(string, *addrspace.Node) bool) {
		if n.at == nil {
			return
		}
		hierarchical, ok := n.srv.space.ReferenceTypes(ua.NumericID(0, id.HierarchicalReferences), true)
		if !ok {
			return
		}
		refs := n.at.References()
		for pos := 0; ; {
			r, next, ok := refs.Next(pos, ua.BrowseDirectionForward, hierarchical)
			if !ok || !yield(r.Target.BrowseName().Name, r.Target) {
				return
			}
			pos = next
		}
	}
}
