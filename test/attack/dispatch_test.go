package attack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/internal/fuzzguard"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// subscriptionMark stands in fuzz inputs for the id of the subscription that
// the target's session has, which is another one in every process.
const subscriptionMark = 0xDEADBEEF

// connect makes a new channel, session and subscription.
func (x *target) connect() {
	if x.peer != nil {
		x.peer.Conn.Close()
	}
	x.peer = rawpeer.Connect(x.tb, x.dial(), rawpeer.Config{Patience: 10 * time.Second, Server: x.server.PKI().Certificate()})
	x.activate()
}

// login makes an activated session, of a user where the server knows users.
func (x *target) login() *rawpeer.Session {
	s := x.peer.CreateSession()
	for _, endpoint := range s.Created.ServerEndpoints {
		for _, token := range endpoint.UserIdentityTokens {
			if token.TokenType != ua.UserTokenTypeUserName {
				continue
			}
			if code := s.Activate(userToken(x.tb, s, "op", "secret", s.Nonce)); code != ua.Good {
				x.tb.Fatalf("ActivateSession: %v", code)
			}
			return s
		}
	}
	if code := s.Activate(&ua.AnonymousIdentityToken{PolicyID: "anonymous"}); code != ua.Good {
		x.tb.Fatalf("ActivateSession: %v", code)
	}
	return s
}

func (x *target) activate() {
	x.session = x.login()
	x.sub = rawpeer.Do[*ua.CreateSubscriptionResponse](x.session, &ua.CreateSubscriptionRequest{
		RequestedPublishingInterval: 10, RequestedLifetimeCount: 100_000, RequestedMaxKeepAliveCount: 1, PublishingEnabled: true,
	}).SubscriptionID
	rawpeer.Do[*ua.CreateMonitoredItemsResponse](x.session, &ua.CreateMonitoredItemsRequest{
		SubscriptionID: x.sub, TimestampsToReturn: ua.TimestampsToReturnBoth,
		ItemsToCreate: []ua.MonitoredItemCreateRequest{
			item(ua.NumericID(2, 6)), item(ua.NumericID(2, 22)), item(ua.NumericID(2, 29)), item(ua.NumericID(3, 1)),
		},
	})
}

func item(node ua.NodeID) ua.MonitoredItemCreateRequest {
	return ua.MonitoredItemCreateRequest{
		ItemToMonitor:  ua.ReadValueID{NodeID: node, AttributeID: ua.AttributeIDValue},
		MonitoringMode: ua.MonitoringModeReporting, RequestedParameters: ua.MonitoringParameters{QueueSize: 3},
	}
}

// body puts a valid header in front of what follows it in a request.
func (x *target) body(typeID uint32, rest []byte) []byte {
	b := ua.NumericID(0, typeID).AppendTo(nil)
	header := ua.RequestHeader{AuthenticationToken: x.session.Token, Timestamp: ua.DateTimeOf(time.Now()), RequestHandle: 1}
	b = header.AppendTo(b)
	mark := binary.LittleEndian.AppendUint32(nil, subscriptionMark)
	own := binary.LittleEndian.AppendUint32(nil, x.sub)
	return append(b, bytes.ReplaceAll(rest, mark, own)...)
}

// rest returns what stands behind the header in an encoded request.
func rest(req ua.Request) (typeID uint32, b []byte) {
	b = rawpeer.Encode(req)
	d := codec.NewDecoder(b, nil)
	var t ua.NodeID
	t.DecodeFrom(d)
	var h ua.RequestHeader
	h.DecodeFrom(d)
	return t.Numeric(), b[d.Pos():]
}

// try sends a request and then a Read, and waits for the answer to the latter:
// whatever the request was, its channel goes on or ends with a word.
func (x *target) try(t testing.TB, body []byte) {
	t.Helper()
	if len(body) > 60_000 {
		return
	}
	x.peer.SendBody(body)
	last := x.session.Start(&ua.ReadRequest{
		TimestampsToReturn: ua.TimestampsToReturnNeither,
		NodesToRead:        []ua.ReadValueID{{NodeID: ua.NumericID(0, id.Server_ServerStatus_State), AttributeID: ua.AttributeIDValue}},
	})
	for {
		n, answer, err := x.peer.Next(10 * time.Second)
		switch {
		case errors.Is(err, rawpeer.ErrQuiet):
			t.Fatalf("no answer after request %x", body)
		case err != nil:
			t.Logf("the channel ended: %v", err)
			x.connect()
			return
		case n != last:
			continue
		}
		if answer.(ua.Response).Header().ServiceResult.IsBad() {
			x.activate() // the request has closed or changed the session
		}
		return
	}
}

