package uahive_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/pki"
)

var (
	sessionArray      = ua.NumericID(0, id.Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionDiagnosticsArray)
	securityArray     = ua.NumericID(0, id.Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionSecurityDiagnosticsArray)
	subscriptionArray = ua.NumericID(0, id.Server_ServerDiagnostics_SubscriptionDiagnosticsArray)
)

// offices is a server with an administrator, an operator and anonymous users, with
// and without encryption.
type offices struct {
	t        *testing.T
	srv      *uahive.Server
	endpoint string
	store    *pki.Store
}

func newOffices(t *testing.T, hooks uahive.Hooks) *offices {
	t.Helper()
	srv, err := uahive.New(uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:0", PKI: "memory", TrustAll: true, ShutdownDelay: -1, Anonymous: true,
		Security: []uahive.Security{uahive.NoSecurity, uahive.Basic256Sha256Sign, uahive.Basic256Sha256Encrypt},
		Authenticate: func(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
			user := &uahive.User{Name: c.UserName}
			switch c.UserName {
			case "admin":
				user.Roles = []ua.NodeID{ua.NumericID(0, id.WellKnownRole_SecurityAdmin)}
			case "engineer":
				user.Roles = []ua.NodeID{ua.NumericID(0, id.WellKnownRole_ConfigureAdmin)}
			case "operator":
			default:
				return nil, errors.New("unknown user")
			}
			return user, nil
		},
		Hooks: hooks,
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
		srv.Close()
		<-ended
	})
	store, err := pki.Memory(pki.Config{ApplicationURI: "urn:test:client", AcceptAll: true})
	if err != nil {
		t.Fatal(err)
	}
	return &offices{t, srv, "opc.tcp://" + l.Addr().String(), store}
}

