package publishloop

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

// eventFields are the select clauses of these tests.
func eventFields(names ...string) []ua.SimpleAttributeOperand {
	var list []ua.SimpleAttributeOperand
	for _, name := range names {
		list = append(list, ua.SimpleAttributeOperand{
			TypeDefinitionID: ua.NumericID(0, id.BaseEventType), AttributeID: ua.AttributeIDValue,
			BrowsePath: []ua.QualifiedName{{Name: name}},
		})
	}
	return list
}

// listen makes a request to monitor the events of a node.
func listen(node ua.NodeID, handle uint32, options ...func(*ua.MonitoredItemCreateRequest)) ua.MonitoredItemCreateRequest {
	r := ua.MonitoredItemCreateRequest{
		ItemToMonitor:  ua.ReadValueID{NodeID: node, AttributeID: ua.AttributeIDEventNotifier},
		MonitoringMode: ua.MonitoringModeReporting,
		RequestedParameters: ua.MonitoringParameters{
			ClientHandle: handle, DiscardOldest: true, Filter: ua.ObjectOf(&ua.EventFilter{SelectClauses: eventFields("SourceName")}),
		},
	}
	for _, o := range options {
		o(&r)
	}
	return r
}

// hear creates an item for events that must succeed.
func (c *client) hear(sub uint32, node ua.NodeID, handle uint32, options ...func(*ua.MonitoredItemCreateRequest)) ua.MonitoredItemCreateResult {
	c.w.Helper()
	r := c.create(sub, listen(node, handle, options...))[0]
	if r.StatusCode != ua.Good {
		c.w.Fatal(r.StatusCode)
	}
	return r
}

// report reports an event with a name.
func (w *world) report(name string, options ...func(*events.Event)) {
	e := &events.Event{SourceNode: serverObject, SourceName: name, Severity: 100}
	for _, o := range options {
		o(e)
	}
	w.m.Report(e)
	synctest.Wait()
}

// heard returns what the answers say of events, as "handle:name".
func (c *client) heard() (list []string) {
	for _, a := range c.ch.take() {
		list = append(list, a.events()...)
	}
	return list
}

func (a *answer) events() (list []string) {
	for _, o := range a.resp.NotificationMessage.NotificationData {
		if n, ok := o.Value.(*ua.EventNotificationList); ok {
			for _, e := range n.Events {
				s := fmt.Sprint(e.ClientHandle)
				for _, f := range e.EventFields {
					s += fmt.Sprintf(":%v", f.Any())
				}
				list = append(list, s)
			}
		}
	}
	return list
}

func (c *client) hears(what string, want ...string) {
	c.w.Helper()
	if got := c.heard(); !reflect.DeepEqual(got, want) {
		c.w.Errorf("%s: heard %q, want %q", what, got, want)
	}
}

const overflowName = "Internal/EventQueueOverflow"

// TestEvents: an event reaches the items of the Server object, in the order of the
// reports, through the filters, with the fields that each wants.
func TestEvents(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		w.report("nobody listens")
		sub := c.subscribe(100 * time.Millisecond)
		if w.m.Heard() {
			t.Error("somebody is said to listen")
		}
		r := c.hear(sub, serverObject, 1)
		if r.RevisedQueueSize != 1000 || r.RevisedSamplingInterval != 0 || !r.FilterResult.IsNull() {
			t.Errorf("%+v", r)
		}
		c.hear(sub, serverObject, 2, filtered(&ua.EventFilter{
			SelectClauses: eventFields("Severity", "SourceName", "NoSuch"),
			WhereClause: ua.ContentFilter{Elements: []ua.ContentFilterElement{{
				FilterOperator: ua.FilterOperatorGreaterThan,
				FilterOperands: []ua.ExtensionObject{ua.ObjectOf(&eventFields("Severity")[0]), ua.ObjectOf(&ua.LiteralOperand{Value: ua.UInt32Variant(500)})},
			}}},
		}))
		for range 3 {
			c.publish()
		}
		w.report("a")
		w.report("b", func(e *events.Event) { e.Severity = 501 })
		w.report("c")
		w.at(150 * time.Millisecond)
		c.hears("first", "1:a", "1:b", "1:c", "2:501:b:<nil>")
		if s := w.m.Stats(); s.EventsReported != 3 || s.NotificationsSent != 4 || s.QueueBytes == 0 {
			t.Errorf("%+v", s) // the filters stay
		}
		w.at(time.Second)
		if a := c.ch.take(); len(a) > 0 && len(a[0].events()) > 0 {
			t.Errorf("events come twice: %v", a)
		}
	})
}

