package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// plant is a manager of nodes that are in no address space: numbers, each with a
// value, below one device.
type plant struct {
	mu       sync.Mutex
	ns       uint16
	values   map[uint32]ua.DataValue
	watchers map[uint32][]addrspace.Watcher
	calls    int // of Read
	panics   bool
}

func (p *plant) trip() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.panics {
		panic("a bug of the manager")
	}
}

func (p *plant) Read(_ context.Context, items []addrspace.ReadItem) {
	p.trip()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	for i := range items {
		dv, known := p.values[items[i].NodeID.Numeric()]
		switch {
		case !known:
			items[i].Result = ua.DataValue{Status: ua.BadNodeIDUnknown}
		case items[i].Attribute == ua.AttributeIDValue:
			items[i].Result = dv
		case items[i].Attribute == ua.AttributeIDNodeClass:
			items[i].Result = ua.DataValue{Value: ua.VariantOf(int32(ua.NodeClassVariable))}
		default:
			items[i].Result = ua.DataValue{Status: ua.BadAttributeIDInvalid}
		}
	}
}

func (p *plant) Write(_ context.Context, items []addrspace.WriteItem) {
	p.trip()
	for i := range items {
		n := items[i].NodeID.Numeric()
		p.mu.Lock()
		old, known := p.values[n]
		p.mu.Unlock()
		switch {
		case !known:
			items[i].Result = ua.BadNodeIDUnknown
			continue
		case len(items[i].Range) > 0:
			items[i].Value.Value, items[i].Result = old.Value.WithRange(items[i].Range, items[i].Value.Value)
			if items[i].Result != ua.Good {
				continue
			}
		}
		items[i].Result = ua.Good
		p.set(n, items[i].Value)
	}
}

func (p *plant) set(n uint32, dv ua.DataValue) {
	p.mu.Lock()
	p.values[n] = dv
	watchers := slices.Clone(p.watchers[n])
	p.mu.Unlock()
	for _, w := range watchers {
		w.ValueChanged(&dv)
	}
}

func (p *plant) Browse(_ context.Context, items []addrspace.BrowseItem) {
	p.trip()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range items {
		n := items[i].NodeID.Numeric()
		switch _, known := p.values[n]; {
		case n == 1000: // the device
			items[i].Result = ua.Good
			for k := range uint32(len(p.values)) {
				items[i].References = append(items[i].References, ua.ReferenceDescription{
					ReferenceTypeID: ua.NumericID(0, id.HasComponent), IsForward: true, NodeID: ua.ExpandedNodeID{NodeID: ua.NumericID(p.ns, k)},
					BrowseName: ua.QualifiedName{NamespaceIndex: p.ns, Name: fmt.Sprint(k)}, NodeClass: ua.NodeClassVariable,
				})
			}
		case known:
			items[i].Result = ua.Good
		default:
			items[i].Result = ua.BadNodeIDUnknown
		}
	}
}

func (p *plant) Call(_ context.Context, items []addrspace.CallItem) {
	p.trip()
	for i := range items {
		if items[i].Method.Numeric() != 2000 {
			items[i].Result = ua.BadMethodInvalid
			continue
		}
		items[i].Result, items[i].Outputs = ua.Good, items[i].Inputs
	}
}

func (p *plant) Watch(_ context.Context, items []addrspace.WatchItem) {
	p.trip()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range items {
		n := items[i].NodeID.Numeric()
		dv, known := p.values[n]
		if !known {
			items[i].Result = ua.BadNodeIDUnknown
			continue
		}
		p.watchers[n] = append(p.watchers[n], items[i].Watcher)
		items[i].Current, items[i].Result = dv, ua.Good
	}
}

func (p *plant) Unwatch(items []addrspace.WatchItem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range items {
		n := items[i].NodeID.Numeric()
		p.watchers[n] = slices.DeleteFunc(p.watchers[n], func(w addrspace.Watcher) bool { return w == items[i].Watcher })
	}
}

