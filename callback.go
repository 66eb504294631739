package uahive

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
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
// device. Two writes at the same time run at the same time, with the same old
// value. Its context ends with the client's call; [CallerFrom] tells who writes.
// An error refuses the write and is its result: a [ua.StatusCode] in it as it
// is, any other as BadInternalError, with a line in the log. A panic is
// BadInternalError. With [OnRead] nothing is stored: the device has the value.
func OnWrite[T any](f func(ctx context.Context, old, new T) error) VariableOption {
	return variableOption(func(s *variableSpec) {
		s.write = f
		s.AccessLevel |= addrspace.ReadWrite
	})
}

// connect gives a spec the source that its callbacks make. Its error says that
// a callback is for another Go type.
func (v *Variable[T]) connect(spec *variableSpec) error {
	if spec.read == nil && spec.write == nil {
		return nil
	}
	src := &addrspace.Source{Inline: spec.inline}
	if spec.read != nil {
		f, ok := spec.read.(func(context.Context) (T, error))
		if !ok {
			return fmt.Errorf("OnRead is a %s", reflect.TypeOf(spec.read))
		}
		src.Read = v.reader(f)
	}
	if spec.write != nil {
		f, ok := spec.write.(func(context.Context, T, T) error)
		if !ok {
			return fmt.Errorf("OnWrite is a %s", reflect.TypeOf(spec.write))
		}
		src.Write = v.writer(f, src.Read)
	}
	spec.Source = src
	return nil
}

func (v *Variable[T]) reader(f func(context.Context) (T, error)) addrspace.ReadFunc {
	say := v.srv.complaint("OnRead", v.path)
	return func(ctx context.Context) (dv ua.DataValue, err error) {
		defer say.recovered(&err)
		value, err := f(ctx)
		status := say.status(err)
		if status.IsBad() {
			return ua.DataValue{}, status
		}
		return ua.DataValue{Value: v.conv.encode(value), Status: status}, nil
	}
}

func (v *Variable[T]) writer(f func(ctx context.Context, old, new T) error, read addrspace.ReadFunc) addrspace.WriteFunc {
	say := v.srv.complaint("OnWrite", v.path)
	return func(ctx context.Context, dv ua.DataValue, rng ua.NumericRange) (err error) {
		defer say.recovered(&err)
		present := v.cell.Load()
		if read != nil {
			if present, err = read(ctx); err != nil {
				return err
			}
		}
		value := dv.Value
		if len(rng) > 0 {
			var code ua.StatusCode
			if value, code = present.Value.WithRange(rng, value); code != ua.Good {
				return code
			}
		}
		if value.IsNull() && dv.Status.IsBad() {
			// There is no value to ask about.
			return ua.BadWriteNotSupported
		}
		newValue, ok := v.conv.decode(value)
		if !ok && !value.IsNull() {
			return ua.BadTypeMismatch
		}
		old, _ := v.conv.decode(present.Value)
		if err := f(ctx, old, newValue); err != nil {
			return say.status(err)
		}
		return nil
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
// in the log, since their reason is not for the client.
func (c *complaint) status(err error) ua.StatusCode {
	if err == nil {
		return ua.Good
	}
	status := ua.StatusOf(err)
	var code ua.StatusCode
	if !errors.As(err, &code) && c.due() {
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
