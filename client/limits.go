package client

import "time"

// Fixed limits, each with what it stops. Those that a program may want to
// change are fields of [Config].
const (
	// largestInFlight is how many requests a connection can tell apart, see slots.
	largestInFlight = 1<<16 - 1

	// queueRoom is how many bytes may wait for a peer that reads slowly before
	// callers wait as well. It stops requests from piling up in memory.
	queueRoom = 4 << 20

	// heldMost is how many messages of a subscription wait for a missing one
	// before it is given up. It stops a server that never answers Republish
	// from filling the memory.
	heldMost = 256

	// publishMost is the largest number of Publish requests of a client. It
	// stops a program with many subscriptions from flooding the server.
	publishMost = 1000

	// maxSessionNonce bounds a nonce that is kept for the life of a session.
	maxSessionNonce = 1024

	// maxLegacyPassword is the longest password that may be sent in the legacy
	// format (Part 4, 7.41.2.1).
	maxLegacyPassword = 64

	// shortestRenewal keeps a server that grants next to no life to its tokens
	// from being asked for them without end.
	shortestRenewal = 500 * time.Millisecond

	// renewalLook is how often it is looked whether a renewal has its answer, since
	// the life of the new token counts from then. Nothing else would look before the
	// next keep-alive, which is too late for a token that lives for seconds.
	renewalLook = 50 * time.Millisecond

	// retryCap bounds a retry hint, so that a server cannot send its clients
	// away for good.
	retryCap = 10 * time.Minute

	// warnMost is the number of certificates for which it is remembered that a
	// warning was given.
	warnMost = 1000

	// spareCalls is how many calls a channel keeps to be used again.
	spareCalls = 64
)
