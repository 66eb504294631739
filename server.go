package uahive

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
	"github.com/uahive/uahive/publishloop"
	"github.com/uahive/uahive/sessionactor"
)

// Version is the version of this module.
const Version = "0.1.0"

// shutdownLimit is the time in which a server ends, whatever its clients and
// the program's callbacks do.
const shutdownLimit = 5 * time.Second

// Server is an OPC UA server. Its address space can be used as soon as [New] has
// returned; clients come in with [Server.Serve].
type Server struct {
	// Immutable.
	config   Config
	log      zerolog.Logger
	space    *addrspace.Space
	pki      *pki.Store
	group    actors.Group
	pool     *actors.Pool // calls into the program's code
	lane     *actors.Lane // private-key operations
	subs     *publishloop.Manager
	sessions *sessionactor.Service
	channels *channelactor.Server
	start    time.Time
	herald   herald
	auditor  auditor
	model    model           // what the typed API keeps; it has a lock of its own
	defaults sync.Mutex      // serialises changes of namespaces' default permissions
	life     context.Context // ends with Close
	end      context.CancelFunc
	push     *push // nil where there is none

	mu sync.Mutex
	// Guarded by mu.
	state    ua.ServerState
	opened   net.Listener // by Listen, until it serves
	serving  int
	shutdown time.Time // when the server will end, once it is in state Shutdown
	bound    net.Addr
	closed   chan struct{} // closed when Close has finished
	closing  bool
}

// New makes a server. It reports a [ConfigError] for what is wrong with the
// configuration, and the reason when the certificate store cannot be used.
func New(config Config) (*Server, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: config, log: config.Logger, start: time.Now(),
		state: ua.ServerStateRunning, closed: make(chan struct{}),
	}
	if s.pki, err = config.openPKI(); err != nil {
		return nil, config.pkiError(err)
	}
	s.life, s.end = context.WithCancel(context.Background())
	limits := config.Limits.spread()
	s.space = addrspace.New(addrspace.Options{ApplicationURI: config.ApplicationURI, Limits: limits.Nodes})
	if err := s.space.LoadNS0(); err != nil {
		return nil, fmt.Errorf("uahive: loading namespace 0: %w", err)
	}
	s.assemble(limits)
	if err := s.sessions.BindRoles(); err != nil {
		return nil, fmt.Errorf("uahive: the roles of Config.Roles: %w", err)
	}
	if err := s.secureNamespaceZero(); err != nil {
		return nil, fmt.Errorf("uahive: the permissions of namespace 0: %w", err)
	}
	s.bindServerObject()
	if !config.NoPushManagement {
		s.push = s.bindPush()
	}
	return s, nil
}

func (c *Config) openPKI() (*pki.Store, error) {
	store := pki.Config{
		Dir: c.PKI, ApplicationURI: c.ApplicationURI, ApplicationName: c.ApplicationName,
		Hosts: c.hosts(), KeyTypes: c.keyTypes(), Logger: c.Logger, AcceptAll: c.TrustAll,
	}
	if c.PKI == "memory" {
		return pki.Memory(store)
	}
	return pki.Open(store)
}

