package attack

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// valueOf names the Value attribute of a node.
func valueOf(node ua.NodeID) ua.ReadValueID {
	return ua.ReadValueID{NodeID: node, AttributeID: ua.AttributeIDValue}
}

// subscribe creates a subscription.
func subscribe(s *rawpeer.Session, interval float64) uint32 {
	return rawpeer.Do[*ua.CreateSubscriptionResponse](s, &ua.CreateSubscriptionRequest{
		RequestedPublishingInterval: interval, RequestedLifetimeCount: 10_000, RequestedMaxKeepAliveCount: 10, PublishingEnabled: true,
	}).SubscriptionID
}

// Small requests for answers larger than anybody takes are refused before the
// answers exist, on every way that an answer may go.
func TestThreat_V2_ResponseAmplification(t *testing.T) {
	x := newTarget(t, onTCP)
	x.watch()
	x.variable("large", make([]float64, 100_000))
	large := valueOf(ua.StringID(2, "large"))
	s := x.open().Session()
	sub := subscribe(s, 1000)
	items := &ua.CreateMonitoredItemsRequest{SubscriptionID: sub, ItemsToCreate: slices.Repeat([]ua.MonitoredItemCreateRequest{item(node(1))}, 10_000)}
	for range 2 {
		rawpeer.Do[*ua.CreateMonitoredItemsResponse](s, items)
	}
	m := measure()
	for name, req := range map[string]ua.Request{
		"Read":          &ua.ReadRequest{NodesToRead: slices.Repeat([]ua.ReadValueID{large}, 10_000)},
		"deferred Read": &ua.ReadRequest{NodesToRead: append(slices.Repeat([]ua.ReadValueID{large}, 9_999), valueOf(node(waitingNode)))},
		"Browse": &ua.BrowseRequest{NodesToBrowse: slices.Repeat([]ua.BrowseDescription{{
			NodeID: ua.NumericID(0, id.PropertyType), BrowseDirection: ua.BrowseDirectionBoth, ResultMask: 63,
		}}, 10_000)},
		"managed Browse": &ua.BrowseRequest{NodesToBrowse: append(slices.Repeat([]ua.BrowseDescription{{
			NodeID: ua.NumericID(0, id.PropertyType), BrowseDirection: ua.BrowseDirectionBoth, ResultMask: 63,
		}}, 9_999), ua.BrowseDescription{NodeID: ua.NumericID(3, 1)})},
		"Call": &ua.CallRequest{MethodsToCall: slices.Repeat([]ua.CallMethodRequest{{
			ObjectID: ua.NumericID(0, id.Server), MethodID: ua.NumericID(0, id.Server_GetMonitoredItems), InputArguments: []ua.Variant{ua.VariantOf(sub)},
		}}, 1000)},
		"deferred Call": &ua.CallRequest{MethodsToCall: append(slices.Repeat([]ua.CallMethodRequest{{
			ObjectID: ua.NumericID(0, id.Server), MethodID: ua.NumericID(0, id.Server_GetMonitoredItems), InputArguments: []ua.Variant{ua.VariantOf(sub)},
		}}, 999), ua.CallMethodRequest{ObjectID: ua.NumericID(0, id.ObjectsFolder), MethodID: node(waitingMethod)})},
		"paths": &ua.TranslateBrowsePathsToNodeIDsRequest{BrowsePaths: slices.Repeat([]ua.BrowsePath{{
			StartingNode: ua.NumericID(0, id.ObjectsFolder), RelativePath: ua.RelativePath{Elements: []ua.RelativePathElement{{
				TargetName: ua.QualifiedName{NamespaceIndex: 2, Name: "Node"},
			}}},
		}}, 10_000)},
	} {
		start := time.Now()
		if code := s.Result(req); code != ua.BadResponseTooLarge && name != "paths" { // those just fit
			t.Errorf("%s: %v", name, code)
		}
		if d := time.Since(start); d > 2*time.Second && !raceEnabled {
			t.Errorf("%s: refused after %v", name, d)
		}
	}
	// A peer that takes little gets a fault, and its channel goes on.
	small := rawpeer.Connect(t, x.dial(), rawpeer.Config{Limits: uasc.Limits{MaxMessage: 20_000, MaxChunks: 2, ReceiveBuffer: 8192}, Patience: 10 * time.Second})
	little := small.Session()
	for _, req := range []ua.Request{
		&ua.ReadRequest{NodesToRead: []ua.ReadValueID{large}}, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{large, valueOf(node(waitingNode))}},
		&ua.BrowseRequest{NodesToBrowse: []ua.BrowseDescription{{NodeID: ua.NumericID(0, id.PropertyType), BrowseDirection: ua.BrowseDirectionBoth, ResultMask: 63}}},
	} {
		if code := little.Result(req); code != ua.BadResponseTooLarge {
			t.Errorf("%T for a small peer: %v", req, code)
		}
	}
	if code := little.Result(readState()); code != ua.Good {
		t.Errorf("the small peer's channel: %v", code)
	}
	m.check(t, 150, 5)
}

