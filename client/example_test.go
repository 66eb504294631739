package client_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

func Example() {
	ctx := context.Background()
	store, err := pki.Open(pki.Config{Dir: "pki", ApplicationURI: "urn:acme:panel"})
	if err != nil {
		log.Fatal(err)
	}
	c, err := client.Connect(ctx, "opc.tcp://localhost:4840", client.Config{
		PKI:  store, // a server that is not trusted yet lands in pki/rejected
		User: client.UserName("operator", "operator"),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)

	ns, err := c.NamespaceIndex(ctx, "urn:uahive:demo")
	if err != nil {
		log.Fatal(err)
	}
	temperature, err := c.ReadValue(ctx, ua.StringID(ns, "Plant.Press1.Temperature"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(temperature.Value)

	sum, err := c.Call(ctx, ua.StringID(ns, "Plant.Press1"), ua.StringID(ns, "Plant.Press1.Add"), int32(2), int32(3))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum[0])
}

func ExampleClient_Browse() {
	ctx := context.Background()
	c, err := client.Connect(ctx, "opc.tcp://localhost:4840", client.Config{Security: client.NoSecurity})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	for ref, err := range c.Browse(ctx, ua.NumericID(0, 85)) { // the Objects folder
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ref.BrowseName, ref.NodeID)
	}
}

func ExampleClient_Subscribe() {
	ctx := context.Background()
	c, err := client.Connect(ctx, "opc.tcp://localhost:4840", client.Config{
		Security: client.NoSecurity,
		OnEvent:  func(e client.Event) { log.Println(e.Kind, e.Err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	sub, err := c.Subscribe(ctx, client.SubscriptionConfig{Interval: 250 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	counter := client.Value(ua.StringID(2, "Plant.Press1.PartCounter"))
	counter.Sampling, counter.Queue = 50*time.Millisecond, 10
	if _, err := sub.Monitor(ctx, nil, counter); err != nil {
		log.Fatal(err)
	}
	for change := range sub.Changes() {
		fmt.Println(change.Item.Node(), change.Value.Value)
	}
}

// sampler keeps a request in flight for as long as it is answered.
type sampler struct {
	c    *client.Client
	read *client.Prepared
}

func (s *sampler) HandleResponse(_ uint32, body []byte, err error) {
	if err == nil {
		err = s.c.Send(s.read, s)
	}
	if err != nil {
		log.Println(err)
	}
}

func ExampleClient_Send() {
	c, err := client.Connect(context.Background(), "opc.tcp://localhost:4840", client.Config{Security: client.NoSecurity})
	if err != nil {
		log.Fatal(err)
	}
	read, err := client.Prepare(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{
		client.ValueID(ua.NumericID(0, 2258)), // Server.ServerStatus.CurrentTime
	}})
	if err != nil {
		log.Fatal(err)
	}
	for range 100 {
		if err := c.Send(read, &sampler{c, read}); err != nil {
			log.Fatal(err)
		}
	}
}
