package uahive

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// Method is a Method node.
type Method struct{ node }

// AddMethod adds a method to an object. In and Out are structs (or nothing, as
// struct{}): each field is an argument, in their order, with its name and a
// DataType that follows from its Go type as [AddVariable] says. A tag changes the
// name and adds a description:
//
//	type job struct {
//		Parts uint32 `ua:"NumberOfParts,how many parts to press"`
//		Force []float64
//	}
//
// InputArguments and OutputArguments are made from that (Part 3, 5.7). Calls
// with other arguments are refused before the function is called.
//
// The function runs on the worker pool (see [Inline]), several times at once if
// several clients call. Its context ends with the client's call: with its
// timeout, with its connection, or with Cancel. [CallerFrom] tells who calls. An
// error is the result of the call: a [ua.StatusCode] in it as it is, an
// [ArgumentError] as BadInvalidArgument for that argument, any other as
// BadInternalError with a line in the log, unless the client gave up. With an
// uncertain StatusCode the
// outputs are sent along. A panic is BadInternalError.
func AddMethod[In, Out any](
	object *Object, name string, f func(ctx context.Context, in In) (Out, error), opts ...MethodOption,
) *Method {
	const operation = "AddMethod"
	m := &Method{object.child(name)}
	if m.failed != nil {
		return m
	}
	spec := methodSpec{NodeSpec: addrspace.NodeSpec{
		ID: ua.StringID(m.ns, m.path), Class: ua.NodeClassMethod,
		BrowseName: ua.QualifiedName{NamespaceIndex: m.ns, Name: name}, Parent: object.at.ID(),
		ReferenceType: ua.NumericID(0, id.HasComponent),
	}}
	for _, opt := range opts {
		opt.method(&spec)
	}
	if f == nil {
		m.refuse(&ModelError{Operation: operation, Path: m.path, Problem: "no function", Instead: "give it a function"})
		return m
	}
	if spec.rights != nil && spec.rights.may == nil {
		m.refuse(&ModelError{Operation: operation, Path: m.path, Problem: "CallableBy(nil)", Instead: "give it a function, or leave it out"})
		return m
	}
	inputs, err := m.srv.signatureOf(reflect.TypeFor[In]())
	var outputs signature
	if err == nil {
		outputs, err = m.srv.signatureOf(reflect.TypeFor[Out]())
	}
	if err != nil {
		m.refuse(&ModelError{Operation: operation, Path: m.path, Problem: "not a function for a method", Instead: err.Error()})
		return m
	}
	spec.Method = &addrspace.Method{Inline: spec.inline, Secret: spec.secret, Func: methodFunc(m, f, inputs, outputs, spec.rights)}
	m.add(operation, spec.NodeSpec)
	if m.at != nil {
		m.addArguments(operation, "InputArguments", inputs)
		m.addArguments(operation, "OutputArguments", outputs)
	}
	return m
}

// methodFunc makes the function that the services call.
func methodFunc[In, Out any](
	m *Method, f func(context.Context, In) (Out, error), inputs, outputs signature, rights *rights,
) addrspace.MethodFunc {
	say := m.srv.complaint("method", m.path)
	return func(ctx context.Context, c *addrspace.Call) (err error) {
		defer say.recovered(&err)
		if rights.denied(ctx) {
			return ua.BadUserAccessDenied
		}
		var in In
		if i := inputs.decode(reflect.ValueOf(&in).Elem(), c.Inputs); i >= 0 {
			c.InputResults = make([]ua.StatusCode, len(c.Inputs))
			c.InputResults[i] = ua.BadTypeMismatch
			return ua.BadInvalidArgument
		}
		out, err := f(ctx, in)
		status := ua.Good
		if err != nil {
			var wrong *ArgumentError
			if errors.As(err, &wrong) {
				c.InputResults = inputs.results(wrong)
				return ua.BadInvalidArgument
			}
			if status = say.status(ctx, err); status.IsBad() {
				return status
			}
		}
		c.Outputs = outputs.encode(reflect.ValueOf(&out).Elem())
		if status != ua.Good {
			return status
		}
		return nil
	}
}

// ArgumentError says that an input argument of a method cannot be used. The call
// is answered BadInvalidArgument, with Status as the result of that argument.
type ArgumentError struct {
	// Argument is the name of the argument.
	Argument string
	// Status is the argument's result. Default ua.BadOutOfRange.
	Status ua.StatusCode
}

// Error implements error.
func (e *ArgumentError) Error() string {
	return fmt.Sprintf("argument %s: %v", e.Argument, e.status())
}

func (e *ArgumentError) status() ua.StatusCode {
	if e.Status == ua.Good {
		return ua.BadOutOfRange
	}
	return e.Status
}

// SetExecutable changes whether clients may call the method now.
func (m *Method) SetExecutable(on bool) {
	if m.at != nil {
		m.at.SetAttribute(ua.AttributeIDExecutable, ua.BooleanVariant(on))
	}
}

func (m *Method) addArguments(operation, name string, s signature) {
	if len(s.arguments) == 0 {
		return
	}
	objects := make([]ua.ExtensionObject, len(s.arguments))
	for i := range s.arguments {
		objects[i] = ua.ObjectOf(&s.arguments[i].Argument)
	}
	m.addProperty(operation, property{name, ua.SliceVariant(objects)})
}