// Continuation points are few, secret, of one session and good once, and those
// of an answer that was refused are free again.
func TestThreat_V3_ContinuationPoints(t *testing.T) {
	x := newTarget(t, onTCP)
	s, other := x.open().Session(), x.open().Session()
	browse := func(s *rawpeer.Session, n int) *ua.BrowseResponse {
		return rawpeer.Do[*ua.BrowseResponse](s, &ua.BrowseRequest{RequestedMaxReferencesPerNode: 1, NodesToBrowse: slices.Repeat([]ua.BrowseDescription{{
			NodeID: ua.NumericID(0, id.ObjectsFolder), BrowseDirection: ua.BrowseDirectionForward,
		}}, n)})
	}
	m := measure()
	points := make(map[string]bool)
	var last [][]byte
	for range 200 {
		for _, r := range browse(s, 100).Results {
			if r.StatusCode == ua.Good {
				points[string(r.ContinuationPoint)] = true
				last = append(last, r.ContinuationPoint)
			} else if r.StatusCode != ua.BadNoContinuationPoints || r.ContinuationPoint != nil || len(r.References) > 0 {
				t.Fatalf("%+v", r)
			}
		}
	}
	if len(points) != 50 {
		t.Errorf("%d points", len(points))
	}
	forged := [][]byte{nil, {}, {1}, make([]byte, 16), make([]byte, 100_000), last[0][:15], append(bytes.Clone(last[0]), 0)}
	for i := range 16 {
		b := bytes.Clone(last[0])
		b[i] ^= 1
		forged = append(forged, b)
	}
	next := func(s *rawpeer.Session, release bool, points ...[]byte) []ua.BrowseResult {
		return rawpeer.Do[*ua.BrowseNextResponse](s, &ua.BrowseNextRequest{ContinuationPoints: points, ReleaseContinuationPoints: release}).Results
	}
	for i, r := range append(next(s, false, forged...), next(other, false, last...)...) {
		if r.StatusCode != ua.BadContinuationPointInvalid {
			t.Errorf("forged or foreign point %d: %v", i, r.StatusCode)
		}
	}
	used := next(s, false, last[0], last[0])
	if used[0].StatusCode != ua.Good || used[1].StatusCode != ua.BadContinuationPointInvalid {
		t.Errorf("a point used twice: %v, %v", used[0].StatusCode, used[1].StatusCode)
	}
	for _, r := range next(s, true, last[1:]...) {
		if r.StatusCode != ua.Good {
			t.Errorf("released: %v", r.StatusCode)
		}
	}
	m.check(t, 30, 2)

	// Answers that the client does not take leave no points behind.
	req := x.open().CreateRequest()
	req.MaxResponseMessageSize = 2000
	p := x.open()
	small := p.CreateSessionWith(req)
	if code := small.Activate(nil); code != ua.Good {
		t.Fatal(code)
	}
	for range 10 {
		if code := small.Result(&ua.BrowseRequest{RequestedMaxReferencesPerNode: 1, NodesToBrowse: slices.Repeat([]ua.BrowseDescription{{
			NodeID: ua.NumericID(0, id.ObjectsFolder), ResultMask: 63,
		}}, 40)}); code != ua.BadResponseTooLarge {
			t.Fatal(code)
		}
	}
	if r := browse(small, 1).Results[0]; r.StatusCode != ua.Good {
		t.Errorf("refused answers have used up the points: %v", r.StatusCode)
	}
}

