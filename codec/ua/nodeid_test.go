package ua

import (
	"testing"
)

// Part 6, 5.1.12 and 5.3.1.10.
func TestNodeIDText(t *testing.T) {
	for s, want := range map[string]NodeID{
		"i=0":               NumericID(0, 0),
		"i=85":              NumericID(0, 85),
		"ns=1;i=4294967295": NumericID(1, 4294967295),
		"ns=65535;s=a;b=c":  StringID(65535, "a;b=c"),
		"s=":                StringID(0, ""),
		"ns=10;s=Hello:水":   StringID(10, "Hello:水"),
		"g=09087e75-8e5e-499b-954f-f2a9603db28a": GUIDID(0, Guid{
			0x09, 0x08, 0x7e, 0x75, 0x8e, 0x5e, 0x49, 0x9b, 0x95, 0x4f, 0xf2, 0xa9, 0x60, 0x3d, 0xb2, 0x8a,
		}),
		"ns=1;b=M/RbKBsRVkePCePcx24oRA==": OpaqueID(1, []byte{
			0x33, 0xf4, 0x5b, 0x28, 0x1b, 0x11, 0x56, 0x47, 0x8f, 0x09, 0xe3, 0xdc, 0xc7, 0x6e, 0x28, 0x44,
		}),
	} {
		if got, err := ParseNodeID(s); err != nil || got != want {
			t.Errorf("ParseNodeID(%q) = %v, %v", s, got, err)
		}
		if want.String() != s {
			t.Errorf("String() = %q, want %q", want, s)
		}
	}
	for _, s := range []string{
		"", "85", "i", "i=", "i=-1", "i=4294967296", "i=x", "x=1", "ns=1", "ns=;i=1", "ns=65536;i=1", "ns=-1;i=1", "ns=1,i=1",
		"g=09087e75", "g=09087e75-8e5e-499b-954f-f2a9603db28x", "g=09087e758e5e499b954ff2a9603db28a", "b=!", "b=M",
	} {
		if n, err := ParseNodeID(s); err != BadNodeIDInvalid || n != (NodeID{}) {
			t.Errorf("ParseNodeID(%q) = %v, %v", s, n, err)
		}
	}
}

func TestExpandedNodeIDText(t *testing.T) {
	for s, want := range map[string]ExpandedNodeID{
		"i=85":                     NumericID(0, 85).Expanded(),
		"svr=1;ns=2;i=3":           {NodeID: NumericID(2, 3), ServerIndex: 1},
		"nsu=urn:a%3Bb%25;s=x":     {NodeID: StringID(0, "x"), NamespaceURI: "urn:a;b%"},
		"svr=4;nsu=http://x/;i=17": {NumericID(0, 17), "http://x/", 4},
	} {
		if got, err := ParseExpandedNodeID(s); err != nil || got != want {
			t.Errorf("ParseExpandedNodeID(%q) = %v, %v", s, got, err)
		}
		if want.String() != s {
			t.Errorf("String() = %q, want %q", want, s)
		}
	}
	for _, s := range []string{"svr=;i=1", "svr=1", "svr=4294967296;i=1", "nsu=;i=1", "nsu=urn:a", "nsu=urn:a;ns=1;i=1"} {
		if e, err := ParseExpandedNodeID(s); err != BadNodeIDInvalid {
			t.Errorf("ParseExpandedNodeID(%q) = %v, %v", s, e, err)
		}
	}
}

// Part 3, 8.2.4: what counts as a null NodeId.
func TestNullNodeID(t *testing.T) {
	for _, n := range []NodeID{{}, NumericID(0, 0), StringID(0, ""), GUIDID(0, Guid{}), OpaqueID(0, nil)} {
		if !n.IsNull() || !n.Expanded().IsNull() {
			t.Errorf("%v is not null", n)
		}
	}
	for _, n := range []NodeID{NumericID(1, 0), NumericID(0, 1), StringID(0, "0"), StringID(1, ""), GUIDID(0, exampleGuid), OpaqueID(0, []byte{0})} {
		if n.IsNull() {
			t.Errorf("%v is null", n)
		}
	}
}

// Ids of different kinds and namespaces never meet in a map, and an accessor
// of another kind gives its zero value.
func TestNodeIDKindsAreDistinct(t *testing.T) {
	ids := []NodeID{
		NumericID(0, 1), NumericID(1, 1), NumericID(0, 65536), StringID(0, "1"), StringID(1, "1"), OpaqueID(0, []byte("1")),
		GUIDID(0, exampleGuid), OpaqueID(0, exampleGuid[:]), StringID(0, ""), OpaqueID(0, nil),
	}
	seen, hashes := map[NodeID]bool{}, map[uint64]bool{}
	for _, n := range ids {
		seen[n], hashes[n.Hash()] = true, true
	}
	if len(seen) != len(ids) || len(hashes) != len(ids) {
		t.Errorf("%d ids, %d distinct, %d hashes", len(ids), len(seen), len(hashes))
	}
	n := StringID(1, "x")
	if n.Numeric() != 0 || n.GUID() != (Guid{}) || n.Opaque() != nil || n.Text() != "x" || n.Type() != IDTypeString || n.Namespace() != 1 {
		t.Errorf("%v", n)
	}
	n = GUIDID(1, exampleGuid)
	if n.Text() != "" || n.GUID() != exampleGuid || n.Type() != IDTypeGuid {
		t.Errorf("%v", n)
	}
	if n = OpaqueID(1, []byte("x")); n.Text() != "" || string(n.Opaque()) != "x" {
		t.Errorf("%v", n)
	}
}

// Consecutive ids spread over shards.
func TestNodeIDHashSpreads(t *testing.T) {
	var shards [64]int
	for i := range uint32(6400) {
		shards[NumericID(2, i).Hash()%64]++
	}
	for i, n := range shards {
		if n < 50 || n > 160 {
			t.Errorf("shard %d has %d of 6400", i, n)
		}
	}
}
