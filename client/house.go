package client

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// housekeeper does what is due at some time: renewing the token, keeping the
// session alive, failing late requests, watching subscriptions. All of it rests
// on a single timer, so that an idle client costs no goroutine for it.
type housekeeper struct {
	// next is when the timer fires, in Unix nanoseconds.
	next atomic.Int64

	mu sync.Mutex
	// Guarded by mu.
	timer *time.Timer
	off   bool
	c     *Client
	ch    *channel // nil: paused
	probe *probe   // not nil: an answer is awaited
	// interval is how long the session may be silent; 0 or less: for ever.
	interval time.Duration
}

const never = math.MaxInt64

// start takes over a channel that requests use from now on.
func (h *housekeeper) start(c *Client, ch *channel, interval time.Duration) {
	h.mu.Lock()
	h.c, h.ch, h.probe, h.interval = c, ch, nil, interval
	if h.timer == nil {
		h.next.Store(never)
		h.timer = time.AfterFunc(time.Duration(never), h.run)
	}
	h.mu.Unlock()
	h.arm(time.Now().UnixNano())
}

// pause forgets the channel.
func (h *housekeeper) pause() {
	h.mu.Lock()
	h.ch, h.probe = nil, nil
	h.mu.Unlock()
}

// stop ends the timer for good.
func (h *housekeeper) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.off, h.ch = true, nil
	if h.timer != nil {
		h.timer.Stop()
	}
}

// arm has the timer fire at a time, in Unix nanoseconds, or earlier.
func (h *housekeeper) arm(at int64) {
	if at >= h.next.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.off || h.timer == nil || at >= h.next.Load() {
		return
	}
	h.next.Store(at)
	h.timer.Reset(max(time.Until(time.Unix(0, at)), 0))
}

// run is called by the timer.
func (h *housekeeper) run() {
	h.next.Store(never)
	h.mu.Lock()
	c, ch := h.c, h.ch
	h.mu.Unlock()
	if ch == nil {
		return
	}
	now := time.Now()
	next := int64(never)
	for _, due := range [...]int64{
		ch.expire(now.UnixNano()),
		ch.keepToken(now),
		h.keepAlive(c, ch, now),
		c.watchSubscriptions(ch, now),
	} {
		if due > 0 {
			next = min(next, due)
		}
	}
	h.arm(next)
}

// keepToken renews the token when it is time, and returns when it is time to
// look again.
func (ch *channel) keepToken(now time.Time) int64 {
	ch.mu.Lock()
	r, at := ch.renewal, ch.renewAt
	ch.mu.Unlock()
	switch {
	case r != nil && now.After(r.deadline):
		ch.fail(&ConnectionError{Op: "renew secure channel", Err: ua.BadTimeout})
		return 0
	case r != nil:
		return min(r.deadline.UnixNano(), now.Add(renewalLook).UnixNano())
	case now.Before(at):
		return at.UnixNano()
	}
	ch.renew()
	return now.Add(renewalLook).UnixNano()
}

// keepAlive reads the server's state when there was no traffic for a while,
// and returns when it is time to look again.
func (h *housekeeper) keepAlive(c *Client, ch *channel, now time.Time) int64 {
	// Traffic in one direction is not enough: without requests the session
	// times out, without responses the connection may be dead.
	quiet := min(ch.sent.Load(), ch.received.Load())
	h.mu.Lock()
	interval := h.interval
	if interval <= 0 {
		h.mu.Unlock()
		return 0
	}
	due := quiet + int64(interval)
	waiting := h.probe != nil
	if !waiting && due <= now.UnixNano() {
		h.probe = &probe{c: c, ch: ch}
	}
	p := h.probe
	h.mu.Unlock()
	if waiting || p == nil {
		return max(due, now.Add(interval/2).UnixNano())
	}
	wait := max(interval, time.Second)
	_, err := ch.send(&request{
		own:      true,
		handler:  p,
		typeID:   stateRead.typeID,
		tail:     stateRead.tail,
		hint:     milliseconds(wait),
		deadline: now.Add(wait).UnixNano(),
	})
	if err != nil {
		h.answered(p)
	}
	return now.Add(wait).UnixNano()
}

func (h *housekeeper) answered(p *probe) {
	h.mu.Lock()
	if h.probe == p {
		h.probe = nil
	}
	h.mu.Unlock()
}

// keepAliveFor is how long a session with this timeout may be silent.
func (cfg *Config) keepAliveFor(sessionTimeout time.Duration) time.Duration {
	if cfg.KeepAlive != 0 {
		return cfg.KeepAlive
	}
	return min(sessionTimeout/3, keepAliveCap)
}

var serverState = ua.NumericID(0, id.Server_ServerStatus_State)

// stateRead asks for ServerStatus.State.
var stateRead = must(Prepare(&pingRequest))

// probe is a keep-alive read that waits for its answer.
type probe struct {
	c  *Client
	ch *channel
}

// HandleResponse ends the connection when there was no answer.
func (p *probe) HandleResponse(_ uint32, body []byte, err error) {
	p.c.house.answered(p)
	if err != nil {
		if ua.StatusOf(err) == ua.BadTimeout && body == nil {
			p.ch.fail(&ConnectionError{Op: "keep-alive", Err: ua.BadTimeout})
		}
		return
	}
	var (
		d    codec.Decoder
		resp ua.ReadResponse
	)
	d.Reset(body, nil)
	resp.DecodeFrom(&d)
	if d.Err() != nil || len(resp.Results) != 1 {
		return
	}
	if state, ok := ua.As[int32](resp.Results[0].Value); ok {
		p.c.sawState(ua.ServerState(state))
	}
}

// sawState tells the owner when the state of the server has changed.
func (c *Client) sawState(state ua.ServerState) {
	c.mu.Lock()
	before := c.state
	c.state = state
	c.mu.Unlock()
	if state != before {
		c.emit(Event{Kind: ServerStateChanged, ServerState: state})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
