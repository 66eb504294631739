package uahive

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// OnRead produces the value of a variable each time that a client reads it, and
// as often as the fastest subscription samples it. T must be the variable's Go
// type.
//
// The function runs on the worker pool (see [Inline]), several times at once if
// several clients ask. Its context ends with the client's call; [CallerFrom]
// tells who calls, but not for subscriptions, whose samples are for all of their
// clients. An error becomes the value's status; with an uncertain or good
// [ua.StatusCode] the value is sent along. A panic is BadInternalError.
func OnRead[T any](f func(ctx context.Context) (T, error)) VariableOption {
	return variableOption(func(s *variableSpec) { s.read = f })
}

// OnWrite is asked before a value from a client is stored, and lets clients
// write the variable. T must be the variable's Go type. It gets the value that
// is there now and the new one; for a write of a part of an array, both are
// whole arrays.
//
// The function runs on the worker pool (see [Inline]), and may wait for a
// device. Writes of one variable come one at a time, from the call of the
// function until its value is stored, so that old is what the last write left, or
// what the program set since, and what is stored is what the function accepted
// last. A write that waits for its turn ends with its client's call. Its context
// ends with the client's call; [CallerFrom] tells who writes. An error refuses the
// write and is its result: a [ua.StatusCode] in it as it is, any other as
// BadInternalError, with a line in the log unless the client gave up. A panic is
// BadInternalError. With [OnRead] nothing is stored: the device has the value.
// [AfterWrite] is for what is to happen once the value is stored.
func OnWrite[T any](f func(ctx context.Context, old, new T) error) VariableOption {
	return variableOption(func(s *variableSpec) {
		s.write = f
		s.AccessLevel |= addrspace.ReadWrite
	})
}

// AfterWrite is called when a value that a client wrote has been stored, and lets
// clients write the variable. T must be the variable's Go type. It is not called
// for what the program sets.
//
// The function runs where [OnWrite] runs, with its context and outside of locks.
// For one variable it is called in the order in which the values were stored: the
// next write, and the client's answer, wait until it returns, so it must not wait
// for a client's write to the same variable. After a write of a part of an array
// it gets the whole one. A bad status that comes without a value is stored without
// a call. A panic is logged and changes nothing for the client. With [OnRead]
// nothing is stored, and AfterWrite cannot be used.
func AfterWrite[T any](f func(ctx context.Context, value T)) VariableOption {
	return variableOption(func(s *variableSpec) {
		s.stored = f
		s.AccessLevel |= addrspace.ReadWrite
	})
}

// connect gives a spec the source that its callbacks and checks make. It returns
// what is wrong with them.
func (v *Variable[T]) connect(spec *variableSpec, f *form) *mistake {
	if wrong := spec.contradiction(); wrong != nil {
		return wrong
	}
	read, err := callback[func(context.Context) (T, error)]("OnRead", spec.read)
	if err != nil {
		return err
	}
	write, err := callback[func(context.Context, T, T) error]("OnWrite", spec.write)
	if err != nil {
		return err
	}
	stored, err := callback[func(context.Context, T)]("AfterWrite", spec.stored)
	if err != nil {
		return err
	}
	src := &addrspace.Source{Inline: spec.inline}
	if read != nil {
		src.Read = v.reader(read)
	}
	check := spec.check(f)
	if write != nil || read == nil && (check != nil || stored != nil || spec.rights != nil) {
		src.Write = v.writer(write, src.Read, check, spec.rights)
	}
	if stored != nil {
		src.Stored = v.afterWrite(stored)
	}
	if src.Read == nil && src.Write == nil {
		return nil
	}
	if read == nil && write == nil && stored == nil && spec.rights == nil {
		src.Inline = true // a check of ours never waits
	}
	spec.Source = src
	return nil
}

// callback gets at a callback behind an any; it is nil when the option was not
// given.
func callback[F any](option string, given any) (f F, wrong *mistake) {
	if given == nil {
		return f, nil
	}
	f, ok := given.(F)
	if !ok {
		return f, &mistake{
			fmt.Sprintf("%s is a %s", option, reflect.TypeOf(given)), fmt.Sprintf("write it as a %s", reflect.TypeFor[F]()),
		}
	}
	if reflect.ValueOf(given).IsNil() {
		return f, &mistake{option + "(nil)", "give it a function, or leave it out"}
	}
	return f, nil
}

// contradiction returns what is wrong with options taken together.
func (s *variableSpec) contradiction() *mistake {
	switch {
	case s.read != nil && s.stored != nil:
		return &mistake{"AfterWrite with OnRead, which stores nothing", "do it at the end of OnWrite"}
	case s.read != nil && s.write == nil && s.AccessLevel&ua.AccessLevelExTypeCurrentWrite != 0:
		return &mistake{
			"clients may write it, and with OnRead there is nowhere to store what they write",
			"add OnWrite, which lets clients write by itself and gives the value to the device",
		}
	case s.rights != nil && s.inline:
		return &mistake{"WritableBy with Inline, whose writes have no caller", "leave Inline out"}
	}
	return nil
}

// check returns the function that checks what clients write beyond what the
// address space checks, or nil.
func (s *variableSpec) check(f *form) func(ua.Variant) ua.StatusCode {
	switch {
	case s.states == "EnumStrings":
		names := s.names // and not the whole spec
		return func(v ua.Variant) ua.StatusCode {
			if !named(v, names) {
				return ua.BadOutOfRange
			}
			return ua.Good
		}
	case f.structure != nil:
		return f.structure.check
	}
	return nil
}

