// Package channelactor owns the connections of a server: the listener, one
// reader goroutine per secure channel, an actor goroutine for each that has
// something to send which cannot leave at once, and admission.
//
// A reader waits for its socket without holding a buffer, takes all the bytes
// there are, opens each chunk and hands whole requests to a [Service]. The
// answers that the service gives at once are collected in a [Batch] and leave
// together; answers that come later are posted with [Channel.Respond].
//
// Sessions, services and the address space are not known here. What a channel
// knows about its peer is the certificate, the security policy and the mode
// that the OpenSecureChannel service agreed on (Part 4, 5.6.2; Part 6, 6.7).
package channelactor
