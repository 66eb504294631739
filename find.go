package uahive

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// FindVariable returns a variable that was added before, by its dotted path below
// a parent, so that a program need not hold on to what [AddVariable] returned:
//
//	temperature, err := uahive.FindVariable[float64](ns, "Press1.Temperature")
//
// What it returns is as good as the first one. The error is a [ModelError], which
// [Server.Err] does not keep: there is no such variable, or it has another type
// than T. T is the Go type that it was added with, or another one with the same
// DataType and rank; a DataType that an option narrowed is fine, and ua.Variant
// fits every variable.
func FindVariable[T any](parent Parent, path string) (*Variable[T], error) {
	at := parent.parent()
	if at.failed != nil {
		return nil, at.failed
	}
	v := &Variable[T]{node: at.child(path)}
	refuse := func(problem, instead string) (*Variable[T], error) {
		return nil, &ModelError{Operation: "FindVariable", Path: v.path, Problem: problem, Instead: instead}
	}
	found := at.find(path)
	if found == nil || found.Variable() == nil {
		return refuse("there is no such variable", "give the names of the nodes on the way to it, with dots between")
	}
	f, err := at.srv.formOf(reflect.TypeFor[T]())
	if err != nil {
		return refuse("not a type for a variable", err.Error())
	}
	if !f.fits(at.srv.space, found.Variable()) {
		dataType := found.Variable().DataType().String()
		if t := at.srv.space.Node(found.Variable().DataType()); t != nil {
			dataType = t.BrowseName().Name
		}
		return refuse(
			fmt.Sprintf("it has the DataType %s and ValueRank %d, and not those of %s", dataType, found.Variable().ValueRank(), reflect.TypeFor[T]()),
			"use the type that it was added with",
		)
	}
	v.at, v.cell, v.conv = found, found.Variable(), converterFor[T](at.srv, f)
	return v, nil
}

// find returns the node with a dotted path below this one. Ids are tried first,
// so that the children of large folders are not searched, and then BrowseNames,
// which may have dots in them.
func (n *node) find(path string) *addrspace.Node {
	if at := n.srv.space.Node(ua.StringID(n.ns, n.child(path).path)); at != nil && strings.HasSuffix("."+path, "."+at.BrowseName().Name) {
		return at
	}
	for name, child := range n.Children() {
		if name == path {
			return child
		}
		if rest, ok := strings.CutPrefix(path, name+"."); ok {
			below := node{srv: n.srv, at: child, ns: n.ns, path: n.child(name).path}
			if found := below.find(rest); found != nil {
				return found
			}
		}
	}
	return nil
}

// fits reports whether values of this form are those of a variable.
func (f form) fits(space *addrspace.Space, v *addrspace.Variable) bool {
	if f.rank == rankAny {
		return true
	}
	if !space.IsSubtypeOf(v.DataType(), f.dataType) || space.DataTypeKind(v.DataType()) != f.builtin {
		return false
	}
	return f.rank == v.ValueRank() || f.rank == rankMatrix && (v.ValueRank() == rankMatrix || v.ValueRank() > 1)
}
