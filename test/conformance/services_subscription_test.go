package conformance

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// Each item to create has a status of its own (Part 4, 5.13.2.4).
func TestCreateMonitoredItemsStatusCodes(t *testing.T) {
	on := func(node ua.NodeID, bend ...func(r *ua.MonitoredItemCreateRequest)) ua.MonitoredItemCreateRequest {
		r := monitor(node, 1)
		for _, b := range bend {
			b(&r)
		}
		return r
	}
	filter := func(f ua.Structure) func(r *ua.MonitoredItemCreateRequest) {
		return func(r *ua.MonitoredItemCreateRequest) { r.RequestedParameters.Filter = ua.ObjectOf(f) }
	}
	change := func(kind ua.DeadbandType, value float64) func(r *ua.MonitoredItemCreateRequest) {
		return filter(&ua.DataChangeFilter{Trigger: ua.DataChangeTriggerStatusValue, DeadbandType: uint32(kind), DeadbandValue: value})
	}
	attribute := func(a ua.AttributeID) func(r *ua.MonitoredItemCreateRequest) {
		return func(r *ua.MonitoredItemCreateRequest) { r.ItemToMonitor.AttributeID = a }
	}
	indexes := func(text string) func(r *ua.MonitoredItemCreateRequest) {
		return func(r *ua.MonitoredItemCreateRequest) { r.ItemToMonitor.IndexRange = text }
	}
	encoding := func(name string) func(r *ua.MonitoredItemCreateRequest) {
		return func(r *ua.MonitoredItemCreateRequest) {
			r.ItemToMonitor.DataEncoding = ua.QualifiedName{Name: name}
		}
	}
	mode := func(m ua.MonitoringMode) func(r *ua.MonitoredItemCreateRequest) {
		return func(r *ua.MonitoredItemCreateRequest) { r.MonitoringMode = m }
	}
	inTime(t, func(t *testing.T, w *world) {
		attributeNodes(w)
		analog := w.variable("analog", 50.0)
		_, err := w.Space().AddNode(addrspace.NodeSpec{
			Class: ua.NodeClassVariable, ID: w.node("analog.range"), BrowseName: ua.QualifiedName{Name: "EURange"}, Parent: analog.Node().ID(),
			ReferenceType: ua.NumericID(0, id.HasProperty), DataType: ua.NumericID(0, id.Range), Value: ua.VariantOf(ua.ObjectOf(&ua.Range{High: 200})),
		})
		if err != nil {
			t.Fatal(err)
		}
		number, text, array := w.node("number"), w.node("text"), w.node("array")
		rows := []struct {
			what string
			item ua.MonitoredItemCreateRequest
			want ua.StatusCode
		}{
			{"a value", on(number), ua.Good},
			{"unknown node", on(w.node("nobody")), ua.BadNodeIDUnknown},
			{"null node", on(ua.NodeID{}), ua.BadNodeIDInvalid},
			{"attribute 0", on(number, attribute(0)), ua.BadAttributeIDInvalid},
			{"attribute 99", on(number, attribute(99)), ua.BadAttributeIDInvalid},
			{"the value of an object", on(w.node("object")), ua.BadAttributeIDInvalid},
			{"a name", on(w.node("object"), attribute(ua.AttributeIDDisplayName)), ua.Good},
			{"monitoring mode 3", on(number, mode(3)), ua.BadMonitoringModeInvalid},
			{"monitoring mode -1", on(number, mode(-1)), ua.BadMonitoringModeInvalid},
			{"disabled", on(number, mode(ua.MonitoringModeDisabled)), ua.Good},
			{"sampling", on(number, mode(ua.MonitoringModeSampling)), ua.Good},
			{"index range", on(array, indexes("1:2")), ua.Good},
			{"no index range", on(array, indexes("2:1")), ua.BadIndexRangeInvalid},
			{"index range of a number", on(number, indexes("0")), ua.BadIndexRangeNoData},
			{"binary encoding", on(w.node("range"), encoding("Default Binary")), ua.Good},
			{"XML encoding", on(w.node("range"), encoding("Default XML")), ua.BadDataEncodingUnsupported},
			{"an unknown encoding", on(w.node("range"), encoding("Mine")), ua.BadDataEncodingInvalid},
			{"an encoding of a name", on(number, attribute(ua.AttributeIDDisplayName), encoding("Default Binary")), ua.BadDataEncodingInvalid},
			{"a deadband", on(number, change(ua.DeadbandTypeAbsolute, 1)), ua.Good},
			{"a deadband of an array", on(array, change(ua.DeadbandTypeAbsolute, 1)), ua.Good},
			{"a negative deadband", on(number, change(ua.DeadbandTypeAbsolute, -1)), ua.BadDeadbandFilterInvalid},
			{"a deadband that is NaN", on(number, change(ua.DeadbandTypeAbsolute, math.NaN())), ua.BadDeadbandFilterInvalid},
			{"a deadband of a text", on(text, change(ua.DeadbandTypeAbsolute, 1)), ua.BadFilterNotAllowed},
			{"no deadband of a text", on(text, change(ua.DeadbandTypeNone, 1)), ua.Good},
			{"percent", on(w.node("analog"), change(ua.DeadbandTypePercent, 10)), ua.Good},
			{"percent without a range", on(number, change(ua.DeadbandTypePercent, 10)), ua.BadDeadbandFilterInvalid},
			{"101 percent", on(w.node("analog"), change(ua.DeadbandTypePercent, 101)), ua.BadDeadbandFilterInvalid},
			{"deadband type 3", on(number, change(3, 1)), ua.BadMonitoredItemFilterInvalid},
			{"trigger 3", on(number, filter(&ua.DataChangeFilter{Trigger: 3})), ua.BadMonitoredItemFilterInvalid},
			{"a filter of a name", on(number, attribute(ua.AttributeIDDisplayName), change(ua.DeadbandTypeNone, 0)), ua.BadFilterNotAllowed},
			{"an event filter of a value", on(number, filter(&ua.EventFilter{})), ua.BadFilterNotAllowed},
			{"an aggregate filter", on(number, filter(&ua.AggregateFilter{})), ua.BadMonitoredItemFilterUnsupported},
			{"what is no filter", on(number, filter(&ua.Range{})), ua.BadMonitoredItemFilterInvalid},
			{"an unknown structure", on(number, func(r *ua.MonitoredItemCreateRequest) {
				r.RequestedParameters.Filter = ua.ExtensionObject{TypeID: ua.NumericID(9, 9), Encoding: ua.EncodingBinary, Raw: []byte{1}}
			}), ua.BadMonitoredItemFilterInvalid},
			// Not being allowed to read is what the item reports.
			{"a value that cannot be read", on(w.node("writeOnly")), ua.Good},
			{"a value that the user may not read", on(w.node("forbidden")), ua.Good},
		}
		s := w.session()
		sub := subscribe(s, 100)
		req := &ua.CreateMonitoredItemsRequest{SubscriptionID: sub, TimestampsToReturn: ua.TimestampsToReturnBoth}
		for i, row := range rows {
			row.item.RequestedParameters.ClientHandle = uint32(i)
			req.ItemsToCreate = append(req.ItemsToCreate, row.item)
		}
		seen := make(map[uint32]bool)
		for i, r := range rawpeer.Do[*ua.CreateMonitoredItemsResponse](s, req).Results {
			expect(t, rows[i].what, r.StatusCode, rows[i].want)
			if r.StatusCode == ua.Good && (r.MonitoredItemID == 0 || seen[r.MonitoredItemID] || r.RevisedQueueSize < 1) || r.StatusCode != ua.Good && r.MonitoredItemID != 0 {
				t.Errorf("%s: %+v", rows[i].what, r)
			}
			seen[r.MonitoredItemID] = true
		}
		reported := make(map[string]ua.StatusCode)
		for _, n := range changes(t, publish(s)) {
			reported[rows[n.ClientHandle].what] = n.Value.Status
		}
		expect(t, "a value that cannot be read", reported["a value that cannot be read"], ua.BadNotReadable)
		expect(t, "a value that the user may not read", reported["a value that the user may not read"], ua.BadUserAccessDenied)
		if _, is := reported["disabled"]; is {
			t.Error("a disabled item reports")
		}
		if _, is := reported["sampling"]; is {
			t.Error("an item that only samples reports")
		}
	})
}

