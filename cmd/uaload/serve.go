package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/publishloop"
	"github.com/uahive/uahive/sessionactor"
)

// serveFlags are the flags of "uaload serve".
type serveFlags struct {
	endpoint, security, sizes, profile string
	sessions, subscriptions, nodes     int
	tokenLife, shutdownDelay           time.Duration
	verbose                            bool

	offered []uahive.Security
	arrays  []int // elements of each
}

// mostNodes keeps the ids of -nodes and their folders apart from others.
const mostNodes = 10_000_000

// noArrays is what -array-sizes says for none.
const noArrays = "none"

func (f *serveFlags) parse(c *command, args []string) error {
	set := c.flags()
	set.StringVar(&f.endpoint, "endpoint", "opc.tcp://127.0.0.1:4841", "`URL` to listen on")
	set.StringVar(&f.security, "security", "None,Basic256Sha256/SignAndEncrypt", "what clients may choose from, separated by commas: None, or `policy/mode`")
	set.StringVar(&f.sizes, "array-sizes", "921600,8294400", "`elements` of the Int32 arrays from ns=1;i=2001 on, separated by commas, or none")
	set.IntVar(&f.nodes, "nodes", 0, "more Int32 variables in the address space, from ns=1;i=100001 on, in folders of 1,000")
	set.IntVar(&f.sessions, "max-sessions", 10_100, "largest number of sessions")
	set.IntVar(&f.subscriptions, "max-subscriptions", 0, "largest number of subscriptions; 0: 30,000, or as many as sessions if they are more")
	set.StringVar(&f.profile, "pprof", "", "`address` of a page with profiles, and with counters at /stats, such as 127.0.0.1:6060")
	set.DurationVar(&f.tokenLife, "min-token-lifetime", 10*time.Second, "shortest lifetime of a security token that is granted")
	set.DurationVar(&f.shutdownDelay, "shutdown-delay", 0, "how long clients are told that the server shuts down before it does")
	set.BoolVar(&f.verbose, "v", false, "log life-cycle events")
	if err := parse(set, args); err != nil {
		return err
	}
	return f.check()
}

func (f *serveFlags) check() error {
	if u, err := url.Parse(f.endpoint); err != nil || u.Scheme != "opc.tcp" {
		return wrong("endpoint", f.endpoint, `write a URL like "opc.tcp://127.0.0.1:4841"`)
	}
	for _, text := range strings.Split(f.security, ",") {
		s, ok := offer(text)
		if !ok {
			return wrong("security", f.security, `write "None", "Basic256Sha256/SignAndEncrypt" or both with a comma between them`)
		}
		f.offered = append(f.offered, s)
	}
	if f.sizes != "" && f.sizes != noArrays {
		for _, text := range strings.Split(f.sizes, ",") {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > largestArray-1024 {
				return wrong("array-sizes", f.sizes, "write numbers of elements from 1 to %d with commas between them, or %q", largestArray-1024, noArrays)
			}
			f.arrays = append(f.arrays, n)
		}
	}
	if len(f.arrays) > arrays {
		return wrong("array-sizes", f.sizes, "write at most %d sizes", arrays)
	}
	if f.nodes < 0 || f.nodes > mostNodes {
		return wrong("nodes", f.nodes, "write a number from 0 to %d", mostNodes)
	}
	if f.sessions < 1 {
		return wrong("max-sessions", f.sessions, "write a number from 1 on")
	}
	if f.subscriptions < 0 {
		return wrong("max-subscriptions", f.subscriptions, "write a number from 1 on, or 0")
	}
	if f.subscriptions == 0 {
		f.subscriptions = max(30_000, f.sessions)
	}
	if f.tokenLife <= 0 {
		return wrong("min-token-lifetime", f.tokenLife, `write a time like "10s"`)
	}
	if f.shutdownDelay < 0 {
		return wrong("shutdown-delay", f.shutdownDelay, `write a time like "1s", or 0`)
	}
	return nil
}

// offer is the server's name for a policy and mode that the command line names.
func offer(text string) (uahive.Security, bool) {
	asked, err := client.ParseSecurity(strings.TrimSpace(text))
	if err != nil || asked == client.BestSecurity {
		return uahive.Security{}, false
	}
	if asked.Mode == ua.MessageSecurityModeNone {
		return uahive.NoSecurity, true
	}
	deprecated := []uahive.Security{
		uahive.DeprecatedBasic256Sign, uahive.DeprecatedBasic256Encrypt,
		uahive.DeprecatedBasic128Rsa15Sign, uahive.DeprecatedBasic128Rsa15Encrypt,
	}
	for _, s := range slices.Concat(uahive.SecurePolicies(), uahive.ECCPolicies(), deprecated) {
		if s.String() == asked.String() {
			return s, true
		}
	}
	return uahive.Security{}, false
}

// serve runs uahive with the benchmark's address space until it is interrupted.
func serve(ctx context.Context, c *command, args []string, out io.Writer) error {
	var f serveFlags
	if err := f.parse(c, args); err != nil {
		return err
	}
	start := time.Now()
	srv, err := f.server()
	if err != nil {
		return err
	}
	l, err := srv.Listen()
	if err != nil {
		_ = srv.Close()
		return fmt.Errorf("%w: %w", wrong("endpoint", f.endpoint, "write an address of this machine with a port that is free"), err)
	}
	if f.profile != "" {
		if err := startPage(f.profile, srv); err != nil {
			_ = srv.Close()
			return err
		}
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	fmt.Fprintf(out, "ready %s pid %d, started in %d ms, heap %.1f MiB\n", reachable(f.endpoint, l.Addr()), os.Getpid(),
		time.Since(start).Milliseconds(), float64(mem.HeapAlloc)/(1<<20))
	return srv.ServeListener(ctx, l)
}

// reachable is the endpoint with the port that it got where it asked for any.
func reachable(endpoint string, at net.Addr) string {
	if u, err := url.Parse(endpoint); err == nil && u.Port() == "0" {
		if _, port, err := net.SplitHostPort(at.String()); err == nil {
			u.Host = net.JoinHostPort(u.Hostname(), port)
			return u.String()
		}
	}
	return endpoint
}

// server makes the server with its address space.
func (f *serveFlags) server() (*uahive.Server, error) {
	log := zerolog.Nop()
	if f.verbose {
		log = zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr}).With().Timestamp().Logger()
	}
	const operations = 100_000
	delay := f.shutdownDelay
	if delay == 0 {
		delay = -1 // 0 is the default of the configuration
	}
	srv, err := uahive.New(uahive.Config{
		Endpoint: f.endpoint, ApplicationURI: "urn:uahive:uaload", PKI: "memory", TrustAll: true, Logger: log,
		Security: f.offered, ShutdownDelay: delay,
		Limits: uahive.Limits{
			Sessions: f.sessions, MaxMessage: largestMessage, ArrayLength: largestArray,
			Channels:      channelactor.Limits{AssemblyBytes: 1 << 30, MinTokenLifetime: f.tokenLife},
			Subscriptions: publishloop.Limits{Subscriptions: f.subscriptions},
			Nodes:         addrspace.Limits{ValueSize: largestMessage},
			Services: sessionactor.Limits{
				NodesPerRead: operations, NodesPerWrite: operations, NodesPerBrowse: operations,
				NodesPerTranslate: operations, NodesPerRegister: operations, MethodsPerCall: operations, ItemsPerCall: operations,
			},
		},
	})
	if err != nil {
		return nil, err
	}
	if err := fill(srv.Space(), f.arrays, f.nodes); err != nil {
		_ = srv.Close()
		return nil, err
	}
	return srv, nil
}
