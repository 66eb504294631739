package attack

import (
	"bytes"
	"encoding/binary"
	"math"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// Lengths that lie, at every place of every request: nothing is allocated for
// what is not there.
func TestThreat_D1_LyingLengths(t *testing.T) {
	x := newTarget(t, inMemory)
	x.connect()
	sent := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, req := range seeds() {
		typeID, b := rest(req)
		for at := 0; at+4 <= len(b); at += 1 + len(b)/300 {
			for _, n := range []int32{-2, math.MinInt32, math.MaxInt32, 0x00FF_FFFF, 0x1000} {
				bad := bytes.Clone(b)
				binary.LittleEndian.PutUint32(bad[at:], uint32(n))
				body := x.body(typeID, bad)
				x.try(t, body)
				sent += len(body)
			}
		}
	}
	runtime.ReadMemStats(&after)
	// What the test's own peer allocates is in this too.
	if n := int(after.TotalAlloc - before.TotalAlloc); n > 200*sent {
		t.Errorf("%d bytes were allocated for %d sent", n, sent)
	}
}

// nested returns Variants, DataValues, ExtensionObjects or DiagnosticInfos in one
// another, as bytes, since no encoder makes them.
func nested(kind string, depth int) []byte {
	var b []byte
	switch kind {
	case "Variant": // an array of one Variant in an array of one Variant
		b = bytes.Repeat([]byte{0x98, 1, 0, 0, 0}, depth)
		return append(b, 0)
	case "DataValue": // a Variant that is a DataValue that has a Variant
		b = bytes.Repeat([]byte{23, 1}, depth)
		return append(b, 0)
	case "DiagnosticInfo": // a Variant that is a DiagnosticInfo
		b = append(b, 25)
		b = append(b, bytes.Repeat([]byte{0x40}, depth)...)
		return append(b, 0)
	case "ExtensionObject": // a ContentFilterElement with an operand that is one
		inner := []byte{0, 0, 0}
		for range depth {
			body := binary.LittleEndian.AppendUint32(nil, uint32(ua.FilterOperatorNot))
			body = binary.LittleEndian.AppendUint32(body, 1)
			body = append(body, inner...)
			next := ua.NumericID(0, id.ContentFilterElement_Encoding_DefaultBinary).AppendTo(nil)
			next = append(next, 1)
			next = binary.LittleEndian.AppendUint32(next, uint32(len(body)))
			inner = append(next, body...)
		}
		return append([]byte{22}, inner...)
	}
	panic(kind)
}

// Nesting without end is refused with a code, before it can overflow a stack,
// wherever a value may stand.
func TestThreat_D2_Nesting(t *testing.T) {
	x := newTarget(t, onTCP)
	s := x.open().Session()
	depths := map[string][]int{
		"Variant": {40, 99, 101, 1000, 12_000}, "DataValue": {40, 99, 101, 1000, 30_000}, "DiagnosticInfo": {11, 1000, 60_000},
		"ExtensionObject": {101, 500},
	}
	for kind, list := range depths {
		for _, depth := range list {
			value := nested(kind, depth)
			call := ua.NumericID(0, id.CallRequest_Encoding_DefaultBinary).AppendTo(nil)
			header := ua.RequestHeader{AuthenticationToken: s.Token, RequestHandle: 1}
			call = header.AppendTo(call)
			call = binary.LittleEndian.AppendUint32(call, 1)
			call = ua.NumericID(0, id.ObjectsFolder).AppendTo(call)
			call = node(waitingMethod).AppendTo(call)
			call = binary.LittleEndian.AppendUint32(call, 1)
			call = append(call, value...)
			code := s.ResultOf(s.SendBody(call))
			if depth >= 101 && code != ua.BadEncodingLimitsExceeded && code != ua.BadDecodingError {
				t.Errorf("%d levels of %s: %v", depth, kind, code)
			}
			if depth < 50 && kind != "DiagnosticInfo" && code != ua.Good {
				t.Errorf("%d levels of %s: %v", depth, kind, code)
			}

			write := ua.NumericID(0, id.WriteRequest_Encoding_DefaultBinary).AppendTo(nil)
			write = header.AppendTo(write)
			write = binary.LittleEndian.AppendUint32(write, 1)
			write = node(anyNode).AppendTo(write)
			write = append(write, 13, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 1)
			code = s.ResultOf(s.SendBody(append(write, value...)))
			if depth >= 101 && code == ua.Good {
				t.Errorf("%d levels of %s are written", depth, kind)
			}
			// Whatever was written can be read, watched, compared and written again.
			read := rawpeer.Do[*ua.ReadResponse](s, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{{NodeID: node(anyNode), AttributeID: 13}}})
			s.Result(&ua.WriteRequest{NodesToWrite: []ua.WriteValue{{NodeID: node(anyNode), AttributeID: 13, Value: read.Results[0]}}})
		}
	}
	// Before any session: in the additional header, which everybody may send.
	for kind, list := range depths {
		p := x.open()
		for _, depth := range list {
			body := ua.NumericID(0, id.GetEndpointsRequest_Encoding_DefaultBinary).AppendTo(nil)
			header := ua.RequestHeader{RequestHandle: 1}
			body = header.AppendTo(body)
			body = body[:len(body)-3] // the null object at its end
			inner := nested(kind, depth)
			// A structure with one Variant in it: an AttributeOperand has none, a LiteralOperand does.
			body = ua.NumericID(0, id.LiteralOperand_Encoding_DefaultBinary).AppendTo(body)
			body = append(body, 1)
			body = binary.LittleEndian.AppendUint32(body, uint32(len(inner)))
			body = append(body, inner...)
			body = append(body, bytes.Repeat([]byte{0xFF}, 12)...)
			n := p.SendBody(body)
			answer, ok := p.Wait(n).(ua.Response)
			if code := answer.Header().ServiceResult; !ok || depth >= 101 && code == ua.Good {
				t.Errorf("%d levels of %s in a header: %v", depth, kind, code)
			}
		}
	}
}

