package uahive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/pki"
)

// works is a server with nodes for everybody, for operators and for
// administrators, and users of each kind (threats.md U11).
type works struct {
	offices
	ns     *uahive.Namespace
	recipe *uahive.Variable[int32]
	speed  *uahive.Variable[int32]
}

func newWorks(t *testing.T, change func(*uahive.Config)) *works {
	t.Helper()
	config := uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:0", PKI: "memory", TrustAll: true, ShutdownDelay: -1, Anonymous: true,
		Security: []uahive.Security{uahive.NoSecurity, uahive.Basic256Sha256Sign, uahive.Basic256Sha256Encrypt},
		Authenticate: func(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
			return &uahive.User{Name: c.UserName}, nil
		},
		Roles: []uahive.RoleMapping{
			{Role: uahive.Operator, Identities: []uahive.IdentityRule{uahive.ByUserName("operator")}},
			{Role: uahive.SecurityAdmin, Identities: []uahive.IdentityRule{uahive.ByUserName("admin")}},
			{Role: uahive.CustomRole("Maintenance")},
		},
	}
	if change != nil {
		change(&config)
	}
	srv, err := uahive.New(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &works{offices: offices{t: t, srv: srv}, ns: srv.Namespace("urn:works")}
	w.build()
	if err := srv.Err(); err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.ServeListener(context.Background(), l) }()
	t.Cleanup(func() {
		srv.Close()
		<-ended
	})
	if w.store, err = pki.Memory(pki.Config{ApplicationURI: "urn:test:client", AcceptAll: true}); err != nil {
		t.Fatal(err)
	}
	w.endpoint = "opc.tcp://" + l.Addr().String()
	return w
}

func (w *works) build() {
	const rw = uahive.Read | uahive.Write
	press := w.ns.Object("Press", uahive.Permissions(
		uahive.Anonymous.Can(uahive.Browse|uahive.Call), uahive.SecurityAdmin.Can(uahive.ReceiveEvents)))
	uahive.AddVariable(w.ns, "Free", int32(1), uahive.Writable())
	w.speed = uahive.AddVariable(press, "Speed", int32(1), uahive.Writable(), uahive.Permissions(
		uahive.Anonymous.Can(uahive.Read), uahive.Operator.Can(rw),
		uahive.SecurityAdmin.Can(uahive.Read|uahive.ReadRolePermissions|uahive.WriteRolePermissions|uahive.ReceiveEvents)))
	w.recipe = uahive.AddVariable(press, "Recipe", int32(1), uahive.Writable(), uahive.Permissions(
		uahive.Operator.Can(rw), uahive.SecurityAdmin.Can(uahive.Read)))
	uahive.AddVariable(press, "Secret", int32(1), uahive.Restrictions(uahive.EncryptionRequired), uahive.Permissions(
		uahive.SecurityAdmin.Can(uahive.Read)))
	vault := press.Object("Vault", uahive.Permissions(uahive.SecurityAdmin.Can(uahive.Read)))
	uahive.AddVariable(vault, "Gold", int32(1), uahive.Permissions(uahive.Anonymous.Can(uahive.Read)))
	uahive.AddVariable(vault, "Silver", int32(1)) // as the vault
	run := func(context.Context, struct{ N int32 }) (struct{}, error) { return struct{}{}, nil }
	uahive.AddMethod(press, "Start", run, uahive.Permissions(uahive.Operator.Can(uahive.Call), uahive.SecurityAdmin.Can(uahive.Call)))
	uahive.AddMethod(press, "Stop", run, uahive.Permissions(uahive.Anonymous.Can(uahive.Call)))
	closed := press.Object("Closed", uahive.Permissions(uahive.Anonymous.Can(uahive.Browse)))
	uahive.AddMethod(closed, "Stop", run, uahive.Permissions(uahive.Anonymous.Can(uahive.Call)))
}

// people are the users of the tests, and how they come in.
func (w *works) people() map[string]*client.Client {
	return map[string]*client.Client{
		"anonymous":   w.connect("anonymous", "None"),
		"operator":    w.connect("operator", encrypted),
		"admin":       w.connect("admin", encrypted),
		"plain admin": w.connect("admin", "Basic256Sha256/Sign"),
	}
}

