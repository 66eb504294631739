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
// # Types
//
// [AddVariable] says which DataType each Go type is: bool, the numbers, string,
// []byte, time.Time, time.Duration, the types of package ua, slices of all of
// these, [ByteArray] and [Matrix], and ua.Variant for anything. [AddEnumeration]
// and [AddEnumerationMap] make enumerations of a program's own types,
// [AddStructure] structures. [AddMethod] takes the same types as the fields of its
// arguments.
//
// # Options
//
//   - of every node: [NodeID], [DisplayName], [Description];
//   - of objects and variables: [TypeDefinition];
//   - of variables, for who may do what: [Writable], [WritableBy], [AccessLevel];
//     for what the values mean: [EURange], [InstrumentRange], [EngineeringUnits],
//     [ValuePrecision], [EnumStrings], [StateNames], [DataType], [Dimensions],
//     [InitialStatus], [Historizing], [MinimumSamplingInterval];
//     for calls into the program: [OnRead], [OnWrite], [AfterWrite], [Inline];
//   - of methods: [CallableBy], [Inline].
//
// [FindVariable] finds a variable again. [Server.Update] sets several as one.
// [Namespace.Mount] is for nodes that are not in memory, [Server.Space] for what
// this package does not offer.
//
// The package owns the assembly of the floors below it and what a program sees
// of them. Protocol, sessions, subscriptions and nodes live in packages of their
// own.
package uahive