// TestEventsAndDataChanges: both kinds stand in one message, each once, and count
// towards MaxNotificationsPerPublish together; Republish gives the same bytes again.
func TestEventsAndDataChanges(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100*time.Millisecond, counting(30, 10, 3))
		v := w.variable("v", int32(1))
		c.hear(sub, serverObject, 1)
		c.monitor(sub, v, 2)
		w.report("a")
		w.report("b")
		w.report("c")
		for range 4 {
			c.publish()
		}
		w.at(110 * time.Millisecond)
		answers := c.ch.take()
		var got []string
		data := 0
		for _, a := range answers {
			if n := len(a.events()) + len(a.changes()); n > 3 {
				t.Errorf("%d notifications in a message", n)
			}
			got = append(got, a.events()...)
			data += len(a.changes())
		}
		if len(answers) != 2 || !answers[0].resp.MoreNotifications || !reflect.DeepEqual(got, []string{"1:a", "1:b", "1:c"}) || data != 1 {
			t.Errorf("%d answers, events %q, %d data changes", len(answers), got, data)
		}
		seq := answers[0].resp.NotificationMessage.SequenceNumber
		body, code := w.m.AppendRepublish(nil, c.q, sub, seq)
		if want := answers[0].resp.NotificationMessage.AppendTo(nil); code != ua.Good || string(body) != string(want) {
			t.Errorf("republished: %v, %d bytes of %d", code, len(body), len(want))
		}
		s, _ := w.m.subs.Load(sub)
		if d := s.Diagnostics(); d.EventNotificationsCount != 3 || d.DataChangeNotificationsCount != 1 || d.NotificationsCount != 4 {
			t.Errorf("%+v", d)
		}
		set(v, int32(2))
		w.report("d")
		w.at(250 * time.Millisecond)
		a := c.ch.take()
		if len(a) != 1 || len(a[0].resp.NotificationMessage.NotificationData) != 2 || len(a[0].changes()) != 1 || len(a[0].events()) != 1 {
			t.Errorf("both kinds: %+v", a)
		}
	})
}

// TestEventQueue: the sizes 0 and 1, and what a full queue does (Part 4, 5.13.1.5 and 7.21).
func TestEventQueue(t *testing.T) {
	run(t, Limits{EventQueueSize: 12, QueueSize: 50}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		if r := c.hear(sub, serverObject, 1); r.RevisedQueueSize != 12 {
			t.Errorf("the default is %d", r.RevisedQueueSize)
		}
		if r := c.hear(sub, serverObject, 2, queue(1, false)); r.RevisedQueueSize != minEventQueue {
			t.Errorf("the least is %d", r.RevisedQueueSize)
		}
		if r := c.hear(sub, serverObject, 3, queue(1<<32-1, true)); r.RevisedQueueSize != 50 {
			t.Errorf("the most is %d", r.RevisedQueueSize)
		}
		for i := range 14 {
			w.report(fmt.Sprint(i))
		}
		c.publish()
		w.at(110 * time.Millisecond)
		var want []string
		want = append(want, "1:"+overflowName)
		for i := 2; i < 14; i++ {
			want = append(want, fmt.Sprint("1:", i))
		}
		for i := range 9 {
			want = append(want, fmt.Sprint("2:", i))
		}
		want = append(want, "2:13", "2:"+overflowName)
		for i := range 14 {
			want = append(want, fmt.Sprint("3:", i))
		}
		c.hears("overflow", want...)
		if n := w.m.Stats().ValuesLost; n != 2+4 {
			t.Errorf("%d lost", n)
		}
		// After it was told of, the next loss is told of again.
		for i := range 13 {
			w.report(fmt.Sprint(i))
		}
		c.publish()
		w.at(210 * time.Millisecond)
		if got := c.heard(); len(got) == 0 || got[0] != "1:"+overflowName {
			t.Errorf("second overflow: %q", got)
		}
	})
}

