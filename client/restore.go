package client

import (
	"context"
	"slices"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// republish takes the answer to a Republish request.
type republish struct {
	s   *Subscription
	ch  *channel
	n   uint32 // the message asked for
	era uint32
}

// askFor sends Republish for a message (Part 4, 5.14.6); 0 means none.
func (s *Subscription) askFor(ch *channel, n, era uint32) {
	if n == 0 {
		return
	}
	timeout := s.c.cfg.RequestTimeout
	deadline := time.Now().Add(timeout).UnixNano()
	_, err := ch.send(&request{
		own:      true,
		handler:  &republish{s: s, ch: ch, n: n, era: era},
		body:     &ua.RepublishRequest{SubscriptionID: s.ID(), RetransmitSequenceNumber: n},
		hint:     milliseconds(timeout),
		deadline: deadline,
	})
	if err != nil {
		s.mu.Lock()
		s.order.unanswered(n)
		s.mu.Unlock()
		return
	}
	ch.arm(deadline)
}

// HandleResponse puts the message into its place and asks for the next one.
func (r *republish) HandleResponse(_ uint32, body []byte, err error) {
	s := r.s
	var message *ua.NotificationMessage
	if err == nil {
		var (
			d    codec.Decoder
			resp ua.RepublishResponse
		)
		d.Reset(body, &r.ch.decode)
		resp.DecodeFrom(&d)
		if err = d.Err(); err == nil {
			message = &resp.NotificationMessage
		}
	}
	s.mu.Lock()
	if r.era != s.order.era {
		s.mu.Unlock()
		return
	}
	missing := ua.StatusOf(err).Code()
	switch {
	case message != nil:
		s.order.heard = time.Now()
		s.c.stats.republished.Add(1)
		s.order.answered(r.n, message)
	case missing == ua.BadMessageNotAvailable:
		s.order.heard = time.Now()
		s.order.answered(r.n, nil)
	default:
		s.order.unanswered(r.n)
		s.mu.Unlock()
		if missing == ua.BadSubscriptionIDInvalid || missing == ua.BadNoSubscription {
			s.gone()
		}
		return
	}
	s.collect()
	ask := s.order.ask()
	s.mu.Unlock()
	s.askFor(r.ch, ask, r.era)
	if r.ch.alive() == nil {
		s.c.refill(r.ch)
	}
	s.deliver()
}

// watchSubscriptions looks for subscriptions that are silent for too long and
// for Publish requests that are due, and returns when to look again.
func (c *Client) watchSubscriptions(ch *channel, now time.Time) int64 {
	c.mu.Lock()
	retry := c.retryAt
	list := takeSubscriptions(c)
	c.mu.Unlock()
	defer releaseSubscriptions(list)
	var next int64
	earliest := func(t time.Time) {
		if n := t.UnixNano(); next == 0 || n < next {
			next = n
		}
	}
	if now.Before(retry) {
		earliest(retry)
	} else {
		c.refill(ch)
	}
	for _, s := range *list {
		s.mu.Lock()
		due := s.overdue()
		var ask, era uint32
		gone := false
		if !now.Before(due) && !s.restoring {
			if gone = now.Sub(s.order.heard) > s.lifetime+2*s.keepAlive; !gone {
				// Its answer tells whether the subscription still exists, and
				// brings a message that is missing without anybody knowing.
				s.order.probing = true
				ask, era = s.order.ask(), s.order.era
			}
			due = now.Add(s.keepAlive + time.Second)
		}
		s.mu.Unlock()
		earliest(due)
		s.askFor(ch, ask, era)
		if gone {
			s.gone()
		}
	}
	return next
}

// gone has a subscription created again that the server does not know any more.
func (s *Subscription) gone() {
	s.mu.Lock()
	if s.outlet.ended || s.restoring {
		s.mu.Unlock()
		return
	}
	s.lost = true
	s.mu.Unlock()
	if ch := s.c.current.Load(); ch != nil {
		s.c.crew.start("client restore", func() { s.restore(ch) })
	}
}

// restoreSubscriptions continues all subscriptions on a new channel. kept says
// that the session is the one before.
func (c *Client) restoreSubscriptions(kept bool) {
	ch := c.current.Load()
	if ch == nil {
		return
	}
	c.mu.Lock()
	list := takeSubscriptions(c)
	c.mu.Unlock()
	defer releaseSubscriptions(list)
	var stranded []*Subscription
	for _, s := range *list {
		s.mu.Lock()
		s.stranded = s.stranded || !kept
		lost, away := s.lost, s.stranded
		s.mu.Unlock()
		switch {
		case lost:
			c.crew.start("client restore", func() { s.restore(ch) })
		case away:
			stranded = append(stranded, s)
		default:
			s.resume(ch, nil)
		}
	}
	c.transfer(ch, stranded)
	c.openPublishing(ch)
	for _, s := range *list {
		s.deliver()
	}
}

// resume continues a subscription that the server still has.
func (s *Subscription) resume(ch *channel, available []uint32) {
	s.mu.Lock()
	s.order.resume(available)
	s.order.heard = time.Now()
	s.collect()
	ask, era := s.order.ask(), s.order.era
	s.mu.Unlock()
	s.askFor(ch, ask, era)
}

// transfer moves subscriptions of the session before to the new one (Part 4,
// 5.14.7). Those that cannot be moved are created again.
func (c *Client) transfer(ch *channel, subs []*Subscription) {
	if len(subs) == 0 {
		return
	}
	req := ua.TransferSubscriptionsRequest{SendInitialValues: true}
	for _, s := range subs {
		req.SubscriptionIDs = append(req.SubscriptionIDs, s.ID())
	}
	var resp ua.TransferSubscriptionsResponse
	err := ch.call(c.ctx, c.cfg.timing(c.ctx), &req, &resp, nil)
	if err != nil && ch.alive() != nil {
		return // the next reconnect tries again
	}
	for i, s := range subs {
		if err == nil && i < len(resp.Results) && !resp.Results[i].StatusCode.IsBad() {
			s.mu.Lock()
			s.stranded = false
			s.mu.Unlock()
			s.resume(ch, resp.Results[i].AvailableSequenceNumbers)
			continue
		}
		s.mu.Lock()
		s.lost = true
		s.mu.Unlock()
		c.crew.start("client restore", func() { s.restore(ch) })
	}
}

// restore creates a subscription again, with its items. It tries until it has
// done so, or the channel ends, after which reconnecting will see to it.
func (s *Subscription) restore(ch *channel) {
	s.mu.Lock()
	if s.restoring || s.outlet.ended || !s.lost {
		s.mu.Unlock()
		return
	}
	s.restoring = true
	s.mu.Unlock()
	defer s.restored(ch)
	for attempt := 1; ; attempt++ {
		err := s.create(ch)
		if err == nil && s.isEnded() {
			s.discard(ch)
			return
		}
		if err == nil {
			s.c.refill(ch)
			s.c.emit(Event{Kind: SubscriptionRestored, Subscription: s})
			return
		}
		if ch.alive() != nil {
			return
		}
		s.c.emit(Event{Kind: SubscriptionFailed, Subscription: s, Err: err})
		if !s.c.sleep(s.c.cfg.Reconnect.next(attempt, err)) || s.isEnded() {
			return
		}
	}
}

// restored lets others restore again. Whoever found this one at work, on a
// newer channel, has left it to do so.
func (s *Subscription) restored(ch *channel) {
	s.mu.Lock()
	s.restoring = false
	again := s.lost && !s.outlet.ended
	s.mu.Unlock()
	if next := s.c.current.Load(); again && next != nil && next != ch {
		s.c.crew.start("client restore", func() { s.restore(next) })
	}
}

// discard deletes on the server what the client does not use.
func (s *Subscription) discard(ch *channel) {
	req := ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{s.ID()}}
	_, _ = ch.send(&request{own: true, body: &req, hint: milliseconds(s.c.cfg.RequestTimeout)})
}

func (s *Subscription) isEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outlet.ended
}

// create creates the subscription and its items on a channel.
func (s *Subscription) create(ch *channel) error {
	ctx, cancel := context.WithTimeout(s.c.ctx, s.c.cfg.ConnectTimeout)
	defer cancel()
	var resp ua.CreateSubscriptionResponse
	err := ch.call(ctx, s.c.cfg.timing(ctx), s.createRequest(), &resp, func() { s.created(&resp) })
	if err != nil {
		return wrap("CreateSubscription", err)
	}
	s.mu.Lock()
	items := make([]*Item, 0, len(s.items))
	for _, it := range s.items {
		items = append(items, it)
	}
	s.mu.Unlock()
	slices.SortFunc(items, func(a, b *Item) int { return int(a.handle) - int(b.handle) })
	if err = s.createItems(ctx, ch, items); err != nil {
		s.mu.Lock()
		s.lost = true // half of it is worth nothing
		s.mu.Unlock()
		s.discard(ch)
		return wrap("CreateMonitoredItems", err)
	}
	return nil
}
