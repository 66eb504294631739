package uahive

import (
	"context"

	"github.com/uahive/uahive/addrspace"
)

// rights ask the program who may do something.
type rights struct{ may func(Caller) bool }

// WritableBy lets those clients write a variable of which the function says so;
// the others are answered BadUserAccessDenied (Part 4, 5.11.4.4). It is asked
// about each write, before [OnWrite] and on the same goroutine, so that an answer
// may change. The attributes UserAccessLevel and AccessLevel are the same for all
// users. It does not go together with [Inline], whose writes have no caller. A
// panic is BadInternalError.
func WritableBy(may func(Caller) bool) VariableOption {
	return variableOption(func(s *variableSpec) {
		s.rights = &rights{may}
		s.AccessLevel |= addrspace.ReadWrite
		if may == nil {
			s.mistake("WritableBy(nil)", "give it a function, or leave it out")
		}
	})
}

// CallableBy lets those clients call a method of which the function says so; the
// others are answered BadUserAccessDenied (Part 4, 5.12.2.4). It is asked about
// each call, before the method and on the same goroutine. A panic is
// BadInternalError.
func CallableBy(may func(Caller) bool) MethodOption { return &rights{may} }

func (r *rights) method(s *methodSpec) { s.rights = r }

// denied reports whether a caller has no right. Nobody is asked about a context
// that has no caller: nobody has a right then. nil denies nothing.
func (r *rights) denied(ctx context.Context) bool {
	if r == nil {
		return false
	}
	caller, ok := CallerFrom(ctx)
	return !ok || !r.may(caller)
}
