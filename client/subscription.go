package client

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// SubscriptionConfig says how changes are delivered. The zero value works.
type SubscriptionConfig struct {
	// Interval is the publishing interval, which the server may revise.
	// Default 1 s; negative: as short as the server can.
	Interval time.Duration
	// KeepAliveCount is the number of intervals without a change after which
	// the server shows that it is alive. Default 10.
	KeepAliveCount uint32
	// LifetimeCount is the number of intervals that the server keeps the
	// subscription for a client that is away. Default: enough for
	// Config.SessionTimeout, at least three times KeepAliveCount.
	LifetimeCount uint32
	// MaxNotifications bounds the changes in one message. Default 0: no bound.
	MaxNotifications uint32
	// Priority among the subscriptions of the session; higher comes first.
	Priority uint8
	// Paused creates the subscription with publishing disabled, see
	// [Subscription.SetPublishing].
	Paused bool
	// Timestamps of the changes. Default: both.
	Timestamps *ua.TimestampsToReturn

	// OnChange gets the changes of items that have no function of their own.
	// Default nil: they are to be taken from [Subscription.Changes].
	OnChange func(Change)
	// OnStatus is called when the server ends the subscription or says that its
	// state changed (Part 4, 7.25.4): BadTimeout, after which the client
	// creates it again; GoodSubscriptionTransferred, after which it is closed.
	// It runs on the goroutine that reads the connection and must not block.
	OnStatus func(ua.StatusCode)
	// Inline calls the functions on the goroutine that reads the connection.
	// They must not block, nor wait for a request. Nothing is queued then,
	// which is the cheapest way to count the changes of many clients.
	Inline bool
	// Queue is the number of changes that wait for a consumer. Default 1000.
	Queue int
	// Overflow says what happens to changes that find the queue full. Default
	// [DropOldest].
	Overflow Overflow
}

// Overflow is a policy for a consumer of changes that is too slow.
type Overflow uint8

const (
	// DropOldest drops the change that has waited longest. Stats counts it.
	DropOldest Overflow = iota
	// DropNewest drops the change that arrived. Stats counts it.
	DropNewest
	// Hold drops nothing. The client sends no Publish requests until the queue
	// is empty again, so that the server keeps the changes in its own queues,
	// which have their own policy. All subscriptions of the session wait. The
	// queue holds what was on its way beyond its size.
	Hold
)

func (cfg SubscriptionConfig) withDefaults(c *Config) SubscriptionConfig {
	if cfg.Interval == 0 {
		cfg.Interval = time.Second
	}
	setPositive(&cfg.KeepAliveCount, 10)
	if cfg.LifetimeCount == 0 {
		// A minute of 10 ms intervals is 6000 of them.
		n := c.SessionTimeout / max(cfg.Interval, time.Millisecond)
		cfg.LifetimeCount = uint32(min(max(int64(n), 3*int64(cfg.KeepAliveCount)), math.MaxUint32))
	}
	setPositive(&cfg.Queue, 1000)
	if cfg.Timestamps == nil {
		both := ua.TimestampsToReturnBoth
		cfg.Timestamps = &both
	}
	return cfg
}

// Subscription is a subscription of the session. It outlives connections, and
// where the server loses it, the client creates it again.
type Subscription struct {
	// Immutable.
	c   *Client
	cfg SubscriptionConfig

	// mu is taken before the client's mu, never behind it.
	mu sync.Mutex
	// Guarded by mu.
	id        uint32
	interval  time.Duration // as revised
	keepAlive time.Duration // as revised: the longest silence
	lifetime  time.Duration // as revised
	paused    bool
	items     map[uint32]*Item // by client handle
	handles   uint32           // given out so far
	order     ordering
	lost      bool // the server has it no more, and it is to be created again
	stranded  bool // it belongs to a session before, and is to be transferred
	restoring bool // a goroutine is creating it again
	outlet    outlet
}

// Subscribe creates a subscription (Part 4, 5.14.2).
func (c *Client) Subscribe(ctx context.Context, cfg SubscriptionConfig) (*Subscription, error) {
	s := &Subscription{
		c:     c,
		cfg:   cfg.withDefaults(&c.cfg),
		items: make(map[uint32]*Item),
	}
	s.paused = cfg.Paused
	s.outlet.done = make(chan struct{})
	var resp ua.CreateSubscriptionResponse
	err := c.do(ctx, s.createRequest(), &resp, func() { s.created(&resp) })
	if err != nil {
		return nil, err
	}
	if ch := c.current.Load(); ch != nil {
		c.refill(ch)
	}
	return s, nil
}

func (s *Subscription) createRequest() *ua.CreateSubscriptionRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &ua.CreateSubscriptionRequest{
		RequestedPublishingInterval: float64(max(s.cfg.Interval, 0)) / float64(time.Millisecond),
		RequestedLifetimeCount:      s.cfg.LifetimeCount,
		RequestedMaxKeepAliveCount:  s.cfg.KeepAliveCount,
		MaxNotificationsPerPublish:  s.cfg.MaxNotifications,
		PublishingEnabled:           !s.paused,
		Priority:                    s.cfg.Priority,
	}
}