// Dimensions that do not fit the elements are no value.
func TestThreat_D3_Dimensions(t *testing.T) {
	x := newTarget(t, inMemory)
	x.connect()
	matrix := func(flags byte, elements int32, dims ...int32) []byte {
		b := []byte{byte(ua.TypeInt32) | flags}
		if flags&0x80 != 0 {
			b = binary.LittleEndian.AppendUint32(b, uint32(elements))
			for range max(0, min(elements, 16)) {
				b = append(b, 1, 0, 0, 0)
			}
		} else {
			b = append(b, 1, 0, 0, 0)
		}
		if flags&0x40 != 0 {
			b = binary.LittleEndian.AppendUint32(b, uint32(len(dims)))
			for _, d := range dims {
				b = binary.LittleEndian.AppendUint32(b, uint32(d))
			}
		}
		return b
	}
	for name, value := range map[string][]byte{
		"product": matrix(0xC0, 4, 2, 3), "overflow": matrix(0xC0, 4, 65_536, 65_536), "overflow to 4": matrix(0xC0, 4, 0x4000_0001, 4),
		"64 bits": matrix(0xC0, 4, math.MaxInt32, math.MaxInt32, math.MaxInt32), "negative": matrix(0xC0, 4, -2, -2), "zero": matrix(0xC0, 4, 0, 4),
		"no array": matrix(0x40, 0, 1, 1), "null with dimensions": matrix(0xC0, -1, 2, 2), "empty": matrix(0xC0, 0, math.MaxInt32, 0),
		"many": append(matrix(0xC0, 4), 0xFF, 0xFF, 0xFF, 0x7F), "lying count": append(matrix(0x80, 4)[:21], 0x00, 0x00, 0x10, 0x00),
	} {
		write := binary.LittleEndian.AppendUint32(nil, 1)
		write = node(anyNode).AppendTo(write)
		write = append(write, 13, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 1)
		x.try(t, x.body(id.WriteRequest_Encoding_DefaultBinary, append(write, value...)))
		read := rawpeer.Do[*ua.ReadResponse](x.session, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{{NodeID: node(anyNode), AttributeID: 13}}})
		v := read.Results[0].Value
		if dims := v.Dimensions(); len(dims) > 1 {
			product := int64(1)
			for _, d := range dims {
				product *= int64(d)
			}
			if product != int64(v.Len()) {
				t.Errorf("%s: a value with dimensions %v and %d elements", name, dims, v.Len())
			}
		}
	}
}