func (p *plant) watched() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, list := range p.watchers {
		n += len(list)
	}
	return n
}

// mounted is a world with a plant of ten nodes.
func mounted(t *testing.T, f func(t *testing.T, w *world, p *plant)) {
	t.Helper()
	inTime(t, func(t *testing.T, w *world) {
		ns, err := w.Space().AddNamespace("urn:test:plant")
		if err != nil {
			t.Fatal(err)
		}
		p := &plant{ns: ns, values: make(map[uint32]ua.DataValue), watchers: make(map[uint32][]addrspace.Watcher)}
		for n := range uint32(10) {
			p.values[n] = ua.DataValue{Value: ua.SliceVariant([]int32{int32(n), 1, 2})}
		}
		if err := w.Space().Mount(ns, p); err != nil {
			t.Fatal(err)
		}
		f(t, w, p)
	})
}

// Nodes of a manager are served as others are: batches are mixed, ranges and
// encodings are checked, and a panic costs the operations of that manager.
func TestServicesOnAManager(t *testing.T) {
	mounted(t, func(t *testing.T, w *world, p *plant) {
		s := w.session()
		w.variable("v", int32(7))
		node := func(n uint32) ua.NodeID { return ua.NumericID(p.ns, n) }
		read := func() []ua.DataValue {
			return rawpeer.Do[*ua.ReadResponse](s, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{
				valueOf(node(1)), valueOf(w.node("v")), valueOf(node(99)),
				{NodeID: node(2), AttributeID: ua.AttributeIDValue, IndexRange: "1:2"},
				{NodeID: node(2), AttributeID: ua.AttributeIDValue, IndexRange: "5"},
				{NodeID: node(2), AttributeID: ua.AttributeIDValue, IndexRange: "x"},
				{NodeID: node(2), AttributeID: ua.AttributeIDNodeClass},
				{NodeID: node(2), AttributeID: ua.AttributeIDDisplayName},
				{NodeID: node(2), AttributeID: ua.AttributeIDValue, DataEncoding: ua.QualifiedName{Name: "Default XML"}},
			}}).Results
		}
		want := []ua.StatusCode{
			ua.Good, ua.Good, ua.BadNodeIDUnknown, ua.Good, ua.BadIndexRangeNoData, ua.BadIndexRangeInvalid, ua.Good,
			ua.BadAttributeIDInvalid, ua.BadDataEncodingUnsupported,
		}
		results := read()
		for i, dv := range results {
			expect(t, fmt.Sprint("read ", i), dv.Status, want[i])
		}
		if got := fmt.Sprint(results[0].Value.Any(), results[1].Value.Any(), results[3].Value.Any()); got != "[1 1 2] 7 [1 2]" {
			t.Errorf("read %s", got)
		}
		if p.calls != 1 {
			t.Errorf("the manager was asked %d times", p.calls)
		}

		write := func(n uint32, indexes string, value any) ua.WriteValue {
			return ua.WriteValue{NodeID: node(n), AttributeID: ua.AttributeIDValue, IndexRange: indexes, Value: ua.DataValue{Value: variant(t, value)}}
		}
		codes := rawpeer.Do[*ua.WriteResponse](s, &ua.WriteRequest{NodesToWrite: []ua.WriteValue{
			write(1, "", []int32{5}),
			{NodeID: w.node("v"), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.VariantOf(int32(8))}},
			write(99, "", int32(1)), write(2, "0", []int32{50}), write(2, "x", int32(1)),
		}}).Results
		if want := []ua.StatusCode{ua.Good, ua.Good, ua.BadNodeIDUnknown, ua.Good, ua.BadIndexRangeInvalid}; !slices.Equal(codes, want) {
			t.Errorf("write %v", codes)
		}
		results = read()
		if got := fmt.Sprint(results[0].Value.Any(), results[1].Value.Any(), results[3].Value.Any()); got != "[5] 8 [1 2]" {
			t.Errorf("read %s", got)
		}

		var all []ua.ReferenceDescription
		for r := rawpeer.Do[*ua.BrowseResponse](s, browseAll(node(1000), 3)).Results[0]; ; {
			expect(t, "browse", r.StatusCode, ua.Good)
			all = append(all, r.References...)
			if len(r.ContinuationPoint) == 0 {
				break
			}
			r = rawpeer.Do[*ua.BrowseNextResponse](s, &ua.BrowseNextRequest{ContinuationPoints: [][]byte{r.ContinuationPoint}}).Results[0]
		}
		if len(all) != 10 {
			t.Errorf("%d references", len(all))
		}
		expect(t, "browsing an unknown node", rawpeer.Do[*ua.BrowseResponse](s, browseAll(node(99), 0)).Results[0].StatusCode, ua.BadNodeIDUnknown)

		call := rawpeer.Do[*ua.CallResponse](s, callOf(node(1000), node(2000), ua.VariantOf("x"))).Results[0]
		if call.StatusCode != ua.Good || len(call.OutputArguments) != 1 {
			t.Errorf("call %+v", call)
		}
		expect(t, "calling an unknown method", rawpeer.Do[*ua.CallResponse](s, callOf(node(1000), node(1))).Results[0].StatusCode, ua.BadMethodInvalid)

		p.mu.Lock()
		p.panics = true
		p.mu.Unlock()
		results = read()
		expect(t, "read while the manager panics", results[0].Status, ua.BadInternalError)
		expect(t, "another node", results[1].Status, ua.Good)
		codes = rawpeer.Do[*ua.WriteResponse](s, &ua.WriteRequest{NodesToWrite: []ua.WriteValue{write(1, "", int32(1))}}).Results
		expect(t, "write while the manager panics", codes[0], ua.BadInternalError)
		expect(t, "browse while the manager panics", rawpeer.Do[*ua.BrowseResponse](s, browseAll(node(1000), 0)).Results[0].StatusCode, ua.BadInternalError)
		expect(t, "call while the manager panics", rawpeer.Do[*ua.CallResponse](s, callOf(node(1000), node(2000))).Results[0].StatusCode, ua.BadInternalError)
	})
}

