// Package uasc frames OPC UA messages for a byte stream: the UACP handshake
// (Part 6, 7.1) and the secure conversation above it (Part 6, 6.7), for both
// ends of a connection. It owns what a chunk looks like and how it is secured,
// numbered, cut and put together again. It owns no socket, no goroutine, no
// trust decision and no service: bytes go in, bytes come out.
//
// The way out has three steps. A Layout, fixed for the life of a channel, lays
// chunk-shaped frames into a buffer (Begin, append the body, End); any
// goroutine may do that. A Sealer, owned by whoever owns the send state,
// numbers, signs and encrypts them in place in the order of sending. The way
// in is an Opener, owned by the reader: it checks, decrypts in place, enforces
// the sequence rule and reassembles within the limits and a Budget shared by
// all connections. A Token holds the keys of one security token; its sending
// half belongs to the Sealer and its receiving half to the Opener, so the same
// Token may be handed to both.
//
// OpenSecureChannel messages are secured with the certificates' keys instead
// and go through ParseOpen, OpenAsymmetric and SealAsymmetric. They are always
// one chunk: Part 6, 6.7.2.2 fixes IsFinal to 'F' for everything but MSG.
//
// An error of this package ends the channel unless its documentation says
// otherwise. It carries the StatusCode that the peer may be told, and, apart
// from it, a detail that is for our own log alone. Whatever goes wrong with a
// signature, with padding or with a decryption is one and the same error, so
// that neither the code nor its detail tells a forger how far he got.
package uasc
