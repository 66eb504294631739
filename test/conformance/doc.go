// Package conformance holds the tests that say what a conforming server does,
// run over the real server: each starts one in memory, under fake time where
// seconds matter, and talks to it as a client would, request by request.
//
// The tests are named after the behaviour and cite the clause, or the report of
// another server's failure, that they came from.
package conformance
