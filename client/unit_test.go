package client

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/internal/fuzzguard"
)

func TestHeaderIsReplacedAndTheRestKept(t *testing.T) {
	header := ua.RequestHeader{
		AuthenticationToken: ua.OpaqueID(3, bytes.Repeat([]byte{9}, 32)),
		Timestamp:           ua.DateTime(12345), RequestHandle: 77, TimeoutHint: 5000,
	}
	long := header
	long.AuthenticationToken = ua.StringID(3, string(bytes.Repeat([]byte{'x'}, 300)))
	for _, own := range []ua.RequestHeader{
		{},
		{AuditEntryID: "batch 4711", ReturnDiagnostics: 3},
		{AuthenticationToken: ua.StringID(1, "somebody else's, and long enough to be cut"), RequestHandle: 5, TimeoutHint: 1},
		{AdditionalHeader: ua.ObjectOf(&ua.Range{Low: 1, High: 2})},
	} {
		for _, h := range []ua.RequestHeader{header, long, {}} {
			req := &ua.ReadRequest{RequestHeader: own, MaxAge: 4, NodesToRead: []ua.ReadValueID{ValueID(ua.NumericID(2, 3))}}
			given := h
			dst := appendWithHeader([]byte("before"), req, &given)
			want := h
			want.AuditEntryID, want.ReturnDiagnostics, want.AdditionalHeader = own.AuditEntryID, own.ReturnDiagnostics, own.AdditionalHeader
			if own.TimeoutHint != 0 {
				want.TimeoutHint = own.TimeoutHint
			}
			whole := *req
			whole.RequestHeader = want
			if exp := whole.AppendTo([]byte("before")); !bytes.Equal(dst, exp) {
				t.Errorf("own %+v, header %+v:\n got %x\nwant %x", own, h, dst, exp)
			}
			if req.RequestHeader.RequestHandle != own.RequestHandle {
				t.Error("the request was changed")
			}
		}
	}
}

func TestRequestIDsAreNotReusedSoon(t *testing.T) {
	var s slots
	h := new(call)
	seen := make(map[uint32]bool)
	for range 60_000 {
		id := s.put(h, 0, 10)
		if id == 0 || seen[id] {
			t.Fatalf("id %d again after %d", id, len(seen))
		}
		seen[id] = true
		if s.take(id) == nil || s.take(id) != nil {
			t.Fatal("taken not exactly once")
		}
	}
	var ids []uint32
	for range 10 {
		ids = append(ids, s.put(h, 0, 10))
	}
	if s.put(h, 0, 10) != 0 || s.used() != 10 {
		t.Error("limit is not kept")
	}
	if slices.Contains(ids, 0) || s.take(0) != nil || s.take(0xffff) != nil {
		t.Error("foreign ids")
	}
}

func TestRetryAfterHints(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"retry-after=5":                   5 * time.Second,
		"busy, Retry-After: 1.5s please":  1500 * time.Millisecond,
		"retry-after 250ms.":              250 * time.Millisecond,
		"retry-after=99999h":              retryCap,
		"retry-after=999999":              retryCap,
		"come back later":                 -1,
		"retry-after=":                    -1,
		"retry-after=-5":                  -1,
		"retry-after=NaN retry-after=1e9": -1,
	} {
		d, ok := RetryAfter(&ConnectionError{"open", &uasc.ErrorMessage{Code: ua.BadTcpServerTooBusy, Reason: text}})
		if !ok {
			d = -1
		}
		if d != want {
			t.Errorf("%q: %v, want %v", text, d, want)
		}
	}
	fault := ua.ServiceFault{ResponseHeader: ua.ResponseHeader{
		ServiceResult: ua.BadServerTooBusy, StringTable: []string{"x", "retry-after=3s"},
	}}
	err := wrap("CreateSession", withHint(ua.BadServerTooBusy, fault.AppendTo(nil)))
	if d, ok := RetryAfter(err); !ok || d != 3*time.Second || ua.StatusOf(err) != ua.BadServerTooBusy {
		t.Errorf("%v: %v", err, d)
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("retry-after=5")
	f.Add("Retry-After: 1h2m3.4s")
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, s string) {
		if d, ok := parseRetryAfter(s); ok && (d < 0 || d > retryCap) {
			t.Errorf("%q: %v", s, d)
		}
	}))
}

