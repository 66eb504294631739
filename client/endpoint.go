package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// binaryTransport is the profile of the only transport that the client has
// (Part 7, 6.6: UA-TCP UA-SC UA-Binary).
const binaryTransport = "http://opcfoundation.org/UA-Profile/Transport/uatcp-uasc-uabinary"

// defaultPort is the registered port of opc.tcp.
const defaultPort = "4840"

// hostPort takes the address to dial from an endpoint URL.
func hostPort(endpointURL string) (string, error) {
	u, err := url.Parse(endpointURL)
	if err != nil {
		return "", fmt.Errorf("client: %w", err)
	}
	if u.Scheme != "opc.tcp" || u.Hostname() == "" {
		return "", fmt.Errorf("client: endpoint %q is not of the form opc.tcp://host:port/path", endpointURL)
	}
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// Discover returns the endpoints of a server (Part 4, 5.5.4). It needs no
// certificate: it uses a channel without security, and what it returns is
// proven only when a session is created.
func Discover(ctx context.Context, endpointURL string, cfg Config) ([]ua.EndpointDescription, error) {
	cfg = cfg.withDefaults()
	address, err := hostPort(endpointURL)
	if err != nil {
		return nil, err
	}
	return discover(ctx, &cfg, address, endpointURL)
}

func discover(ctx context.Context, cfg *Config, address, endpointURL string) ([]ua.EndpointDescription, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout)
	defer cancel()
	var (
		staff crew
		stats counters
	)
	ch, err := openChannel(ctx, cfg, insecure, address, endpointURL, &staff, &stats)
	if err != nil {
		return nil, wrap("discover", err)
	}
	ch.start(nil)
	req := ua.GetEndpointsRequest{EndpointURL: endpointURL, LocaleIDs: cfg.Locales}
	var resp ua.GetEndpointsResponse
	err = ch.call(ctx, cfg.timing(ctx), &req, &resp, nil)
	ch.close(ErrClosed)
	if err != nil {
		return nil, wrap("GetEndpoints", err)
	}
	_ = staff.wait(ctx)
	return resp.Endpoints, nil
}

var insecure = &securing{policy: uasc.PolicyNone, mode: uasc.ModeNone}

// target is an endpoint that was chosen, and what it takes to use it.
type target struct {
	endpoint   *ua.EndpointDescription
	discovered []ua.EndpointDescription
	sec        *securing
}

// choose picks an endpoint of those that were discovered and checks the
// server's certificate.
func choose(cfg *Config, host string, endpoints []ua.EndpointDescription) (*target, error) {
	e, err := best(cfg, endpoints)
	if err != nil {
		return nil, err
	}
	t := &target{endpoint: e, discovered: endpoints}
	policy, _ := uasc.PolicyByURI(e.SecurityPolicyURI)
	t.sec = &securing{policy: policy, mode: uasc.Mode(e.SecurityMode)}
	_, tokenPolicy, err := chooseToken(e, cfg.User)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if len(e.ServerCertificate) > 0 {
		// Without security the certificate is only needed for a password.
		if t.sec.server, err = pki.Intern(e.ServerCertificate); err != nil && policy.Secure() {
			return nil, fmt.Errorf("client: server certificate: %w (%w)", err, ua.BadCertificateInvalid)
		}
	}
	if !policy.Secure() {
		if !tokenPolicy.Secure() {
			return t, nil
		}
	} else if t.sec.server == nil {
		return nil, fmt.Errorf("client: endpoint without a server certificate: %w", ua.BadCertificateInvalid)
	} else if t.sec.local = cfg.certificateFor(policy); t.sec.local == nil {
		return nil, errors.New("client: security needs a certificate: set Config.PKI or Config.Certificate")
	} else if err := policy.CheckKey(t.sec.server.Key); err != nil {
		return nil, fmt.Errorf("client: server certificate does not fit security policy %v: %w", policy, err)
	}
	if t.sec.server == nil {
		return t, nil // the identity token will say what is missing
	}
	return t, trust(cfg, host, t)
}

