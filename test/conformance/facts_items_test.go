package conformance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// A late subscription is answered as soon as a Publish request arrives, the one
// of the highest priority first, and among equals the one that waits longest
// (Part 4, 5.14.1.1 and 5.14.1.2).
func TestLateSubscriptionsInTheOrderOfPriority(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		var want []uint32
		for _, priority := range []byte{1, 200, 1, 200} {
			sub := rawpeer.Do[*ua.CreateSubscriptionResponse](s, &ua.CreateSubscriptionRequest{
				RequestedPublishingInterval: 100, RequestedLifetimeCount: 1000, RequestedMaxKeepAliveCount: 100, PublishingEnabled: true, Priority: priority,
			}).SubscriptionID
			want = append(want, sub)
			time.Sleep(time.Millisecond)
		}
		want = []uint32{want[1], want[3], want[0], want[2]}
		time.Sleep(time.Second)
		start := time.Now()
		var got []uint32
		for range want {
			got = append(got, publish(s).SubscriptionID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("answered in the order %v, want %v", got, want)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("the answers took %v", took)
		}
	})
}

// After a message with data, a keep-alive is due when the timer has expired
// MaxKeepAliveCount times without anything to send (Part 4, 5.14.1.1).
func TestKeepAliveAfterData(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		v := w.variable("v", int32(0))
		sub := rawpeer.Do[*ua.CreateSubscriptionResponse](s, &ua.CreateSubscriptionRequest{
			RequestedPublishingInterval: 100, RequestedLifetimeCount: 1000, RequestedMaxKeepAliveCount: 5, PublishingEnabled: true,
		}).SubscriptionID
		watch(t, s, sub, monitor(w.node("v"), 1))
		publish(s)
		for i := int32(1); i <= 3; i++ {
			v.Store(ua.DataValue{Value: ua.VariantOf(i)})
			data := publish(s)
			if len(changes(t, data)) != 1 {
				t.Fatalf("no data: %+v", data)
			}
			start := time.Now()
			idle := publish(s)
			if len(idle.NotificationMessage.NotificationData) != 0 || idle.NotificationMessage.SequenceNumber != data.NotificationMessage.SequenceNumber+1 {
				t.Errorf("no keep-alive: %+v", idle.NotificationMessage)
			}
			if took := time.Since(start); took != 500*time.Millisecond {
				t.Errorf("the keep-alive came after %v", took)
			}
		}
	})
}

// ModifySubscription takes effect at once: interval, counts, notifications per
// message (Part 4, 5.14.3).
func TestModifySubscription(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		w.variable("a", int32(0))
		w.variable("b", int32(0))
		sub := subscribe(s, 60_000)
		watch(t, s, sub, monitor(w.node("a"), 1), monitor(w.node("b"), 2))
		waiting := s.Start(&ua.PublishRequest{})
		s.Quiet(time.Second)
		start := time.Now()
		resp := rawpeer.Do[*ua.ModifySubscriptionResponse](s, &ua.ModifySubscriptionRequest{
			SubscriptionID: sub, RequestedPublishingInterval: 200, RequestedLifetimeCount: 30, RequestedMaxKeepAliveCount: 2, MaxNotificationsPerPublish: 1,
		})
		if resp.RevisedPublishingInterval != 200 || resp.RevisedLifetimeCount != 30 || resp.RevisedMaxKeepAliveCount != 2 {
			t.Errorf("revised %+v", resp)
		}
		first := rawpeer.Wait[*ua.PublishResponse](s, waiting)
		if took := time.Since(start); took != 200*time.Millisecond || !first.MoreNotifications || len(changes(t, first)) != 1 {
			t.Errorf("after %v: %+v", took, first)
		}
		publish(s)
		start = time.Now()
		publish(s)
		if took := time.Since(start); took != 400*time.Millisecond {
			t.Errorf("the keep-alive came after %v", took)
		}
	})
}

