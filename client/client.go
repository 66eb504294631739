package client

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// Client is a session with a server, over connections that come and go. It is
// safe for concurrent use: requests of many goroutines share the connection
// and are in flight together.
type Client struct {
	// Immutable.
	cfg     Config
	url     string
	address string
	host    string
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	crew    crew
	stats   counters
	house   housekeeper

	// current is the channel that requests use; nil while there is none.
	current atomic.Pointer[channel]

	// turn has one element, which whoever connects or activates takes. It owns:
	turn    chan struct{}
	target  *target
	session *session

	mu sync.Mutex
	// Guarded by mu.
	changed chan struct{} // closed and replaced when current or ended changes
	ended   error         // not nil: closed for good
	closing bool          // Close is at work
	user    Identity
	state   ua.ServerState // as the last keep-alive saw it; at first Running
	subs    map[uint32]*Subscription
	publishing
	events
}

// Connect opens a connection to the endpoint of a server, creates a session
// and activates it. The URL is of the form opc.tcp://host:port/path; the client
// keeps using its host and port even if the server names others, as servers
// behind address translation do. Connect tries once.
func Connect(ctx context.Context, endpointURL string, cfg Config) (*Client, error) {
	address, err := hostPort(endpointURL)
	if err != nil {
		return nil, err
	}
	c := &Client{
		cfg:     cfg.withDefaults(),
		url:     endpointURL,
		address: address,
		turn:    make(chan struct{}, 1),
		changed: make(chan struct{}),
	}
	c.user = c.cfg.User
	c.host, _, _ = net.SplitHostPort(address)
	c.ctx, c.stop = context.WithCancel(context.Background())
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	c.turn <- struct{}{}
	_, err = c.connect(ctx, false)
	<-c.turn
	if err != nil {
		c.cfg.OnEvent = nil // nobody has the client
		c.finish(err)
		_ = c.crew.wait(ctx)
		return nil, err
	}
	if ch := c.current.Load(); ch != nil {
		c.openPublishing(ch)
	}
	c.emit(Event{Kind: Connected})
	return c, nil
}

// connect opens a channel and binds a session to it: the one there is, or a
// new one. The caller has the turn. It reports whether the session was kept.
func (c *Client) connect(ctx context.Context, rediscover bool) (kept bool, err error) {
	if c.target == nil || rediscover {
		if err := c.aim(ctx, rediscover); err != nil {
			return false, err
		}
	}
	ch, err := openChannel(ctx, &c.cfg, c.target.sec, c.address, c.url, &c.crew, &c.stats)
	if err != nil {
		return false, fmt.Errorf("client: %w", err)
	}
	ch.arm = c.house.arm
	ch.publish = &publishHandler{c: c, ch: ch}
	ch.start(c.channelClosed)
	if kept, err = c.bind(ctx, ch); err == nil {
		err = c.publish(ch)
	}
	if err != nil {
		c.abandonSession(ch)
		ch.close(err)
		return false, err
	}
	return kept, nil
}

// abandonSession closes a session whose activation may have succeeded without an
// answer that came in time: nobody would use it, and the server would keep it
// until it times out.
func (c *Client) abandonSession(ch *channel) {
	if c.session == nil && !ch.authToken.IsNull() {
		_, _ = ch.send(&request{own: true, body: &ua.CloseSessionRequest{DeleteSubscriptions: true}})
	}
}

// aim chooses the endpoint.
func (c *Client) aim(ctx context.Context, afresh bool) error {
	endpoints := c.cfg.Endpoints
	if endpoints == nil || afresh {
		var err error
		if endpoints, err = discover(ctx, &c.cfg, c.address, c.url); err != nil {
			return err
		}
	}
	t, err := choose(&c.cfg, c.host, endpoints)
	if err != nil {
		return err
	}
	c.target = t
	return nil
}

// bind activates the session on a new channel, creating one if need be.
func (c *Client) bind(ctx context.Context, ch *channel) (kept bool, err error) {
	if c.session != nil {
		if err = c.activate(ctx, ch, c.target, c.session); err == nil {
			return true, nil
		}
		// A fault says that the session cannot be had any more: it timed out,
		// or the server restarted, or it missed the last activation.
		if isConnectionError(err) || isBusy(err) {
			return false, err
		}
		c.session, ch.authToken = nil, ua.NodeID{}
	}
	s, err := c.createSession(ctx, ch, c.target)
	if err != nil {
		return false, err
	}
	if err = c.activate(ctx, ch, c.target, s); err != nil {
		return false, err
	}
	c.session = s
	return false, nil
}

// publish lets requests use a channel.
func (c *Client) publish(ch *channel) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return c.ended
	}
	if ch.gone {
		return ch.alive()
	}
	ch.bound.Store(true)
	c.current.Store(ch)
	c.publishing = publishing{held: c.held, closed: true}
	c.signal()
	c.house.start(c, ch, c.cfg.keepAliveFor(c.session.timeout))
	return nil
}

