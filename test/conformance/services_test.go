package conformance

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// sessionServices are the requests that need an activated session.
func sessionServices() []ua.Request {
	return []ua.Request{
		&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}},
		&ua.WriteRequest{NodesToWrite: make([]ua.WriteValue, 1)},
		&ua.BrowseRequest{NodesToBrowse: make([]ua.BrowseDescription, 1)},
		&ua.BrowseNextRequest{ContinuationPoints: [][]byte{{1}}},
		&ua.TranslateBrowsePathsToNodeIDsRequest{BrowsePaths: make([]ua.BrowsePath, 1)},
		&ua.RegisterNodesRequest{NodesToRegister: []ua.NodeID{serverNode}},
		&ua.UnregisterNodesRequest{NodesToUnregister: []ua.NodeID{serverNode}},
		&ua.CallRequest{MethodsToCall: make([]ua.CallMethodRequest, 1)},
		&ua.CreateSubscriptionRequest{RequestedPublishingInterval: 1000},
		&ua.ModifySubscriptionRequest{SubscriptionID: 1},
		&ua.SetPublishingModeRequest{SubscriptionIDs: []uint32{1}},
		&ua.PublishRequest{},
		&ua.RepublishRequest{SubscriptionID: 1},
		&ua.TransferSubscriptionsRequest{SubscriptionIDs: []uint32{1}},
		&ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{1}},
		&ua.CreateMonitoredItemsRequest{ItemsToCreate: make([]ua.MonitoredItemCreateRequest, 1)},
		&ua.ModifyMonitoredItemsRequest{ItemsToModify: make([]ua.MonitoredItemModifyRequest, 1)},
		&ua.SetMonitoringModeRequest{MonitoredItemIDs: []uint32{1}},
		&ua.SetTriggeringRequest{LinksToAdd: []uint32{1}},
		&ua.DeleteMonitoredItemsRequest{MonitoredItemIDs: []uint32{1}},
		&ua.CancelRequest{},
	}
}

// A request without a session, or with the token of one that was closed or timed
// out, is BadSessionIdInvalid; before activation it is BadSessionNotActivated;
// on another channel BadSecureChannelIdInvalid, and the session survives that
// (Part 4, 5.7). Threats U1 and U2.
func TestEveryServiceNeedsItsSession(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		for _, request := range sessionServices() {
			name := fmt.Sprintf("%T", request)[len("*ua."):] + ": "
			p := w.dial()
			none := &rawpeer.Session{Peer: p}
			expect(t, name+"no session", none.Result(request), ua.BadSessionIDInvalid)

			for what, token := range map[string]ua.NodeID{
				"a number": ua.NumericID(0, 1), "a text": ua.StringID(0, "token"), "a long text": ua.StringID(0, string(make([]byte, 64<<10))),
				"32 bytes": ua.OpaqueID(0, make([]byte, 32)),
			} {
				forged := &rawpeer.Session{Peer: p, Token: token}
				expect(t, name+what, forged.Result(request), ua.BadSessionIDInvalid)
			}

			created := p.CreateSession()
			byID := &rawpeer.Session{Peer: p, Token: created.ID}
			expect(t, name+"the SessionId, which is no secret", byID.Result(request), ua.BadSessionIDInvalid)
			expect(t, name+"created", created.Result(request), ua.BadSessionNotActivated)
			synctest.Wait()
			expect(t, name+"created, a second time", created.Result(request), ua.BadSessionIDInvalid)

			closed := p.Session()
			closed.Close()
			expect(t, name+"closed", closed.Result(request), ua.BadSessionIDInvalid)

			s := p.Session()
			hijacked := s.On(w.dial())
			expect(t, name+"another channel", hijacked.Result(request), ua.BadSecureChannelIDInvalid)
			readValue(s, serverNode)

			if _, is := request.(*ua.PublishRequest); is {
				expect(t, name+"activated", s.Result(request), ua.BadNoSubscription)
			} else if code := s.Result(request); code == ua.BadSessionIDInvalid || code == ua.BadSessionNotActivated || code == ua.BadServiceUnsupported {
				t.Errorf("%sactivated: %v", name, code)
			}
		}
	})
}

