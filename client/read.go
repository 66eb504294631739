package client

import (
	"fmt"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
)

// read is the channel's reader. It ends when the connection does: when the
// peer or fail closed it, or after what cannot be understood.
func (ch *channel) read() {
	err := ch.receive()
	ch.mu.Lock()
	if ch.failure == nil {
		ch.failure = &ConnectionError{Op: "read", Err: err}
	}
	failure := ch.failure
	orphans := ch.slots.takeIf(func(*slot) bool { return true })
	if ch.queue != nil {
		ch.queue.Release()
		ch.queue = nil
	}
	ch.mu.Unlock()
	ch.wire.conn.Close()
	ch.wire.release()
	ch.opener.Release()
	for _, h := range orphans {
		h.HandleResponse(0, nil, failure)
	}
	ch.wakeCrowd()
	if ch.closed != nil {
		ch.closed(ch, failure)
	}
}

// receive handles what arrives until there is an error.
func (ch *channel) receive() error {
	for {
		if err := ch.handOut(); err != nil {
			return err
		}
		if err := ch.wire.fill(); err != nil {
			return err
		}
		ch.received.Store(time.Now().UnixNano())
	}
}

// handOut handles all frames that have arrived. Requests that are sent
// meanwhile leave together at its end.
func (ch *channel) handOut() error {
	h, frame, ok, err := ch.wire.next(ch.limits.ReceiveBuffer)
	if !ok {
		return err
	}
	ch.mu.Lock()
	ch.handing, ch.handed = true, time.Unix(0, ch.received.Load())
	ch.mu.Unlock()
	for ok && err == nil {
		ch.stats.bytesIn.Add(uint64(len(frame)))
		if err = ch.handle(h.Type, frame); err == nil {
			h, frame, ok, err = ch.wire.next(ch.limits.ReceiveBuffer)
		}
	}
	ch.mu.Lock()
	ch.handing = false
	lead := err == nil && ch.takeLead()
	crowded := ch.crowded > 0
	ch.mu.Unlock()
	if lead {
		ch.writeFromReader()
	}
	if crowded {
		ch.wakeCrowd()
	}
	return err
}

// handle handles one frame. An error ends the connection.
func (ch *channel) handle(t uasc.MessageType, frame []byte) error {
	switch t {
	case uasc.TypeMessage:
		m, err := ch.opener.Open(frame)
		if err != nil {
			return err
		}
		if m.Aborted != 0 {
			ch.answer(m.RequestID, 0, nil, fmt.Errorf("server aborts its response: %w", m.Aborted))
		} else if m.Done {
			return ch.dispatch(&m)
		}
		return nil
	case uasc.TypeOpen:
		return ch.renewed(frame)
	case uasc.TypeError:
		return decodeError(frame)
	case uasc.TypeClose:
		return ua.BadSecureChannelClosed
	}
	return fmt.Errorf("unexpected %v: %w", t, ua.BadTcpMessageTypeInvalid)
}

// dispatch gives a response to whoever waits for it. An error ends the
// connection: of a session that is gone nothing but a new one can come.
func (ch *channel) dispatch(m *uasc.Message) error {
	ch.stats.responses.Add(1)
	d := &ch.decoder
	d.Reset(m.Body, nil)
	var typeID ua.NodeID
	typeID.DecodeFrom(d)
	body := m.Body[d.Pos():]
	status, ok := responseStatus(body)
	kind := typeID.Numeric()
	var err error
	switch {
	case d.Err() != nil || !ok || typeID.Namespace() != 0:
		kind, body, err = 0, nil, ua.BadDecodingError
	case kind == id.ServiceFault_Encoding_DefaultBinary:
		err = fault(status)
	case status.IsBad():
		err = status
	}
	gone := ch.bound.Load() && isSessionGone(err)
	if gone {
		// Before the caller knows, so that its next request waits for the next
		// session.
		ch.fail(&ConnectionError{Op: "session", Err: err})
	}
	ch.answer(m.RequestID, kind, body, err)
	ch.opener.Recycle()
	if gone {
		return err
	}
	return nil
}

// answer completes a request. Responses to requests that were abandoned, and
// those that nobody asked for, are dropped.
func (ch *channel) answer(requestID, typeID uint32, body []byte, err error) {
	ch.mu.Lock()
	h := ch.slots.take(requestID)
	ch.mu.Unlock()
	if h != nil {
		h.HandleResponse(typeID, body, err)
	}
}

// expire fails the requests whose time is over, and returns when the next
// one's is, in Unix nanoseconds; 0 when there is none.
func (ch *channel) expire(now int64) int64 {
	ch.mu.Lock()
	first := ch.slots.earliest()
	if first == 0 || first > now {
		ch.mu.Unlock()
		return first
	}
	late := ch.slots.takeIf(func(s *slot) bool { return s.deadline != 0 && s.deadline <= now })
	first = ch.slots.earliest()
	ch.mu.Unlock()
	for _, h := range late {
		h.HandleResponse(0, nil, ua.BadTimeout)
	}
	return first
}
