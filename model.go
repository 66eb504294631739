package uahive

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/uahive/uahive/codec/ua"
)

// ModelError says which part of the address space could not be made, and what
// to write instead.
//
// Functions that build the address space return no error, so that they can be
// chained. Their errors are kept: [Server.Serve] refuses to start with one, and
// [Server.Err] returns them at any time. What could not be made is returned all
// the same, and everything that is done with it has no effect, so that the
// first error is the one that is reported and not what follows from it. Its own
// Err method says why. Errors of calls that come after the start are logged
// too.
type ModelError struct {
	// Operation is the function that failed, as "AddVariable".
	Operation string
	// Path is the node's dotted path below its namespace.
	Path string
	// Problem says what cannot be used, Instead what to write.
	Problem, Instead string
	// Err is the cause, if there is one: often a [ua.StatusCode].
	Err error
}

// Error implements error.
func (e *ModelError) Error() string {
	text := fmt.Sprintf("uahive: %s(%q): %s: %s", e.Operation, e.Path, e.Problem, e.Instead)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause, if there is one.
func (e *ModelError) Unwrap() error { return e.Err }

// keptErrors bounds the memory of a program that fails in a loop.
const keptErrors = 20

// model is what the server keeps for the typed API.
type model struct {
	panics atomic.Uint64 // of callbacks
	mu     sync.Mutex
	// Guarded by mu.
	errs       []error
	more       int                          // errors beyond keptErrors
	enums      map[reflect.Type]ua.NodeID   // made by AddEnumeration
	plain      map[reflect.Type]bool        // in use, and no enumerations
	structs    map[reflect.Type]*structType // made by AddStructure
	converters map[reflect.Type]any         // *converter of what the two made
}

// Err returns what went wrong in building the address space, each a
// [ModelError], joined; nil if nothing did.
func (s *Server) Err() error {
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	errs := s.model.errs
	if s.model.more > 0 {
		errs = append(errs[:len(errs):len(errs)], fmt.Errorf("uahive: and %d more errors", s.model.more))
	}
	return errors.Join(errs...)
}

// fail keeps an error of the typed API.
func (s *Server) fail(err *ModelError) {
	s.model.mu.Lock()
	if len(s.model.errs) < keptErrors {
		s.model.errs = append(s.model.errs, err)
	} else {
		s.model.more++
	}
	s.model.mu.Unlock()
	s.mu.Lock()
	started := s.serving > 0
	s.mu.Unlock()
	if started {
		s.log.Error().Err(err).Msg("address space")
	}
}

// enumeration returns the DataType that AddEnumeration made for a Go type. A
// type that could be an enumeration and is none is remembered as in use.
func (s *Server) enumeration(t reflect.Type) (ua.NodeID, bool) {
	if t.Kind() != reflect.Int && t.Kind() != reflect.Int32 || t.PkgPath() == "" {
		return ua.NodeID{}, false
	}
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	dataType, ok := s.model.enums[t]
	if !ok && !s.model.plain[t] {
		if s.model.plain == nil {
			s.model.plain = make(map[reflect.Type]bool)
		}
		s.model.plain[t] = true
	}
	return dataType, ok
}

// structure returns what AddStructure made for a Go type, or nil.
func (s *Server) structure(t reflect.Type) *structType {
	if t.Kind() != reflect.Struct {
		return nil
	}
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	return s.model.structs[t]
}

// advice says what to do about a status that adding a node ended with.
func advice(err error) string {
	switch ua.StatusOf(err).Code() {
	case ua.BadNodeIDExists:
		return "choose another name, or give it an id with uahive.NodeID"
	case ua.BadBrowseNameInvalid:
		return "choose a name of 1 to 512 bytes"
	case ua.BadParentNodeIDInvalid:
		return "add it to a node that was not removed"
	case ua.BadTypeDefinitionInvalid:
		return "name an ObjectType for an object and a VariableType for a variable"
	case ua.BadNodeAttributesInvalid, ua.BadTypeMismatch, ua.BadOutOfRange:
		return "give a value, DataType and dimensions that fit each other"
	case ua.BadNodeIDRejected:
		return "use a namespace that the server has"
	case ua.BadOutOfMemory:
		return "raise Config.Limits.Nodes.Nodes"
	}
	return "see the reason"
}
