package conformance

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
	"github.com/uahive/uahive/test/internal/memnet"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// serverPKI is the folder of the certificate that all servers of this package
// share, so that no test has to make a key.
var serverPKI string

const applicationURI = "urn:test:server"

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		panic(err)
	}
	serverPKI = dir
	// The goroutines that exist before any test are those of the default pool
	// that ants makes.
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

var clientKey, strangerKey = sync.OnceValue(newKey), sync.OnceValue(newKey)

// clientPKI returns the certificate store of a client with that key.
func clientPKI(t testing.TB, key *rsa.PrivateKey) *pki.Store {
	t.Helper()
	store, err := pki.Memory(pki.Config{ApplicationURI: rawpeer.ApplicationURI, AcceptAll: true, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// world is a running server and the network in front of it.
type world struct {
	*uahive.Server
	t      *testing.T
	net    *memnet.Listener // nil on TCP
	dialer func() (net.Conn, error)
	ns     uint16 // of the nodes that the test adds
	cancel context.CancelFunc
	served chan error
}

// newWorld makes a server.
func newWorld(t *testing.T, settings ...func(*uahive.Config)) *world {
	t.Helper()
	config := uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:4840", ApplicationURI: applicationURI, PKI: serverPKI, TrustAll: true,
		Security: append(uahive.SecurePolicies(), uahive.NoSecurity), ShutdownDelay: -1,
	}
	for _, set := range settings {
		set(&config)
	}
	server, err := uahive.New(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Server: server, t: t, served: make(chan error, 1)}
	if w.ns, err = server.Space().AddNamespace("urn:test:nodes"); err != nil {
		t.Fatal(err)
	}
	return w
}

// serve lets clients in, until the test ends.
func (w *world) serve(l net.Listener) {
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	go func() { w.served <- w.ServeListener(ctx, l) }()
	w.t.Cleanup(w.stop)
}

// stop ends the server and checks that it ends in time.
func (w *world) stop() {
	if w.served == nil {
		return
	}
	w.t.Helper()
	w.cancel()
	start := time.Now()
	if err := <-w.served; err != nil {
		w.t.Errorf("Serve: %v", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		w.t.Errorf("the shutdown took %v", took)
	}
	w.served = nil
}

// inTime runs a test under fake time with a server of its own, beside others.
func inTime(t *testing.T, f func(t *testing.T, w *world), settings ...func(*uahive.Config)) {
	t.Helper()
	if _, already := parallel.LoadOrStore(t, true); !already {
		t.Parallel()
	}
	alone(t, f, settings...)
}

// parallel has the tests that said so.
var parallel sync.Map

// alone is inTime for a test that counts what all tests of the process share.
func alone(t *testing.T, f func(t *testing.T, w *world), settings ...func(*uahive.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings...)
		w.net = listen(w)
		w.dialer = w.net.Dial
		f(t, w)
	})
}

// listen serves on a network in memory.
func listen(w *world) *memnet.Listener {
	l := memnet.Listen()
	w.serve(l)
	return l
}

// onTCP makes a server on a real socket, for what depends on one.
func onTCP(t *testing.T, settings ...func(*uahive.Config)) *world {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, settings...)
	w.serve(l)
	w.dialer = func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }
	return w
}

// dial connects a peer without security.
func (w *world) dial() *rawpeer.Peer {
	w.t.Helper()
	return w.dialWith(rawpeer.Config{})
}

func (w *world) dialWith(config rawpeer.Config) *rawpeer.Peer {
	w.t.Helper()
	p := w.bare(config)
	p.Hello()
	p.Use(p.Open(ua.SecurityTokenRequestTypeIssue))
	return p
}

// bare connects a peer that has not said a word yet.
func (w *world) bare(config rawpeer.Config) *rawpeer.Peer {
	w.t.Helper()
	conn, err := w.dialer()
	if err != nil {
		w.t.Fatal(err)
	}
	return rawpeer.New(w.t, conn, config)
}

// secure returns the configuration of a peer with security.
func (w *world) secure(own *pki.Store, mode uasc.Mode) rawpeer.Config {
	return rawpeer.Config{
		Policy: uasc.Basic256Sha256, Mode: mode, Server: w.PKI().Certificate(), Own: own,
	}
}

// session connects a peer and makes an activated session.
func (w *world) session() *rawpeer.Session {
	w.t.Helper()
	return w.dial().Session()
}

// node returns the id of a node that the test adds under that name.
func (w *world) node(name string) ua.NodeID { return ua.StringID(w.ns, name) }

// add adds a node, below Objects unless the spec says otherwise.
func (w *world) add(name string, spec addrspace.NodeSpec) *addrspace.Node {
	w.t.Helper()
	spec.ID, spec.BrowseName = w.node(name), ua.QualifiedName{NamespaceIndex: w.ns, Name: name}
	if spec.Parent.IsNull() {
		spec.Parent = ua.NumericID(0, id.ObjectsFolder)
	}
	n, err := w.Space().AddNode(spec)
	if err != nil {
		w.t.Fatalf("adding %s: %v", name, err)
	}
	return n
}

