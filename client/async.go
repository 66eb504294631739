package client

import (
	"context"
	"fmt"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// Prepared is a request that is encoded except for its header. It can be sent
// any number of times, by any number of clients at once. Ids in it are those
// of one server; results of RegisterNodes even those of one session.
type Prepared struct {
	typeID ua.NodeID
	tail   []byte // what follows the RequestHeader
}

// Prepare encodes a request. Its RequestHeader is ignored.
func Prepare(req ua.Structure) (*Prepared, error) {
	body := req.AppendTo(nil)
	var (
		d codec.Decoder
		h ua.RequestHeader
	)
	d.Reset(body, nil)
	h.DecodeFrom(&d)
	if d.Err() != nil {
		return nil, fmt.Errorf("client: %T does not begin with a RequestHeader: %w", req, d.Err())
	}
	return &Prepared{typeID: req.EncodingID(), tail: body[d.Pos():]}, nil
}

// Send sends a prepared request and returns; h gets the response. It allocates
// nothing and needs no goroutine, so that one client can keep thousands of
// requests in flight. It fails at once, without calling h, with ErrBusy,
// ErrNotConnected or the error of the connection. The request has
// Config.RequestTimeout to be answered.
func (c *Client) Send(p *Prepared, h ResponseHandler) error {
	return c.post(&request{handler: h, typeID: p.typeID, tail: p.tail})
}

// Go sends a request and returns. done is called once resp is decoded, or with
// the error that Do would return; it runs where [ResponseHandler] says, with
// the same restrictions. Go fails at once, without calling done, as Send does.
// req may be reused when Go returns; resp when done is called.
func (c *Client) Go(req, resp ua.Structure, done func(error)) error {
	ch := c.current.Load()
	if ch == nil {
		return c.absent()
	}
	call := ch.takeCall(resp)
	call.done = func(err error) {
		if err != nil {
			err = wrap(serviceName(req), err)
		}
		done(err)
	}
	err := c.post(&request{handler: call, body: req})
	if err != nil {
		call.release()
	}
	return err
}

// post sends a request without waiting for anything.
func (c *Client) post(r *request) error {
	ch := c.current.Load()
	if ch == nil {
		return c.absent()
	}
	r.hint = milliseconds(c.cfg.RequestTimeout)
	r.within = c.cfg.RequestTimeout
	if _, err := ch.send(r); err != nil {
		return err
	}
	ch.arm(r.deadline)
	return nil
}

// absent says why there is no channel.
func (c *Client) absent() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return c.ended
	}
	return ErrNotConnected
}

// Ping reads the state of the server, as the keep-alive does.
func (c *Client) Ping(ctx context.Context) error {
	var resp ua.ReadResponse
	return c.Do(ctx, &pingRequest, &resp)
}

var pingRequest = ua.ReadRequest{
	TimestampsToReturn: ua.TimestampsToReturnNeither,
	NodesToRead:        []ua.ReadValueID{ValueID(serverState)},
}