// An ExtensionObject is as long as it says, and of a type that fits its place.
func TestThreat_D4_ExtensionObjects(t *testing.T) {
	x := newTarget(t, onTCP)
	s := x.open().CreateSession()
	token := &ua.AnonymousIdentityToken{PolicyID: "anonymous"}
	body := token.AppendTo(nil)
	object := func(typeID uint32, encoding byte, length int32, body []byte) []byte {
		b := ua.NumericID(0, typeID).AppendTo(nil)
		b = append(b, encoding)
		if encoding == 1 || encoding == 2 {
			b = binary.LittleEndian.AppendUint32(b, uint32(length))
		}
		return append(b, body...)
	}
	known, n := uint32(id.AnonymousIdentityToken_Encoding_DefaultBinary), int32(len(body))
	for name, bad := range map[string][]byte{
		"short": object(known, 1, n-1, body), "long": object(known, 1, n+1, body), "longer body": object(known, 1, n+3, append(bytes.Clone(body), 1, 2, 3)),
		"negative": object(known, 1, -2, body), "null": object(known, 1, -1, nil), "huge": object(known, 1, math.MaxInt32, body),
		"encoding 3": object(known, 3, n, body), "encoding 255": object(known, 255, n, body), "xml": object(known, 2, n, body),
		"unknown": object(12_345, 1, n, body), "other slot": object(id.DataChangeFilter_Encoding_DefaultBinary, 1, 16, make([]byte, 16)),
		"no body": object(known, 0, 0, nil), "request": object(id.ReadRequest_Encoding_DefaultBinary, 1, 4, make([]byte, 4)),
	} {
		activate := ua.NumericID(0, id.ActivateSessionRequest_Encoding_DefaultBinary).AppendTo(nil)
		header := ua.RequestHeader{AuthenticationToken: s.Token, RequestHandle: 1}
		activate = header.AppendTo(activate)
		activate = (&ua.SignatureData{}).AppendTo(activate)
		activate = append(activate, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF)
		activate = append(activate, bad...)
		activate = (&ua.SignatureData{}).AppendTo(activate)
		if code := s.ResultOf(s.SendBody(activate)); !code.IsBad() {
			t.Errorf("%s: %v", name, code)
		}
	}
	if code := s.Activate(token); code != ua.Good {
		t.Errorf("the session was harmed: %v", code)
	}
}

// Texts that are none come to no harm in values, names and logs.
func TestThreat_D5_Texts(t *testing.T) {
	x := newTarget(t, inMemory)
	x.connect()
	for _, text := range []string{
		"\xff\xfe", "a\x00b", "\xc0\xaf", "\xc8", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\u202e\u2028", "\r\n\x1b[31m", strings.Repeat("\xf0\x9f\x98\x80", 5000),
	} {
		for _, n := range []uint32{stringNode, anyNode} {
			x.try(t, x.body(rest(&ua.WriteRequest{NodesToWrite: []ua.WriteValue{
				{NodeID: node(n), AttributeID: 13, Value: ua.DataValue{Value: ua.VariantOf(text)}},
			}})))
		}
		x.try(t, x.body(rest(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{
			{NodeID: node(stringNode), AttributeID: 13, IndexRange: text},
			{NodeID: node(stringNode), AttributeID: 13, DataEncoding: ua.QualifiedName{Name: text}},
			{NodeID: ua.StringID(2, text), AttributeID: 13},
			{NodeID: node(anyNode), AttributeID: 13},
		}})))
		x.try(t, x.body(rest(&ua.TranslateBrowsePathsToNodeIDsRequest{BrowsePaths: []ua.BrowsePath{{
			StartingNode: ua.NumericID(0, 85), RelativePath: ua.RelativePath{Elements: []ua.RelativePathElement{{TargetName: ua.QualifiedName{Name: text}}}},
		}}})))
	}
}

