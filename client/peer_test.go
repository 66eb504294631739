package client

import (
	"bufio"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// peer is a server in memory that does what a test says. It knows channels,
// sessions and enough of subscriptions to lose messages at will.
type peer struct {
	t     testing.TB
	store *pki.Store

	mu sync.Mutex
	// What tests set.
	endpoints  []ua.EndpointDescription
	sessionEnd []ua.EndpointDescription // what CreateSession returns; nil: endpoints
	refuse     func(n int) *uasc.ErrorMessage
	refuseOpen *uasc.ErrorMessage // what secure channels are answered
	lifetime   time.Duration      // of tokens
	timeout    time.Duration      // of sessions
	on         map[string]func(r *peerRequest) ua.Structure
	mute       bool // takes requests and answers none
	// What tests look at.
	dials    int
	hellos   int
	renewals int
	requests []string
	tokens   []uint32 // that secured requests, in order of first use
	users    []string
	conns    map[*peerConn]bool
	sessions map[ua.NodeID]*peerSession
	subs     map[uint32]*peerSub
	acks     []ua.SubscriptionAcknowledgement
	ids      uint32
}

type peerSession struct {
	token  ua.NodeID
	nonce  []byte
	client []byte // certificate
	active *peerConn
	parked []*peerRequest
}

type peerSub struct {
	id      uint32
	session *peerSession
	seq     uint32
	unsent  []ua.NotificationMessage
	sent    map[uint32]ua.NotificationMessage
	items   []ua.MonitoredItemCreateRequest
}

// peerRequest is a request that waits for its answer.
type peerRequest struct {
	conn    *peerConn
	id      uint32
	name    string
	header  ua.RequestHeader
	body    ua.Structure
	session *peerSession
}

const peerURL = "opc.tcp://peer.test:4840"

// peerKeys are shared by all tests, since making them takes long.
var peerKeys = sync.OnceValues(func() (server, client *pki.Store) {
	server, err := pki.Memory(pki.Config{ApplicationURI: "urn:test:server", Hosts: []string{"peer.test"}, AcceptAll: true})
	if err != nil {
		panic(err)
	}
	client, err = pki.Memory(pki.Config{ApplicationURI: "urn:test:client"})
	if err != nil {
		panic(err)
	}
	if err := client.Trust(server.Certificate().DER); err != nil {
		panic(err)
	}
	return server, client
})

// newPeer returns a server that offers every policy and mode of RSA. Those of ECC are
// tried with the real server.
func newPeer(t testing.TB) *peer {
	server, _ := peerKeys()
	p := &peer{
		t: t, store: server,
		lifetime: time.Hour, timeout: time.Minute,
		on:       make(map[string]func(*peerRequest) ua.Structure),
		conns:    make(map[*peerConn]bool),
		sessions: make(map[ua.NodeID]*peerSession),
		subs:     make(map[uint32]*peerSub),
	}
	tokens := []ua.UserTokenPolicy{
		{PolicyID: "anon", TokenType: ua.UserTokenTypeAnonymous},
		{PolicyID: "name", TokenType: ua.UserTokenTypeUserName, SecurityPolicyURI: uasc.Basic256Sha256.URI},
		{PolicyID: "cert", TokenType: ua.UserTokenTypeCertificate, SecurityPolicyURI: uasc.Basic256Sha256.URI},
	}
	for i, policy := range uasc.Policies() {
		for mode := uasc.ModeNone; mode <= uasc.ModeSignAndEncrypt; mode++ {
			if policy.CheckMode(mode) != nil || policy.Curve != nil {
				continue
			}
			p.endpoints = append(p.endpoints, ua.EndpointDescription{
				EndpointURL:         "opc.tcp://behind-nat:4840",
				Server:              ua.ApplicationDescription{ApplicationURI: "urn:test:server"},
				ServerCertificate:   server.Certificate().DER,
				SecurityMode:        ua.MessageSecurityMode(mode),
				SecurityPolicyURI:   policy.URI,
				UserIdentityTokens:  tokens,
				TransportProfileURI: binaryTransport,
				SecurityLevel:       uint8(10*i) + uint8(mode),
			})
		}
	}
	return p
}

// config is that of a client that connects to the peer without security.
func (p *peer) config() Config {
	return Config{Dial: p.dial}
}

// secureConfig is that of a client with a certificate.
func (p *peer) secureConfig() Config {
	_, client := peerKeys()
	return Config{Dial: p.dial, PKI: client}
}

func (p *peer) dial(_ context.Context, _, address string) (net.Conn, error) {
	if address != "peer.test:4840" {
		return nil, fmt.Errorf("dialled %s", address)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dials++
	near, far := net.Pipe()
	p.startConn(far)
	return near, nil
}

// serveConn serves a connection of another kind.
func (p *peer) serveConn(far net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.startConn(far)
}

func (p *peer) startConn(far net.Conn) {
	c := &peerConn{p: p, conn: far, in: bufio.NewReaderSize(far, 70_000)}
	p.conns[c] = true
	go c.serve()
}

// cut breaks all connections.
func (p *peer) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.conn.Close()
	}
}

