package uahive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

// memoryPKI makes a certificate with a key, once for each name.
var memoryPKI = func() func(t testing.TB, name string) *pki.Store {
	var mu sync.Mutex
	stores := map[string]*pki.Store{}
	return func(t testing.TB, name string) *pki.Store {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if stores[name] == nil {
			store, err := pki.Memory(pki.Config{ApplicationURI: "urn:test:" + name, ApplicationName: name})
			if err != nil {
				t.Fatal(err)
			}
			stores[name] = store
		}
		return stores[name]
	}
}()

// gate is a server that shows who is let in.
type gate struct {
	t     *testing.T
	url   string
	srv   *uahive.Server
	calls chan uahive.Credentials
}

// passwords are what users of a gate need.
var passwords = map[string]string{
	"ann": "short", "bob": strings.Repeat("b", 64), "cyd": strings.Repeat("c", 65), "dee": strings.Repeat("äöü€", 90), "nil": "",
}

func newGate(t *testing.T, identities []uahive.Identity, change ...func(*uahive.Config)) *gate {
	t.Helper()
	g := &gate{t: t, calls: make(chan uahive.Credentials, 1000)}
	config := uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:0", PKI: "memory", TrustAll: true, ShutdownDelay: -1,
		Security: append(uahive.SecurePolicies(), uahive.NoSecurity), Identities: identities,
		Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel),
		Authenticate: func(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
			g.calls <- c
			switch password, known := passwords[c.UserName]; {
			case c.Kind == uahive.CertificateUser && !strings.Contains(c.UserName, "CN=eve"):
				return &uahive.User{Data: c}, nil
			case c.Kind == uahive.NamedUser && known && c.Password == password:
				return &uahive.User{Data: c}, nil
			}
			return nil, errors.New("not known")
		},
	}
	for _, f := range change {
		f(&config)
	}
	srv, err := uahive.New(config)
	if err != nil {
		t.Fatal(err)
	}
	g.srv = srv
	uahive.AddMethod(srv.Namespace("urn:test:model").Object("Session"), "Who",
		func(ctx context.Context, _ struct{}) (out struct{ Name string }, err error) {
			caller, _ := uahive.CallerFrom(ctx)
			out.Name = caller.User.Kind.String() + ":" + caller.User.Name
			return out, nil
		})
	l, err := srv.Listen()
	if err != nil {
		t.Fatal(err)
	}
	g.url = "opc.tcp://" + l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- srv.ServeListener(context.Background(), l) }()
	t.Cleanup(func() { srv.Close(); <-served })
	return g
}

// enter connects as a user; the error is that of the attempt.
func (g *gate) enter(security string, user client.Identity) (*client.Client, error) {
	g.t.Helper()
	choice, err := client.ParseSecurity(security)
	if err != nil {
		g.t.Fatal(err)
	}
	c, err := client.Connect(g.t.Context(), g.url, client.Config{
		Security: choice, User: user, PKI: memoryPKI(g.t, "client"), TrustAll: true, Reconnect: client.Backoff{Disabled: true},
	})
	if err == nil {
		g.t.Cleanup(func() { c.Close(context.Background()) })
	}
	return c, err
}

func (g *gate) who(c *client.Client) string {
	g.t.Helper()
	out, err := c.Call(g.t.Context(), ua.StringID(2, "Session"), ua.StringID(2, "Session.Who"))
	if err != nil || len(out) != 1 {
		g.t.Fatalf("%v %v", out, err)
	}
	return strings.Trim(out[0].String(), `"`)
}

// every is one security of each policy, and a mode that does not encrypt.
var every = []string{
	"None", "Basic256Sha256/Sign", "Basic256Sha256/SignAndEncrypt", "Aes128_Sha256_RsaOaep/SignAndEncrypt", "Aes256_Sha256_RsaPss/Sign",
}

// Passwords of every length reach the program as they are, in both formats and
// under every security (Part 4, 7.40.2.2 and 7.40.2.4).
func TestUserNamesLogIn(t *testing.T) {
	g := newGate(t, []uahive.Identity{uahive.UserNames})
	for _, security := range every {
		c, err := g.enter(security, client.UserName("ann", "short"))
		if err != nil {
			t.Fatalf("%s: %v", security, err)
		}
		for name, password := range passwords {
			if err := c.ChangeUser(t.Context(), client.UserName(name, password)); err != nil {
				t.Errorf("%s: %s: %v", security, name, err)
			} else if got := g.who(c); got != "UserName:"+name {
				t.Errorf("%s: %s is %s", security, name, got)
			}
		}
		if err := c.ChangeUser(t.Context(), client.UserName("cyd", passwords["cyd"]+"x")); ua.StatusOf(err) != ua.BadIdentityTokenRejected {
			t.Errorf("%s: a long password that is wrong: %v", security, err)
		}
		g.who(c) // the session is as it was
	}
	first := <-g.calls
	if first.Kind != uahive.NamedUser || first.ApplicationURI != "urn:test:client" || first.SecurityMode != ua.MessageSecurityModeNone ||
		!strings.HasSuffix(first.SecurityPolicy, "#None") || first.RemoteAddr == nil || first.EndpointURL != g.url || first.Certificate != nil {
		t.Errorf("%+v of %q in %v, %q", first, first.SecurityPolicy, first.SecurityMode, first.EndpointURL)
	}
}