// assemble makes the actors and connects them.
func (s *Server) assemble(limits Limits) {
	onPanic := func(_ uint64, value any, stack []byte) {
		s.log.Error().Interface("panic", value).Bytes("stack", stack).Msg("panic on the worker pool")
	}
	channelLimits := limits.Channels.WithDefaults()
	// A session may have as many calls waiting as its channel has credits.
	s.pool = actors.NewPool(actors.PoolConfig{
		Size: s.config.Workers, Queue: 32_768, OwnerQueue: channelLimits.InFlight, OnPanic: onPanic,
	})
	// A private-key operation holds a core for a millisecond or two; waiting
	// clients are served in turns, as far as they would wait so long.
	s.lane = actors.NewLane(actors.LaneConfig{Size: laneSize(), MaxWait: channelLimits.LaneWait, Follow: laneFollow, OnPanic: onPanic})
	s.herald.start(s.config.Hooks, s.log)
	s.subs = publishloop.New(publishloop.Config{
		Hooks: s.herald.ofSubscriptions(),
		Space: s.space, Pool: s.pool, Group: &s.group, Limits: limits.Subscriptions, Logger: s.log,
	})
	s.startAudit()
	endpoints := s.endpoints()
	s.sessions = sessionactor.New(sessionactor.Config{
		Hooks: s.sessionHooks(), Audit: s.auditor.trail,
		Space: s.space, Subscriptions: s.subs, PKI: s.pki, Endpoints: endpoints, Authenticate: s.config.authenticator(),
		Roles: s.config.Roles, SaveRoles: s.config.SaveRoles,
		Pool: s.pool, Lane: s.lane, Group: &s.group, Limits: limits.Services,
		MaxRequestMessage: channelLimits.MaxMessage, Logger: s.log,
	})
	s.channels = channelactor.NewServer(channelactor.Config{
		Hooks:   s.herald.ofChannels(),
		Audit:   s.auditor.ofChannels(),
		Service: s.sessions, PKI: s.pki, Offers: endpoints.Offers, Lane: s.lane, Group: &s.group,
		Limits: limits.Channels, Logger: s.log,
	})
}

func (s *Server) endpoints() *sessionactor.Endpoints {
	c := &s.config
	e := &sessionactor.Endpoints{
		URL: c.endpointURL(nil),
		Application: ua.ApplicationDescription{
			ApplicationURI: c.ApplicationURI, ProductURI: c.ProductURI,
			ApplicationName: ua.LocalizedText{Text: c.ApplicationName}, ApplicationType: ua.ApplicationTypeServer,
		},
		Certificate: func(p *uasc.Policy) []byte { return s.pki.CertificateFor(p.Curve).Chain },
		Anonymous:   c.Anonymous,
	}
	for _, identity := range c.Identities {
		e.Identities = append(e.Identities, identity.offer)
	}
	for _, security := range c.Security {
		e.Profiles = append(e.Profiles, sessionactor.Profile{Policy: security.policy, Mode: security.mode})
	}
	return e
}

// Listen opens the listener of [Config.Endpoint], so that a port in use is an
// error before anything else happens. The next [Server.Serve] serves it; calling
// Listen is only of use for a program that wants to know early, or to know the
// port when the endpoint's is 0.
func (s *Server) Listen() (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, ErrClosed
	}
	if s.opened != nil {
		return s.opened, nil
	}
	l, err := s.listen()
	if err == nil {
		s.opened, s.bound = l, l.Addr()
	}
	return l, err
}

func (s *Server) listen() (net.Listener, error) {
	address := s.config.listenAddress()
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, &ConfigError{
			Field: "Endpoint", Value: s.config.Endpoint,
			Instead: "another program listens there; end it or choose another port", Err: err,
		}
	}
	if err != nil {
		return nil, &ConfigError{Field: "Endpoint", Value: s.config.Endpoint, Instead: "choose an address of this machine", Err: err}
	}
	return l, nil
}

// Serve listens and serves clients until the context ends, and then shuts down
// as [Server.Close] does. It returns nil after a shutdown. A part of the address
// space that could not be made keeps it from starting, see [Server.Err].
func (s *Server) Serve(ctx context.Context) error {
	if err := s.Err(); err != nil {
		return err
	}
	l, err := s.Listen()
	if err != nil {
		return err
	}
	return s.ServeListener(ctx, l)
}