// Paths that bounce through the address space do not hold the server.
func TestThreat_V4_BouncingPaths(t *testing.T) {
	x := newTarget(t, onTCP)
	x.watch()
	folder := x.add(addrspace.NodeSpec{ID: ua.StringID(2, "folder"), Class: ua.NodeClassObject, BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: "Folder"}})
	for i := range 3000 {
		x.add(addrspace.NodeSpec{
			ID: ua.NumericID(2, uint32(1000+i)), Class: ua.NodeClassObject, BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: "Same"},
			Parent: folder.ID(), ReferenceType: ua.NumericID(0, id.Organizes),
		})
	}
	m := measure()
	s := x.open().Session()
	down := ua.RelativePathElement{IncludeSubtypes: true, TargetName: ua.QualifiedName{NamespaceIndex: 2, Name: "Same"}}
	up := ua.RelativePathElement{IncludeSubtypes: true, IsInverse: true, TargetName: ua.QualifiedName{NamespaceIndex: 2, Name: "Folder"}}
	forward := ua.RelativePathElement{ReferenceTypeID: ua.NumericID(0, id.HasTypeDefinition), TargetName: ua.QualifiedName{Name: "PropertyType"}}
	back := forward
	back.IsInverse, back.TargetName.Name = true, "InputArguments"
	start := time.Now()
	for _, path := range []ua.BrowsePath{
		{StartingNode: folder.ID(), RelativePath: ua.RelativePath{Elements: slices.Repeat([]ua.RelativePathElement{down, up}, 50)}},
		{StartingNode: ua.NumericID(0, id.PropertyType), RelativePath: ua.RelativePath{Elements: slices.Repeat([]ua.RelativePathElement{back, forward}, 50)}},
		{StartingNode: ua.NumericID(0, id.PropertyType), RelativePath: ua.RelativePath{Elements: slices.Repeat([]ua.RelativePathElement{back, forward}, 4000)}},
		{StartingNode: ua.NumericID(0, 12_637), RelativePath: ua.RelativePath{Elements: slices.Repeat([]ua.RelativePathElement{back, forward}, 40)}},
	} {
		n := max(1, min(10_000, 3_000_000/(40*len(path.RelativePath.Elements))))
		s.Result(&ua.TranslateBrowsePathsToNodeIDsRequest{BrowsePaths: slices.Repeat([]ua.BrowsePath{path}, n)})
	}
	if d := time.Since(start); d > 12*time.Second && !raceEnabled {
		t.Errorf("four requests took %v", d)
	}
	s.Result(readState())
	m.check(t, 150, 20)
}

