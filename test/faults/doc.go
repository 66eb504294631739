// Package faults breaks what can break between a server and its clients, and
// holds three things each time: a session that was there before sees every value
// in order, nothing of what went is left, and whoever can come back does, without
// a loss. Server, clients and the canary are processes of their own. The tests
// have the build tag faults, and run scaled down and beside each other unless
// flags say otherwise:
//
//	go test -tags faults ./test/faults -parallel 8
//	go test -tags faults ./test/faults -v -run Killed -faults.clients 2000 -faults.killed 200
//	go test -tags faults ./test/faults -v -run StopReading -faults.deaf 50
//	go test -tags faults ./test/faults -v -run Partitioned -faults.cut 30s
//	go test -tags faults ./test/faults -v -run Churn -faults.churning 10m -timeout 20m
//	go test -tags faults ./test/faults -v -run Tokens -faults.renewing 3m
//
// Those that cut a network need root and the command ip, and are skipped without.
package faults
