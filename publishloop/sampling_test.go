package publishloop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// polledEvery gives a variable a source that answers with what f makes of the
// number of the call.
func polledEvery(f func(n int32) any) func(*addrspace.NodeSpec) {
	var calls atomic.Int32
	return func(s *addrspace.NodeSpec) {
		s.Source = &addrspace.Source{Read: func(context.Context) (ua.DataValue, error) {
			v, err := ua.ValueOf(f(calls.Add(1)))
			return ua.DataValue{Value: v}, err
		}}
	}
}

// TestCaseC4ChangeInsideTheGap: a change that comes before the sampling interval
// is over arrives as the next sample, though nothing comes after it.
func TestCaseC4ChangeInsideTheGap(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(40 * time.Millisecond)
		v := w.variable("v", int32(0))
		c.monitor(sub, v, 1, sampling(100), queue(10, true))
		w.at(39 * time.Millisecond)
		wants(t, "first value", c.next(40*time.Millisecond), int32(0))
		w.at(110 * time.Millisecond)
		set(v, int32(1)) // a sample at once
		w.at(140 * time.Millisecond)
		set(v, int32(2))
		w.at(160 * time.Millisecond)
		set(v, int32(3)) // both inside the gap; the newest counts
		wants(t, "first change", c.next(199*time.Millisecond), int32(1))
		wants(t, "inside the gap", c.next(239*time.Millisecond))
		wants(t, "after the gap", c.next(240*time.Millisecond), int32(3))
		wants(t, "silence", c.next(400*time.Millisecond))
	})
}

// TestSamplingSlowerThanPublishing: the sampling interval bounds the rate also
// for a queue of one entry.
func TestSamplingSlowerThanPublishing(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(50 * time.Millisecond)
		v := w.variable("v", int32(0))
		c.monitor(sub, v, 1, sampling(200))
		var seen []any
		for i := range 20 {
			set(v, int32(i+1))
			seen = append(seen, c.next(time.Duration(i+1)*50*time.Millisecond)...)
		}
		if n := len(seen); n < 5 || n > 6 {
			t.Errorf("%d values in a second: %v", n, seen)
		}
	})
}

// TestCaseC18NodeDeleted: one notification, then silence.
func TestCaseC18NodeDeleted(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", int32(0))
		item := c.monitor(sub, v, 1)
		c.monitor(sub, v, 2, attribute(ua.AttributeIDDisplayName), sampling(50))
		p := w.variable("p", int32(0), polledEvery(func(int32) any { return int32(5) }))
		c.monitor(sub, p, 3, sampling(50))
		w.at(99 * time.Millisecond)
		if got := c.next(100 * time.Millisecond); len(got) != 3 {
			t.Errorf("%v", got)
		}
		for _, x := range []*addrspace.Variable{v, p} {
			if err := w.space.RemoveNode(x.Node().ID()); err != nil {
				t.Fatal(err)
			}
		}
		var got []any
		for i := range 10 {
			got = append(got, c.next(time.Duration(i+2)*100*time.Millisecond)...)
			set(v, int32(i+10))
		}
		wants(t, "deleted", got, ua.BadNodeIDUnknown, ua.BadNodeIDUnknown, ua.BadNodeIDUnknown)
		// Enabling it again says so again.
		var resp ua.SetMonitoringModeResponse
		w.m.SetMonitoringMode(c.q, &ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{item}}, &resp)
		var del ua.DeleteMonitoredItemsResponse
		if w.m.DeleteMonitoredItems(c.q, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{item}}, &del); del.Results[0] != ua.Good {
			t.Error(del.Results)
		}
	})
}

// TestOtherAttributes are reported when they change.
func TestOtherAttributes(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", int32(0))
		c.monitor(sub, v, 1, attribute(ua.AttributeIDDisplayName), sampling(50))
		if got := c.next(100 * time.Millisecond); len(got) != 1 || got[0].(ua.LocalizedText).Text != "v" {
			t.Errorf("%v", got)
		}
		v.Node().SetAttribute(ua.AttributeIDDisplayName, ua.VariantOf(ua.LocalizedText{Text: "new"}))
		if got := c.next(200 * time.Millisecond); len(got) != 1 || got[0].(ua.LocalizedText).Text != "new" {
			t.Errorf("%v", got)
		}
		wants(t, "unchanged", c.next(1100*time.Millisecond))
	})
}

// TestPolledSource: a source that has to be asked is asked in the sampling
// interval; an error is a status, a panic too.
func TestPolledSource(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		var calls atomic.Int32
		v := w.variable("v", int32(0), func(s *addrspace.NodeSpec) {
			s.Source = &addrspace.Source{Read: func(context.Context) (ua.DataValue, error) {
				switch n := calls.Add(1); n {
				case 2:
					return ua.DataValue{}, fmt.Errorf("no contact: %w", ua.BadNoCommunication)
				case 3:
					return ua.DataValue{}, errors.New("secret")
				case 4:
					panic("secret")
				default:
					return ua.DataValue{Value: ua.Int32Variant(min(n, 5))}, nil
				}
			}}
		})
		r := c.create(sub, request(v, 1, sampling(100), queue(20, true)), request(v, 2, sampling(0), mode(ua.MonitoringModeDisabled)))
		if r[0].RevisedSamplingInterval != 100 || r[1].RevisedSamplingInterval != 50 {
			t.Errorf("%+v", r)
		}
		wants(t, "polled", c.next(time.Second), int32(1), ua.BadNoCommunication, ua.BadInternalError, int32(5))
		if n := calls.Load(); n < 9 || n > 11 {
			t.Errorf("%d calls in a second", n)
		}
		w.at(4 * time.Second)
		if n := calls.Load(); n < 38 || n > 41 {
			t.Errorf("%d calls in four seconds", n)
		}
	})
}

