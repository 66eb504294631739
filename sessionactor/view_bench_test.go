package sessionactor

import (
	"fmt"
	"testing"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// folderOf returns a space with a folder of n Int32 variables.
func folderOf(t testing.TB, n int) (space *addrspace.Space, folder ua.NodeID) {
	t.Helper()
	space = addrspace.New(addrspace.Options{})
	if err := space.LoadNS0(); err != nil {
		t.Fatal(err)
	}
	f, err := space.AddNode(addrspace.NodeSpec{
		ID: ua.NumericID(1, 1), Class: ua.NodeClassObject, BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: "Folder"},
		Parent: ua.NumericID(0, id.ObjectsFolder), TypeDefinition: ua.NumericID(0, id.FolderType),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		_, err := space.AddNode(addrspace.NodeSpec{
			ID: ua.NumericID(1, uint32(1000+i)), Class: ua.NodeClassVariable,
			BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: fmt.Sprintf("BenchmarkValue%d", i)},
			Parent:     f.ID(), Value: ua.Int32Variant(int32(i)), AccessLevel: addrspace.ReadWrite,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return space, f.ID()
}

// BenchmarkBrowse is what a Browse of 100 references costs between the decoded
// request header and the encoded response, without channel and socket.
func BenchmarkBrowse(b *testing.B) {
	space, folder := folderOf(b, 100)
	service := New(Config{Space: space})
	session := &Session{service: service}
	for name, description := range map[string]ua.BrowseDescription{
		"All": {NodeID: folder, ResultMask: uint32(ua.BrowseResultMaskAll)},
		"Hierarchical": {
			NodeID: folder, ReferenceTypeID: ua.NumericID(0, id.HierarchicalReferences), IncludeSubtypes: true,
			ResultMask: uint32(ua.BrowseResultMaskAll),
		},
		"Names": {
			NodeID: folder, ReferenceTypeID: ua.NumericID(0, id.HierarchicalReferences), IncludeSubtypes: true,
			ResultMask: uint32(ua.BrowseResultMaskBrowseName),
		},
	} {
		b.Run(name, func(b *testing.B) {
			request := &ua.BrowseRequest{NodesToBrowse: []ua.BrowseDescription{description}}
			raw := request.AppendTo(nil)
			var req ua.BrowseRequest
			var d codec.Decoder
			dst := make([]byte, 0, 64<<10)
			b.ReportAllocs()
			for b.Loop() {
				d.Reset(raw, &service.decoding)
				d.Alias(true)
				req.DecodeFrom(&d)
				if service.checkBrowse(&req) != ua.Good {
					b.Fatal()
				}
				dst = dst[:0]
				for i := range req.NodesToBrowse {
					c, code := service.cursor(&req.NodesToBrowse[i], 0)
					if code != ua.Good {
						b.Fatal(code)
					}
					dst = session.appendBrowse(dst, &c)
				}
			}
			b.ReportMetric(float64(len(dst)), "bytes")
		})
	}
}
