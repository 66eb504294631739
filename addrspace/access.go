package addrspace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/uahive/uahive/codec/ua"
)

// Access says who may do what with a node: with one that says so itself, or by
// default with all nodes of a namespace that do not (Part 3, 5.2.9 and 5.2.11).
type Access struct {
	// Permissions of the roles. A role that is not listed has none. nil: no
	// permissions are asked for, and the other attributes of a node alone decide
	// what everybody may do.
	Permissions []ua.RolePermissionType
	// Restrictions is what the client's channel has to be like.
	Restrictions ua.AccessRestrictionType
}

// open says that nothing is restricted.
func (a *Access) open() bool { return a.Permissions == nil && a.Restrictions == 0 }

// accessSets has each combination of permissions and restrictions once. A node
// keeps a number in place of them, and a session one mask for each number: what
// a session may do with a node is one look into a slice. Number 0 stands for
// nodes that are open to all, which is found out without that look.
//
// Sets are never changed and never forgotten, so that masks hold for good. Only
// programs and administrators make new ones, and their number is bounded.
type accessSets struct {
	list     atomic.Pointer[[]Access] // by number; the first is the open one
	defaults atomic.Pointer[[]uint32] // by namespace: the number of its default

	// Guarded by Space.mu.
	numbers map[string]uint32
}

// accessNobody is the largest number that fits into Node.state. It stands for a
// set that could not be kept, and nobody has rights to it.
const accessNobody = 1<<(32-stateAccess) - 1

func (t *accessSets) init() {
	t.list.Store(&[]Access{{}})
	t.defaults.Store(&[]uint32{})
	t.numbers = map[string]uint32{}
}

// number returns the number of a set, and makes one for a new set. The structure
// lock is held.
func (t *accessSets) number(a Access) (uint32, error) {
	if a.open() {
		return 0, nil
	}
	key := a.key()
	if n, ok := t.numbers[string(key)]; ok {
		return n, nil
	}
	list := *t.list.Load()
	if len(list) >= accessNobody {
		return 0, fmt.Errorf("%d different sets of permissions are the limit: %w", accessNobody, ua.BadOutOfMemory)
	}
	a.Permissions = slices.Clone(a.Permissions)
	grown := append(list[:len(list):len(list)], a)
	t.list.Store(&grown)
	t.numbers[string(key)] = uint32(len(list))
	return uint32(len(list)), nil
}

// key is the same for equal sets only. An empty list of permissions, which gives
// nobody anything, is another one than none.
func (a *Access) key() []byte {
	key := binary.LittleEndian.AppendUint16(nil, uint16(a.Restrictions))
	if a.Permissions == nil {
		return key
	}
	key = append(key, 1)
	for i := range a.Permissions {
		p := &a.Permissions[i]
		key = p.RoleID.AppendTo(key)
		key = binary.LittleEndian.AppendUint32(key, uint32(p.Permissions))
	}
	return key
}

// of returns the number of a namespace's default.
func (t *accessSets) of(namespace uint16) uint32 {
	if defaults := *t.defaults.Load(); int(namespace) < len(defaults) {
		return defaults[namespace]
	}
	return 0
}

func (t *accessSets) get(number uint32) Access {
	if number == accessNobody {
		return Access{Permissions: []ua.RolePermissionType{}}
	}
	return (*t.list.Load())[number]
}

// DefaultAccess returns what holds for the nodes of a namespace that do not say
// it themselves, and for nodes of a manager. It must not be changed.
func (s *Space) DefaultAccess(namespace uint16) Access { return s.access.get(s.access.of(namespace)) }

// SetDefaultAccess sets what holds for the nodes of a namespace that do not say
// it themselves, those that are there and those that come. It looks at each node
// of the space once.
func (s *Space) SetDefaultAccess(namespace uint16, a Access) error {
	s.mu.Lock()
	if int(namespace) >= len(s.Namespaces()) {
		s.mu.Unlock()
		return fmt.Errorf("addrspace: default access: no namespace %d: %w", namespace, ua.BadInvalidArgument)
	}
	number, err := s.access.number(a)
	if err != nil {
		s.mu.Unlock()
		return fmt.Errorf("addrspace: default access of namespace %d: %w", namespace, err)
	}
	defaults := slices.Clone(*s.access.defaults.Load())
	for len(defaults) <= int(namespace) {
		defaults = append(defaults, 0)
	}
	defaults[namespace] = number
	s.access.defaults.Store(&defaults)
	if t := s.index.table.Load(); t != nil {
		for n := range t.all() {
			if n.id.Namespace() == namespace {
				err = errors.Join(err, n.resetAccess())
			}
		}
	}
	s.mu.Unlock()
	s.notifyAccess()
	return err
}

// Access returns what holds for the node, its own or the default of its
// namespace. It must not be changed.
func (n *Node) Access() Access { return n.space.access.get(n.accessNumber()) }

// OwnAccess returns what the node itself says, nil for what is left to the default
// of its namespace. It must not be changed.
func (n *Node) OwnAccess() (permissions []ua.RolePermissionType, restrictions *ua.AccessRestrictionType) {
	a := n.rare()
	if a.hasRestrictions {
		restrictions = &a.accessRestrictions
	}
	return a.rolePermissions, restrictions
}

// Restricted reports whether anything is asked of those who use the node. Nobody
// has to look at rights for a node that is not.
func (n *Node) Restricted() bool { return n.accessNumber() != 0 }

func (n *Node) accessNumber() uint32 { return n.state.Load() >> stateAccess }

// resetAccess finds the number of what holds for the node. The structure lock is
// held, as it is by all who change the state. A node whose permissions cannot be
// kept is closed to everybody.
func (n *Node) resetAccess() error {
	t, a := &n.space.access, n.rare()
	number := t.of(n.id.Namespace())
	var err error
	if a.rolePermissions != nil || a.hasRestrictions {
		own := t.get(number)
		if a.rolePermissions != nil {
			own.Permissions = a.rolePermissions
		}
		if a.hasRestrictions {
			own.Restrictions = a.accessRestrictions
		}
		if number, err = t.number(own); err != nil {
			number = accessNobody
		}
	}
	n.state.Store(n.state.Load()&(1<<stateAccess-1) | number<<stateAccess)
	return err
}

// OnAccessChange sets the function that is told when permissions or restrictions
// of nodes changed, and whether values can be read at all: what somebody may read
// has to be found out again. nil ends it. It is called outside of all locks, on
// the goroutine that made the change.
func (s *Space) OnAccessChange(f func()) {
	if f == nil {
		s.accessHook.Store(nil)
		return
	}
	s.accessHook.Store(&f)
}

func (s *Space) notifyAccess() {
	if f := s.accessHook.Load(); f != nil {
		(*f)()
	}
}