// What does not fit into the limits is refused one by one, and given back
// (threats V6 and V7: quotas that leaked on failures).
func TestSubscriptionAndItemLimits(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		w.variable("v", int32(1))
		s, other := w.session(), w.session()
		create := &ua.CreateSubscriptionRequest{RequestedPublishingInterval: 1000}
		var subs []uint32
		for range 3 {
			subs = append(subs, subscribe(s, 1000))
		}
		expect(t, "a fourth subscription", s.Result(create), ua.BadTooManySubscriptions)
		subscribe(other, 1000)
		expect(t, "a fifth of the server", other.Result(create), ua.BadTooManySubscriptions)

		req := &ua.CreateMonitoredItemsRequest{SubscriptionID: subs[0]}
		for range 4 {
			req.ItemsToCreate = append(req.ItemsToCreate, monitor(w.node("v"), 1), monitor(w.node("nobody"), 1))
		}
		for round := range 3 {
			var ids []uint32
			for i, r := range rawpeer.Do[*ua.CreateMonitoredItemsResponse](s, req).Results {
				want := ua.Good
				switch {
				case i%2 == 1:
					want = ua.BadNodeIDUnknown
				case i == 6:
					want = ua.BadTooManyMonitoredItems
				}
				expect(t, fmt.Sprintf("round %d, item %d", round, i), r.StatusCode, want)
				if r.StatusCode == ua.Good {
					ids = append(ids, r.MonitoredItemID)
				}
			}
			rawpeer.Do[*ua.DeleteMonitoredItemsResponse](s, &ua.DeleteMonitoredItemsRequest{SubscriptionID: subs[0], MonitoredItemIDs: ids})
		}
		rawpeer.Do[*ua.CreateMonitoredItemsResponse](s, req)
		s.Close()
		again := w.session()
		for range 3 {
			sub := subscribe(again, 1000)
			watch(t, again, sub, monitor(w.node("v"), 1))
		}
	}, func(c *uahive.Config) {
		l := &c.Limits.Subscriptions
		l.SubscriptionsPerSession, l.Subscriptions, l.MonitoredItemsPerSubscription, l.MonitoredItems = 3, 4, 3, 3
	})
}