// variable adds a variable that clients may read and write.
func (w *world) variable(name string, value any) *addrspace.Variable {
	w.t.Helper()
	return w.add(name, addrspace.NodeSpec{
		Class: ua.NodeClassVariable, Value: variant(w.t, value), AccessLevel: addrspace.ReadWrite,
	}).Variable()
}

// method adds a method below Objects, without declared arguments unless some are given.
func (w *world) method(name string, inline bool, run addrspace.MethodFunc, inputs ...ua.Argument) ua.NodeID {
	w.t.Helper()
	n := w.add(name, addrspace.NodeSpec{
		Class: ua.NodeClassMethod, ReferenceType: ua.NumericID(0, id.HasComponent),
		Method: &addrspace.Method{Func: run, Inline: inline},
	})
	if len(inputs) > 0 {
		objects := make([]ua.ExtensionObject, len(inputs))
		for i := range inputs {
			objects[i] = ua.ObjectOf(&inputs[i])
		}
		_, err := w.Space().AddNode(addrspace.NodeSpec{
			Class: ua.NodeClassVariable, BrowseName: ua.QualifiedName{Name: "InputArguments"}, ID: w.node(name + ".in"),
			Parent: n.ID(), ReferenceType: ua.NumericID(0, id.HasProperty),
			DataType: ua.NumericID(0, id.Argument), Value: ua.SliceVariant(objects),
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return n.ID()
}

func variant(t testing.TB, value any) ua.Variant {
	t.Helper()
	v, err := ua.ValueOf(value)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// valueOf names the Value attribute of a node.
func valueOf(node ua.NodeID) ua.ReadValueID {
	return ua.ReadValueID{NodeID: node, AttributeID: ua.AttributeIDValue}
}

// readValue reads one value with both timestamps.
func readValue(s *rawpeer.Session, node ua.NodeID) ua.DataValue {
	return rawpeer.Do[*ua.ReadResponse](s, &ua.ReadRequest{
		TimestampsToReturn: ua.TimestampsToReturnBoth, NodesToRead: []ua.ReadValueID{valueOf(node)},
	}).Results[0]
}

// writeValue writes one value and returns the operation's status.
func writeValue(t testing.TB, s *rawpeer.Session, node ua.NodeID, value any) ua.StatusCode {
	t.Helper()
	return rawpeer.Do[*ua.WriteResponse](s, &ua.WriteRequest{NodesToWrite: []ua.WriteValue{{
		NodeID: node, AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: variant(t, value)},
	}}}).Results[0]
}

// subscribe creates a subscription with that publishing interval in ms.
func subscribe(s *rawpeer.Session, interval float64) uint32 {
	return rawpeer.Do[*ua.CreateSubscriptionResponse](s, &ua.CreateSubscriptionRequest{
		RequestedPublishingInterval: interval, RequestedLifetimeCount: 1000, RequestedMaxKeepAliveCount: 10,
		PublishingEnabled: true,
	}).SubscriptionID
}

// monitor returns a request for a reporting item with a queue of one, whose
// samples are all changes.
func monitor(node ua.NodeID, handle uint32) ua.MonitoredItemCreateRequest {
	return ua.MonitoredItemCreateRequest{
		ItemToMonitor: valueOf(node), MonitoringMode: ua.MonitoringModeReporting,
		RequestedParameters: ua.MonitoringParameters{ClientHandle: handle, QueueSize: 1, DiscardOldest: true},
	}
}

// watch creates monitored items, which must succeed, and returns their ids.
func watch(t testing.TB, s *rawpeer.Session, subscription uint32, items ...ua.MonitoredItemCreateRequest) []uint32 {
	t.Helper()
	resp := rawpeer.Do[*ua.CreateMonitoredItemsResponse](s, &ua.CreateMonitoredItemsRequest{
		SubscriptionID: subscription, TimestampsToReturn: ua.TimestampsToReturnBoth, ItemsToCreate: items,
	})
	ids := make([]uint32, len(items))
	for i, r := range resp.Results {
		if r.StatusCode != ua.Good {
			t.Fatalf("item %d: %v", i, r.StatusCode)
		}
		ids[i] = r.MonitoredItemID
	}
	return ids
}

// publish sends a Publish request and waits for its answer.
func publish(s *rawpeer.Session, acks ...ua.SubscriptionAcknowledgement) *ua.PublishResponse {
	return rawpeer.Do[*ua.PublishResponse](s, &ua.PublishRequest{SubscriptionAcknowledgements: acks})
}

// changes returns the data changes of a NotificationMessage.
func changes(t testing.TB, resp *ua.PublishResponse) []ua.MonitoredItemNotification {
	t.Helper()
	var all []ua.MonitoredItemNotification
	for _, data := range resp.NotificationMessage.NotificationData {
		n, ok := data.Value.(*ua.DataChangeNotification)
		if !ok {
			t.Fatalf("notification %T", data.Value)
		}
		all = append(all, n.MonitoredItems...)
	}
	return all
}

// values returns the values of data changes as texts, in order.
func values(list []ua.MonitoredItemNotification) []string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = fmt.Sprint(list[i].Value.Value.Any())
	}
	return texts
}

// expect fails the test when two statuses differ.
func expect(t testing.TB, what string, got, want ua.StatusCode) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
