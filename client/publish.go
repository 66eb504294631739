package client

import (
	"sync"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// publishing keeps enough Publish requests at the server for it to answer
// whenever a subscription has something to say (Part 4, 5.14.5). It is guarded
// by the client's mu.
type publishing struct {
	parked  int       // requests without an answer
	limit   int       // what the server takes; 0: not known
	held    int       // subscriptions whose consumer is too slow, see Hold
	closed  bool      // the session may not have its subscriptions yet
	noneAt  time.Time // of the first of BadNoSubscriptions in a row; zero: none
	retryAt time.Time // after an error; zero: now
}

const (
	publishWait = time.Second
)

// wanted is how many Publish requests there should be. The caller holds mu.
func (c *Client) wanted() int {
	n := len(c.subs)
	if n == 0 || c.held > 0 || c.publishing.closed || c.closing {
		return 0
	}
	// One more than there are subscriptions lets each answer while the request
	// that replaces the one before is on its way.
	n = max(n+1, n*c.cfg.PublishRequests)
	n = min(n, publishMost, max(c.cfg.MaxInFlight/2, 1))
	if c.limit > 0 {
		n = min(n, c.limit)
	}
	return n
}

// refill sends the Publish requests that are missing, with all
// acknowledgements that are due.
func (c *Client) refill(ch *channel) {
	for {
		c.mu.Lock()
		if c.current.Load() != ch || c.parked >= c.wanted() || time.Now().Before(c.retryAt) {
			c.mu.Unlock()
			return
		}
		c.parked++
		subs := takeSubscriptions(c)
		c.mu.Unlock()
		req := publishRequests.Get().(*ua.PublishRequest)
		req.SubscriptionAcknowledgements = req.SubscriptionAcknowledgements[:0]
		for _, s := range *subs {
			req.SubscriptionAcknowledgements = s.appendAcks(req.SubscriptionAcknowledgements)
		}
		releaseSubscriptions(subs)
		// No TimeoutHint: the request waits as long as the server has nothing.
		_, err := ch.send(&request{own: true, handler: ch.publish, body: req})
		publishRequests.Put(req)
		if err != nil {
			c.publishDone(ch)
			ch.publish.retryIn(publishWait / 10)
			return
		}
	}
}

var publishRequests = sync.Pool{New: func() any { return new(ua.PublishRequest) }}

var subscriptionLists = sync.Pool{New: func() any { return new([]*Subscription) }}

// takeSubscriptions lists the subscriptions of a client. The caller holds mu.
func takeSubscriptions(c *Client) *[]*Subscription {
	list := subscriptionLists.Get().(*[]*Subscription)
	for _, s := range c.subs {
		*list = append(*list, s)
	}
	return list
}

func releaseSubscriptions(list *[]*Subscription) {
	clear(*list)
	*list = (*list)[:0]
	subscriptionLists.Put(list)
}

// appendAcks takes the acknowledgements that are due.
func (s *Subscription) appendAcks(dst []ua.SubscriptionAcknowledgement) []ua.SubscriptionAcknowledgement {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.order.acks {
		dst = append(dst, ua.SubscriptionAcknowledgement{SubscriptionID: s.id, SequenceNumber: n})
	}
	s.order.acks = s.order.acks[:0]
	return dst
}

// publishDone counts a Publish request that was answered, and returns how many
// are left.
func (c *Client) publishDone(ch *channel) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current.Load() == ch {
		c.parked--
	}
	return c.parked
}

// publishHandler takes the answers to all Publish requests of a channel.
type publishHandler struct {
	c  *Client
	ch *channel
}

var publishResponses = sync.Pool{New: func() any { return new(ua.PublishResponse) }}

