package hotpath

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/pki"
)

const nodes = 100

// TestMain is the server instead, where a test has started this program again
// for that: see startServer.
func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) == "" {
		os.Exit(m.Run())
	}
	if err := serveParent(); err != nil {
		fmt.Fprintln(os.Stderr, "hotpath server:", err)
		os.Exit(1)
	}
}

// newServer makes a server with 100 writable Int32 variables, ns=1;i=1 and on.
func newServer() (*uahive.Server, error) {
	srv, err := uahive.New(uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:0", ApplicationURI: "urn:uahive:hotpath", PKI: "memory", TrustAll: true,
		Security: append(uahive.SecurePolicies(), uahive.NoSecurity), ShutdownDelay: -1,
	})
	if err != nil {
		return nil, err
	}
	for i := range nodes {
		_, err := srv.Space().AddNode(addrspace.NodeSpec{
			ID: ua.NumericID(1, uint32(i+1)), Class: ua.NodeClassVariable,
			BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: fmt.Sprint("Value", i)},
			Parent:     ua.NumericID(0, id.ObjectsFolder), Value: ua.VariantOf(int32(i)), AccessLevel: addrspace.ReadWrite,
		})
		if err != nil {
			return nil, err
		}
	}
	return srv, nil
}

// serve runs a server in this process and returns its endpoint.
func serve(t testing.TB) string {
	t.Helper()
	srv, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.ServeListener(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "opc.tcp://" + l.Addr().String()
}

func connect(t testing.TB, endpoint, security string) *client.Client {
	t.Helper()
	chosen, err := client.ParseSecurity(security)
	if err != nil {
		t.Fatal(err)
	}
	store, err := pki.Memory(pki.Config{ApplicationURI: "urn:uahive:hotpath:client", AcceptAll: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := client.Connect(ctx, endpoint, client.Config{
		Security: chosen, PKI: store, TrustAll: true, IgnoreHostname: true, KeepAlive: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// flight keeps a number of requests in flight until as many as were asked for
// have been answered. It allocates nothing between its start and its end.
type flight struct {
	c        *client.Client
	request  *client.Prepared
	depth    int64
	total    int64
	sent     atomic.Int64
	answered atomic.Int64
	failure  atomic.Pointer[error]
	done     chan struct{}
}

func newFlight(t testing.TB, c *client.Client, request ua.Structure, depth int) *flight {
	t.Helper()
	prepared, err := client.Prepare(request)
	if err != nil {
		t.Fatal(err)
	}
	return &flight{c: c, request: prepared, depth: int64(depth), done: make(chan struct{}, 1)}
}

// run sends that many requests and returns when the last is answered.
func (f *flight) run(t testing.TB, total int) {
	t.Helper()
	f.total = int64(total)
	f.sent.Store(0)
	f.answered.Store(0)
	for range f.depth {
		f.next()
	}
	<-f.done
	if err := f.failure.Load(); err != nil {
		t.Fatal(*err)
	}
}

func (f *flight) next() {
	if f.sent.Add(1) > f.total {
		return
	}
	if err := f.c.Send(f.request, f); err != nil {
		f.fail(err)
	}
}

func (f *flight) fail(err error) {
	f.failure.Store(&err)
	select {
	case f.done <- struct{}{}:
	default:
	}
}

// HandleResponse implements [client.ResponseHandler].
func (f *flight) HandleResponse(_ uint32, _ []byte, err error) {
	if err != nil {
		f.fail(err)
		return
	}
	if f.answered.Add(1) == f.total {
		f.done <- struct{}{}
		return
	}
	f.next()
}
