package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// reconnect repairs the connection (Part 4, 6.7). It ends when there is one
// again, or the client is closed.
func (c *Client) reconnect() {
	wait := rand.N(c.cfg.Reconnect.Min)
	rediscover := false
	for attempt := 1; ; attempt++ {
		if !c.sleep(wait) {
			return
		}
		kept, err := c.attempt(rediscover)
		if err == nil {
			c.stats.reconnects.Add(1)
			c.restored(kept)
			return
		}
		if errors.Is(err, ErrClosed) || c.ctx.Err() != nil {
			return
		}
		if limit := c.cfg.Reconnect.Attempts; limit > 0 && attempt >= limit {
			c.finish(err)
			return
		}
		rediscover = mayHaveChanged(err)
		wait = c.cfg.Reconnect.next(attempt, err)
		c.cfg.Logger.Info().Err(err).Str("url", c.url).Dur("wait", wait).Msg("reconnect failed")
		c.emit(Event{Kind: AttemptFailed, Err: err, Wait: wait})
	}
}

func (c *Client) attempt(rediscover bool) (kept bool, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.ConnectTimeout)
	defer cancel()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	return c.connect(ctx, rediscover)
}

// restored continues where the broken connection ended.
func (c *Client) restored(kept bool) {
	kind := Replaced
	if kept {
		kind = Resumed
	}
	c.cfg.Logger.Info().Str("url", c.url).Bool("sessionKept", kept).Msg("reconnected")
	c.emit(Event{Kind: kind})
	c.restoreSubscriptions(kept)
}

// sleep waits and reports whether the client is still open.
func (c *Client) sleep(d time.Duration) bool {
	if d <= 0 {
		return c.ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// next is the wait after a failed attempt.
func (b Backoff) next(attempt int, err error) time.Duration {
	if hint, ok := RetryAfter(err); ok {
		// The others that were sent away come back then, too.
		return hint + rand.N(hint/4+b.Min)
	}
	d := b.Max
	if shift := attempt - 1; shift < 30 && b.Min<<shift > 0 {
		d = min(b.Min<<shift, b.Max)
	}
	if isBusy(err) {
		d = min(max(4*d, time.Second), max(b.Max, time.Second))
	}
	return d/2 + rand.N(d/2+1)
}

// isBusy says that the server has too much to do for now.
func isBusy(err error) bool {
	switch ua.StatusOf(err).Code() {
	case ua.BadServerTooBusy, ua.BadTcpServerTooBusy, ua.BadTooManySessions, ua.BadTcpNotEnoughResources:
		return true
	}
	return false
}

// mayHaveChanged says that the endpoints should be discovered again: the server
// may have come back with another certificate or another configuration. A
// server that was not reached, or is busy, is not asked.
func mayHaveChanged(err error) bool {
	var c *ConnectionError
	if errors.As(err, &c) && (c.Op == opDial || c.Op == opHello) {
		return false
	}
	return !isBusy(err)
}
