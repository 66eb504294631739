package uahive_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

// A server with one machine, and a client that uses it.
func Example() {
	srv, err := uahive.New(uahive.Config{
		ApplicationURI: "urn:acme:press",
		PKI:            "memory", // a folder in a real program, which keeps the certificate
		Security:       []uahive.Security{uahive.NoSecurity},
	})
	if err != nil {
		log.Fatal(err)
	}
	ns := srv.Namespace("urn:acme:model")
	press := ns.Object("Press1")
	temperature := uahive.AddVariable(press, "Temperature", 21.5,
		uahive.EURange(0, 300), uahive.EngineeringUnits(uahive.Celsius))
	uahive.AddVariable(press, "SetPoint", 10.0, uahive.OnWrite(func(_ context.Context, old, new float64) error {
		if new > 300 {
			return ua.BadOutOfRange
		}
		return nil
	}))
	uahive.AddMethod(press, "Add", func(_ context.Context, in struct{ A, B int32 }) (out struct{ Sum int32 }, err error) {
		out.Sum = in.A + in.B
		return out, nil
	})
	temperature.Set(22.1)

	// A real program calls srv.Serve(ctx), which listens by itself and returns
	// when ctx ends.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- srv.ServeListener(ctx, listener) }()

	c, err := client.Connect(ctx, "opc.tcp://"+listener.Addr().String(), client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	dv, err := c.ReadValue(ctx, ua.StringID(2, "Press1.Temperature"))
	fmt.Println(dv.Value.Any(), err)
	fmt.Println(c.WriteValue(ctx, ua.StringID(2, "Press1.SetPoint"), 500.0))
	sum, err := c.Call(ctx, ua.StringID(2, "Press1"), ua.StringID(2, "Press1.Add"), int32(2), int32(3))
	fmt.Println(sum[0].Any(), err)
	c.Close(ctx)

	cancel()
	fmt.Println(<-served)
	// Output:
	// 22.1 <nil>
	// client: Write ns=2;s=Press1.SetPoint: BadOutOfRange
	// 5 <nil>
	// <nil>
}

var (
	srv *uahive.Server
	ns  *uahive.Namespace
)

// Values of several variables that belong together change together.
func ExampleServer_Update() {
	press := ns.Object("Press2")
	speed := uahive.AddVariable(press, "Speed", 0.0)
	running := uahive.AddVariable(press, "Running", false)

	srv.Update(func(tx *uahive.Tx) {
		speed.SetIn(tx, 40)
		running.SetIn(tx, true)
	})
}

// A device that is asked each time that a client reads, with values that may be
// uncertain or missing.
func ExampleOnRead() {
	uahive.AddVariable(ns.Object("Tank"), "Level", 0.0,
		uahive.MinimumSamplingInterval(time.Second),
		uahive.OnRead(func(ctx context.Context) (float64, error) {
			level, age, err := askDevice(ctx)
			if err != nil {
				return 0, fmt.Errorf("%w: %w", ua.BadCommunicationError, err)
			}
			if age > time.Minute {
				return level, ua.UncertainLastUsableValue
			}
			return level, nil
		}))
}

// Only the operator may write.
func ExampleCallerFrom() {
	uahive.AddVariable(ns.Object("Oven"), "SetPoint", 180.0,
		uahive.OnWrite(func(ctx context.Context, _, _ float64) error {
			if caller, _ := uahive.CallerFrom(ctx); caller.User.Name != "operator" {
				return ua.BadUserAccessDenied
			}
			return nil
		}))
}

// Mode is an enumeration of the program's own.
type Mode int32

func ExampleAddEnumeration() {
	uahive.AddEnumeration[Mode](ns, "Mode", "Manual", "Automatic")
	uahive.AddVariable(ns.Object("Robot"), "Mode", Mode(1), uahive.Writable())
}

// plc answers for nodes that only the controller has.
type plc struct{}

func (plc) Read(ctx context.Context, items []addrspace.ReadItem) {
	for i := range items {
		// All items of one request come together: one telegram can fetch them.
		items[i].Result = ua.DataValue{Value: ua.DoubleVariant(1.5)}
	}
}

func ExampleNamespace_Mount() {
	srv.Namespace("urn:acme:plc").Mount(plc{})
}

func askDevice(context.Context) (level float64, age time.Duration, err error) { return 0, 0, nil }
