// Package sessionactor owns sessions, identities and the service table: what a
// request means, who may ask it, and where it is answered.
//
// It implements [channelactor.Service]. A request is decoded and, where it only
// touches memory, answered on the goroutine of the reader that brought it in.
// What calls user code or can wait becomes a [deferred] and runs on the worker
// pool with a context that ends with its TimeoutHint, its channel, its session
// or a Cancel. Each session is an actor of its own that serialises
// ActivateSession, CloseSession and time-out; what every other request needs to
// know of it is an atomic snapshot.
//
// There is one file for each service set of Part 4. Values and nodes live in
// addrspace, subscriptions in publishloop, connections in channelactor.
package sessionactor
