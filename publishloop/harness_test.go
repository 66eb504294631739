package publishloop

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

func TestMain(m *testing.M) {
	codec.CheckBuffers(true)
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) // the pool library keeps two goroutines
}

// world is a manager with an address space, for tests that run in a bubble of
// testing/synctest.
type world struct {
	testing.TB
	m     *Manager
	space *addrspace.Space
	pool  *actors.Pool
	group *actors.Group
	start time.Time
}

// run makes a world, runs the test in it, and checks that nothing is left of it.
func run(t *testing.T, limits Limits, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, limits)
		t.Cleanup(w.end)
		test(w)
	})
}

func newWorld(t testing.TB, limits Limits) *world {
	t.Helper()
	w := &world{TB: t, start: time.Now(), group: new(actors.Group)}
	w.space = addrspace.New(addrspace.Options{ApplicationURI: "urn:test"})
	if err := w.space.LoadNS0(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.space.AddNamespace("urn:test:model"); err != nil {
		t.Fatal(err)
	}
	w.pool = actors.NewPool(actors.PoolConfig{Size: 8})
	w.m = New(Config{Space: w.space, Pool: w.pool, Group: w.group, Limits: limits})
	return w
}

// end closes everything and checks that nothing is left.
func (w *world) end() {
	t := w.TB
	w.m.Close()
	if err := w.group.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := w.pool.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s := w.m.Stats(); s.Subscriptions != 0 || s.Orphans != 0 || s.MonitoredItems != 0 || s.KeptBytes != 0 || w.m.entries.Load() != 0 {
		t.Errorf("left over: %+v, %d queue entries", s, w.m.entries.Load())
	}
	if n := len(w.m.semantics.watched); n != 0 {
		t.Errorf("%d variables are still watched for their meaning", n)
	}
}

// at sleeps in the bubble until a time after the start of the test.
func (w *world) at(d time.Duration) {
	w.Helper()
	if rest := d - time.Since(w.start); rest > 0 {
		time.Sleep(rest)
	} else if rest < 0 {
		w.Fatalf("it is %v already, not %v", time.Since(w.start), d)
	}
	synctest.Wait()
}

// variable adds a variable in namespace 2.
func (w *world) variable(name string, value any, options ...func(*addrspace.NodeSpec)) *addrspace.Variable {
	w.Helper()
	spec := addrspace.NodeSpec{
		ID: ua.StringID(2, name), Class: ua.NodeClassVariable, BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: name},
		AccessLevel: addrspace.ReadWrite, SourceTimestamp: ua.DateTimeOf(time.Now()),
	}
	if value != nil {
		v, err := ua.ValueOf(value)
		if err != nil {
			w.Fatal(err)
		}
		spec.Value = v
	}
	for _, o := range options {
		o(&spec)
	}
	n, err := w.space.AddNode(spec)
	if err != nil {
		w.Fatal(err)
	}
	return n.Variable()
}

// set stores a good value.
func set(v *addrspace.Variable, value any) {
	x, err := ua.ValueOf(value)
	if err != nil {
		panic(err)
	}
	v.Store(ua.DataValue{Value: x})
}

// client is a session with a channel.
type client struct {
	w  *world
	q  *Queue
	ch *channel
	id uint32
}

func (w *world) client() *client {
	return &client{w: w, q: w.m.NewQueue(Identity{User: "somebody"}), ch: &channel{w: w}}
}

// close ends the session.
func (c *client) close() { c.w.m.SessionClosed(c.q, true, ua.BadSessionClosed) }

// channel records what is answered.
type channel struct {
	w *world

	mu      sync.Mutex
	answers []answer
	dead    bool
	limit   int
	bytes   int
}

// die lets the channel end.
func (ch *channel) die() {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.dead = true
}

// answer is one response to a Publish request, decoded.
type answer struct {
	at      time.Duration
	request uint32
	fault   ua.StatusCode
	resp    ua.PublishResponse
}

func (ch *channel) MaxResponse() int { return ch.limit }

func (ch *channel) Respond(requestID uint32, m Appender) error {
	body := m.AppendTo(nil)
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.dead {
		return ua.BadSecureChannelClosed
	}
	if ch.limit > 0 && len(body) > ch.limit {
		return ua.BadResponseTooLarge
	}
	ch.bytes += len(body)
	a := answer{at: time.Since(ch.w.start), request: requestID}
	d := codec.NewDecoder(body, nil)
	var typeID ua.NodeID
	typeID.DecodeFrom(d)
	if typeID == ua.NumericID(0, serviceFaultID) {
		var f ua.ServiceFault
		f.DecodeFrom(d)
		a.fault = f.ResponseHeader.ServiceResult
	} else if typeID == a.resp.EncodingID() {
		a.resp.DecodeFrom(d)
	} else {
		ch.w.Errorf("answer of type %v", typeID)
	}
	if d.Err() != nil || d.Remaining() > 0 {
		ch.w.Errorf("decoding %v: %v, %d bytes are left", typeID, d.Err(), d.Remaining())
	}
	ch.answers = append(ch.answers, a)
	return nil
}

// take returns the answers since the last take.
func (ch *channel) take() []answer {
	synctest.Wait()
	ch.mu.Lock()
	defer ch.mu.Unlock()
	a := ch.answers
	ch.answers = nil
	return a
}

// changes returns the data changes in an answer.
func (a *answer) changes() []ua.MonitoredItemNotification {
	var list []ua.MonitoredItemNotification
	for _, o := range a.resp.NotificationMessage.NotificationData {
		if d, ok := o.Value.(*ua.DataChangeNotification); ok {
			list = append(list, d.MonitoredItems...)
		}
	}
	return list
}