// TestSlowSourceIsNotAskedTwice: while a call is under way there is no other, and
// other items do not wait for it.
func TestSlowSourceIsNotAskedTwice(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		var running, most atomic.Int32
		slow := w.variable("slow", int32(0), func(s *addrspace.NodeSpec) {
			s.Source = &addrspace.Source{Read: func(context.Context) (ua.DataValue, error) {
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(700 * time.Millisecond)
				running.Add(-1)
				return ua.DataValue{Value: ua.Int32Variant(1)}, nil
			}}
		})
		quick := w.variable("quick", int32(0), polledEvery(func(n int32) any { return n }))
		c.monitor(sub, slow, 1, sampling(100))
		c.monitor(sub, quick, 2, sampling(100), queue(20, true))
		if got := c.next(time.Second); len(got) < 9 {
			t.Errorf("%v", got)
		}
		if most.Load() != 1 {
			t.Errorf("%d calls at once", most.Load())
		}
		time.Sleep(time.Second)
	})
}

// TestCaseC13ManySamplingIntervals: ten thousand items with as many intervals add
// no goroutine, and leave nothing behind.
func TestCaseC13ManySamplingIntervals(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		const n = 10_000
		var calls atomic.Int64
		v := w.variable("v", int64(0), func(s *addrspace.NodeSpec) {
			s.Source = &addrspace.Source{Inline: true, Read: func(context.Context) (ua.DataValue, error) {
				return ua.DataValue{Value: ua.Int64Variant(calls.Add(1))}, nil
			}}
		})
		var reqs []ua.MonitoredItemCreateRequest
		for i := range uint32(n) {
			reqs = append(reqs, request(v, i, sampling(1000+float64(i)/10)))
		}
		var ids []uint32
		for _, r := range c.create(sub, reqs...) {
			ids = append(ids, r.MonitoredItemID)
		}
		w.at(3 * time.Second)
		if g := w.group.Running(); g["subscription"] != 1 || g["sampling"] != 1 || len(g) != 2 {
			t.Errorf("%v", g)
		}
		if calls.Load() < n {
			t.Errorf("%d calls", calls.Load())
		}
		var resp ua.DeleteMonitoredItemsResponse
		w.m.DeleteMonitoredItems(c.q, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: ids}, &resp)
		w.at(4 * time.Second)
		if g := w.group.Running(); g["sampling"] != 0 || len(w.m.polls.queue) != 0 || w.m.Stats().MonitoredItems != 0 {
			t.Errorf("%v, %d in the queue", g, len(w.m.polls.queue))
		}
		before := calls.Load()
		w.at(10 * time.Second)
		if calls.Load() != before {
			t.Error("deleted items are still asked for")
		}
	})
}

// TestMinimumSamplingInterval: the attribute bounds the rate (Part 3, 5.6.2).
func TestMinimumSamplingInterval(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		low := 250.0
		v := w.variable("v", int32(0), func(s *addrspace.NodeSpec) { s.MinimumSamplingInterval = &low })
		for req, want := range map[float64]float64{0: 250, 100: 250, 300: 300, -1: 1000} {
			if r := c.create(sub, request(v, 1, sampling(req)))[0]; r.RevisedSamplingInterval != want {
				t.Errorf("%v is revised to %v", req, r.RevisedSamplingInterval)
			}
		}
	})
}

// tags is a manager of a namespace.
type tags struct {
	mu      sync.Mutex
	reads   int
	largest int
	watched map[string]addrspace.Watcher
}

func (m *tags) Read(_ context.Context, items []addrspace.ReadItem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	m.largest = max(m.largest, len(items))
	for i := range items {
		if items[i].NodeID.Text() != "unknown" {
			items[i].Result = ua.DataValue{Value: ua.Int32Variant(int32(m.reads))}
		}
	}
}

// drivers is one that delivers changes by itself.
type drivers struct{ tags }

func (m *drivers) Watch(_ context.Context, items []addrspace.WatchItem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range items {
		if items[i].NodeID.Text() == "unknown" {
			continue
		}
		m.watched[items[i].NodeID.Text()] = items[i].Watcher
		items[i].Current, items[i].Result = ua.DataValue{Value: ua.Int32Variant(1)}, ua.Good
	}
}

func (m *drivers) Unwatch(items []addrspace.WatchItem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range items {
		delete(m.watched, items[i].NodeID.Text())
	}
}

