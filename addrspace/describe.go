package addrspace

import (
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// description is what a Browse says of a node, in the form in which it is sent:
// the fields NodeId, BrowseName, DisplayName, NodeClass and TypeDefinition of a
// ReferenceDescription (Part 4, 7.30). It is encoded when one of them changes,
// which is next to never, and copied into each answer.
//
// It is also where a node keeps its names, so that it takes no memory of its
// own. A local ExpandedNodeId is encoded as the NodeId.
type description string

// describe encodes the description of a node.
func (s *Space) describe(n *Node, name ua.QualifiedName, display ua.LocalizedText, typeDef *Node) description {
	s.scratch = appendDescription(s.scratch[:0], n, name, display, typeDef)
	return description(s.scratch)
}

func appendDescription(dst []byte, n *Node, name ua.QualifiedName, display ua.LocalizedText, typeDef *Node) []byte {
	dst = n.id.AppendTo(dst)
	dst = name.AppendTo(dst)
	dst = display.AppendTo(dst)
	dst = codec.AppendInt32(dst, int32(n.class))
	if typeDef != nil {
		return typeDef.id.AppendTo(dst)
	}
	return ua.NodeID{}.AppendTo(dst)
}

// description returns the one that holds now.
func (n *Node) description() description {
	if a := n.attrs.Load(); a != nil && a.described != "" {
		return a.described
	}
	return n.described
}

// redescribe publishes the description after a change of names or of the type
// definition. The structure lock is held.
func (n *Node) redescribe(name ua.QualifiedName, display ua.LocalizedText, own bool) {
	d := n.space.describe(n, name, display, n.TypeDefinition())
	n.update(func(a *attrs) { a.described, a.displayName = d, own })
}

// retype is redescribe for a node whose type definition came or went.
func (n *Node) retype() { n.redescribe(n.BrowseName(), n.DisplayName(), n.rare().displayName) }

// rename changes the BrowseName, and the DisplayName with it unless that was
// set by itself. The structure lock is held.
func (n *Node) rename(name ua.QualifiedName) {
	display, own := n.DisplayName(), n.rare().displayName
	if own = own || display != (ua.LocalizedText{Text: n.BrowseName().Name}); !own {
		display.Text = name.Name
	}
	n.redescribe(name, display, own)
}

// setDisplayName changes the DisplayName; the null one brings back the text of
// the BrowseName. The structure lock is held.
func (n *Node) setDisplayName(display ua.LocalizedText) {
	name, own := n.BrowseName(), display != (ua.LocalizedText{})
	if !own {
		display.Text = name.Name
	}
	n.redescribe(name, display, own)
}

// The encodings that stand for fields which were not asked for: those of a null
// QualifiedName, LocalizedText, NodeClass and ExpandedNodeId.
const (
	nullName    = "\x00\x00\xff\xff\xff\xff"
	nullText    = "\x00"
	nullClass   = "\x00\x00\x00\x00"
	nullID      = "\x00\x00"
	textLocale  = 0x01 // Part 6, 5.2.2.14
	textPresent = 0x02
)

// id returns the encoded NodeId.
func (d description) id() description {
	switch d[0] { // Part 6, 5.2.2.9
	case 0x00:
		return d[:2]
	case 0x01:
		return d[:4]
	case 0x02:
		return d[:7]
	case 0x04:
		return d[:19]
	}
	return d[:7+d.int32(3)]
}

// idText returns the text of a string id.
func (d description) idText() string { return string(d.id()[7:]) }

func (d description) int32(at int) int {
	b := d[at : at+4]
	return int(int32(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24))
}

// text returns the String at a place and the place behind it.
func (d description) text(at int) (text string, end int) {
	at += 4
	end = at + max(d.int32(at-4), 0)
	return string(d[at:end]), end
}

func (d description) browseName() ua.QualifiedName {
	at := len(d.id())
	name, _ := d.text(at + 2)
	return ua.QualifiedName{NamespaceIndex: uint16(d[at]) | uint16(d[at+1])<<8, Name: name}
}

func (d description) displayName() (t ua.LocalizedText) {
	_, at := d.text(len(d.id()) + 2)
	mask := d[at]
	at++
	if mask&textLocale != 0 {
		t.Locale, at = d.text(at)
	}
	if mask&textPresent != 0 {
		t.Text, _ = d.text(at)
	}
	return t
}

// appendMasked appends the description with the fields that the mask asks for;
// the others are null.
func (d description) appendMasked(dst []byte, mask ua.BrowseResultMask) []byte {
	name := len(d.id())
	_, display := d.text(name + 2)
	class := display + 1
	if d[display]&textLocale != 0 {
		_, class = d.text(class)
	}
	if d[display]&textPresent != 0 {
		_, class = d.text(class)
	}
	dst = append(dst, d[:name]...)
	dst = appendField(dst, d[name:display], nullName, mask&ua.BrowseResultMaskBrowseName != 0)
	dst = appendField(dst, d[display:class], nullText, mask&ua.BrowseResultMaskDisplayName != 0)
	dst = appendField(dst, d[class:class+4], nullClass, mask&ua.BrowseResultMaskNodeClass != 0)
	return appendField(dst, d[class+4:], nullID, mask&ua.BrowseResultMaskTypeDefinition != 0)
}

func appendField(dst []byte, field description, null string, wanted bool) []byte {
	if wanted {
		return append(dst, field...)
	}
	return append(dst, null...)
}