func (w *works) id(path string) ua.NodeID { return w.ns.NodeID(path) }

func do[R any, P interface {
	*R
	ua.Structure
}](t *testing.T, c *client.Client, req ua.Structure) *R {
	t.Helper()
	resp := new(R)
	if err := c.Do(t.Context(), req, P(resp)); err != nil {
		t.Fatal(err)
	}
	return resp
}

// Short names for the answers of the tables below.
const (
	good     = ua.Good
	denied   = ua.BadUserAccessDenied
	insecure = ua.BadSecurityModeInsufficient
)

func compare(t *testing.T, who string, what []string, got, want []ua.StatusCode) {
	t.Helper()
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("%s: %s: %v, want %v", who, what[i], got[i], want[i])
		}
	}
}

func TestThreat_U11_ReadChecksEachAttribute(t *testing.T) {
	w := newWorks(t, nil)
	what := []string{"Free", "Speed", "Recipe", "Secret", "name of Recipe", "RolePermissions of Speed", "name of Secret", "Silver", "Gold"}
	req := &ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturnNeither, NodesToRead: []ua.ReadValueID{
		{NodeID: w.id("Free"), AttributeID: ua.AttributeIDValue},
		{NodeID: w.id("Press.Speed"), AttributeID: ua.AttributeIDValue},
		{NodeID: w.id("Press.Recipe"), AttributeID: ua.AttributeIDValue},
		{NodeID: w.id("Press.Secret"), AttributeID: ua.AttributeIDValue},
		{NodeID: w.id("Press.Recipe"), AttributeID: ua.AttributeIDBrowseName},
		{NodeID: w.id("Press.Speed"), AttributeID: ua.AttributeIDRolePermissions},
		{NodeID: w.id("Press.Secret"), AttributeID: ua.AttributeIDBrowseName},
		{NodeID: w.id("Press.Vault.Silver"), AttributeID: ua.AttributeIDValue},
		{NodeID: w.id("Press.Vault.Gold"), AttributeID: ua.AttributeIDValue},
	}}
	clients := w.people()
	for who, want := range map[string][]ua.StatusCode{
		"anonymous":   {good, good, denied, denied, denied, denied, denied, denied, good},
		"operator":    {good, good, good, denied, good, denied, denied, denied, good},
		"admin":       {good, good, good, good, good, good, good, good, good},
		"plain admin": {good, good, good, insecure, good, good, good, good, good},
	} {
		resp := do[ua.ReadResponse](t, clients[who], req)
		got := make([]ua.StatusCode, len(resp.Results))
		for i := range got {
			got[i] = resp.Results[i].Status
			if got[i].IsBad() && !resp.Results[i].Value.IsNull() {
				t.Errorf("%s: %s: %v with the value %v", who, what[i], got[i], resp.Results[i].Value.Any())
			}
		}
		compare(t, who, what, got, want)
	}
	// The attributes that are a user's own.
	for who, want := range map[string]uint8{"anonymous": 0x61, "operator": 0x63, "admin": 0x61} {
		resp := do[ua.ReadResponse](t, clients[who], &ua.ReadRequest{NodesToRead: []ua.ReadValueID{
			{NodeID: w.id("Press.Speed"), AttributeID: ua.AttributeIDUserAccessLevel},
			{NodeID: w.id("Press.Speed"), AttributeID: ua.AttributeIDUserRolePermissions},
			{NodeID: w.id("Press.Start"), AttributeID: ua.AttributeIDUserExecutable},
		}})
		if got := resp.Results[0].Value.Any(); got != want {
			t.Errorf("%s: UserAccessLevel %v, want %#x", who, got, want)
		}
		list, _ := ua.As[[]ua.ExtensionObject](resp.Results[1].Value)
		if n := map[string]int{"anonymous": 1, "operator": 2, "admin": 2}[who]; len(list) != n {
			t.Errorf("%s: %d UserRolePermissions, want %d", who, len(list), n)
		}
		if who != "anonymous" && resp.Results[2].Value.Any() != true {
			t.Errorf("%s: UserExecutable %v", who, resp.Results[2])
		}
	}
}

