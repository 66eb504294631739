package attack

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// requests are one request of each service that needs an activated session.
func requests() []ua.Request {
	var list []ua.Request
	for _, req := range seeds() {
		switch req.(type) {
		case *ua.FindServersRequest, *ua.GetEndpointsRequest, *ua.CreateSessionRequest, *ua.ActivateSessionRequest, *ua.CloseSessionRequest,
			*ua.QueryFirstRequest, *ua.HistoryReadRequest, *ua.HistoryUpdateRequest, *ua.AddNodesRequest, *ua.RegisterServerRequest:
		default:
			list = append(list, req)
		}
	}
	return list
}

// No service is served without a session, before it is activated, or after it
// has ended; and using one too early ends it.
func TestThreat_U1_WithoutActivation(t *testing.T) {
	x := newTarget(t, onTCP)
	closed := x.open().Session()
	closed.Close()
	for _, req := range requests() {
		p := x.open()
		for _, token := range []ua.NodeID{{}, ua.NumericID(0, 1), ua.OpaqueID(0, make([]byte, 32)), closed.Token} {
			s := &rawpeer.Session{Peer: p, Token: token}
			if code := s.Result(req); code != ua.BadSessionIDInvalid {
				t.Errorf("%T with the token %v: %v", req, token, code)
			}
		}
		s := p.CreateSession()
		if code := s.Result(req); code != ua.BadSessionNotActivated {
			t.Errorf("%T before activation: %v", req, code)
		}
		if code := s.Activate(&ua.AnonymousIdentityToken{PolicyID: "anonymous"}); code != ua.BadSessionIDInvalid && code != ua.BadSessionClosed {
			t.Errorf("after %T the session can be activated: %v", req, code)
		}
	}
}

// A token is worth nothing on another channel, and its session is not harmed.
func TestThreat_U2_ForeignChannel(t *testing.T) {
	x := newTarget(t, onTCP)
	victim := x.open().Session()
	thief := victim.On(x.open())
	for _, req := range append(requests(), ua.Request(&ua.CloseSessionRequest{})) {
		if code := thief.Result(req); code != ua.BadSecureChannelIDInvalid {
			t.Errorf("%T on another channel: %v", req, code)
		}
	}
	fresh := x.open().CreateSession()
	if code := fresh.On(x.open()).Activate(&ua.AnonymousIdentityToken{PolicyID: "anonymous"}); !code.IsBad() {
		t.Errorf("first activation on another channel: %v", code)
	}
	for _, s := range []*rawpeer.Session{victim, x.open().Session()} {
		if code := s.Result(readState()); code != ua.Good {
			t.Errorf("a session was harmed: %v", code)
		}
	}
	if code := fresh.Activate(&ua.AnonymousIdentityToken{PolicyID: "anonymous"}); code != ua.Good {
		t.Errorf("a session was harmed: %v", code)
	}
}

// users admits op with the password secret.
func users(c *uahive.Config) {
	c.Anonymous = true
	c.Limits.Services.BadLogins, c.Limits.Services.RefusalTime = -1, -1 // they try many
	c.Authenticate = func(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
		if c.UserName == "op" && c.Password == "secret" || c.UserName == "other" && c.Password == "secret" {
			return &uahive.User{Name: c.UserName}, nil
		}
		return nil, errors.New("wrong user or password")
	}
}

// userToken returns a token with the password encrypted as it should be.
func userToken(t testing.TB, s *rawpeer.Session, name, password string, nonce []byte) *ua.UserNameIdentityToken {
	t.Helper()
	secret, err := uasc.EncryptSecret(uasc.Basic256Sha256, s.Config.Server.Key.Public(), []byte(password), nonce)
	if err != nil {
		t.Fatal(err)
	}
	return &ua.UserNameIdentityToken{
		PolicyID: "username_basic256sha256", UserName: name, Password: secret, EncryptionAlgorithm: uasc.Basic256Sha256.EncryptionURI,
	}
}

