package uahive_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

var bothCurves = []pki.KeyType{pki.NistP256, pki.NistP384}

func allSecurity() []uahive.Security {
	return slices.Concat(uahive.SecurePolicies(), uahive.ECCPolicies(), []uahive.Security{
		uahive.DeprecatedBasic256Sign, uahive.DeprecatedBasic256Encrypt,
		uahive.DeprecatedBasic128Rsa15Sign, uahive.DeprecatedBasic128Rsa15Encrypt,
	})
}

// startSecured starts a server with this security and user "operator", and returns
// its URL with a client's store; both trust each other.
func startSecured(t *testing.T, security []uahive.Security, types []pki.KeyType, log zerolog.Logger) (string, *pki.Store, *uahive.Server) {
	t.Helper()
	srv, err := uahive.New(uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:0", PKI: "memory", ShutdownDelay: -1, Security: security, Anonymous: true,
		Authenticate: func(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
			if c.Password != "secret" {
				return nil, errors.New("wrong password")
			}
			return &uahive.User{Name: c.UserName}, nil
		},
		Logger: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.ServeListener(context.Background(), l) }()
	t.Cleanup(func() {
		if err := errors.Join(srv.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	store, err := pki.Memory(pki.Config{ApplicationURI: "urn:test:client", KeyTypes: types})
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range store.Certificates() {
		if err := srv.PKI().Trust(own.DER); err != nil {
			t.Fatal(err)
		}
	}
	for _, own := range srv.PKI().Certificates() {
		if err := store.Trust(own.DER); err != nil {
			t.Fatal(err)
		}
	}
	return "opc.tcp://" + l.Addr().String(), store, srv
}

func securityOf(t *testing.T, s uahive.Security) client.Security {
	t.Helper()
	security, err := client.ParseSecurity(s.String())
	if err != nil {
		t.Fatal(err)
	}
	return security
}

// Each policy and mode carries sessions of anonymous and named users between our two
// ends, over one endpoint address: RSA and ECC certificates side by side.
func TestSessionsUnderEveryPolicy(t *testing.T) {
	url, store, _ := startSecured(t, allSecurity(), bothCurves, zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel))
	for _, s := range allSecurity() {
		t.Run(s.String(), func(t *testing.T) {
			cfg := client.Config{Security: securityOf(t, s), PKI: store, User: client.UserName("operator", "secret")}
			c, err := client.Connect(t.Context(), url, cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(context.Background())
			values, err := c.ReadValues(t.Context(), ua.NumericID(0, id.Server_ServerStatus_CurrentTime))
			if err != nil || values[0].Status != ua.Good {
				t.Fatal(values, err)
			}
			// The secret of each activation has a nonce, and under ECC a key, of its own.
			for range 2 {
				if err := c.ChangeUser(t.Context(), client.Anonymous()); err != nil {
					t.Fatal(err)
				}
				if err := c.ChangeUser(t.Context(), client.UserName("operator", "secret")); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.ChangeUser(t.Context(), client.UserName("operator", "guess")); ua.StatusOf(err) != ua.BadIdentityTokenRejected {
				t.Errorf("wrong password: %v", err)
			}
			// A refused login consumes neither nonce nor key.
			if err := c.ChangeUser(t.Context(), client.UserName("operator", "secret")); err != nil {
				t.Error(err)
			}
		})
	}
}

// GetEndpoints gives each endpoint the certificate of its policy, and token policies
// that this certificate works with (Part 6, 6.8.2); withdrawn ones have level 0.
func TestEndpointsHaveTheCertificateOfTheirPolicy(t *testing.T) {
	url, _, srv := startSecured(t, allSecurity(), nil, zerolog.Nop())
	endpoints, err := client.Discover(t.Context(), url, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if len(endpoints) != len(allSecurity()) {
		t.Fatalf("%d endpoints", len(endpoints))
	}
	for _, e := range endpoints {
		policy, ok := uasc.PolicyByURI(e.SecurityPolicyURI)
		if !ok {
			t.Fatal(e.SecurityPolicyURI)
		}
		if !bytes.Equal(e.ServerCertificate, srv.PKI().CertificateFor(policy.Curve).Chain) {
			t.Errorf("%v has another certificate", policy)
		}
		if parsed, err := pki.Intern(e.ServerCertificate); err != nil || policy.CheckKey(parsed.Key) != nil {
			t.Errorf("%v: key of the certificate: %v", policy, err)
		}
		if (e.SecurityLevel == 0) != policy.Deprecated {
			t.Errorf("%v: level %d", policy, e.SecurityLevel)
		}
		for _, token := range e.UserIdentityTokens {
			if token.TokenType == ua.UserTokenTypeAnonymous {
				continue
			}
			want := policy.URI
			if policy == uasc.Basic128Rsa15 {
				want = uasc.Basic256Sha256.URI // rsa-1_5 protects no secrets
			}
			if token.SecurityPolicyURI != want {
				t.Errorf("%v: token policy %s", policy, token.SecurityPolicyURI)
			}
		}
	}
}

// Without a word in the configuration there are neither withdrawn policies nor more
// than one certificate; a channel that asks for such a policy is refused.
func TestWithdrawnAndECCPoliciesAreOnlyThereWhenNamed(t *testing.T) {
	url, store, srv := startSecured(t, nil, bothCurves, zerolog.Nop())
	if n := len(srv.PKI().Certificates()); n != 1 {
		t.Errorf("%d certificates", n)
	}
	endpoints, err := client.Discover(t.Context(), url, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range slices.Concat(uahive.ECCPolicies(), allSecurity()[10:]) {
		// A client that believes in an endpoint that is not there.
		lie := slices.Clone(endpoints)
		security := securityOf(t, s)
		policy, _ := uasc.PolicyByURI("http://opcfoundation.org/UA/SecurityPolicy#" + security.Policy)
		lie[0].SecurityPolicyURI, lie[0].SecurityMode = policy.URI, security.Mode
		if policy.Curve != nil {
			lie[0].ServerCertificate = store.CertificateFor(policy.Curve).DER
		}
		_, err := client.Connect(t.Context(), url, client.Config{
			Security: security, PKI: store, TrustAll: true, Endpoints: lie, Reconnect: client.Backoff{Disabled: true},
		})
		if ua.StatusOf(err) != ua.BadSecurityPolicyRejected {
			t.Errorf("%v: %v", s, err)
		}
	}
	if lane := srv.Stats().Lane; lane.Worked != 0 {
		t.Errorf("%d private-key operations for refused policies", lane.Worked)
	}
}

// The best endpoint is one that the client has a key for, and never a withdrawn one.
func TestBestSecurityFitsTheClientsCertificates(t *testing.T) {
	url, store, srv := startSecured(t, allSecurity(), bothCurves, zerolog.Nop())
	rsaOnly, err := pki.Memory(pki.Config{ApplicationURI: "urn:test:rsa", AcceptAll: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.PKI().Trust(rsaOnly.Certificate().DER); err != nil {
		t.Fatal(err)
	}
	for want, store := range map[string]*pki.Store{uasc.ECCNistP384.URI: store, uasc.Aes256Sha256RsaPss.URI: rsaOnly} {
		c, err := client.Connect(t.Context(), url, client.Config{PKI: store})
		if err != nil {
			t.Fatal(err)
		}
		if e := c.Endpoint(); e.SecurityPolicyURI != want || e.SecurityMode != ua.MessageSecurityModeSignAndEncrypt {
			t.Errorf("%s %v", e.SecurityPolicyURI, e.SecurityMode)
		}
		c.Close(context.Background())
	}
	_, err = client.Connect(t.Context(), url, client.Config{PKI: rsaOnly, Security: client.Security{Policy: client.PolicyECCNistP256}})
	if err == nil || !strings.Contains(err.Error(), "KeyTypes") {
		t.Errorf("a client without the key: %v", err)
	}
	// Where a server has nothing but withdrawn policies, they are named or not used.
	url, store, _ = startSecured(t, []uahive.Security{uahive.DeprecatedBasic256Encrypt}, nil, zerolog.Nop())
	if _, err := client.Connect(t.Context(), url, client.Config{PKI: store}); ua.StatusOf(err) != ua.BadSecurityPolicyRejected {
		t.Errorf("a withdrawn policy was chosen: %v", err)
	}
}

// Who offers a withdrawn policy is told so on each start.
func TestWithdrawnPoliciesAreLoud(t *testing.T) {
	var log lines
	url, store, _ := startSecured(t, []uahive.Security{uahive.DeprecatedBasic256Encrypt, uahive.Basic256Sha256Encrypt}, nil, zerolog.New(&log))
	c, err := client.Connect(t.Context(), url, client.Config{PKI: store})
	if err != nil {
		t.Fatal(err)
	}
	c.Close(context.Background())
	if text := log.String(); !strings.Contains(text, "DEPRECATED SECURITY") || !strings.Contains(text, "Basic256/SignAndEncrypt") {
		t.Errorf("the log says nothing: %s", text)
	}
}

// lines is a log in memory.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