func TestThreat_U11_WriteChecksEachOperation(t *testing.T) {
	w := newWorks(t, nil)
	what := []string{"Free", "Speed", "Recipe", "Secret", "name of Speed", "RolePermissions of Speed"}
	value := ua.DataValue{Value: ua.Int32Variant(2)}
	kept := uahive.Operator.Can(uahive.Browse | uahive.Read | uahive.Write)
	again := uahive.SecurityAdmin.Can(uahive.Browse | uahive.Read | uahive.WriteRolePermissions)
	req := &ua.WriteRequest{NodesToWrite: []ua.WriteValue{
		{NodeID: w.id("Free"), AttributeID: ua.AttributeIDValue, Value: value},
		{NodeID: w.id("Press.Speed"), AttributeID: ua.AttributeIDValue, Value: value},
		{NodeID: w.id("Press.Recipe"), AttributeID: ua.AttributeIDValue, Value: value},
		{NodeID: w.id("Press.Secret"), AttributeID: ua.AttributeIDValue, Value: value},
		{NodeID: w.id("Press.Speed"), AttributeID: ua.AttributeIDDisplayName, Value: ua.DataValue{Value: ua.VariantOf(ua.LocalizedText{Text: "x"})}},
		{
			NodeID: w.id("Press.Speed"), AttributeID: ua.AttributeIDRolePermissions,
			Value: ua.DataValue{Value: ua.SliceVariant([]ua.ExtensionObject{ua.ObjectOf(&kept), ua.ObjectOf(&again)})},
		},
	}}
	clients := w.people()
	readOnly := ua.BadNotWritable
	for _, tt := range []struct {
		who  string
		want []ua.StatusCode
	}{
		{"anonymous", []ua.StatusCode{good, denied, denied, readOnly, readOnly, denied}},
		{"operator", []ua.StatusCode{good, good, good, readOnly, readOnly, denied}},
		{"admin", []ua.StatusCode{good, denied, denied, readOnly, readOnly, good}},
	} {
		w.speed.Set(1)
		w.recipe.Set(1)
		compare(t, tt.who, what, do[ua.WriteResponse](t, clients[tt.who], req).Results, tt.want)
		if written := w.recipe.Get() == 2; written != (tt.who == "operator") {
			t.Errorf("%s: written %v", tt.who, written)
		}
	}
	// What the administrator wrote counts.
	values, err := clients["anonymous"].ReadValues(t.Context(), w.id("Press.Speed"))
	if err != nil || values[0].Status != denied {
		t.Errorf("after the permissions changed: %v, %v", values, err)
	}
}