// ModifyMonitoredItems changes handle, timestamps, filter and queue of an item
// that goes on (Part 4, 5.13.3).
func TestModifyMonitoredItems(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		v := w.variable("v", 0.0)
		w.variable("text", "")
		sub := subscribe(s, 100)
		ids := watch(t, s, sub, monitor(w.node("v"), 1), monitor(w.node("text"), 2))
		publish(s)
		modify := func(timestamps ua.TimestampsToReturn, id uint32, p ua.MonitoringParameters) ua.MonitoredItemModifyResult {
			return rawpeer.Do[*ua.ModifyMonitoredItemsResponse](s, &ua.ModifyMonitoredItemsRequest{
				SubscriptionID: sub, TimestampsToReturn: timestamps,
				ItemsToModify: []ua.MonitoredItemModifyRequest{{MonitoredItemID: id, RequestedParameters: p}},
			}).Results[0]
		}
		store := func(list ...float64) {
			for _, x := range list {
				v.Store(ua.DataValue{Value: ua.VariantOf(x)})
			}
		}
		r := modify(ua.TimestampsToReturnNeither, ids[0], ua.MonitoringParameters{ClientHandle: 77, QueueSize: 3, DiscardOldest: true})
		if r.StatusCode != ua.Good || r.RevisedQueueSize != 3 {
			t.Errorf("%+v", r)
		}
		store(1, 2, 3, 4)
		list := changes(t, publish(s))
		if got := values(list); !slices.Equal(got, []string{"2", "3", "4"}) {
			t.Errorf("reported %v", got)
		}
		for _, n := range list {
			if n.ClientHandle != 77 || n.Value.SourceTimestamp != 0 || n.Value.ServerTimestamp != 0 {
				t.Errorf("reported %+v", n)
			}
		}
		band := ua.ObjectOf(&ua.DataChangeFilter{Trigger: ua.DataChangeTriggerStatusValue, DeadbandType: uint32(ua.DeadbandTypeAbsolute), DeadbandValue: 10})
		modify(ua.TimestampsToReturnBoth, ids[0], ua.MonitoringParameters{ClientHandle: 78, QueueSize: 1, Filter: band})
		store(5, 14, 14.5, 15)
		list = changes(t, publish(s))
		if got := values(list); !slices.Equal(got, []string{"14.5"}) || list[0].Value.SourceTimestamp == 0 {
			t.Errorf("reported %v", list)
		}
		expect(t, "a filter that does not fit", modify(ua.TimestampsToReturnBoth, ids[1], ua.MonitoringParameters{Filter: band}).StatusCode, ua.BadFilterNotAllowed)
		// A smaller queue keeps what fits of what it has.
		modify(ua.TimestampsToReturnBoth, ids[0], ua.MonitoringParameters{ClientHandle: 1, QueueSize: 10, DiscardOldest: true})
		store(1, 2, 3, 4, 5)
		modify(ua.TimestampsToReturnBoth, ids[0], ua.MonitoringParameters{ClientHandle: 1, QueueSize: 2, DiscardOldest: true})
		if got := values(changes(t, publish(s))); !slices.Equal(got, []string{"4", "5"}) {
			t.Errorf("reported %v", got)
		}
	})
}

// Any attribute can be monitored, and is reported when it changes (Part 4,
// 5.13.1.1); it has no source timestamp.
func TestMonitoringOtherAttributes(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		n := w.add("object", addrspace.NodeSpec{Class: ua.NodeClassObject})
		sub := subscribe(s, 100)
		item := monitor(n.ID(), 1)
		item.ItemToMonitor.AttributeID = ua.AttributeIDDisplayName
		item.RequestedParameters.SamplingInterval = 100
		watch(t, s, sub, item)
		first := changes(t, publish(s))
		if len(first) != 1 || first[0].Value.SourceTimestamp != 0 || first[0].Value.ServerTimestamp == 0 {
			t.Fatalf("first %+v", first)
		}
		expect(t, "SetAttribute", n.SetAttribute(ua.AttributeIDDisplayName, ua.VariantOf(ua.LocalizedText{Text: "another"})), ua.Good)
		for start := time.Now(); ; {
			list := changes(t, publish(s))
			if len(list) == 1 {
				if text, _ := ua.As[ua.LocalizedText](list[0].Value.Value); text.Text != "another" {
					t.Errorf("reported %v", list[0].Value)
				}
				break
			}
			if time.Since(start) > 5*time.Second {
				t.Fatal("the change was not reported")
			}
		}
	})
}

// An item with an index range sees changes of its part only; a part that is not
// there any more is a status (Part 4, 5.13.2.4 and 7.27).
func TestMonitoringAnIndexRange(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		v := w.variable("v", []int32{0, 1, 2, 3})
		sub := subscribe(s, 100)
		item := monitor(w.node("v"), 1)
		item.ItemToMonitor.IndexRange = "2:3"
		item.RequestedParameters.QueueSize, item.RequestedParameters.DiscardOldest = 10, true
		watch(t, s, sub, item)
		list := changes(t, publish(s))
		for _, next := range [][]int32{{9, 9, 2, 3}, {9, 9, 2, 4}, {9, 9}, {9, 9, 2, 4}, {9, 9, 5}} {
			v.Store(ua.DataValue{Value: ua.SliceVariant(next)})
		}
		list = append(list, changes(t, publish(s))...)
		var got []string
		for _, n := range list {
			if n.Value.Status != ua.Good {
				got = append(got, n.Value.Status.String())
			} else {
				got = append(got, fmt.Sprint(n.Value.Value.Any()))
			}
		}
		if want := []string{"[2 3]", "[2 4]", "BadIndexRangeNoData", "[2 4]", "[5]"}; !slices.Equal(got, want) {
			t.Errorf("reported %v, want %v", got, want)
		}
	})
}

