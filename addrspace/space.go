package addrspace

import (
	"sync"
	"sync/atomic"

	"github.com/uahive/uahive/codec/ua"
)

// Options configure a Space. The zero value works.
type Options struct {
	// ApplicationURI is the URI of namespace 1, the local server (Part 5,
	// 6.3.1). Default "urn:uahive".
	ApplicationURI string
	Limits         Limits
}

// Space is an address space. Its methods may be called from any goroutine.
type Space struct {
	// immutable
	limits Limits

	// replaced as a whole under mu, read without a lock
	index      nodeIndex
	refTypes   atomic.Pointer[[]*Node] // by index of the reference type
	refSets    atomic.Pointer[refSets]
	namespaces atomic.Pointer[[]string]
	managers   atomic.Pointer[map[uint16]any]
	modelHook  atomic.Pointer[func(ModelChange)]
	accessHook atomic.Pointer[func()]
	access     accessSets
	renames    atomic.Uint64 // counts changes of BrowseNames; see nameIndex

	// mu serialises all changes of nodes, references and attributes.
	mu      sync.Mutex
	nextID  map[uint16]uint32 // guarded by mu
	scratch []byte            // guarded by mu; where descriptions are encoded

	// view is held for writing while a transaction commits.
	view sync.RWMutex
}

// New returns a space with the namespaces 0 and 1 and no nodes. A server loads
// the standard's nodes into it with [Space.LoadNS0].
func New(o Options) *Space {
	if o.ApplicationURI == "" {
		o.ApplicationURI = "urn:uahive"
	}
	o.Limits.setDefaults()
	s := &Space{limits: o.Limits, nextID: map[uint16]uint32{}}
	types := make([]*Node, refFree)
	s.refTypes.Store(&types)
	s.resetReferenceTypes()
	s.namespaces.Store(&[]string{NamespaceUA, o.ApplicationURI})
	s.managers.Store(&map[uint16]any{})
	s.access.init()
	return s
}

// Node returns the node with that id, or nil. It takes no lock and allocates
// nothing.
func (s *Space) Node(id ua.NodeID) *Node { return s.index.get(&id) }

// Len returns the number of nodes.
func (s *Space) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.index.live
}

// Reserve makes room for n more nodes at once, which saves the index from
// growing step by step while many are added.
func (s *Space) Reserve(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index.reserve(n)
}

// BeginView begins a section in which no transaction becomes visible: every
// value read until EndView is from before or after the whole of any Update.
// A view must be short, must not wait for anything, must not be nested, and
// must call neither Update nor user code (which might).
func (s *Space) BeginView() { s.view.RLock() }

// EndView ends the section.
func (s *Space) EndView() { s.view.RUnlock() }