// CloseSession belongs to the session's channel, and works before activation too
// (Part 4, 5.7.4).
func TestCloseSession(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		p := w.dial()
		s := p.Session()
		req := &ua.CloseSessionRequest{}
		expect(t, "from another channel", s.On(w.dial()).Result(req), ua.BadSecureChannelIDInvalid)
		readValue(s, serverNode)
		expect(t, "from its own", s.Result(req), ua.Good)
		expect(t, "twice", s.Result(req), ua.BadSessionIDInvalid)
		expect(t, "no session", (&rawpeer.Session{Peer: p}).Result(req), ua.BadSessionIDInvalid)

		created := p.CreateSession()
		expect(t, "before activation, from another channel", created.On(w.dial()).Result(req), ua.BadSecureChannelIDInvalid)
		expect(t, "before activation", created.Result(req), ua.Good)
		expect(t, "activating a closed session", created.Activate(anonymous), ua.BadSessionIDInvalid)
	})
}

// What is not offered is BadServiceUnsupported, whether it is a service of the
// standard, a response, a structure or nothing at all (Part 4, 7.38.2). Threat
// D9: a response sent as a request stopped a server.
func TestUnsupportedServices(t *testing.T) {
	served := map[uint32]bool{}
	for _, request := range append(sessionServices(),
		&ua.FindServersRequest{}, &ua.GetEndpointsRequest{}, &ua.CreateSessionRequest{}, &ua.ActivateSessionRequest{}, &ua.CloseSessionRequest{},
	) {
		served[request.EncodingID().Numeric()] = true
	}
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		header := ua.RequestHeader{AuthenticationToken: s.Token, RequestHandle: 77}
		check := func(typeID ua.NodeID, answer ua.Structure) {
			fault, ok := answer.(*ua.ServiceFault)
			if !ok {
				t.Fatalf("%v is answered with %T", typeID, answer)
			}
			expect(t, typeID.String(), fault.ResponseHeader.ServiceResult, ua.BadServiceUnsupported)
			if fault.ResponseHeader.RequestHandle != 77 {
				t.Errorf("%v: handle %d", typeID, fault.ResponseHeader.RequestHandle)
			}
		}
		ask := func(typeID ua.NodeID) uint32 { return s.SendBody(header.AppendTo(typeID.AppendTo(nil))) }
		for n := uint32(0); n < 20_000; {
			waiting := make(map[uint32]ua.NodeID)
			for ; len(waiting) < 500 && n < 20_000; n++ {
				if typeID := ua.NumericID(0, n); !served[n] {
					waiting[ask(typeID)] = typeID
				}
			}
			for request, typeID := range waiting {
				check(typeID, s.Wait(request))
			}
		}
		for _, typeID := range []ua.NodeID{
			ua.NumericID(1, id.ReadRequest_Encoding_DefaultBinary), ua.NumericID(0, 0xFFFF_FFFF),
			ua.StringID(0, "ReadRequest"), ua.GUIDID(0, ua.Guid{1}), ua.OpaqueID(0, []byte{1}),
		} {
			check(typeID, s.Wait(ask(typeID)))
		}
		for _, request := range []ua.Request{
			&ua.HistoryReadRequest{}, &ua.HistoryUpdateRequest{}, &ua.QueryFirstRequest{}, &ua.QueryNextRequest{},
			&ua.AddNodesRequest{}, &ua.AddReferencesRequest{}, &ua.DeleteNodesRequest{}, &ua.DeleteReferencesRequest{},
			&ua.RegisterServerRequest{}, &ua.RegisterServer2Request{}, &ua.FindServersOnNetworkRequest{},
			&ua.OpenSecureChannelRequest{}, &ua.CloseSecureChannelRequest{},
		} {
			expect(t, fmt.Sprintf("%T", request), s.Result(request), ua.BadServiceUnsupported)
		}
		for _, response := range []ua.Structure{&ua.ReadResponse{}, &ua.ServiceFault{}, &ua.PublishResponse{}} {
			expect(t, fmt.Sprintf("%T", response), faultOf(t, s.Wait(s.SendBody(rawpeer.Encode(response)))), ua.BadServiceUnsupported)
		}
		readValue(s, serverNode)
	})
}