func TestThreat_U11_BrowseAndBrowseNextHideWhatIsHidden(t *testing.T) {
	w := newWorks(t, nil)
	clients := w.people()
	for who, want := range map[string]string{
		"anonymous":   "Closed Speed Stop",
		"operator":    "Closed Recipe Speed Start Stop",
		"admin":       "Closed Recipe Secret Speed Start Stop Vault",
		"plain admin": "Closed Recipe Secret Speed Start Stop Vault",
	} {
		for _, page := range []uint32{0, 1} {
			what := ua.BrowseDescription{
				NodeID: w.id("Press"), ReferenceTypeID: ua.NumericID(0, id.HierarchicalReferences), IncludeSubtypes: true,
				ResultMask: uint32(ua.BrowseResultMaskAll),
			}
			resp := do[ua.BrowseResponse](t, clients[who], &ua.BrowseRequest{RequestedMaxReferencesPerNode: page, NodesToBrowse: []ua.BrowseDescription{what}})
			result := resp.Results[0]
			var names []string
			for {
				for _, ref := range result.References {
					names = append(names, ref.BrowseName.Name)
				}
				if len(result.ContinuationPoint) == 0 {
					break
				}
				result = do[ua.BrowseNextResponse](t, clients[who], &ua.BrowseNextRequest{ContinuationPoints: [][]byte{result.ContinuationPoint}}).Results[0]
			}
			if slices.Sort(names); strings.Join(names, " ") != want {
				t.Errorf("%s, pages of %d: %q, want %q", who, page, names, want)
			}
		}
	}
	// A hidden node has no references, and none lead back to it.
	req := &ua.BrowseRequest{NodesToBrowse: []ua.BrowseDescription{
		{NodeID: w.id("Press.Vault")}, {NodeID: w.id("Press")}, {NodeID: w.id("Press.Vault.Gold"), BrowseDirection: ua.BrowseDirectionInverse},
	}}
	for i, want := range []ua.StatusCode{denied, good, good} {
		result := do[ua.BrowseResponse](t, clients["operator"], req).Results[i]
		if result.StatusCode != want {
			t.Errorf("browse %d: %v", i, result.StatusCode)
		}
		for _, ref := range result.References {
			if ref.NodeID.NodeID == w.id("Press.Vault") {
				t.Errorf("browse %d finds the hidden node", i)
			}
		}
	}
	// What is left of a browse is for the user of now.
	c := w.connect("admin", encrypted)
	first := do[ua.BrowseResponse](t, c, &ua.BrowseRequest{RequestedMaxReferencesPerNode: 1, NodesToBrowse: []ua.BrowseDescription{
		{NodeID: w.id("Press.Vault")}, {NodeID: w.id("Press")},
	}})
	if err := c.ChangeUser(t.Context(), client.UserName("operator", "secret")); err != nil {
		t.Fatal(err)
	}
	rest := do[ua.BrowseNextResponse](t, c, &ua.BrowseNextRequest{ContinuationPoints: [][]byte{
		first.Results[0].ContinuationPoint, first.Results[1].ContinuationPoint,
	}})
	if got := rest.Results[0].StatusCode; got != denied {
		t.Errorf("BrowseNext of a node that is hidden now: %v", got)
	}
	if got := rest.Results[1].StatusCode; got != good {
		t.Errorf("BrowseNext of a node that can be seen: %v", got)
	}
}

// The hole of others (open62541-SA-2026-0004): a path leads neither to nor through
// what is hidden, and does not begin there.
func TestThreat_U11_TranslateFindsNothingHidden(t *testing.T) {
	w := newWorks(t, nil)
	path := func(start string, names ...string) ua.BrowsePath {
		p := ua.BrowsePath{StartingNode: w.id(start)}
		for _, name := range names {
			p.RelativePath.Elements = append(p.RelativePath.Elements, ua.RelativePathElement{
				ReferenceTypeID: ua.NumericID(0, id.HierarchicalReferences), IncludeSubtypes: true,
				TargetName: ua.QualifiedName{NamespaceIndex: w.ns.Index(), Name: name},
			})
		}
		return p
	}
	what := []string{"Speed", "Recipe", "Vault/Gold", "from Vault"}
	req := &ua.TranslateBrowsePathsToNodeIDsRequest{BrowsePaths: []ua.BrowsePath{
		path("Press", "Speed"), path("Press", "Recipe"), path("Press", "Vault", "Gold"), path("Press.Vault", "Gold"),
	}}
	none := ua.BadNoMatch
	clients := w.people()
	for who, want := range map[string][]ua.StatusCode{
		"anonymous": {good, none, none, denied},
		"operator":  {good, good, none, denied},
		"admin":     {good, good, good, good},
	} {
		resp := do[ua.TranslateBrowsePathsToNodeIDsResponse](t, clients[who], req)
		got := make([]ua.StatusCode, len(resp.Results))
		for i := range got {
			got[i] = resp.Results[i].StatusCode
		}
		compare(t, who, what, got, want)
	}
}

func TestThreat_U11_RegisteredNodesGiveNoRights(t *testing.T) {
	w := newWorks(t, nil)
	for who, want := range map[string][]ua.StatusCode{"anonymous": {denied, good}, "operator": {good, good}, "admin": {good, good}} {
		c := w.people()[who]
		resp := do[ua.RegisterNodesResponse](t, c, &ua.RegisterNodesRequest{NodesToRegister: []ua.NodeID{w.id("Press.Recipe"), w.id("Free")}})
		values, err := c.ReadValues(t.Context(), resp.RegisteredNodeIDs...)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, who, []string{"Recipe", "Free"}, []ua.StatusCode{values[0].Status, values[1].Status}, want)
	}
}

