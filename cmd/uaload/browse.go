package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// loadBrowse browses one node: all its hierarchical references forward, with
// everything that the server has to tell of each.
func loadBrowse(ctx context.Context, c *command, args []string, out io.Writer) error {
	var (
		t    target
		s    shape
		text string
		mask uint
	)
	set := c.flags()
	t.add(set)
	s.add(set, 1, "nodes in each request: the same one, so many times")
	set.StringVar(&text, "node", "i=85", "`node` to browse; i=85 is Objects, and ns=1;i=1000 a folder of \"uaload serve\" with exactly 100 references")
	set.UintVar(&mask, "classes", 0, "`mask` of the node classes that are wanted, as 2 for variables; 0: all")
	if err := parse(set, args); err != nil {
		return err
	}
	if err := t.check(); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	node, err := ua.ParseNodeID(text)
	if err != nil {
		return wrong("node", text, `write a NodeId like "i=85"`)
	}
	const allClasses = 0xff
	if mask > allClasses {
		return wrong("classes", mask, "write a mask of node classes, at most %d", allClasses)
	}
	references := 0
	r, err := runLoad(ctx, &t, &s, func(ctx context.Context, c *client.Client) (w *work, err error) {
		w, references, err = browseWork(ctx, c, node, s.nodes, uint32(mask))
		return w, err
	})
	if r == nil {
		return err
	}
	r.Command, r.References = c.name, references
	return printed(r.print(out, t.json), err)
}

// browseWork prepares the request, and takes the server's first answer for the
// right one: the references of a node do not change while it is browsed. It
// returns the number of references as well.
func browseWork(ctx context.Context, c *client.Client, node ua.NodeID, nodes int, classes uint32) (*work, int, error) {
	const everything = 0x3f // of a ReferenceDescription (Part 4, 5.9.2.2)
	request := new(ua.BrowseRequest)
	for range nodes {
		request.NodesToBrowse = append(request.NodesToBrowse, ua.BrowseDescription{
			NodeID: node, BrowseDirection: ua.BrowseDirectionForward,
			ReferenceTypeID: ua.NumericID(0, id.HierarchicalReferences), IncludeSubtypes: true,
			NodeClassMask: classes, ResultMask: everything,
		})
	}
	var first ua.BrowseResponse
	if err := c.Do(ctx, request, &first); err != nil {
		return nil, 0, err
	}
	references, err := checkBrowsed(first.Results, nodes, -1)
	if err != nil {
		return nil, 0, fmt.Errorf("node %v: %w; name another one with -node", node, err)
	}
	if references == 0 {
		return nil, 0, fmt.Errorf("node %v has no references to browse; name another one with -node", node)
	}
	prepared, err := prepare([]*ua.BrowseRequest{request})
	if err != nil {
		return nil, 0, err
	}
	var right atomic.Pointer[[]byte] // results as the server encodes them
	verify := func(body []byte) error {
		var resp ua.BrowseResponse
		if err := decode(body, &resp); err != nil {
			return err
		}
		_, err := checkBrowsed(resp.Results, nodes, references)
		if _, rest, ok := results(body); ok && err == nil {
			rest = bytes.Clone(rest)
			right.Store(&rest)
		}
		return err
	}
	return &work{
		requests: prepared,
		verify:   verify,
		check: func(body []byte, bad *tally) bool {
			// The same bytes say the same; others may do so, too.
			if count, rest, ok := results(body); ok && count == nodes && bytes.Equal(rest, *right.Load()) {
				return true
			}
			err := verify(body)
			if err != nil {
				bad.add(ua.StatusOf(err))
			}
			return err == nil
		},
	}, references, nil
}

// checkBrowsed judges decoded results of a Browse and returns the number of
// references in all of them. want is how many there should be; -1: any number.
func checkBrowsed(results []ua.BrowseResult, nodes, want int) (references int, err error) {
	if err := sameCount(nodes, len(results)); err != nil {
		return 0, err
	}
	for i := range results {
		r := &results[i]
		switch {
		case r.StatusCode.IsBad():
			return 0, r.StatusCode
		case len(r.ContinuationPoint) > 0:
			return 0, fmt.Errorf("the server sends %d references and keeps the rest for BrowseNext: %w", len(r.References), ua.BadTooManyOperations)
		}
		references += len(r.References)
	}
	if want >= 0 && references != want {
		return 0, fmt.Errorf("%d references where there were %d before: %w", references, want, ua.BadUnknownResponse)
	}
	return references, nil
}
