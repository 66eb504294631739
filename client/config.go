package client

import (
	"context"
	"net"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// Config says how a client connects. The zero value works with servers that
// offer SecurityPolicy None to anonymous users; a PKI is what adds security.
// It is not changed by the client and may be shared by many.
type Config struct {
	// Security chooses among the endpoints of the server. Default
	// [BestSecurity].
	Security Security
	// User is the identity that the session is activated with. Default
	// [Anonymous].
	User Identity

	// PKI holds the client's certificate and decides which server certificates
	// are trusted. Nil leaves the client without security, except for what
	// Certificate and TrustAll say.
	PKI *pki.Store
	// Certificate replaces the certificate of the PKI, for the security policies
	// that work with keys of its type.
	Certificate *pki.Certificate
	// TrustAll accepts every server certificate that can be parsed. Each
	// connection that rests on it is logged as a warning.
	TrustAll bool

	// IgnoreHostname accepts a server whose certificate does not name the host
	// that was dialled, as behind address translation (Part 4, 6.1.3 lets a
	// client do so).
	IgnoreHostname bool

	// ApplicationURI names the client. Default: the URI in its certificate,
	// which is the only value that a server accepts together with one; without
	// a certificate "urn:<host name>:uahive:client".
	ApplicationURI string
	// ApplicationName is shown by servers. Default "uahive client".
	ApplicationName string
	// SessionName is shown in the server's diagnostics. Default ApplicationName.
	SessionName string
	// Locales are the preferred languages of texts, best first. Default: what
	// the server prefers.
	Locales []string

	// Endpoints is what an earlier [Discover] returned for the same URL.
	// Load generators give it to save two connections out of three. Default:
	// Connect discovers.
	Endpoints []ua.EndpointDescription

	// SessionTimeout is how long the server keeps the session and its
	// subscriptions without a connection; the server may revise it. Default 1 min.
	SessionTimeout time.Duration
	// ConnectTimeout bounds each attempt to open a connection and activate a
	// session. Default 15 s.
	ConnectTimeout time.Duration
	// RequestTimeout is the time for a request whose context has no deadline.
	// Default 10 s.
	RequestTimeout time.Duration
	// WriteTimeout is how long the peer may refuse to take bytes before the
	// connection is given up. Default 10 s.
	WriteTimeout time.Duration
	// KeepAlive is how long a session may be silent before the client reads
	// the state of the server, and how long it waits for the answer before it
	// takes the connection for broken. Default a third of the session timeout,
	// at most 10 s. Negative: never.
	KeepAlive time.Duration
	// TokenLifetime is the requested life of a security token, which is renewed
	// at 75 % of what the server grants. Default 1 h.
	TokenLifetime time.Duration
	// Reconnect says how a broken connection is repaired.
	Reconnect Backoff

	// MaxInFlight is the number of requests without an answer on a connection;
	// more wait (Do) or fail ([Client.Go], [Client.Send]). Default 4096, at
	// most 65,535.
	MaxInFlight int
	// PublishRequests is how many Publish requests the client keeps at the
	// server for each subscription. More help where the publishing interval is
	// shorter than the way to the server and back. Default 1, and one more for
	// all together.
	PublishRequests int
	// BufferSize is the largest chunk in either direction. Default 65,535,
	// at least 8,192.
	BufferSize uint32
	// MaxMessage is the largest response in bytes. It stops a server that
	// never ends its message. Default 64 MiB.
	MaxMessage uint32
	// MaxArrayLength is the largest array in a response, in elements. Default
	// 1 Mi.
	MaxArrayLength int

	// AllowClearPassword lets a password travel unencrypted where the server
	// asks for that (Part 4, 7.41.4). Default: such a connection is refused.
	AllowClearPassword bool
	// AllowEndpointMismatch connects though the endpoints that CreateSession
	// returns differ from the discovered ones. Part 4, 5.7.2 asks clients to
	// refuse that as an attempt to lower the security; some servers do it
	// without ill intent.
	AllowEndpointMismatch bool

	// Dial opens the transport; address is host:port. Default net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger gets what an operator should know. Default: nothing is logged.
	Logger zerolog.Logger
	// OnEvent is called when the connection changes; see [Event]. Calls come
	// one after the other, from goroutines of the client, without a lock held.
	// It may use the client but must not wait for a request. Default nil.
	OnEvent func(Event)
}

// Backoff says how long to wait between attempts to reconnect. Waits double
// from Min to Max; each is drawn between half of it and all of it, so that
// many clients do not return in one moment. A server that says when to come
// back is obeyed, see [RetryAfter].
type Backoff struct {
	// Disabled closes the client when its connection breaks.
	Disabled bool
	// Min is the wait after the first failed attempt. The first attempt starts
	// after a random part of it. Default 200 ms.
	Min time.Duration
	// Max is the longest wait. Default 15 s.
	Max time.Duration
	// Attempts is the number of attempts after which the client is closed.
	// Default 0: no limit.
	Attempts int
}

const (
	minBufferSize = 8192 // Part 6, 7.1.2.3
	keepAliveCap  = 10 * time.Second
)

// withDefaults returns the configuration with every zero field replaced.
func (cfg Config) withDefaults() Config {
	if cfg.Certificate == nil && cfg.PKI != nil {
		cfg.Certificate = cfg.PKI.Certificate()
	}
	if cfg.User == nil {
		cfg.User = Anonymous()
	}
	setDefault(&cfg.ApplicationName, "uahive client")
	setDefault(&cfg.ApplicationURI, applicationURI(cfg.Certificate))
	setDefault(&cfg.SessionName, cfg.ApplicationName)
	setPositive(&cfg.SessionTimeout, time.Minute)
	setPositive(&cfg.ConnectTimeout, 15*time.Second)
	setPositive(&cfg.RequestTimeout, 10*time.Second)
	setPositive(&cfg.WriteTimeout, 10*time.Second)
	setPositive(&cfg.TokenLifetime, time.Hour)
	setPositive(&cfg.Reconnect.Min, 200*time.Millisecond)
	setPositive(&cfg.Reconnect.Max, 15*time.Second)
	cfg.Reconnect.Max = max(cfg.Reconnect.Max, cfg.Reconnect.Min)
	setPositive(&cfg.MaxInFlight, 4096)
	cfg.MaxInFlight = min(cfg.MaxInFlight, largestInFlight)
	setPositive(&cfg.PublishRequests, 1)
	setPositive(&cfg.BufferSize, 65_535)
	cfg.BufferSize = max(cfg.BufferSize, minBufferSize)
	setPositive(&cfg.MaxMessage, 64<<20)
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	return cfg
}

// certificateFor returns the client's certificate for a policy, nil where it has
// none whose key the policy works with.
func (cfg *Config) certificateFor(p *uasc.Policy) *pki.Certificate {
	if cfg.Certificate != nil && p.CheckKey(cfg.Certificate.Key.Public()) == nil {
		return cfg.Certificate
	}
	if cfg.PKI != nil {
		return cfg.PKI.CertificateFor(p.Curve)
	}
	return nil
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

func setPositive[T int | uint32 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}
