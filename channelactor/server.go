package channelactor

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// Config is what a [Server] needs. All fields but Limits and Logger are required.
type Config struct {
	// Service answers the requests.
	Service Service
	// PKI holds the server's certificate and decides about the clients'.
	PKI *pki.Store
	// Offers says whether a channel with this policy and mode may be opened.
	Offers func(policy *uasc.Policy, mode ua.MessageSecurityMode) bool
	// Lane runs private-key operations, so that they neither take a core each
	// nor deepen the stacks of readers.
	Lane *actors.Lane
	// Group starts the goroutines.
	Group *actors.Group
	// Hooks are told what becomes of connections.
	Hooks Hooks
	// Audit is told of requests about channels that leave a trail.
	Audit Audit
	// Limits bounds what peers can take.
	Limits Limits
	// Logger gets life-cycle events and rejections; zerolog.Nop() by default.
	Logger zerolog.Logger
}

// A peer has refusalLines lines in the log about its refusals in each refusalPeriod.
const (
	refusalLines  = 10
	refusalPeriod = 10 * time.Second
)

// Server accepts connections and runs their channels.
type Server struct {
	// Immutable.
	config    Config
	limits    Limits
	log       zerolog.Logger
	refusals  *PeerLog
	start     time.Time
	admission *admission
	budget    *uasc.MemoryBudget // of unfinished messages over all channels
	stats     counters
	decoding  codec.Limits
	observer  Observer // the service, if it is one

	large chan struct{} // holds one for each large request that is being served

	nextChannel atomic.Uint32
	nextToken   atomic.Uint32
	draining    atomic.Int32 // channels that wait for their peers to close

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	closed    bool
	closing   chan struct{} // closed with closed
}

// NewServer returns a server that listens nowhere yet.
func NewServer(config Config) *Server {
	s := &Server{
		config: config, limits: config.Limits.WithDefaults(), log: config.Logger, start: time.Now(),
		listeners: make(map[net.Listener]struct{}), closing: make(chan struct{}),
		large:    make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
		refusals: NewPeerLog(config.Logger, zerolog.WarnLevel, refusalLines, refusalPeriod),
	}
	s.observer, _ = config.Service.(Observer)
	s.admission = newAdmission(&s.limits)
	s.budget = uasc.NewMemoryBudget(s.limits.AssemblyBytes)
	// Ids of channels and tokens start at random places: they are what binds a
	// message to its connection under SecurityPolicy None.
	var seed [8]byte
	rand.Read(seed[:])
	s.nextChannel.Store(binary.LittleEndian.Uint32(seed[:]))
	s.nextToken.Store(binary.LittleEndian.Uint32(seed[4:]))
	return s
}

// Limits returns the limits in force.
func (s *Server) Limits() Limits { return s.limits }

// nonZero counts up and leaves out 0, which widespread clients take for "none".
func nonZero(counter *atomic.Uint32) uint32 {
	for {
		if id := counter.Add(1); id != 0 {
			return id
		}
	}
}

// Serve accepts connections until the listener or the server is closed. It
// returns nil in that case, and the listener's error otherwise.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		l.Close()
		return nil
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
		l.Close()
	}()
	var pause time.Duration
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.admit(conn)
		case errors.Is(err, net.ErrClosed):
			return nil
		case retryAccept(err):
			// Out of descriptors or a connection that went away: wait for
			// others to close, without spinning and without giving up.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.log.Warn().Err(err).Dur("pause", pause).Msg("accept failed, trying again")
			select {
			case <-time.After(pause):
			case <-s.closing:
			}
		default:
			return err
		}
	}
}

// retryAccept reports whether an accept error can pass.
func retryAccept(err error) bool {
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		return true
	}
	return isTransient(err)
}

// admit starts the reader of a new connection, or refuses it.
func (s *Server) admit(conn net.Conn) {
	s.stats.accepted.Add(1)
	c := &Channel{server: s, remote: conn.RemoteAddr().String()}
	c.sock.init(conn, (*channelBudget)(c))
	evicted, refused := s.admission.enter(c)
	if evicted != nil {
		s.stats.evicted.Add(1)
		evicted.close(CloseReason{Code: reasonEvicted, Status: ua.BadTcpServerTooBusy, RetryAfter: actors.Spread(retryFull)})
	}
	if refused != "" {
		reason := CloseReason{Code: refused, Status: ua.BadTcpServerTooBusy}
		c.reason.Store(&reason)
		s.count(false, &reason)
		s.refusals.Line(c.place.peer).Str("peer", c.remote).Str("reason", string(refused)).Msg("connection refused")
		refuse(conn, reason.Status, actors.Spread(retryFull))
		s.config.Hooks.ended(c)
		return
	}
	if !s.config.Group.Go("reader", c.read) {
		s.admission.leave(c)
		conn.Close()
		return
	}
	// A connection that was accepted while the server closed is in nobody's list.
	if s.isClosed() {
		c.close(CloseReason{Code: reasonShutdown, Status: ua.BadShutdown})
	}
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// refuse says why and when to come back, and closes, without waiting for the peer.
func refuse(conn net.Conn, code ua.StatusCode, after time.Duration) {
	conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	conn.Write((&uasc.ErrorMessage{Code: code, Reason: RetryHint(after)}).AppendTo(nil))
	conn.Close()
}

// CloseListeners stops accepting; open channels go on.
func (s *Server) CloseListeners() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	for l := range s.listeners {
		l.Close()
	}
}

// Close ends every channel with the status code and waits for none: the group
// that runs their goroutines knows when they have ended.
func (s *Server) Close(code ua.StatusCode) {
	s.CloseListeners()
	for _, c := range s.admission.channels() {
		c.close(CloseReason{Code: reasonShutdown, Status: code})
	}
	s.refusals.Close()
}
