package ua

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// String returns the text form of Part 6, 5.1.12: "i=85", "ns=2;s=Pump",
// "ns=1;g=09087e75-8e5e-499b-954f-f2a9603db28a", "ns=1;b=M/RbKBsRVkePCePcx24oRA==".
func (n NodeID) String() string {
	b := make([]byte, 0, 24+len(n.str))
	if n.ns != 0 {
		b = append(b, "ns="...)
		b = strconv.AppendUint(b, uint64(n.ns), 10)
		b = append(b, ';')
	}
	switch IDType(n.kind) {
	case IDTypeString:
		b = append(b, "s="...)
		b = append(b, n.str...)
	case IDTypeGuid:
		b = append(b, "g="...)
		b = append(b, n.GUID().String()...)
	case IDTypeOpaque:
		b = append(b, "b="...)
		b = base64.StdEncoding.AppendEncode(b, []byte(n.str))
	default:
		b = append(b, "i="...)
		b = strconv.AppendUint(b, uint64(n.num), 10)
	}
	return string(b)
}

// ParseNodeID reads the text form that String writes. The error is
// BadNodeIdInvalid.
func ParseNodeID(s string) (NodeID, error) {
	var ns uint64
	if rest, ok := strings.CutPrefix(s, "ns="); ok {
		index, id, found := strings.Cut(rest, ";")
		v, err := strconv.ParseUint(index, 10, 16)
		if !found || err != nil {
			return NodeID{}, BadNodeIDInvalid
		}
		ns, s = v, id
	}
	if len(s) < 2 || s[1] != '=' {
		return NodeID{}, BadNodeIDInvalid
	}
	text := s[2:]
	switch s[0] {
	case 'i':
		v, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return NodeID{}, BadNodeIDInvalid
		}
		return NumericID(uint16(ns), uint32(v)), nil
	case 's':
		return StringID(uint16(ns), text), nil
	case 'g':
		g, err := ParseGuid(text)
		if err != nil {
			return NodeID{}, BadNodeIDInvalid
		}
		return GUIDID(uint16(ns), g), nil
	case 'b':
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return NodeID{}, BadNodeIDInvalid
		}
		return OpaqueID(uint16(ns), b), nil
	}
	return NodeID{}, BadNodeIDInvalid
}
