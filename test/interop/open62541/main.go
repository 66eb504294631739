// Command open62541 runs uahive against both ends of open62541, a foreign stack in C, under the security policies
// that the other foreign clients do not have: elliptic curves, and what the standard has withdrawn.
//
//	open62541 -peer build/peer
//
// It starts a server of its own on the loopback interface and lets the peer's client use it, anonymously until two
// security tokens were renewed, and as a user with a password; then it starts the peer's server and uses that with
// uahive's client. The certificates of both are made by uahive.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// offered is what both servers of the suite offer.
var offered = []uahive.Security{
	uahive.ECCNistP256Sign, uahive.ECCNistP256Encrypt, uahive.ECCNistP384Sign, uahive.ECCNistP384Encrypt,
	uahive.DeprecatedBasic256Sign, uahive.DeprecatedBasic256Encrypt,
	uahive.DeprecatedBasic128Rsa15Sign, uahive.DeprecatedBasic128Rsa15Encrypt,
	uahive.Basic256Sha256Sign, uahive.Basic256Sha256Encrypt,
}

var curves = []pki.KeyType{pki.NistP256, pki.NistP384}

func main() {
	peer := flag.String("peer", "build/peer", "`path` of the peer")
	port := flag.Int("port", 0, "`port` of the peer's server; 0 for any free one")
	flag.Parse()
	var r results
	if err := run(&r, *peer, *port); err != nil {
		r.report("the suite", err)
	}
	fmt.Printf("%d passed, %d failed\n", r.passed, r.failed)
	if r.failed > 0 || r.passed == 0 {
		os.Exit(1)
	}
}

// results counts checks and prints each.
type results struct {
	mu             sync.Mutex
	passed, failed int
}

func (r *results) report(what string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.passed++
		fmt.Println("PASS", what)
		return
	}
	r.failed++
	fmt.Printf("FAIL %s: %v\n", what, err)
}

func run(r *results, peer string, port int) error {
	dir, err := os.MkdirTemp("", "open62541")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	foreign, err := pki.Open(pki.Config{Dir: dir, ApplicationURI: "urn:interop:open62541", KeyTypes: curves})
	if err != nil {
		return err
	}
	if err := serveIt(r, peer, foreign, filepath.Join(dir, "own")); err != nil {
		return err
	}
	return useIt(r, peer, foreign, filepath.Join(dir, "own"), port)
}

// files are the certificate and the key for a policy, as pki stores them.
func files(dir string, policy string) []string {
	kind := ""
	switch policy {
	case client.PolicyECCNistP256:
		kind = "_nistP256"
	case client.PolicyECCNistP384:
		kind = "_nistP384"
	}
	return []string{filepath.Join(dir, "cert"+kind+".der"), filepath.Join(dir, "key"+kind+".pem")}
}

// serveIt lets the peer's client use our server.
func serveIt(r *results, peer string, foreign *pki.Store, dir string) error {
	srv, err := uahive.New(uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:0", PKI: "memory", ShutdownDelay: -1, Anonymous: true,
		Security: append([]uahive.Security{uahive.NoSecurity}, offered...),
		Authenticate: func(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
			if c.UserName != "operator" || c.Password != "secret" {
				return nil, errors.New("wrong password")
			}
			return &uahive.User{Name: c.UserName}, nil
		},
	})
	if err != nil {
		return err
	}
	for _, own := range foreign.Certificates() {
		if err := srv.PKI().Trust(own.DER); err != nil {
			return err
		}
	}
	l, err := srv.Listen()
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.ServeListener(context.Background(), l) }()
	url := "opc.tcp://" + l.Addr().String()

	// Bad logins come last: too many of them lock this host out for a while.
	var all sync.WaitGroup
	var refused []func()
	for _, s := range offered {
		security, err := client.ParseSecurity(s.String())
		if err != nil {
			return err
		}
		args := append([]string{"client", url, security.Policy, fmt.Sprint(int(security.Mode))}, files(dir, security.Policy)...)
		all.Go(func() {
			r.report("their client, two renewals, "+s.String(), start(peer, args, "SHORT="))
		})
		all.Go(func() {
			r.report("their client with a password, "+s.String(), start(peer, append(slices.Clone(args), "operator", "secret"), "SHORT=1"))
		})
		refused = append(refused, func() {
			err := start(peer, append(slices.Clone(args), "operator", "guess"), "SHORT=1")
			if err == nil {
				err = errors.New("let in")
			} else if strings.Contains(err.Error(), "BadIdentityTokenRejected") {
				err = nil
			}
			r.report("their client with a wrong password, "+s.String(), err)
		})
	}
	all.Wait()
	for _, login := range refused {
		login()
	}
	return errors.Join(srv.Close(), <-ended)
}

