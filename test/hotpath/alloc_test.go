// Package hotpath proves over a real server and a real connection that the
// services which only touch memory allocate nothing.
package hotpath

import (
	"context"
	"fmt"
	"net"
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

// serve runs a server with 100 writable Int32 variables, ns=1;i=1 and on.
func serve(t testing.TB) string {
	t.Helper()
	srv, err := uahive.New(uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:0", ApplicationURI: "urn:uahive:hotpath", PKI: "memory", TrustAll: true,
		Security: append(uahive.SecurePolicies(), uahive.NoSecurity), ShutdownDelay: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		_, err := srv.Space().AddNode(addrspace.NodeSpec{
			ID: ua.NumericID(1, uint32(i+1)), Class: ua.NodeClassVariable,
			BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: fmt.Sprint("Value", i)},
			Parent:     ua.NumericID(0, id.ObjectsFolder), Value: ua.VariantOf(int32(i)), AccessLevel: addrspace.ReadWrite,
		})
		if err != nil {
			t.Fatal(err)
		}
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

// signal wakes the test for each answer and keeps the newest error.
type signal struct {
	err  error
	done chan struct{}
}

func (s *signal) HandleResponse(_ uint32, _ []byte, err error) {
	s.err = err
	s.done <- struct{}{}
}

// The client sends prepared requests and allocates nothing either, so every
// allocation that is counted is the server's.
func TestServicesInMemoryAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop things at random: allocations cannot be counted")
	}
	endpoint := serve(t)
	for _, security := range []string{"None", "Basic256Sha256/Sign", "Basic256Sha256/SignAndEncrypt"} {
		c := connect(t, endpoint, security)
		for name, request := range requests() {
			t.Run(security+"/"+name, func(t *testing.T) {
				prepared, err := client.Prepare(request)
				if err != nil {
					t.Fatal(err)
				}
				s := &signal{done: make(chan struct{}, 1)}
				once := func() {
					if err := c.Send(prepared, s); err != nil {
						t.Fatal(err)
					}
					if <-s.done; s.err != nil {
						t.Fatal(s.err)
					}
				}
				// The average over many rounds hides nothing: a single allocation
				// in each request would show as 1.
				if n := testing.AllocsPerRun(2000, once); n > 0 {
					t.Errorf("%v allocations for each request", n)
				}
			})
		}
	}
}

func requests() map[string]ua.Structure {
	read := func(n int) *ua.ReadRequest {
		r := &ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturnBoth}
		for i := range n {
			r.NodesToRead = append(r.NodesToRead, client.ValueID(ua.NumericID(1, uint32(i+1))))
		}
		return r
	}
	return map[string]ua.Structure{
		"Read of one node":  read(1),
		"Read of 100 nodes": read(nodes),
		"Write of a scalar": &ua.WriteRequest{NodesToWrite: []ua.WriteValue{{
			NodeID: ua.NumericID(1, 1), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.VariantOf(int32(7))},
		}}},
		"Browse of 100 references": &ua.BrowseRequest{NodesToBrowse: []ua.BrowseDescription{{
			NodeID: ua.NumericID(0, id.ObjectsFolder), ReferenceTypeID: ua.NumericID(0, id.HierarchicalReferences),
			IncludeSubtypes: true, ResultMask: uint32(ua.BrowseResultMaskAll),
		}}},
	}
}

// BenchmarkRead is one Read after the other, client included.
func BenchmarkRead(b *testing.B) {
	endpoint := serve(b)
	for _, security := range []string{"None", "Basic256Sha256/SignAndEncrypt"} {
		b.Run(security, func(b *testing.B) {
			c := connect(b, endpoint, security)
			prepared, err := client.Prepare(requests()["Read of one node"])
			if err != nil {
				b.Fatal(err)
			}
			s := &signal{done: make(chan struct{}, 1)}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Send(prepared, s); err != nil {
					b.Fatal(err)
				}
				<-s.done
			}
		})
	}
}