// TestOverflowBypassesTheFilter: a where clause does not hide that events were lost.
func TestOverflowBypassesTheFilter(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		c.hear(sub, serverObject, 1, queue(1, true), filtered(&ua.EventFilter{
			SelectClauses: eventFields("SourceName"),
			WhereClause: ua.ContentFilter{Elements: []ua.ContentFilterElement{{
				FilterOperator: ua.FilterOperatorLike,
				FilterOperands: []ua.ExtensionObject{ua.ObjectOf(&eventFields("SourceName")[0]), ua.ObjectOf(&ua.LiteralOperand{Value: ua.StringVariant("x%")})},
			}}},
		}))
		for range 11 {
			w.report("x")
			w.report("y")
		}
		c.publish()
		w.at(110 * time.Millisecond)
		if got := c.heard(); len(got) != 11 || got[0] != "1:"+overflowName {
			t.Errorf("heard %q", got)
		}
	})
}

// TestLargeEventsShortenTheQueue: the bytes of events count, and are given back.
func TestLargeEventsShortenTheQueue(t *testing.T) {
	run(t, Limits{QueueBytes: 10_000}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		c.hear(sub, serverObject, 1)
		for range 8 {
			w.report("large", func(e *events.Event) {
				e.Fields = []events.Field{events.FieldOf("Blob", ua.VariantOf(make([]byte, 4000)))}
			})
		}
		if b := w.m.Stats().QueueBytes; b < 4000 || b > 10_000 {
			t.Errorf("%d bytes", b)
		}
		c.publish()
		w.at(110 * time.Millisecond)
		c.hears("large events", "1:"+overflowName, "1:large", "1:large")
		c.close()
		if b := w.m.queueBytes.Load(); b != 0 {
			t.Errorf("%d bytes are left", b)
		}
	})
}

// TestNotifierHierarchy: an event passes the notifiers above its source, by HasNotifier
// and HasEventSource references, and nodes that give no events cannot be monitored.
func TestNotifierHierarchy(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		object := func(name string, notifier ua.EventNotifierType) ua.NodeID {
			n, err := w.space.AddNode(addrspace.NodeSpec{
				ID: ua.StringID(2, name), Class: ua.NodeClassObject, BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: name}, EventNotifier: notifier,
			})
			if err != nil {
				t.Fatal(err)
			}
			return n.ID()
		}
		link := func(from ua.NodeID, typ uint32, to ua.NodeID) {
			if err := w.space.AddReference(from, ua.NumericID(0, typ), to); err != nil {
				t.Fatal(err)
			}
		}
		plant, line, other, silent := object("plant", 1), object("line", 1), object("other", 1), object("silent", 0)
		boiler := w.variable("boiler", 1.0).Node().ID()
		link(plant, id.HasNotifier, line)
		link(line, id.HasEventSource, boiler)
		link(line, id.HasNotifier, plant) // a loop does no harm
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		c.hear(sub, serverObject, 1)
		c.hear(sub, plant, 2)
		c.hear(sub, line, 3)
		c.hear(sub, other, 4)
		for name, tt := range map[string]struct {
			node ua.NodeID
			code ua.StatusCode
		}{
			"gives no events": {silent, ua.BadNotSupported},
			"a variable":      {boiler, ua.BadAttributeIDInvalid},
		} {
			if r := c.create(sub, listen(tt.node, 9))[0]; r.StatusCode != tt.code {
				t.Errorf("%s: %v, want %v", name, r.StatusCode, tt.code)
			}
		}
		from := func(n ua.NodeID) func(*events.Event) { return func(e *events.Event) { e.SourceNode = n } }
		w.report("boiler", from(boiler))
		w.report("plant", from(plant))
		w.report("unknown", from(ua.StringID(2, "unknown")))
		w.report("none", from(ua.NodeID{}))
		c.publish()
		w.at(110 * time.Millisecond)
		c.hears("hierarchy", "1:boiler", "1:plant", "1:unknown", "1:none", "3:boiler", "3:plant", "2:boiler", "2:plant")
	})
}

