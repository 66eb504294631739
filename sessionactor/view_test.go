package sessionactor_test

import (
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// browses asks for everything below the Objects folder, so many times in one
// request: 100 variables, and the standard's own four children.
func browses(n int, mask ua.BrowseResultMask) *ua.BrowseRequest {
	r := new(ua.BrowseRequest)
	for range n {
		r.NodesToBrowse = append(r.NodesToBrowse, ua.BrowseDescription{
			NodeID: ua.NumericID(0, id.ObjectsFolder), ReferenceTypeID: ua.NumericID(0, id.HierarchicalReferences),
			IncludeSubtypes: true, ResultMask: uint32(mask),
		})
	}
	return r
}

// BenchmarkServeBrowse is a Browse as the reader of a channel hands it over,
// without encryption and socket.
func BenchmarkServeBrowse(b *testing.B) {
	w := newBench(b)
	for _, c := range []struct {
		name    string
		request ua.Structure
	}{
		{"1", browses(1, ua.BrowseResultMaskAll)},
		{"10", browses(10, ua.BrowseResultMaskAll)},
		{"Names", browses(1, ua.BrowseResultMaskBrowseName)},
	} {
		b.Run(c.name, func(b *testing.B) { w.run(b, c.request) })
	}
}