// Disabling publishing stops notifications but not keep-alives, and what was
// queued meanwhile comes afterwards (Part 4, 5.14.4).
func TestSetPublishingMode(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		v := w.variable("v", int32(1))
		sub := subscribe(s, 100)
		watch(t, s, sub, monitor(w.node("v"), 1))
		publish(s)
		set := func(on bool, ids ...uint32) []ua.StatusCode {
			return rawpeer.Do[*ua.SetPublishingModeResponse](s, &ua.SetPublishingModeRequest{PublishingEnabled: on, SubscriptionIDs: ids}).Results
		}
		if got := set(false, sub, sub+1); !slices.Equal(got, []ua.StatusCode{ua.Good, ua.BadSubscriptionIDInvalid}) {
			t.Errorf("%v", got)
		}
		v.Store(ua.DataValue{Value: ua.VariantOf(int32(2))})
		start := time.Now()
		if n := len(publish(s).NotificationMessage.NotificationData); n != 0 || time.Since(start) < 900*time.Millisecond {
			t.Errorf("%d notifications after %v", n, time.Since(start))
		}
		set(true, sub)
		if got := values(changes(t, publish(s))); !slices.Equal(got, []string{"2"}) {
			t.Errorf("reported %v", got)
		}
	})
}

// An item that samples is reported when an item that triggers it has something
// to report; links go away with either (Part 4, 5.13.1.6 and 5.13.5). Threat V10.
func TestSetTriggering(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		trigger, linked := w.variable("trigger", int32(0)), w.variable("linked", int32(0))
		sub := subscribe(s, 100)
		sampling := monitor(w.node("linked"), 2)
		sampling.MonitoringMode = ua.MonitoringModeSampling
		ids := watch(t, s, sub, monitor(w.node("trigger"), 1), sampling)
		publish(s)
		set := func(item uint32, add, remove []uint32) ua.Structure {
			return s.Do(&ua.SetTriggeringRequest{SubscriptionID: sub, TriggeringItemID: item, LinksToAdd: add, LinksToRemove: remove})
		}
		expect(t, "nothing", faultOf(t, set(ids[0], nil, nil)), ua.BadNothingToDo)
		expect(t, "unknown item", faultOf(t, set(999, ids, nil)), ua.BadMonitoredItemIDInvalid)
		resp := rawpeer.As[*ua.SetTriggeringResponse](t, set(ids[0], []uint32{ids[1], 999, ids[0]}, []uint32{ids[1], 998}))
		if !slices.Equal(resp.AddResults, []ua.StatusCode{ua.Good, ua.BadMonitoredItemIDInvalid, ua.BadMonitoredItemIDInvalid}) ||
			!slices.Equal(resp.RemoveResults, []ua.StatusCode{ua.BadMonitoredItemIDInvalid, ua.BadMonitoredItemIDInvalid}) {
			t.Errorf("%+v", resp)
		}
		store := func(v *addrspace.Variable, n int32) { v.Store(ua.DataValue{Value: ua.VariantOf(n)}) }
		store(linked, 1)
		if list := changes(t, publish(s)); len(list) != 0 {
			t.Errorf("without the trigger: %+v", list)
		}
		store(trigger, 1)
		list := changes(t, publish(s))
		if len(list) != 2 || list[0].ClientHandle+list[1].ClientHandle != 3 {
			t.Errorf("with the trigger: %+v", list)
		}
		removed := rawpeer.As[*ua.SetTriggeringResponse](t, set(ids[0], nil, []uint32{ids[1]}))
		expect(t, "removing", removed.RemoveResults[0], ua.Good)
		store(linked, 2)
		store(trigger, 2)
		if list := changes(t, publish(s)); len(list) != 1 {
			t.Errorf("without the link: %+v", list)
		}
		// Two items that trigger each other do not turn in circles.
		rawpeer.As[*ua.SetTriggeringResponse](t, set(ids[0], []uint32{ids[1]}, nil))
		rawpeer.As[*ua.SetTriggeringResponse](t, set(ids[1], []uint32{ids[0]}, nil))
		store(trigger, 3)
		store(linked, 3)
		if list := changes(t, publish(s)); len(list) != 2 {
			t.Errorf("in a circle: %+v", list)
		}
	})
}

