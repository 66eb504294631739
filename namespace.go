package uahive

import (
	"fmt"
	"net/url"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// Namespace is where a program adds nodes of its own. It stands for the standard
// Objects folder as a [Parent]: what is added to a namespace hangs there.
//
// Nodes get string ids that are their dotted path below the namespace, as
// "Press1.Temperature", unless [NodeID] says otherwise, and BrowseNames of the
// namespace.
type Namespace struct {
	root node // the Objects folder, where the namespace begins
	uri  string
}

// Namespace returns the namespace with that URI, and adds it to the server's
// NamespaceArray when it is new (Part 5, 6.3.1). Indexes are given out in the
// order of first calls: 1 is Config.ApplicationURI, 2 the first one that is new.
func (s *Server) Namespace(uri string) *Namespace {
	n := &Namespace{root: node{srv: s}, uri: uri}
	refuse := func(problem string, err error) *Namespace {
		n.root.refuse(&ModelError{
			Operation: "Namespace", Path: uri, Problem: problem,
			Instead: `write a URI of your own, like "urn:acme:model"`, Err: err,
		})
		return n
	}
	if u, err := url.Parse(uri); err != nil || u.Scheme == "" {
		return refuse("not a URI", err)
	}
	if uri == addrspace.NamespaceUA {
		return refuse("the standard's own namespace", nil)
	}
	index, err := s.space.AddNamespace(uri)
	if err != nil {
		return refuse("no more namespaces", err)
	}
	n.root.ns, n.root.at = index, s.space.Node(ua.NumericID(0, id.ObjectsFolder))
	return n
}

// URI returns the namespace's URI.
func (n *Namespace) URI() string { return n.uri }

// Index returns the namespace's index on this server, the "2" in "ns=2;s=...".
// It does not change while the server lives.
func (n *Namespace) Index() uint16 { return n.root.ns }

// NodeID returns the id that a node with this path has by default.
func (n *Namespace) NodeID(path string) ua.NodeID { return ua.StringID(n.root.ns, path) }

// Object adds an object below the Objects folder.
func (n *Namespace) Object(name string, opts ...ObjectOption) *Object {
	return addObject(n, "Object", name, id.BaseObjectType, opts)
}

// Folder adds a folder below the Objects folder. Folders only group.
func (n *Namespace) Folder(name string, opts ...ObjectOption) *Object {
	return addObject(n, "Folder", name, id.FolderType, opts)
}

// At returns an object that is in the address space already (the standard's,
// or one that this namespace or another one has), as a parent for nodes of this
// namespace. Their paths begin with the object's string id where the object
// belongs to this namespace, and at the namespace otherwise.
func (n *Namespace) At(object ua.NodeID) *Object {
	o := &Object{node{srv: n.root.srv, ns: n.root.ns, failed: n.root.failed}}
	if o.failed != nil {
		return o
	}
	at := o.srv.space.Node(object)
	if at == nil || at.Class() != ua.NodeClassObject {
		o.refuse(&ModelError{
			Operation: "At", Path: object.String(), Problem: "there is no such object",
			Instead: "name an Object node that exists",
		})
		return o
	}
	if o.at = at; object.Namespace() == o.ns && object.Type() == ua.IDTypeString {
		o.path = object.Text()
	}
	return o
}

// Mount puts a manager behind the namespace: a value that answers for nodes
// which are not in the server's memory, batch by batch. It implements some of
// the interfaces [addrspace.Reader], [addrspace.Writer], [addrspace.Browser],
// [addrspace.Caller], [addrspace.Sampler] and [addrspace.Subscriber]. Nodes that
// were added to the namespace answer for themselves: a folder among them, which
// the manager's Browser is asked about too, leads clients to the manager's own.
//
// The Result of every item is BadNodeIdUnknown when the manager gets it, and stays
// that for what it does not know. For what it knows it sets the whole Result, a
// good status included: a Read that sets Result.Value alone serves values with a
// bad status, and the References of a Browse count only with the Result ua.Good.
//
// A nil manager takes the present one away.
func (n *Namespace) Mount(manager any) {
	root := &n.root
	if root.failed != nil {
		return
	}
	if err := root.srv.space.Mount(root.ns, manager); err != nil {
		root.srv.fail(&ModelError{
			Operation: "Mount", Path: n.uri, Problem: fmt.Sprintf("manager of type %T", manager),
			Instead: "mount one manager that implements an interface of package addrspace", Err: err,
		})
	}
}

// Err says why there is no such namespace, with a [ModelError]; nil if there is.
func (n *Namespace) Err() error { return n.root.Err() }

func (n *Namespace) parent() *node { return &n.root }
