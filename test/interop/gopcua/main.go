// Command gopcua runs gopcua's client against the demo server.
//
// Each check prints PASS or FAIL, the last line totals them. The endpoint comes
// from the first argument or from UAHIVE_ENDPOINT.
package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gopcua/opcua"
	"github.com/gopcua/opcua/ua"
)

// security is one combination of policy and mode.
type security struct {
	policy string
	mode   ua.MessageSecurityMode
}

func (s security) String() string {
	return s.policy + "/" + strings.TrimPrefix(s.mode.String(), "MessageSecurityMode")
}

var (
	none    = security{"None", ua.MessageSecurityModeNone}
	secured = []security{
		{"Basic256Sha256", ua.MessageSecurityModeSignAndEncrypt},
		{"Basic256Sha256", ua.MessageSecurityModeSign},
		{"Aes128_Sha256_RsaOaep", ua.MessageSecurityModeSignAndEncrypt},
		{"Aes256_Sha256_RsaPss", ua.MessageSecurityModeSignAndEncrypt},
	}
)

// suite is what all checks share.
type suite struct {
	endpoint string
	key      *rsa.PrivateKey
	cert     []byte
	report   report
}

func main() {
	which := flag.String("security", "all", "all, none or secured")
	limit := flag.Duration("timeout", 4*time.Minute, "for the whole suite")
	flag.Parse()
	// The client's own log lines are about errors that checks cause on purpose.
	log.SetOutput(io.Discard)
	s := &suite{endpoint: "opc.tcp://127.0.0.1:4840"}
	if e := os.Getenv("UAHIVE_ENDPOINT"); e != "" {
		s.endpoint = e
	}
	if flag.NArg() > 0 {
		s.endpoint = flag.Arg(0)
	}
	time.AfterFunc(*limit, func() {
		fmt.Printf("FAIL the suite did not end within %v\n0 passed, 1 failed\n", *limit)
		os.Exit(1)
	})
	if err := s.makeCertificate(); err != nil {
		fmt.Printf("FAIL cannot make a certificate: %v\n0 passed, 1 failed\n", err)
		os.Exit(1)
	}
	ctx := context.Background()
	var all, full []security
	if *which != "secured" {
		all, full = append(all, none), append(full, none)
		s.discovery(ctx)
	}
	if *which != "none" {
		all, full = append(all, secured...), append(full, secured[0])
	}
	for _, sec := range all {
		s.identities(ctx, sec)
	}
	for _, sec := range full {
		s.everything(ctx, sec)
	}
	var wg sync.WaitGroup
	for _, sec := range full {
		wg.Go(func() { s.renewal(ctx, sec) })
		wg.Go(func() { s.reconnection(ctx, sec) })
	}
	wg.Wait()
	os.Exit(s.report.close())
}

// makeCertificate makes the client's application certificate (Part 6, 6.2.2).
func (s *suite) makeCertificate() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	uri, err := url.Parse("urn:uahive:interop:gopcua")
	if err != nil {
		return err
	}
	template := x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: "uahive interop gopcua"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment | x509.KeyUsageKeyEncipherment | x509.KeyUsageDataEncipherment,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		URIs:                  []*url.URL{uri},
		DNSNames:              []string{"localhost"},
	}
	s.key = key
	s.cert, err = x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	return err
}