// numbers are what a Double may be.
var numbers = []float64{
	0, -1, 1, 0.4, 1e-300, 1e300, -1e300, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
	9_223_372_036_854, 9_223_372_036_855, 1 << 32, 1 << 53, 1 << 63, math.MaxInt64 / 1e6,
}

// Every number is revised to one that works, or refused with a code.
func TestThreat_D6_D7_Numbers(t *testing.T) {
	x := newTarget(t, inMemory)
	x.connect()
	counts := []uint32{0, 1, 2, 1 << 31, math.MaxUint32}
	for i, v := range numbers {
		n := counts[i%len(counts)]
		for _, req := range []ua.Request{
			&ua.CreateSubscriptionRequest{RequestedPublishingInterval: v, RequestedLifetimeCount: n, RequestedMaxKeepAliveCount: counts[(i+1)%5], MaxNotificationsPerPublish: n, PublishingEnabled: true, Priority: byte(n)},
			&ua.ModifySubscriptionRequest{SubscriptionID: subscriptionMark, RequestedPublishingInterval: v, RequestedLifetimeCount: n, RequestedMaxKeepAliveCount: n},
			&ua.CreateSessionRequest{ClientNonce: make([]byte, 32), RequestedSessionTimeout: v, MaxResponseMessageSize: n},
			&ua.ReadRequest{MaxAge: v, TimestampsToReturn: ua.TimestampsToReturn(n), NodesToRead: []ua.ReadValueID{{NodeID: node(int32Node), AttributeID: ua.AttributeID(n)}}},
			&ua.CreateMonitoredItemsRequest{SubscriptionID: subscriptionMark, ItemsToCreate: []ua.MonitoredItemCreateRequest{
				{ItemToMonitor: ua.ReadValueID{NodeID: node(11), AttributeID: 13}, MonitoringMode: ua.MonitoringMode(i % 4), RequestedParameters: ua.MonitoringParameters{
					SamplingInterval: v, QueueSize: n,
					Filter: ua.ObjectOf(&ua.DataChangeFilter{Trigger: ua.DataChangeTrigger(i % 5), DeadbandType: n, DeadbandValue: v}),
				}},
				{ItemToMonitor: ua.ReadValueID{NodeID: node(waitingNode), AttributeID: 13}, MonitoringMode: 2, RequestedParameters: ua.MonitoringParameters{SamplingInterval: v, QueueSize: n}},
			}},
			&ua.ModifyMonitoredItemsRequest{SubscriptionID: subscriptionMark, ItemsToModify: []ua.MonitoredItemModifyRequest{{MonitoredItemID: 1, RequestedParameters: ua.MonitoringParameters{
				SamplingInterval: v, QueueSize: n, Filter: ua.ObjectOf(&ua.DataChangeFilter{Trigger: 1, DeadbandType: 1, DeadbandValue: v}),
			}}}},
			&ua.WriteRequest{NodesToWrite: []ua.WriteValue{{NodeID: node(11), AttributeID: 13, Value: ua.DataValue{
				Value: ua.VariantOf(v), SourceTimestamp: ua.DateTime(int64(n) << 31), ServerTimestamp: math.MinInt64, SourcePicoseconds: 0xFFFF,
			}}}},
			&ua.BrowseRequest{RequestedMaxReferencesPerNode: n, View: ua.ViewDescription{Timestamp: math.MaxInt64, ViewVersion: n}, NodesToBrowse: []ua.BrowseDescription{
				{NodeID: ua.NumericID(0, 85), BrowseDirection: ua.BrowseDirection(n), NodeClassMask: n, ResultMask: n},
			}},
		} {
			h := req.Header()
			h.TimeoutHint, h.ReturnDiagnostics = n, n
			x.try(t, x.body(rest(req)))
		}
	}
	if n := x.server.Stats().Goroutines["subscription"]; n == 0 {
		t.Error("no subscription was made")
	}
}