// ServeListener is Serve with a listener of the program's own. It may be called
// more than once, for several listeners.
func (s *Server) ServeListener(ctx context.Context, l net.Listener) error {
	err := s.Err()
	s.mu.Lock()
	if s.closing {
		err = ErrClosed
	} else if s.serving > 0 {
		err = nil // it was logged
	}
	if s.opened == l {
		s.opened = nil
	}
	if err != nil {
		s.mu.Unlock()
		l.Close()
		return err
	}
	s.serving++
	if s.serving == 1 {
		s.group.Go("trust", s.watchTrust)
	}
	s.bound = l.Addr()
	s.mu.Unlock()
	if deprecated := s.config.deprecated(); deprecated != nil {
		s.log.Warn().Strs("security", deprecated).Msg("DEPRECATED SECURITY IS OFFERED: these policies rest on SHA-1 and were withdrawn by the standard; " +
			"take them out of Config.Security as soon as the devices that need them are gone")
	}
	if slices.Contains(s.config.Security, NoSecurity) {
		s.log.Warn().Msg("SecurityPolicy None is offered: everybody on the network can read and change what its users can")
	}
	s.log.Info().Stringer("address", l.Addr()).Str("application", s.config.ApplicationURI).
		Strs("security", s.securityNames()).Msg("serving")
	if _, ok := l.(syscall.Conn); ok {
		s.subs.UseKernelTimers() // the operating system's clock is the one that counts
	}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	err = s.channels.Serve(l)
	if stop() {
		if err != nil {
			s.Close()
			return fmt.Errorf("uahive: accepting connections: %w", err)
		}
	}
	<-s.closed
	return nil
}

// ErrClosed is returned by a server that was closed.
var ErrClosed = errors.New("uahive: server closed")

// Addr returns the address of the newest listener, nil before there is one.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bound
}

// EndpointURL returns the address that clients can be told.
func (s *Server) EndpointURL() string { return s.config.endpointURL(s.Addr()) }

// Close shuts the server down: clients see ServerState Shutdown and the seconds
// that are left for [Config.ShutdownDelay]; then subscriptions, sessions,
// channels and calls end. It returns when all goroutines of the server have
// ended, or an error that says what still runs after five seconds (a callback
// that ignores its context). Closing twice waits for the first.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		<-s.closed
		return nil
	}
	s.closing = true
	s.state = ua.ServerStateShutdown
	s.shutdown = time.Now().Add(s.config.ShutdownDelay)
	if s.opened != nil {
		s.opened.Close()
		s.opened = nil
	}
	s.mu.Unlock()
	defer close(s.closed)

	ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit-200*time.Millisecond)
	defer cancel()
	s.channels.CloseListeners()
	if s.config.ShutdownDelay > 0 && s.sessions.Stats().Sessions > 0 {
		s.log.Info().Stringer("delay", s.config.ShutdownDelay).Msg("shutting down")
		s.announceShutdown(ctx)
	}
	s.end()
	s.sessions.Close()
	s.subs.Close()
	s.channels.Close(ua.BadShutdown)
	s.group.Close()
	if err := errors.Join(s.group.Wait(ctx), s.pool.Close(ctx), s.lane.Close(ctx), s.herald.close(ctx), s.auditor.close(ctx)); err != nil {
		calls := s.pool.Stats().Active + s.lane.Stats().Active
		err = fmt.Errorf("uahive: still running after the shutdown: goroutines %v, %d calls into the program that ignore their context: %w",
			s.group.Running(), calls, context.DeadlineExceeded)
		s.log.Error().Err(err).Msg("shutdown incomplete")
		return err
	}
	s.log.Info().Msg("shut down")
	return nil
}

// announceShutdown lets clients see the state and the countdown.
func (s *Server) announceShutdown(ctx context.Context) {
	done := time.NewTimer(s.config.ShutdownDelay)
	defer done.Stop()
	select {
	case <-done.C:
	case <-ctx.Done():
	}
}

func (s *Server) securityNames() []string {
	names := make([]string, len(s.config.Security))
	for i, security := range s.config.Security {
		names[i] = security.String()
	}
	return names
}

// PKI returns the certificate store, to trust a client from the program.
func (s *Server) PKI() *pki.Store { return s.pki }

// Space returns the address space below the typed API, for what that does not
// offer: types, references and node classes of any kind.
func (s *Server) Space() *addrspace.Space { return s.space }
