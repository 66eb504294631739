package client

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// securing is what secures a channel. It is immutable, and shared by all
// channels to the same endpoint.
type securing struct {
	policy *uasc.Policy
	mode   uasc.Mode
	local  *pki.Certificate // nil without security
	server *pki.Parsed      // the server's certificate; may be nil without security
}

// channel is one connection with its secure channel. It matches responses to
// requests and knows nothing of sessions.
//
// Whoever sends a request appends it to the queue, and seals and writes the
// whole queue unless somebody is doing that already. So a request that finds
// the connection idle leaves from its caller's goroutine, and those that come
// meanwhile leave together. While the reader hands out the responses of one
// read, it is the one to write: the requests that these responses cause leave
// with one write.
type channel struct {
	// Immutable once opened.
	cfg    *Config
	sec    *securing
	id     uint32
	limits uasc.Limits
	layout *uasc.Layout
	decode codec.Limits
	stats  *counters
	arm    func(deadline int64)         // has expire called in time; may be nil
	closed func(ch *channel, err error) // called last by the reader
	crew   *crew
	// publish takes the answers to Publish requests; nil while there is no session.
	publish *publishHandler

	// Set by the client before it lets anybody else use the channel.
	authToken ua.NodeID
	bound     atomic.Bool // requests of a session use it

	// Guarded by the client's mu.
	gone bool // closed was called

	// Owned by the reader.
	wire    wire // its writing half is owned by the writer
	opener  *uasc.Opener
	decoder codec.Decoder

	// received and sent are when bytes came and went last, in Unix nanoseconds.
	received, sent atomic.Int64

	mu sync.Mutex
	// Guarded by mu.
	slots    slots
	queue    *codec.Buffer // frames that are not sealed yet; nil while there are none
	renewal  *renewal      // an OPN to be sent, or whose answer is awaited
	token    *uasc.Token   // to be used by the writer from now on; nil when it knows
	renewAt  time.Time     // when to renew the token in use
	writing  bool          // somebody is the writer
	handing  bool          // the reader is handing out responses and will write
	handed   time.Time     // when these were read
	filled   int           // size that the next queue is likely to need
	failure  error         // not nil: the connection has ended
	calls    []*call       // to be used again
	crowded  int           // callers that wait for room
	room     chan struct{} // of capacity 1, woken when there is room again
	renewals uint32        // asked for so far

	// Owned by the writer: the goroutine that set writing.
	sealer uasc.Sealer
}

// openChannel connects to address and opens a secure channel. The caller then
// starts the reader with start.
func openChannel(ctx context.Context, cfg *Config, sec *securing, address, url string, crew *crew, stats *counters) (*channel, error) {
	conn, err := cfg.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, &ConnectionError{Op: opDial, Err: err}
	}
	ch := &channel{
		cfg: cfg, sec: sec, crew: crew, stats: stats,
		decode: codec.Limits{
			MaxStringLength:     int(cfg.MaxMessage),
			MaxByteStringLength: int(cfg.MaxMessage),
			MaxArrayLength:      cfg.MaxArrayLength,
		},
		room: make(chan struct{}, 1),
	}
	ch.wire.attach(conn)
	// The context ends what blocks below by ending the deadline.
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	err = ch.handshake(url)
	if !stop() && err == nil {
		err = ended(ctx)
	}
	if err != nil {
		if over := ended(ctx); over != nil {
			err = &ConnectionError{Op: "open", Err: over}
		}
		ch.abandonOpening()
		return nil, err
	}
	return ch, nil
}

func (ch *channel) abandonOpening() {
	ch.wire.conn.Close()
	ch.wire.release()
	if ch.opener != nil {
		ch.opener.Release()
	}
}

// handshake runs HEL, ACK and the first OPN (Part 6, 7.1.3).
func (ch *channel) handshake(url string) error {
	local := uasc.Limits{
		ReceiveBuffer: ch.cfg.BufferSize,
		SendBuffer:    ch.cfg.BufferSize,
		MaxMessage:    ch.cfg.MaxMessage,
		MaxChunks:     ch.cfg.MaxMessage/minBufferSize + 16,
	}
	hello := local.Hello(url)
	if err := ch.wire.write(hello.AppendTo(nil), ch.cfg.WriteTimeout); err != nil {
		return &ConnectionError{Op: opHello, Err: err}
	}
	frame, err := ch.expect(uasc.TypeAcknowledge, local.ReceiveBuffer)
	if err != nil {
		return &ConnectionError{Op: opHello, Err: err}
	}
	var ack uasc.Acknowledge
	if err = ack.Decode(frame); err == nil {
		ch.limits, err = uasc.Accept(local, ack)
	}
	if err != nil {
		return &ConnectionError{Op: opHello, Err: err}
	}
	if err := ch.openFirst(); err != nil {
		return &ConnectionError{Op: "open secure channel", Err: withTrustHint(err, ch.sec)}
	}
	return nil
}

// expect reads one frame of the given type. An ERR in its place is the error.
func (ch *channel) expect(t uasc.MessageType, maxSize uint32) ([]byte, error) {
	h, frame, err := ch.wire.readFrame(maxSize)
	if err != nil {
		return nil, err
	}
	if h.Type == uasc.TypeError {
		return nil, decodeError(frame)
	}
	if h.Type != t {
		return nil, fmt.Errorf("got %v where %v was due: %w", h.Type, t, ua.BadTcpMessageTypeInvalid)
	}
	return frame, nil
}

func decodeError(frame []byte) error {
	e := new(uasc.ErrorMessage)
	if err := e.Decode(frame); err != nil {
		return err
	}
	return e
}

// start lets the channel receive. closed is called once, from the reader's
// goroutine, after every request in flight was failed.
func (ch *channel) start(closed func(*channel, error)) {
	ch.closed = closed
	now := time.Now().UnixNano()
	ch.received.Store(now)
	ch.sent.Store(now)
	ch.crew.start("client reader", ch.read)
}

// fail ends the connection. The reader notices and does the rest.
func (ch *channel) fail(err error) {
	ch.mu.Lock()
	if ch.failure == nil {
		ch.failure = err
	}
	ch.mu.Unlock()
	ch.wire.conn.Close()
}

// alive returns nil, or why the connection has ended.
func (ch *channel) alive() error {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return ch.failure
}

// close tells the server that the channel ends (Part 4, 5.6.3) and ends it.
func (ch *channel) close(reason error) {
	ch.mu.Lock()
	if ch.failure == nil {
		req := ua.CloseSecureChannelRequest{}
		_ = ch.appendRequest(&request{body: &req}, uasc.TypeClose, 0, time.Now())
	}
	lead := ch.takeLead()
	ch.mu.Unlock()
	if lead {
		ch.writeQueue()
	}
	ch.fail(reason)
}
