package addrspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

func TestNamespaces(t *testing.T) {
	s := New(Options{Limits: Limits{Namespaces: 10}})
	if err := s.LoadNS0(); err != nil {
		t.Fatal(err)
	}
	if err := s.LoadNS0(); err == nil {
		t.Error("namespace 0 is loaded twice")
	}
	var w recorder
	array := s.Node(ns0ID(id.Server_NamespaceArray)).Variable()
	array.Watch(&w)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range 8 {
				if _, err := s.AddNamespace(fmt.Sprintf("urn:%d", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	uris := s.Namespaces()
	if len(uris) != 10 || uris[0] != NamespaceUA || uris[1] != "urn:uahive" {
		t.Fatalf("namespaces %v", uris)
	}
	for i, uri := range uris {
		if got, ok := s.NamespaceIndex(uri); !ok || got != uint16(i) {
			t.Errorf("NamespaceIndex(%q) = %d, %v", uri, got, ok)
		}
		if got, err := s.AddNamespace(uri); err != nil || got != uint16(i) {
			t.Errorf("AddNamespace(%q) = %d, %v", uri, got, err)
		}
	}
	if _, err := s.AddNamespace("urn:more"); err == nil {
		t.Error("more namespaces than the limit")
	}
	if _, err := s.AddNamespace(""); !errors.Is(err, ua.BadInvalidArgument) {
		t.Errorf("empty URI: %v", err)
	}
	if _, ok := s.NamespaceIndex("urn:unknown"); ok {
		t.Error("an unknown URI has an index")
	}
	if got, _ := ua.As[[]string](array.Load().Value); !slices.Equal(got, uris) || len(w.values) != 8 {
		t.Errorf("NamespaceArray = %v after %d changes", got, len(w.values))
	}
}

type tagManager struct{}

func (tagManager) Read(_ context.Context, items []ReadItem) {
	for i := range items {
		items[i].Result = ua.DataValue{Value: ua.Int32Variant(1)}
	}
}

var _ Reader = tagManager{}

func TestMount(t *testing.T) {
	s := newSpace(t)
	if err := s.Mount(2, tagManager{}); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Manager(2).(Reader); !ok || s.Manager(1) != nil {
		t.Error("the manager is not found")
	}
	for name, err := range map[string]error{
		"twice":             s.Mount(2, tagManager{}),
		"unknown namespace": s.Mount(3, tagManager{}),
		"namespace 0":       s.Mount(0, tagManager{}),
		"not a manager":     s.Mount(1, 42),
	} {
		if err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
	if err := s.Mount(2, nil); err != nil || s.Manager(2) != nil {
		t.Errorf("taking away: %v", err)
	}
}