// The hole of others (CVE-2026-62927): each call of a batch is checked by itself.
func TestThreat_U11_EachCallOfABatchIsChecked(t *testing.T) {
	w := newWorks(t, nil)
	call := func(object, method string) ua.CallMethodRequest {
		return ua.CallMethodRequest{ObjectID: w.id(object), MethodID: w.id(method), InputArguments: []ua.Variant{ua.Int32Variant(1)}}
	}
	what := []string{"Stop", "Start", "Stop again", "Stop of a closed object"}
	req := &ua.CallRequest{MethodsToCall: []ua.CallMethodRequest{
		call("Press", "Press.Stop"), call("Press", "Press.Start"), call("Press", "Press.Stop"), call("Press.Closed", "Press.Closed.Stop"),
	}}
	clients := w.people()
	for who, want := range map[string][]ua.StatusCode{
		"anonymous": {good, denied, good, denied},
		"operator":  {good, good, good, denied},
		"admin":     {good, good, good, denied},
	} {
		resp := do[ua.CallResponse](t, clients[who], req)
		got := make([]ua.StatusCode, len(resp.Results))
		for i := range got {
			got[i] = resp.Results[i].StatusCode
		}
		compare(t, who, what, got, want)
	}
	// Who may call a method may read what its arguments are.
	for who, want := range map[string]ua.StatusCode{"anonymous": denied, "operator": good} {
		values, err := clients[who].ReadValues(t.Context(), w.id("Press.Start.InputArguments"))
		if err != nil || values[0].Status != want {
			t.Errorf("%s: arguments of Start: %v, %v", who, values, err)
		}
	}
}

// changes collects what a client is told of its items.
type changes struct {
	mu   sync.Mutex
	last map[ua.NodeID]ua.DataValue
	news chan struct{}
}

func (c *changes) add(change client.Change) {
	c.mu.Lock()
	c.last[change.Item.Node()] = change.Value
	c.mu.Unlock()
	select {
	case c.news <- struct{}{}:
	default:
	}
}

func (c *changes) wait(t *testing.T, node ua.NodeID, what string, want func(ua.DataValue) bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		c.mu.Lock()
		got, ok := c.last[node]
		c.mu.Unlock()
		if ok && want(got) {
			return
		}
		select {
		case <-c.news:
		case <-deadline:
			t.Fatalf("%s: still %v %v", what, got.Value.Any(), got.Status)
		}
	}
}

func is(code ua.StatusCode) func(ua.DataValue) bool {
	return func(dv ua.DataValue) bool { return dv.Status == code && dv.Value.IsNull() == code.IsBad() }
}

func (w *works) watch(c *client.Client, paths ...string) *changes {
	w.t.Helper()
	sub, err := c.Subscribe(w.t.Context(), client.SubscriptionConfig{Interval: 50 * time.Millisecond})
	if err != nil {
		w.t.Fatal(err)
	}
	seen := &changes{last: map[ua.NodeID]ua.DataValue{}, news: make(chan struct{}, 1)}
	for _, path := range paths {
		if _, err := sub.Monitor(w.t.Context(), seen.add, client.Value(w.id(path))); err != nil {
			w.t.Fatal(err)
		}
	}
	return seen
}

