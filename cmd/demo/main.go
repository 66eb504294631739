// Command demo serves a simulated plant over OPC UA, and shows what that costs.
//
//	go run ./cmd/demo
//
// It listens on opc.tcp://localhost:4840 for any client, opens 200 secure
// sessions of its own, each with a subscription, and keeps one block of live
// numbers up to date until Ctrl-C.
//
// What to read: plant.go and types.go build an address space, main.go starts the
// server, load.go uses the client, status.go draws.
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
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
)

// namespace is the URI of the demo's own nodes.
const namespace = "urn:uahive:demo"

// options are the command line.
type options struct {
	endpoint string
	sessions int
	security string
	duration time.Duration
	pki      string
	verbose  bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.StringVar(&o.endpoint, "endpoint", "opc.tcp://localhost:4840", "address to serve on")
	flags.IntVar(&o.sessions, "sessions", 200, "sessions of the demo's own; 0 serves only")
	flags.StringVar(&o.security, "security", "Basic256Sha256", "security of these sessions: Basic256Sha256 or None")
	flags.DurationVar(&o.duration, "duration", 0, "how long to run; 0 until Ctrl-C")
	flags.StringVar(&o.pki, "pki", "", "folder of certificates; default: a temporary one")
	flags.BoolVar(&o.verbose, "v", false, "log what the server does to standard error")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q: all options begin with a dash", flags.Arg(0))
	case o.sessions < 0:
		return o, fmt.Errorf("-sessions %d: give the number of sessions, or 0 to serve only", o.sessions)
	case o.security != "Basic256Sha256" && o.security != "None":
		return o, fmt.Errorf("-security %q: use Basic256Sha256 or None", o.security)
	case o.duration < 0:
		return o, fmt.Errorf("-duration %v: give a time like 30s, or 0 to run until Ctrl-C", o.duration)
	}
	return o, nil
}

// run is the program, with its surroundings as arguments. It returns nil when it
// was ended by the context or after -duration.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.pki == "" {
		if o.pki, err = os.MkdirTemp("", "uahive-demo-"); err != nil {
			return err
		}
		defer os.RemoveAll(o.pki)
	}
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	srv, plant, err := newServer(o)
	if err != nil {
		return err
	}
	listener, err := srv.Listen()
	if err != nil {
		srv.Close()
		return err
	}
	serving := make(chan error, 1)
	// The server ends after the demo's own sessions, so not with ctx.
	go func() { serving <- srv.ServeListener(context.Background(), listener) }()
	moving := make(chan struct{})
	go func() { defer close(moving); plant.run(ctx) }()

	fmt.Fprintf(out, "uahive %s serves a simulated plant on %s\n", uahive.Version, o.endpoint)
	fmt.Fprintln(out, "users: anonymous, or operator with password operator; every client certificate is accepted")
	<-ctx.Done()

	err = srv.Close()
	<-moving
	return errors.Join(err, <-serving)
}

// newServer makes the server and its address space.
func newServer(o options) (*uahive.Server, *plant, error) {
	log := zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr, TimeFormat: time.TimeOnly}).With().Timestamp().Logger()
	level := zerolog.WarnLevel
	if o.verbose {
		level = zerolog.DebugLevel
	}
	srv, err := uahive.New(uahive.Config{
		Endpoint: o.endpoint, ApplicationURI: "urn:uahive:demo:server", ApplicationName: "uahive demo",
		PKI: o.pki, TrustAll: true,
		Security:  append(uahive.SecurePolicies(), uahive.NoSecurity),
		Anonymous: true, Authenticate: authenticate,
		Logger: log.Level(level),
	})
	if err != nil {
		return nil, nil, err
	}
	ns := srv.Namespace(namespace)
	plant := newPlant(srv, ns)
	addTypes(ns)
	if err := srv.Err(); err != nil {
		srv.Close()
		return nil, nil, err
	}
	return srv, plant, nil
}

// authenticate knows one user. A real program asks its own user store.
func authenticate(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
	if c.UserName != "operator" || c.Password != "operator" {
		return nil, ua.BadUserAccessDenied
	}
	return &uahive.User{Name: c.UserName, Kind: c.Kind}, nil
}
