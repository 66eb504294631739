// Command uaload serves a benchmark address space, and loads any OPC UA server.
//
//	uaload serve -endpoint opc.tcp://127.0.0.1:4841
//	uaload read  -endpoint opc.tcp://127.0.0.1:4841 -clients 10 -inflight 100 -pid $(pgrep -f "uaload serve")
//	uaload subscribe -clients 10 -items 100 -rate 10
//
// Server and load run in processes of their own, so that the CPU time and the
// memory of the server can be told apart from those of its clients: with -pid
// both are read from the system. What the commands measure is in load.go for
// the loads that keep requests in flight, and in subscribe.go for subscriptions.
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

// command is one word of the command line.
type command struct {
	name, what string
	examples   []string
	run        func(ctx context.Context, c *command, args []string, out io.Writer) error
}

var commands = []*command{
	{
		"serve", "serve the address space that the loads use",
		[]string{
			"uaload serve",
			"uaload serve -endpoint opc.tcp://127.0.0.1:4850 -security None -nodes 1000000 -array-sizes none",
		},
		serve,
	},
	{
		"read", "read values, with many requests in flight",
		[]string{
			"uaload read -clients 10 -inflight 100",
			"uaload read -nodes 100 -security Basic256Sha256/SignAndEncrypt -json",
			"uaload read -node 'ns=1;i=100001' -spread 1000000 -nodes 100",
			"uaload read -array 921600 -clients 10",
		},
		loadRead,
	},
	{
		"write", "write values, with many requests in flight",
		[]string{
			"uaload write -clients 10 -inflight 10 -nodes 100",
			"uaload write -array 921600",
		},
		loadWrite,
	},
	{
		"browse", "browse a node, with many requests in flight",
		[]string{
			"uaload browse",
			"uaload browse -node 'ns=1;i=1000' -clients 10 -inflight 10",
		},
		loadBrowse,
	},
	{
		"array", "read or write one Int32 array of the size of an image",
		[]string{
			"uaload array -size hd -op read -clients 10",
			"uaload array -size 4k -op write -security Basic256Sha256/SignAndEncrypt",
		},
		loadArray,
	},
	{
		"subscribe", "watch values that change, and count every notification against what was written",
		[]string{
			"uaload subscribe -clients 10 -items 100 -rate 10",
			"uaload subscribe -clients 100 -subscriptions 2 -items 10 -rate 100 -publishing 50ms -security Basic256Sha256/SignAndEncrypt",
		},
		loadSubscribe,
	},
	{
		"sessions", "establish many sessions with one monitored item each, and check that all get every value",
		[]string{
			"uaload sessions -sessions 1000 -security Basic256Sha256/SignAndEncrypt -pid $(pgrep -f 'uaload serve')",
			"uaload sessions -sessions 10000 -timeline sessions.csv -json",
			"uaload sessions -sessions 1000 -write 0 -duration 10s -pid $(pgrep -f 'uaload serve')",
		},
		holdSessions,
	},
	{
		"matrix", "measure sessions x subscriptions x items x publishing interval, and find where the server ends",
		[]string{
			"uaload matrix -sessions 10,100 -items 1,100 -pid $(pgrep -f 'uaload serve')",
			"uaload matrix -sessions 1000 -subscriptions 1 -items 10,100,1000 -intervals 1s,10s -csv capacity.csv -table capacity.md",
			"uaload matrix -list",
		},
		runMatrix,
	},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
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

// run runs the command that the first argument names. Its result goes to out.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		for _, c := range commands {
			if c.name == args[0] {
				return c.run(ctx, c, args[1:], out)
			}
		}
	}
	fmt.Fprintln(os.Stderr, "usage: uaload COMMAND [flags]    (uaload COMMAND -help says more)")
	for _, c := range commands {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n             %s\n", c.name, c.what, c.examples[0])
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