// start runs the peer and returns what it said when it failed.
func start(peer string, args []string, env string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, peer, args...)
	if !strings.HasSuffix(env, "=") {
		c.Env = append(os.Environ(), env)
	}
	out, err := c.CombinedOutput()
	if err != nil {
		said := strings.TrimSpace(string(out))
		return fmt.Errorf("%w: %s", err, said[strings.LastIndexByte(said, '\n')+1:])
	}
	return nil
}

// useIt uses the peer's server with our client.
func useIt(r *results, peer string, foreign *pki.Store, dir string, port int) error {
	if port == 0 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		port = l.Addr().(*net.TCPAddr).Port
		l.Close()
	}
	args := []string{"server", fmt.Sprint(port)}
	for _, policy := range []string{"", client.PolicyECCNistP256, client.PolicyECCNistP384} {
		args = append(args, files(dir, policy)...)
	}
	server := exec.Command(peer, args...)
	if err := server.Start(); err != nil {
		return err
	}
	defer func() {
		server.Process.Signal(os.Interrupt)
		server.Wait()
	}()
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for range 100 {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	own, err := pki.Memory(pki.Config{ApplicationURI: "urn:interop:uahive", KeyTypes: curves})
	if err != nil {
		return err
	}
	for _, theirs := range foreign.Certificates() {
		if err := own.Trust(theirs.DER); err != nil {
			return err
		}
	}
	var renewing sync.WaitGroup
	defer renewing.Wait()
	for _, s := range offered {
		renewing.Go(func() { r.report("our client, two renewals, "+s.String(), renew(own, address, s)) })
		r.report("our client with a password, "+s.String(), login(own, address, s, "secret"))
		err := login(own, address, s, "guess")
		if err == nil {
			err = errors.New("let in")
		} else if code := ua.StatusOf(err); code == ua.BadUserAccessDenied || code == ua.BadIdentityTokenRejected {
			err = nil
		}
		r.report("our client with a wrong password, "+s.String(), err)
	}
	return nil
}

func connect(own *pki.Store, address string, s uahive.Security, user client.Identity) (*client.Client, error) {
	security, err := client.ParseSecurity(s.String())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return client.Connect(ctx, "opc.tcp://"+address, client.Config{
		PKI: own, Security: security, User: user, IgnoreHostname: true, AllowEndpointMismatch: true,
		TokenLifetime: 8 * time.Second, Reconnect: client.Backoff{Disabled: true},
	})
}

func login(own *pki.Store, address string, s uahive.Security, password string) error {
	c, err := connect(own, address, s, client.UserName("operator", password))
	if err != nil {
		return err
	}
	return errors.Join(look(c), c.Close(context.Background()))
}

// renew looks at the server's clock until two tokens were renewed.
func renew(own *pki.Store, address string, s uahive.Security) error {
	c, err := connect(own, address, s, client.Anonymous())
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	for end := time.Now().Add(20 * time.Second); c.Stats().Renewals < 2; time.Sleep(100 * time.Millisecond) {
		if err := look(c); err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d renewals", c.Stats().Renewals)
		}
	}
	return look(c)
}

func look(c *client.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	values, err := c.ReadValues(ctx, ua.NumericID(0, id.Server_ServerStatus_CurrentTime))
	if err == nil && values[0].Status.IsBad() {
		err = values[0].Status
	}
	if policy, ok := uasc.PolicyByURI(c.Endpoint().SecurityPolicyURI); err == nil && (!ok || !policy.Secure()) {
		err = errors.New("the channel is not secured")
	}
	return err
}
