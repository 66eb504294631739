package sessionactor

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/audit"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
	"github.com/uahive/uahive/publishloop"
)

// Config is what a [Service] needs. All fields but Limits, Authenticate, Roles,
// SaveRoles and Logger are required.
type Config struct {
	// Space holds the nodes that clients see.
	Space *addrspace.Space
	// Subscriptions runs what clients subscribe to.
	Subscriptions *publishloop.Manager
	// PKI holds the certificate with which the server signs.
	PKI *pki.Store
	// Endpoints says what the server offers.
	Endpoints *Endpoints
	// Authenticate checks user identities; nil admits Anonymous only.
	Authenticate Authenticator
	// Roles say who has which role, beside what Authenticate says.
	Roles []RoleMapping
	// SaveRoles keeps what administrators change of them; nil: a restart forgets it.
	SaveRoles func([]RoleMapping) error
	// Pool runs calls into user code.
	Pool *actors.Pool
	// Lane runs private-key operations.
	Lane *actors.Lane
	// Group starts the goroutines of sessions.
	Group *actors.Group
	// Hooks are told what becomes of sessions.
	Hooks Hooks
	// Audit records what clients do. Nil switches that off.
	Audit *audit.Trail
	// Limits bounds what clients can take.
	Limits Limits
	// MaxRequestMessage is announced in CreateSession responses, in bytes.
	MaxRequestMessage uint32
	// Logger gets life-cycle events and rejections.
	Logger zerolog.Logger
}

// Service is the service table over sessions. It implements [channelactor.Service].
type Service struct {
	// Immutable.
	config Config
	limits Limits
	log    zerolog.Logger
	// For what peers can cause as often as they like: refusals, and sessions
	// that come and go.
	refusals, visits *channelactor.PeerLog
	decoding         codec.Limits
	start            time.Time
	base             context.Context // ends with the service
	stop             context.CancelFunc

	sessions *actors.Registry[ua.NodeID, *Session] // by authentication token
	waiting  unactivated
	encoding chan struct{} // holds one for each large answer that is being encoded
	// waitingBytes is the encoded size of requests that wait for the worker pool.
	waitingBytes atomic.Int64
	numbers      atomic.Uint64
	logins       *logins
	stats        counters
	meter        meter
	access       access
}

var _ channelactor.Service = (*Service)(nil)

// New returns a service without sessions.
func New(config Config) *Service {
	limits := config.Limits.WithDefaults()
	limits.WaitingBytes = max(limits.WaitingBytes, 4*int(config.MaxRequestMessage))
	s := &Service{
		config: config, limits: limits, log: config.Logger, start: time.Now(),
		decoding: codec.Limits{
			MaxStringLength: limits.StringLength, MaxByteStringLength: limits.ByteStringLength,
			MaxArrayLength: limits.ArrayLength,
		},
		refusals: channelactor.NewPeerLog(config.Logger, zerolog.WarnLevel, 10, 10*time.Second),
		visits:   channelactor.NewPeerLog(config.Logger, zerolog.InfoLevel, 100, time.Second),
		logins:   newLogins(limits.BadLogins),
		encoding: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
		sessions: actors.NewRegistry[ua.NodeID, *Session](ua.NodeID.Hash),
	}
	s.meter.init()
	s.initAccess()
	s.base, s.stop = context.WithCancel(context.Background())
	return s
}

// Limits returns the limits in force.
func (s *Service) Limits() Limits { return s.limits }

// Serve implements [channelactor.Service].
func (s *Service) Serve(b *channelactor.Batch, req channelactor.Request) {
	x, ok := b.Scratch.(*exchange)
	if !ok {
		x = new(exchange)
		b.Scratch = x
	}
	s.open(x, b, req)
	s.dispatch(x)
	x.close()
}

// open makes the exchange ready for a new request.
func (s *Service) open(x *exchange, b *channelactor.Batch, req channelactor.Request) {
	x.service, x.batch, x.channel = s, b, b.Channel()
	x.conv, _ = x.channel.Local.(*conversation)
	if x.conv == nil {
		x.conv = new(conversation)
		x.channel.Local = x.conv
	}
	x.session, x.rights, x.entry, x.id, x.raw, x.owned = nil, nil, &unknownEntry, req.ID, req.Body, req.Owned
	x.header = ua.RequestHeader{}
	x.now, x.late = b.Now(), false
}

