// Package storm has very many secure clients connect at once, with the time-out
// and the retries that real clients have, and checks that all of them get in, that
// the server makes no session too many, that sessions which were there before go
// on undisturbed, and that nothing is left. Its test has the build tag storm:
//
//	go test -tags storm ./test/storm -v -storm.clients 2000
//
// Server, clients, and the session that must not be disturbed are a process each.
package storm
