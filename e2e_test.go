package uahive_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// serve starts a server on a free port, with a namespace, and connects a client
// as operator. Both end with the test. build makes the address space.
func serve(t *testing.T, build func(srv *uahive.Server, ns *uahive.Namespace)) *client.Client {
	t.Helper()
	srv, err := uahive.New(uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:0", PKI: "memory", TrustAll: true, ShutdownDelay: -1,
		Security: []uahive.Security{uahive.NoSecurity}, Anonymous: true,
		Authenticate: func(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
			if c.Password != "secret" {
				return nil, errors.New("wrong password")
			}
			return &uahive.User{Name: c.UserName, Kind: c.Kind, Data: "shift 1"}, nil
		},
		Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
	})
	if err != nil {
		t.Fatal(err)
	}
	build(srv, srv.Namespace("urn:test:model"))
	l, err := srv.Listen()
	if err != nil {
		srv.Close()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.ServeListener(context.Background(), l) }()
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	c, err := client.Connect(t.Context(), "opc.tcp://"+l.Addr().String(), client.Config{
		User: client.UserName("operator", "secret"), TrustAll: true, Security: client.NoSecurity, Locales: []string{"de"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func node(path string) ua.NodeID { return ua.StringID(2, path) }

func read(t *testing.T, c *client.Client, path string) ua.DataValue {
	t.Helper()
	values, err := c.ReadValues(t.Context(), node(path))
	if err != nil {
		t.Fatal(err)
	}
	return values[0]
}

func TestClientsSeeWhatTheProgramAdds(t *testing.T) {
	calls := make(chan uahive.Caller, 10)
	var temperature *uahive.Variable[float64]
	c := serve(t, func(_ *uahive.Server, ns *uahive.Namespace) {
		press := ns.Object("Press1")
		temperature = uahive.AddVariable(press, "Temperature", 21.5, uahive.EURange(0, 300))
		uahive.AddVariable(press, "SetPoint", 10.0, uahive.OnWrite(func(ctx context.Context, _, new float64) error {
			caller, _ := uahive.CallerFrom(ctx)
			calls <- caller
			if new > 100 {
				return ua.BadOutOfRange
			}
			return nil
		}))
		uahive.AddVariable(press, "Device", 0, uahive.OnRead(func(ctx context.Context) (int, error) {
			caller, _ := uahive.CallerFrom(ctx)
			calls <- caller
			return 42, nil
		}))
		uahive.AddVariable(press, "Broken", 0, uahive.OnRead(func(context.Context) (int, error) { panic("oil") }))
		uahive.AddVariable(press, "BrokenInline", 0, uahive.Inline(), uahive.OnRead(func(context.Context) (int, error) { panic("oil") }))
		uahive.AddMethod(press, "Add", func(ctx context.Context, in struct{ A, B int32 }) (out struct{ Sum int32 }, err error) {
			caller, _ := uahive.CallerFrom(ctx)
			calls <- caller
			out.Sum = in.A + in.B
			return out, nil
		})
		uahive.AddMethod(press, "Panic", func(context.Context, struct{}) (struct{}, error) { panic("oil") })
	})
	ctx := t.Context()

	temperature.Set(22.1)
	if dv := read(t, c, "Press1.Temperature"); !dv.Value.Equal(ua.DoubleVariant(22.1)) || dv.Status != ua.Good {
		t.Errorf("Temperature %v", dv)
	}
	if err := c.WriteValue(ctx, node("Press1.Temperature"), 1.0); ua.StatusOf(err) != ua.BadNotWritable {
		t.Errorf("writing a variable that is not writable: %v", err)
	}
	if err := c.WriteValue(ctx, node("Press1.SetPoint"), 50.0); err != nil {
		t.Error(err)
	}
	if err := c.WriteValue(ctx, node("Press1.SetPoint"), 500.0); ua.StatusOf(err) != ua.BadOutOfRange {
		t.Errorf("a veto: %v", err)
	}
	if dv := read(t, c, "Press1.SetPoint"); !dv.Value.Equal(ua.DoubleVariant(50)) {
		t.Errorf("SetPoint %v", dv)
	}
	if dv := read(t, c, "Press1.Device"); !dv.Value.Equal(ua.Int64Variant(42)) || dv.SourceTimestamp == 0 {
		t.Errorf("Device %v", dv)
	}
	out, err := c.Call(ctx, node("Press1"), node("Press1.Add"), int32(2), int32(40))
	if err != nil || len(out) != 1 || !out[0].Equal(ua.Int32Variant(42)) {
		t.Errorf("Add: %v %v", out, err)
	}
	for range 4 {
		caller := <-calls
		if caller.User.Name != "operator" || caller.User.Data != "shift 1" || caller.SessionID != c.SessionID() ||
			!slices.Equal(caller.Locales, []string{"de"}) {
			t.Errorf("caller %+v %+v", caller, caller.User)
		}
	}
	// A panic is that operation's status, and the server goes on.
	for _, path := range []string{"Press1.Broken", "Press1.BrokenInline"} {
		if dv := read(t, c, path); dv.Status != ua.BadInternalError {
			t.Errorf("%s: %v", path, dv)
		}
	}
	if _, err := c.Call(ctx, node("Press1"), node("Press1.Panic")); ua.StatusOf(err) != ua.BadInternalError {
		t.Errorf("Panic: %v", err)
	}
	if dv := read(t, c, "Press1.Temperature"); !dv.Value.Equal(ua.DoubleVariant(22.1)) {
		t.Errorf("Temperature %v", dv)
	}
}

// The Standard profile and many clients write status and timestamps with values
// (Part 4, 5.11.4).
func TestClientsWriteStatusAndTimestamps(t *testing.T) {
	c := serve(t, func(_ *uahive.Server, ns *uahive.Namespace) {
		uahive.AddVariable(ns, "V", int32(1), uahive.Writable())
	})
	at := ua.DateTimeOf(time.Date(2020, 1, 2, 3, 4, 5, 600, time.UTC))
	want := ua.DataValue{Value: ua.Int32Variant(2), Status: ua.UncertainSubNormal, SourceTimestamp: at}
	codes, err := c.Write(t.Context(), ua.WriteValue{NodeID: node("V"), AttributeID: ua.AttributeIDValue, Value: want})
	if err != nil || codes[0] != ua.Good {
		t.Fatal(codes, err)
	}
	if dv := read(t, c, "V"); !dv.Value.Equal(want.Value) || dv.Status != want.Status || dv.SourceTimestamp != at {
		t.Errorf("read %v", dv)
	}
}

func TestTheAddressSpaceChangesUnderClients(t *testing.T) {
	var parent *uahive.Namespace
	var press *uahive.Object
	c := serve(t, func(_ *uahive.Server, ns *uahive.Namespace) {
		parent, press = ns, ns.Object("Press1")
		uahive.AddVariable(press, "V", 1)
	})
	ctx := t.Context()
	sub, err := c.Subscribe(ctx, client.SubscriptionConfig{Interval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sub.Monitor(ctx, nil, client.Value(node("Press1.V"))); err != nil {
		t.Fatal(err)
	}
	if ch := <-sub.Changes(); !ch.Value.Value.Equal(ua.Int64Variant(1)) {
		t.Errorf("first change %v", ch.Value)
	}
	press.SetDisplayName("Press No. 1")
	uahive.AddVariable(press, "New", true)
	names := func() (names []string) {
		for ref, err := range c.Browse(ctx, node("Press1")) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, ref.BrowseName.Name)
		}
		return names
	}
	if got := names(); !slices.Contains(got, "New") || !slices.Contains(got, "V") {
		t.Errorf("browsed %v", got)
	}
	for ref := range c.Browse(ctx, ua.NumericID(0, id.ObjectsFolder)) {
		if ref.NodeID.NodeID == node("Press1") && ref.DisplayName.Text != "Press No. 1" {
			t.Errorf("DisplayName %v", ref.DisplayName)
		}
	}
	press.Remove()
	// Who monitors a node that is deleted is told so once.
	if ch := <-sub.Changes(); ch.Value.Status != ua.BadNodeIDUnknown {
		t.Errorf("after the removal: %v", ch.Value)
	}
	if dv := read(t, c, "Press1.New"); dv.Status != ua.BadNodeIDUnknown {
		t.Errorf("a removed variable: %v", dv)
	}
	if err := uahive.AddVariable(parent.Object("Press1"), "V", 2).Err(); err != nil {
		t.Error(err)
	}
}

// tags is a manager of a thousand variables that are nowhere in memory.
type tags struct {
	folder ua.NodeID
	reads  atomic.Int64
}

func (m *tags) Read(_ context.Context, items []addrspace.ReadItem) {
	m.reads.Add(1)
	for i := range items {
		if items[i].Attribute == ua.AttributeIDValue {
			items[i].Result = ua.DataValue{Value: ua.UInt32Variant(2 * items[i].NodeID.Numeric())}
		} else {
			items[i].Result.Status = ua.BadAttributeIDInvalid
		}
	}
}

func (m *tags) Write(_ context.Context, items []addrspace.WriteItem) {
	for i := range items {
		items[i].Result = ua.BadNotWritable
	}
}

func (m *tags) Browse(_ context.Context, items []addrspace.BrowseItem) {
	for i := range items {
		if items[i].NodeID != m.folder {
			continue
		}
		items[i].Result = ua.Good
		for n := range uint32(1000) {
			items[i].References = append(items[i].References, ua.ReferenceDescription{
				ReferenceTypeID: ua.NumericID(0, id.Organizes), IsForward: true, NodeID: ua.ExpandedNodeID{NodeID: ua.NumericID(2, n+1)},
				NodeClass: ua.NodeClassVariable, BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: "tag"},
			})
		}
	}
}

func TestManagersAnswerForTheirNamespace(t *testing.T) {
	manager := &tags{folder: node("Tags")}
	c := serve(t, func(_ *uahive.Server, ns *uahive.Namespace) {
		ns.Folder("Tags")
		ns.Mount(manager)
	})
	ctx := t.Context()
	var found []ua.NodeID
	for ref, err := range c.Browse(ctx, node("Tags")) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, ref.NodeID.NodeID)
	}
	if len(found) != 1000 {
		t.Fatalf("browsed %d tags", len(found))
	}
	values, err := c.ReadValues(ctx, found...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range values {
		if !values[i].Value.Equal(ua.UInt32Variant(2 * found[i].Numeric())) {
			t.Fatalf("%s: %v", found[i], values[i])
		}
	}
	if n := manager.reads.Load(); n != 1 {
		t.Errorf("%d batches for one Read", n)
	}
	if err := c.WriteValue(ctx, found[0], uint32(1)); ua.StatusOf(err) != ua.BadNotWritable {
		t.Errorf("write: %v", err)
	}
}

func TestServeRefusesABrokenAddressSpace(t *testing.T) {
	srv, err := uahive.New(uahive.Config{Endpoint: "opc.tcp://127.0.0.1:0", PKI: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	ns := srv.Namespace("urn:test:model")
	uahive.AddVariable(ns, "V", 1)
	uahive.AddVariable(ns, "V", 2)
	var broken *uahive.ModelError
	if err := srv.Serve(t.Context()); !errors.As(err, &broken) {
		t.Errorf("Serve: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.ServeListener(t.Context(), l); !errors.As(err, &broken) {
		t.Errorf("ServeListener: %v", err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is open")
	}
}

func TestServeReportsAPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	srv, err := uahive.New(uahive.Config{Endpoint: "opc.tcp://" + l.Addr().String(), PKI: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	var config *uahive.ConfigError
	if err := srv.Serve(t.Context()); !errors.As(err, &config) || config.Field != "Endpoint" {
		t.Errorf("Serve: %v", err)
	}
}