// TestManagers: items of a node manager are read in batches, or delivered.
func TestManagers(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		plc, bus := new(tags), &drivers{tags{watched: make(map[string]addrspace.Watcher)}}
		for _, uri := range []string{"urn:test:plc", "urn:test:bus"} {
			if _, err := w.space.AddNamespace(uri); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.space.Mount(3, plc), w.space.Mount(4, bus)); err != nil {
			t.Fatal(err)
		}
		tag := func(ns uint16, name string, handle uint32) ua.MonitoredItemCreateRequest {
			return ua.MonitoredItemCreateRequest{
				ItemToMonitor:       ua.ReadValueID{NodeID: ua.StringID(ns, name), AttributeID: ua.AttributeIDValue},
				MonitoringMode:      ua.MonitoringModeReporting,
				RequestedParameters: ua.MonitoringParameters{ClientHandle: handle, SamplingInterval: 1000, QueueSize: 10, DiscardOldest: true},
			}
		}
		var reqs []ua.MonitoredItemCreateRequest
		for i := range uint32(100) {
			reqs = append(reqs, tag(3, fmt.Sprint("t", i), i))
		}
		r := c.create(sub, append(reqs, tag(3, "unknown", 200), tag(4, "x", 300), tag(4, "unknown", 400))...)
		c.publish()
		w.at(100 * time.Millisecond)
		a := c.one()
		got := make(map[uint32]any)
		for i, ch := range a.changes() {
			got[ch.ClientHandle] = a.values()[i]
		}
		if len(got) != 103 || got[200] != ua.BadNodeIDUnknown || got[300] != int32(1) || got[400] != ua.BadNodeIDUnknown {
			t.Errorf("%v", got)
		}
		w.at(1150 * time.Millisecond)
		bus.mu.Lock()
		bus.watched["x"].ValueChanged(&ua.DataValue{Value: ua.Int32Variant(2)})
		bus.mu.Unlock()
		found := false
		for _, v := range c.next(1200 * time.Millisecond) {
			found = found || v == int32(2)
		}
		if !found {
			t.Error("the delivered change did not arrive")
		}
		var resp ua.DeleteMonitoredItemsResponse
		w.m.DeleteMonitoredItems(c.q, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: []uint32{r[101].MonitoredItemID}}, &resp)
		w.at(1300 * time.Millisecond)
		bus.mu.Lock()
		if len(bus.watched) != 0 {
			t.Errorf("%v", bus.watched)
		}
		bus.mu.Unlock()
		plc.mu.Lock()
		before := plc.reads
		plc.mu.Unlock()
		w.at(11300 * time.Millisecond)
		plc.mu.Lock()
		if n := plc.reads - before; n < 9 || n > 70 {
			t.Errorf("%d reads for 100 items in ten seconds", n)
		}
		plc.mu.Unlock()
	})
}

// TestPanicInAnInlineSource costs that one value, though it is asked on the
// scheduler's own goroutine.
func TestPanicInAnInlineSource(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		var calls atomic.Int32
		v := w.variable("v", int32(0), func(s *addrspace.NodeSpec) {
			s.Source = &addrspace.Source{Inline: true, Read: func(context.Context) (ua.DataValue, error) {
				if calls.Add(1) == 1 {
					panic("first")
				}
				return ua.DataValue{Value: ua.Int32Variant(7)}, nil
			}}
		})
		c.monitor(sub, v, 1, queue(10, true), sampling(100))
		wants(t, "panic", c.next(time.Second), ua.BadInternalError, int32(7))
	})
}

// TestSourceTimestampOfPolledValues: a source without timestamps gives a value
// the time at which it was first seen (Part 4, 7.11.3).
func TestSourceTimestampOfPolledValues(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(time.Second)
		v := w.variable("v", int32(0), polledEvery(func(n int32) any { return n / 100 }))
		c.monitor(sub, v, 1, queue(50, true), sampling(100), filtered(&ua.DataChangeFilter{Trigger: ua.DataChangeTriggerStatusValueTimestamp}))
		wants(t, "one notification", c.next(5*time.Second), int32(0))
	})
}

// TestManagerThatPanics: its items say that nothing was delivered, and others go on.
func TestManagerThatPanics(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		if _, err := w.space.AddNamespace("urn:test:bus"); err != nil {
			t.Fatal(err)
		}
		if err := w.space.Mount(3, panics{}); err != nil {
			t.Fatal(err)
		}
		c.create(sub, ua.MonitoredItemCreateRequest{
			ItemToMonitor: ua.ReadValueID{NodeID: ua.StringID(3, "x"), AttributeID: ua.AttributeIDValue}, MonitoringMode: ua.MonitoringModeReporting,
		})
		c.monitor(sub, w.variable("v", int32(1)), 2)
		got := c.next(100 * time.Millisecond)
		if len(got) != 2 || !slices.Contains(got, any(int32(1))) || !slices.Contains(got, any(ua.BadNodeIDUnknown)) {
			t.Errorf("%v", got)
		}
	})
}

type panics struct{}

func (panics) Watch(context.Context, []addrspace.WatchItem) { panic("watch") }

func (panics) Unwatch([]addrspace.WatchItem) { panic("unwatch") }