// Monitored items report what their user may see, also when that changes.
func TestThreat_U11_MonitoredItemsFollowTheRights(t *testing.T) {
	w := newWorks(t, nil)
	c := w.connect("operator", encrypted)
	operator := w.watch(c, "Free", "Press.Recipe", "Press.Secret")
	anonymous := w.watch(w.connect("anonymous", "None"), "Free", "Press.Recipe", "Press.Speed")
	admin := w.watch(w.connect("admin", "Basic256Sha256/Sign"), "Press.Secret")
	operator.wait(t, w.id("Free"), "operator, Free", is(good))
	operator.wait(t, w.id("Press.Recipe"), "operator, Recipe", is(good))
	operator.wait(t, w.id("Press.Secret"), "operator, Secret", is(denied))
	anonymous.wait(t, w.id("Free"), "anonymous, Free", is(good))
	anonymous.wait(t, w.id("Press.Recipe"), "anonymous, Recipe", is(denied))
	anonymous.wait(t, w.id("Press.Speed"), "anonymous, Speed", is(good))
	admin.wait(t, w.id("Press.Secret"), "admin without encryption, Secret", is(insecure))

	// The permissions of nodes change.
	w.recipe.SetPermissions(uahive.Anonymous.Can(uahive.Read))
	w.speed.SetPermissions(uahive.Operator.Can(uahive.Read))
	anonymous.wait(t, w.id("Press.Recipe"), "anonymous, Recipe after it was opened", is(good))
	anonymous.wait(t, w.id("Press.Speed"), "anonymous, Speed after it was closed", is(denied))
	w.speed.Set(77)
	w.recipe.Set(78)
	anonymous.wait(t, w.id("Press.Recipe"), "anonymous, the next Recipe", func(dv ua.DataValue) bool { return dv.Value.Any() == int32(78) })
	anonymous.wait(t, w.id("Press.Speed"), "anonymous, the next Speed", is(denied))

	// The user of the session changes.
	w.recipe.SetPermissions(uahive.Operator.Can(uahive.Read))
	if err := c.ChangeUser(t.Context(), client.UserName("guest", "secret")); err != nil {
		t.Fatal(err)
	}
	operator.wait(t, w.id("Press.Recipe"), "Recipe, as another user", is(denied))
	operator.wait(t, w.id("Free"), "Free, as another user", is(good))
}

// Who takes over a subscription sees what its own channel allows.
func TestThreat_U12_TransferredItemsFollowTheRightsOfTheirNewSession(t *testing.T) {
	w := newWorks(t, nil)
	old, next := w.connect("admin", encrypted), w.connect("admin", "Basic256Sha256/Sign")
	seen := w.watch(old, "Press.Secret")
	seen.wait(t, w.id("Press.Secret"), "over an encrypted channel", is(good))
	created := do[ua.CreateSubscriptionResponse](t, old, &ua.CreateSubscriptionRequest{
		RequestedPublishingInterval: 50, RequestedLifetimeCount: 1000, RequestedMaxKeepAliveCount: 10, PublishingEnabled: true,
	})
	do[ua.CreateMonitoredItemsResponse](t, old, &ua.CreateMonitoredItemsRequest{
		SubscriptionID: created.SubscriptionID, TimestampsToReturn: ua.TimestampsToReturnBoth,
		ItemsToCreate: []ua.MonitoredItemCreateRequest{{
			ItemToMonitor: ua.ReadValueID{NodeID: w.id("Press.Secret"), AttributeID: ua.AttributeIDValue}, MonitoringMode: ua.MonitoringModeReporting,
		}},
	})
	transferred := do[ua.TransferSubscriptionsResponse](t, next, &ua.TransferSubscriptionsRequest{
		SubscriptionIDs: []uint32{created.SubscriptionID}, SendInitialValues: true,
	})
	if got := transferred.Results[0].StatusCode; got != good {
		t.Fatal(got)
	}
	for range 5 {
		resp := do[ua.PublishResponse](t, next, &ua.PublishRequest{})
		for _, data := range resp.NotificationMessage.NotificationData {
			if n, ok := data.Value.(*ua.DataChangeNotification); ok {
				if got := n.MonitoredItems[0].Value; got.Status != insecure || !got.Value.IsNull() {
					t.Errorf("after the transfer: %v %v", got.Value.Any(), got.Status)
				}
				return
			}
		}
	}
	t.Error("nothing was reported after the transfer")
}

