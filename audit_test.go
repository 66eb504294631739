package uahive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

// auditFields are what a listener of the tests selects, each from the type that has it.
var auditFields = []struct {
	typ  uint32
	name string
}{
	{id.BaseEventType, "EventType"},
	{id.BaseEventType, "SourceNode"},
	{id.BaseEventType, "SourceName"},
	{id.BaseEventType, "EventId"},
	{id.AuditEventType, "Status"},
	{id.AuditEventType, "ServerId"},
	{id.AuditEventType, "ClientAuditEntryId"},
	{id.AuditEventType, "ClientUserId"},
	{id.AuditEventType, "ActionTimeStamp"},
	{id.AuditSecurityEventType, "StatusCodeId"},
	{id.AuditSessionEventType, "SessionId"},
	{id.AuditActivateSessionEventType, "UserIdentityToken"},
	{id.AuditActivateSessionEventType, "CurrentRoleIds"},
	{id.AuditActivateSessionEventType, "SecureChannelId"},
	{id.AuditWriteUpdateEventType, "AttributeId"},
	{id.AuditWriteUpdateEventType, "OldValue"},
	{id.AuditWriteUpdateEventType, "NewValue"},
	{id.AuditUpdateMethodEventType, "MethodId"},
	{id.AuditUpdateMethodEventType, "InputArguments"},
	{id.AuditCancelEventType, "RequestHandle"},
	{id.AuditCreateSessionEventType, "RevisedSessionTimeout"},
}

type heardEvent map[string]ua.Variant

func (e heardEvent) text(name string) string {
	s, _ := ua.As[string](e[name])
	return s
}

func (e heardEvent) node(name string) ua.NodeID {
	n, _ := ua.As[ua.NodeID](e[name])
	return n
}

// audience listens for the events of the Server object.
type audience struct {
	t      *testing.T
	events chan heardEvent
}

