// Package soak establishes very many sessions with a server in a process of its
// own, and checks that each of them gets every value, and that nothing of them
// is left when they have gone. Its tests have the build tag soak:
//
//	go test -tags soak ./test/soak -v -soak.sessions 10000
//
// The load is "uaload sessions", which can be pointed at any server. plot.py
// draws its timeline.
package soak