// Whatever is wrong with a password or its encryption, the answer is the same to
// the byte but for the time; a token is good once.
func TestThreat_U5_PasswordOracle(t *testing.T) {
	x := newTarget(t, onTCP, users)
	for _, mode := range []uasc.Mode{uasc.ModeSign, uasc.ModeSignAndEncrypt} {
		s := rawpeer.Connect(t, x.dial(), x.secure(uasc.Basic256Sha256, mode)).CreateSession()
		good := userToken(t, s, "op", "secret", s.Nonce)
		change := func(f func(*ua.UserNameIdentityToken)) *ua.UserNameIdentityToken {
			token := *good
			token.Password = bytes.Clone(good.Password)
			f(&token)
			return &token
		}
		plain := func(b []byte) []byte {
			out, err := uasc.Basic256Sha256.Encrypt(s.Config.Server.Key.Public(), b)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		length := func(n uint32) []byte {
			return plain(append([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}, append([]byte("secret"), s.Nonce...)...))
		}
		bad := map[string]*ua.UserNameIdentityToken{
			"password": userToken(t, s, "op", "wrong", s.Nonce), "user": userToken(t, s, "nobody", "secret", s.Nonce),
			"empty": userToken(t, s, "op", "", s.Nonce), "old nonce": userToken(t, s, "op", "secret", make([]byte, 32)), "no nonce": userToken(t, s, "op", "secret", nil),
			"bit": change(func(u *ua.UserNameIdentityToken) { u.Password[100] ^= 1 }), "garbage": change(func(u *ua.UserNameIdentityToken) { u.Password = make([]byte, 256) }),
			"short": change(func(u *ua.UserNameIdentityToken) { u.Password = u.Password[:255] }), "one byte": change(func(u *ua.UserNameIdentityToken) { u.Password = []byte{1} }),
			"none": change(func(u *ua.UserNameIdentityToken) { u.Password = nil }), "long": change(func(u *ua.UserNameIdentityToken) { u.Password = make([]byte, 256*100) }),
			"length 0": change(func(u *ua.UserNameIdentityToken) { u.Password = length(0) }), "length 31": change(func(u *ua.UserNameIdentityToken) { u.Password = length(31) }),
			"length +1": change(func(u *ua.UserNameIdentityToken) { u.Password = length(39) }), "length max": change(func(u *ua.UserNameIdentityToken) { u.Password = length(1<<32 - 1) }),
			"nothing inside": change(func(u *ua.UserNameIdentityToken) { u.Password = plain([]byte{1}) }),
			"rsa-1_5":        change(func(u *ua.UserNameIdentityToken) { u.EncryptionAlgorithm = "http://www.w3.org/2001/04/xmlenc#rsa-1_5" }),
			"algorithm":      change(func(u *ua.UserNameIdentityToken) { u.EncryptionAlgorithm = strings.Repeat("x", 10_000) }),
			"long name":      change(func(u *ua.UserNameIdentityToken) { u.UserName = strings.Repeat("x", 100_000) }),
		}
		bad["plain"] = change(func(u *ua.UserNameIdentityToken) { u.EncryptionAlgorithm, u.Password = "", []byte("secret") })
		bad["long plain"] = change(func(u *ua.UserNameIdentityToken) { u.EncryptionAlgorithm, u.Password = "", make([]byte, 100_000) })
		var first []byte
		for name, token := range bad {
			answer, ok := s.Do(s.ActivateRequest(token)).(*ua.ServiceFault)
			if !ok {
				t.Fatalf("%s is accepted", name)
			}
			code := answer.ResponseHeader.ServiceResult
			answer.ResponseHeader.Timestamp, answer.ResponseHeader.RequestHandle = 0, 0
			b := rawpeer.Encode(answer)
			if first == nil {
				first = b
			}
			if code != ua.BadIdentityTokenRejected || !bytes.Equal(b, first) {
				t.Errorf("%v, %s: %v", mode, name, code)
			}
		}
		if code := s.Activate(good); code != ua.Good {
			t.Fatalf("%v: the good token: %v", mode, code)
		}
		if code := s.Activate(good); code != ua.BadIdentityTokenRejected {
			t.Errorf("%v: the good token a second time: %v", mode, code)
		}
		if code := s.Result(readState()); code != ua.Good {
			t.Errorf("the session was harmed: %v", code)
		}
	}
	leaksNothing(t, x, "secret", "wrong")
}

// leaksNothing checks that the log holds none of the texts.
func leaksNothing(t *testing.T, x *target, texts ...string) {
	t.Helper()
	for _, line := range strings.Split(x.log.String(), "\n") {
		for _, text := range texts {
			// An authenticator may say in its own words what is wrong.
			if strings.Contains(strings.ReplaceAll(line, "wrong user or password", ""), text) {
				t.Errorf("the log holds %q: %s", text, line)
			}
		}
	}
}

// Sessions without number: the oldest that was never activated makes room, and
// those that are in use stay.
func TestThreat_U7_SessionFlood(t *testing.T) {
	x := newTarget(t, onTCP, func(c *uahive.Config) {
		c.Limits.Sessions, c.Limits.Services.ActivationTimeout = 50, time.Second
		c.Limits.Channels.Channels = 1000
	})
	x.watch()
	old := x.open().Session()
	m := measure()
	flood := x.open()
	for i := range scale(2000, 100_000) {
		req := flood.CreateRequest()
		if i%10 == 0 { // what is kept of it would add up
			req.SessionName, req.ClientDescription.ProductURI = strings.Repeat("n", 100_000), strings.Repeat("p", 100_000)
		}
		flood.Send(ua.NodeID{}, req)
		if _, _, err := flood.Next(10 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		x.open().Session().Close()
	}
	if n := x.server.Stats().Sessions; n.Sessions > 50 {
		t.Errorf("%d sessions", n.Sessions)
	}
	if code := old.Result(readState()); code != ua.Good {
		t.Errorf("the old session: %v", code)
	}
	// Activated ones stay, and then there is no room.
	var kept []*rawpeer.Session
	full := x.open()
	for {
		answer := full.Wait(full.Send(ua.NodeID{}, full.CreateRequest()))
		created, ok := answer.(*ua.CreateSessionResponse)
		if !ok {
			if code := answer.(ua.Response).Header().ServiceResult; code != ua.BadTooManySessions {
				t.Errorf("one too many: %v", code)
			}
			break
		}
		s := &rawpeer.Session{Peer: full, Token: created.AuthenticationToken, Nonce: created.ServerNonce}
		if code := s.Activate(nil); code != ua.Good {
			t.Fatal(code)
		}
		if kept = append(kept, s); len(kept) > 60 {
			t.Fatal("no limit")
		}
	}
	for _, s := range kept {
		s.Close()
	}
	m.check(t, 100, 5)
	x.open().Session()
	flood.Conn.Close()
	eventually(t, "sessions of a closed channel are gone", func() bool { return x.server.Stats().Sessions.Sessions <= 3 })
}

// What a session keeps of its client is little, whatever the client says.
func TestThreat_U7_KeptTexts(t *testing.T) {
	x := newTarget(t, onTCP)
	m := measure()
	long := strings.Repeat("x", 60_000)
	p := x.open()
	p.Session() // large messages come after one is activated
	var sessions []*rawpeer.Session
	for range 50 {
		req := p.CreateRequest()
		req.SessionName, req.EndpointURL = long, long
		req.ClientDescription.ProductURI, req.ClientDescription.ApplicationName.Text = long, long
		req.ClientDescription.DiscoveryURLs = slices.Repeat([]string{long}, 20)
		s := p.CreateSessionWith(req)
		activate := s.ActivateRequest(nil)
		activate.LocaleIDs = append([]string{"en"}, slices.Repeat([]string{long}, 20)...)
		if code := s.ActivateWith(activate); code != ua.Good {
			t.Fatal(code)
		}
		s.Created = nil
		sessions = append(sessions, s)
	}
	m.check(t, 300, 5)
	req := p.CreateRequest()
	req.ClientDescription.ApplicationURI = long
	if code := sessions[0].Result(req); !code.IsBad() {
		t.Errorf("an ApplicationUri of %d bytes: %v", len(long), code)
	}
}

// Identity tokens of a kind or policy that the endpoint does not have.
func TestThreat_U9_Tokens(t *testing.T) {
	x := newTarget(t, onTCP, func(c *uahive.Config) { users(c); c.Anonymous = false })
	s := rawpeer.Connect(t, x.dial(), x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt)).CreateSession()
	for name, token := range map[string]ua.Structure{
		"null": nil, "anonymous": &ua.AnonymousIdentityToken{PolicyID: "anonymous"}, "no policy": &ua.AnonymousIdentityToken{},
		"other policy":     &ua.UserNameIdentityToken{PolicyID: "username_none", UserName: "op", Password: []byte("secret")},
		"anonymous policy": &ua.UserNameIdentityToken{PolicyID: "anonymous", UserName: "op", Password: []byte("secret")},
		"x509":             &ua.X509IdentityToken{PolicyID: "username_basic256sha256", CertificateData: x.server.PKI().Certificate().DER},
		"issued":           &ua.IssuedIdentityToken{PolicyID: "username_basic256sha256", TokenData: []byte("x")},
		"no token":         &ua.DataChangeFilter{}, "long policy": &ua.UserNameIdentityToken{PolicyID: strings.Repeat("x", 100_000)},
		"no name": &ua.UserNameIdentityToken{PolicyID: "username_basic256sha256", Password: []byte("secret")},
	} {
		if code := s.Activate(token); code != ua.BadIdentityTokenInvalid && code != ua.BadIdentityTokenRejected {
			t.Errorf("%s: %v", name, code)
		}
	}
	if code := s.Activate(userToken(t, s, "op", "secret", s.Nonce)); code != ua.Good {
		t.Errorf("the session was harmed: %v", code)
	}
}

// Subscriptions belong to a user: another cannot take them over, name them, or
// see what they hold.
func TestThreat_U12_StolenSubscriptions(t *testing.T) {
	x := newTarget(t, onTCP, users)
	config := x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt)
	login := func(name string) *rawpeer.Session {
		s := rawpeer.Connect(t, x.dial(), config).CreateSession()
		var token ua.Structure = &ua.AnonymousIdentityToken{PolicyID: "anonymous"}
		if name != "" {
			token = userToken(t, s, name, "secret", s.Nonce)
		}
		if code := s.Activate(token); code != ua.Good {
			t.Fatal(code)
		}
		return s
	}
	owner := login("op")
	sub := rawpeer.Do[*ua.CreateSubscriptionResponse](owner, &ua.CreateSubscriptionRequest{RequestedPublishingInterval: 50, RequestedLifetimeCount: 1000, PublishingEnabled: true}).SubscriptionID
	rawpeer.Do[*ua.CreateMonitoredItemsResponse](owner, &ua.CreateMonitoredItemsRequest{SubscriptionID: sub, ItemsToCreate: []ua.MonitoredItemCreateRequest{item(node(int32Node))}})
	for name, thief := range map[string]*rawpeer.Session{"other": login("other"), "anonymous": login(""), "unsecured": x.open().Session()} {
		transfer := rawpeer.Do[*ua.TransferSubscriptionsResponse](thief, &ua.TransferSubscriptionsRequest{SubscriptionIDs: []uint32{sub}, SendInitialValues: true})
		if code := transfer.Results[0].StatusCode; code != ua.BadUserAccessDenied {
			t.Errorf("%s takes it over: %v", name, code)
		}
		for _, req := range []ua.Request{
			&ua.ModifySubscriptionRequest{SubscriptionID: sub}, &ua.RepublishRequest{SubscriptionID: sub, RetransmitSequenceNumber: 1},
			&ua.CreateMonitoredItemsRequest{SubscriptionID: sub, ItemsToCreate: []ua.MonitoredItemCreateRequest{item(node(1))}},
			&ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{1}}, &ua.SetTriggeringRequest{SubscriptionID: sub, TriggeringItemID: 1, LinksToAdd: []uint32{1}},
			&ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{1}}, &ua.ModifyMonitoredItemsRequest{SubscriptionID: sub, ItemsToModify: make([]ua.MonitoredItemModifyRequest, 1)},
		} {
			if code := thief.Result(req); code != ua.BadSubscriptionIDInvalid {
				t.Errorf("%s: %T: %v", name, req, code)
			}
		}
		for _, codes := range [][]ua.StatusCode{
			rawpeer.Do[*ua.DeleteSubscriptionsResponse](thief, &ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{sub}}).Results,
			rawpeer.Do[*ua.SetPublishingModeResponse](thief, &ua.SetPublishingModeRequest{SubscriptionIDs: []uint32{sub}}).Results,
		} {
			if codes[0] != ua.BadSubscriptionIDInvalid {
				t.Errorf("%s: %v", name, codes)
			}
		}
	}
	publish := rawpeer.Do[*ua.PublishResponse](owner, &ua.PublishRequest{})
	if publish.SubscriptionID != sub {
		t.Errorf("the owner lost it: %+v", publish)
	}
}