// Where the token policy is None, passwords travel as they are, on channels that
// encrypt and nowhere else (Part 4, 7.40.4, table 189).
func TestPlainUserNamesLogInOnEncryptedChannels(t *testing.T) {
	g := newGate(t, []uahive.Identity{uahive.PlainUserNames})
	for _, security := range every {
		encrypted := strings.HasSuffix(security, "SignAndEncrypt")
		c, err := g.enter(security, client.UserName("dee", passwords["dee"]))
		if encrypted != (err == nil) {
			t.Errorf("%s: %v", security, err)
		}
		if err == nil && g.who(c) != "UserName:dee" {
			t.Errorf("%s: %s", security, g.who(c))
		}
	}
}

// Users log in with a certificate that the list of users trusts, and that Authenticate
// lets in; that of an application is no user's (Part 4, 7.40.5).
func TestThreat_U8_UserCertificates(t *testing.T) {
	g := newGate(t, []uahive.Identity{uahive.UserCertificates, uahive.UserNames}, func(c *uahive.Config) { c.Limits.Services.BadLogins = -1 })
	ann, eve, stranger := memoryPKI(t, "ann").Certificate(), memoryPKI(t, "eve").Certificate(), memoryPKI(t, "stranger").Certificate()
	for _, own := range []*pki.Certificate{ann, eve} {
		if err := g.srv.PKI().TrustUser(own.DER); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.srv.PKI().Trust(stranger.DER); err != nil { // as an application
		t.Fatal(err)
	}
	forged := *ann
	forged.Key = stranger.Key
	for _, security := range every {
		c, err := g.enter(security, client.UserCertificate(ann))
		if err != nil {
			t.Errorf("%s: %v", security, err)
			continue
		}
		if got := g.who(c); got != "Certificate:CN=ann" {
			t.Errorf("%s: %s", security, got)
		}
		credentials := <-g.calls
		if credentials.UserCertificate == nil || !slices.Equal(credentials.UserCertificate.DER, ann.DER) || credentials.Password != "" {
			t.Errorf("%s: %+v", security, credentials)
		}
		for what, row := range map[string]struct {
			own  *pki.Certificate
			want ua.StatusCode
		}{
			"a user that the program does not know": {eve, ua.BadIdentityTokenRejected},
			"an application":                        {stranger, ua.BadIdentityTokenRejected},
			"nobody":                                {memoryPKI(t, "nobody").Certificate(), ua.BadIdentityTokenRejected},
			"a certificate without its key":         {&forged, ua.BadUserSignatureInvalid},
			"the server itself":                     {g.srv.PKI().Certificate(), ua.BadIdentityTokenRejected},
		} {
			if err := c.ChangeUser(t.Context(), client.UserCertificate(row.own)); ua.StatusOf(err) != row.want {
				t.Errorf("%s: %s: %v", security, what, err)
			}
		}
		// The session is still the one of before, and may change kinds.
		if got := g.who(c); got != "Certificate:CN=ann" {
			t.Errorf("%s: afterwards %s", security, got)
		}
		if err := c.ChangeUser(t.Context(), client.UserName("ann", "short")); err != nil || g.who(c) != "UserName:ann" {
			t.Errorf("%s: to a name: %v", security, err)
		}
		for len(g.calls) > 0 {
			<-g.calls
		}
	}
}

// Without a function of the program, the list of users decides alone.
func TestUserCertificatesNeedNoFunction(t *testing.T) {
	g := newGate(t, []uahive.Identity{uahive.UserCertificates}, func(c *uahive.Config) { c.Authenticate = nil })
	ann := memoryPKI(t, "ann").Certificate()
	if _, err := g.enter("Basic256Sha256", client.UserCertificate(ann)); ua.StatusOf(err) != ua.BadIdentityTokenRejected {
		t.Errorf("before she is trusted: %v", err)
	}
	if err := g.srv.PKI().TrustUser(ann.DER); err != nil {
		t.Fatal(err)
	}
	if c, err := g.enter("Basic256Sha256", client.UserCertificate(ann)); err != nil || g.who(c) != "Certificate:CN=ann" {
		t.Errorf("%v", err)
	}
	if _, err := g.enter("Basic256Sha256", client.Anonymous()); err == nil {
		t.Error("anonymous users are let in, though there are others")
	}
}

// A client that has too many logins refused has to wait, whoever it tries to be;
// another client may be the same user meanwhile, and anonymous users are no
// guesses (Part 4, 5.7.3.1; threat U6).
func TestThreat_U6_LockoutIsOfClients(t *testing.T) {
	g := newGate(t, []uahive.Identity{uahive.UserNames}, func(c *uahive.Config) {
		c.Anonymous = true
		c.Limits.Services.BadLogins, c.Limits.Services.RefusalTime = 3, time.Millisecond
	})
	attacker, err := g.enter("Basic256Sha256", client.Anonymous())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 4 {
		if err := attacker.ChangeUser(t.Context(), client.UserName("ann", fmt.Sprint("guess ", n))); ua.StatusOf(err) != ua.BadIdentityTokenRejected {
			t.Fatalf("guess %d: %v", n, err)
		}
	}
	asked := len(g.calls)
	err = attacker.ChangeUser(t.Context(), client.UserName("ann", "short"))
	if after, ok := client.RetryAfter(err); ua.StatusOf(err) != ua.BadServerTooBusy || !ok || after <= 0 || after > time.Second {
		t.Errorf("after too many guesses: %v, again after %v", err, after)
	}
	if len(g.calls) != asked {
		t.Error("the program was asked about who is locked out")
	}
	if err := attacker.ChangeUser(t.Context(), client.Anonymous()); err != nil {
		t.Errorf("anonymous: %v", err)
	}
	if n := g.srv.Stats().Sessions.LockedOut; n != 1 {
		t.Errorf("%d are counted", n)
	}
	choice, _ := client.ParseSecurity("Basic256Sha256")
	other, err := client.Connect(t.Context(), g.url, client.Config{
		Security: choice, User: client.UserName("ann", "short"), PKI: memoryPKI(t, "ann"), TrustAll: true,
	})
	if err != nil {
		t.Fatalf("another client: %v", err)
	}
	other.Close(context.Background())
}

// Endpoints announce what they take: each policy has an id that means the same
// everywhere, and secrets are never asked for in the clear on a channel that does
// not encrypt (Part 4, 7.41).
func TestEndpointsAnnounceIdentities(t *testing.T) {
	g := newGate(t, []uahive.Identity{
		uahive.PlainUserNames, uahive.UserCertificates, uahive.IssuedTokens(uahive.JWTProfile, "{}"), uahive.IssuedTokens(uahive.JWTProfile, `{"a":1}`),
	})
	endpoints, err := client.Discover(t.Context(), g.url, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	meaning := map[string]ua.UserTokenPolicy{}
	for i := range endpoints {
		e := &endpoints[i]
		var ids []string
		for _, p := range e.UserIdentityTokens {
			ids = append(ids, p.PolicyID)
			if before, known := meaning[p.PolicyID]; known && before != p {
				t.Errorf("%q means %+v and %+v", p.PolicyID, before, p)
			}
			meaning[p.PolicyID] = p
			clear := strings.HasSuffix(p.SecurityPolicyURI, "#None") || p.SecurityPolicyURI == "" && strings.HasSuffix(e.SecurityPolicyURI, "#None")
			if clear && e.SecurityMode != ua.MessageSecurityModeSignAndEncrypt {
				t.Errorf("%v asks for %q in the clear", e.SecurityMode, p.PolicyID)
			}
		}
		if want := 3 + map[bool]int{true: 1}[e.SecurityMode == ua.MessageSecurityModeSignAndEncrypt]; len(ids) != want {
			t.Errorf("%s %v: %v", e.SecurityPolicyURI, e.SecurityMode, ids)
		}
		if slices.Sort(ids); len(slices.Compact(slices.Clone(ids))) != len(ids) {
			t.Errorf("%v", ids)
		}
	}
}

func TestIdentityMistakesAreReported(t *testing.T) {
	check := func(context.Context, uahive.Credentials) (*uahive.User, error) { return nil, nil }
	signing := []uahive.Security{uahive.Basic256Sha256Sign}
	for what, c := range map[string]uahive.Config{
		"[0] names without a function":  {Identities: []uahive.Identity{uahive.UserNames}},
		"[0] tokens without a function": {Identities: []uahive.Identity{uahive.IssuedTokens(uahive.JWTProfile, "")}},
		"[0] no profile":                {Authenticate: check, Identities: []uahive.Identity{uahive.IssuedTokens("", "x")}},
		"[0] zero":                      {Authenticate: check, Identities: []uahive.Identity{{}}},
		"[1] twice":                     {Authenticate: check, Identities: []uahive.Identity{uahive.UserNames, uahive.UserNames}},
		"[1] plain and not":             {Authenticate: check, Identities: []uahive.Identity{uahive.UserNames, uahive.PlainUserNames}},
		"[1] certificates twice":        {Identities: []uahive.Identity{uahive.UserCertificates, uahive.UserCertificates}},
		"[1] issuer twice":              {Authenticate: check, Identities: []uahive.Identity{uahive.IssuedTokens("a", "b"), uahive.IssuedTokens("a", "b")}},
		"[0] never encrypted":           {Authenticate: check, Security: signing, Identities: []uahive.Identity{uahive.PlainUserNames}},
	} {
		c.PKI = "memory"
		srv, err := uahive.New(c)
		var wrong *uahive.ConfigError
		field, _, _ := strings.Cut(what, " ")
		if !errors.As(err, &wrong) || wrong.Field != "Identities"+field || wrong.Instead == "" || wrong.Value == "" {
			t.Errorf("%s: %v", what, err)
		}
		if srv != nil {
			srv.Close()
		}
	}
}
