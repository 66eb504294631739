package uahive_test

import (
	"context"
	"fmt"
	"log"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
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

// Alarm has values that are not 0, 1, 2, ...
type Alarm int

const (
	Low  Alarm = 10
	High Alarm = 20
)

func ExampleAddEnumerationMap() {
	uahive.AddEnumerationMap(ns, "Alarm", map[Alarm]string{Low: "Low", High: "High"})
	uahive.AddVariable(ns.Object("Boiler"), "Alarm", Low)
}

// Point is a structure of the program's own.
type Point struct {
	X, Y  float64
	Label string `ua:"Name,what the operator calls it"`
}

func ExampleAddStructure() {
	uahive.AddStructure[Point](ns, "Point")
	crane := ns.Object("Crane")
	hook := uahive.AddVariable(crane, "Hook", Point{Label: "parked"}, uahive.Writable())
	uahive.AddMethod(crane, "Drive", func(_ context.Context, in struct{ Path []Point }) (out struct{ At Point }, err error) {
		if len(in.Path) > 0 {
			hook.Set(in.Path[len(in.Path)-1])
		}
		out.At = hook.Get()
		return out, nil
	})
}

// A client in Go reads, changes and writes a structure.
func ExampleDecodeStructure() {
	move := func(ctx context.Context, c *client.Client, hook ua.NodeID) error {
		dv, err := c.ReadValue(ctx, hook)
		if err != nil {
			return err
		}
		point, err := uahive.DecodeStructure[Point](dv.Value)
		if err != nil {
			return err
		}
		point.X += 10
		object, _ := ua.As[ua.ExtensionObject](dv.Value)
		value, err := uahive.EncodeStructure(object.TypeID, point)
		if err != nil {
			return err
		}
		return c.WriteValue(ctx, hook, value)
	}
	_ = move
}

// What is to happen once a client's value is stored.
func ExampleAfterWrite() {
	uahive.AddVariable(ns.Object("Heater"), "SetPoint", 60.0,
		uahive.AfterWrite(func(_ context.Context, value float64) { log.Print("now ", value) }))
}

// Only the shift leader writes, everybody but guests calls.
func ExampleWritableBy() {
	mixer := ns.Object("Mixer")
	uahive.AddVariable(mixer, "Recipe", "A", uahive.WritableBy(func(caller uahive.Caller) bool {
		return caller.User.Name == "leader"
	}))
	uahive.AddMethod(mixer, "Start", func(context.Context, struct{}) (out struct{}, err error) { return out, nil },
		uahive.CallableBy(func(caller uahive.Caller) bool { return caller.User.Kind != uahive.AnonymousUser }))
}

func ExampleFindVariable() {
	uahive.AddVariable(ns.Object("Fan"), "Speed", 0.0)

	speed, err := uahive.FindVariable[float64](ns, "Fan.Speed")
	if err != nil {
		log.Fatal(err)
	}
	speed.Set(1200)
}

// plc answers for nodes that only the controller has: its registers, which
// clients find below a folder.
type plc struct {
	ns     uint16
	folder ua.NodeID

	mu        sync.Mutex
	registers map[string]float64
}

// Read gets all items of one request together: one telegram can fetch them.
func (p *plc) Read(_ context.Context, items []addrspace.ReadItem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range items {
		item := &items[i]
		name := item.NodeID.Text()
		value, ok := p.registers[name]
		if !ok {
			continue // Result is BadNodeIdUnknown already
		}
		item.Result = ua.DataValue{Status: ua.BadAttributeIDInvalid}
		switch item.Attribute {
		case ua.AttributeIDValue:
			item.Result = ua.DataValue{Value: ua.DoubleVariant(value), SourceTimestamp: ua.DateTimeOf(time.Now())}
		case ua.AttributeIDNodeClass:
			item.Result = ua.DataValue{Value: ua.Int32Variant(int32(ua.NodeClassVariable))}
		case ua.AttributeIDBrowseName:
			item.Result = ua.DataValue{Value: ua.VariantOf(ua.QualifiedName{NamespaceIndex: p.ns, Name: name})}
		case ua.AttributeIDDisplayName:
			item.Result = ua.DataValue{Value: ua.VariantOf(ua.LocalizedText{Text: name})}
		case ua.AttributeIDDataType:
			item.Result = ua.DataValue{Value: ua.VariantOf(ua.NumericID(0, id.Double))}
		case ua.AttributeIDValueRank:
			item.Result = ua.DataValue{Value: ua.Int32Variant(-1)}
		case ua.AttributeIDAccessLevel, ua.AttributeIDUserAccessLevel:
			item.Result = ua.DataValue{Value: ua.VariantOf(uint8(ua.AccessLevelTypeCurrentRead | ua.AccessLevelTypeCurrentWrite))}
		}
	}
}

// Write checks everything by itself: the server knows nothing of the nodes.
func (p *plc) Write(_ context.Context, items []addrspace.WriteItem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range items {
		item := &items[i]
		name := item.NodeID.Text()
		value, isDouble := ua.As[float64](item.Value.Value)
		switch _, ok := p.registers[name]; {
		case !ok: // stays BadNodeIdUnknown
		case item.Attribute != ua.AttributeIDValue:
			item.Result = ua.BadNotWritable
		case !isDouble || len(item.Range) > 0:
			item.Result = ua.BadTypeMismatch
		default:
			p.registers[name] = value
			item.Result = ua.Good
		}
	}
}

// Browse is asked about the folder too, which is in the server's memory.
func (p *plc) Browse(_ context.Context, items []addrspace.BrowseItem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	reference := func(target ua.NodeID, name string, class ua.NodeClass, forward bool) ua.ReferenceDescription {
		return ua.ReferenceDescription{
			ReferenceTypeID: ua.NumericID(0, id.Organizes), IsForward: forward, NodeClass: class,
			NodeID:     ua.ExpandedNodeID{NodeID: target},
			BrowseName: ua.QualifiedName{NamespaceIndex: p.ns, Name: name}, DisplayName: ua.LocalizedText{Text: name},
		}
	}
	for i := range items {
		item := &items[i]
		_, isRegister := p.registers[item.NodeID.Text()]
		switch {
		case item.NodeID == p.folder:
			for _, name := range slices.Sorted(maps.Keys(p.registers)) {
				item.References = append(item.References, reference(ua.StringID(p.ns, name), name, ua.NodeClassVariable, true))
			}
		case isRegister:
			item.References = append(item.References, reference(p.folder, "PLC", ua.NodeClassObject, false))
		default:
			continue
		}
		item.Result = ua.Good // or the references are not seen
	}
}

// A manager that reads, writes and browses.
func ExampleNamespace_Mount() {
	ns := srv.Namespace("urn:acme:plc")
	folder := ns.Folder("PLC")
	ns.Mount(&plc{ns: ns.Index(), folder: folder.ID(), registers: map[string]float64{"R1": 1.5, "R2": 0}})
}

func askDevice(context.Context) (level float64, age time.Duration, err error) { return 0, 0, nil }
