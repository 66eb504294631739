package addrspace

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newSpace returns a space with namespace 0 and a namespace 2 for test nodes.
func newSpace(t testing.TB) *Space {
	t.Helper()
	s := New(Options{ApplicationURI: "urn:test:app"})
	if err := s.LoadNS0(); err != nil {
		t.Fatal(err)
	}
	ns, err := s.AddNamespace("urn:test:model")
	if err != nil || ns != 2 {
		t.Fatalf("AddNamespace = %d, %v", ns, err)
	}
	return s
}