// The namespace's default holds for what says nothing itself, and clients see it.
func TestDefaultsOfANamespace(t *testing.T) {
	w := newWorks(t, nil)
	w.ns.DefaultPermissions(uahive.RecommendedPermissions()...).DefaultRestrictions(uahive.SigningRequired)
	late := uahive.AddVariable(w.ns, "Late", int32(1), uahive.Writable())
	if err := w.srv.Err(); err != nil {
		t.Fatal(err)
	}
	clients := w.people()
	write := &ua.WriteRequest{NodesToWrite: []ua.WriteValue{
		{NodeID: w.id("Free"), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.Int32Variant(3)}},
		{NodeID: late.ID(), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.Int32Variant(3)}},
	}}
	for who, want := range map[string][2]ua.StatusCode{"anonymous": {denied, denied}, "operator": {good, good}, "admin": {good, denied}} {
		values, err := clients[who].ReadValues(t.Context(), w.id("Free"), late.ID())
		if err != nil {
			t.Fatal(err)
		}
		compare(t, who, []string{"Free", "Late"}, []ua.StatusCode{values[0].Status, values[1].Status}, []ua.StatusCode{want[0], want[0]})
		compare(t, who, []string{"write Free", "write Late"}, do[ua.WriteResponse](t, clients[who], write).Results, []ua.StatusCode{want[1], want[1]})
	}
	values, err := clients["operator"].ReadValues(t.Context(),
		w.id("NamespaceMetadata.DefaultUserRolePermissions"), w.id("NamespaceMetadata.DefaultRolePermissions"),
		w.id("NamespaceMetadata.DefaultAccessRestrictions"), w.id("NamespaceMetadata.NamespaceUri"))
	if err != nil {
		t.Fatal(err)
	}
	if own, _ := ua.As[[]ua.ExtensionObject](values[0].Value); len(own) != 3 { // AuthenticatedUser, TrustedApplication, Operator
		t.Errorf("DefaultUserRolePermissions of the operator: %v", values[0])
	}
	if values[1].Status != denied || values[2].Value.Any() != uint16(1) || values[3].Value.Any() != "urn:works" {
		t.Errorf("metadata: %v", values[1:])
	}
}

// Without any configuration nothing changes for a program's nodes, and nobody but
// administrators writes to those of the standard.
func TestWithoutPermissionsEverybodyKeepsWhatHeHad(t *testing.T) {
	w := newWorks(t, nil)
	for who, c := range w.people() {
		results := do[ua.WriteResponse](t, c, &ua.WriteRequest{NodesToWrite: []ua.WriteValue{
			{NodeID: w.id("Free"), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.Int32Variant(5)}},
			{NodeID: ua.NumericID(0, id.ServerDiagnosticsType_EnabledFlag), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.BooleanVariant(true)}},
		}}).Results
		want := denied
		if strings.HasSuffix(who, "admin") {
			want = good
		}
		compare(t, who, []string{"Free", "EnabledFlag of a type"}, results, []ua.StatusCode{good, want})
	}
}

