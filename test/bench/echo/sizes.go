package main

import (
	"context"
	"encoding/json"
	"flag"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/pki"
)

// What is asked for: nodes of the benchmark's address space, the folder of 100 references among them, and the elements
// of an HD image.
const hundred, firstScalar, firstArray, hd = 1000, 1001, 2001, 921_600

// counted is a connection that counts what passes.
type counted struct {
	net.Conn
	in, out *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.in.Add(int64(n))
	return n, err
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.out.Add(int64(n))
	return n, err
}

// sizes asks a server that has the address space of "uaload serve" how long the messages of each workload are on the
// wire, security included, and prints name: [request, answer]. A workload whose answer is an error is left out.
func sizes(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("echo sizes", flag.ContinueOnError)
	endpoint := flags.String("endpoint", "opc.tcp://127.0.0.1:4841", "server to ask")
	security := flags.String("security", "None", "None, or policy and mode as in Basic256Sha256/SignAndEncrypt")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := client.ParseSecurity(*security)
	if err != nil {
		return err
	}
	store, err := pki.Memory(pki.Config{ApplicationURI: "urn:uahive:echo:client", AcceptAll: true})
	if err != nil {
		return err
	}
	var in, out atomic.Int64
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c, err := client.Connect(ctx, *endpoint, client.Config{
		Security: chosen, PKI: store, TrustAll: true, IgnoreHostname: true, KeepAlive: -1, MaxArrayLength: 16 << 20,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return counted{conn, &in, &out}, err
		},
	})
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	found := map[string][2]int64{}
	for name, ask := range exchanges(c) {
		before := [2]int64{out.Load(), in.Load()}
		if ask(ctx) == nil {
			found[name] = [2]int64{out.Load() - before[0], in.Load() - before[1]}
		}
	}
	if found["publish 100"], err = published(ctx, c, 100, &in, &out); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

// exchanges are the requests of the workloads, as uaload sends them.
func exchanges(c *client.Client) map[string]func(context.Context) error {
	read := func(node uint32, n int) func(context.Context) error {
		return func(ctx context.Context) error {
			req := ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturnBoth}
			for i := range n {
				req.NodesToRead = append(req.NodesToRead, client.ValueID(ua.NumericID(1, node+uint32(i))))
			}
			var resp ua.ReadResponse
			err := c.Do(ctx, &req, &resp)
			if err == nil && resp.Results[0].Status.IsBad() {
				err = resp.Results[0].Status
			}
			return err
		}
	}
	write := func(node uint32, value ua.Variant) func(context.Context) error {
		return func(ctx context.Context) error {
			var resp ua.WriteResponse
			err := c.Do(ctx, &ua.WriteRequest{NodesToWrite: []ua.WriteValue{{
				NodeID: ua.NumericID(1, node), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: value},
			}}}, &resp)
			if err == nil && resp.Results[0].IsBad() {
				err = resp.Results[0]
			}
			return err
		}
	}
	browse := func(ctx context.Context) error {
		var resp ua.BrowseResponse
		err := c.Do(ctx, &ua.BrowseRequest{NodesToBrowse: []ua.BrowseDescription{{
			NodeID: ua.NumericID(1, hundred), ReferenceTypeID: ua.NumericID(0, id.HierarchicalReferences),
			IncludeSubtypes: true, ResultMask: uint32(ua.BrowseResultMaskAll),
		}}}, &resp)
		if err == nil && resp.Results[0].StatusCode.IsBad() {
			err = resp.Results[0].StatusCode
		}
		return err
	}
	return map[string]func(context.Context) error{
		"read 1": read(firstScalar, 1), "read 100": read(firstScalar, 100), "write 1": write(firstScalar, ua.VariantOf(int32(1))),
		"browse": browse, "array read": read(firstArray, 1), "array write": write(firstArray, ua.SliceVariant(make([]int32, hd))),
	}
}

// published measures the exchange of a Publish request for a notification of n items that have changed: the first
// values of a subscription, which arrive together.
func published(ctx context.Context, c *client.Client, n int, in, out *atomic.Int64) (size [2]int64, err error) {
	changes := make(chan struct{}, n)
	sub, err := c.Subscribe(ctx, client.SubscriptionConfig{
		Interval: time.Second, Inline: true, OnChange: func(client.Change) { changes <- struct{}{} },
	})
	if err != nil {
		return size, err
	}
	defer sub.Close(ctx)
	items := make([]client.MonitorItem, n)
	for i := range items {
		items[i] = client.Value(ua.NumericID(1, firstScalar+uint32(i)))
	}
	if _, err := sub.Monitor(ctx, nil, items...); err != nil {
		return size, err
	}
	size = [2]int64{out.Load(), in.Load()}
	for range n {
		select {
		case <-changes:
		case <-ctx.Done():
			return size, ctx.Err()
		}
	}
	// The answer has been read; the next request follows it.
	for deadline := time.Now().Add(time.Second); out.Load() == size[0] && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	return [2]int64{out.Load() - size[0], in.Load() - size[1]}, nil
}
