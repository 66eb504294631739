package attack

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// keyType returns the type of the certificate that a policy of elliptic curves needs.
func keyType(t *testing.T, policy *uasc.Policy) pki.KeyType {
	t.Helper()
	kind, ok := pki.KeyTypeOfCurve(policy.Curve)
	if !ok {
		t.Fatalf("no key for %s", policy.Name)
	}
	return kind
}

// A policy that is not offered is refused by its name, however good the rest of the
// message is: no private key is used, so that it is no oracle, and costs nothing.
func TestThreat_S9_S15_PolicyBeforeAnyKey(t *testing.T) {
	x := newTarget(t, onTCP)
	before := x.server.Stats().Lane.Worked
	for _, policy := range []*uasc.Policy{uasc.Basic128Rsa15, uasc.Basic256, uasc.ECCNistP256, uasc.ECCNistP384} {
		config := x.secure(policy, uasc.ModeSignAndEncrypt)
		if policy.Curve != nil {
			own := x.clientPKI(keyType(t, policy))
			config.Own, config.Server = own, own.CertificateFor(policy.Curve)
		}
		for range 5 {
			p := rawpeer.New(t, x.dial(), config)
			p.Hello()
			p.Write(p.SealOpen(&ua.OpenSecureChannelRequest{SecurityMode: ua.MessageSecurityModeSignAndEncrypt, ClientNonce: policy.Nonce()}))
			if code := ended(t, p); code != ua.BadSecurityPolicyRejected {
				t.Errorf("%s: %v", policy.Name, code)
			}
		}
	}
	for _, uri := range []string{"", "x", uasc.Basic256Sha256.URI + "x", uasc.Basic256Sha256.URI[1:]} {
		p := x.bare()
		p.Hello()
		frame := append([]byte("OPNF"), 0, 0, 0, 0, 0, 0, 0, 0)
		frame = append(binary.LittleEndian.AppendUint32(frame, uint32(len(uri))), uri...)
		frame = append(frame, bytes.Repeat([]byte{0xFF}, 8)...)
		frame = append(frame, make([]byte, 256)...)
		binary.LittleEndian.PutUint32(frame[4:], uint32(len(frame)))
		p.Write(frame)
		if code := ended(t, p); !code.IsBad() {
			t.Errorf("%q: %v", uri, code)
		}
	}
	if n := x.server.Stats().Lane.Worked - before; n != 0 {
		t.Errorf("%d private-key operations", n)
	}
	// Where the program asks for no security, it is not there either.
	strict := newTarget(t, onTCP, func(c *uahive.Config) { c.Security = nil })
	p := rawpeer.New(t, strict.dial(), rawpeer.Config{})
	p.Hello()
	p.Use(p.Open(ua.SecurityTokenRequestTypeIssue)) // for discovery
	if code := (&rawpeer.Session{Peer: p}).Result(p.CreateRequest()); !code.IsBad() {
		t.Errorf("a session without security: %v", code)
	}
}

// A client can see that somebody has changed what discovery told it, since its
// session lists the same endpoints under a signature; and no endpoint lets a
// password go in the clear.
func TestThreat_S18_Downgrade(t *testing.T) {
	x := newTarget(t, onTCP, users)
	for _, config := range []rawpeer.Config{{}, x.secure(uasc.Basic256Sha256, uasc.ModeSign), x.secure(uasc.Aes256Sha256RsaPss, uasc.ModeSignAndEncrypt)} {
		p := rawpeer.Connect(t, x.dial(), config)
		listed := rawpeer.Do[*ua.GetEndpointsResponse](&rawpeer.Session{Peer: p}, &ua.GetEndpointsRequest{EndpointURL: p.Config.URL}).Endpoints
		s := p.CreateSession()
		promised := s.Created.ServerEndpoints
		if len(listed) < 7 || len(listed) != len(promised) {
			t.Fatalf("%d endpoints, and %d for the session", len(listed), len(promised))
		}
		for i := range listed {
			if !bytes.Equal(listed[i].AppendTo(nil), promised[i].AppendTo(nil)) {
				t.Errorf("endpoint %d: %+v, and %+v for the session", i, listed[i], promised[i])
			}
			for _, token := range listed[i].UserIdentityTokens {
				policy, known := uasc.PolicyByURI(token.SecurityPolicyURI)
				if token.TokenType == ua.UserTokenTypeUserName && (!known || !policy.Secure()) {
					t.Errorf("%s of %s/%v: a password under %q", token.PolicyID, listed[i].SecurityPolicyURI, listed[i].SecurityMode, token.SecurityPolicyURI)
				}
			}
		}
		own := slices.IndexFunc(listed, func(e ua.EndpointDescription) bool {
			return e.SecurityPolicyURI == p.Config.Policy.URI && e.SecurityMode == ua.MessageSecurityMode(p.Config.Mode)
		})
		name := slices.IndexFunc(listed[own].UserIdentityTokens, func(u ua.UserTokenPolicy) bool { return u.TokenType == ua.UserTokenTypeUserName })
		clear := &ua.UserNameIdentityToken{PolicyID: listed[own].UserIdentityTokens[name].PolicyID, UserName: "op", Password: []byte("secret")}
		if code := s.Activate(clear); code != ua.BadIdentityTokenRejected {
			t.Errorf("%v: a password in the clear: %v", config.Mode, code)
		}
	}
}

