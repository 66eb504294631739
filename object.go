package uahive

import (
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// Object is an Object node: a machine, a part of it, or a folder. It is a
// [Parent].
type Object struct{ node }

// Object adds an object below this one.
func (o *Object) Object(name string, opts ...ObjectOption) *Object {
	return addObject(o, "Object", name, id.BaseObjectType, opts)
}

// Folder adds a folder below this object.
func (o *Object) Folder(name string, opts ...ObjectOption) *Object {
	return addObject(o, "Folder", name, id.FolderType, opts)
}

func addObject(parent Parent, operation, name string, typeDefinition uint32, opts []ObjectOption) *Object {
	at := parent.parent()
	o := &Object{at.child(name)}
	if o.failed != nil {
		return o
	}
	spec := addrspace.NodeSpec{
		ID: ua.StringID(o.ns, o.path), Class: ua.NodeClassObject,
		BrowseName: ua.QualifiedName{NamespaceIndex: o.ns, Name: name},
		Parent:     at.at.ID(), TypeDefinition: ua.NumericID(0, typeDefinition),
	}
	for _, opt := range opts {
		opt.object(&spec)
	}
	o.add(operation, spec)
	return o
}
