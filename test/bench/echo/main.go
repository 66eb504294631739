// Command echo measures what a server cannot go below: a bare TCP server in Go that answers requests of n bytes with
// answers of m bytes and looks at neither, and the cryptography of a message alone.
//
//	echo serve -listen 127.0.0.1:14800
//	echo load  -connect 127.0.0.1:14800 -request 92 -response 84 -clients 10 -inflight 100 -pid ... -json
//	echo sizes -endpoint opc.tcp://127.0.0.1:14801 -security None
//	echo crypto -size 128
//
// Server and load are processes of their own, as those of uaload are. sizes asks a real server how long the messages of
// the workloads are, so that the echo carries the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

var commands = map[string]func(ctx context.Context, args []string) error{
	"serve": serve, "load": load, "sizes": sizes, "crypto": cryptography,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := errors.New("usage: echo serve | load | sizes | crypto [flags]")
	if len(os.Args) > 1 && commands[os.Args[1]] != nil {
		err = commands[os.Args[1]](ctx, os.Args[2:])
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}