// forget loses all sessions, as a restart does. Subscriptions stay if kept.
func (p *peer) forget(keepSubs bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.sessions)
	if !keepSubs {
		clear(p.subs)
	}
}

// count is how many requests of a service arrived.
func (p *peer) count(service string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, r := range p.requests {
		if r == service {
			n++
		}
	}
	return n
}

// handle replaces the answer to a service. A nil answer is none.
func (p *peer) handle(service string, fn func(r *peerRequest) ua.Structure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on[service] = fn
}

func (p *peer) id() uint32 { p.ids++; return p.ids + 1000 }

// peerConn is the server's end of one connection.
type peerConn struct {
	p      *peer
	conn   net.Conn
	in     *bufio.Reader
	limits uasc.Limits
	policy *uasc.Policy
	mode   uasc.Mode
	client *pki.Parsed
	id     uint32
	opener *uasc.Opener
	layout *uasc.Layout

	mu     sync.Mutex // sending
	sealer uasc.Sealer
}

func (c *peerConn) serve() {
	err := c.run()
	var e *uasc.ErrorMessage
	if errors.As(err, &e) {
		c.conn.Write(e.AppendTo(nil))
	} else if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, io.ErrUnexpectedEOF) {
		c.p.t.Errorf("peer: %v", err)
	}
	c.conn.Close()
	if c.opener != nil {
		c.opener.Release()
	}
	c.p.mu.Lock()
	delete(c.p.conns, c)
	c.p.mu.Unlock()
}

func (c *peerConn) frame() (uasc.Header, []byte, error) {
	head, err := c.in.Peek(8)
	if err != nil {
		return uasc.Header{}, nil, err
	}
	h, err := uasc.ParseHeader(head, 1<<20)
	if err != nil {
		return h, nil, err
	}
	frame := make([]byte, h.Size)
	_, err = io.ReadFull(c.in, frame)
	return h, frame, err
}

func (c *peerConn) run() error {
	_, frame, err := c.frame()
	if err != nil {
		return err
	}
	var hello uasc.Hello
	if err := hello.Decode(frame); err != nil {
		return err
	}
	c.p.mu.Lock()
	c.p.hellos++
	n, refuse := c.p.hellos, c.p.refuse
	c.p.mu.Unlock()
	if refuse != nil {
		if e := refuse(n); e != nil {
			return e
		}
	}
	var ack uasc.Acknowledge
	if ack, c.limits, err = uasc.Negotiate(uasc.Limits{}, hello); err != nil {
		return err
	}
	if _, err := c.conn.Write(ack.AppendTo(nil)); err != nil {
		return err
	}
	for {
		h, frame, err := c.frame()
		if err != nil {
			return err
		}
		switch h.Type {
		case uasc.TypeOpen:
			err = c.open(frame)
		case uasc.TypeMessage:
			err = c.message(frame)
		case uasc.TypeClose:
			_, err = c.opener.Open(frame)
			if err == nil {
				return nil
			}
		default:
			err = fmt.Errorf("unexpected %v", h.Type)
		}
		if err != nil {
			return err
		}
	}
}