// Discovery is open to strangers: what they send costs little, and the answer is
// no larger than the server's own.
func TestThreat_U13_Discovery(t *testing.T) {
	x := newTarget(t, onTCP)
	p := x.open()
	s := &rawpeer.Session{Peer: p}
	m := measure()
	many := slices.Repeat([]string{"x"}, 20_000)
	long := strings.Repeat("u", 100_000)
	normal := len(rawpeer.Encode(rawpeer.Do[*ua.GetEndpointsResponse](s, &ua.GetEndpointsRequest{EndpointURL: "opc.tcp://h:1"})))
	for range 50 {
		for _, req := range []ua.Request{
			&ua.GetEndpointsRequest{EndpointURL: "opc.tcp://" + long, LocaleIDs: many}, &ua.FindServersRequest{EndpointURL: long, ServerURIs: many},
			&ua.GetEndpointsRequest{ProfileURIs: many}, &ua.FindServersRequest{LocaleIDs: many},
		} {
			if n := len(rawpeer.Encode(s.Do(req))); n > 2*normal {
				t.Errorf("%T is answered with %d bytes, normal are %d", req, n, normal)
			}
		}
	}
	for _, req := range []ua.Request{
		&ua.RegisterServerRequest{Server: ua.RegisteredServer{SemaphoreFilePath: "../../etc/passwd"}}, &ua.RegisterServer2Request{}, &ua.FindServersOnNetworkRequest{},
	} {
		if code := s.Result(req); code != ua.BadServiceUnsupported {
			t.Errorf("%T: %v", req, code)
		}
	}
	m.check(t, 100, 5)
}

