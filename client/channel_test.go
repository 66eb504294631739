package client

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// bubble runs a test in fake time, with keys made outside of it.
func bubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	peerKeys()
	synctest.Test(t, fn)
}

func TestConnectsWithEveryPolicyModeAndIdentity(t *testing.T) {
	server, client := peerKeys()
	_ = server
	for _, security := range []string{
		"None", "Basic256Sha256/Sign", "Basic256Sha256/SignAndEncrypt",
		"Aes128_Sha256_RsaOaep/Sign", "Aes128_Sha256_RsaOaep/SignAndEncrypt",
		"Aes256_Sha256_RsaPss/Sign", "Aes256_Sha256_RsaPss/SignAndEncrypt",
	} {
		users := map[string]Identity{
			"anonymous/anon":   Anonymous(),
			"operator/name":    UserName("operator", "secret"),
			"certificate/cert": UserCertificate(client.Certificate()),
		}
		for want, user := range users {
			t.Run(security+" "+want, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					p := newPeer(t)
					cfg := p.secureConfig()
					cfg.Security, _ = ParseSecurity(security)
					cfg.User = user
					c := p.mustConnect(cfg)
					dv, err := c.ReadValue(context.Background(), ua.NumericID(1, 4711))
					if v, _ := ua.As[int32](dv.Value); err != nil || v != 4711 {
						t.Errorf("Read: %v, %v", dv, err)
					}
					if err := c.Close(context.Background()); err != nil {
						t.Error(err)
					}
					if !slices.Equal(p.users, []string{want}) {
						t.Errorf("user %v, want %s", p.users, want)
					}
					if p.count("CloseSession") != 1 || len(p.sessions) != 0 {
						t.Error("session was not closed")
					}
				})
			})
		}
	}
}

func TestBestSecurityIsWhatTheServerRanksHighest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.secureConfig())
		defer c.Close(context.Background())
		e := c.Endpoint()
		if e.SecurityPolicyURI != uasc.Aes256Sha256RsaPss.URI || e.SecurityMode != ua.MessageSecurityModeSignAndEncrypt {
			t.Errorf("endpoint %s %v", e.SecurityPolicyURI, e.SecurityMode)
		}
	})
}

// The host of the URL is kept although the endpoints name another: see peer.dial.
func TestClientWithoutCertificateUsesNoSecurityButSendsNoClearPassword(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		for i := range p.endpoints {
			p.endpoints[i].UserIdentityTokens = []ua.UserTokenPolicy{{PolicyID: "clear", TokenType: ua.UserTokenTypeUserName}}
		}
		cfg := p.config()
		cfg.User = UserName("operator", "secret")
		if _, err := Connect(context.Background(), peerURL, cfg); !errors.Is(err, errClearPassword) {
			t.Errorf("error %v", err)
		}
		cfg.AllowClearPassword = true
		c := p.mustConnect(cfg)
		c.Close(context.Background())
		if !slices.Equal(p.users, []string{"operator/clear"}) {
			t.Errorf("users %v", p.users)
		}
	})
}

// Part 4, 5.7.2: the endpoints of the session are compared with the discovered
// ones; a difference means that discovery was tampered with (threat S18).
func TestThreat_S18_DowngradedEndpoints(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.sessionEnd = slices.Clone(p.endpoints)
		p.endpoints = slices.DeleteFunc(slices.Clone(p.endpoints), func(e ua.EndpointDescription) bool {
			return e.SecurityPolicyURI != uasc.Aes128Sha256RsaOaep.URI // somebody took away the strong ones
		})
		_, err := Connect(context.Background(), peerURL, p.secureConfig())
		if ua.StatusOf(err) != ua.BadSecurityChecksFailed {
			t.Errorf("error %v", err)
		}
		cfg := p.secureConfig()
		cfg.AllowEndpointMismatch = true
		p.mustConnect(cfg).Close(context.Background())
	})
}

func TestUntrustedServerIsRefusedBeforeAnythingIsSentToIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		cfg := p.secureConfig()
		server, _ := peerKeys()
		cfg.PKI = nil
		cfg.Certificate = server.Certificate()
		_, err := Connect(context.Background(), peerURL, cfg)
		if ua.StatusOf(err) != ua.BadCertificateUntrusted {
			t.Errorf("error %v", err)
		}
		if p.hellos != 1 { // discovery
			t.Errorf("%d connections", p.hellos)
		}
	})
}

func TestBadServerSignatureIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.on["CreateSession"] = func(r *peerRequest) ua.Structure {
			resp := p.serve(r).(*ua.CreateSessionResponse)
			resp.ServerSignature.Signature[5] ^= 1
			return resp
		}
		_, err := Connect(context.Background(), peerURL, p.secureConfig())
		if ua.StatusOf(err) != ua.BadApplicationSignatureInvalid {
			t.Errorf("error %v", err)
		}
	})
}

func TestShortServerNonceIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.on["CreateSession"] = func(r *peerRequest) ua.Structure {
			resp := p.serve(r).(*ua.CreateSessionResponse)
			resp.ServerNonce = resp.ServerNonce[:8]
			return resp
		}
		_, err := Connect(context.Background(), peerURL, p.secureConfig())
		if ua.StatusOf(err) != ua.BadNonceInvalid {
			t.Errorf("error %v", err)
		}
	})
}

func TestWrongPasswordEndsConnect(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		cfg := p.secureConfig()
		cfg.User = UserName("operator", "guess")
		_, err := Connect(context.Background(), peerURL, cfg)
		if ua.StatusOf(err) != ua.BadUserAccessDenied {
			t.Errorf("error %v", err)
		}
	})
}

func TestChangeUserKeepsTheOldOneWhenRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.secureConfig())
		defer c.Close(context.Background())
		if err := c.ChangeUser(context.Background(), UserName("operator", "wrong")); ua.StatusOf(err) != ua.BadUserAccessDenied {
			t.Errorf("error %v", err)
		}
		if c.identity() != Anonymous() {
			t.Error("identity changed")
		}
		if err := c.ChangeUser(context.Background(), UserName("operator", "secret")); err != nil {
			t.Error(err)
		}
		if !slices.Equal(p.users, []string{"anonymous/anon", "operator/name"}) {
			t.Errorf("users %v", p.users)
		}
	})
}

// Part 4, 5.6.2.1: the token is renewed at 75 % of its life. The server goes
// on with the old one until the client has used the new one.
func TestTokenIsRenewedAtThreeQuartersOfItsLife(t *testing.T) {
	for _, security := range []Security{NoSecurity, BestSecurity} {
		t.Run(security.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t)
				p.lifetime = time.Minute
				cfg := p.secureConfig()
				cfg.Security, cfg.KeepAlive = security, -1
				c := p.mustConnect(cfg)
				defer c.Close(context.Background())
				time.Sleep(44 * time.Second)
				if c.Stats().Renewals != 0 {
					t.Error("renewed too early")
				}
				time.Sleep(2 * time.Second)
				if c.Stats().Renewals != 1 {
					t.Error("not renewed in time")
				}
				for range 20 {
					time.Sleep(20 * time.Second)
					if err := c.Ping(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
				if n := c.Stats().Renewals; n < 8 || n > 11 {
					t.Errorf("%d renewals in 446 s", n)
				}
				if c.Stats().Reconnects != 0 {
					t.Error("reconnected")
				}
			})
		})
	}
}

// A server that gives its tokens little life has them renewed as often as that
// takes, though nothing else is due in between.
func TestShortTokensAreRenewedInTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.lifetime = 8 * time.Second
		cfg := p.secureConfig()
		cfg.KeepAlive = -1
		c := p.mustConnect(cfg)
		defer c.Close(context.Background())
		time.Sleep(61 * time.Second)
		if n := c.Stats().Renewals; n != 10 {
			t.Errorf("%d renewals in 61 s, want one each 6 s", n)
		}
	})
}

// Threat R3: renewing while requests are in flight loses none.
func TestRenewingBetweenRequestsInFlight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.lifetime = 10 * time.Second
		c := p.mustConnect(p.secureConfig())
		defer c.Close(context.Background())
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 50 {
					if err := c.Ping(context.Background()); err != nil {
						t.Error(err)
					}
					time.Sleep(617 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		if s := c.Stats(); s.Renewals < 3 || s.Reconnects != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestKeepAliveReadsTheStateOnlyWhenThereIsNoTraffic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		cfg := p.config()
		cfg.KeepAlive = 5 * time.Second
		c := p.mustConnect(cfg)
		defer c.Close(context.Background())
		for range 20 {
			time.Sleep(2 * time.Second)
			if _, err := c.RegisterNodes(context.Background()); err == nil {
				t.Error("peer has RegisterNodes")
			}
		}
		if n := p.count("Read"); n != 0 {
			t.Errorf("%d keep-alives beside other traffic", n)
		}
		time.Sleep(51 * time.Second)
		if n := p.count("Read"); n < 9 || n > 11 {
			t.Errorf("%d keep-alives in 51 s", n)
		}
	})
}