func (c *peerConn) open(frame []byte) error {
	h, err := uasc.ParseOpen(frame)
	if err != nil {
		return err
	}
	policy, _ := uasc.PolicyByURI(h.PolicyURI)
	if c.p.refuseOpen != nil && policy.Secure() {
		return c.p.refuseOpen
	}
	own := c.p.store.Certificate()
	var (
		sign   crypto.Signer
		pub    crypto.PublicKey
		chain  []byte
		remote []byte
	)
	if policy.Secure() {
		if c.client, err = pki.Intern(h.SenderCertificate); err != nil {
			return err
		}
		sign, pub, chain, remote = own.Key, c.client.Key, own.Chain, c.client.DER
	}
	seq, requestID, body, err := uasc.OpenAsymmetric(h, policy, sign, pub, frame)
	if err != nil {
		return err
	}
	var d codec.Decoder
	d.Reset(body, nil)
	var typeID ua.NodeID
	typeID.DecodeFrom(&d)
	var req ua.OpenSecureChannelRequest
	req.DecodeFrom(&d)
	if d.Err() != nil {
		return d.Err()
	}
	c.p.mu.Lock()
	tokenID, lifetime := c.p.id(), c.p.lifetime
	if req.RequestType == ua.SecurityTokenRequestTypeRenew {
		c.p.renewals++
	}
	c.p.mu.Unlock()
	if c.opener == nil {
		c.id, c.policy, c.mode = tokenID, policy, uasc.Mode(req.SecurityMode)
		c.opener = uasc.NewOpener(uasc.OpenerConfig{Limits: c.limits, Policy: policy})
		c.sealer.Begin(policy)
		c.layout, err = uasc.NewLayout(policy, c.mode, c.limits, c.id, true)
		if err != nil {
			return err
		}
	}
	if err := c.opener.AcceptSequence(seq); err != nil {
		return err
	}
	share := policy.NewShare()
	resp := ua.OpenSecureChannelResponse{
		SecurityToken: ua.ChannelSecurityToken{
			ChannelID:       c.id,
			TokenID:         tokenID,
			CreatedAt:       ua.DateTimeOf(time.Now()),
			RevisedLifetime: min(milliseconds(lifetime), req.RequestedLifetime),
		},
		ServerNonce: share.Nonce,
	}
	token, err := uasc.NewToken(uasc.TokenConfig{
		Policy: policy, Mode: c.mode, Server: true, ChannelID: c.id, ID: tokenID,
		Local: share, RemoteNonce: req.ClientNonce,
		Created: time.Now(), Lifetime: time.Duration(resp.SecurityToken.RevisedLifetime) * time.Millisecond,
	})
	if err != nil {
		return err
	}
	c.opener.Install(token)
	c.mu.Lock()
	defer c.mu.Unlock()
	out, err := uasc.SealAsymmetric(nil, policy, sign, chain, remote, pub, c.id, c.sealer.NextSequence(), requestID,
		resp.AppendTo(resp.EncodingID().AppendTo(nil)))
	if err != nil {
		return err
	}
	_, err = c.conn.Write(out)
	if c.sealer.Token() == nil {
		c.sealer.Use(token)
	}
	return err
}

func (c *peerConn) message(frame []byte) error {
	m, err := c.opener.Open(frame)
	if err != nil || !m.Done {
		return err
	}
	if t := c.opener.Token(); t != c.sealer.Token() {
		c.mu.Lock()
		c.sealer.Use(t) // the client uses the new token: so may we
		c.mu.Unlock()
	}
	var d codec.Decoder
	d.Reset(m.Body, nil)
	var typeID ua.NodeID
	typeID.DecodeFrom(&d)
	body := ua.NewStructure(typeID)
	if body == nil {
		return fmt.Errorf("unknown request %v", typeID)
	}
	body.DecodeFrom(&d)
	if d.Err() != nil || d.Remaining() != 0 {
		return fmt.Errorf("request %T: %v, %d bytes left", body, d.Err(), d.Remaining())
	}
	r := &peerRequest{conn: c, id: m.RequestID, body: body, name: serviceName(body)}
	r.header = reflect.ValueOf(body).Elem().FieldByName("RequestHeader").Interface().(ua.RequestHeader)
	p := c.p
	p.mu.Lock()
	p.requests = append(p.requests, r.name)
	if n := len(p.tokens); n == 0 || p.tokens[n-1] != m.TokenID {
		p.tokens = append(p.tokens, m.TokenID)
	}
	r.session = p.sessions[r.header.AuthenticationToken]
	fn, mute := p.on[r.name], p.mute
	p.mu.Unlock()
	switch {
	case mute:
	case fn != nil:
		r.reply(fn(r))
	default:
		r.reply(p.serve(r))
	}
	return nil
}

// reply answers a request; nil means not now.
func (r *peerRequest) reply(resp ua.Structure) {
	if resp == nil {
		return
	}
	v := reflect.ValueOf(resp).Elem().FieldByName("ResponseHeader")
	h := v.Interface().(ua.ResponseHeader)
	h.Timestamp, h.RequestHandle = ua.DateTimeOf(time.Now()), r.header.RequestHandle
	v.Set(reflect.ValueOf(h))
	c := r.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	dst, mark := c.layout.Begin(nil)
	dst = resp.AppendTo(resp.EncodingID().AppendTo(dst))
	dst, err := c.layout.End(dst, mark, uasc.TypeMessage, r.id)
	if err == nil {
		err = c.sealer.SealAll(dst)
	}
	if err != nil {
		c.p.t.Errorf("peer: answer to %s: %v", r.name, err)
		return
	}
	c.conn.Write(dst) // fails where the client is gone
}

// mustConnect connects to the peer or ends the test.
func (p *peer) mustConnect(cfg Config) *Client {
	p.t.Helper()
	c, err := Connect(context.Background(), peerURL, cfg)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// events collects the kinds of events.
type eventLog struct {
	mu   sync.Mutex
	list []string
}

func (l *eventLog) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e.Kind.String())
}

func (l *eventLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.list, ", ")
}