// A flood of passwords, whose check is slow, delays neither the calls of those
// who are in nor what needs no worker.
func TestThreat_U5_SlowAuthenticator(t *testing.T) {
	x := newTarget(t, onTCP, func(c *uahive.Config) {
		c.Anonymous, c.Workers = true, 8
		c.Authenticate = func(ctx context.Context, c uahive.Credentials) (*uahive.User, error) {
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
			return nil, errors.New("no")
		}
	})
	x.watch()
	m := measure()
	s := x.open().Session()
	config := x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt)
	p := rawpeer.Connect(t, x.dial(), config)
	waiting := 0
	for range 400 { // sessions of one stranger, each with a password to check
		guess := p.CreateSession()
		guess.Start(guess.ActivateRequest(&ua.UserNameIdentityToken{PolicyID: "username_basic256sha256", UserName: "op", Password: []byte("x")}))
		waiting = max(waiting, x.server.Stats().Pool.Waiting)
	}
	call := &ua.CallRequest{MethodsToCall: []ua.CallMethodRequest{{ObjectID: ua.NumericID(0, id.ObjectsFolder), MethodID: node(waitingMethod)}}}
	slowest := time.Duration(0)
	for range 5 {
		start := time.Now()
		if code := s.Result(call); code != ua.Good {
			t.Error(code)
		}
		slowest = max(slowest, time.Since(start))
	}
	t.Logf("%d checks waited, a call took up to %v", waiting, slowest)
	if slowest > 1500*time.Millisecond && !raceEnabled {
		t.Errorf("a call took %v", slowest)
	}
	m.check(t, 100, 20)
}
