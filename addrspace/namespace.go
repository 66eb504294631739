package addrspace

import (
	"fmt"
	"slices"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// NamespaceUA is the URI of namespace 0.
const NamespaceUA = "http://opcfoundation.org/UA/"

// Namespaces returns the URIs by index. The slice must not be changed.
func (s *Space) Namespaces() []string { return *s.namespaces.Load() }

// NamespaceIndex returns the index of a namespace URI.
func (s *Space) NamespaceIndex(uri string) (uint16, bool) {
	i := slices.Index(s.Namespaces(), uri)
	return uint16(max(i, 0)), i >= 0
}

// AddNamespace returns the index of a namespace and adds it to the table when
// it is new. Indexes never change while the space lives (Part 5, 6.3.1). The
// NamespaceArray variable follows.
func (s *Space) AddNamespace(uri string) (uint16, error) {
	if uri == "" {
		return 0, fmt.Errorf("addrspace: namespace without a URI: %w", ua.BadInvalidArgument)
	}
	if i, ok := s.NamespaceIndex(uri); ok {
		return i, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.Namespaces()
	if i := slices.Index(old, uri); i >= 0 {
		return uint16(i), nil
	}
	if len(old) >= s.limits.Namespaces {
		return 0, fmt.Errorf("addrspace: namespace %q: %d namespaces are the limit: %w", uri, len(old), ua.BadTooManyOperations)
	}
	uris := append(slices.Clip(old), uri)
	s.namespaces.Store(&uris)
	s.publishNamespaces()
	return uint16(len(uris) - 1), nil
}

// publishNamespaces stores the table in the NamespaceArray variable. The
// structure lock is held, so that a shorter table never overwrites a longer one.
func (s *Space) publishNamespaces() {
	if n := s.Node(ns0ID(id.Server_NamespaceArray)); n != nil && n.Variable() != nil {
		n.Variable().Store(ua.DataValue{Value: ua.SliceVariant(s.Namespaces())})
	}
}