// What is written is a copy, of every type and on every way, and what may not be
// written does not change anything.
func TestThreat_V11_WrittenValues(t *testing.T) {
	x := newTarget(t, onTCP)
	s := x.open().Session()
	text := func(c byte) string { return strings.Repeat(string(c), 40) }
	deep := func(c byte) ua.Variant {
		return ua.SliceVariant([]ua.Variant{
			ua.VariantOf(text(c)), ua.VariantOf([]byte(text(c))), ua.VariantOf(ua.XMLElement(text(c))), ua.VariantOf(ua.StringID(2, text(c))),
			ua.VariantOf(ua.ExpandedNodeID{NodeID: ua.OpaqueID(1, []byte(text(c))), NamespaceURI: text(c)}), ua.VariantOf(ua.QualifiedName{Name: text(c)}),
			ua.VariantOf(ua.LocalizedText{Locale: "en", Text: text(c)}), ua.SliceVariant([]string{text(c), text(c)}), ua.SliceVariant([][]byte{[]byte(text(c))}),
			ua.SliceVariant([]int32{int32(c), 2, 3}), ua.SliceVariant([]uint8(text(c))), ua.SliceVariant([]float64{float64(c), 2, 3, 4, 5, 6, 7, 8}),
			ua.VariantOf(ua.ObjectOf(&ua.EUInformation{NamespaceURI: text(c), DisplayName: ua.LocalizedText{Text: text(c)}})),
			ua.VariantOf(ua.ExtensionObject{TypeID: ua.StringID(2, text(c)), Encoding: ua.EncodingBinary, Raw: []byte(text(c))}),
			ua.VariantOf(ua.DataValue{Value: ua.VariantOf(text(c))}),
			ua.VariantOf(ua.DiagnosticInfo{}),
		})
	}
	write := func(n ua.NodeID, attribute ua.AttributeID, rng string, v ua.Variant) ua.StatusCode {
		return rawpeer.Do[*ua.WriteResponse](s, &ua.WriteRequest{NodesToWrite: []ua.WriteValue{{NodeID: n, AttributeID: attribute, IndexRange: rng, Value: ua.DataValue{Value: v}}}}).Results[0]
	}
	overwrite := func() { // the receive buffer, with requests that look the same
		for range 5 {
			s.Result(&ua.WriteRequest{NodesToWrite: []ua.WriteValue{{NodeID: node(9999), AttributeID: 13, Value: ua.DataValue{Value: deep('z')}}}})
			s.Result(&ua.CallRequest{MethodsToCall: []ua.CallMethodRequest{{ObjectID: node(1), MethodID: node(2), InputArguments: []ua.Variant{deep('y')}}}})
		}
	}
	read := func(n ua.NodeID) ua.Variant {
		return rawpeer.Do[*ua.ReadResponse](s, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(n)}}).Results[0].Value
	}
	if code := write(node(anyNode), 13, "", deep('a')); code != ua.Good {
		t.Fatal(code)
	}
	overwrite()
	if got, want := read(node(anyNode)), deep('a'); !got.Equal(want) {
		t.Errorf("written and read: %v, want %v", got, want)
	}
	for _, w := range []struct {
		node uint32
		rng  string
		v    ua.Variant
		want ua.Variant
	}{
		{stringNode, "", ua.VariantOf(text('b')), ua.VariantOf(text('b'))},
		{stringNode, "1:2", ua.VariantOf("XY"), ua.VariantOf("bXY" + text('b')[3:])},
		{bytesNode, "", ua.VariantOf([]byte(text('c'))), ua.VariantOf([]byte(text('c')))},
		{stringArray, "1", ua.SliceVariant([]string{text('d')}), ua.SliceVariant([]string{"a", text('d')})},
		{stringArray, "", ua.SliceVariant([]string{text('e'), "", text('f')}), ua.SliceVariant([]string{text('e'), "", text('f')})},
		{25, "0", ua.SliceVariant([][]byte{[]byte(text('g'))}), ua.SliceVariant([][]byte{[]byte(text('g')), {2}})},
		{arrayNode, "1:2", ua.SliceVariant([]int32{8, 9}), ua.SliceVariant([]int32{1, 8, 9})},
		{16, "", ua.VariantOf(ua.QualifiedName{Name: text('h')}), ua.VariantOf(ua.QualifiedName{Name: text('h')})},
		{17, "", ua.VariantOf(ua.LocalizedText{Text: text('i')}), ua.VariantOf(ua.LocalizedText{Text: text('i')})},
		{15, "", ua.VariantOf(ua.StringID(2, text('j'))), ua.VariantOf(ua.StringID(2, text('j')))},
		{26, "", ua.SliceVariant([]ua.NodeID{ua.StringID(2, text('k'))}), ua.SliceVariant([]ua.NodeID{ua.StringID(2, text('k'))})},
	} {
		if code := write(node(w.node), 13, w.rng, w.v); code != ua.Good {
			t.Errorf("node %d[%s]: %v", w.node, w.rng, code)
			continue
		}
		overwrite()
		if got := read(node(w.node)); !got.Equal(w.want) {
			t.Errorf("node %d[%s]: %v, want %v", w.node, w.rng, got, w.want)
		}
	}
	// Attributes that are no values.
	for attribute, v := range map[ua.AttributeID]ua.Variant{
		ua.AttributeIDDisplayName: ua.VariantOf(ua.LocalizedText{Text: text('l')}), ua.AttributeIDDescription: ua.VariantOf(ua.LocalizedText{Text: text('l')}),
		ua.AttributeIDBrowseName: ua.VariantOf(ua.QualifiedName{Name: text('l')}), ua.AttributeIDNodeID: ua.VariantOf(ua.StringID(1, text('l'))),
	} {
		if code := write(node(1), attribute, "", v); code == ua.Good {
			t.Errorf("attribute %v can be written", attribute)
		}
	}
	before := read(node(arrayNode))
	ranges := []string{"1:0", "9", "99999999999:1", "0,0", ":", "-1", "0:", " 0", "0x1", "1:1", strings.Repeat("0:1,", 200) + "0", strings.Repeat("9", 5000), "4294967295", "0:4294967295", "18446744073709551616"}
	for _, rng := range ranges {
		if code := write(node(arrayNode), 13, rng, ua.SliceVariant([]int32{5, 5})); !code.IsBad() {
			t.Errorf("range %.20q: %v", rng, code)
		}
		for n := uint32(1); n <= lastNode; n++ {
			s.Result(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{{NodeID: node(n), AttributeID: 13, IndexRange: rng}}})
		}
	}
	for _, v := range []ua.Variant{ua.VariantOf("1"), ua.VariantOf(int32(1)), ua.SliceVariant([]int64{1}), ua.VariantOf(1.5)} {
		if code := write(node(arrayNode), 13, "", v); !code.IsBad() {
			t.Errorf("a value of %v: %v", v.Type(), code)
		}
	}
	if after := read(node(arrayNode)); !after.Equal(before) {
		t.Errorf("refused writes changed %v to %v", before, after)
	}
}

