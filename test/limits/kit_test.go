package limits

import (
	"context"
	"os"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/test/internal/memnet"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

var serverPKI string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "limits")
	if err != nil {
		panic(err)
	}
	serverPKI = dir
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// kit is a server under fake time, with a variable and a method that waits.
type kit struct {
	*uahive.Server
	t        *testing.T
	net      *memnet.Listener
	variable ua.NodeID
	slow     ua.NodeID     // waits for free, or its context
	free     chan struct{} // of one call for each element
	running  chan struct{} // has an element for each call that runs
}

var objects = ua.NumericID(0, id.ObjectsFolder)

func newServer(t *testing.T, limits uahive.Limits, workers int) *uahive.Server {
	t.Helper()
	server, err := uahive.New(uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:4840", ApplicationURI: "urn:test:server", PKI: serverPKI, TrustAll: true,
		Security: []uahive.Security{uahive.NoSecurity}, ShutdownDelay: -1, Limits: limits, Workers: workers,
	})
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// add adds a node below Objects.
func add(t *testing.T, server *uahive.Server, spec addrspace.NodeSpec) ua.NodeID {
	t.Helper()
	if spec.ReferenceType.IsNull() {
		spec.ReferenceType = ua.NumericID(0, id.HasComponent)
	}
	spec.Parent = objects
	n, err := server.Space().AddNode(spec)
	if err != nil {
		t.Fatal(err)
	}
	return n.ID()
}

func inTime(t *testing.T, limits uahive.Limits, f func(k *kit)) {
	synctest.Test(t, func(t *testing.T) {
		k := &kit{t: t, Server: newServer(t, limits, 0), net: memnet.Listen(), free: make(chan struct{}, 1000), running: make(chan struct{}, 1000)}
		k.variable = add(t, k.Server, addrspace.NodeSpec{
			ID: ua.StringID(1, "variable"), BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: "variable"},
			Class: ua.NodeClassVariable, Value: ua.VariantOf("text"), AccessLevel: addrspace.ReadWrite,
		})
		k.slow = add(t, k.Server, addrspace.NodeSpec{
			ID: ua.StringID(1, "slow"), BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: "slow"}, Class: ua.NodeClassMethod,
			Method: &addrspace.Method{Func: func(ctx context.Context, _ *addrspace.Call) error {
				k.running <- struct{}{}
				defer func() { <-k.running }()
				select {
				case <-k.free:
				case <-ctx.Done():
				}
				return ctx.Err()
			}},
		})
		served := make(chan error, 1)
		go func() { served <- k.ServeListener(t.Context(), k.net) }()
		f(k)
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		<-served
		s := k.Stats()
		if s.Channels.Channels+s.Sessions.Sessions+s.Subscriptions.Subscriptions+s.Subscriptions.MonitoredItems != 0 || s.Channels.AssemblyBytes != 0 {
			t.Errorf("left behind: %+v", s)
		}
	})
}

// bare connects a peer that has not said a word.
func (k *kit) bare() *rawpeer.Peer {
	k.t.Helper()
	conn, err := k.net.Dial()
	if err != nil {
		k.t.Fatal(err)
	}
	return rawpeer.New(k.t, conn, rawpeer.Config{})
}

// dial opens a channel.
func (k *kit) dial() *rawpeer.Peer {
	k.t.Helper()
	p := k.bare()
	p.Hello()
	p.Use(p.Open(ua.SecurityTokenRequestTypeIssue))
	return p
}

func (k *kit) session() *rawpeer.Session { return k.dial().Session() }

func readOf(node ua.NodeID, times int) *ua.ReadRequest {
	req := &ua.ReadRequest{NodesToRead: make([]ua.ReadValueID, times)}
	for i := range req.NodesToRead {
		req.NodesToRead[i] = ua.ReadValueID{NodeID: node, AttributeID: ua.AttributeIDValue}
	}
	return req
}

func callOf(method ua.NodeID) *ua.CallRequest {
	return &ua.CallRequest{MethodsToCall: []ua.CallMethodRequest{{ObjectID: objects, MethodID: method}}}
}

func subscription() *ua.CreateSubscriptionRequest {
	return &ua.CreateSubscriptionRequest{RequestedPublishingInterval: 1000, RequestedLifetimeCount: 100, RequestedMaxKeepAliveCount: 10, PublishingEnabled: true}
}