// named reports whether so many EnumStrings name a value, or all elements of an
// array.
func named(v ua.Variant, names int) bool {
	if n, ok := v.Uint(); ok {
		return n < uint64(names)
	}
	switch elements := v.Any().(type) {
	case []uint8:
		return allBelow(elements, names)
	case []uint16:
		return allBelow(elements, names)
	case []uint32:
		return allBelow(elements, names)
	case []uint64:
		return allBelow(elements, names)
	}
	return true // null
}

func allBelow[E uint8 | uint16 | uint32 | uint64](elements []E, limit int) bool {
	return !slices.ContainsFunc(elements, func(n E) bool { return uint64(n) >= uint64(limit) })
}

func (v *Variable[T]) reader(f func(context.Context) (T, error)) addrspace.ReadFunc {
	say := v.srv.complaint("OnRead", v.path)
	return func(ctx context.Context) (dv ua.DataValue, err error) {
		defer say.recovered(&err)
		value, err := f(ctx)
		status := say.status(ctx, err)
		if status.IsBad() {
			return ua.DataValue{}, status
		}
		return ua.DataValue{Value: v.conv.encode(value), Status: status}, nil
	}
}

// writer makes the function that takes what clients write; all but say may be
// nil.
func (v *Variable[T]) writer(
	f func(ctx context.Context, old, new T) error, read addrspace.ReadFunc,
	check func(ua.Variant) ua.StatusCode, rights *rights,
) addrspace.WriteFunc {
	say := v.srv.complaint("OnWrite", v.path)
	return func(ctx context.Context, dv ua.DataValue, rng ua.NumericRange) (err error) {
		defer say.recovered(&err)
		if rights.denied(ctx) {
			return ua.BadUserAccessDenied
		}
		if check != nil {
			if code := check(dv.Value); code != ua.Good {
				return code
			}
		}
		if f == nil {
			return nil
		}
		old, new, err := v.written(ctx, dv, rng, read)
		if err != nil {
			return err
		}
		if err := f(ctx, old, new); err != nil {
			return say.status(ctx, err)
		}
		return nil
	}
}

// written returns the value that is there now, and what it will be with a part
// or all of it written.
func (v *Variable[T]) written(ctx context.Context, dv ua.DataValue, rng ua.NumericRange, read addrspace.ReadFunc) (old, new T, err error) {
	present := v.cell.Load()
	if read != nil {
		if present, err = read(ctx); err != nil {
			return old, new, err
		}
	}
	value := dv.Value
	if len(rng) > 0 {
		var code ua.StatusCode
		if value, code = present.Value.WithRange(rng, value); code != ua.Good {
			return old, new, code
		}
	}
	if value.IsNull() && dv.Status.IsBad() {
		// There is no value to ask about.
		return old, new, ua.BadWriteNotSupported
	}
	new, ok := v.conv.decode(value)
	if !ok && !value.IsNull() {
		return old, new, ua.BadTypeMismatch
	}
	old, _ = v.conv.decode(present.Value)
	return old, new, nil
}

func (v *Variable[T]) afterWrite(f func(context.Context, T)) func(context.Context, ua.DataValue, ua.NumericRange) {
	say := v.srv.complaint("AfterWrite", v.path)
	return func(ctx context.Context, dv ua.DataValue, rng ua.NumericRange) {
		var err error
		defer say.recovered(&err)
		if dv.Value.IsNull() && dv.Status.IsBad() {
			return
		}
		value, _ := v.conv.decode(dv.Value)
		if len(rng) > 0 {
			value = v.Get()
		}
		f(ctx, value)
	}
}

// complaint turns errors of one callback into statuses, and logs those that have
// none.
type complaint struct {
	srv            *Server
	callback, path string
	last           atomic.Int64 // when it was logged, Unix nanoseconds
}

func (s *Server) complaint(callback, path string) *complaint {
	return &complaint{srv: s, callback: callback, path: path}
}

// complainEvery keeps a callback that is polled and fails from filling the log.
const complainEvery = time.Second

// status returns the status for an error. Errors without a StatusCode get a line
// in the log, since their reason is not for the client. That the client gave up
// is no fault of the program's.
func (c *complaint) status(ctx context.Context, err error) ua.StatusCode {
	if err == nil {
		return ua.Good
	}
	status := ua.StatusOf(err)
	var code ua.StatusCode
	switch {
	case errors.As(err, &code):
	case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
		c.srv.log.Debug().Err(err).Str("callback", c.callback).Str("node", c.path).Msg("callback ended with its client's call")
	case c.due():
		c.srv.log.Error().Err(err).Str("callback", c.callback).Str("node", c.path).Stringer("status", status).
			Msg("callback failed")
	}
	return status
}

// due reports whether the last line is long enough ago.
func (c *complaint) due() bool {
	now, last := time.Now().UnixNano(), c.last.Load()
	return now-last >= int64(complainEvery) && c.last.CompareAndSwap(last, now)
}

// recovered turns a panic into BadInternalError; it is to be deferred. The
// services do that too, but not for calls that are inline.
func (c *complaint) recovered(err *error) {
	if p := recover(); p != nil {
		*err = ua.BadInternalError
		c.srv.model.panics.Add(1)
		if c.due() {
			c.srv.log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).
				Str("callback", c.callback).Str("node", c.path).Msg("panic in user code")
		}
	}
}