// Methods with too few, too many or wrong arguments; methods that panic, and that
// wait until their session or channel is gone.
func TestThreat_V12_R2_Calls(t *testing.T) {
	x := newTarget(t, onTCP)
	began, ended := make(chan struct{}, 100), make(chan struct{}, 100)
	method := func(name string, run addrspace.MethodFunc) ua.NodeID {
		return x.add(addrspace.NodeSpec{
			ID: ua.StringID(2, name), Class: ua.NodeClassMethod, BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: name},
			ReferenceType: ua.NumericID(0, id.HasComponent), Method: &addrspace.Method{Func: run},
		}).ID()
	}
	wait := method("wait", func(ctx context.Context, _ *addrspace.Call) error {
		began <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return ctx.Err()
	})
	call := func(m ua.NodeID, args ...ua.Variant) *ua.CallRequest {
		return &ua.CallRequest{MethodsToCall: []ua.CallMethodRequest{{ObjectID: ua.NumericID(0, id.ObjectsFolder), MethodID: m, InputArguments: args}}}
	}
	s := x.open().Session()
	for name, args := range map[string][]ua.Variant{
		"none": nil, "text": {ua.VariantOf("x")}, "two": {ua.VariantOf(uint32(1)), ua.VariantOf(uint32(1))}, "null": {{}}, "signed": {ua.VariantOf(int32(1))},
		"array": {ua.SliceVariant([]uint32{1})}, "unknown": {ua.VariantOf(uint32(1))},
	} {
		for _, m := range []uint32{id.Server_GetMonitoredItems, id.Server_ResendData} {
			req := call(ua.NumericID(0, m), args...)
			req.MethodsToCall[0].ObjectID = ua.NumericID(0, id.Server)
			if code := rawpeer.Do[*ua.CallResponse](s, req).Results[0].StatusCode; !code.IsBad() {
				t.Errorf("%s: %v", name, code)
			}
		}
	}
	for name, stop := range map[string]func(s *rawpeer.Session, n uint32){
		"kill":   func(s *rawpeer.Session, _ uint32) { s.Conn.Close() },
		"close":  func(s *rawpeer.Session, _ uint32) { s.Close() },
		"cancel": func(s *rawpeer.Session, _ uint32) { s.Result(&ua.CancelRequest{RequestHandle: 4711}) },
		"CLO": func(s *rawpeer.Session, n uint32) {
			s.Conn.Write(s.Seal(uasc.TypeClose, n+1, rawpeer.Encode(&ua.CloseSecureChannelRequest{})))
		},
	} {
		s := x.open().Session()
		req := call(wait)
		req.RequestHeader.RequestHandle = 4711
		n := s.Start(req)
		<-began
		stop(s, n)
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			t.Errorf("%s: the method goes on", name)
		}
	}
	// Many at once, and then the connection goes.
	s = x.open().Session()
	for range 300 {
		s.Start(call(wait))
	}
	<-began
	s.Conn.Close()
	eventually(t, "the pool is free", func() bool { n := x.server.Stats(); return n.Pool.Active == 0 && n.Pool.Waiting == 0 })
	s = x.open().Session()
	if code := s.Result(call(node(waitingMethod))); code != ua.Good {
		t.Error(code)
	}
}