// A request with operations answers BadNothingToDo without any, and
// BadTooManyOperations above the limit that ServerCapabilities tells (Part 4,
// 7.38.2, and Part 5, 6.3.11). Threat V1.
func TestThreat_V1_OperationLimits(t *testing.T) {
	limit := func(w *world, node uint32) int {
		n, ok := ua.As[uint32](w.Space().Node(ua.NumericID(0, node)).Variable().Load().Value)
		if !ok || n == 0 {
			t.Errorf("limit i=%d is not published", node)
		}
		return int(n)
	}
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		sub := subscribe(s, 1000)
		perItems := uint32(id.Server_ServerCapabilities_OperationLimits_MaxMonitoredItemsPerCall)
		for _, row := range []struct {
			limit uint32
			make  func(n int) ua.Request
		}{
			{id.Server_ServerCapabilities_OperationLimits_MaxNodesPerRead, func(n int) ua.Request {
				return &ua.ReadRequest{NodesToRead: make([]ua.ReadValueID, n)}
			}},
			{id.Server_ServerCapabilities_OperationLimits_MaxNodesPerWrite, func(n int) ua.Request {
				return &ua.WriteRequest{NodesToWrite: make([]ua.WriteValue, n)}
			}},
			{id.Server_ServerCapabilities_OperationLimits_MaxNodesPerBrowse, func(n int) ua.Request {
				return &ua.BrowseRequest{NodesToBrowse: make([]ua.BrowseDescription, n)}
			}},
			{id.Server_ServerCapabilities_OperationLimits_MaxNodesPerBrowse, func(n int) ua.Request {
				return &ua.BrowseNextRequest{ContinuationPoints: make([][]byte, n)}
			}},
			{id.Server_ServerCapabilities_OperationLimits_MaxNodesPerTranslateBrowsePathsToNodeIds, func(n int) ua.Request {
				return &ua.TranslateBrowsePathsToNodeIDsRequest{BrowsePaths: make([]ua.BrowsePath, n)}
			}},
			{id.Server_ServerCapabilities_OperationLimits_MaxNodesPerRegisterNodes, func(n int) ua.Request {
				nodes := make([]ua.NodeID, n)
				for i := range nodes {
					nodes[i] = serverNode
				}
				return &ua.RegisterNodesRequest{NodesToRegister: nodes}
			}},
			{id.Server_ServerCapabilities_OperationLimits_MaxNodesPerRegisterNodes, func(n int) ua.Request {
				return &ua.UnregisterNodesRequest{NodesToUnregister: make([]ua.NodeID, n)}
			}},
			{id.Server_ServerCapabilities_OperationLimits_MaxNodesPerMethodCall, func(n int) ua.Request {
				return &ua.CallRequest{MethodsToCall: make([]ua.CallMethodRequest, n)}
			}},
			{perItems, func(n int) ua.Request {
				return &ua.CreateMonitoredItemsRequest{SubscriptionID: sub, ItemsToCreate: make([]ua.MonitoredItemCreateRequest, n)}
			}},
			{perItems, func(n int) ua.Request {
				return &ua.ModifyMonitoredItemsRequest{SubscriptionID: sub, ItemsToModify: make([]ua.MonitoredItemModifyRequest, n)}
			}},
			{perItems, func(n int) ua.Request {
				return &ua.SetMonitoringModeRequest{SubscriptionID: sub, MonitoredItemIDs: make([]uint32, n)}
			}},
			{perItems, func(n int) ua.Request {
				return &ua.DeleteMonitoredItemsRequest{SubscriptionID: sub, MonitoredItemIDs: make([]uint32, n)}
			}},
			{perItems, func(n int) ua.Request {
				return &ua.SetTriggeringRequest{SubscriptionID: sub, LinksToRemove: make([]uint32, n/2), LinksToAdd: make([]uint32, n-n/2)}
			}},
			{perItems, func(n int) ua.Request {
				return &ua.SetPublishingModeRequest{SubscriptionIDs: make([]uint32, n)}
			}},
			{perItems, func(n int) ua.Request {
				return &ua.TransferSubscriptionsRequest{SubscriptionIDs: make([]uint32, n)}
			}},
			{perItems, func(n int) ua.Request {
				return &ua.DeleteSubscriptionsRequest{SubscriptionIDs: make([]uint32, n)}
			}},
		} {
			most := limit(w, row.limit)
			name := fmt.Sprintf("%T", row.make(0))
			expect(t, name+" without an operation", s.Result(row.make(0)), ua.BadNothingToDo)
			expect(t, name+" at the limit", s.Result(row.make(most)), triggering(row.make(0), ua.Good))
			expect(t, name+" above the limit", s.Result(row.make(most+1)), ua.BadTooManyOperations)
		}
	})
}