// Any type id, of a request, a response, an abstract type or none, gets an answer.
func TestThreat_D9_TypeIDs(t *testing.T) {
	x := newTarget(t, inMemory)
	x.connect()
	close := uint32(id.CloseSessionRequest_Encoding_DefaultBinary)
	for n := uint32(0); n < 33_000; n += 1 + n/20_000*7 {
		if n != close {
			x.try(t, x.body(n, nil))
		}
	}
	for _, typeID := range []ua.NodeID{
		{}, ua.StringID(0, "ReadRequest"), ua.GUIDID(7, ua.Guid{}), ua.OpaqueID(0, make([]byte, 30_000)), ua.NumericID(9, 631), ua.NumericID(0, math.MaxUint32),
	} {
		x.try(t, typeID.AppendTo(nil))
		x.try(t, append(typeID.AppendTo(nil), make([]byte, 100)...))
	}
	for first := range 256 {
		for _, n := range []int{0, 1, 3, 7, 40} {
			x.try(t, append([]byte{byte(first)}, make([]byte, n)...))
		}
	}
}

// A header may say anything; the answer says nothing about the server's inside.
func TestThreat_D10_RequestHeaders(t *testing.T) {
	x := newTarget(t, onTCP)
	s := x.open().Session()
	tape := &listener{Conn: s.Conn}
	s.Conn = tape
	long := strings.Repeat("x", 60_000)
	for i, token := range []ua.NodeID{s.Token, {}, ua.StringID(0, long), ua.OpaqueID(1, []byte(long)), ua.NumericID(0, 1)} {
		for _, header := range []ua.RequestHeader{
			{Timestamp: 0, ReturnDiagnostics: math.MaxUint32, AuditEntryID: long},
			{Timestamp: math.MaxInt64, TimeoutHint: 1, ReturnDiagnostics: 0x3FF},
			{Timestamp: math.MinInt64, AdditionalHeader: ua.ObjectOf(&ua.EphemeralKeyType{PublicKey: []byte(long)})},
			{AdditionalHeader: ua.ExtensionObject{TypeID: ua.StringID(7, "x"), Encoding: 1, Raw: []byte(long)}},
		} {
			header.AuthenticationToken = token
			for _, req := range []ua.Request{
				readState(), &ua.BrowseRequest{}, &ua.CallRequest{MethodsToCall: []ua.CallMethodRequest{{ObjectID: node(1), MethodID: node(waitingMethod)}}},
				&ua.CreateSubscriptionRequest{}, &ua.GetEndpointsRequest{EndpointURL: long}, &ua.PublishRequest{}, &ua.WriteRequest{NodesToWrite: make([]ua.WriteValue, 1)},
			} {
				*req.Header() = header
				n := s.SendBody(rawpeer.Encode(req))
				answer := s.Wait(n).(ua.Response).Header()
				if !emptyDiagnostics(answer) {
					t.Errorf("token %d: diagnostics in %+v", i, answer)
				}
			}
		}
	}
	leaks(t, tape.got.Bytes())
}

func emptyDiagnostics(h *ua.ResponseHeader) bool {
	return len(h.StringTable) == 0 && len((&h.ServiceDiagnostics).AppendTo(nil)) == 1
}

// listener keeps what is received.
type listener struct {
	net.Conn
	got bytes.Buffer
}