// Nodes come and go while they are browsed, read, watched and translated.
func TestThreat_V13_NodesUnderClients(t *testing.T) {
	x := newTarget(t, onTCP)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := uint32(0); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			n := ua.NumericID(2, 5000+i%50)
			if i%100 < 50 {
				x.server.Space().AddNode(addrspace.NodeSpec{
					ID: n, Class: ua.NodeClassVariable, BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: fmt.Sprint("n", i%50)},
					Parent: ua.NumericID(0, id.ObjectsFolder), Value: ua.VariantOf(int32(i)), AccessLevel: addrspace.ReadWrite,
				})
			} else {
				x.server.Space().RemoveNode(n)
			}
		}
	}()
	s := x.open().Session()
	sub := subscribe(s, 10)
	for i := range 150 {
		n := ua.NumericID(2, 5000+uint32(i%50))
		b := rawpeer.Do[*ua.BrowseResponse](s, &ua.BrowseRequest{RequestedMaxReferencesPerNode: 10, NodesToBrowse: []ua.BrowseDescription{
			{NodeID: ua.NumericID(0, id.ObjectsFolder), ResultMask: 63}, {NodeID: n, BrowseDirection: ua.BrowseDirectionBoth, ResultMask: 63},
		}})
		for point := b.Results[0].ContinuationPoint; point != nil; {
			point = rawpeer.Do[*ua.BrowseNextResponse](s, &ua.BrowseNextRequest{ContinuationPoints: [][]byte{point}}).Results[0].ContinuationPoint
		}
		s.Result(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(n), {NodeID: n, AttributeID: 4}}})
		s.Result(&ua.WriteRequest{NodesToWrite: []ua.WriteValue{{NodeID: n, AttributeID: 13, Value: ua.DataValue{Value: ua.VariantOf(int32(i))}}}})
		s.Result(&ua.CreateMonitoredItemsRequest{SubscriptionID: sub, ItemsToCreate: []ua.MonitoredItemCreateRequest{item(n)}})
		s.Result(&ua.TranslateBrowsePathsToNodeIDsRequest{BrowsePaths: []ua.BrowsePath{{StartingNode: ua.NumericID(0, id.ObjectsFolder), RelativePath: ua.RelativePath{
			Elements: []ua.RelativePathElement{{IncludeSubtypes: true, TargetName: ua.QualifiedName{NamespaceIndex: 2, Name: fmt.Sprint("n", i%50)}}},
		}}}})
		if i%10 == 0 {
			s.Start(&ua.PublishRequest{})
		}
	}
	close(stop)
	<-stopped
}

// RegisterNodes, Cancel and what is not served.
func TestThreat_V15_RegisterAndCancel(t *testing.T) {
	x := newTarget(t, onTCP)
	s, other := x.open().Session(), x.open().Session()
	m := measure()
	refused := 0
	for range 30 {
		if code := s.Result(&ua.RegisterNodesRequest{NodesToRegister: slices.Repeat([]ua.NodeID{node(1)}, 10_000)}); code.IsBad() {
			refused++
		}
	}
	m.check(t, 60, 2)
	if refused != 20 {
		t.Errorf("%d of 30 were refused", refused)
	}
	sub := subscribe(other, 10_000)
	_ = sub
	other.Start(&ua.PublishRequest{RequestHeader: ua.RequestHeader{RequestHandle: 99}})
	for range 1000 {
		if n := rawpeer.Do[*ua.CancelResponse](s, &ua.CancelRequest{RequestHandle: 99}).CancelCount; n != 0 {
			t.Fatalf("%d requests of another session were cancelled", n)
		}
	}
	for _, req := range []ua.Request{&ua.QueryFirstRequest{}, &ua.QueryNextRequest{}, &ua.HistoryReadRequest{}, &ua.AddNodesRequest{}, &ua.DeleteNodesRequest{}} {
		if code := s.Result(req); code != ua.BadServiceUnsupported {
			t.Errorf("%T: %v", req, code)
		}
	}
}

