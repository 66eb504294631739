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
	"sync"
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
	// A second Ctrl-C ends the program at once.
	context.AfterFunc(ctx, stop)
	// A reader that goes away, as in "demo | head", is an error of a write.
	signal.Ignore(syscall.SIGPIPE)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp): // it was given
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func parse(args []string, usage io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(usage)
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
func run(ctx context.Context, args []string, out, logs io.Writer) error {
	o, err := parse(args, logs)
	if err != nil {
		return err
	}
	if err := enoughFiles(o.sessions); err != nil {
		return err
	}
	if o.pki == "" {
		if o.pki, err = os.MkdirTemp("", "uahive-demo-"); err != nil {
			return err
		}
		defer os.RemoveAll(o.pki) // it holds a private key
	}
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	screen := newScreen(out)
	screen.gone = leave // nobody looks
	if screen.terminal && newScreen(logs).terminal {
		logs = screen // a log line must not tear the block
	}
	srv, plant, err := newServer(o, logs)
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

	err = show(ctx, o, srv, plant, screen)
	if closing := srv.Close(); err == nil {
		err = closing
	}
	// It says ErrClosed if it was ended before it began.
	if served := <-serving; err == nil && !errors.Is(served, uahive.ErrClosed) {
		err = served
	}
	return err
}

// show is what happens while the server runs.
func show(ctx context.Context, o options, srv *uahive.Server, plant *plant, screen *screen) error {
	var background sync.WaitGroup
	defer background.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	background.Go(func() { plant.run(ctx) })

	st := &status{srv: srv, screen: screen, started: time.Now()}
	screen.printf("uahive %s serves a simulated plant on %s", uahive.Version, srv.EndpointURL())
	screen.printf("users: anonymous, or operator with password operator")
	screen.printf("every client certificate is accepted")
	defer func() {
		for _, line := range st.summary() {
			screen.printf("%s", line)
		}
	}()
	if o.sessions > 0 {
		l, err := newLoad(ctx, srv, o.security, plant.values)
		if err != nil {
			return unlessEnded(ctx, err)
		}
		defer func() {
			// Also when it was ended, sessions are closed and not just cut.
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			l.close(ctx)
		}()
		st.load = l
		before := collectedMemory()
		bar := screen.progress(fmt.Sprintf("opening sessions (%s)", o.security), o.sessions)
		if err := l.open(ctx, o.sessions, bar.set); err != nil {
			screen.leave()
			return unlessEnded(ctx, outOfFiles(err))
		}
		st.perSession = (collectedMemory() - before) / int64(o.sessions)
		background.Go(func() { l.readLoop(ctx) })
	}
	st.run(ctx)
	return nil
}

// unlessEnded drops the error of something that was ended on purpose.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// newServer makes the server and its address space.
func newServer(o options, logs io.Writer) (*uahive.Server, *plant, error) {
	console := zerolog.ConsoleWriter{Out: logs, TimeFormat: time.TimeOnly, NoColor: true}
	log := zerolog.New(console).With().Timestamp().Logger()
	level := zerolog.WarnLevel
	if o.verbose {
		level = zerolog.DebugLevel
	}
	srv, err := uahive.New(uahive.Config{
		Endpoint: o.endpoint, ApplicationURI: "urn:uahive:demo:server", ApplicationName: "uahive demo",
		PKI: o.pki, TrustAll: true,
		Security:  append(uahive.SecurePolicies(), uahive.NoSecurity),
		Anonymous: true, Authenticate: authenticate,
		Identities: []uahive.Identity{uahive.UserNames, uahive.UserCertificates},
		Logger:     log.Level(level),
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

// authenticate knows one user, and lets in whoever has a certificate in trustedUser
// of the folder of certificates. A real program asks its own user store.
func authenticate(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
	if c.Kind == uahive.CertificateUser {
		return new(uahive.User), nil
	}
	if c.UserName != "operator" || c.Password != "operator" {
		return nil, ua.BadUserAccessDenied
	}
	return &uahive.User{Name: c.UserName, Kind: c.Kind}, nil
}