// best returns the endpoint that fits and whose level is the highest.
func best(cfg *Config, endpoints []ua.EndpointDescription) (*ua.EndpointDescription, error) {
	var (
		found   *ua.EndpointDescription
		rank    int
		offered []string
		missing string
	)
	for i := range endpoints {
		e := &endpoints[i]
		if e.TransportProfileURI != "" && e.TransportProfileURI != binaryTransport ||
			!strings.HasPrefix(e.EndpointURL, "opc.tcp://") {
			continue
		}
		offered = append(offered, Security{e.SecurityPolicyURI, e.SecurityMode}.String())
		policy, ok := uasc.PolicyByURI(e.SecurityPolicyURI)
		if !ok || policy.CheckMode(uasc.Mode(e.SecurityMode)) != nil || !cfg.Security.fits(e) {
			continue
		}
		if cfg.Security.Policy == "" && policy.Secure() != (cfg.Certificate != nil) &&
			cfg.Security.Mode == ua.MessageSecurityModeInvalid {
			continue // see BestSecurity
		}
		if policy.Deprecated && cfg.Security.policyURI() != policy.URI {
			continue // such a policy is named or not used
		}
		if policy.Secure() && cfg.certificateFor(policy) == nil {
			if cfg.Certificate != nil && cfg.Security.Policy != "" {
				missing = "; the client's certificate has no key for it (pki.Config.KeyTypes)"
			}
			continue
		}
		// Policies are ordered, and encrypting matters more than which of them.
		r := int(e.SecurityLevel)<<8 | int(e.SecurityMode)<<4 | slices.Index(uasc.Policies(), policy)
		if found == nil || r > rank {
			found, rank = e, r
		}
	}
	if found == nil {
		slices.Sort(offered)
		hint := missing
		if cfg.Certificate == nil {
			hint = "; the client has no certificate (Config.PKI)"
		}
		return nil, fmt.Errorf("client: no endpoint with security %v, server offers %s%s: %w", cfg.Security,
			strings.Join(slices.Compact(offered), ", "), hint, ua.BadSecurityPolicyRejected)
	}
	return found, nil
}

// checkEndpoints compares the endpoints that CreateSession returned with those
// that were discovered. A difference means that somebody changed the answer to
// GetEndpoints, which is not protected, to lower the security (Part 4, 5.7.2).
// Host names are not compared: gateways rewrite them, and they secure nothing.
func checkEndpoints(discovered, session []ua.EndpointDescription) error {
	if len(discovered) == 0 {
		return nil
	}
	if len(session) == 0 {
		return fmt.Errorf("session lists no endpoints: %w", ua.BadSecurityChecksFailed)
	}
	a, b := fingerprints(discovered), fingerprints(session)
	if !slices.Equal(a, b) {
		return fmt.Errorf("the session's endpoints differ from the discovered ones: %w", ua.BadSecurityChecksFailed)
	}
	return nil
}

// fingerprints lists what matters of endpoints, in an order of its own.
func fingerprints(endpoints []ua.EndpointDescription) []string {
	var list []string
	for i := range endpoints {
		e := &endpoints[i]
		tokens := make([]string, len(e.UserIdentityTokens))
		for j, t := range e.UserIdentityTokens {
			tokens[j] = fmt.Sprintf("%q/%d/%q", t.PolicyID, t.TokenType, t.SecurityPolicyURI)
		}
		slices.Sort(tokens)
		list = append(list, fmt.Sprintf("%q %d %q %q %d %v", e.Server.ApplicationURI, e.SecurityMode,
			e.SecurityPolicyURI, e.TransportProfileURI, e.SecurityLevel, tokens))
	}
	slices.Sort(list)
	return list
}

func applicationURI(cert *pki.Certificate) string {
	if cert != nil && cert.ApplicationURI != "" {
		return cert.ApplicationURI
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return "urn:" + host + ":uahive:client"
}

// clip bounds what a server said before it is logged.
func clip(s string) string {
	const most = 256
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