// created is called by the reader, before it handles any message of the
// subscription.
func (s *Subscription) created(resp *ua.CreateSubscriptionResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.id
	s.id = resp.SubscriptionID
	s.revised(resp.RevisedPublishingInterval, resp.RevisedLifetimeCount, resp.RevisedMaxKeepAliveCount)
	s.order.reset()
	s.lost, s.stranded = false, false
	for _, it := range s.items {
		it.id = 0
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.c.ended != nil || s.outlet.ended {
		return
	}
	if s.c.subs == nil {
		s.c.subs = make(map[uint32]*Subscription)
	}
	if s.c.subs[before] == s {
		delete(s.c.subs, before)
	}
	s.c.subs[s.id] = s
}

// revised takes over what the server decided. The numbers are the peer's.
// The caller holds mu.
func (s *Subscription) revised(interval float64, lifetime, keepAlive uint32) {
	const longest = 24 * time.Hour
	s.interval = time.Second
	if ms := interval; ms > 0 && ms <= float64(longest/time.Millisecond) {
		s.interval = time.Duration(ms * float64(time.Millisecond))
	} else if ms > 0 {
		s.interval = longest
	}
	times := func(n uint32) time.Duration {
		d := float64(s.interval) * float64(max(n, 1))
		return time.Duration(min(d, float64(30*longest)))
	}
	s.keepAlive, s.lifetime = times(keepAlive), times(lifetime)
	s.order.heard = time.Now()
}

// ID is the server's id of the subscription, which changes when it had to be
// created again.
func (s *Subscription) ID() uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Interval is the publishing interval that the server revised.
func (s *Subscription) Interval() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.interval
}

// Client returns the client of the subscription.
func (s *Subscription) Client() *Client { return s.c }

// SetPublishing lets the server send changes, or only keep them (Part 4, 5.14.4).
func (s *Subscription) SetPublishing(ctx context.Context, on bool) error {
	req := ua.SetPublishingModeRequest{PublishingEnabled: on, SubscriptionIDs: []uint32{s.ID()}}
	var resp ua.SetPublishingModeResponse
	if err := s.c.Do(ctx, &req, &resp); err != nil {
		return err
	}
	if err := firstResult("SetPublishingMode", resp.Results); err != nil {
		return err
	}
	s.mu.Lock()
	s.paused = !on
	s.mu.Unlock()
	return nil
}

// Modify changes Interval, KeepAliveCount, LifetimeCount, MaxNotifications and
// Priority (Part 4, 5.14.3). Other fields of cfg are ignored.
func (s *Subscription) Modify(ctx context.Context, cfg SubscriptionConfig) error {
	cfg = cfg.withDefaults(&s.c.cfg)
	req := ua.ModifySubscriptionRequest{
		SubscriptionID:              s.ID(),
		RequestedPublishingInterval: float64(max(cfg.Interval, 0)) / float64(time.Millisecond),
		RequestedLifetimeCount:      cfg.LifetimeCount,
		RequestedMaxKeepAliveCount:  cfg.KeepAliveCount,
		MaxNotificationsPerPublish:  cfg.MaxNotifications,
		Priority:                    cfg.Priority,
	}
	var resp ua.ModifySubscriptionResponse
	if err := s.c.Do(ctx, &req, &resp); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.Interval, s.cfg.KeepAliveCount, s.cfg.LifetimeCount = cfg.Interval, cfg.KeepAliveCount, cfg.LifetimeCount
	s.cfg.MaxNotifications, s.cfg.Priority = cfg.MaxNotifications, cfg.Priority
	s.revised(resp.RevisedPublishingInterval, resp.RevisedLifetimeCount, resp.RevisedMaxKeepAliveCount)
	return nil
}

// Close deletes the subscription on the server and ends the delivery of
// changes. After an error, too, nothing is delivered any more.
func (s *Subscription) Close(ctx context.Context) error {
	id := s.ID()
	s.drop(nil)
	req := ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{id}}
	var resp ua.DeleteSubscriptionsResponse
	if err := s.c.Do(ctx, &req, &resp); err != nil {
		return err
	}
	return firstResult("DeleteSubscriptions", resp.Results)
}

// drop forgets the subscription.
func (s *Subscription) drop(reason error) {
	s.mu.Lock()
	s.c.mu.Lock()
	if s.c.subs[s.id] == s {
		delete(s.c.subs, s.id)
	}
	s.c.mu.Unlock()
	s.mu.Unlock()
	s.end(reason)
}

// Err returns nil while the subscription lives and after Close, else why it ended.
func (s *Subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outlet.reason
}

// Done is closed when the subscription ends.
func (s *Subscription) Done() <-chan struct{} { return s.outlet.done }

// firstResult is the result of a service with a single operation.
func firstResult(service string, results []ua.StatusCode) error {
	if err := sameCount(service, 1, len(results)); err != nil {
		return err
	}
	return wrap(service, results[0].Err())
}
