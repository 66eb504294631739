// Command uaload serves a benchmark address space, and loads any OPC UA server.
//
//	uaload serve -endpoint opc.tcp://127.0.0.1:4841
//	uaload read  -endpoint opc.tcp://127.0.0.1:4841 -clients 10 -inflight 100 -pid $(pgrep -f "uaload serve")
//	uaload sessions -endpoint opc.tcp://127.0.0.1:4841 -sessions 1000 -pid ...
//
// Server and load run in processes of their own, so that the CPU time and the
// memory of the server can be told apart from those of its clients: with -pid
// both are read from /proc.
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

var commands = []struct {
	name, what string
	run        func(ctx context.Context, args []string) error
}{
	{"serve", "serve the address space that the other commands use", serve},
	{"read", "read values with many requests in flight", loadRead},
	{"sessions", "hold idle sessions with one subscription and one monitored item each", holdSessions},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "uaload:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		for _, c := range commands {
			if c.name == args[0] {
				return c.run(ctx, args[1:])
			}
		}
	}
	fmt.Fprintln(os.Stderr, "usage: uaload COMMAND [flags]    (uaload COMMAND -help says more)")
	for _, c := range commands {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", c.name, c.what)
	}
	if len(args) > 0 && args[0] != "-help" && args[0] != "-h" && args[0] != "help" {
		return fmt.Errorf("no command %q", args[0])
	}
	return flag.ErrHelp
}
