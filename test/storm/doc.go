// Package storm has very many secure clients connect at once, with the time-out
// and the retries that real clients have, and checks that all of them get in, that
// the server makes no session too many and spends no key operation on a client
// that has gone, that sessions which were there before go on undisturbed, and that
// nothing is left. Its test has the build tag storm:
//
//	go test -tags storm ./test/storm -v -storm.clients 10000
//
// The server, each of -storm.processes with clients, and the session that must not
// be disturbed are a process of their own; each process of clients needs a
// descriptor for each of them ("ulimit -n").
package storm