// Values that are set together are reported in one message, and a Read sees all
// of them or none (Part 4, 5.11.2: the server decides what is coherent).
func TestCoherentChanges(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		var vars []*addrspace.Variable
		var items []ua.MonitoredItemCreateRequest
		var reads []ua.ReadValueID
		for i := range uint32(20) {
			name := fmt.Sprint("v", i)
			vars = append(vars, w.variable(name, int32(0)))
			items = append(items, monitor(w.node(name), i))
			reads = append(reads, valueOf(w.node(name)))
		}
		sub := subscribe(s, 10)
		watch(t, s, sub, items...)
		publish(s)
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := int32(1); ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				err := w.Space().Update(func(tx *addrspace.Tx) error {
					for _, v := range vars {
						tx.Set(v, ua.VariantOf(n))
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		}()
		for range 200 {
			results := rawpeer.Do[*ua.ReadResponse](s, &ua.ReadRequest{NodesToRead: reads}).Results
			for i := range results {
				if !results[i].Value.Equal(results[0].Value) {
					t.Fatalf("a Read saw %v and %v", results[0].Value, results[i].Value)
				}
			}
			list := changes(t, publish(s))
			if len(list) != len(vars) {
				t.Fatalf("%d changes", len(list))
			}
			for i := range list {
				if !list[i].Value.Value.Equal(list[0].Value.Value) || list[i].Value.SourceTimestamp != list[0].Value.SourceTimestamp {
					t.Fatalf("a message with %v and %v", list[0].Value, list[i].Value)
				}
			}
		}
		close(stop)
		<-done
	})
}

// Each response repeats the request's handle and says when it was made (Part 4,
// 7.34).
func TestResponseHeaders(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		subscribe(s, 1000)
		time.Sleep(1234 * time.Millisecond)
		for i, request := range append(sessionServices(), &ua.FindServersRequest{}, &ua.GetEndpointsRequest{}, &ua.HistoryReadRequest{}) {
			request.Header().RequestHandle = uint32(1000 + i)
			request.Header().Timestamp = 1
			h := s.Do(request).(ua.Response).Header()
			if h.RequestHandle != uint32(1000+i) {
				t.Errorf("%T: handle %d", request, h.RequestHandle)
			}
			if now := ua.DateTimeOf(time.Now()); h.Timestamp != now {
				t.Errorf("%T: time %v at %v", request, h.Timestamp, now)
			}
		}
	})
}

// A client reads the names of what it sees; the standard's ids are those of the
// nodes.
func TestWellKnownNames(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		for node, name := range map[uint32]string{
			id.RootFolder: "Root", id.ObjectsFolder: "Objects", id.TypesFolder: "Types", id.ViewsFolder: "Views", id.Server: "Server",
			id.BaseDataType: "BaseDataType", id.HasComponent: "HasComponent", id.BaseObjectType: "BaseObjectType",
		} {
			dv := rawpeer.Do[*ua.ReadResponse](s, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{{NodeID: ua.NumericID(0, node), AttributeID: ua.AttributeIDBrowseName}}}).Results[0]
			if got, _ := ua.As[ua.QualifiedName](dv.Value); got != (ua.QualifiedName{Name: name}) {
				t.Errorf("i=%d is called %v", node, got)
			}
		}
	})
}

// The server's time and status change by themselves, and are reported at the
// sampling interval: most clients watch one of them to see that the server lives.
func TestMonitoringTheServersTime(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		sub := subscribe(s, 500)
		var items []ua.MonitoredItemCreateRequest
		for _, node := range []uint32{id.Server_ServerStatus_CurrentTime, id.Server_ServerStatus, id.Server_ServerStatus_State} {
			item := monitor(ua.NumericID(0, node), node)
			item.RequestedParameters.SamplingInterval = 1000
			items = append(items, item)
		}
		watch(t, s, sub, items...)
		count := make(map[uint32]int)
		last := ua.DateTime(0)
		for start := time.Now(); time.Since(start) < 10*time.Second; {
			for _, n := range changes(t, publish(s)) {
				count[n.ClientHandle]++
				if at, ok := ua.As[ua.DateTime](n.Value.Value); ok {
					if at <= last || time.Since(at.Time()) > 1500*time.Millisecond {
						t.Errorf("the time is %v after %v, at %v", at, last, time.Now())
					}
					last = at
				}
			}
		}
		if n := count[id.Server_ServerStatus_CurrentTime]; n < 9 || n > 11 {
			t.Errorf("%d times in 10 s", n)
		}
		if n := count[id.Server_ServerStatus]; n < 9 || n > 11 {
			t.Errorf("%d statuses in 10 s", n)
		}
		if n := count[id.Server_ServerStatus_State]; n != 1 {
			t.Errorf("%d states in 10 s", n)
		}
	})
}
