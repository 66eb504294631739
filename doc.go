// Package uahive embeds an OPC UA server in a Go program.
//
//	srv, err := uahive.New(uahive.Config{ApplicationURI: "urn:acme:press", PKI: "./pki"})
//	...
//	ns := srv.Namespace("urn:acme:model")
//	press := ns.Object("Press1")
//	temperature := uahive.AddVariable(press, "Temperature", 21.5)
//	temperature.Set(22.1)
//	err = srv.Serve(ctx) // until ctx ends
//
// The address space may be changed at any time, before Serve and while clients
// are connected, from any goroutine. Callbacks of the program get a context that
// ends with the client's call; [CallerFrom] says who the client is. An error
// that a callback returns becomes the status of that one operation: a
// [ua.StatusCode] found by errors.As, or else BadInternalError, whose reason only
// the log has.
//
// The package owns the assembly of the floors below it and what a program sees
// of them. Protocol, sessions, subscriptions and nodes live in packages of their
// own.
package uahive
