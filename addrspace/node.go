package addrspace

import (
	"sync/atomic"
	"unsafe"

	"github.com/uahive/uahive/codec/ua"
)

// Node is a node of the address space. A node is found through its [Space]; it
// is never copied.
//
// The struct is kept small because a plant may have a million of them: what
// most nodes do not have is in attrs, which is nil for them, and a variable's
// node and value cell are one allocation.
//
// What a Browse needs of a node stands together, and so does what a Read needs
// of it and of the cell behind it: that is a cache line or two for each.
type Node struct {
	// The node's references while they are few. refs is nil then; see halves.
	short [2]ref

	// replaced as a whole under the structure lock, read without a lock
	refs  atomic.Pointer[refList]
	space *Space // immutable
	attrs atomic.Pointer[attrs]

	// immutable
	described description // the node as it was added
	class     uint8

	// state is the number of references in short, whether the node was removed,
	// and the number of what is asked of those who use it (see accessSets).
	// Changed under the structure lock, read without a lock.
	state atomic.Uint32

	id ua.NodeID // immutable; the text of a string id is part of described
}

// The parts of Node.state.
const (
	stateShort   = 0x03
	stateDeleted = 0x04
	stateAccess  = 16 // the upper half is the number
)

// attrs holds the attributes that most nodes do not have. A published attrs is
// immutable: a change publishes a changed copy.
type attrs struct {
	described   description // replaces that of the node; "": it holds
	description ua.LocalizedText

	writeMask     ua.AttributeWriteMask
	userWriteMask ua.AttributeWriteMask

	rolePermissions    []ua.RolePermissionType // nil: not present
	accessRestrictions ua.AccessRestrictionType
	hasRestrictions    bool

	// displayName says that the DisplayName stays when the BrowseName changes,
	// though both are the same now.
	displayName bool

	eventNotifier     ua.EventNotifierType
	containsNoLoops   bool
	isAbstract        bool
	symmetric         bool
	notExecutable     bool
	userNotExecutable bool

	method *Method
	// Type nodes.
	inverseName ua.LocalizedText
	super       *Node
	refIndex    uint32
	definition  ua.Structure // DataTypes; nil: not present
	enum        []int32      // values of an EnumDefinition
	varType     *variableTypeAttrs
}

// variableTypeAttrs are the value-like attributes of a VariableType.
type variableTypeAttrs struct {
	value      ua.Variant
	dataType   *Node
	valueRank  int32
	dimensions []uint32
}

// update publishes a changed copy of the attributes. The structure lock is held.
func (n *Node) update(change func(*attrs)) {
	next := new(attrs)
	if old := n.attrs.Load(); old != nil {
		*next = *old
	}
	change(next)
	n.attrs.Store(next)
}

// rare returns the attributes for reading; never nil.
func (n *Node) rare() *attrs {
	if a := n.attrs.Load(); a != nil {
		return a
	}
	return &noAttrs
}

var noAttrs attrs

// ID returns the node's NodeId.
func (n *Node) ID() ua.NodeID { return n.id }

// Class returns the node's NodeClass.
func (n *Node) Class() ua.NodeClass { return ua.NodeClass(n.class) }

// Space returns the space that the node was added to.
func (n *Node) Space() *Space { return n.space }

// Deleted reports whether the node was removed from its space. What else the
// node says stays readable.
func (n *Node) Deleted() bool { return n.state.Load()&stateDeleted != 0 }

// Variable returns the value cell of a Variable node, and nil for every other
// NodeClass.
func (n *Node) Variable() *Variable {
	if n.class != classVariable {
		return nil
	}
	// emptyNode made it as the first field of its cell. A pointer instead would
	// put every variable into the next size class of the allocator.
	return (*Variable)(unsafe.Pointer(n))
}

// BrowseName returns the node's BrowseName.
func (n *Node) BrowseName() ua.QualifiedName { return n.description().browseName() }

// DisplayName returns the node's DisplayName, which is the text of the
// BrowseName unless something else was set.
func (n *Node) DisplayName() ua.LocalizedText { return n.description().displayName() }

// EventNotifier returns the EventNotifier of an Object or View, which says
// whether it can be subscribed for events.
func (n *Node) EventNotifier() ua.EventNotifierType { return n.rare().eventNotifier }

// IsAbstract returns the IsAbstract attribute of a type node.
func (n *Node) IsAbstract() bool { return n.rare().isAbstract }

// refIndex returns the place of a ReferenceType node in the table of types.
func (n *Node) refIndex() uint32 { return n.rare().refIndex }

// Property returns the node's property with that BrowseName in namespace 0, or
// nil. The properties of the standard (EURange, EngineeringUnits,
// InputArguments, ...) all have such names.
func (n *Node) Property(name string) *Node {
	return n.PropertyNamed(ua.QualifiedName{Name: name})
}

// PropertyNamed returns the node's property with that BrowseName, or nil.
func (n *Node) PropertyNamed(name ua.QualifiedName) *Node { return n.child(refHasProperty, name) }

// Component returns the target of a HasComponent reference (not of one of its
// subtypes) with that BrowseName, or nil.
func (n *Node) Component(name ua.QualifiedName) *Node { return n.child(refHasComponent, name) }

func (n *Node) child(refType uint32, name ua.QualifiedName) *Node {
	typ := (*n.space.refTypes.Load())[refType]
	if typ == nil {
		return nil
	}
	for target := range n.Named(name, ua.BrowseDirectionForward, n.space.referenceTypes(typ, false)) {
		return target
	}
	return nil
}
