package addrspace

import (
	"context"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// Call is one call of a method.
type Call struct {
	Object ua.NodeID // the object or type that it is called on
	Method ua.NodeID // the method as the client named it
	// Inputs are checked against the declared arguments. They are the
	// function's to keep.
	Inputs []ua.Variant
	// Outputs is for the function to set.
	Outputs []ua.Variant
	// InputResults may be set, one for each input, together with an error of
	// BadInvalidArgument (Part 4, 5.12.2.2).
	InputResults []ua.StatusCode
}

// MethodFunc runs a method. An error becomes the call's status through
// ua.StatusOf.
type MethodFunc func(ctx context.Context, c *Call) error

// Method is what runs when a Method node is called. It is immutable once set.
type Method struct {
	Func MethodFunc
	// Inline says that Func never waits; see [Source].
	Inline bool
	// Secret says that arguments may be secrets: they are not shown in audit events.
	Secret bool
}

// Method returns what runs when this Method node is called, or nil.
func (n *Node) Method() *Method { return n.rare().method }

// SetMethod sets what runs when this Method node is called; nil for nothing.
func (n *Node) SetMethod(m *Method) {
	n.space.mu.Lock()
	defer n.space.mu.Unlock()
	n.update(func(a *attrs) { a.method = m })
}

// Executable returns the Executable attribute of a Method.
func (n *Node) Executable() bool { return n.class == classMethod && !n.rare().notExecutable }

// UserExecutable returns the UserExecutable attribute of a Method.
func (n *Node) UserExecutable() bool { return n.Executable() && !n.rare().userNotExecutable }

// FindMethod returns what runs for a call of a method on an object or type
// (Part 4, 5.12.2.2): the method must be a component of the object, or of its
// type definition or a supertype of that. Where the method that is found has no
// function of its own, the one with the same BrowseName at the object, its type
// or a supertype runs.
//
// The status is BadNodeIDUnknown for an unknown object, BadMethodInvalid for
// what is not a method of it, and BadNotImplemented when nothing is there to
// run; method is not nil in the last case.
func (s *Space) FindMethod(object, methodID ua.NodeID) (method *Node, run *Method, status ua.StatusCode) {
	obj := s.Node(object)
	if obj == nil {
		return nil, nil, ua.BadNodeIDUnknown
	}
	if obj.class != classObject && obj.class != classObjectType {
		return nil, nil, ua.BadMethodInvalid
	}
	method = s.Node(methodID)
	if method == nil || method.class != classMethod {
		return nil, nil, ua.BadMethodInvalid
	}
	components, ok := s.ReferenceTypes(ns0ID(id.HasComponent), true)
	if !ok {
		return nil, nil, ua.BadMethodInvalid
	}
	found := false
	for owner := range owners(obj) {
		if hasComponent(owner, method, components) {
			found = true
			break
		}
	}
	if !found {
		return nil, nil, ua.BadMethodInvalid
	}
	if own := method.Method(); own != nil && obj.class == classObjectType {
		return method, own, ua.Good
	}
	// The object's own method goes before the declaration on its type.
	name := method.BrowseName()
	for owner := range owners(obj) {
		if m := owner.Component(name); m != nil && m.class == classMethod && m.Method() != nil {
			return m, m.Method(), ua.Good
		}
	}
	if own := method.Method(); own != nil {
		return method, own, ua.Good
	}
	return method, nil, ua.BadNotImplemented
}

// owners yields an object, its type and the type's supertypes.
func owners(obj *Node) func(yield func(*Node) bool) {
	return func(yield func(*Node) bool) {
		if !yield(obj) {
			return
		}
		t := obj.TypeDefinition()
		if obj.class == classObjectType {
			t = obj.Supertype()
		}
		for range maxTypeDepth {
			if t == nil || !yield(t) {
				return
			}
			t = t.Supertype()
		}
	}
}

// hasComponent looks from the method's side, whose list is the short one.
func hasComponent(owner, method *Node, components *ReferenceTypes) bool {
	refs := method.References()
	for pos := 0; ; {
		r, next, ok := refs.Next(pos, ua.BrowseDirectionInverse, components)
		if !ok {
			return false
		}
		if r.Target == owner {
			return true
		}
		pos = next
	}
}

// InputArguments returns the declared inputs of a Method node, nil when there
// are none.
func (n *Node) InputArguments() []ua.Argument { return n.arguments("InputArguments") }

// OutputArguments returns the declared outputs of a Method node.
func (n *Node) OutputArguments() []ua.Argument { return n.arguments("OutputArguments") }

func (n *Node) arguments(property string) []ua.Argument {
	p := n.Property(property)
	if p == nil || p.Variable() == nil {
		return nil
	}
	objects, ok := ua.As[[]ua.ExtensionObject](p.Variable().Load().Value)
	if !ok {
		return nil
	}
	args := make([]ua.Argument, 0, len(objects))
	for i := range objects {
		if a, ok := objects[i].Value.(*ua.Argument); ok {
			args = append(args, *a)
		}
	}
	return args
}

// CheckArguments compares inputs with declared arguments (Part 4, 5.12.2.4). The
// status is BadArgumentsMissing, BadTooManyArguments, or BadInvalidArgument with
// one result for each input; results is nil otherwise.
func (s *Space) CheckArguments(args []ua.Argument, inputs []ua.Variant) (status ua.StatusCode, results []ua.StatusCode) {
	switch {
	case len(inputs) < len(args):
		return ua.BadArgumentsMissing, nil
	case len(inputs) > len(args):
		return ua.BadTooManyArguments, nil
	}
	for i := range args {
		code := s.checkArgument(&args[i], &inputs[i])
		if code.IsGood() {
			continue
		}
		if results == nil {
			results = make([]ua.StatusCode, len(inputs))
		}
		results[i] = code
		status = ua.BadInvalidArgument
	}
	return status, results
}

func (s *Space) checkArgument(a *ua.Argument, v *ua.Variant) ua.StatusCode {
	dataType := s.Node(a.DataType)
	if dataType == nil || dataType.class != classDataType {
		return ua.BadTypeMismatch
	}
	shape := shape{dataType: dataType, rank: a.ValueRank, dimensions: a.ArrayDimensions}
	converted, code := shape.check(s, *v)
	if code.IsGood() {
		*v = converted
	}
	return code
}
