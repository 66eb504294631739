// Package soak establishes very many sessions with a server in a process of its
// own, and checks that each of them gets every value, and that nothing of them
// is left when they have gone. Its tests have the build tag soak:
//
//	go test -tags soak ./test/soak -v -soak.sessions 10000 -soak.out FOLDER
//
// The load is "uaload sessions", which can be pointed at any server. The folder
// gets the figures in JSON, the timeline in CSV, which plot.py draws as SVG and
// PNG, the heap profile of the server with all sessions, and what its memory is
// made of.
package soak
