package client

import (
	"context"
	"fmt"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// call waits for the response to one request.
type call struct {
	ch       *channel
	resp     ua.Structure
	decoder  codec.Decoder
	err      error
	finished chan struct{} // of capacity 1; for callers that wait
	// arrived runs on the reader before any later message is handled; nil: nothing.
	arrived func()
	// done runs instead of finished; nil for callers that wait.
	done func(error)
}

var _ ResponseHandler = (*call)(nil)

// takeCall returns a call to be used and then released. They are not shared by
// all channels because each has a Go channel, which belongs to the synctest
// bubble that it was made in.
func (ch *channel) takeCall(resp ua.Structure) *call {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	n := len(ch.calls)
	if n == 0 {
		return &call{ch: ch, resp: resp, finished: make(chan struct{}, 1)}
	}
	c := ch.calls[n-1]
	ch.calls = ch.calls[:n-1]
	c.resp = resp
	return c
}

func (c *call) release() {
	c.resp, c.err, c.arrived, c.done = nil, nil, nil, nil
	c.decoder.Reset(nil, nil)
	c.ch.mu.Lock()
	defer c.ch.mu.Unlock()
	if len(c.ch.calls) < spareCalls {
		c.ch.calls = append(c.ch.calls, c)
	}
}

// HandleResponse decodes the response.
func (c *call) HandleResponse(typeID uint32, body []byte, err error) {
	switch {
	case err != nil:
		err = withHint(err, body)
	case c.resp == nil:
	case typeID != c.resp.EncodingID().Numeric():
		err = fmt.Errorf("response of type i=%d: %w", typeID, ua.BadUnknownResponse)
	default:
		c.decoder.Reset(body, &c.ch.decode)
		c.resp.DecodeFrom(&c.decoder)
		err = c.decoder.Err()
	}
	if err == nil && c.arrived != nil {
		c.arrived()
	}
	if done := c.done; done != nil {
		c.release()
		done(err)
		return
	}
	c.err = err
	c.finished <- struct{}{}
}

// timing says until when a request may take.
type timing struct {
	hint     uint32 // for the server, in milliseconds
	deadline int64  // when the channel fails it; 0: the context does
	until    time.Time
}

// timing takes the time for a request from its context, or else from the
// configuration.
func (cfg *Config) timing(ctx context.Context) timing {
	if until, ok := ctx.Deadline(); ok {
		// Rounded up, so that the server does not give up before the client does.
		return timing{hint: max(milliseconds(time.Until(until)+time.Millisecond-1), 1), until: until}
	}
	until := time.Now().Add(cfg.RequestTimeout)
	return timing{hint: milliseconds(cfg.RequestTimeout), deadline: until.UnixNano(), until: until}
}

// call sends req and waits for resp. arrived may be nil; see call.arrived.
func (ch *channel) call(ctx context.Context, t timing, req, resp ua.Structure, arrived func()) error {
	_, err := ch.attempt(ctx, t, req, resp, arrived)
	return err
}

// attempt is call; sent tells whether the server may have seen the request.
func (ch *channel) attempt(ctx context.Context, t timing, req, resp ua.Structure, arrived func()) (sent bool, err error) {
	c := ch.takeCall(resp)
	c.arrived = arrived
	id, err := ch.sendWait(ctx, &request{handler: c, body: req, hint: t.hint, deadline: t.deadline}, t.until)
	if err != nil {
		c.release()
		return false, ofContext(ctx, err)
	}
	if t.deadline != 0 && ch.arm != nil {
		ch.arm(t.deadline)
	}
	select {
	case <-c.finished:
	case <-ctx.Done():
		if ch.abandon(id) {
			c.release()
			ch.cancel(ctx, id)
			return true, ended(ctx)
		}
		<-c.finished // the reader has it: a moment
	}
	err = c.err
	c.release()
	return true, ofContext(ctx, err)
}

// cancel tells the server that nobody waits for a request (Part 4, 5.7.5). A
// request whose time is over needs no telling: the server knows the TimeoutHint.
func (ch *channel) cancel(ctx context.Context, id uint32) {
	if ctx.Err() == context.Canceled {
		_, _ = ch.send(&request{own: true, body: &ua.CancelRequest{RequestHandle: id}, hint: milliseconds(ch.cfg.RequestTimeout)})
	}
}