// TestEventRights: each event is checked for each user, also what waits when rights change.
func TestEventRights(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		mayAll := Identity{User: "boss"}
		some := Identity{User: "guest", Receives: func(e *events.Event) bool { return e.Severity < 500 }}
		guest := &client{w: w, q: w.m.NewQueue(some), ch: &channel{w: w}}
		boss := &client{w: w, q: w.m.NewQueue(mayAll), ch: &channel{w: w}}
		defer guest.close()
		defer boss.close()
		secret := func(e *events.Event) { e.Severity = 900 }
		for _, c := range []*client{guest, boss} {
			c.hear(c.subscribe(100*time.Millisecond), serverObject, 1)
			c.publish()
			c.publish()
		}
		w.report("open")
		w.report("secret", secret)
		w.at(110 * time.Millisecond)
		guest.hears("guest", "1:open")
		boss.hears("boss", "1:open", "1:secret")
		w.report("open again")
		w.report("secret again", secret)
		w.m.IdentityChanged(boss.q, some)
		w.at(250 * time.Millisecond)
		boss.hears("boss no more", "1:open again")
		none := Identity{User: "guest", Access: func(*addrspace.Node, ua.AttributeID) ua.StatusCode { return ua.BadUserAccessDenied }}
		w.m.IdentityChanged(guest.q, none)
		w.report("behind closed doors")
		w.at(350 * time.Millisecond)
		if got := guest.heard(); len(got) > 1 {
			t.Errorf("without rights: %q", got)
		}
		if a := guest.ch.take(); len(a) != 0 {
			t.Errorf("a muted item says %+v", a)
		}
	})
}

// TestEventModes: sampling keeps events until they are triggered or reported, disabling
// forgets them (Part 4, 5.13.1.3 and 5.13.1.6).
func TestEventModes(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		v := w.variable("v", int32(1))
		it := c.hear(sub, serverObject, 1, mode(ua.MonitoringModeSampling)).MonitoredItemID
		trigger := c.monitor(sub, v, 2)
		for range 9 {
			c.publish()
		}
		w.at(150 * time.Millisecond)
		c.ch.take()
		var linked ua.SetTriggeringResponse
		if code := w.m.SetTriggering(c.q, &ua.SetTriggeringRequest{SubscriptionID: sub, TriggeringItemID: trigger, LinksToAdd: []uint32{it}}, &linked); code != ua.Good {
			t.Fatal(code)
		}
		w.report("a")
		w.at(250 * time.Millisecond)
		c.hears("sampled only")
		set(v, int32(2))
		w.at(350 * time.Millisecond)
		c.hears("triggered", "1:a")
		w.report("b")
		setMode := func(m ua.MonitoringMode) {
			var resp ua.SetMonitoringModeResponse
			w.m.SetMonitoringMode(c.q, &ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoringMode: m, MonitoredItemIDs: []uint32{it}}, &resp)
		}
		setMode(ua.MonitoringModeReporting)
		w.at(450 * time.Millisecond)
		c.hears("reported now", "1:b")
		w.report("c")
		setMode(ua.MonitoringModeDisabled)
		if w.m.Heard() {
			t.Error("a disabled item listens")
		}
		w.report("d")
		setMode(ua.MonitoringModeReporting)
		w.report("e")
		w.at(550 * time.Millisecond)
		c.hears("enabled again", "1:e")

		// An event can trigger, too.
		sampled := c.monitor(sub, w.variable("w", int32(7)), 3, mode(ua.MonitoringModeSampling))
		if code := w.m.SetTriggering(c.q, &ua.SetTriggeringRequest{SubscriptionID: sub, TriggeringItemID: it, LinksToAdd: []uint32{sampled}}, &linked); code != ua.Good {
			t.Fatal(code)
		}
		w.report("f")
		w.at(650 * time.Millisecond)
		a := c.ch.take()
		if len(a) != 1 || len(a[0].events()) != 1 || len(a[0].changes()) != 1 {
			t.Errorf("an event that triggers: %+v", a)
		}
	})
}