// seeds are well-formed requests of every service.
func seeds() []ua.Request {
	value := ua.ReadValueID{NodeID: ua.NumericID(2, 6), AttributeID: ua.AttributeIDValue}
	nested := ua.VariantOf(int32(1))
	for range 20 {
		nested = ua.SliceVariant([]ua.Variant{nested})
	}
	list := []ua.Request{
		&ua.FindServersRequest{EndpointURL: "opc.tcp://h:1", LocaleIDs: []string{"en"}, ServerURIs: []string{"urn:a"}},
		&ua.GetEndpointsRequest{EndpointURL: "opc.tcp://h:1", ProfileURIs: []string{"a"}},
		&ua.CreateSessionRequest{EndpointURL: "opc.tcp://h:1", SessionName: "s", ClientNonce: make([]byte, 32), RequestedSessionTimeout: 1e9},
		&ua.ActivateSessionRequest{UserIdentityToken: ua.ObjectOf(&ua.AnonymousIdentityToken{PolicyID: "anonymous"}), LocaleIDs: []string{"de"}},
		&ua.ActivateSessionRequest{UserIdentityToken: ua.ObjectOf(&ua.UserNameIdentityToken{PolicyID: "username_basic256sha256", UserName: "u", Password: []byte("p")})},
		&ua.ActivateSessionRequest{UserIdentityToken: ua.ObjectOf(&ua.X509IdentityToken{PolicyID: "x", CertificateData: []byte{1}})},
		&ua.CloseSessionRequest{DeleteSubscriptions: true},
		&ua.CancelRequest{RequestHandle: 1},
		&ua.BrowseRequest{RequestedMaxReferencesPerNode: 2, NodesToBrowse: []ua.BrowseDescription{
			{NodeID: ua.NumericID(0, id.ObjectsFolder), BrowseDirection: ua.BrowseDirectionBoth, ReferenceTypeID: ua.NumericID(0, id.References), IncludeSubtypes: true, ResultMask: 63},
			{NodeID: ua.NumericID(3, 1), ResultMask: 63},
			{NodeID: ua.StringID(3, "x")},
		}},
		&ua.BrowseNextRequest{ReleaseContinuationPoints: true, ContinuationPoints: [][]byte{make([]byte, 16), nil}},
		&ua.TranslateBrowsePathsToNodeIDsRequest{BrowsePaths: []ua.BrowsePath{{
			StartingNode: ua.NumericID(0, id.ObjectsFolder), RelativePath: ua.RelativePath{Elements: []ua.RelativePathElement{
				{ReferenceTypeID: ua.NumericID(0, id.HierarchicalReferences), IncludeSubtypes: true, TargetName: ua.QualifiedName{Name: "Server"}},
				{IsInverse: true, TargetName: ua.QualifiedName{NamespaceIndex: 2, Name: "Node"}},
			}},
		}}},
		&ua.RegisterNodesRequest{NodesToRegister: []ua.NodeID{ua.NumericID(2, 1), ua.OpaqueID(1, []byte{1})}},
		&ua.UnregisterNodesRequest{NodesToUnregister: []ua.NodeID{ua.NumericID(2, 1)}},
		&ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturnBoth, MaxAge: 1, NodesToRead: []ua.ReadValueID{
			value,
			{NodeID: ua.NumericID(2, 22), AttributeID: ua.AttributeIDValue, IndexRange: "0:1", DataEncoding: ua.QualifiedName{Name: "Default Binary"}},
			{NodeID: ua.NumericID(2, 27), AttributeID: ua.AttributeIDValue, IndexRange: "0:1,1:2"},
			{NodeID: ua.NumericID(2, 12), AttributeID: ua.AttributeIDValue, IndexRange: "1"},
			{NodeID: ua.NumericID(2, 31), AttributeID: ua.AttributeIDValue},
		}},
		&ua.ReadRequest{NodesToRead: []ua.ReadValueID{{NodeID: ua.NumericID(2, 29), AttributeID: ua.AttributeIDValue}, {NodeID: ua.GUIDID(3, ua.Guid{1}), AttributeID: 13, IndexRange: "5"}}},
		&ua.CallRequest{MethodsToCall: []ua.CallMethodRequest{
			{ObjectID: ua.NumericID(0, id.ObjectsFolder), MethodID: ua.NumericID(2, 30), InputArguments: []ua.Variant{nested}},
			{ObjectID: ua.NumericID(3, 1), MethodID: ua.NumericID(3, 2), InputArguments: []ua.Variant{ua.VariantOf("x")}},
		}},
		&ua.CallRequest{MethodsToCall: []ua.CallMethodRequest{
			{ObjectID: ua.NumericID(0, id.Server), MethodID: ua.NumericID(0, id.Server_GetMonitoredItems), InputArguments: []ua.Variant{ua.VariantOf(uint32(subscriptionMark))}},
			{ObjectID: ua.NumericID(0, id.Server), MethodID: ua.NumericID(0, id.Server_ResendData), InputArguments: []ua.Variant{ua.VariantOf(uint32(subscriptionMark))}},
			{ObjectID: ua.NumericID(0, id.ObjectsFolder), MethodID: ua.NumericID(2, 32), InputArguments: []ua.Variant{ua.VariantOf(1.5)}},
		}},
		&ua.CreateMonitoredItemsRequest{SubscriptionID: subscriptionMark, ItemsToCreate: []ua.MonitoredItemCreateRequest{
			item(value.NodeID),
			{ItemToMonitor: value, MonitoringMode: ua.MonitoringModeSampling, RequestedParameters: ua.MonitoringParameters{
				ClientHandle: 1, SamplingInterval: -1, QueueSize: 10, DiscardOldest: true,
				Filter: ua.ObjectOf(&ua.DataChangeFilter{Trigger: ua.DataChangeTriggerStatusValueTimestamp, DeadbandType: 1, DeadbandValue: 0.5}),
			}},
			{ItemToMonitor: ua.ReadValueID{NodeID: ua.NumericID(0, id.Server), AttributeID: ua.AttributeIDEventNotifier}, RequestedParameters: ua.MonitoringParameters{
				Filter: ua.ObjectOf(&ua.EventFilter{
					SelectClauses: []ua.SimpleAttributeOperand{{TypeDefinitionID: ua.NumericID(0, id.BaseEventType), BrowsePath: []ua.QualifiedName{{Name: "Message"}}, AttributeID: 13}},
					WhereClause:   ua.ContentFilter{Elements: []ua.ContentFilterElement{{FilterOperator: ua.FilterOperatorAnd, FilterOperands: []ua.ExtensionObject{ua.ObjectOf(&ua.ElementOperand{Index: 0})}}}},
				}),
			}},
			{ItemToMonitor: ua.ReadValueID{NodeID: ua.NumericID(2, 27), AttributeID: 13, IndexRange: "1,0:1"}, MonitoringMode: ua.MonitoringModeReporting},
		}},
		&ua.ModifyMonitoredItemsRequest{SubscriptionID: subscriptionMark, ItemsToModify: []ua.MonitoredItemModifyRequest{{MonitoredItemID: 1, RequestedParameters: ua.MonitoringParameters{QueueSize: 5, SamplingInterval: 1e300}}}},
		&ua.SetMonitoringModeRequest{SubscriptionID: subscriptionMark, MonitoringMode: ua.MonitoringModeDisabled, MonitoredItemIDs: []uint32{1, 2}},
		&ua.SetTriggeringRequest{SubscriptionID: subscriptionMark, TriggeringItemID: 1, LinksToAdd: []uint32{1, 2, 3}, LinksToRemove: []uint32{2}},
		&ua.DeleteMonitoredItemsRequest{SubscriptionID: subscriptionMark, MonitoredItemIDs: []uint32{2, 2}},
		&ua.CreateSubscriptionRequest{RequestedPublishingInterval: 1, RequestedLifetimeCount: 1 << 31, RequestedMaxKeepAliveCount: 1 << 31, PublishingEnabled: true},
		&ua.ModifySubscriptionRequest{SubscriptionID: subscriptionMark, RequestedPublishingInterval: 1e300},
		&ua.SetPublishingModeRequest{PublishingEnabled: true, SubscriptionIDs: []uint32{subscriptionMark}},
		&ua.PublishRequest{SubscriptionAcknowledgements: []ua.SubscriptionAcknowledgement{{SubscriptionID: subscriptionMark, SequenceNumber: 1}}},
		&ua.RepublishRequest{SubscriptionID: subscriptionMark, RetransmitSequenceNumber: 1},
		&ua.TransferSubscriptionsRequest{SubscriptionIDs: []uint32{subscriptionMark, 1}, SendInitialValues: true},
		&ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{subscriptionMark}},
		&ua.QueryFirstRequest{}, &ua.HistoryReadRequest{}, &ua.HistoryUpdateRequest{}, &ua.AddNodesRequest{}, &ua.RegisterServerRequest{},
	}
	write := &ua.WriteRequest{}
	for i, v := range []ua.Variant{
		ua.VariantOf(true), ua.VariantOf(int32(5)), ua.VariantOf("text"), nested, ua.SliceVariant([]int32{1, 2}),
		ua.SliceVariant([]ua.Variant{ua.VariantOf(int8(1))}),
		{},
	} {
		write.NodesToWrite = append(write.NodesToWrite, ua.WriteValue{
			NodeID: ua.NumericID(2, uint32(4*i+1)), AttributeID: ua.AttributeIDValue, IndexRange: []string{"", "0", "0:1"}[i%3], Value: ua.DataValue{Value: v},
		})
	}
	matrix, _ := ua.MatrixVariant([]float64{1, 2}, 1, 2)
	return append(list, write, &ua.WriteRequest{NodesToWrite: []ua.WriteValue{
		{NodeID: ua.NumericID(2, 27), AttributeID: ua.AttributeIDValue, IndexRange: "0,0:1", Value: ua.DataValue{Value: matrix}},
		{NodeID: ua.NumericID(2, 28), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: matrix}},
		{NodeID: ua.NumericID(2, 29), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.VariantOf(int32(1))}},
		{NodeID: ua.NumericID(3, 1), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.VariantOf(int32(1))}},
	}})
}