// Mistakes in permissions keep the server from starting, and say what to write.
func TestMistakesInPermissionsAreReported(t *testing.T) {
	for name, tt := range map[string]struct {
		build func(ns *uahive.Namespace)
		say   string
	}{
		"no role":      {func(ns *uahive.Namespace) { ns.Object("A", uahive.Permissions()) }, "name a role"},
		"an empty set": {func(ns *uahive.Namespace) { ns.Object("A", uahive.Permissions(uahive.Operator.Can(0))) }, "uahive.Browse"},
		"unknown bits": {func(ns *uahive.Namespace) { ns.Object("A", uahive.Permissions(uahive.Operator.Can(1<<20))) }, "uahive.Browse"},
		"unknown role": {func(ns *uahive.Namespace) {
			ns.Object("A", uahive.Permissions(uahive.CustomRole("X").Can(uahive.Read)))
		}, "Config.Roles"},
		"no encryption": {func(ns *uahive.Namespace) { ns.Object("A", uahive.Restrictions(uahive.EncryptionRequired)) }, "Basic256Sha256Encrypt"},
		"a bad default": {func(ns *uahive.Namespace) { ns.DefaultPermissions() }, "name a role"},
		"a restriction": {func(ns *uahive.Namespace) { ns.DefaultRestrictions(1 << 9) }, "SigningRequired"},
	} {
		srv, err := uahive.New(uahive.Config{PKI: "memory", Security: []uahive.Security{uahive.NoSecurity}})
		if err != nil {
			t.Fatal(err)
		}
		tt.build(srv.Namespace("urn:works"))
		if err := srv.Err(); err == nil || !strings.Contains(err.Error(), tt.say) {
			t.Errorf("%s: %v", name, err)
		}
		srv.Close()
	}
	operator := uahive.Operator
	for field, roles := range map[string][]uahive.RoleMapping{
		"Roles[0].Role":            {{Role: uahive.Anonymous}},
		"Roles[1].Role":            {{Role: operator}, {Role: operator}},
		"Roles[0].Identities[0]":   {{Role: operator, Identities: []uahive.IdentityRule{uahive.ByUserName("joe")}}}, // without Authenticate
		"Roles[0].Identities[1]":   {{Role: uahive.SecurityAdmin, Identities: []uahive.IdentityRule{uahive.ByGroup("admins"), uahive.AllUsers}}},
		"Roles[0].Applications[0]": {{Role: operator, Applications: []string{"no uri"}}},
		"Roles[0].Endpoints[0]":    {{Role: operator, Endpoints: []ua.EndpointType{{}}}},
	} {
		_, err := uahive.New(uahive.Config{PKI: "memory", Roles: roles})
		var wrong *uahive.ConfigError
		if !errors.As(err, &wrong) || wrong.Field != field || wrong.Instead == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// Callbacks are told the roles of their caller.
func TestCallbacksAreToldTheRoles(t *testing.T) {
	told := make(chan string, 1)
	w := newWorks(t, nil)
	uahive.AddVariable(w.ns, "Asked", int32(0), uahive.OnRead(func(ctx context.Context) (int32, error) {
		caller, _ := uahive.CallerFrom(ctx)
		told <- fmt.Sprint(caller.HasRole(uahive.Operator), caller.HasRole(uahive.SecurityAdmin, uahive.Observer), len(caller.Roles))
		return 0, nil
	}))
	for who, want := range map[string]string{"operator": "true false 4", "admin": "false true 4", "anonymous": "false false 1"} {
		if _, err := w.people()[who].ReadValues(t.Context(), w.id("Asked")); err != nil {
			t.Fatal(err)
		}
		if got := <-told; got != want {
			t.Errorf("%s: %s, want %s", who, got, want)
		}
	}
}

// A manager's nodes have no permissions of their own: the namespace's default holds
// for them, in every service.
func TestThreat_U11_TheDefaultHoldsForNodesOfAManager(t *testing.T) {
	w := newWorks(t, nil)
	ns := w.srv.Namespace("urn:tags")
	tag := ua.NumericID(ns.Index(), 7)
	ns.Mount(&tags{folder: tag})
	ns.DefaultPermissions(uahive.Operator.Can(uahive.Read), uahive.SecurityAdmin.Can(uahive.Read|uahive.Write))
	clients := w.people()
	for who, want := range map[string][2]ua.StatusCode{
		"anonymous": {denied, denied}, "operator": {good, denied}, "admin": {good, ua.BadNotWritable}, // as the manager says
	} {
		values, err := clients[who].ReadValues(t.Context(), tag, w.id("Free"))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, who, []string{"read", "read Free"}, []ua.StatusCode{values[0].Status, values[1].Status}, []ua.StatusCode{want[0], good})
		results := do[ua.WriteResponse](t, clients[who], &ua.WriteRequest{NodesToWrite: []ua.WriteValue{
			{NodeID: tag, AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.DoubleVariant(2)}},
			{NodeID: w.id("Free"), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.Int32Variant(2)}},
		}}).Results
		compare(t, who, []string{"write", "write Free"}, results, []ua.StatusCode{want[1], good})
		browsed := do[ua.BrowseResponse](t, clients[who], &ua.BrowseRequest{NodesToBrowse: []ua.BrowseDescription{{NodeID: tag}}}).Results[0]
		if hidden := browsed.StatusCode == denied; hidden != (want[0] == denied) {
			t.Errorf("%s: browse %v", who, browsed.StatusCode)
		}
	}
	anonymous := &changes{last: map[ua.NodeID]ua.DataValue{}, news: make(chan struct{}, 1)}
	sub, err := clients["anonymous"].Subscribe(t.Context(), client.SubscriptionConfig{Interval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sub.Monitor(t.Context(), anonymous.add, client.Value(tag)); err != nil {
		t.Fatal(err)
	}
	anonymous.wait(t, tag, "a tag for nobody", is(denied))
	ns.DefaultPermissions(uahive.Anonymous.Can(uahive.Read))
	anonymous.wait(t, tag, "the tag, once it is for everybody", is(good))
}
