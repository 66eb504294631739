package ua

import (
	"strconv"
	"strings"

	"github.com/uahive/uahive/codec"
)

// ExpandedNodeID names a node that may be in another server, or whose
// namespace is given by its URI.
type ExpandedNodeID struct {
	NodeID NodeID
	// NamespaceURI replaces the namespace index of NodeID unless it is "".
	NamespaceURI string
	// ServerIndex is 0 for this server.
	ServerIndex uint32
}

// Expanded returns n as an ExpandedNodeID of this server.
func (n NodeID) Expanded() ExpandedNodeID { return ExpandedNodeID{NodeID: n} }

// AppendTo appends the encoding.
func (e ExpandedNodeID) AppendTo(dst []byte) []byte {
	var flags byte
	if e.NamespaceURI != "" {
		flags |= expandedNamespaceURI
	}
	if e.ServerIndex != 0 {
		flags |= expandedServerIndex
	}
	dst = e.NodeID.append(dst, flags)
	if e.NamespaceURI != "" {
		dst = codec.AppendString(dst, e.NamespaceURI)
	}
	if e.ServerIndex != 0 {
		dst = codec.AppendUint32(dst, e.ServerIndex)
	}
	return dst
}

// DecodeFrom reads an ExpandedNodeID.
func (e *ExpandedNodeID) DecodeFrom(d *codec.Decoder) {
	const flags = expandedNamespaceURI | expandedServerIndex
	encoding := d.Uint8()
	e.NodeID.decode(d, encoding&^flags)
	e.NamespaceURI = ""
	e.ServerIndex = 0
	if encoding&flags == 0 {
		return
	}
	if encoding&expandedNamespaceURI != 0 {
		e.NamespaceURI = d.String()
	}
	if encoding&expandedServerIndex != 0 {
		e.ServerIndex = d.Uint32()
	}
}

// IsNull reports whether the NodeID is null.
func (e ExpandedNodeID) IsNull() bool { return e.NodeID.IsNull() && e.NamespaceURI == "" }

// IsLocal reports whether the id is one of this server in indexed form, so
// that NodeID alone says everything.
func (e ExpandedNodeID) IsLocal() bool { return e.NamespaceURI == "" && e.ServerIndex == 0 }

// Clone returns a copy that does not share memory.
func (e ExpandedNodeID) Clone() ExpandedNodeID {
	e.NodeID = e.NodeID.Clone()
	e.NamespaceURI = strings.Clone(e.NamespaceURI)
	return e
}

// escapeURI makes a URI fit between "nsu=" and ";" (Part 6, 5.1.12).
var (
	escapeURI   = strings.NewReplacer("%", "%25", ";", "%3B")
	unescapeURI = strings.NewReplacer("%25", "%", "%3B", ";", "%3b", ";")
)

// String returns the text form, "svr=1;nsu=urn:a;s=b" in full.
func (e ExpandedNodeID) String() string {
	var b strings.Builder
	if e.ServerIndex != 0 {
		b.WriteString("svr=" + strconv.FormatUint(uint64(e.ServerIndex), 10) + ";")
	}
	id := e.NodeID
	if e.NamespaceURI != "" {
		b.WriteString("nsu=" + escapeURI.Replace(e.NamespaceURI) + ";")
		id.ns = 0
	}
	b.WriteString(id.String())
	return b.String()
}

// ParseExpandedNodeID reads the text form that String writes. The error is
// BadNodeIdInvalid.
func ParseExpandedNodeID(s string) (ExpandedNodeID, error) {
	var e ExpandedNodeID
	if rest, ok := strings.CutPrefix(s, "svr="); ok {
		index, id, found := strings.Cut(rest, ";")
		v, err := strconv.ParseUint(index, 10, 32)
		if !found || err != nil {
			return ExpandedNodeID{}, BadNodeIDInvalid
		}
		e.ServerIndex, s = uint32(v), id
	}
	if rest, ok := strings.CutPrefix(s, "nsu="); ok {
		uri, id, found := strings.Cut(rest, ";")
		if !found || uri == "" {
			return ExpandedNodeID{}, BadNodeIDInvalid
		}
		e.NamespaceURI, s = unescapeURI.Replace(uri), id
	}
	id, err := ParseNodeID(s)
	if err != nil || e.NamespaceURI != "" && id.ns != 0 {
		return ExpandedNodeID{}, BadNodeIDInvalid
	}
	e.NodeID = id
	return e, nil
}
