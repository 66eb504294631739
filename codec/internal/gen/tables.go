package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/uahive/uahive/codec/internal/gen/model"
	"github.com/uahive/uahive/codec/internal/gen/source"
)

// byTheme spreads the structures over files by the part of the standard. The
// structures of the services have no node and so no part; those of history
// among them (Part 11) go by their name.
func byTheme(list []*model.Structure) map[string][]*model.Structure {
	out := map[string][]*model.Structure{}
	for _, st := range list {
		theme := "services"
		switch {
		case st.Part != 0:
			theme = fmt.Sprintf("part%02d", st.Part)
		case strings.HasSuffix(st.Name, "Request"), strings.HasSuffix(st.Name, "Response"):
			theme = "messages"
		case strings.Contains(st.Name, "History"), strings.HasSuffix(st.Name, "Details"):
			theme = "part11"
		}
		name := "types_" + theme + "_gen.go"
		out[name] = append(out[name], st)
	}
	return out
}

// emitRegistry prints what finds a structure by the number of its binary
// encoding. Switches cost nothing until they are used, unlike a map that is
// filled when the program starts.
func emitRegistry(list []*model.Structure) *source.File {
	f := &source.File{Package: "ua"}
	list = slices.Clone(list)
	list = slices.DeleteFunc(list, func(st *model.Structure) bool { return st.EncodingID == 0 })
	slices.SortFunc(list, func(a, b *model.Structure) int { return int(a.EncodingID) - int(b.EncodingID) })
	f.P("// newGenerated returns a new value of the structure with that binary encoding")
	f.P("// in namespace 0, nil when there is none.")
	f.P("func newGenerated(id uint32) Structure {")
	f.P("switch id {")
	for _, st := range list {
		f.P("case %d:", st.EncodingID)
		f.P("return new(%s)", goName(st.Name))
	}
	f.P("}")
	f.P("return nil")
	f.P("}")
	f.P("")
	f.P("// TypeName returns the standard's name of the structure with that binary")
	f.P("// encoding in namespace 0, \"\" when there is none.")
	f.P("func TypeName(encodingID uint32) string {")
	f.P("switch encodingID {")
	for _, st := range list {
		f.P("case %d:", st.EncodingID)
		f.P("return %q", st.Name)
	}
	f.P("}")
	f.P("return \"\"")
	f.P("}")
	f.P("")
	f.P("// encodingIDs lists the binary encodings of all generated structures, ascending.")
	f.P("var encodingIDs = [...]uint32{")
	for _, st := range list {
		f.P("%d,", st.EncodingID)
	}
	f.P("}")
	return f
}

// emitStatus prints the status codes and a sorted table of their names, which
// stand in one string so that the table holds no pointers.
func emitStatus(codes []model.StatusCode) *source.File {
	f := &source.File{Package: "ua", Imports: []string{"slices"}}
	f.P("// The status codes of Part 4, 7.39 and Part 6, A.2.")
	f.P("const (")
	for _, c := range codes {
		f.P("%s StatusCode = 0x%08X", goName(c.Name), c.Value)
	}
	f.P(")")
	f.P("")
	f.P("// statusName returns the standard's name of a code without regard to the")
	f.P("// info bits, \"\" when it has none.")
	f.P("func statusName(code uint32) string {")
	f.P("i, ok := slices.BinarySearch(statusValues[:], uint16(code>>16))")
	f.P("if !ok {")
	f.P("return \"\"")
	f.P("}")
	f.P("return statusNames[statusEnds[i]:statusEnds[i+1]]")
	f.P("}")
	f.P("")
	f.P("// statusValues are the upper halves of the codes, the only part that tells them apart.")
	f.P("var statusValues = [...]uint16{")
	for _, c := range codes {
		f.P("0x%04X,", c.Value>>16)
	}
	f.P("}")
	f.P("")
	f.P("var statusEnds = [...]uint16{")
	end := 0
	f.P("0,")
	for _, c := range codes {
		end += len(c.Name)
		f.P("%d,", end)
	}
	f.P("}")
	f.P("")
	f.P("const statusNames = \"\" +")
	for i, c := range codes {
		plus := " +"
		if i == len(codes)-1 {
			plus = ""
		}
		f.P("%q%s", c.Name, plus)
	}
	return f
}

// emitIDs prints one declaration per line: in a block, the alignment of values
// behind names of up to 150 letters would be most of the file.
func emitIDs(ids []model.NodeIDName) *source.File {
	f := &source.File{Package: "id"}
	for _, n := range ids {
		f.P("const %s = %d", n.Name, n.ID)
	}
	return f
}
