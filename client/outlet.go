package client

import (
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// outlet is where changes wait for their consumer. It is guarded by the
// subscription's mu.
type outlet struct {
	queue   []Change // a ring; nil while it is empty
	head, n int
	running bool        // the consumer's goroutine runs
	holding bool        // see Hold
	changes chan Change // made by Changes
	done    chan struct{}
	ended   bool
	reason  error
}

// Changes returns the channel of the changes that no function takes. It is
// closed when the subscription ends. What arrived before the first call is in
// it, as far as the queue holds.
func (s *Subscription) Changes() <-chan Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outlet.changes == nil {
		s.outlet.changes = make(chan Change)
		if s.outlet.ended {
			close(s.outlet.changes)
		} else {
			s.startPump()
		}
	}
	return s.outlet.changes
}

// end stops the delivery.
func (s *Subscription) end(reason error) {
	s.mu.Lock()
	o := &s.outlet
	if o.ended {
		s.mu.Unlock()
		return
	}
	o.ended, o.reason = true, reason
	close(o.done)
	o.clear()
	if o.changes != nil && !o.running {
		close(o.changes)
	}
	free := o.holding && !o.running // else the consumer's goroutine does it
	o.holding = o.holding && !free
	s.mu.Unlock()
	if free {
		s.c.hold(-1)
	}
}

func (o *outlet) clear() { o.queue, o.head, o.n = nil, 0, 0 }

// put appends a change, growing the ring up to limit unless it may go beyond.
func (o *outlet) put(ch Change, limit int, beyond bool) bool {
	if o.n >= limit && !beyond {
		return false
	}
	if o.n == len(o.queue) {
		size := max(8, 2*o.n)
		if o.n < limit {
			size = min(size, limit)
		}
		grown := make([]Change, size)
		for i := range o.n {
			grown[i] = o.queue[(o.head+i)%len(o.queue)]
		}
		o.queue, o.head = grown, 0
	}
	o.queue[(o.head+o.n)%len(o.queue)] = ch
	o.n++
	return true
}

func (o *outlet) take() Change {
	ch := o.queue[o.head]
	o.queue[o.head] = Change{}
	o.head = (o.head + 1) % len(o.queue)
	if o.n--; o.n == 0 {
		o.clear() // an idle subscription keeps no memory
	}
	return ch
}

// deliver hands out the messages that are in order. Only one goroutine does so
// at a time; the others leave theirs to it.
func (s *Subscription) deliver() {
	s.mu.Lock()
	if s.order.draining {
		s.mu.Unlock()
		return
	}
	s.order.draining = true
	for len(s.order.ready) > 0 {
		messages := s.order.ready
		s.order.ready = nil
		s.mu.Unlock()
		for i := range messages {
			s.deliverMessage(&messages[i])
		}
		s.mu.Lock()
	}
	s.order.draining = false
	s.mu.Unlock()
}

func (s *Subscription) deliverMessage(m *ua.NotificationMessage) {
	for i := range m.NotificationData {
		switch data := m.NotificationData[i].Value.(type) {
		case *ua.DataChangeNotification:
			s.c.stats.notifications.Add(uint64(len(data.MonitoredItems)))
			for j := range data.MonitoredItems {
				n := &data.MonitoredItems[j]
				s.push(n.ClientHandle, Change{Value: n.Value})
			}
		case *ua.EventNotificationList:
			s.c.stats.notifications.Add(uint64(len(data.Events)))
			for j := range data.Events {
				n := &data.Events[j]
				s.push(n.ClientHandle, Change{Fields: n.EventFields})
			}
		case *ua.StatusChangeNotification:
			s.statusChanged(data.Status)
		}
	}
}

// push hands one change to its consumer.
func (s *Subscription) push(handle uint32, ch Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch.Item = s.items[handle]
	if ch.Item == nil || s.outlet.ended {
		return // deleted while the message was on its way
	}
	if fn := s.consumer(&ch); s.cfg.Inline && fn != nil {
		s.mu.Unlock()
		fn(ch)
		s.mu.Lock()
		return
	}
	o := &s.outlet
	if !o.put(ch, s.cfg.Queue, s.cfg.Overflow == Hold) {
		s.c.stats.dropped.Add(1)
		if s.cfg.Overflow == DropNewest {
			return
		}
		o.take()
		o.put(ch, s.cfg.Queue, false)
	}
	if s.cfg.Overflow == Hold && o.n >= s.cfg.Queue && !o.holding {
		o.holding = true
		s.c.hold(1)
	}
	s.startPump()
}

// consumer is the function that takes a change; nil for the channel.
func (s *Subscription) consumer(ch *Change) func(Change) {
	if ch.Item.spec.OnChange != nil {
		return ch.Item.spec.OnChange
	}
	return s.cfg.OnChange
}

// startPump starts the consumer's goroutine if there is something for it. The
// caller holds mu.
func (s *Subscription) startPump() {
	o := &s.outlet
	if o.running || o.ended || o.n == 0 {
		return
	}
	if o.changes == nil && s.consumer(&o.queue[o.head]) == nil {
		return // nobody takes it yet
	}
	o.running = true
	s.c.crew.start("client changes", s.pump)
}

// pump calls the consumer until there is nothing left. It ends with the
// subscription as well, after the call it is in.
func (s *Subscription) pump() {
	o := &s.outlet
	s.mu.Lock()
	for o.n > 0 && !o.ended {
		fn := s.consumer(&o.queue[o.head])
		if fn == nil && o.changes == nil {
			break
		}
		ch := o.take()
		free := o.holding && o.n == 0
		if free {
			o.holding = false
		}
		changes := o.changes
		s.mu.Unlock()
		if free {
			s.c.hold(-1)
		}
		if fn != nil {
			fn(ch)
		} else {
			select {
			case changes <- ch:
			case <-o.done:
			}
		}
		s.mu.Lock()
	}
	o.running = false
	free := o.holding && o.ended
	if o.ended && o.changes != nil {
		close(o.changes)
	}
	if free {
		o.holding = false
	}
	s.mu.Unlock()
	if free {
		s.c.hold(-1)
	}
}

// statusChanged handles what the server says of the subscription itself.
func (s *Subscription) statusChanged(status ua.StatusCode) {
	if s.cfg.OnStatus != nil {
		s.cfg.OnStatus(status)
	}
	switch status.Code() {
	case ua.GoodSubscriptionTransferred:
		s.drop(status)
	case ua.BadTimeout:
		s.gone()
	}
}

// overdue is when the silence of a subscription becomes strange.
func (s *Subscription) overdue() time.Time {
	return s.order.heard.Add(2*s.keepAlive + time.Second)
}
