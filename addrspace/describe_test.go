package addrspace

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// browse decodes what AppendTo encodes.
func browse(t interface{ Fatalf(string, ...any) }, refs Refs, f *Filter) []ua.ReferenceDescription {
	encoded, next, count := refs.AppendTo(nil, 0, f, 1<<30)
	if next != refs.Len() {
		t.Fatalf("stopped at %d of %d", next, refs.Len())
	}
	d := codec.NewDecoder(encoded, nil)
	list := make([]ua.ReferenceDescription, count)
	for i := range list {
		list[i].DecodeFrom(d)
	}
	if d.Err() != nil || d.Remaining() > 0 {
		t.Fatalf("%d references in %x: %v, %d bytes are left", count, encoded, d.Err(), d.Remaining())
	}
	return list
}

// expected is Browse by the letter: one look at each reference, field by field
// (Part 4, 5.9.2.2 and 7.30).
func expected(refs Refs, f *Filter) []ua.ReferenceDescription {
	var list []ua.ReferenceDescription
	for _, r := range refs.All() {
		if f.Direction != ua.BrowseDirectionBoth && r.Inverse != (f.Direction == ua.BrowseDirectionInverse) ||
			!f.Types.Has(r.Type) || f.Classes != 0 && f.Classes&r.Target.Class() == 0 {
			continue
		}
		var d ua.ReferenceDescription
		d.NodeID.NodeID = r.Target.ID()
		if f.Mask&ua.BrowseResultMaskReferenceTypeID != 0 {
			d.ReferenceTypeID = r.Type.ID()
		}
		d.IsForward = f.Mask&ua.BrowseResultMaskIsForward != 0 && !r.Inverse
		if f.Mask&ua.BrowseResultMaskNodeClass != 0 {
			d.NodeClass = r.Target.Class()
		}
		if f.Mask&ua.BrowseResultMaskBrowseName != 0 {
			d.BrowseName = r.Target.BrowseName()
		}
		if f.Mask&ua.BrowseResultMaskDisplayName != 0 {
			d.DisplayName = r.Target.DisplayName()
		}
		if t := r.Target.TypeDefinition(); t != nil && f.Mask&ua.BrowseResultMaskTypeDefinition != 0 {
			d.TypeDefinition.NodeID = t.ID()
		}
		list = append(list, d)
	}
	return list
}

func TestBrowseSaysWhatTheNodesAre(t *testing.T) {
	s := newSpace(t)
	text := rapid.StringOfN(rapid.RuneFrom([]rune("aé漢")), 0, 6, -1)
	rapid.Check(t, func(rt *rapid.T) {
		folder := object(t, s, "Folder"+text.Draw(rt, "folder")+"!", ua.NodeID{})
		defer s.RemoveTree(folder.ID())
		for i := range rapid.IntRange(0, 12).Draw(rt, "children") {
			name := ua.QualifiedName{NamespaceIndex: uint16(i % 3), Name: "N" + text.Draw(rt, "name")}
			spec := NodeSpec{BrowseName: name, Class: ua.NodeClassObject, Parent: folder.ID()}
			if rapid.Bool().Draw(rt, "variable") {
				spec.Class = ua.NodeClassVariable
			}
			if rapid.Bool().Draw(rt, "property") && spec.Class == ua.NodeClassVariable {
				spec.ReferenceType = ns0ID(id.HasProperty)
			}
			switch rapid.IntRange(0, 4).Draw(rt, "id") {
			case 0:
				spec.ID = ua.StringID(2, folder.ID().Text()+string(rune('A'+i)))
			case 1:
				spec.ID = ua.OpaqueID(2, []byte{byte(i), 1})
			case 2:
				spec.ID = ua.GUIDID(2, ua.Guid{byte(i), 1})
			case 3:
				spec.ID = ua.NumericID(2, 70_000+uint32(i))
			}
			if rapid.Bool().Draw(rt, "display") {
				spec.DisplayName = ua.LocalizedText{Locale: text.Draw(rt, "locale"), Text: text.Draw(rt, "text")}
			}
			n, err := s.AddNode(spec)
			if err != nil {
				rt.Fatal(err)
			}
			if got := n.BrowseName(); got != name {
				rt.Fatalf("BrowseName = %v, want %v", got, name)
			}
			if !spec.ID.IsNull() && n.ID() != spec.ID {
				rt.Fatalf("ID = %v, want %v", n.ID(), spec.ID)
			}
			want := spec.DisplayName
			if want == (ua.LocalizedText{}) {
				want.Text = name.Name
			}
			if got := n.DisplayName(); got != want {
				rt.Fatalf("DisplayName = %v, want %v", got, want)
			}
		}
		f := Filter{
			Direction: ua.BrowseDirection(rapid.IntRange(0, 2).Draw(rt, "direction")),
			Mask:      ua.BrowseResultMask(rapid.IntRange(0, 63).Draw(rt, "mask")),
			Classes:   ua.NodeClass(rapid.IntRange(0, 3).Draw(rt, "classes")),
		}
		f.Types, _ = s.ReferenceTypes(rapid.SampledFrom([]ua.NodeID{
			{}, ns0ID(id.HierarchicalReferences), ns0ID(id.HasComponent), ns0ID(id.HasTypeDefinition),
		}).Draw(rt, "type"), rapid.Bool().Draw(rt, "subtypes"))
		refs := folder.References()
		want := expected(refs, &f)
		if got := browse(rt, refs, &f); !slices.Equal(got, want) {
			rt.Fatalf("%+v:\n%v, want\n%v", f, got, want)
		}
		if next := refs.Skip(0, &f); (next < refs.Len()) != (len(want) > 0) {
			rt.Fatalf("Skip = %d of %d, %d are wanted", next, refs.Len(), len(want))
		}
	})
}

