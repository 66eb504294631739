package ua

import (
	"sync"
	"sync/atomic"
)

// registered holds the structures that are not of the standard. It is
// replaced as a whole on registration, which is rare, so that decoders read
// it without a lock.
var (
	registered atomic.Pointer[map[NodeID]func() Structure]
	registerMu sync.Mutex
)

// RegisterStructure makes decoders turn ExtensionObjects with this encoding
// id into what create returns. Structures of the standard are known without
// registration and cannot be replaced. It may be called at any time.
func RegisterStructure(encodingID NodeID, create func() Structure) {
	registerMu.Lock()
	defer registerMu.Unlock()
	next := make(map[NodeID]func() Structure)
	if old := registered.Load(); old != nil {
		for id, f := range *old {
			next[id] = f
		}
	}
	next[encodingID.Clone()] = create
	registered.Store(&next)
}

// NewStructure returns a new, zero structure for the id of its Default Binary
// encoding, or nil when the type is unknown.
func NewStructure(encodingID NodeID) Structure {
	if encodingID.ns == 0 && encodingID.kind == uint8(IDTypeNumeric) {
		if s := newGenerated(encodingID.num); s != nil {
			return s
		}
	}
	if m := registered.Load(); m != nil {
		if create := (*m)[encodingID]; create != nil {
			return create()
		}
	}
	return nil
}