// A percent deadband is one of the EURange, and a new EURange shows in the
// SemanticsChanged bit of the next notification (Part 8, 7.2 and 5.2).
func TestPercentDeadbandAndSemantics(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		v := w.variable("analog", 50.0)
		n, err := w.Space().AddNode(addrspace.NodeSpec{
			Class: ua.NodeClassVariable, ID: w.node("analog.range"), BrowseName: ua.QualifiedName{Name: "EURange"}, Parent: w.node("analog"),
			ReferenceType: ua.NumericID(0, id.HasProperty), DataType: ua.NumericID(0, id.Range), Value: ua.VariantOf(ua.ObjectOf(&ua.Range{High: 200})),
		})
		if err != nil {
			t.Fatal(err)
		}
		sub := subscribe(s, 100)
		item := deadband(w.node("analog"), 10)
		item.RequestedParameters.Filter.Value.(*ua.DataChangeFilter).DeadbandType = uint32(ua.DeadbandTypePercent)
		watch(t, s, sub, item)
		publish(s)
		for _, x := range []float64{60, 70, 70.5, 60, 50.4} { // 10 % are 20
			v.Store(ua.DataValue{Value: ua.VariantOf(x)})
		}
		if got := values(changes(t, publish(s))); !slices.Equal(got, []string{"70.5", "50.4"}) {
			t.Errorf("reported %v", got)
		}
		n.Variable().Store(ua.DataValue{Value: ua.VariantOf(ua.ObjectOf(&ua.Range{High: 20}))})
		v.Store(ua.DataValue{Value: ua.VariantOf(53.0)}) // 10 % are 2 now
		list := changes(t, publish(s))
		if len(list) == 0 || !list[len(list)-1].Value.Status.SemanticsChanged() && !list[0].Value.Status.SemanticsChanged() {
			t.Errorf("reported %+v", list)
		}
		v.Store(ua.DataValue{Value: ua.VariantOf(56.0)})
		if list := changes(t, publish(s)); len(list) != 1 || list[0].Value.Status != ua.Good {
			t.Errorf("later %+v", list)
		}
	})
}