// maxScratch is the number of operations up to which a decoded request's memory
// is kept for the next one. It stops one huge request from staying with a
// scratch that is used for small ones ever after.
const maxScratch = 1024

// close lets go of what the exchange refers to while it waits for its next use.
func (x *exchange) close() {
	if cap(x.write.NodesToWrite) > maxScratch {
		x.write = ua.WriteRequest{}
	}
	if cap(x.browse.NodesToBrowse) > maxScratch {
		x.browse = ua.BrowseRequest{}
	}
	if cap(x.publish.SubscriptionAcknowledgements) > maxScratch {
		x.publish = ua.PublishRequest{}
	}
	clear(x.write.NodesToWrite) // values of clients are not kept alive
	x.service, x.batch, x.channel, x.conv, x.session, x.rights, x.raw = nil, nil, nil, nil, nil, nil, nil
	x.header, x.operation = ua.RequestHeader{}, ua.ReadValueID{}
	x.body.Reset(nil, nil)
}

// dispatch finds out what the request is, checks that its sender may ask it,
// and calls the handler.
func (s *Service) dispatch(x *exchange) {
	d := &x.body
	d.Reset(x.raw, &s.decoding)
	d.Alias(true)
	d.Adopt(x.owned)
	var typeID ua.NodeID
	typeID.DecodeFrom(d)
	if d.Err() != nil {
		x.fault(ua.StatusOf(d.Err()))
		return
	}
	x.raw = x.raw[d.Pos():]
	e := entryOf(typeID)
	x.header.DecodeFrom(d)
	if e == nil {
		// The type is unknown, abstract, a response, or not offered: the same
		// answer for all (Part 4, 7.38.2), whatever stands behind it.
		if d.Err() != nil {
			x.header = ua.RequestHeader{}
		}
		x.fault(ua.BadServiceUnsupported)
		return
	}
	if d.Err() != nil {
		x.fault(ua.StatusOf(d.Err()))
		return
	}
	x.entry = e
	if e.session {
		if code := s.authorize(x); code != ua.Good {
			x.fault(code)
			return
		}
	}
	e.handle(x)
}

// authorize finds the session of a request and checks that it belongs to this
// channel and is activated (Part 4, 5.7.3.1).
func (s *Service) authorize(x *exchange) ua.StatusCode {
	session := x.conv.last
	if session == nil || session.token != x.header.AuthenticationToken {
		var known bool
		session, known = s.sessions.Load(x.header.AuthenticationToken)
		if !known {
			return s.unknown()
		}
	}
	bound := session.bound.Load()
	if bound == nil {
		return s.unknown() // closed
	}
	if bound.channel != x.channel {
		return ua.BadSecureChannelIDInvalid
	}
	if !bound.active {
		// A request other than ActivateSession and CloseSession on a session
		// that was never activated ends it.
		session.post(message{kind: messageExpel})
		return ua.BadSessionNotActivated
	}
	session.touch(x.now)
	x.conv.last = session
	x.session, x.rights = session, bound.rights
	return ua.Good
}

// unknown is what a request gets whose session does not exist. When the server ends, its sessions end before
// its channels do: who asks in between asked rightly.
func (s *Service) unknown() ua.StatusCode {
	if s.base.Err() != nil {
		return ua.BadShutdown
	}
	return ua.BadSessionIDInvalid
}

// Closed implements [channelactor.Service]: sessions that were never activated
// end with their channel, others may be bound to a new one until they time out.
func (s *Service) Closed(c *channelactor.Channel) {
	conv, ok := c.Local.(*conversation)
	if !ok {
		return
	}
	sessions, waiting := conv.end()
	for _, r := range waiting {
		r.cancel()
	}
	for _, session := range sessions {
		session.post(message{kind: messageChannelClosed, channel: c})
	}
}

// Len returns the number of sessions, activated or not.
func (s *Service) Len() int { return s.sessions.Len() }

// Sessions returns the sessions of this moment.
func (s *Service) Sessions() []*Session {
	var list []*Session
	for _, session := range s.sessions.All() {
		list = append(list, session)
	}
	return list
}

// Close ends all sessions and the calls that run for them. When it returns,
// parked Publish requests have been answered with BadShutdown.
func (s *Service) Close() {
	s.stop()
	for _, session := range s.sessions.All() {
		session.end(endShutdown, true)
		session.post(message{kind: messageExpel}) // wakes its goroutine, which ends
	}
	s.refusals.Close()
	s.visits.Close()
}
