// Package faults breaks what can break between a server and its clients, and
// holds three things each time: a session that was there before sees every value
// in order, nothing of what went is left, and whoever can come back does, without
// a loss. Server, clients and the canary are processes of their own. The tests
// have the build tag faults, and run scaled down unless flags say otherwise:
//
//	go test -tags faults ./test/faults -v -faults.clients 2000 -faults.killed 200
package faults
