package addrspace

import "github.com/uahive/uahive/codec/ua"

// ModelVerb says what happened to a node. The values are those of the verb
// field of ModelChangeStructureDataType (Part 5, 12.16).
type ModelVerb uint8

// The verbs.
const (
	NodeAdded        ModelVerb = 1
	NodeDeleted      ModelVerb = 2
	ReferenceAdded   ModelVerb = 4
	ReferenceDeleted ModelVerb = 8
	DataTypeChanged  ModelVerb = 16
)

// ModelChange is one change of the structure of the address space.
type ModelChange struct {
	Node ua.NodeID
	Type ua.NodeID // type definition of the node, null where it has none
	Verb ModelVerb
}

// OnModelChange sets the function that is told of each change of nodes and
// references; nil ends it. It is called after the change is visible, outside of
// all locks, on the goroutine that made the change; changes that different
// goroutines make may be told in another order than they happened. Loading
// namespace 0 is not told.
func (s *Space) OnModelChange(f func(ModelChange)) {
	if f == nil {
		s.modelHook.Store(nil)
		return
	}
	s.modelHook.Store(&f)
}

func (s *Space) notifyModel(c ModelChange) {
	f := s.modelHook.Load()
	if f == nil {
		return
	}
	if c.Type.IsNull() {
		if n := s.Node(c.Node); n != nil {
			if t := n.TypeDefinition(); t != nil {
				c.Type = t.id
			}
		}
	}
	(*f)(c)
}