// Numbers that are no member of their enumeration have codes of their own.
func TestThreat_D6_Enumerations(t *testing.T) {
	x := newTarget(t, inMemory)
	s := x.open().Session()
	sub := subscribe(s, 1000)
	value := valueOf(node(int32Node))
	monitor := func(bend func(r *ua.MonitoredItemCreateRequest)) ua.StatusCode {
		r := item(node(int32Node))
		bend(&r)
		return rawpeer.Do[*ua.CreateMonitoredItemsResponse](s, &ua.CreateMonitoredItemsRequest{SubscriptionID: sub, ItemsToCreate: []ua.MonitoredItemCreateRequest{r}}).Results[0].StatusCode
	}
	for _, n := range []uint32{4, 5, 99, 1 << 31, 1<<32 - 1} {
		for what, c := range map[string]struct{ got, want ua.StatusCode }{
			"Read with timestamps": {s.Result(&ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturn(n), NodesToRead: []ua.ReadValueID{value}}), ua.BadTimestampsToReturnInvalid},
			"items with timestamps": {
				s.Result(&ua.CreateMonitoredItemsRequest{SubscriptionID: sub, TimestampsToReturn: ua.TimestampsToReturn(n), ItemsToCreate: []ua.MonitoredItemCreateRequest{item(node(1))}}),
				ua.BadTimestampsToReturnInvalid,
			},
			"modified with timestamps": {
				s.Result(&ua.ModifyMonitoredItemsRequest{SubscriptionID: sub, TimestampsToReturn: ua.TimestampsToReturn(n), ItemsToModify: make([]ua.MonitoredItemModifyRequest, 1)}),
				ua.BadTimestampsToReturnInvalid,
			},
			"Browse with a direction": {rawpeer.Do[*ua.BrowseResponse](s, &ua.BrowseRequest{NodesToBrowse: []ua.BrowseDescription{
				{NodeID: ua.NumericID(0, id.ObjectsFolder), BrowseDirection: ua.BrowseDirection(n)},
			}}).Results[0].StatusCode, ua.BadBrowseDirectionInvalid},
			"an item with a mode": {monitor(func(r *ua.MonitoredItemCreateRequest) { r.MonitoringMode = ua.MonitoringMode(n) }), ua.BadMonitoringModeInvalid},
			"a mode":              {s.Result(&ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoringMode: ua.MonitoringMode(n), MonitoredItemIDs: []uint32{1}}), ua.BadMonitoringModeInvalid},
			"an item's attribute": {monitor(func(r *ua.MonitoredItemCreateRequest) { r.ItemToMonitor.AttributeID = ua.AttributeID(n + 100) }), ua.BadAttributeIDInvalid},
			"a filter with trigger": {monitor(func(r *ua.MonitoredItemCreateRequest) {
				r.RequestedParameters.Filter = ua.ObjectOf(&ua.DataChangeFilter{Trigger: ua.DataChangeTrigger(n)})
			}), ua.BadMonitoredItemFilterInvalid},
			"a filter with deadband": {monitor(func(r *ua.MonitoredItemCreateRequest) {
				r.RequestedParameters.Filter = ua.ObjectOf(&ua.DataChangeFilter{Trigger: 1, DeadbandType: n})
			}), ua.BadMonitoredItemFilterInvalid},
			"a read attribute": {rawpeer.Do[*ua.ReadResponse](s, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{{NodeID: node(1), AttributeID: ua.AttributeID(n + 100)}}}).Results[0].Status, ua.BadAttributeIDInvalid},
			"a written attribute": {rawpeer.Do[*ua.WriteResponse](s, &ua.WriteRequest{NodesToWrite: []ua.WriteValue{
				{NodeID: node(1), AttributeID: ua.AttributeID(n + 100), Value: ua.DataValue{Value: ua.VariantOf(true)}},
			}}).Results[0], ua.BadAttributeIDInvalid},
		} {
			if c.got != c.want {
				t.Errorf("%s %d: %v, want %v", what, n, c.got, c.want)
			}
		}
	}
	// Masks are no enumerations: bits without a meaning are ignored.
	all := rawpeer.Do[*ua.BrowseResponse](s, &ua.BrowseRequest{NodesToBrowse: []ua.BrowseDescription{
		{NodeID: ua.NumericID(0, id.ObjectsFolder), NodeClassMask: 1<<32 - 1, ResultMask: 1<<32 - 1},
	}}).Results[0]
	if all.StatusCode != ua.Good || len(all.References) == 0 {
		t.Errorf("all bits of both masks: %v, %d references", all.StatusCode, len(all.References))
	}
}