// signal wakes those that wait for another state. The caller holds mu.
func (c *Client) signal() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// ready returns the channel to use, waiting for one while there is none but
// the one that has failed.
func (c *Client) ready(ctx context.Context, t timing, failed *channel) (*channel, error) {
	if ch := c.current.Load(); ch != nil && ch != failed {
		return ch, nil
	}
	var late <-chan time.Time
	for {
		c.mu.Lock()
		ch, closed, changed := c.current.Load(), c.ended, c.changed
		c.mu.Unlock()
		if closed != nil {
			return nil, closed
		}
		if ch != nil && ch != failed {
			return ch, nil
		}
		if late == nil {
			timer := time.NewTimer(time.Until(t.until))
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrNotConnected, ended(ctx))
		case <-late:
			return nil, ofContext(ctx, fmt.Errorf("%w: %w", ErrNotConnected, ua.BadServerNotConnected))
		}
	}
}

// Do sends a request of any service and waits for the response, which it
// decodes into resp. It fills the RequestHeader on the wire, keeping
// AuditEntryID, AdditionalHeader, ReturnDiagnostics and a TimeoutHint of the
// caller; req is not changed. When ctx is cancelled the server is asked to
// cancel the request, and resp is not touched any more.
func (c *Client) Do(ctx context.Context, req, resp ua.Structure) error {
	return c.do(ctx, req, resp, nil)
}

// do is Do; arrived, if not nil, runs after a good response was decoded and
// before any later message is handled.
func (c *Client) do(ctx context.Context, req, resp ua.Structure, arrived func()) error {
	t := c.cfg.timing(ctx)
	var ch *channel
	for {
		var err error
		if ch, err = c.ready(ctx, t, ch); err != nil {
			return wrap(serviceName(req), err)
		}
		sent, err := ch.attempt(ctx, t, req, resp, arrived)
		if err == nil {
			return nil
		}
		// A channel that had ended already did no harm: try the next one.
		if sent || ch.alive() == nil {
			return wrap(serviceName(req), err)
		}
	}
}

// ChangeUser activates the session for another user (Part 4, 5.7.3). After an
// error the session belongs to the user before.
func (c *Client) ChangeUser(ctx context.Context, user Identity) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return wrap("ActivateSession", ended(ctx))
	}
	ch := c.current.Load()
	if ch == nil || c.session == nil {
		return wrap("ActivateSession", ErrNotConnected)
	}
	before := c.identity()
	c.setIdentity(user)
	if err := c.activate(ctx, ch, c.target, c.session); err != nil {
		c.setIdentity(before)
		return err
	}
	return nil
}

func (c *Client) identity() Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.user
}

func (c *Client) setIdentity(user Identity) {
	c.mu.Lock()
	c.user = user
	c.mu.Unlock()
}

// channelClosed is the last thing that a channel's reader does.
func (c *Client) channelClosed(ch *channel, err error) {
	c.mu.Lock()
	ch.gone = true
	if c.current.Load() != ch || c.ended != nil {
		c.mu.Unlock()
		return // it never was in use, or Close is at work
	}
	c.current.Store(nil)
	c.signal()
	closing := c.closing
	c.mu.Unlock()
	c.house.pause()
	if closing {
		return
	}
	if c.cfg.Reconnect.Disabled {
		c.finish(err)
		return
	}
	c.cfg.Logger.Info().Err(err).Str("url", c.url).Msg("connection lost")
	c.emit(Event{Kind: Disconnected, Err: err})
	c.crew.start("client reconnect", c.reconnect)
}

// Close ends the session, with its subscriptions, and the connection. It
// returns when nothing of the client runs any more, or when ctx ends; the
// connection is gone in both cases. A second Close returns nil at once. It waits
// for the functions that take changes and events, so it must not be called by
// one of them.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	ch, open := c.current.Load(), c.ended == nil
	c.closing = true
	c.mu.Unlock()
	var err error
	if ch != nil && open {
		ch.bound.Store(false) // parked requests may be answered BadSessionClosed
		ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
		req := ua.CloseSessionRequest{DeleteSubscriptions: true}
		var resp ua.CloseSessionResponse
		err = wrap("CloseSession", ch.call(ctx, c.cfg.timing(ctx), &req, &resp, nil))
		cancel()
	}
	if !c.finish(nil) {
		return nil
	}
	if waitErr := c.crew.wait(ctx); err == nil {
		err = waitErr
	}
	return err
}

// finish ends everything for good. It reports whether it was the first.
func (c *Client) finish(cause error) bool {
	c.mu.Lock()
	if c.ended != nil {
		c.mu.Unlock()
		return false
	}
	c.ended = ErrClosed
	if cause != nil {
		c.ended = fmt.Errorf("%w: %w", ErrClosed, cause)
	}
	ch := c.current.Swap(nil)
	subs := make([]*Subscription, 0, len(c.subs))
	for _, s := range c.subs {
		subs = append(subs, s)
	}
	clear(c.subs)
	c.signal()
	c.mu.Unlock()
	c.stop()
	c.house.stop()
	if ch != nil {
		ch.close(ErrClosed)
	}
	for _, s := range subs {
		s.end(c.ended)
	}
	c.emit(Event{Kind: Closed, Err: cause})
	return true
}

// Endpoint is the endpoint in use, as the server described it.
func (c *Client) Endpoint() ua.EndpointDescription {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	return *c.target.endpoint
}

// SessionID is the id of the session, which changes when a reconnect could
// not keep it.
func (c *Client) SessionID() ua.NodeID {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if c.session == nil {
		return ua.NodeID{}
	}
	return c.session.id
}