// connect opens a session; an empty user is anonymous.
func (s *suite) connect(ctx context.Context, endpoint string, sec security, user, password string, more ...opcua.Option) (*opcua.Client, error) {
	endpoints, err := opcua.GetEndpoints(ctx, endpoint)
	if err != nil {
		return nil, fmt.Errorf("GetEndpoints: %w", err)
	}
	ep, err := opcua.SelectEndpoint(endpoints, ua.FormatSecurityPolicyURI(sec.policy), sec.mode)
	if err != nil {
		return nil, err
	}
	if ep.SecurityMode != sec.mode || !strings.HasSuffix(ep.SecurityPolicyURI, "#"+sec.policy) {
		return nil, fmt.Errorf("the server does not offer %v", sec)
	}
	opts := []opcua.Option{
		opcua.PrivateKey(s.key), opcua.Certificate(s.cert), opcua.ApplicationURI("urn:uahive:interop:gopcua"),
		opcua.RequestTimeout(10 * time.Second), opcua.SessionTimeout(time.Minute),
		opcua.ReconnectInterval(500 * time.Millisecond),
	}
	switch user {
	case "":
		opts = append(opts, opcua.AuthAnonymous(), opcua.SecurityFromEndpoint(ep, ua.UserTokenTypeAnonymous))
	case userCertificate:
		cert, key, err := loadUser()
		if err != nil {
			return nil, err
		}
		opts = append(opts, opcua.AuthCertificate(cert), opcua.AuthPrivateKey(key), opcua.SecurityFromEndpoint(ep, ua.UserTokenTypeCertificate))
	default:
		opts = append(opts, opcua.AuthUsername(user, password), opcua.SecurityFromEndpoint(ep, ua.UserTokenTypeUserName))
	}
	c, err := opcua.NewClient(endpoint, append(opts, more...)...)
	if err != nil {
		return nil, err
	}
	if err := c.Connect(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// userCertificate stands for the user who logs in with the certificate that the
// environment names.
const userCertificate = "certificate"

func loadUser() ([]byte, *rsa.PrivateKey, error) {
	cert, err := os.ReadFile(os.Getenv("UAHIVE_USER_CERT"))
	if err != nil {
		return nil, nil, err
	}
	text, err := os.ReadFile(os.Getenv("UAHIVE_USER_KEY"))
	if err != nil {
		return nil, nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, nil, errors.New("UAHIVE_USER_KEY is no PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, nil, err
	}
	own, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, nil, errors.New("UAHIVE_USER_KEY is no RSA key")
	}
	return cert, own, nil
}

func (s *suite) discovery(ctx context.Context) {
	s.report.check(ctx, "GetEndpoints offers None and three policies in both modes", func(ctx context.Context) (string, error) {
		endpoints, err := opcua.GetEndpoints(ctx, s.endpoint)
		if err != nil {
			return "", err
		}
		offered := map[string]bool{}
		for _, e := range endpoints {
			_, policy, _ := strings.Cut(e.SecurityPolicyURI, "#")
			offered[security{policy, e.SecurityMode}.String()] = true
			if _, err := x509.ParseCertificate(e.ServerCertificate); err != nil {
				return "", fmt.Errorf("%s: server certificate: %w", e.EndpointURL, err)
			}
		}
		wanted := []security{none}
		for _, policy := range []string{"Basic256Sha256", "Aes128_Sha256_RsaOaep", "Aes256_Sha256_RsaPss"} {
			wanted = append(wanted, security{policy, ua.MessageSecurityModeSign}, security{policy, ua.MessageSecurityModeSignAndEncrypt})
		}
		for _, w := range wanted {
			if !offered[w.String()] {
				return "", fmt.Errorf("%v is not offered", w)
			}
		}
		return fmt.Sprintf("%d endpoints", len(endpoints)), nil
	})
	s.report.check(ctx, "FindServers names the server itself", func(ctx context.Context) (string, error) {
		servers, err := opcua.FindServers(ctx, s.endpoint)
		if err != nil {
			return "", err
		}
		if len(servers) == 0 || servers[0].ApplicationURI == "" || len(servers[0].DiscoveryURLs) == 0 {
			return "", errors.New("no complete ApplicationDescription")
		}
		return servers[0].ApplicationURI, nil
	})
	s.report.check(ctx, "an endpoint's address is what the client used", func(ctx context.Context) (string, error) {
		p, err := newProxy(target(s.endpoint))
		if err != nil {
			return "", err
		}
		defer p.close()
		endpoints, err := opcua.GetEndpoints(ctx, p.url())
		if err != nil {
			return "", err
		}
		for _, e := range endpoints {
			if target(e.EndpointURL) != target(p.url()) {
				return "", fmt.Errorf("%s instead of %s", e.EndpointURL, p.url())
			}
		}
		return "", nil
	})
}

func (s *suite) identities(ctx context.Context, sec security) {
	accepted := func(user string) func(ctx context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			c, err := s.connect(ctx, s.endpoint, sec, user, user)
			if err != nil {
				return "", err
			}
			defer c.Close(ctx)
			return "", running(ctx, c)
		}
	}
	s.report.check(ctx, sec.String()+" anonymous connects", accepted(""))
	s.report.check(ctx, sec.String()+" user name connects", accepted("operator"))
	if os.Getenv("UAHIVE_USER_CERT") != "" {
		s.report.check(ctx, sec.String()+" user certificate connects", accepted(userCertificate))
	}
	refused := func(user, password string) func(ctx context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			c, err := s.connect(ctx, s.endpoint, sec, user, password)
			if err == nil {
				c.Close(ctx)
				return "", errors.New("accepted")
			}
			if !errors.Is(err, ua.StatusBadUserAccessDenied) && !errors.Is(err, ua.StatusBadIdentityTokenRejected) {
				return "", fmt.Errorf("refused with %w", err)
			}
			return "", nil
		}
	}
	s.report.check(ctx, sec.String()+" a wrong password is refused", refused("operator", "wrong"))
	s.report.check(ctx, sec.String()+" an unknown user is refused", refused("nobody", "operator"))
}

// running checks that the server says of itself that it runs.
func running(ctx context.Context, c *opcua.Client) error {
	v, err := c.Node(ua.NewNumericNodeID(0, 2259)).Value(ctx)
	if err != nil {
		return err
	}
	if v.Value() != int32(ua.ServerStateRunning) {
		return fmt.Errorf("ServerState %v", v.Value())
	}
	return nil
}

// everything runs all services over one session as the demo's user.
func (s *suite) everything(ctx context.Context, sec security) {
	var c *opcua.Client
	ok := s.report.check(ctx, sec.String()+" connects for the services", func(ctx context.Context) (string, error) {
		var err error
		c, err = s.connect(ctx, s.endpoint, sec, "operator", "operator")
		return "", err
	})
	if !ok {
		return
	}
	defer c.Close(ctx)
	(&spaceChecks{c: c, r: &s.report, prefix: sec.String() + " "}).run(ctx)
	s.consecutive(ctx, c, sec)
}

// target is the host and port of an endpoint's address.
func target(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	return u.Host
}
