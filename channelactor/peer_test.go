package channelactor

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// echo answers each request with its own body.
type echo struct {
	mu     sync.Mutex
	closed int
	last   *Channel
	hold   func(c *Channel, req Request) bool // true: do not answer

	observe func(b *Batch)                       // set before there is a channel
	foresee func(first []byte) (size, align int) // likewise
}

func (e *echo) Foresee(first []byte) (size, align int) {
	if e.foresee == nil {
		return 0, 0
	}
	return e.foresee(first)
}

func (e *echo) Serve(b *Batch, req Request) {
	e.mu.Lock()
	e.last = b.Channel()
	hold := e.hold
	e.mu.Unlock()
	if e.observe != nil {
		e.observe(b)
	}
	if hold != nil && hold(b.Channel(), req) {
		return
	}
	dst := append(b.Begin(), req.Body...)
	if err := b.End(dst, req.ID); err != nil {
		panic(err)
	}
}

func (e *echo) Closed(*Channel) {
	e.mu.Lock()
	e.closed++
	e.mu.Unlock()
}

func (e *echo) ended() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

var serverKey, clientKey = sync.OnceValue(newKey), sync.OnceValue(newKey)

func testPKI(t testing.TB, uri string, key *rsa.PrivateKey) *pki.Store {
	t.Helper()
	store, err := pki.Memory(pki.Config{
		ApplicationURI: uri, AcceptAll: true, Key: key, KeyTypes: []pki.KeyType{pki.NistP256, pki.NistP384},
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// world is a server with an echo service and its group.
type world struct {
	*Server
	t     testing.TB
	echo  *echo
	group *actors.Group
	store *pki.Store
}

func newWorld(t testing.TB, limits Limits) *world {
	t.Helper()
	w := &world{t: t, echo: new(echo), group: new(actors.Group), store: testPKI(t, "urn:test:server", serverKey())}
	if limits.UnprovenMessage == 0 {
		limits.UnprovenMessage = 1 << 30 // these channels have no sessions
	}
	lane := actors.NewLane(actors.LaneConfig{Size: 2})
	w.Server = NewServer(Config{
		Service: w.echo, PKI: w.store, Lane: lane, Group: w.group, Limits: limits,
		Offers: func(*uasc.Policy, ua.MessageSecurityMode) bool { return true },
	})
	t.Cleanup(func() {
		w.Close(ua.BadShutdown)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := w.group.Wait(ctx); err != nil {
			t.Errorf("goroutines left: %v", w.group.Running())
		}
		lane.Close(ctx)
		if n := w.Stats(); n.Channels != 0 || n.AssemblyBytes != 0 {
			t.Errorf("left behind: %+v", n)
		}
	})
	return w
}

// listen serves on a port of its own and returns its address.
func (w *world) listen() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.group.Go("listener", func() { w.Serve(l) })
	return l.Addr().String()
}

// pipe admits an in-memory connection.
func (w *world) pipe() net.Conn {
	server, client := net.Pipe()
	w.admit(server)
	return client
}

// peer is a client that speaks uasc by hand.
type peer struct {
	t      testing.TB
	conn   net.Conn
	server *pki.Store
	own    *pki.Store
	policy *uasc.Policy
	mode   uasc.Mode
	limits uasc.Limits
	layout *uasc.Layout
	sealer uasc.Sealer
	opener *uasc.Opener
	token  *uasc.Token
	id     uint32
}

func (w *world) peer(conn net.Conn, policy *uasc.Policy, mode uasc.Mode) *peer {
	p := &peer{t: w.t, conn: conn, server: w.store, policy: policy, mode: mode}
	if policy.Secure() {
		p.own = testPKI(w.t, "urn:test:client", clientKey())
	}
	w.t.Cleanup(func() { conn.Close() })
	return p
}

func (p *peer) write(b []byte) {
	p.t.Helper()
	if _, err := p.conn.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) hello() {
	p.t.Helper()
	hello := uasc.Limits{}.Hello("opc.tcp://localhost:4840")
	p.write(hello.AppendTo(nil))
	var ack uasc.Acknowledge
	if err := ack.Decode(p.frame()); err != nil {
		p.t.Fatal(err)
	}
	limits, err := uasc.Accept(uasc.Limits{}, ack)
	if err != nil {
		p.t.Fatal(err)
	}
	p.limits = limits
	p.opener = uasc.NewOpener(uasc.OpenerConfig{Limits: limits, Policy: p.policy})
	p.sealer.Begin(p.policy)
}

// frame reads one frame of any kind.
func (p *peer) frame() []byte {
	p.t.Helper()
	b, err := p.tryFrame()
	if err != nil {
		p.t.Fatalf("reading a frame: %v", err)
	}
	return b
}

func (p *peer) tryFrame() ([]byte, error) {
	header := make([]byte, 8)
	if _, err := io.ReadFull(p.conn, header); err != nil {
		return nil, err
	}
	b := make([]byte, binary.LittleEndian.Uint32(header[4:]))
	copy(b, header)
	_, err := io.ReadFull(p.conn, b[8:])
	return b, err
}

func (p *peer) openRequest(kind ua.SecurityTokenRequestType, nonce []byte, lifetime uint32) []byte {
	return AppendMessage(nil, &ua.OpenSecureChannelRequest{
		RequestType: kind, SecurityMode: ua.MessageSecurityMode(p.mode), ClientNonce: nonce, RequestedLifetime: lifetime,
	})
}

// sealOpen makes an OPN frame.
func (p *peer) sealOpen(kind ua.SecurityTokenRequestType, nonce []byte, lifetime uint32) []byte {
	p.t.Helper()
	var key crypto.Signer
	var chain []byte
	if p.own != nil {
		own := p.own.CertificateFor(p.policy.Curve)
		key, chain = own.Key, own.Chain
	}
	remote := p.server.CertificateFor(p.policy.Curve)
	frame, err := uasc.SealAsymmetric(nil, p.policy, key, chain, remote.DER, remote.Key.Public(), p.id,
		p.sealer.NextSequence(), 1, p.openRequest(kind, nonce, lifetime))
	if err != nil {
		p.t.Fatal(err)
	}
	return frame
}

// open issues or renews a token and returns it without using it.
func (p *peer) open(kind ua.SecurityTokenRequestType, lifetime uint32) *uasc.Token {
	p.t.Helper()
	share := p.policy.NewShare()
	p.write(p.sealOpen(kind, share.Nonce, lifetime))
	frame := p.frame()
	if string(frame[:3]) == "ERR" {
		var e uasc.ErrorMessage
		e.Decode(frame)
		p.t.Fatalf("open refused: %v", e.Code)
	}
	header, err := uasc.ParseOpen(frame)
	if err != nil {
		p.t.Fatal(err)
	}
	var key crypto.Signer
	if p.own != nil {
		key = p.own.CertificateFor(p.policy.Curve).Key
	}
	seq, _, body, err := uasc.OpenAsymmetric(header, p.policy, key, p.server.CertificateFor(p.policy.Curve).Key.Public(), frame)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.opener.AcceptSequence(seq); err != nil {
		p.t.Fatal(err)
	}
	d := codec.NewDecoder(body, nil)
	var typeID ua.NodeID
	typeID.DecodeFrom(d)
	if typeID != ua.NumericID(0, id.OpenSecureChannelResponse_Encoding_DefaultBinary) {
		p.t.Fatalf("type %v", typeID)
	}
	var resp ua.OpenSecureChannelResponse
	resp.DecodeFrom(d)
	if d.Err() != nil {
		p.t.Fatal(d.Err())
	}
	p.id = resp.SecurityToken.ChannelID
	token, err := uasc.NewToken(uasc.TokenConfig{
		Policy: p.policy, Mode: p.mode, ChannelID: p.id, ID: resp.SecurityToken.TokenID,
		Local: share, RemoteNonce: resp.ServerNonce, Created: time.Now(),
		Lifetime: time.Duration(resp.SecurityToken.RevisedLifetime) * time.Millisecond,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.opener.Install(token)
	return token
}

// connect goes all the way to a live channel.
func (p *peer) connect() *peer {
	p.t.Helper()
	p.hello()
	p.use(p.open(ua.SecurityTokenRequestTypeIssue, 60_000))
	return p
}

func (p *peer) use(token *uasc.Token) {
	p.t.Helper()
	p.token = token
	p.sealer.Use(token)
	layout, err := uasc.NewLayout(p.policy, p.mode, p.limits, p.id, false)
	if err != nil {
		p.t.Fatal(err)
	}
	p.layout = layout
}

// seal makes the frames of one request.
func (p *peer) seal(requestID uint32, body []byte) []byte {
	p.t.Helper()
	dst, mark := p.layout.Begin(nil)
	dst, err := p.layout.End(append(dst, body...), mark, uasc.TypeMessage, requestID)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.sealer.SealAll(dst); err != nil {
		p.t.Fatal(err)
	}
	return dst
}

// answer reads one whole response.
func (p *peer) answer() (requestID uint32, body []byte, tokenID uint32) {
	p.t.Helper()
	for {
		m, err := p.opener.Open(p.frame())
		if err != nil {
			p.t.Fatal(err)
		}
		if m.Done {
			return m.RequestID, m.Body, m.TokenID
		}
	}
}

// refusal reads the ERR message and the end of the connection.
func (p *peer) refusal() ua.StatusCode {
	p.t.Helper()
	p.conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	for {
		frame, err := p.tryFrame()
		if err != nil {
			p.t.Fatalf("no Error message: %v", err)
		}
		if string(frame[:3]) != "ERR" {
			continue
		}
		var e uasc.ErrorMessage
		if err := e.Decode(frame); err != nil {
			p.t.Fatal(err)
		}
		if e.Reason != "" && e.Code != ua.BadTcpServerTooBusy {
			p.t.Errorf("the refusal tells a reason: %q", e.Reason)
		}
		if _, err := p.tryFrame(); err == nil {
			p.t.Error("the connection goes on after its Error message")
		}
		return e.Code
	}
}