func TestServerStateIsReported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.on["Read"] = func(*peerRequest) ua.Structure {
			return &ua.ReadResponse{Results: []ua.DataValue{{Value: ua.Int32Variant(int32(ua.ServerStateShutdown))}}}
		}
		var log eventLog
		cfg := p.config()
		cfg.OnEvent = log.add
		c := p.mustConnect(cfg)
		time.Sleep(time.Minute)
		c.Close(context.Background())
		if log.String() != "connected, server state changed, closed" {
			t.Error(log.String())
		}
	})
}

func TestContextEndsARequestAndTheServerIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		var hint uint32
		p.on["Call"] = func(r *peerRequest) ua.Structure { hint = r.header.TimeoutHint; return nil }
		var cancelled []uint32
		p.on["Cancel"] = func(r *peerRequest) ua.Structure {
			cancelled = append(cancelled, r.body.(*ua.CancelRequest).RequestHandle)
			return new(ua.CancelResponse)
		}
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		_, err := c.Call(ctx, ua.NodeID{}, ua.NodeID{})
		synctest.Wait()
		if !errors.Is(err, context.Canceled) || len(cancelled) != 1 {
			t.Errorf("error %v, cancelled %v", err, cancelled)
		}
		if hint != 10_000 {
			t.Errorf("TimeoutHint %d without a deadline", hint)
		}
		ctx, cancel = context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		_, err = c.Call(ctx, ua.NodeID{}, ua.NodeID{})
		synctest.Wait()
		if ua.StatusOf(err) != ua.BadTimeout || len(cancelled) != 1 || hint != 3000 {
			t.Errorf("error %v, cancelled %v, hint %d", err, cancelled, hint)
		}
	})
}

func TestRequestWithoutDeadlineFailsAfterRequestTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.on["Call"] = func(*peerRequest) ua.Structure { return nil }
		cfg := p.config()
		cfg.KeepAlive = -1
		c := p.mustConnect(cfg)
		defer c.Close(context.Background())
		start := time.Now()
		_, err := c.Call(context.Background(), ua.NodeID{}, ua.NodeID{})
		if took := time.Since(start); ua.StatusOf(err) != ua.BadTimeout || took != 10*time.Second {
			t.Errorf("error %v after %v", err, took)
		}
		if c.Stats().InFlight != 0 {
			t.Error("request is still in flight")
		}
	})
}

func TestLateResponseIsNotTakenForAnother(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		var first *peerRequest
		p.on["Read"] = func(r *peerRequest) ua.Structure {
			if first == nil {
				first = r
				return nil
			}
			first.reply(&ua.ReadResponse{Results: []ua.DataValue{{Value: ua.Int32Variant(-1)}}})
			return p.serve(r)
		}
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := c.ReadValue(ctx, ua.NumericID(1, 1)); ua.StatusOf(err) != ua.BadTimeout {
			t.Error(err)
		}
		dv, err := c.ReadValue(context.Background(), ua.NumericID(1, 2))
		if v, _ := ua.As[int32](dv.Value); err != nil || v != 2 {
			t.Errorf("%v %v", dv, err)
		}
	})
}

func TestManyRequestsShareAConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		cfg := p.secureConfig()
		cfg.MaxInFlight = 10
		c := p.mustConnect(cfg)
		defer c.Close(context.Background())
		var wg sync.WaitGroup
		for g := range 50 {
			wg.Go(func() {
				for i := range 20 {
					want := uint32(g*100 + i)
					dv, err := c.ReadValue(context.Background(), ua.NumericID(1, want))
					if v, _ := ua.As[int32](dv.Value); err != nil || v != int32(want) {
						t.Errorf("%v %v, want %d", dv, err, want)
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestLargeMessagesAreChunkedInBothDirections(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.on["Write"] = func(r *peerRequest) ua.Structure {
			resp := new(ua.WriteResponse)
			for _, w := range r.body.(*ua.WriteRequest).NodesToWrite {
				if b, _ := ua.As[[]byte](w.Value.Value); len(b) != 300_000 || b[299_999] != 7 {
					t.Errorf("%d bytes", len(b))
				}
				resp.Results = append(resp.Results, ua.Good)
			}
			return resp
		}
		p.on["Read"] = func(*peerRequest) ua.Structure {
			return &ua.ReadResponse{Results: []ua.DataValue{{Value: ua.VariantOf(make([]byte, 500_000))}}}
		}
		c := p.mustConnect(p.secureConfig())
		defer c.Close(context.Background())
		big := make([]byte, 300_000)
		big[299_999] = 7
		if err := c.WriteValue(context.Background(), ua.NumericID(1, 1), big); err != nil {
			t.Error(err)
		}
		dv, err := c.ReadValue(context.Background(), ua.NumericID(1, 1))
		if b, _ := ua.As[[]byte](dv.Value); err != nil || len(b) != 500_000 {
			t.Errorf("%d bytes, %v", len(b), err)
		}
		err = c.WriteValue(context.Background(), ua.NumericID(1, 1), make([]byte, 10<<20))
		if ua.StatusOf(err) != ua.BadRequestTooLarge {
			t.Errorf("too large: %v", err)
		}
		if err := c.Ping(context.Background()); err != nil {
			t.Errorf("channel did not survive: %v", err)
		}
	})
}

func TestResponseOfAnotherTypeIsAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.on["Read"] = func(*peerRequest) ua.Structure { return new(ua.WriteResponse) }
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		if err := c.Ping(context.Background()); ua.StatusOf(err) != ua.BadUnknownResponse {
			t.Error(err)
		}
	})
}

