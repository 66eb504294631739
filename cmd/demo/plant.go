package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
)

// State is what a machine does. It is an enumeration to clients.
type State int32

// The states of a machine.
const (
	Stopped State = iota
	Starting
	Running
	Stopping
)

// step is how often the plant moves: the period of its counters.
const step = 100 * time.Millisecond

// machineKind says what a machine is like when it runs.
type machineKind struct {
	name, description    string
	temperature          float64 // °C
	pressure             float64 // bar
	speed                float64 // of the unit below
	speedLimit           float64
	speedUnit            ua.EUInformation
	setPoint, setPointHi float64
}

var machineKinds = []machineKind{
	{"Press1", "hydraulic press", 62, 180, 12, 30, uahive.RevolutionsPerMin, 180, 300},
	{"Press2", "hydraulic press", 58, 210, 14, 30, uahive.RevolutionsPerMin, 210, 300},
	{"Oven1", "tunnel oven", 220, 1.1, 0.4, 2, uahive.MetrePerSecond, 220, 400},
	{"Conveyor1", "belt conveyor", 35, 6, 1.2, 3, uahive.MetrePerSecond, 1.2, 3},
	{"Robot1", "six-axis robot", 41, 6.5, 1.8, 4, uahive.MetrePerSecond, 1.8, 4},
}

// plant is a simulation of a few machines.
type plant struct {
	srv      *uahive.Server
	changed  *uahive.EventType[stateChange]
	machines []*machine
	// values are what the demo's own sessions subscribe to.
	values []ua.NodeID
}

// stateChange is what an event says that a command to a machine causes.
type stateChange struct {
	From State
	To   State
}

// newPlant adds the machines to the address space.
func newPlant(srv *uahive.Server, ns *uahive.Namespace) *plant {
	uahive.AddEnumeration[State](ns, "MachineState", "Stopped", "Starting", "Running", "Stopping")
	p := &plant{srv: srv, changed: uahive.AddEventType[stateChange](ns, "MachineStateEventType")}
	folder := ns.Folder("Plant", uahive.Description("A simulated plant"), uahive.EventNotifier())
	for _, kind := range machineKinds {
		m := newMachine(folder, kind, p.changed)
		folder.AddEventSource(m.object)
		p.machines = append(p.machines, m)
		p.values = append(p.values, m.temperature.ID(), m.pressure.ID(), m.speed.ID(), m.parts.ID())
	}
	return p
}

// run moves the plant until the context ends.
func (p *plant) run(ctx context.Context) {
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, m := range p.machines {
				m.move(p.srv)
			}
		}
	}
}

// machine is one machine: what clients see of it, and what it is about to do.
type machine struct {
	kind    machineKind
	object  *uahive.Object
	changed *uahive.EventType[stateChange]

	temperature *uahive.Variable[float64]
	pressure    *uahive.Variable[float64]
	speed       *uahive.Variable[float64]
	setPoint    *uahive.Variable[float64]
	parts       *uahive.Variable[uint32]
	state       *uahive.Variable[State]
	running     *uahive.Variable[bool]
	lastParts   *uahive.Variable[[]float64]
	toolMap     *uahive.Variable[uahive.Matrix[float64]]

	mu sync.Mutex
	// Guarded by mu.
	is      State
	steps   int // since the state began
	made    uint32
	weights []float64
	reset   bool
}

// newMachine adds a machine below a folder. It runs from the start.
func newMachine(folder *uahive.Object, kind machineKind, changed *uahive.EventType[stateChange]) *machine {
	o := folder.Object(kind.name, uahive.Description(kind.description))
	m := &machine{kind: kind, object: o, changed: changed, is: Running, weights: make([]float64, 10)}
	m.temperature = uahive.AddVariable(o, "Temperature", kind.temperature,
		uahive.EURange(0, 2*kind.temperature), uahive.EngineeringUnits(uahive.Celsius))
	m.pressure = uahive.AddVariable(o, "Pressure", kind.pressure,
		uahive.EURange(0, 2*kind.pressure), uahive.EngineeringUnits(uahive.Bar))
	m.speed = uahive.AddVariable(o, "Speed", kind.speed,
		uahive.EURange(0, kind.speedLimit), uahive.EngineeringUnits(kind.speedUnit))
	m.parts = uahive.AddVariable(o, "PartCounter", uint32(0),
		uahive.Description("counts parts, one each 100 ms"))
	m.state = uahive.AddVariable(o, "State", Running)
	m.running = uahive.AddVariable(o, "Running", true, uahive.StateNames("stands", "runs"))
	m.lastParts = uahive.AddVariable(o, "LastPartWeights", m.weights,
		uahive.EngineeringUnits(uahive.Kilogram), uahive.EURange(0, 5), uahive.Description("of the last ten parts"))
	m.toolMap = uahive.AddVariable(o, "ToolWear", uahive.NewMatrix[float64](4, 6),
		uahive.EngineeringUnits(uahive.Percent), uahive.EURange(0, 100), uahive.Description("by row and column of the tool"))
	m.setPoint = uahive.AddVariable(o, "SetPoint", kind.setPoint,
		uahive.EURange(0, kind.setPointHi), uahive.OnWrite(m.checkSetPoint), uahive.Description("can be written"))
	uahive.AddMethod(o, "Start", m.start)
	uahive.AddMethod(o, "Stop", m.stop)
	uahive.AddMethod(o, "Reset", m.resetCounter, uahive.Description("sets the part counter to 0"))
	uahive.AddMethod(o, "Add", add, uahive.Description("adds two numbers"))
	return m
}