// What clients say goes into the log quoted and short, and a flood of refusals
// does not flood it.
func TestThreat_V16_Log(t *testing.T) {
	x := newTarget(t, onTCP)
	evil := "\r\n\x1b[31m2026-01-01 ERROR forged\x00" + strings.Repeat("A", 50_000)
	p := x.open()
	s := &rawpeer.Session{Peer: p}
	for range 300 {
		req := p.CreateRequest()
		req.ServerURI, req.SessionName, req.ClientDescription.ApplicationURI = evil, evil, evil[:4000]
		s.Result(req)
	}
	fresh := p.CreateSession()
	for range 300 {
		fresh.Activate(&ua.UserNameIdentityToken{PolicyID: evil, UserName: evil})
	}
	for range 300 {
		q := x.bare()
		q.Hello()
		frame := append([]byte("OPNF"), 0, 0, 0, 0, 0, 0, 0, 0)
		frame = append(frame, 40, 0, 0, 0)
		frame = append(frame, evil[:40]...)
		frame = append(frame, bytes.Repeat([]byte{0xFF}, 8)...)
		frame = append(frame, make([]byte, 16)...)
		frame[4] = byte(len(frame))
		q.Conn.Write(frame)
		q.Conn.Close()
	}
	time.Sleep(100 * time.Millisecond)
	log := x.log.String()
	if strings.ContainsAny(log, "\r\x1b\x00") || strings.Contains(log, "\n2026") {
		t.Error("control characters are in the log")
	}
	for _, line := range strings.Split(log, "\n") {
		if len(line) > 4096 {
			t.Errorf("a line of %d bytes: %.200s", len(line), line)
			break
		}
	}
	if n := strings.Count(log, "\n"); n > 400 {
		t.Errorf("%d lines for 900 refusals", n)
	}
}

// One request that asks for the same large piece of work a thousand times over
// does not hold a core for long.
func TestThreat_V12_RepeatedWork(t *testing.T) {
	x := newTarget(t, onTCP, func(c *uahive.Config) { c.Limits.Services.ServeTime = 500 * time.Millisecond })
	x.watch()
	m := measure()
	s := rawpeer.Connect(t, x.dial(), x.secure(uasc.Basic256Sha256, uasc.ModeSign)).Session()
	sub := subscribe(s, 60_000)
	items := slices.Repeat([]ua.MonitoredItemCreateRequest{item(node(1))}, 10_000)
	for range 5 {
		rawpeer.Do[*ua.CreateMonitoredItemsResponse](s, &ua.CreateMonitoredItemsRequest{SubscriptionID: sub, ItemsToCreate: items})
	}
	for name, req := range map[string]ua.Request{
		"transfer": &ua.TransferSubscriptionsRequest{SubscriptionIDs: slices.Repeat([]uint32{sub}, 10_000), SendInitialValues: true},
		"resend": &ua.CallRequest{MethodsToCall: slices.Repeat([]ua.CallMethodRequest{{
			ObjectID: ua.NumericID(0, id.Server), MethodID: ua.NumericID(0, id.Server_ResendData), InputArguments: []ua.Variant{ua.VariantOf(sub)},
		}}, 1000)},
		"write": &ua.WriteRequest{NodesToWrite: func() (ops []ua.WriteValue) {
			for i := range 10_000 {
				ops = append(ops, ua.WriteValue{NodeID: node(1), AttributeID: 13, Value: ua.DataValue{Value: ua.VariantOf(i%2 == 0)}})
			}
			return ops
		}()},
	} {
		start := time.Now()
		if code := s.Result(req); code != ua.Good {
			t.Errorf("%s: %v", name, code)
		}
		if d := time.Since(start); d > 4*time.Second && !raceEnabled {
			t.Errorf("%s took %v", name, d)
		}
	}
	m.check(t, 200, 100) // 50,000 items
}