// Names that change, and type definitions that come and go, are what the next
// Browse says.
func TestDescriptionFollowsTheNode(t *testing.T) {
	s := newSpace(t)
	folder := object(t, s, "Folder", ua.NodeID{})
	n := object(t, s, "Before", folder.ID())
	all := Filter{Direction: ua.BrowseDirectionForward, Mask: ua.BrowseResultMaskAll}
	all.Types, _ = s.ReferenceTypes(ns0ID(id.HasComponent), false)
	check := func(browseName string, display ua.LocalizedText, typeDef ua.NodeID) {
		t.Helper()
		list := browse(t, folder.References(), &all)
		if len(list) != 1 {
			t.Fatalf("%d references", len(list))
		}
		got := list[0]
		if got.BrowseName != name(browseName) || got.DisplayName != display || got.TypeDefinition.NodeID != typeDef {
			t.Errorf("%v %v %v, want %v %v %v", got.BrowseName, got.DisplayName, got.TypeDefinition, browseName, display, typeDef)
		}
		if n.BrowseName() != got.BrowseName || n.DisplayName() != display {
			t.Errorf("the node says %v %v", n.BrowseName(), n.DisplayName())
		}
	}
	text := func(s string) ua.LocalizedText { return ua.LocalizedText{Text: s} }
	set := func(a ua.AttributeID, v ua.Variant) {
		t.Helper()
		if code := n.SetAttribute(a, v); code != ua.Good {
			t.Fatal(code)
		}
	}
	base := ns0ID(id.BaseObjectType)
	check("Before", text("Before"), base)
	// The DisplayName follows the BrowseName as long as nobody gave it another.
	set(ua.AttributeIDBrowseName, ua.VariantOf(name("Between")))
	check("Between", text("Between"), base)
	german := ua.LocalizedText{Locale: "de", Text: "Presse"}
	set(ua.AttributeIDDisplayName, ua.VariantOf(german))
	check("Between", german, base)
	set(ua.AttributeIDBrowseName, ua.VariantOf(name("Press")))
	check("Press", german, base)
	set(ua.AttributeIDDisplayName, ua.VariantOf(text("Press")))
	set(ua.AttributeIDBrowseName, ua.VariantOf(name("After")))
	check("After", text("Press"), base)
	set(ua.AttributeIDDisplayName, ua.VariantOf(ua.LocalizedText{}))
	check("After", text("After"), base)
	if code := n.SetAttribute(ua.AttributeIDDisplayName, ua.Int32Variant(1)); code != ua.BadTypeMismatch {
		t.Errorf("a number is a DisplayName: %v", code)
	}

	typ, err := s.AddNode(NodeSpec{
		ID: ua.NumericID(2, 500), Class: ua.NodeClassObjectType, BrowseName: name("PressType"), Parent: base,
	})
	if err != nil {
		t.Fatal(err)
	}
	has := ns0ID(id.HasTypeDefinition)
	if err := errors.Join(s.RemoveReference(n.ID(), has, base), s.AddReference(n.ID(), has, typ.ID())); err != nil {
		t.Fatal(err)
	}
	check("After", text("After"), typ.ID())
	if err := s.RemoveNode(typ.ID()); err != nil {
		t.Fatal(err)
	}
	check("After", text("After"), ua.NodeID{})
	checkMirrors(t, s)
}

// A page ends where it is full, and the next one goes on there.
func TestAppendToPages(t *testing.T) {
	s := newSpace(t)
	folder := fillNumbers(t, s, 1000)
	f := Filter{Mask: ua.BrowseResultMaskAll}
	f.Types, _ = s.ReferenceTypes(ns0ID(id.HierarchicalReferences), true)
	refs, buffer, seen := folder.References(), make([]byte, 0, 64<<10), 0
	if n := testing.AllocsPerRun(10, func() {
		seen = 0
		for pos := refs.Skip(0, &f); pos < refs.Len(); pos = refs.Skip(pos, &f) {
			_, next, count := refs.AppendTo(buffer, pos, &f, 7)
			if want := min(7, 1000-seen); count != want {
				t.Fatalf("a page of %d references, want %d", count, want)
			}
			seen, pos = seen+count, next
		}
	}); n != 0 {
		t.Errorf("paging allocates %v times", n)
	}
	if seen != 1000 {
		t.Errorf("%d references", seen)
	}
}
