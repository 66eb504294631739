package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gopcua/opcua"
	"github.com/gopcua/opcua/ua"
)

// counter follows Plant.Press1.PartCounter through a subscription.
type counter struct {
	sub     *opcua.Subscription
	notes   chan *opcua.PublishNotificationData
	pending []uint32
	last    uint32
	started bool
	missing uint32
}

// follow subscribes with an item queue that outlasts a reconnection.
func follow(ctx context.Context, c *opcua.Client) (*counter, error) {
	f := &counter{notes: make(chan *opcua.PublishNotificationData, 1000)}
	sub, err := c.Subscribe(ctx, &opcua.SubscriptionParameters{Interval: 250 * time.Millisecond}, f.notes)
	if err != nil {
		return nil, err
	}
	f.sub = sub
	item := opcua.NewMonitoredItemCreateRequestWithDefaults(demo("Plant.Press1.PartCounter"), ua.AttributeIDValue, 7)
	item.RequestedParameters.SamplingInterval = 50
	item.RequestedParameters.QueueSize = 200
	res, err := sub.Monitor(ctx, ua.TimestampsToReturnBoth, item)
	if err != nil {
		return nil, err
	}
	if res.Results[0].StatusCode != ua.StatusOK {
		return nil, res.Results[0].StatusCode
	}
	return f, nil
}

// next waits for one value. Errors that the client reports while it reconnects
// are not values; the caller's context ends the wait.
func (f *counter) next(ctx context.Context) (uint32, error) {
	for len(f.pending) == 0 {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("no further change after %d: %w", f.last, ctx.Err())
		case n := <-f.notes:
			change, ok := n.Value.(*ua.DataChangeNotification)
			if !ok {
				continue
			}
			for _, item := range change.MonitoredItems {
				v, ok := item.Value.Value.Value().(uint32)
				if !ok || item.Value.Status != ua.StatusOK {
					return 0, fmt.Errorf("value %v, status %v", item.Value.Value, item.Value.Status)
				}
				f.pending = append(f.pending, v)
			}
		}
	}
	v := f.pending[0]
	f.pending = f.pending[1:]
	return v, nil
}

// take waits for n changes in order; strict also refuses gaps.
func (f *counter) take(ctx context.Context, n int, strict bool) error {
	for n > 0 {
		v, err := f.next(ctx)
		if err != nil {
			return err
		}
		if f.started {
			// An item made anew starts with the value that it finds, which may be known.
			if v < f.last || strict && v != f.last+1 {
				return fmt.Errorf("%d came after %d", v, f.last)
			}
			f.missing += max(v-f.last, 1) - 1
			n--
		}
		f.last, f.started = v, true
	}
	return nil
}

func (s *suite) consecutive(ctx context.Context, c *opcua.Client, sec security) {
	s.report.check(ctx, sec.String()+" receives 20 consecutive changes in order, none missing", func(ctx context.Context) (string, error) {
		f, err := follow(ctx, c)
		if err != nil {
			return "", err
		}
		if err := f.take(ctx, 20, true); err != nil {
			return "", err
		}
		return fmt.Sprintf("up to %d", f.last), f.sub.Cancel(ctx)
	})
}

func (s *suite) renewal(ctx context.Context, sec security) {
	s.report.checkWithin(ctx, time.Minute, sec.String()+" renews its token while changes flow", func(ctx context.Context) (string, error) {
		p, err := newProxy(target(s.endpoint))
		if err != nil {
			return "", err
		}
		defer p.close()
		c, err := s.connect(ctx, p.url(), sec, "", "", opcua.Lifetime(10*time.Second))
		if err != nil {
			return "", err
		}
		defer c.Close(ctx)
		conn := p.last()
		f, err := follow(ctx, c)
		if err != nil {
			return "", err
		}
		for renewed := false; !renewed; {
			if err := f.take(ctx, 1, true); err != nil {
				return "", err
			}
			_, tokens := conn.down.seen()
			renewed = len(tokens) >= 2
		}
		// Both sides speak under the new token, and still nothing is missing.
		if err := f.take(ctx, 10, true); err != nil {
			return "", err
		}
		if err := running(ctx, c); err != nil {
			return "", err
		}
		opens, up := conn.up.seen()
		_, down := conn.down.seen()
		if opens < 2 || up[0] == 0 || up[0] == up[len(up)-1] || up[len(up)-1] != down[len(down)-1] {
			return "", fmt.Errorf("%d OPN, tokens of the client %v, of the server %v", opens, up, down)
		}
		return fmt.Sprintf("tokens %v", up), nil
	})
}

// reconnection cuts the socket. This client activates its session on the new
// channel and then closes it itself together with its subscriptions, makes a
// new session and subscribes anew; so changes from the time between may be
// missing, but the order must hold and the flow go on.
func (s *suite) reconnection(ctx context.Context, sec security) {
	s.report.checkWithin(ctx, time.Minute, sec.String()+" reconnects after its socket was cut, and the subscription goes on", func(ctx context.Context) (string, error) {
		p, err := newProxy(target(s.endpoint))
		if err != nil {
			return "", err
		}
		defer p.close()
		c, err := s.connect(ctx, p.url(), sec, "operator", "operator", opcua.AutoReconnect(true))
		if err != nil {
			return "", err
		}
		defer c.Close(ctx)
		f, err := follow(ctx, c)
		if err != nil {
			return "", err
		}
		if err := f.take(ctx, 5, true); err != nil {
			return "", err
		}
		before := p.count()
		p.cut()
		if err := f.take(ctx, 20, false); err != nil {
			return "", err
		}
		if p.count() == before {
			return "", errors.New("the client did not connect again")
		}
		return fmt.Sprintf("%d changes missing", f.missing), running(ctx, c)
	})
}