func TestGoAndSendAnswerOnTheReader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		cfg := p.config()
		cfg.MaxInFlight = 5
		c := p.mustConnect(cfg)
		p.handle("Read", func(*peerRequest) ua.Structure { return nil })
		var errs []error
		for range 5 {
			resp := new(ua.ReadResponse)
			if err := c.Go(&pingRequest, resp, func(err error) { errs = append(errs, err) }); err != nil {
				t.Error(err)
			}
		}
		if err := c.Send(stateRead, nil); !errors.Is(err, ErrBusy) {
			t.Errorf("sixth request: %v", err)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if len(errs) != 5 || ua.StatusOf(errs[0]) != ua.BadTimeout {
			t.Errorf("errors %v", errs)
		}
		p.handle("Read", nil)
		h := &ringing{c: c, left: 100, t: t}
		if err := c.Send(stateRead, h); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if h.left != 0 {
			t.Errorf("%d requests were not sent from the handler", h.left)
		}
		c.Close(context.Background())
		if err := c.Send(stateRead, h); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// ringing sends the next request when the one before is answered.
type ringing struct {
	c    *Client
	left int
	t    *testing.T
}

func (r *ringing) HandleResponse(_ uint32, _ []byte, err error) {
	if err != nil {
		r.t.Error(err)
		return
	}
	if r.left--; r.left > 0 {
		if err := r.c.Send(stateRead, r); err != nil {
			r.t.Error(err)
		}
	}
}

func TestCloseTwiceAndUseAfterwards(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		c := p.mustConnect(p.config())
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := c.Ping(context.Background()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if _, err := c.Subscribe(context.Background(), SubscriptionConfig{}); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

func TestBrowseFetchesTheRestAndReleasesWhatItLeaves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		page := func(names ...string) []ua.ReferenceDescription {
			var refs []ua.ReferenceDescription
			for _, n := range names {
				refs = append(refs, ua.ReferenceDescription{BrowseName: ua.QualifiedName{Name: n}})
			}
			return refs
		}
		p.on["Browse"] = func(*peerRequest) ua.Structure {
			return &ua.BrowseResponse{Results: []ua.BrowseResult{{ContinuationPoint: []byte{1}, References: page("a", "b")}}}
		}
		var released int
		p.on["BrowseNext"] = func(r *peerRequest) ua.Structure {
			if r.body.(*ua.BrowseNextRequest).ReleaseContinuationPoints {
				released++
				return new(ua.BrowseNextResponse)
			}
			return &ua.BrowseNextResponse{Results: []ua.BrowseResult{{References: page("c")}}}
		}
		c := p.mustConnect(p.config())
		defer c.Close(context.Background())
		var names string
		for ref, err := range c.Browse(context.Background(), ua.NumericID(0, 85)) {
			if err != nil {
				t.Fatal(err)
			}
			names += ref.BrowseName.Name
		}
		if names != "abc" || released != 0 {
			t.Errorf("%s, %d released", names, released)
		}
		for range c.Browse(context.Background(), ua.NumericID(0, 85)) {
			break
		}
		if released != 1 {
			t.Errorf("%d released", released)
		}
		p.handle("Browse", func(*peerRequest) ua.Structure {
			return &ua.BrowseResponse{Results: []ua.BrowseResult{{StatusCode: ua.BadNodeIDUnknown}}}
		})
		for _, err := range c.Browse(context.Background(), ua.NumericID(0, 85)) {
			if ua.StatusOf(err) != ua.BadNodeIDUnknown {
				t.Error(err)
			}
		}
	})
}

// A token that lives for a second is followed by the next one in time, and so is
// that one, whatever else there is to look after.
func TestShortTokensFollowEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.lifetime = time.Second
		c := p.mustConnect(p.secureConfig())
		defer c.Close(context.Background())
		for range 2000 {
			if err := c.Ping(context.Background()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if s := c.Stats(); s.Renewals < 24 || s.Renewals > 27 || s.Reconnects != 0 {
			t.Errorf("after 20 s: %+v", s)
		}
	})
}