// FuzzResponse feeds a reader with what a server may send behind the framing.
func FuzzResponse(f *testing.F) {
	seed := func(s ua.Structure) { f.Add(s.AppendTo(s.EncodingID().AppendTo(nil))) }
	seed(&ua.PublishResponse{SubscriptionID: 1, NotificationMessage: notificationOf(1, 5)})
	seed(&ua.ServiceFault{ResponseHeader: ua.ResponseHeader{ServiceResult: ua.BadTooManyPublishRequests}})
	seed(&ua.RepublishResponse{NotificationMessage: notificationOf(2, 5)})
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(_ *testing.T, body []byte) {
		cfg := Config{}.withDefaults()
		c := &Client{cfg: cfg, changed: make(chan struct{})}
		ch := &channel{cfg: &c.cfg, stats: &c.stats, crew: &c.crew, opener: uasc.NewOpener(uasc.OpenerConfig{}), arm: c.house.arm}
		ch.failure = ErrClosed // nothing is sent
		ch.publish = &publishHandler{c: c, ch: ch}
		s := &Subscription{c: c, cfg: SubscriptionConfig{Inline: true}.withDefaults(&cfg), items: map[uint32]*Item{}}
		s.order.reset()
		c.subs = map[uint32]*Subscription{1: s}
		for _, h := range []ResponseHandler{
			ch.publish, &republish{s: s, ch: ch, n: 1, era: 1}, &probe{c: c, ch: ch},
			&call{ch: ch, resp: new(ua.ReadResponse), finished: make(chan struct{}, 1)},
		} {
			id := ch.slots.put(h, 0, 10)
			_ = ch.dispatch(&uasc.Message{RequestID: id, Body: bytes.Clone(body), Done: true})
		}
	}))
}

func TestParseSecurity(t *testing.T) {
	for _, s := range []string{"best", "None", "Basic256Sha256/Sign", "Aes256_Sha256_RsaPss/SignAndEncrypt", "ECC_nistP256/Sign", "Basic256/SignAndEncrypt"} {
		sec, err := ParseSecurity(s)
		if err != nil || sec.String() != s {
			t.Errorf("%s: %v %v", s, sec, err)
		}
	}
	if sec, err := ParseSecurity(policyPrefix + "Basic256Sha256"); err != nil || sec.Mode != ua.MessageSecurityModeSignAndEncrypt {
		t.Error(sec, err)
	}
	for _, s := range []string{"ECC_curve25519", "Basic256Sha256/None", "none"} {
		if _, err := ParseSecurity(s); err == nil {
			t.Errorf("%s is accepted", s)
		}
	}
}

func TestHostPort(t *testing.T) {
	for url, want := range map[string]string{
		"opc.tcp://plant:4841/x": "plant:4841",
		"opc.tcp://plant":        "plant:4840",
		"opc.tcp://[::1]:1":      "[::1]:1",
		"opc.tcp://":             "",
		"http://plant":           "",
		"plant:4840":             "",
	} {
		got, err := hostPort(url)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v", url, got, err)
		}
	}
}