// status returns the status of a StatusChangeNotification.
func (a *answer) status() (ua.StatusCode, bool) {
	for _, o := range a.resp.NotificationMessage.NotificationData {
		if s, ok := o.Value.(*ua.StatusChangeNotification); ok {
			return s.Status, true
		}
	}
	return 0, false
}

// publish sends a Publish request and returns its id.
func (c *client) publish(acks ...ua.SubscriptionAcknowledgement) uint32 {
	return c.publishFor(0, acks...)
}

func (c *client) publishFor(timeout uint32, acks ...ua.SubscriptionAcknowledgement) uint32 {
	c.id++
	req := &ua.PublishRequest{
		RequestHeader:                ua.RequestHeader{RequestHandle: 1000 + c.id, TimeoutHint: timeout},
		SubscriptionAcknowledgements: acks,
	}
	c.q.Publish(c.id, req, c.ch)
	return c.id
}

// subscribe creates a subscription.
func (c *client) subscribe(interval time.Duration, options ...func(*ua.CreateSubscriptionRequest)) uint32 {
	c.w.Helper()
	req := &ua.CreateSubscriptionRequest{
		RequestedPublishingInterval: millis(interval), RequestedLifetimeCount: 30, RequestedMaxKeepAliveCount: 10, PublishingEnabled: true,
	}
	for _, o := range options {
		o(req)
	}
	var resp ua.CreateSubscriptionResponse
	if code := c.w.m.CreateSubscription(c.q, req, &resp); code != ua.Good {
		c.w.Fatal(code)
	}
	return resp.SubscriptionID
}

// request makes a request to monitor the value of a variable.
func request(v *addrspace.Variable, handle uint32, options ...func(*ua.MonitoredItemCreateRequest)) ua.MonitoredItemCreateRequest {
	r := ua.MonitoredItemCreateRequest{
		ItemToMonitor:       ua.ReadValueID{NodeID: v.Node().ID(), AttributeID: ua.AttributeIDValue},
		MonitoringMode:      ua.MonitoringModeReporting,
		RequestedParameters: ua.MonitoringParameters{ClientHandle: handle, QueueSize: 1, DiscardOldest: true},
	}
	for _, o := range options {
		o(&r)
	}
	return r
}

// create creates monitored items.
func (c *client) create(sub uint32, items ...ua.MonitoredItemCreateRequest) []ua.MonitoredItemCreateResult {
	c.w.Helper()
	req := &ua.CreateMonitoredItemsRequest{SubscriptionID: sub, TimestampsToReturn: ua.TimestampsToReturnBoth, ItemsToCreate: items}
	var resp ua.CreateMonitoredItemsResponse
	if code := c.w.m.CreateMonitoredItems(c.q, req, &resp); code != ua.Good {
		c.w.Fatal(code)
	}
	return resp.Results
}

// monitor creates an item that must succeed, and returns its id.
func (c *client) monitor(sub uint32, v *addrspace.Variable, handle uint32, options ...func(*ua.MonitoredItemCreateRequest)) uint32 {
	c.w.Helper()
	r := c.create(sub, request(v, handle, options...))[0]
	if r.StatusCode != ua.Good {
		c.w.Fatal(r.StatusCode)
	}
	return r.MonitoredItemID
}

// Options of requests.

func queue(size uint32, discardOldest bool) func(*ua.MonitoredItemCreateRequest) {
	return func(r *ua.MonitoredItemCreateRequest) {
		r.RequestedParameters.QueueSize, r.RequestedParameters.DiscardOldest = size, discardOldest
	}
}

func sampling(ms float64) func(*ua.MonitoredItemCreateRequest) {
	return func(r *ua.MonitoredItemCreateRequest) { r.RequestedParameters.SamplingInterval = ms }
}

func mode(m ua.MonitoringMode) func(*ua.MonitoredItemCreateRequest) {
	return func(r *ua.MonitoredItemCreateRequest) { r.MonitoringMode = m }
}

func filtered(f ua.Structure) func(*ua.MonitoredItemCreateRequest) {
	return func(r *ua.MonitoredItemCreateRequest) { r.RequestedParameters.Filter = ua.ObjectOf(f) }
}

func indexes(text string) func(*ua.MonitoredItemCreateRequest) {
	return func(r *ua.MonitoredItemCreateRequest) { r.ItemToMonitor.IndexRange = text }
}

func attribute(a ua.AttributeID) func(*ua.MonitoredItemCreateRequest) {
	return func(r *ua.MonitoredItemCreateRequest) { r.ItemToMonitor.AttributeID = a }
}

func counting(lifetime, keepAlive, max uint32) func(*ua.CreateSubscriptionRequest) {
	return func(r *ua.CreateSubscriptionRequest) {
		r.RequestedLifetimeCount, r.RequestedMaxKeepAliveCount, r.MaxNotificationsPerPublish = lifetime, keepAlive, max
	}
}

// one returns the only answer since the last time.
func (c *client) one() answer {
	c.w.Helper()
	a := c.ch.take()
	if len(a) != 1 {
		c.w.Fatalf("%d answers, want 1: %+v", len(a), a)
	}
	return a[0]
}

// none checks that nothing was answered since the last time.
func (c *client) none() {
	c.w.Helper()
	if a := c.ch.take(); len(a) != 0 {
		c.w.Fatalf("%d answers, want none: %+v", len(a), a)
	}
}

// values returns the values that an answer carries, as Go values.
func (a *answer) values() []any {
	var list []any
	for _, c := range a.changes() {
		if c.Value.Status.IsBad() {
			list = append(list, c.Value.Status.Code())
		} else {
			list = append(list, c.Value.Value.Any())
		}
	}
	return list
}