func (l *listener) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	l.got.Write(b[:n])
	return n, err
}

// Requests as large as they may be, full of what is small on the wire and large
// in memory, are served one by one.
func TestThreat_D1_Amplification(t *testing.T) {
	x := newTarget(t, onTCP)
	x.watch()
	m := measure()
	rounds, elements := scale(1, 4), 1<<20
	if raceEnabled {
		rounds, elements = 1, 1<<16
	}
	variants := func(n int) []byte { // a Variant with n null Variants
		b := binary.LittleEndian.AppendUint32([]byte{byte(ua.TypeVariant) | 0x80}, uint32(n))
		return append(b, make([]byte, n)...)
	}
	infos := func(n int) []byte { // a Variant with n empty DiagnosticInfos
		b := binary.LittleEndian.AppendUint32([]byte{byte(ua.TypeDiagnosticInfo) | 0x80}, uint32(n))
		return append(b, make([]byte, n)...)
	}
	var peers sync.WaitGroup
	for i, value := range [][]byte{variants(elements), infos(elements), variants(elements), infos(elements)} {
		for range rounds {
			p := x.open()
			s := p.Session()
			header := ua.RequestHeader{AuthenticationToken: s.Token}
			body := header.AppendTo(ua.NumericID(0, id.WriteRequest_Encoding_DefaultBinary).AppendTo(nil))
			if i%2 == 0 {
				body = header.AppendTo(ua.NumericID(0, id.CallRequest_Encoding_DefaultBinary).AppendTo(nil))
				body = binary.LittleEndian.AppendUint32(body, 1)
				body = node(waitingMethod).AppendTo(ua.NumericID(0, id.ObjectsFolder).AppendTo(body))
			}
			body = binary.LittleEndian.AppendUint32(body, 3)
			for range 3 {
				if i%2 == 1 {
					body = node(anyNode).AppendTo(body)
					body = append(body, 13, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 1)
				}
				body = append(body, value...)
			}
			frames := p.Seal(uasc.TypeMessage, p.NextID(), body)
			peers.Go(func() {
				p.Conn.Write(frames)
				for p.Frame()[3] != 'F' { // not decoded, as the test has no memory for it
				}
			})
		}
	}
	peers.Wait()
	s := x.open().Session()
	s.Result(&ua.WriteRequest{NodesToWrite: []ua.WriteValue{{NodeID: node(anyNode), AttributeID: 13, Value: ua.DataValue{Value: ua.VariantOf(true)}}}})
	m.check(t, 1300, 100)
}

// Strangers, who have no session, cannot have the server decode what is large in
// memory by sending much at once.
func TestThreat_D1_StrangersAmplification(t *testing.T) {
	x := newTarget(t, onTCP)
	x.watch()
	value := binary.LittleEndian.AppendUint32([]byte{byte(ua.TypeVariant) | 0x80}, 240_000)
	value = append(value, make([]byte, 240_000)...)
	header := ua.RequestHeader{RequestHandle: 1}
	body := header.AppendTo(ua.NumericID(0, id.GetEndpointsRequest_Encoding_DefaultBinary).AppendTo(nil))
	body = body[:len(body)-3] // the null object at its end
	body = ua.NumericID(0, id.LiteralOperand_Encoding_DefaultBinary).AppendTo(body)
	body = binary.LittleEndian.AppendUint32(append(body, 1), uint32(len(value)))
	body = append(body, value...)
	body = append(body, bytes.Repeat([]byte{0xFF}, 12)...)
	m := measure()
	var peers sync.WaitGroup
	for range 100 {
		p := x.open()
		peers.Go(func() {
			for range scale(1, 20) {
				p.Conn.Write(p.Seal(uasc.TypeMessage, p.NextID(), body))
				for p.Frame()[3] != 'F' {
				}
			}
		})
	}
	peers.Wait()
	m.check(t, 250, 10)
}