func TestEndpointsDifferOnlyInWhatMatters(t *testing.T) {
	p := newPeer(t)
	other := slices.Clone(p.endpoints)
	slices.Reverse(other)
	for i := range other {
		other[i].EndpointURL = "opc.tcp://elsewhere"
		other[i].ServerCertificate = nil
	}
	if err := checkEndpoints(p.endpoints, other); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(e *ua.EndpointDescription){
		"mode":   func(e *ua.EndpointDescription) { e.SecurityMode = 1 },
		"policy": func(e *ua.EndpointDescription) { e.SecurityPolicyURI += "x" },
		"level":  func(e *ua.EndpointDescription) { e.SecurityLevel++ },
		"server": func(e *ua.EndpointDescription) { e.Server.ApplicationURI = "urn:other" },
		"tokens": func(e *ua.EndpointDescription) { e.UserIdentityTokens = e.UserIdentityTokens[1:] },
	} {
		other := slices.Clone(p.endpoints)
		change(&other[3])
		if checkEndpoints(p.endpoints, other) == nil {
			t.Errorf("another %s is not noticed", name)
		}
	}
	if checkEndpoints(p.endpoints, nil) == nil {
		t.Error("no endpoints are not noticed")
	}
}

// Passwords of up to 64 bytes go in the format that every server takes, longer ones
// as EncryptedSecret (Part 4, 7.40.4).
func TestLongPasswordsGoAsEncryptedSecret(t *testing.T) {
	server, _ := peerKeys()
	p := newPeer(t)
	target, err := choose(&Config{TrustAll: true, Certificate: server.Certificate(), User: Anonymous()}, "h", p.endpoints)
	if err != nil {
		t.Fatal(err)
	}
	params := &tokenParams{
		policy: new(ua.UserTokenPolicy), security: uasc.Basic256Sha256, sec: target.sec, serverNonce: make([]byte, 32),
	}
	for n, want := range map[int]uasc.SecretKind{64: uasc.LegacySecret, 65: uasc.RSASecret} {
		object, _, err := UserName("a", string(make([]byte, n))).token(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		token := object.Value.(*ua.UserNameIdentityToken)
		if got := uasc.SecretKindOf(token.Password); got != want || (token.EncryptionAlgorithm == "") != (want == uasc.RSASecret) {
			t.Errorf("%d bytes: kind %v, algorithm %q", n, got, token.EncryptionAlgorithm)
		}
	}
	if _, _, err := UserName("a", string(make([]byte, 1<<20))).token(t.Context(), params); ua.StatusOf(err) != ua.BadIdentityTokenInvalid {
		t.Error(err)
	}
}

func TestErrorsAreFoundThroughTheirWrapping(t *testing.T) {
	err := wrap("Read", &ConnectionError{"read", errors.New("reset")})
	if ua.StatusOf(err) != ua.BadConnectionClosed || !isConnectionError(err) {
		t.Error(err)
	}
	err = fmt.Errorf("x: %w", &CallError{Status: ua.BadInvalidArgument, Arguments: []ua.StatusCode{ua.BadTypeMismatch}})
	if ua.StatusOf(err) != ua.BadInvalidArgument {
		t.Error(err)
	}
	if serviceName(new(ua.TranslateBrowsePathsToNodeIDsRequest)) != "TranslateBrowsePathsToNodeIDs" {
		t.Error(serviceName(new(ua.TranslateBrowsePathsToNodeIDsRequest)))
	}
}

func TestPreparedRequestsAreWhatTheyWerePreparedFrom(t *testing.T) {
	req := &ua.ReadRequest{RequestHeader: ua.RequestHeader{AuditEntryID: "gone"}, MaxAge: 3, NodesToRead: []ua.ReadValueID{ValueID(serverState)}}
	p, err := Prepare(req)
	if err != nil {
		t.Fatal(err)
	}
	var got ua.ReadRequest
	head := ua.RequestHeader{}
	var d codec.Decoder
	d.Reset(append(head.AppendTo(nil), p.tail...), nil)
	got.DecodeFrom(&d)
	if d.Err() != nil || got.MaxAge != 3 || len(got.NodesToRead) != 1 || got.RequestHeader.AuditEntryID != "" {
		t.Errorf("%+v %v", got, d.Err())
	}
	if _, err := Prepare(new(ua.Range)); err == nil {
		t.Error("a structure without a header is taken")
	}
}