// raw stands in fuzz inputs for no type id: the input is the whole message, its
// header included.
const raw = uint16(0xFFFF)

// FuzzDispatch sends requests with a valid header and anything behind it to an
// activated session. Nothing may panic, hang, or keep the next request from its
// answer, and every answer must decode.
func FuzzDispatch(f *testing.F) { fuzzDispatch(f) }

// FuzzDispatchUser is FuzzDispatch in the session of a user who has logged in.
func FuzzDispatchUser(f *testing.F) { fuzzDispatch(f, users) }

func fuzzDispatch(f *testing.F, settings ...func(*uahive.Config)) {
	f.Helper()
	for _, req := range seeds() {
		typeID, b := rest(req)
		f.Add(uint16(typeID), b)
		f.Add(raw, rawpeer.Encode(req))
	}
	x := newTarget(f, inMemory, settings...)
	x.tb = fuzzing{f}
	x.connect()
	// A server works on after its answer, and a large queue or history is paid for
	// by the input that asks for it.
	bounds := fuzzguard.Bounds{Time: 5 * time.Second, Base: 32 << 20, Bytes: 2 << 10}
	f.Fuzz(fuzzguard.Guard(f, bounds, func(t *testing.T, typeID uint16, rest []byte) {
		if typeID == raw {
			x.try(t, rest)
			return
		}
		x.try(t, x.body(uint32(typeID), rest))
	}))
}

// Every request that is cut short or has a byte too many is refused with
// BadDecodingError, and the session goes on (threat D8).
func TestThreat_D8_TruncatedRequests(t *testing.T) {
	x := newTarget(t, inMemory)
	x.connect()
	for _, req := range seeds() {
		typeID, b := rest(req)
		step := max(1, len(b)/64)
		for n := 0; n < len(b); n += step {
			x.try(t, x.body(typeID, b[:n]))
		}
		x.try(t, x.body(typeID, append(bytes.Clone(b), 0)))
	}
}