// TestModifyEventItem: another filter holds for later events, and a smaller queue keeps the newest.
func TestModifyEventItem(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		it := c.hear(sub, serverObject, 1).MonitoredItemID
		modify := func(p ua.MonitoringParameters) ua.MonitoredItemModifyResult {
			var resp ua.ModifyMonitoredItemsResponse
			req := &ua.ModifyMonitoredItemsRequest{
				SubscriptionID: sub, TimestampsToReturn: ua.TimestampsToReturnBoth,
				ItemsToModify: []ua.MonitoredItemModifyRequest{{MonitoredItemID: it, RequestedParameters: p}},
			}
			if code := w.m.ModifyMonitoredItems(c.q, req, &resp); code != ua.Good {
				t.Fatal(code)
			}
			return resp.Results[0]
		}
		for i := range 12 {
			w.report(fmt.Sprint(i))
		}
		if r := modify(ua.MonitoringParameters{Filter: ua.ObjectOf(&ua.DataChangeFilter{})}); r.StatusCode != ua.BadFilterNotAllowed {
			t.Errorf("a filter of data: %v", r.StatusCode)
		}
		bad := &ua.EventFilter{SelectClauses: eventFields("SourceName"), WhereClause: ua.ContentFilter{Elements: []ua.ContentFilterElement{{FilterOperator: 99}}}}
		if r := modify(ua.MonitoringParameters{Filter: ua.ObjectOf(bad)}); r.StatusCode != ua.BadEventFilterInvalid || r.FilterResult.IsNull() {
			t.Errorf("a wrong filter: %+v", r)
		}
		r := modify(ua.MonitoringParameters{ClientHandle: 5, QueueSize: 10, DiscardOldest: true, Filter: ua.ObjectOf(&ua.EventFilter{SelectClauses: eventFields("Severity")})})
		if r.StatusCode != ua.Good || r.RevisedQueueSize != 10 {
			t.Errorf("%+v", r)
		}
		c.publish()
		w.at(110 * time.Millisecond)
		want := []string{"5:" + "500"} // the overflow
		for i := 2; i < 12; i++ {
			want = append(want, fmt.Sprint("5:", i))
		}
		c.hears("what waited", want...)
		w.report("later")
		c.publish()
		w.at(210 * time.Millisecond)
		c.hears("later", "5:100")
	})
}

// TestReportsBeyondTheLimit: what cannot be distributed in time is dropped, and all who
// listen are told. Reports come from many goroutines while listeners come and go.
func TestReportsBeyondTheLimit(t *testing.T) {
	run(t, Limits{Events: 5}, func(w *world) {
		c := w.client()
		defer c.close()
		sub := c.subscribe(100 * time.Millisecond)
		c.hear(sub, serverObject, 1)
		r := &w.m.reports
		r.mu.Lock()
		r.running = true // nothing is distributed yet
		r.mu.Unlock()
		for i := range 7 {
			w.m.Report(&events.Event{SourceName: fmt.Sprint(i)})
		}
		w.m.distribute()
		c.publish()
		w.at(110 * time.Millisecond)
		c.hears("too many", "1:"+overflowName, "1:0", "1:1", "1:2", "1:3", "1:4")
		if s := w.m.Stats(); s.EventsDropped != 2 || s.EventsReported != 7 {
			t.Errorf("%+v", s)
		}
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				for i := range 50 {
					w.m.Report(&events.Event{SourceName: fmt.Sprint(g, i)})
				}
			})
			all.Go(func() {
				other := w.client()
				s := other.subscribe(10 * time.Millisecond)
				for range 20 {
					other.hear(s, serverObject, 1)
				}
				other.close()
			})
		}
		all.Wait()
	})
}

// TestManyListeners: one event for 10,000 items is shared, and all get it.
func TestManyListeners(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		const clients, each = 100, 100
		list := make([]*client, clients)
		for i := range list {
			list[i] = w.client()
			defer list[i].close()
			sub := list[i].subscribe(100 * time.Millisecond)
			for h := range uint32(each) {
				list[i].hear(sub, serverObject, h)
			}
			list[i].publish()
		}
		w.report("all")
		w.at(250 * time.Millisecond)
		for _, c := range list {
			if got := c.heard(); len(got) != each {
				t.Fatalf("heard %d", len(got))
			}
		}
	})
}

// TestTransferOfEvents: events that wait go with the subscription to another session.
func TestTransferOfEvents(t *testing.T) {
	run(t, Limits{}, func(w *world) {
		a, b := w.client(), w.client()
		defer a.close()
		defer b.close()
		sub := a.subscribe(100 * time.Millisecond)
		a.hear(sub, serverObject, 1)
		w.report("before")
		var resp ua.TransferSubscriptionsResponse
		w.m.TransferSubscriptions(b.q, &ua.TransferSubscriptionsRequest{SubscriptionIDs: []uint32{sub}, SendInitialValues: true}, &resp)
		w.report("after")
		b.publish()
		w.at(110 * time.Millisecond)
		b.hears("new session", "1:before", "1:after")
	})
}

// BenchmarkReportUnheard is what an event costs that nobody listens for.
func BenchmarkReportUnheard(b *testing.B) {
	w := newWorld(b, Limits{})
	defer w.end()
	e := new(events.Event)
	b.ReportAllocs()
	for b.Loop() {
		w.m.Report(e)
	}
}
