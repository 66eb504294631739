//go:build faults && linux

package faults

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
	"github.com/uahive/uahive/test/internal/loadproc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// alone stands for the test in a process that has none: what would fail the test
// ends the process with an error. Connections stay open until then.
type alone struct{ testing.TB }

func (alone) Helper()                   {}
func (alone) Cleanup(func())            {}
func (alone) Fatal(args ...any)         { panic(errors.New(fmt.Sprint(args...))) }
func (alone) Fatalf(f string, a ...any) { panic(fmt.Errorf(f, a...)) }
func (alone) Errorf(f string, a ...any) { panic(fmt.Errorf(f, a...)) }
func (alone) Error(args ...any)         { panic(errors.New(fmt.Sprint(args...))) }

// caught runs f and returns what alone has thrown.
func caught(f func(testing.TB) error) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("%v", thrown)
		}
	}()
	return f(alone{})
}

// raw makes secure peers that speak by hand.
type raw struct {
	address string
	config  rawpeer.Config
	// receive is the size of the socket's receive buffer. Default: the system's.
	receive int
	// timeout of the sessions. Default: shortTimeout.
	timeout time.Duration
	// kept are the peers, since Go closes connections that nobody can reach.
	kept []*rawpeer.Peer
}

// newRaw asks the server for its certificate and makes one.
func newRaw(endpoint string) (*raw, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	own, err := pki.Memory(pki.Config{ApplicationURI: rawpeer.ApplicationURI, AcceptAll: true})
	if err != nil {
		return nil, err
	}
	endpoints, err := client.Discover(context.Background(), endpoint, client.Config{})
	if err != nil {
		return nil, err
	}
	for _, e := range endpoints {
		if e.SecurityPolicyURI != uasc.Basic256Sha256.URI {
			continue
		}
		parsed, err := pki.Intern(e.ServerCertificate)
		if err != nil {
			return nil, err
		}
		public, ok := parsed.Key.(*rsa.PublicKey)
		if !ok {
			return nil, errors.New("the server's certificate is not of RSA")
		}
		server := &pki.Certificate{DER: parsed.DER, Chain: e.ServerCertificate, Key: &rsa.PrivateKey{PublicKey: *public}}
		return &raw{address: u.Host, config: rawpeer.Config{
			URL: endpoint, Policy: uasc.Basic256Sha256, Mode: uasc.ModeSignAndEncrypt, Server: server, Own: own, Patience: 20 * time.Second,
		}}, nil
	}
	return nil, errors.New("the server does not offer Basic256Sha256")
}

// bare connects a peer that has not said a word.
func (r *raw) bare(t testing.TB) *rawpeer.Peer {
	t.Helper()
	var d net.Dialer
	if r.receive > 0 {
		// Before it connects, since the window is agreed upon then.
		d.Control = func(_, _ string, c syscall.RawConn) (err error) {
			if other := c.Control(func(fd uintptr) {
				err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, r.receive)
			}); other != nil {
				return other
			}
			return err
		}
	}
	conn, err := d.Dial("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	p := rawpeer.New(t, conn, r.config)
	r.kept = append(r.kept, p)
	return p
}

// session goes on to a session that a silent client loses soon.
func (r *raw) session(t testing.TB) *rawpeer.Session {
	t.Helper()
	p := r.bare(t)
	p.Hello()
	p.Use(p.Open(ua.SecurityTokenRequestTypeIssue))
	req := p.CreateRequest()
	req.RequestedSessionTimeout = float64(max(r.timeout, shortTimeout) / time.Millisecond)
	s := p.CreateSessionWith(req)
	if code := s.Activate(&ua.AnonymousIdentityToken{PolicyID: "anonymous"}); code != ua.Good {
		t.Fatalf("ActivateSession: %v", code)
	}
	return s
}

// shortTimeout is the shortest time-out that the server grants to a session.
const shortTimeout = 10 * time.Second

// subscriptionLife is how long a subscription outlives the last Publish request of
// a peer, longer than its session.
const subscriptionLife = 12 * time.Second

// watch gives a session a subscription to a node, with so many Publish requests
// waiting.
func watch(s *rawpeer.Session, node ua.NodeID, interval time.Duration, publishes int) {
	sub := rawpeer.Do[*ua.CreateSubscriptionResponse](s, &ua.CreateSubscriptionRequest{
		RequestedPublishingInterval: float64(interval / time.Millisecond), RequestedLifetimeCount: uint32(subscriptionLife / interval),
		RequestedMaxKeepAliveCount: 3, PublishingEnabled: true,
	})
	rawpeer.Do[*ua.CreateMonitoredItemsResponse](s, &ua.CreateMonitoredItemsRequest{
		SubscriptionID: sub.SubscriptionID, TimestampsToReturn: ua.TimestampsToReturnBoth,
		ItemsToCreate: []ua.MonitoredItemCreateRequest{{
			ItemToMonitor: ua.ReadValueID{NodeID: node, AttributeID: ua.AttributeIDValue}, MonitoringMode: ua.MonitoringModeReporting,
			RequestedParameters: ua.MonitoringParameters{ClientHandle: 1, SamplingInterval: -1, QueueSize: 10},
		}},
	})
	for range publishes {
		s.Start(&ua.PublishRequest{})
	}
}

// bookmark leaves a continuation point behind.
func bookmark(t testing.TB, s *rawpeer.Session) {
	t.Helper()
	resp := rawpeer.Do[*ua.BrowseResponse](s, &ua.BrowseRequest{
		RequestedMaxReferencesPerNode: 1, NodesToBrowse: []ua.BrowseDescription{{
			NodeID: ua.NumericID(0, id.ObjectsFolder), ReferenceTypeID: ua.NumericID(0, id.HierarchicalReferences), IncludeSubtypes: true,
		}},
	})
	if len(resp.Results) != 1 || len(resp.Results[0].ContinuationPoint) == 0 {
		t.Fatal("the server keeps no continuation point")
	}
}

// longRead is a Read of several chunks.
func longRead() *ua.ReadRequest {
	req := &ua.ReadRequest{NodesToRead: make([]ua.ReadValueID, 10_000)}
	for i := range req.NodesToRead {
		req.NodesToRead[i] = ua.ReadValueID{NodeID: loadproc.Variable(i % 100), AttributeID: ua.AttributeIDValue}
	}
	return req
}

// halfOfMany sends a chunk and a half of a request of several chunks.
func halfOfMany(t testing.TB, s *rawpeer.Session) {
	t.Helper()
	frames := s.Seal(uasc.TypeMessage, s.NextID(), s.Prepare(s.Token, longRead()))
	chunk := int(s.Limits.SendBuffer)
	if len(frames) < 2*chunk {
		t.Fatalf("the request has %d bytes, which are not two chunks of %d", len(frames), chunk)
	}
	s.Write(frames[:chunk+chunk/2])
}

// halfHello sends half of a Hello message.
func halfHello(p *rawpeer.Peer) {
	hello := p.Config.Limits.Hello(p.Config.URL)
	frame := hello.AppendTo(nil)
	p.Write(frame[:len(frame)/2])
}

// halfOpen sends half of a request to open a channel, behind Hello.
func halfOpen(p *rawpeer.Peer) {
	p.Hello()
	frame := p.SealOpen(&ua.OpenSecureChannelRequest{
		RequestType: ua.SecurityTokenRequestTypeIssue, SecurityMode: ua.MessageSecurityModeSignAndEncrypt,
		ClientNonce: p.Config.Policy.Nonce(), RequestedLifetime: 3_600_000,
	})
	p.Write(frame[:len(frame)/2])
}