// triggering is what a SetTriggering of an unknown item answers as a whole.
func triggering(req ua.Request, other ua.StatusCode) ua.StatusCode {
	if _, is := req.(*ua.SetTriggeringRequest); is {
		return ua.BadMonitoredItemIDInvalid
	}
	return other
}

// An answer larger than the client takes is BadResponseTooLarge, and the channel
// goes on (Part 6, 6.7.3). Threat V2.
func TestResponsesThatAreTooLarge(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		w.variable("v", make([]byte, 100_000))
		config := rawpeer.Config{}
		config.Limits.MaxMessage = 64 << 10
		s := w.dialWith(config).Session()
		read := &ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(w.node("v"))}}
		expect(t, "one large value", s.Result(read), ua.BadResponseTooLarge)
		for range 1000 {
			read.NodesToRead = append(read.NodesToRead, read.NodesToRead[0])
		}
		expect(t, "many large values", s.Result(read), ua.BadResponseTooLarge)
		browse := browseAll(serverNode, 0)
		for range 1000 {
			browse.NodesToBrowse = append(browse.NodesToBrowse, browse.NodesToBrowse[0])
		}
		expect(t, "many references", s.Result(browse), ua.BadResponseTooLarge)
		readValue(s, ua.NumericID(0, id.Server_ServerStatus_State))
	})
}

// A session may ask for smaller responses than its channel takes (Part 4,
// 5.7.2.2).
func TestMaxResponseMessageSize(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		w.variable("v", make([]byte, 20_000))
		w.add("source", addrspace.NodeSpec{
			Class: ua.NodeClassVariable, Value: ua.VariantOf([]byte{}),
			Source: &addrspace.Source{Read: func(context.Context) (ua.DataValue, error) {
				return ua.DataValue{Value: ua.VariantOf(make([]byte, 20_000))}, nil
			}},
		})
		p := w.dial()
		req := p.CreateRequest()
		req.MaxResponseMessageSize = 10_000
		small := p.CreateSessionWith(req)
		expect(t, "activation", small.Activate(anonymous), ua.Good)
		large := p.Session()
		for _, name := range []string{"v", "source"} {
			read := &ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(w.node(name))}}
			expect(t, name+", small", small.Result(read), ua.BadResponseTooLarge)
			expect(t, name+", large", large.Result(read), ua.Good)
		}
		sub := subscribe(small, 100)
		watch(t, small, sub, monitor(w.node("v"), 1))
		expect(t, "Publish", small.Result(&ua.PublishRequest{}), ua.BadResponseTooLarge)
		readValue(small, serverNode)

		// What fits in several messages comes in several.
		items := make([]ua.MonitoredItemCreateRequest, 1000)
		for i := range items {
			items[i] = monitor(ua.NumericID(0, id.Server_ServerStatus_State), uint32(i))
		}
		sub = subscribe(small, 100)
		for batch := range slices.Chunk(items, 200) {
			watch(t, small, sub, batch...)
		}
		count, messages := 0, 0
		for start := time.Now(); count < len(items) && time.Since(start) < 5*time.Second; {
			if resp, ok := small.Do(&ua.PublishRequest{}).(*ua.PublishResponse); ok {
				count, messages = count+len(changes(t, resp)), messages+1
				if n := len(rawpeer.Encode(resp)); n > 10_000 {
					t.Errorf("a message of %d bytes", n)
				}
			}
		}
		if count != len(items) || messages < 3 {
			t.Errorf("%d of %d items came in %d messages", count, len(items), messages)
		}

		// However little it takes, a client gets its answers.
		req = p.CreateRequest()
		req.MaxResponseMessageSize = 1
		tiny := p.CreateSessionWith(req)
		tiny.Activate(anonymous)
		expect(t, "tiny", tiny.Result(&ua.PublishRequest{}), ua.BadNoSubscription)
	})
}