func listen(t *testing.T, c *client.Client) *audience {
	t.Helper()
	a := &audience{t, make(chan heardEvent, 1000)}
	sub, err := c.Subscribe(t.Context(), client.SubscriptionConfig{Interval: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	filter := new(ua.EventFilter)
	for _, f := range auditFields {
		filter.SelectClauses = append(filter.SelectClauses, ua.SimpleAttributeOperand{
			TypeDefinitionID: ua.NumericID(0, f.typ), AttributeID: ua.AttributeIDValue, BrowsePath: []ua.QualifiedName{{Name: f.name}},
		})
	}
	items, err := sub.Monitor(t.Context(), nil, client.MonitorItem{
		Node: ua.NumericID(0, id.Server), Attribute: ua.AttributeIDEventNotifier, Filter: filter, Queue: 1000,
		OnChange: func(ch client.Change) {
			e := heardEvent{}
			for i, v := range ch.Fields {
				e[auditFields[i].name] = v
			}
			a.events <- e
		},
	})
	if err != nil || items[0].Status() != ua.Good {
		t.Fatal(err, items)
	}
	return a
}

// until returns what was heard before an event for which last is true, and that.
func (a *audience) until(last func(heardEvent) bool) []heardEvent {
	a.t.Helper()
	var list []heardEvent
	for {
		select {
		case e := <-a.events:
			if list = append(list, e); last(e) {
				return list
			}
		case <-time.After(10 * time.Second):
			a.t.Fatalf("never heard; heard %v", list)
		}
	}
}

// ledger keeps what Config.Audit is told.
type ledger struct {
	mu      sync.Mutex
	entries []uahive.AuditEntry
}

func (l *ledger) add(e uahive.AuditEntry) {
	l.mu.Lock()
	l.entries = append(l.entries, e)
	l.mu.Unlock()
}

// find waits for an entry.
func (l *ledger) find(t *testing.T, what string, is func(*uahive.AuditEntry) bool) *uahive.AuditEntry {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		i := slices.IndexFunc(l.entries, func(e uahive.AuditEntry) bool { return is(&e) })
		if i >= 0 {
			e := l.entries[i]
			l.mu.Unlock()
			return &e
		}
		l.mu.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for i := range l.entries {
		e := &l.entries[i]
		all = append(all, fmt.Sprint(e.TypeName(), " ", e.SourceName, " ", e.Result, " ", e.ClientUserID))
	}
	t.Fatalf("no entry of %s; there are:\n%s", what, strings.Join(all, "\n"))
	return nil
}

func ofType(typ uint32) func(*uahive.AuditEntry) bool {
	return func(e *uahive.AuditEntry) bool { return e.Type == typ }
}

func audited(l *ledger, log *bytes.Buffer) func(*uahive.Config) {
	return func(c *uahive.Config) {
		c.Auditing = true
		if l != nil {
			c.Audit = l.add
		}
		if log != nil {
			c.Logger = zerolog.New(zerolog.SyncWriter(log))
		}
		let := c.Authenticate
		c.Authenticate = func(ctx context.Context, who uahive.Credentials) (*uahive.User, error) {
			if who.UserName == "mallory" {
				return nil, errors.New("not known")
			}
			return let(ctx, who)
		}
	}
}

// A client of an administrator hears what other clients do, with the fields of the
// standard; neither an operator does, nor an administrator on a channel that does not
// encrypt (Part 3, 8.55; Part 4, 6.5).
func TestAuditEventsAreForAdministrators(t *testing.T) {
	var written ledger
	w := newWorks(t, audited(&written, nil))
	clients := w.people()
	admin := listen(t, clients["admin"])
	others := map[string]*audience{}
	for _, who := range []string{"anonymous", "operator", "plain admin"} {
		others[who] = listen(t, clients[who])
	}
	auditing, err := clients["operator"].Read(t.Context(), client.ValueID(ua.NumericID(0, id.Server_Auditing)))
	if on, _ := ua.As[bool](auditing[0].Value); err != nil || !on {
		t.Errorf("Auditing is %v, %v", auditing, err)
	}

	operator := clients["operator"]
	header := ua.RequestHeader{AuditEntryID: "shift book 7"}
	write := ua.WriteValue{NodeID: w.id("Press.Speed"), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.Int32Variant(42)}}
	do[ua.WriteResponse](t, operator, &ua.WriteRequest{RequestHeader: header, NodesToWrite: []ua.WriteValue{write}})
	do[ua.WriteResponse](t, clients["anonymous"], &ua.WriteRequest{NodesToWrite: []ua.WriteValue{write}})
	do[ua.CallResponse](t, operator, &ua.CallRequest{RequestHeader: header, MethodsToCall: []ua.CallMethodRequest{{
		ObjectID: w.id("Press"), MethodID: w.id("Press.Start"), InputArguments: []ua.Variant{ua.Int32Variant(9)},
	}}})
	do[ua.CancelResponse](t, operator, &ua.CancelRequest{RequestHeader: header, RequestHandle: 4711})
	security, _ := client.ParseSecurity(encrypted)
	_, err = client.Connect(t.Context(), w.endpoint, client.Config{
		Security: security, PKI: w.store, TrustAll: true, ApplicationURI: "urn:test:client", User: client.UserName("mallory", "let me in"),
		Reconnect: client.Backoff{Disabled: true},
	})
	if err == nil {
		t.Fatal("mallory came in")
	}
	guest := w.connect("operator", encrypted)
	guestID := guest.SessionID()
	if err := guest.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	last := func(e heardEvent) bool { return e.text("SourceName") == "the end" }
	closed := func(e heardEvent) bool {
		return e.text("SourceName") == "SecureChannel/CloseSecureChannel"
	}
	heard := admin.until(func(e heardEvent) bool {
		return e.text("SourceName") == "Session/CloseSession" && e.node("SessionId") == guestID
	})
	if !slices.ContainsFunc(heard, closed) { // mallory's, or the guest's
		heard = append(heard, admin.until(closed)...)
	}
	find := func(what string, is func(heardEvent) bool) heardEvent {
		t.Helper()
		i := slices.IndexFunc(heard, is)
		if i < 0 {
			t.Fatalf("no event of %s among %v", what, heard)
		}
		return heard[i]
	}
	about := func(typ uint32, done bool, user string) func(heardEvent) bool {
		return func(e heardEvent) bool {
			status, _ := ua.As[bool](e["Status"])
			return e.node("EventType") == ua.NumericID(0, typ) && status == done && e.text("ClientUserId") == user
		}
	}
	e := find("the operator's write", about(id.AuditWriteUpdateEventType, true, "operator"))
	server, _ := ua.As[string](e["ServerId"])
	for name, want := range map[string]ua.Variant{
		"SourceNode": ua.VariantOf(w.id("Press.Speed")), "SourceName": ua.StringVariant("Attribute/Write"),
		"ClientAuditEntryId": ua.StringVariant("shift book 7"), "AttributeId": ua.UInt32Variant(13),
		"OldValue": ua.Int32Variant(1), "NewValue": ua.Int32Variant(42), "MethodId": {}, "SessionId": {},
	} {
		if !e[name].Equal(want) {
			t.Errorf("%s of the write is %v, not %v", name, e[name], want)
		}
	}
	if at, _ := ua.As[ua.DateTime](e["ActionTimeStamp"]); time.Since(at.Time()) > time.Minute || server == "" {
		t.Errorf("the write was at %v, of server %q", at, server)
	}
	find("the anonymous write", about(id.AuditWriteUpdateEventType, false, ""))
	e = find("the call", about(id.AuditUpdateMethodEventType, true, "operator"))
	if inputs := ua.SliceVariant([]ua.Variant{ua.Int32Variant(9)}); e.node("SourceNode") != w.id("Press") ||
		e.node("MethodId") != w.id("Press.Start") || !e["InputArguments"].Equal(inputs) {
		t.Errorf("the call is %v", e)
	}
	e = find("the cancel", about(id.AuditCancelEventType, true, "operator"))
	if !e["RequestHandle"].Equal(ua.UInt32Variant(4711)) || e.node("SessionId") != operator.SessionID() {
		t.Errorf("the cancel is %v", e)
	}
	e = find("mallory's login", about(id.AuditActivateSessionEventType, false, "mallory"))
	if token := e["UserIdentityToken"].AppendTo(nil); !bytes.Contains(token, []byte("mallory")) || e.text("SecureChannelId") == "" {
		t.Errorf("the refused login is %v", e)
	}
	if code, _ := ua.As[ua.StatusCode](e["StatusCodeId"]); code != ua.BadIdentityTokenRejected && code != ua.BadUserAccessDenied {
		t.Errorf("mallory was refused with %v", code)
	}
	e = find("the guest's activation", func(e heardEvent) bool {
		return about(id.AuditActivateSessionEventType, true, "operator")(e) && e.node("SessionId") == guestID
	})
	if roles, _ := ua.As[[]ua.NodeID](e["CurrentRoleIds"]); !slices.Contains(roles, uahive.Operator.ID()) {
		t.Errorf("the guest's roles are %v", roles)
	}
	e = find("the guest's session", func(e heardEvent) bool {
		return about(id.AuditCreateSessionEventType, true, "System/CreateSession")(e) && e.node("SessionId") == guestID
	})
	if timeout, _ := ua.As[float64](e["RevisedSessionTimeout"]); timeout < 1000 {
		t.Errorf("the guest's session has a time-out of %v", timeout)
	}
	find("a channel", about(id.AuditOpenSecureChannelEventType, true, "System/OpenSecureChannel"))
	find("a channel's end", about(id.AuditChannelEventType, true, "System/CloseSecureChannel"))

	// What was heard stands in the program's ledger under the same id.
	eventID, _ := ua.As[[]byte](e["EventId"])
	entry := written.find(t, "the same id", func(entry *uahive.AuditEntry) bool { return bytes.Equal(entry.EventID, eventID) })
	if session, _ := ua.As[ua.NodeID](entry.Value("SessionId")); session != guestID || entry.Peer == "" {
		t.Errorf("the ledger has %+v", entry)
	}
	w.srv.Report(events.Event{SourceName: "the end"})
	for who, a := range others {
		if list := a.until(last); len(list) != 1 {
			t.Errorf("%s heard %v", who, list[:len(list)-1])
		}
	}
}

// An application that is not trusted leaves two entries, of its certificate and of its
// channel, and the second names the first (Part 4, 6.5.5). The log has a line about it.
func TestAuditOfAnUntrustedApplication(t *testing.T) {
	var written ledger
	var log bytes.Buffer
	w := newWorks(t, func(c *uahive.Config) {
		c.TrustAll = false
		audited(&written, &log)(c)
	})
	security, _ := client.ParseSecurity(encrypted)
	config := client.Config{Security: security, PKI: w.store, TrustAll: true, ApplicationURI: "urn:test:client", Reconnect: client.Backoff{Disabled: true}}
	if _, err := client.Connect(t.Context(), w.endpoint, config); err == nil {
		t.Fatal("a stranger came in")
	}
	own := w.store.Certificate()
	refused := written.find(t, "the certificate", ofType(id.AuditCertificateUntrustedEventType))
	if der, _ := ua.As[[]byte](refused.Value("Certificate")); !bytes.Equal(der, own.DER) || refused.Result != ua.BadCertificateUntrusted ||
		refused.SourceName != "Security/Certificate" {
		t.Errorf("the certificate's entry is %+v", refused)
	}
	channel := written.find(t, "the channel", func(e *uahive.AuditEntry) bool {
		return e.Type == id.AuditOpenSecureChannelEventType && e.Failed()
	})
	cause, _ := ua.As[[]byte](channel.Value("CertificateErrorEventId"))
	print, _ := ua.As[string](channel.Value("ClientCertificateThumbprint"))
	policy, _ := ua.As[string](channel.Value("SecurityPolicyUri"))
	if !bytes.Equal(cause, refused.EventID) || !strings.EqualFold(print, fmt.Sprintf("%x", own.Thumbprint)) ||
		!strings.HasSuffix(policy, "#Basic256Sha256") || channel.Result != ua.BadCertificateUntrusted || channel.ClientApplicationURI != "urn:test:client" {
		t.Errorf("the channel's entry is %+v", channel)
	}
	if err := w.srv.PKI().Trust(own.DER); err != nil {
		t.Fatal(err)
	}
	if c, err := client.Connect(t.Context(), w.endpoint, config); err != nil {
		t.Fatal(err)
	} else if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	written.find(t, "a session", ofType(id.AuditCreateSessionEventType))
	w.srv.Close()
	if text := log.String(); !strings.Contains(text, `"type":"AuditCertificateUntrustedEventType"`) || !strings.Contains(text, `"message":"audit"`) {
		t.Errorf("the log has no line about it: %s", text)
	}
	stats := w.srv.Stats()
	if stats.Audit.Recorded == 0 || stats.Audit.Dropped != 0 || stats.AuditDropped != 0 {
		t.Errorf("counted %+v, %d", stats.Audit, stats.AuditDropped)
	}
}

// A client that reaches the server under a name which its certificate does not have is
// told of as an AuditUrlMismatchEventType (Part 5, 6.4.9); one that gives another
// certificate or ApplicationUri than its channel's is refused and told of.
func TestAuditOfCreateSession(t *testing.T) {
	var written ledger
	w := newWorks(t, audited(&written, nil))
	c := w.connect("operator", "None")
	create := func(change func(*ua.CreateSessionRequest)) {
		req := &ua.CreateSessionRequest{
			RequestHeader:     ua.RequestHeader{AuditEntryID: "my entry"},
			ClientDescription: ua.ApplicationDescription{ApplicationURI: "urn:test:client"}, EndpointURL: w.endpoint, RequestedSessionTimeout: 60_000,
		}
		change(req)
		c.Do(t.Context(), req, new(ua.CreateSessionResponse))
	}
	create(func(r *ua.CreateSessionRequest) { r.EndpointURL = "opc.tcp://elsewhere.example:4840" })
	e := written.find(t, "the strange address", ofType(id.AuditUrlMismatchEventType))
	if url, _ := ua.As[string](e.Value("EndpointUrl")); url != "opc.tcp://elsewhere.example:4840" || e.ClientEntryID != "my entry" || e.Failed() {
		t.Errorf("the entry is %+v", e)
	}
	create(func(r *ua.CreateSessionRequest) { r.ServerURI = "urn:another:server" })
	e = written.find(t, "the refused session", func(e *uahive.AuditEntry) bool {
		return e.Type == id.AuditCreateSessionEventType && e.Result == ua.BadServerURIInvalid
	})
	if session, ok := ua.As[ua.NodeID](e.Value("SessionId")); !ok || !session.IsNull() {
		t.Errorf("a refused session has the id %v", session)
	}
}

// Ends of sessions that nobody asked for are told of as such (Part 4, 6.5.6), and
// Config.Audit is told of the last of them before Close returns.
func TestAuditOfTheShutdown(t *testing.T) {
	var written ledger
	w := newWorks(t, audited(&written, nil))
	c := w.connect("operator", encrypted)
	session := c.SessionID()
	w.srv.Close()
	written.mu.Lock()
	defer written.mu.Unlock()
	i := slices.IndexFunc(written.entries, func(e uahive.AuditEntry) bool { return e.SourceName == "Session/Terminated" })
	if i < 0 {
		t.Fatal("no entry of the session's end")
	}
	e := &written.entries[i]
	if ended, _ := ua.As[ua.NodeID](e.Value("SessionId")); ended != session || e.ClientUserID != "operator" || e.Type != id.AuditSessionEventType {
		t.Errorf("the end is %+v", e)
	}
}

// Secrets of methods stay out where the program says so, and its function may take as
// long as it likes and panic.
func TestAuditOfSecretsAndOfAFunctionThatFails(t *testing.T) {
	release := make(chan struct{})
	var written ledger
	w := newWorks(t, func(c *uahive.Config) {
		audited(nil, nil)(c)
		first := true
		c.Audit = func(e uahive.AuditEntry) {
			<-release
			if first {
				first = false
				panic("no more ink")
			}
			written.add(e)
		}
	})
	lock := w.ns.Object("Lock")
	uahive.AddMethod(lock, "Open", func(context.Context, struct{ PIN string }) (struct{}, error) { return struct{}{}, nil }, uahive.SecretArguments())
	uahive.AddMethod(lock, "Turn", func(context.Context, struct{ By string }) (struct{}, error) { return struct{}{}, nil })
	c := w.connect("operator", encrypted)
	for _, method := range []string{"Lock.Open", "Lock.Turn"} {
		if _, err := c.Call(t.Context(), w.id("Lock"), w.id(method), ua.StringVariant("1234")); err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	of := func(method string) *uahive.AuditEntry {
		return written.find(t, method, func(e *uahive.AuditEntry) bool {
			called, _ := ua.As[ua.NodeID](e.Value("MethodId"))
			return e.Type == id.AuditUpdateMethodEventType && called == w.id(method)
		})
	}
	if e := of("Lock.Open"); !e.Value("InputArguments").IsNull() {
		t.Errorf("the secret is shown: %+v", e)
	}
	if e := of("Lock.Turn"); e.Value("InputArguments").IsNull() {
		t.Errorf("arguments are missing: %+v", e)
	}
}

// Without Auditing nothing is recorded, and the Server object says so.
func TestNoAuditUnlessAskedFor(t *testing.T) {
	w := newWorks(t, nil)
	admin := w.connect("admin", encrypted)
	a := listen(t, admin)
	auditing, err := admin.Read(t.Context(), client.ValueID(ua.NumericID(0, id.Server_Auditing)))
	if on, ok := ua.As[bool](auditing[0].Value); err != nil || !ok || on {
		t.Errorf("Auditing is %v, %v", auditing, err)
	}
	w.connect("operator", encrypted).Close(t.Context())
	w.srv.Report(events.Event{SourceName: "the end"})
	if list := a.until(func(e heardEvent) bool { return e.text("SourceName") == "the end" }); len(list) != 1 {
		t.Errorf("heard %v", list)
	}
	if s := w.srv.Stats(); s.Audit.Recorded != 0 {
		t.Errorf("counted %+v", s.Audit)
	}
}
