// Package addrspace is the address space: nodes, references, values, the type
// tree, and the user code that may stand behind them.
//
// It owns what Part 3 describes and what the services of Part 4 look at. It
// does not know services, sessions or subscriptions: those ask it for a [Node]
// and read, write, browse and watch. It is a concurrent structure, not an
// actor, and starts no goroutine.
//
// # What readers see
//
// [Space.Node], [Node.References], the attributes of a node and the type
// queries take no lock and may run while other goroutines add, change and
// remove nodes. A [Refs] is a snapshot: it never grows, keeps its order
// (the order in which references were added), and can be resumed by position,
// which is what a browse continuation point holds. References removed since
// are skipped when the removal reached the snapshot's memory, and may still be
// seen otherwise; [Node.Deleted] tells of a node that is gone.
//
// A new node is complete (attributes, type definition, parent) before it can be
// found by its id or through its parent, and is taken out of its neighbours'
// references before its id is forgotten.
//
// # What is guaranteed about values
//
// A [Variable] holds one DataValue. [Variable.Load] always sees value, status
// and source timestamp of one and the same Store. Watchers get every change of
// one variable, in the order of the stores.
//
// Several variables change together through [Space.Update]: all values of one
// transaction carry the same timestamp where they have none of their own. Who
// reads between [Space.BeginView] and [Space.EndView] sees all of a
// transaction or nothing of it, and a transaction cannot commit meanwhile.
// Subscriptions collect their queues, and a multi-node Read its results,
// inside a view. Readers outside a view may see either side per variable,
// which is all that Part 4, 5.11.2 asks for.
//
// # Ownership of values
//
// A stored value is immutable: [Variable.Store] takes ownership of slices and
// structures in it, and what Load returns must not be changed. [Variable.Write],
// which is for values that came from a peer, copies.
//
// # Managers
//
// A manager answers for nodes that are not in the Space, batch by batch: the
// tags of a controller, the rows of a database. It is mounted on a namespace
// with [Space.Mount] and implements those of [Reader], [Writer], [Browser],
// [Caller], [Sampler] and [Subscriber] that it has something to say for.
//
// Nodes of its namespace that are in the Space answer for themselves; they are
// how clients find a manager (add a folder in its namespace), and a Browser is
// asked about these too, for the references that lead from them to its own
// nodes. All other NodeIds of the namespace are the manager's alone.
//
// Its methods are called from the pool, several at a time; each gets all
// operations of one request that concern it. Slices belong to the caller and
// must not be kept, nor may strings and values of an item after the call
// returned, unless cloned. Callers set every result to BadNodeIDUnknown before,
// which is what an item that a manager leaves alone is answered with.
//
// # Locks
//
// In the order in which they may be taken: the view lock, the structure lock,
// a variable's delivery lock, a variable's value lock. Watchers are the
// one call that is made under a lock (the delivery lock), so that nothing
// arrives out of order; they are leaves that never block and never call back
// into this package. Everything else (sources, methods, managers, hooks) is
// called by others, or after all locks are released.
package addrspace