// Items on a manager that delivers changes by itself report them in order; a
// node that the manager does not know is reported as such; nothing stays watched.
func TestMonitoringAManager(t *testing.T) {
	mounted(t, func(t *testing.T, w *world, p *plant) {
		s := w.session()
		sub := subscribe(s, 100)
		item := monitor(ua.NumericID(p.ns, 1), 1)
		item.RequestedParameters.QueueSize = 10
		ids := watch(t, s, sub, item, monitor(ua.NumericID(p.ns, 99), 2))
		got := make(map[uint32][]string)
		collect := func(d time.Duration) {
			for start := time.Now(); time.Since(start) < d; {
				for _, n := range changes(t, publish(s)) {
					text := fmt.Sprint(n.Value.Value.Any())
					if n.Value.Status != ua.Good {
						text = n.Value.Status.String()
					}
					got[n.ClientHandle] = append(got[n.ClientHandle], text)
				}
			}
		}
		collect(time.Second)
		for i := range int32(3) {
			p.set(1, ua.DataValue{Value: ua.VariantOf(i)})
		}
		collect(time.Second)
		if !slices.Equal(got[1], []string{"[1 1 2]", "0", "1", "2"}) || !slices.Equal(got[2], []string{"BadNodeIdUnknown"}) {
			t.Errorf("reported %v", got)
		}
		rawpeer.Do[*ua.DeleteMonitoredItemsResponse](s, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: ids[:1]})
		s.Close()
		synctest.Wait()
		if n := p.watched(); n != 0 {
			t.Errorf("%d watchers are left", n)
		}
	})
}
