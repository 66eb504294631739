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
	"io"
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
	err := run(ctx, os.Args[1:])
	stop()
	os.Exit(exitCode(err, os.Stderr))
}

// errUsage is for a command line that names no command. What there is was said.
var errUsage = errors.New("no command given")

// exitCode says what went wrong, and returns what the shell is told: 2 for a
// command line that cannot be understood, 0 for help that was asked for.
func exitCode(err error, logs io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintln(logs, "uaload:", err)
	if errors.Is(err, errUsage) {
		return 2
	}
	return 1
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
	if len(args) == 0 {
		return errUsage
	}
	switch args[0] {
	case "-help", "--help", "-h", "help":
		return flag.ErrHelp
	}
	return fmt.Errorf("%w: there is no %q", errUsage, args[0])
}
