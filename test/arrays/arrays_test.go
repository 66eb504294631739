package arrays

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/pki"
)

// serve runs a server with the given values as ns=1;i=1 and on.
func serve(t testing.TB, values ...ua.Variant) string {
	t.Helper()
	srv, err := uahive.New(uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:0", ApplicationURI: "urn:uahive:arrays", PKI: "memory", TrustAll: true,
		Security: append(uahive.SecurePolicies(), uahive.NoSecurity), ShutdownDelay: -1,
		Limits: uahive.Limits{MaxMessage: 16 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		_, err := srv.Space().AddNode(addrspace.NodeSpec{
			ID: node(i + 1), Class: ua.NodeClassVariable, BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: fmt.Sprint("Array", i)},
			Parent: ua.NumericID(0, id.ObjectsFolder), Value: v, AccessLevel: addrspace.ReadWrite,
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

func node(i int) ua.NodeID { return ua.NumericID(1, uint32(i)) }

func connect(t testing.TB, endpoint, security string, most uint32) *client.Client {
	t.Helper()
	chosen, err := client.ParseSecurity(security)
	if err != nil {
		t.Fatal(err)
	}
	store, err := pki.Memory(pki.Config{ApplicationURI: "urn:uahive:arrays:client", AcceptAll: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := client.Connect(ctx, endpoint, client.Config{
		Security: chosen, PKI: store, TrustAll: true, IgnoreHostname: true, KeepAlive: -1, MaxMessage: most, MaxArrayLength: 4 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

var securities = []string{"None", "Basic256Sha256/Sign", "Basic256Sha256/SignAndEncrypt"}

func read(c *client.Client, ids ...ua.ReadValueID) ([]ua.DataValue, error) {
	var resp ua.ReadResponse
	err := c.Do(context.Background(), &ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturnBoth, NodesToRead: ids}, &resp)
	return resp.Results, err
}

func write(c *client.Client, i int, v ua.Variant, indexRange string) error {
	var resp ua.WriteResponse
	err := c.Do(context.Background(), &ua.WriteRequest{NodesToWrite: []ua.WriteValue{{
		NodeID: node(i), AttributeID: ua.AttributeIDValue, IndexRange: indexRange, Value: ua.DataValue{Value: v},
	}}}, &resp)
	if err == nil && resp.Results[0] != ua.Good {
		err = resp.Results[0]
	}
	return err
}

func samples(t testing.TB, seed int) []ua.Variant {
	ints, bools, floats, texts := make([]int32, 300_000), make([]bool, 200_000), make([]float64, 120_000), make([]string, 20_000)
	for i := range ints {
		ints[i] = int32(i * seed)
	}
	for i := range bools {
		bools[i] = i%(seed+2) == 0
	}
	for i := range floats {
		floats[i] = float64(i) / float64(seed+1)
	}
	for i := range texts {
		texts[i] = fmt.Sprint("text ", seed, " ", i)
	}
	matrix, err := ua.MatrixVariant(floats, 300, 400)
	if err != nil {
		t.Fatal(err)
	}
	return []ua.Variant{ua.SliceVariant(ints), ua.SliceVariant(bools), matrix, ua.SliceVariant(texts), ua.VariantOf(int32(seed))}
}

// Arrays of every kind come out as they are stored and are stored as they are
// written, alone and together, whole and in part.
func TestLargeArraysReadAndWrite(t *testing.T) {
	endpoint := serve(t, samples(t, 1)...)
	for n, security := range securities {
		t.Run(security, func(t *testing.T) {
			c := connect(t, endpoint, security, 0)
			values := samples(t, n+2)
			var all []ua.ReadValueID
			for i, v := range values {
				if err := write(c, i+1, v, ""); err != nil {
					t.Fatal(err)
				}
				all = append(all, client.ValueID(node(i+1)))
			}
			check := func(what string, got []ua.DataValue, err error, want ...ua.Variant) {
				t.Helper()
				if err != nil || len(got) != len(want) {
					t.Fatalf("%s: %d results, %v", what, len(got), err)
				}
				for i, dv := range got {
					if !dv.Value.Equal(want[i]) || dv.Status != ua.Good || dv.SourceTimestamp == 0 || dv.ServerTimestamp == 0 {
						t.Errorf("%s: result %d: %v of %d elements, %v", what, i, dv.Value.Type(), dv.Value.Len(), dv.Status)
					}
				}
			}
			got, err := read(c, all...)
			check("all", got, err, values...)
			for i := range all {
				got, err = read(c, all[i])
				check("alone", got, err, values[i])
			}
			part := all[0]
			part.IndexRange = "1000:200999"
			want, _ := values[0].Slice(ua.NumericRange{{Low: 1000, High: 200_999}})
			got, err = read(c, part, all[4])
			check("part", got, err, want, values[4])
			if err := write(c, 1, want, "0:199999"); err != nil {
				t.Fatal(err)
			}
			whole, _ := values[0].WithRange(ua.NumericRange{{Low: 0, High: 199_999}}, want)
			got, err = read(c, all[0])
			check("after a part was written", got, err, whole)
		})
	}
}

// An array that is replaced while it is sent is sent as it was: no answer is of
// two values, and no value that was written changes when later ones come.
func TestReplacedWhileItIsSent(t *testing.T) {
	filled := func(n int32) ua.Variant {
		s := make([]int32, 500_000)
		for i := range s {
			s[i] = n
		}
		return ua.SliceVariant(s)
	}
	endpoint := serve(t, filled(0))
	for _, security := range securities {
		t.Run(security, func(t *testing.T) {
			var group sync.WaitGroup
			for w := range int32(2) {
				c := connect(t, endpoint, security, 0)
				group.Go(func() {
					for i := range int32(15) {
						if err := write(c, 1, filled(w<<16+i), ""); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for range 2 {
				c := connect(t, endpoint, security, 0)
				group.Go(func() {
					for range 15 {
						got, err := read(c, client.ValueID(node(1)), client.ValueID(node(1)))
						if err != nil {
							t.Error(err)
							return
						}
						for _, dv := range got {
							s, _ := ua.As[[]int32](dv.Value)
							if len(s) != 500_000 {
								t.Errorf("%d elements", len(s))
								return
							}
							for _, n := range s {
								if n != s[0] {
									t.Errorf("%d and %d in one value", s[0], n)
									return
								}
							}
						}
					}
				})
			}
			group.Wait()
		})
	}
}

// What the client does not take is refused, however it would be sent, and the
// session goes on.
func TestArrayBeyondTheClientsLimit(t *testing.T) {
	endpoint := serve(t, samples(t, 1)...)
	for _, security := range securities {
		c := connect(t, endpoint, security, 1_000_000)
		if _, err := read(c, client.ValueID(node(1))); !errors.Is(err, ua.BadResponseTooLarge) {
			t.Errorf("%s: %v", security, err)
		}
		got, err := read(c, client.ValueID(node(2)), client.ValueID(node(5)))
		if err != nil || got[0].Value.Len() != 200_000 {
			t.Errorf("%s: %v", security, err)
		}
	}
}

// BenchmarkArray reads and writes an HD frame, client included.
func BenchmarkArray(b *testing.B) {
	frame := ua.SliceVariant(make([]int32, 921_600))
	endpoint := serve(b, frame)
	for _, security := range []string{"None", "Basic256Sha256/SignAndEncrypt"} {
		c := connect(b, endpoint, security, 0)
		for name, request := range map[string]ua.Structure{
			"Read": &ua.ReadRequest{NodesToRead: []ua.ReadValueID{client.ValueID(node(1))}},
			"Write": &ua.WriteRequest{NodesToWrite: []ua.WriteValue{{
				NodeID: node(1), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: frame},
			}}},
		} {
			b.Run(name+"/"+security, func(b *testing.B) {
				prepared, err := client.Prepare(request)
				if err != nil {
					b.Fatal(err)
				}
				s := make(signal, 1)
				b.ReportAllocs()
				b.SetBytes(4 * 921_600)
				for b.Loop() {
					if err := c.Send(prepared, s); err != nil {
						b.Fatal(err)
					}
					if err := <-s; err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// signal wakes the benchmark for each answer.
type signal chan error

func (s signal) HandleResponse(_ uint32, _ []byte, err error) { s <- err }
