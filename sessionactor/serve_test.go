package sessionactor_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
	"github.com/uahive/uahive/publishloop"
	"github.com/uahive/uahive/sessionactor"
)

// tap stands between channels and the service. It lets a test take the place
// of the reader for one request, so that the service can be called with a real
// request of a real session, without the socket.
type tap struct {
	*sessionactor.Service
	next atomic.Pointer[func(b *channelactor.Batch, req channelactor.Request)]
}

func (t *tap) Serve(b *channelactor.Batch, req channelactor.Request) {
	if f := t.next.Swap(nil); f != nil {
		(*f)(b, req)
	}
	t.Service.Serve(b, req)
}

// bench is a service with one client, and 100 Int32 variables from ns=1;i=1001 on.
type bench struct {
	tap    tap
	space  *addrspace.Space
	client *client.Client
}

func newBench(t testing.TB) *bench {
	t.Helper()
	w := &bench{space: addrspace.New(addrspace.Options{})}
	if err := w.space.LoadNS0(); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		_, err := w.space.AddNode(addrspace.NodeSpec{
			ID: ua.NumericID(1, uint32(1001+i)), Class: ua.NodeClassVariable,
			BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: fmt.Sprint("Value", i)},
			Parent:     ua.NumericID(0, 85), Value: ua.VariantOf(int32(i)), AccessLevel: addrspace.ReadWrite,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	store, err := pki.Memory(pki.Config{ApplicationURI: "urn:uahive:bench", AcceptAll: true})
	if err != nil {
		t.Fatal(err)
	}
	endpoints := &sessionactor.Endpoints{
		URL: "opc.tcp://127.0.0.1:4840", Certificate: func(*uasc.Policy) []byte { return nil }, Anonymous: true,
		Profiles: []sessionactor.Profile{{Policy: uasc.PolicyNone, Mode: uasc.ModeNone}},
	}
	pool, lane := actors.NewPool(actors.PoolConfig{}), actors.NewLane(actors.LaneConfig{})
	group := new(actors.Group)
	subs := publishloop.New(publishloop.Config{Space: w.space, Pool: pool, Group: group})
	w.tap.Service = sessionactor.New(sessionactor.Config{
		Space: w.space, Subscriptions: subs, PKI: store, Endpoints: endpoints,
		Pool: pool, Lane: lane, Group: group, MaxRequestMessage: 16 << 20,
	})
	channels := channelactor.NewServer(channelactor.Config{
		Service: &w.tap, PKI: store, Offers: endpoints.Offers, Lane: lane, Group: group,
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- channels.Serve(l) }()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	none, err := client.ParseSecurity("None")
	if err != nil {
		t.Fatal(err)
	}
	w.client, err = client.Connect(ctx, "opc.tcp://"+l.Addr().String(), client.Config{
		Security: none, PKI: store, TrustAll: true, KeepAlive: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.client.Close(context.Background())
		channels.Close(ua.BadShutdown)
		w.tap.Service.Close()
		subs.Close()
		group.Close()
		group.Wait(context.Background())
		pool.Close(context.Background())
		lane.Close(context.Background())
		<-served
	})
	return w
}

// run serves a request again and again on the goroutine of the channel's
// reader. What is answered is dropped, so that only the service is measured.
func (w *bench) run(b *testing.B, request ua.Structure) {
	b.Helper()
	loop := func(batch *channelactor.Batch, req channelactor.Request) {
		req.Body = bytes.Clone(req.Body)
		small := batch.Begin()
		batch.Drop(small)
		w.tap.Service.Serve(batch, req) // the batch learns how large the answer is
		batch.Drop(small)
		empty := batch.Begin()
		batch.Drop(empty)
		b.ReportAllocs()
		for b.Loop() {
			w.tap.Service.Serve(batch, req)
			batch.Drop(empty) // the answer was the batch's first message
		}
	}
	w.tap.next.Store(&loop)
	prepared, err := client.Prepare(request)
	if err != nil {
		b.Fatal(err)
	}
	done := make(answers, 4)
	if err := w.client.Send(prepared, done); err != nil {
		b.Fatal(err)
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

type answers chan error

func (a answers) HandleResponse(_ uint32, _ []byte, err error) { a <- err }

func values(n int, change func(*ua.ReadValueID)) *ua.ReadRequest {
	r := &ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturnBoth}
	for i := range n {
		op := client.ValueID(ua.NumericID(1, uint32(1001+i%100)))
		if change != nil {
			change(&op)
		}
		r.NodesToRead = append(r.NodesToRead, op)
	}
	return r
}

func writes(n int) *ua.WriteRequest {
	r := new(ua.WriteRequest)
	for i := range n {
		r.NodesToWrite = append(r.NodesToWrite, ua.WriteValue{
			NodeID: ua.NumericID(1, uint32(1001+i%100)), AttributeID: ua.AttributeIDValue,
			Value: ua.DataValue{Value: ua.VariantOf(int32(-i))},
		})
	}
	return r
}

func BenchmarkServe(b *testing.B) {
	w := newBench(b)
	for _, c := range []struct {
		name    string
		request ua.Structure
	}{
		{"Read1", values(1, nil)},
		{"Read100", values(100, nil)},
		{"ReadBrowseName100", values(100, func(op *ua.ReadValueID) { op.AttributeID = ua.AttributeIDBrowseName })},
		{"ReadEncoding100", values(100, func(op *ua.ReadValueID) { op.DataEncoding.Name = "Default Binary" })},
		{"Write1", writes(1)},
		{"Write100", writes(100)},
	} {
		b.Run(c.name, func(b *testing.B) { w.run(b, c.request) })
	}
}