// HandleResponse takes a notification to its subscription and sends the next
// Publish request, before anybody is called who might take long.
func (p *publishHandler) HandleResponse(_ uint32, body []byte, err error) {
	left := p.c.publishDone(p.ch)
	if err != nil {
		p.failed(err, left)
		return
	}
	resp := publishResponses.Get().(*ua.PublishResponse)
	defer publishResponses.Put(resp)
	var d codec.Decoder
	d.Reset(body, &p.ch.decode)
	resp.DecodeFrom(&d)
	if d.Err() != nil {
		p.c.cfg.Logger.Warn().Err(d.Err()).Msg("malformed PublishResponse")
		p.retryIn(publishWait)
		return
	}
	message := resp.NotificationMessage
	resp.NotificationMessage = ua.NotificationMessage{} // others may keep it
	p.c.mu.Lock()
	s := p.c.subs[resp.SubscriptionID]
	p.c.noneAt = time.Time{}
	p.c.mu.Unlock()
	if s == nil {
		p.c.refill(p.ch)
		return
	}
	s.arrived(p.ch, message, resp.AvailableSequenceNumbers)
	p.c.refill(p.ch)
	s.deliver()
}

// arrived puts a message into its place and asks for what is missing.
func (s *Subscription) arrived(ch *channel, m ua.NotificationMessage, available []uint32) {
	if len(m.NotificationData) == 0 {
		s.c.stats.keepAlives.Add(1)
	}
	s.mu.Lock()
	s.order.heard = time.Now()
	s.order.arrive(m, available)
	s.collect()
	ask, era := s.order.ask(), s.order.era
	s.mu.Unlock()
	s.askFor(ch, ask, era)
}

// collect adds to the statistics. The caller holds mu.
func (s *Subscription) collect() {
	if s.order.duplicates > 0 {
		s.c.stats.duplicates.Add(uint64(s.order.duplicates))
	}
	if s.order.missed > 0 {
		s.c.stats.lost.Add(uint64(s.order.missed))
		s.c.cfg.Logger.Warn().Int("messages", s.order.missed).Uint32("subscription", s.id).
			Msg("the server no longer has messages that did not arrive")
	}
	s.order.duplicates, s.order.missed = 0, 0
}

// failed handles a Publish request that brought nothing.
func (p *publishHandler) failed(err error, left int) {
	c := p.c
	if p.ch.alive() != nil {
		return // reconnecting takes care
	}
	c.stats.publishFailures.Add(1)
	c.mu.Lock()
	list := takeSubscriptions(c)
	c.mu.Unlock()
	defer releaseSubscriptions(list)
	for _, s := range *list {
		s.reack() // whether the acknowledgements in the request counted is not known
	}
	switch ua.StatusOf(err).Code() {
	case ua.BadTooManyPublishRequests:
		c.mu.Lock()
		c.limit = max(left, 1)
		c.mu.Unlock()
	case ua.BadTimeout:
		c.refill(p.ch)
	case ua.BadNoSubscription:
		if since := p.noneSince(); time.Since(since) >= publishWait/10 {
			for _, s := range *list {
				if s.silentSince(since) {
					s.gone()
				}
			}
		}
		p.retryIn(publishWait / 5)
	default:
		c.cfg.Logger.Debug().Err(err).Msg("Publish failed")
		p.retryIn(publishWait)
	}
}

// noneSince is since when the server has known no subscription of the session.
// A single answer proves nothing: the request may have crossed the creation of
// the first one.
func (p *publishHandler) noneSince() time.Time {
	now := time.Now()
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if p.c.noneAt.IsZero() {
		p.c.noneAt = now
	}
	return p.c.noneAt
}

// silentSince says that nothing was heard of a subscription, not even that it
// was created, since t.
func (s *Subscription) silentSince(t time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.order.heard.Before(t)
}

// openPublishing lets Publish requests go, once the session has what
// subscriptions it will have.
func (c *Client) openPublishing(ch *channel) {
	c.mu.Lock()
	if c.current.Load() == ch {
		c.publishing.closed = false
	}
	c.mu.Unlock()
	c.refill(ch)
}

func (s *Subscription) reack() {
	s.mu.Lock()
	s.order.reack = true
	s.mu.Unlock()
}

// retryIn sends the next Publish requests after a while.
func (p *publishHandler) retryIn(d time.Duration) {
	at := time.Now().Add(d)
	p.c.mu.Lock()
	p.c.retryAt = at
	p.c.mu.Unlock()
	p.ch.arm(at.UnixNano())
}

// hold counts subscriptions that want no more for now.
func (c *Client) hold(n int) {
	c.mu.Lock()
	c.held += n
	free := c.held == 0
	c.mu.Unlock()
	if ch := c.current.Load(); free && ch != nil {
		c.refill(ch)
	}
}