// A source that is asked is sampled at its interval, reports its failures as
// statuses, and a panic in it is one of them.
func TestSampledSources(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		start := time.Now()
		asked := make(chan time.Duration, 1000)
		read := func(context.Context) (ua.DataValue, error) {
			at := time.Since(start)
			asked <- at
			switch n := at / time.Second; n {
			case 3, 4:
				return ua.DataValue{}, ua.BadNoCommunication
			case 5, 6:
				panic("a bug of the program")
			default:
				return ua.DataValue{Value: ua.VariantOf(int32(n))}, nil
			}
		}
		w.add("polled", addrspace.NodeSpec{Class: ua.NodeClassVariable, Value: ua.VariantOf(int32(0)), Source: &addrspace.Source{Read: read}})
		sub := subscribe(s, 100)
		item := monitor(w.node("polled"), 1)
		item.RequestedParameters.SamplingInterval = 500
		ids := watch(t, s, sub, item)
		var got []string
		for time.Since(start) < 9*time.Second {
			for _, n := range changes(t, publish(s)) {
				if n.Value.Status == ua.Good {
					got = append(got, fmt.Sprint(n.Value.Value.Any()))
				} else {
					got = append(got, n.Value.Status.String())
				}
			}
		}
		if want := []string{"0", "1", "2", "BadNoCommunication", "BadInternalError", "7", "8"}; !slices.Equal(got[:min(len(got), len(want))], want) {
			t.Errorf("reported %v", got)
		}
		if n := len(asked); n < 17 || n > 21 {
			t.Errorf("asked %d times in 9 s", n)
		}
		rawpeer.Do[*ua.DeleteMonitoredItemsResponse](s, &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: ids})
		synctest.Wait()
		before := len(asked)
		time.Sleep(5 * time.Second)
		if after := len(asked); after != before {
			t.Errorf("asked %d times after the item was deleted", after-before)
		}
	})
}

// A subscription moves to another session of the same user only. The old session
// is told, the new one gets the messages that are not acknowledged (Part 4,
// 5.14.7). Threat U12: subscriptions that could be taken by anybody.
func TestTransferSubscriptions(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		own, stranger := clientPKI(t, clientKey()), clientPKI(t, strangerKey())
		w.variable("v", int32(1))
		login := func(config rawpeer.Config, user string) *rawpeer.Session {
			s := w.dialWith(config).CreateSession()
			if user == "" {
				expect(t, "activation", s.Activate(anonymous), ua.Good)
			} else {
				expect(t, "activation", s.Activate(named(t, s, user, "secret of "+user)), ua.Good)
			}
			return s
		}
		transfer := func(s *rawpeer.Session, sub uint32, initial bool) ua.TransferResult {
			return rawpeer.Do[*ua.TransferSubscriptionsResponse](s, &ua.TransferSubscriptionsRequest{
				SubscriptionIDs: []uint32{sub}, SendInitialValues: initial,
			}).Results[0]
		}
		secure := w.secure(own, uasc.ModeSign)
		ann := login(secure, "ann")
		sub := subscribe(ann, 100)
		watch(t, ann, sub, monitor(w.node("v"), 1))
		first := publish(ann)

		for what, thief := range map[string]*rawpeer.Session{
			"another user": login(secure, "bob"), "nobody": login(secure, ""), "nobody without security": login(rawpeer.Config{}, ""),
		} {
			expect(t, what, transfer(thief, sub, true).StatusCode, ua.BadUserAccessDenied)
			expect(t, what+", afterwards", thief.Result(&ua.PublishRequest{}), ua.BadNoSubscription)
		}
		parked := ann.Start(&ua.PublishRequest{})
		second := login(w.secure(stranger, uasc.ModeSign), "ann")
		r := transfer(second, sub, true)
		if r.StatusCode != ua.Good || !slices.Equal(r.AvailableSequenceNumbers, []uint32{first.NotificationMessage.SequenceNumber}) {
			t.Errorf("the same user: %+v", r)
		}
		told := rawpeer.Wait[*ua.PublishResponse](ann, parked)
		status, _ := told.NotificationMessage.NotificationData[0].Value.(*ua.StatusChangeNotification)
		if status == nil || status.Status != ua.GoodSubscriptionTransferred || told.SubscriptionID != sub {
			t.Errorf("the old session got %+v", told)
		}
		expect(t, "the old session", ann.Result(&ua.PublishRequest{}), ua.BadNoSubscription)
		if got := values(changes(t, publish(second))); !slices.Equal(got, []string{"1"}) {
			t.Errorf("initial values %v", got)
		}
		again := rawpeer.Do[*ua.RepublishResponse](second, &ua.RepublishRequest{SubscriptionID: sub, RetransmitSequenceNumber: first.NotificationMessage.SequenceNumber})
		if string(again.NotificationMessage.AppendTo(nil)) != string(first.NotificationMessage.AppendTo(nil)) {
			t.Error("the message that was not acknowledged is another one")
		}

		// A session that is closed without its subscriptions leaves them to its user.
		rawpeer.Do[*ua.CloseSessionResponse](second, &ua.CloseSessionRequest{DeleteSubscriptions: false})
		third := login(secure, "ann")
		expect(t, "an orphan", transfer(third, sub, false).StatusCode, ua.Good)
		third.Close()
		fourth := login(secure, "ann")
		expect(t, "deleted with its session", transfer(fourth, sub, false).StatusCode, ua.BadSubscriptionIDInvalid)

		// Anonymous clients are told apart by their certificate.
		anon := login(secure, "")
		sub = subscribe(anon, 100)
		expect(t, "anonymous, another application", transfer(login(rawpeer.Config{}, ""), sub, false).StatusCode, ua.BadUserAccessDenied)
		expect(t, "anonymous, the same application", transfer(login(secure, ""), sub, false).StatusCode, ua.Good)
	}, withUsers)
}