// checkSetPoint refuses set points that the machine cannot reach.
func (m *machine) checkSetPoint(_ context.Context, _, setPoint float64) error {
	if !(setPoint >= 0 && setPoint <= m.kind.setPointHi) {
		return fmt.Errorf("set point %g of %s: %w", setPoint, m.kind.name, ua.BadOutOfRange)
	}
	return nil
}

// start answers what the machine does from now on.
func (m *machine) start(context.Context, struct{}) (struct{ State State }, error) {
	return m.command(Stopped, Starting)
}

func (m *machine) stop(context.Context, struct{}) (struct{ State State }, error) {
	return m.command(Running, Stopping)
}

// command leads from one state to another. In the wrong state it is an error, as
// Part 10 has it for programs.
func (m *machine) command(from, to State) (out struct{ State State }, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.is != from {
		return out, ua.BadInvalidState
	}
	m.is, m.steps = to, 0
	out.State = to
	m.changed.Report(m.object, fmt.Sprintf("%s was commanded from state %d to %d", m.kind.name, from, to),
		stateChange{from, to}, uahive.Severity(400))
	return out, nil
}

func (m *machine) resetCounter(context.Context, struct{}) (struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reset = true
	return struct{}{}, nil
}

func add(_ context.Context, in struct {
	A int32 `ua:",the first number"`
	B int32 `ua:",the second number"`
},
) (out struct{ Sum int32 }, err error) {
	sum := int64(in.A) + int64(in.B)
	if int64(int32(sum)) != sum {
		return out, ua.BadOutOfRange
	}
	out.Sum = int32(sum)
	return out, nil
}

// move does one step and shows it as one coherent change.
func (m *machine) move(srv *uahive.Server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps++
	switch {
	case m.is == Starting && m.steps > 10:
		m.is, m.steps = Running, 0
	case m.is == Stopping && m.steps > 10:
		m.is, m.steps = Stopped, 0
	}
	load := 1.0
	switch m.is {
	case Stopped:
		load = 0
	case Starting:
		load = float64(m.steps) / 10
	case Stopping:
		load = 1 - float64(m.steps)/10
	}
	if m.is == Running {
		m.made++
		m.weights = append(m.weights[1:], 2.5+0.1*rand.NormFloat64())
	}
	if m.reset {
		m.made, m.reset = 0, false
	}
	setPoint := m.setPoint.Get()
	srv.Update(func(tx *uahive.Tx) {
		m.temperature.SetIn(tx, approach(m.temperature.Get(), 21+(m.kind.temperature-21)*load, 0.4))
		m.pressure.SetIn(tx, approach(m.pressure.Get(), m.kind.pressure*load*setPoint/m.kind.setPoint, 0.3))
		m.speed.SetIn(tx, min(m.kind.speedLimit, m.kind.speed*load*(1+0.01*rand.NormFloat64())))
		m.parts.SetIn(tx, m.made)
		m.state.SetIn(tx, m.is)
		m.running.SetIn(tx, m.is == Running)
		if m.is == Running && m.made%10 == 0 {
			m.lastParts.SetIn(tx, m.weights)
			m.toolMap.SetIn(tx, m.wear())
		}
	})
}

// wear is higher in the middle of the tool and grows with the parts made.
func (m *machine) wear() uahive.Matrix[float64] {
	wear := uahive.NewMatrix[float64](4, 6)
	for row := range 4 {
		for column := range 6 {
			centre := math.Hypot(float64(row)-1.5, float64(column)-2.5)
			wear.Set(100*(1-math.Exp(-float64(m.made)/2e5))/(1+centre), row, column)
		}
	}
	return wear
}

// approach goes a part of the way from one value to another, with some noise.
func approach(from, to, noise float64) float64 {
	return max(0, from+(to-from)*0.05+noise*(rand.Float64()-0.5))
}
