package uahive

import (
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/uahive/uahive/addrspace"
)

// Package ants starts two goroutines of its own when it is loaded.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

// newModel returns a server of which only the address space is there, for tests
// of what needs no client, and a namespace in it. Its log goes to the test.
func newModel(t testing.TB) (*Server, *Namespace) {
	t.Helper()
	s := &Server{space: addrspace.New(addrspace.Options{ApplicationURI: "urn:test:server"})}
	s.log = zerolog.New(zerolog.NewTestWriter(t))
	if err := s.space.LoadNS0(); err != nil {
		t.Fatal(err)
	}
	return s, s.Namespace("urn:test:model")
}

// noErr fails the test if the address space could not be made.
func noErr(t testing.TB, s *Server) {
	t.Helper()
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}