func (o *offices) connect(user, security string) *client.Client {
	o.t.Helper()
	s, err := client.ParseSecurity(security)
	if err != nil {
		o.t.Fatal(err)
	}
	config := client.Config{Security: s, PKI: o.store, TrustAll: true, ApplicationURI: "urn:test:client", SessionName: "desk of " + user}
	if user != "anonymous" {
		config.User = client.UserName(user, "secret")
	}
	c, err := client.Connect(o.t.Context(), o.endpoint, config)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

const encrypted = "Basic256Sha256/SignAndEncrypt"

// Who may see what of the diagnostics (threats.md U10; Part 5, 6.3.3 to 6.3.5).
func TestThreat_U10_WhoMaySeeDiagnostics(t *testing.T) {
	o := newOffices(t, uahive.Hooks{})
	operator := o.connect("operator", encrypted)
	sub, err := operator.Subscribe(t.Context(), client.SubscriptionConfig{Interval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sub.Monitor(t.Context(), nil, client.Value(ua.NumericID(0, id.Server_ServiceLevel))); err != nil {
		t.Fatal(err)
	}
	const denied = -1
	for _, c := range []struct {
		user, security                     string
		sessions, subscriptions, security2 int
	}{
		{"anonymous", "None", denied, denied, denied},
		{"anonymous", encrypted, denied, denied, denied},
		{"operator", encrypted, 1, 0, denied},
		{"admin", "Basic256Sha256/Sign", 1, 0, denied}, // its answers could be read by others
		{"engineer", encrypted, 2, 1, denied},
		{"admin", encrypted, 2, 1, 2},
	} {
		who := o.connect(c.user, c.security)
		values, err := who.ReadValues(t.Context(), sessionArray, subscriptionArray, securityArray)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{c.sessions, c.subscriptions, c.security2} {
			got := values[i].Value.Len()
			if code := values[i].Status; code == ua.BadUserAccessDenied || code == ua.BadSecurityModeInsufficient && c.user == "admin" {
				got = denied
			} else if values[i].Status != ua.Good {
				t.Errorf("%s over %s: %v", c.user, c.security, values[i].Status)
			}
			if got != want {
				t.Errorf("%s over %s: array %d has %d elements, want %d", c.user, c.security, i, got, want)
			}
		}
		if err := who.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	// A session sees itself, with what it has done.
	values, err := operator.ReadValues(t.Context(), sessionArray, subscriptionArray)
	if err != nil {
		t.Fatal(err)
	}
	own, _ := ua.As[[]ua.ExtensionObject](values[0].Value)
	if len(own) != 1 {
		t.Fatalf("%v", values[0])
	}
	d, ok := own[0].Value.(*ua.SessionDiagnosticsDataType)
	if !ok || d.SessionID != operator.SessionID() || d.CurrentSubscriptionsCount != 1 || d.CurrentMonitoredItemsCount != 1 ||
		d.CreateSubscriptionCount.TotalCount != 1 {
		t.Errorf("own diagnostics %+v", own[0].Value)
	}
	if subs, _ := ua.As[[]ua.ExtensionObject](values[1].Value); len(subs) != 1 {
		t.Errorf("own subscriptions %v", values[1])
	}
}

// Anonymous users find nothing of others anywhere below the Server object: they
// read the value of all that they can browse to (threats.md U10).
func TestThreat_U10_AnonymousFindsNothingOfOthers(t *testing.T) {
	o := newOffices(t, uahive.Hooks{})
	operator := o.connect("operator", encrypted)
	secret := operator.SessionID().String()
	stranger := o.connect("anonymous", "None")
	open, seen := []ua.NodeID{ua.NumericID(0, id.Server)}, map[ua.NodeID]bool{}
	for len(open) > 0 {
		node := open[len(open)-1]
		open = open[:len(open)-1]
		for ref, err := range stranger.Browse(t.Context(), node) {
			if err != nil {
				t.Fatal(err)
			}
			if !seen[ref.NodeID.NodeID] {
				seen[ref.NodeID.NodeID] = true
				open = append(open, ref.NodeID.NodeID)
			}
			if text := ref.BrowseName.Name + ref.DisplayName.Text; strings.Contains(text, "desk of operator") {
				t.Errorf("browsing finds %q", text)
			}
		}
	}
	if !seen[sessionArray] || seen[securityArray] || len(seen) < 100 {
		t.Fatalf("browsing has found %d nodes only", len(seen))
	}
	for node := range seen {
		values, err := stranger.ReadValues(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		encoded := string(values[0].AppendTo(nil))
		for _, word := range []string{"desk of operator", "urn:test:client", "operator"} {
			if strings.Contains(encoded, word) {
				t.Errorf("%v tells %q", node, word)
			}
		}
		if strings.Contains(fmt.Sprint(values[0].Value), secret) {
			t.Errorf("%v tells the id of a session", node)
		}
	}
	// Who monitors what it may not read is refused, too.
	sub, err := stranger.Subscribe(t.Context(), client.SubscriptionConfig{Interval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sub.Monitor(t.Context(), nil, client.Value(sessionArray)); err == nil {
		if change := <-sub.Changes(); change.Value.Status != ua.BadUserAccessDenied {
			t.Errorf("monitored: %v", change.Value)
		}
	}
	if err := stranger.WriteValue(t.Context(), ua.NumericID(0, id.Server_ServerDiagnostics_EnabledFlag), false); err == nil {
		t.Error("a stranger has turned the diagnostics off")
	}
}

// Hooks are told in the order of the events, and one that panics costs nothing.
func TestHooksAreToldInOrder(t *testing.T) {
	events := make(chan string, 100)
	name := func(what string) func(uahive.SessionEvent) {
		return func(e uahive.SessionEvent) { events <- what + " " + e.User.Name + e.Cause }
	}
	o := newOffices(t, uahive.Hooks{
		ChannelOpened:    func(e uahive.ChannelEvent) { events <- "opened " + e.Security },
		ChannelClosed:    func(e uahive.ChannelEvent) { events <- "channel " + e.Reason },
		SessionCreated:   name("created"),
		SessionActivated: name("activated"),
		SessionClosed:    name("closed"),
		SubscriptionCreated: func(e uahive.SubscriptionEvent) {
			events <- "subscription " + e.Interval.String()
			panic("oil")
		},
		SubscriptionDeleted: func(e uahive.SubscriptionEvent) { events <- "deleted " + e.Status.String() },
	})
	c := o.connect("operator", encrypted)
	sub, err := c.Subscribe(t.Context(), client.SubscriptionConfig{Interval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := sub.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := o.srv.Close(); err != nil {
		t.Fatal(err)
	}
	close(events) // all have been told when Close returns
	var got []string
	for e := range events {
		if !strings.Contains(e, "None") && !strings.HasPrefix(e, "channel") {
			got = append(got, e)
		}
	}
	want := []string{
		"opened " + encrypted, "created ", "activated operator", "subscription 1s", "deleted Good", "closed operatorclosed by client",
	}
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if n := o.srv.Stats().HooksDropped; n != 0 {
		t.Errorf("%d events were dropped", n)
	}
}

// A connection that is refused is counted and told of with its reason.
func TestRejectedConnectionsHaveAReason(t *testing.T) {
	rejected := make(chan uahive.ChannelEvent, 10)
	o := newOffices(t, uahive.Hooks{ConnectionRejected: func(e uahive.ChannelEvent) { rejected <- e }})
	peer, err := net.Dial("tcp", strings.TrimPrefix(o.endpoint, "opc.tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	if _, err := peer.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	e := <-rejected
	if e.Reason != "protocol error" || e.Status != ua.BadTcpMessageTypeInvalid || e.RemoteAddr != peer.LocalAddr().String() {
		t.Errorf("%+v", e)
	}
	counts := o.srv.Stats().Channels.Rejected
	if len(counts) != 1 || counts[0].Reason != e.Reason || counts[0].Status != e.Status || counts[0].Count != 1 {
		t.Errorf("%+v", counts)
	}
}