// A subscription that nobody takes over ends when its lifetime does.
func TestAnOrphanExpires(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		sub := rawpeer.Do[*ua.CreateSubscriptionResponse](s, &ua.CreateSubscriptionRequest{
			RequestedPublishingInterval: 1000, RequestedLifetimeCount: 10, RequestedMaxKeepAliveCount: 3, PublishingEnabled: true,
		})
		rawpeer.Do[*ua.CloseSessionResponse](s, &ua.CloseSessionRequest{})
		life := time.Duration(sub.RevisedLifetimeCount) * time.Second
		time.Sleep(life - time.Second)
		if n := w.Stats().Subscriptions.Subscriptions; n != 1 {
			t.Errorf("%d subscriptions before its end", n)
		}
		time.Sleep(2 * time.Second)
		if n := w.Stats().Subscriptions.Subscriptions; n != 0 {
			t.Errorf("%d subscriptions after its end", n)
		}
	})
}

// SetMonitoringMode refuses what is no mode, and disabling and enabling begins
// with a new first value (Part 4, 5.13.4).
func TestSetMonitoringMode(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		w.variable("v", int32(1))
		sub := subscribe(s, 100)
		ids := watch(t, s, sub, monitor(w.node("v"), 1))
		publish(s)
		for _, bad := range []ua.MonitoringMode{3, -1, 99} {
			expect(t, "mode", s.Result(&ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoringMode: bad, MonitoredItemIDs: ids}), ua.BadMonitoringModeInvalid)
		}
		set := func(mode ua.MonitoringMode) {
			rawpeer.Do[*ua.SetMonitoringModeResponse](s, &ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoringMode: mode, MonitoredItemIDs: ids})
		}
		set(ua.MonitoringModeDisabled)
		expect(t, "write", writeValue(t, s, w.node("v"), int32(2)), ua.Good)
		if list := changes(t, publish(s)); len(list) != 0 {
			t.Errorf("disabled: %+v", list)
		}
		set(ua.MonitoringModeReporting)
		if got := values(changes(t, publish(s))); !slices.Equal(got, []string{"2"}) {
			t.Errorf("enabled: %v", got)
		}
		set(ua.MonitoringModeSampling)
		expect(t, "write", writeValue(t, s, w.node("v"), int32(3)), ua.Good)
		if list := changes(t, publish(s)); len(list) != 0 {
			t.Errorf("sampling: %+v", list)
		}
		set(ua.MonitoringModeReporting)
		if got := values(changes(t, publish(s))); !slices.Equal(got, []string{"3"}) {
			t.Errorf("reporting: %v", got)
		}
	})
}
