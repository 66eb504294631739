package addrspace

import (
	"context"
	"errors"
	"maps"

	"github.com/uahive/uahive/codec/ua"
)

// Reader reads attributes.
type Reader interface {
	Read(ctx context.Context, items []ReadItem)
}

// ReadItem is one attribute to read. Read sets Result; index ranges and
// timestamps to return are applied by the caller.
//
// Result comes with the Status BadNodeIdUnknown, so that items which are left
// alone are answered with it. Set Result as a whole: a value that is put into
// Result.Value alone goes out with that status.
type ReadItem struct {
	NodeID    ua.NodeID
	Attribute ua.AttributeID
	MaxAge    float64 // milliseconds; 0: from the source
	Result    ua.DataValue
}

// Writer writes attributes.
type Writer interface {
	Write(ctx context.Context, items []WriteItem)
}

// WriteItem is one attribute to write. Write sets Result, which comes as
// BadNodeIdUnknown: ua.Good is set too. Types, ranks and rights are for the
// manager to check, for the server does not know its nodes.
type WriteItem struct {
	NodeID    ua.NodeID
	Attribute ua.AttributeID
	Range     ua.NumericRange
	Value     ua.DataValue
	Result    ua.StatusCode
}

// Browser lists references.
type Browser interface {
	Browse(ctx context.Context, items []BrowseItem)
}

// BrowseItem asks for all references of one node in both directions. Browse
// sets References, in an order that stays the same, and Result; filtering by
// direction, type and class, and paging, is done by the caller.
//
// Result comes as BadNodeIdUnknown. References count only when it is set to
// ua.Good; otherwise they are not seen, and a node that is not in the space is
// answered with Result. Of a node in the space the References are added to its
// own. Those without a NodeClass or with a ReferenceTypeID that the space does not
// know are left out by filters.
type BrowseItem struct {
	NodeID     ua.NodeID
	References []ua.ReferenceDescription
	Result     ua.StatusCode
}

// Caller calls methods.
type Caller interface {
	Call(ctx context.Context, items []CallItem)
}

// CallItem is one method call. Call sets Result, and Outputs and InputResults
// of the embedded Call. Result comes as BadNodeIdUnknown.
type CallItem struct {
	Call
	Result ua.StatusCode
}

// Sampler reads values for monitored items, when that differs from a Read (it
// may take values from a cache). Without it, monitored items use Reader.
type Sampler interface {
	Sample(ctx context.Context, items []ReadItem)
}

// Subscriber delivers changes of values by itself, instead of being sampled.
type Subscriber interface {
	// Watch registers a watcher for each item, and sets Current and Result.
	// Changes of one item are delivered in order, as [Watcher] says.
	Watch(ctx context.Context, items []WatchItem)
	// Unwatch ends what Watch began.
	Unwatch(items []WatchItem)
}

// WatchItem is one node to watch. Watch sets Result, which comes as
// BadNodeIdUnknown, and Current with its Status.
type WatchItem struct {
	NodeID  ua.NodeID
	Watcher Watcher
	Current ua.DataValue
	Result  ua.StatusCode
}

// Mount puts a manager behind a namespace. A nil manager takes it away. One
// that implements none of the interfaces is an error, as is a namespace that
// has a manager already.
func (s *Space) Mount(ns uint16, manager any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int(ns) >= len(s.Namespaces()) || ns == 0 {
		return errors.New("addrspace: mount: no such namespace")
	}
	next := maps.Clone(*s.managers.Load())
	if manager == nil {
		delete(next, ns)
	} else {
		switch manager.(type) {
		case Reader, Writer, Browser, Caller, Sampler, Subscriber:
		default:
			return errors.New("addrspace: mount: the manager implements none of the manager interfaces")
		}
		if next[ns] != nil {
			return errors.New("addrspace: mount: the namespace has a manager")
		}
		next[ns] = manager
	}
	s.managers.Store(&next)
	return nil
}

// Manager returns what is mounted on a namespace, or nil.
func (s *Space) Manager(ns uint16) any {
	m := *s.managers.Load()
	if len(m) == 0 {
		return nil
	}
	return m[ns]
}
