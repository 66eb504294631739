// Package client is an OPC UA client for programs, load tests and the demo. It
// owns the client's end of a connection: choosing an endpoint, the secure
// channel, the session, its services, subscriptions, and bringing all of them
// back after the connection broke. Framing and cryptography are those of
// package uasc, trust is that of package pki; neither the address space nor
// anything else of the server is known here.
//
//	c, err := client.Connect(ctx, "opc.tcp://localhost:4840", client.Config{PKI: store})
//	dv, err := c.ReadValue(ctx, ua.StringID(2, "Plant.Press1.Temperature"))
//	sub, err := c.Subscribe(ctx, client.SubscriptionConfig{Interval: 500 * time.Millisecond})
//	_, err = sub.Monitor(ctx, func(ch client.Change) { ... }, client.Value(id))
//
// # Errors
//
// What a server answered is a [ua.StatusCode], wrapped with the name of the
// service; errors.As or [ua.StatusOf] find it. The result of one operation
// among several (one node of a Read) is never an error of the call: it stands
// in the results. A connection that broke is a [ConnectionError].
//
// # After a broken connection
//
// Requests that were in flight fail and are never sent again by the client,
// since the server may have executed them. New requests wait, as long as their
// context and Config.RequestTimeout allow, while the client opens another
// channel and activates its session there (Part 4, 6.7). Subscriptions
// continue with what the server kept for Republish. Where the session has
// ended, they are transferred to a new one, or else created again with all
// their items.
//
// # Cost
//
// A connected client is one goroutine that waits for its socket without
// holding a buffer, and one timer. Further goroutines run only while there is
// something to do: a consumer of changes that is busy, a write that the peer
// does not take, a reconnect. Certificates, keys and Config are shared by all
// clients that were given the same ones, so that ten thousand clients fit into
// a process. [Client.Send] keeps many requests in flight without a goroutine
// or an allocation for each.
package client
