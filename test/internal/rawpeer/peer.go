// Package rawpeer is a client for tests that speaks the protocol by hand: it
// sends any request structure, or any bytes, and shows what comes back. It keeps
// no promise that a client has to keep, renews nothing, and acknowledges nothing
// by itself. It is used by one goroutine at a time.
package rawpeer

import (
	"crypto"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// Config says how a peer behaves. The zero value opens channels without security.
type Config struct {
	// URL is the endpointUrl of Hello. Default "opc.tcp://localhost:4840".
	URL string
	// Policy and Mode of the channel. Default None.
	Policy *uasc.Policy
	Mode   uasc.Mode
	// Server is the certificate of the server, required with a secure policy.
	Server *pki.Certificate
	// Own is the peer's own certificate, required with a secure policy.
	Own *pki.Store
	// Limits are announced in Hello.
	Limits uasc.Limits
	// Lifetime of the security token in ms. Default one hour.
	Lifetime uint32
	// Patience is how long an answer may take before the test fails. Default 2 minutes.
	Patience time.Duration
}

// Inspect sees everything that peers are told, if a test's main function sets it:
// each answer with its bytes, and each Error message as bytes alone. It must not
// keep the bytes.
var Inspect func(t testing.TB, answer ua.Structure, raw []byte)

// Peer is one connection.
type Peer struct {
	Conn   net.Conn
	Config Config

	// Channel state, for tests that bend it.
	Limits  uasc.Limits
	Channel uint32
	Token   *uasc.Token
	Layout  *uasc.Layout
	Sealer  uasc.Sealer
	Opener  *uasc.Opener

	t       testing.TB
	request uint32
	handle  uint32
	pending map[uint32]ua.Structure
	partial []byte // what has come of the next frame
}

// New returns a peer on a connection, which is closed when the test ends.
func New(t testing.TB, conn net.Conn, config Config) *Peer {
	if config.URL == "" {
		config.URL = "opc.tcp://localhost:4840"
	}
	if config.Policy == nil {
		config.Policy, config.Mode = uasc.PolicyNone, uasc.ModeNone
	}
	if config.Lifetime == 0 {
		config.Lifetime = 3_600_000
	}
	if config.Patience == 0 {
		config.Patience = 2 * time.Minute
	}
	t.Cleanup(func() { conn.Close() })
	return &Peer{Conn: conn, Config: config, t: t, pending: make(map[uint32]ua.Structure)}
}

// Connect goes all the way to a secure channel.
func Connect(t testing.TB, conn net.Conn, config Config) *Peer {
	t.Helper()
	p := New(t, conn, config)
	p.Hello()
	p.Use(p.Open(ua.SecurityTokenRequestTypeIssue))
	return p
}

// Write sends bytes as they are.
func (p *Peer) Write(b []byte) {
	p.t.Helper()
	if _, err := p.Conn.Write(b); err != nil {
		p.t.Fatalf("writing: %v", err)
	}
}

// Hello exchanges Hello and Acknowledge.
func (p *Peer) Hello() uasc.Acknowledge {
	p.t.Helper()
	hello := p.Config.Limits.Hello(p.Config.URL)
	p.Write(hello.AppendTo(nil))
	var ack uasc.Acknowledge
	if err := ack.Decode(p.Frame()); err != nil {
		p.t.Fatalf("Acknowledge: %v", err)
	}
	limits, err := uasc.Accept(p.Config.Limits, ack)
	if err != nil {
		p.t.Fatal(err)
	}
	p.Limits = limits
	p.Opener = uasc.NewOpener(uasc.OpenerConfig{Limits: limits, Policy: p.Config.Policy})
	p.Sealer.Begin(p.Config.Policy)
	return ack
}

// Open issues or renews a token and returns it without using it.
func (p *Peer) Open(kind ua.SecurityTokenRequestType) *uasc.Token {
	p.t.Helper()
	share := p.Config.Policy.NewShare()
	p.Write(p.SealOpen(&ua.OpenSecureChannelRequest{
		RequestType: kind, SecurityMode: ua.MessageSecurityMode(p.Config.Mode), ClientNonce: share.Nonce,
		RequestedLifetime: p.Config.Lifetime,
	}))
	frame := p.Frame()
	if string(frame[:3]) == "ERR" {
		var e uasc.ErrorMessage
		e.Decode(frame)
		p.t.Fatalf("OpenSecureChannel refused: %v", e.Code)
	}
	header, err := uasc.ParseOpen(frame)
	if err != nil {
		p.t.Fatal(err)
	}
	own, _ := p.ownKey()
	seq, _, body, err := uasc.OpenAsymmetric(header, p.Config.Policy, own, p.serverKey(), frame)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.Opener.AcceptSequence(seq); err != nil {
		p.t.Fatal(err)
	}
	resp, ok := p.decode(body).(*ua.OpenSecureChannelResponse)
	if !ok || resp.ResponseHeader.ServiceResult != ua.Good {
		p.t.Fatalf("answer to OpenSecureChannel: %#v", resp)
	}
	p.Channel = resp.SecurityToken.ChannelID
	token, err := uasc.NewToken(uasc.TokenConfig{
		Policy: p.Config.Policy, Mode: p.Config.Mode, ChannelID: p.Channel, ID: resp.SecurityToken.TokenID,
		Local: share, RemoteNonce: resp.ServerNonce, Created: time.Now(),
		Lifetime: time.Duration(resp.SecurityToken.RevisedLifetime) * time.Millisecond,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.Opener.Install(token)
	return token
}

// SealOpen makes an OPN frame.
func (p *Peer) SealOpen(req *ua.OpenSecureChannelRequest) []byte {
	p.t.Helper()
	key, chain := p.ownKey()
	var remote []byte
	if p.Config.Server != nil {
		remote = p.Config.Server.DER
	}
	frame, err := uasc.SealAsymmetric(nil, p.Config.Policy, key, chain, remote, p.serverKey(), p.Channel,
		p.Sealer.NextSequence(), 1, Encode(req))
	if err != nil {
		p.t.Fatal(err)
	}
	return frame
}

func (p *Peer) ownKey() (crypto.Signer, []byte) {
	if p.Config.Own == nil {
		return nil, nil
	}
	own := p.Config.Own.CertificateFor(p.Config.Policy.Curve)
	return own.Key, own.Chain
}

func (p *Peer) serverKey() crypto.PublicKey {
	if p.Config.Server == nil {
		return nil
	}
	return p.Config.Server.Key.Public()
}

// Use seals with the token from now on.
func (p *Peer) Use(token *uasc.Token) {
	p.t.Helper()
	p.Token = token
	p.Sealer.Use(token)
	layout, err := uasc.NewLayout(p.Config.Policy, p.Config.Mode, p.Limits, p.Channel, false)
	if err != nil {
		p.t.Fatal(err)
	}
	p.Layout = layout
}

// Encode returns a message with its type id in front.
func Encode(m ua.Structure) []byte { return m.AppendTo(m.EncodingID().AppendTo(nil)) }

// Seal makes the frames of a message.
func (p *Peer) Seal(kind uasc.MessageType, requestID uint32, body []byte) []byte {
	p.t.Helper()
	dst, mark := p.Layout.Begin(nil)
	dst, err := p.Layout.End(append(dst, body...), mark, kind, requestID)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.Sealer.SealAll(dst); err != nil {
		p.t.Fatal(err)
	}
	return dst
}

// NextID returns a new request id.
func (p *Peer) NextID() uint32 {
	p.request++
	return p.request
}

// SendBody sends an encoded request and returns its request id.
func (p *Peer) SendBody(body []byte) uint32 {
	p.t.Helper()
	n := p.NextID()
	p.Write(p.Seal(uasc.TypeMessage, n, body))
	return n
}

// Prepare fills in what a request header needs and returns the message's bytes.
func (p *Peer) Prepare(token ua.NodeID, req ua.Request) []byte {
	h := req.Header()
	h.AuthenticationToken = token
	if h.Timestamp == 0 {
		h.Timestamp = ua.DateTimeOf(time.Now())
	}
	if h.RequestHandle == 0 {
		p.handle++
		h.RequestHandle = p.handle
	}
	return Encode(req)
}

// Send sends a request with a token and returns its request id.
func (p *Peer) Send(token ua.NodeID, req ua.Request) uint32 {
	p.t.Helper()
	return p.SendBody(p.Prepare(token, req))
}

// Frame reads one frame of any kind.
func (p *Peer) Frame() []byte {
	p.t.Helper()
	p.Conn.SetReadDeadline(time.Now().Add(p.Config.Patience))
	b, err := p.tryFrame()
	if err != nil {
		p.t.Fatalf("reading a frame: %v", err)
	}
	return b
}

// tryFrame reads one frame. What has come of it when the deadline passes waits for the next call, since the deadline may
// be the very moment in which the frame arrives.
func (p *Peer) tryFrame() ([]byte, error) {
	const header = 8
	if err := p.readUpTo(header); err != nil {
		return nil, err
	}
	if err := p.readUpTo(int(binary.LittleEndian.Uint32(p.partial[4:]))); err != nil {
		return nil, err
	}
	b := p.partial
	p.partial = nil
	if Inspect != nil && string(b[:3]) == "ERR" {
		Inspect(p.t, nil, b)
	}
	return b, nil
}

// readUpTo reads until the unfinished frame has n bytes.
func (p *Peer) readUpTo(n int) error {
	for len(p.partial) < n {
		p.partial = slices.Grow(p.partial, n-len(p.partial))
		m, err := p.Conn.Read(p.partial[len(p.partial):n])
		p.partial = p.partial[:len(p.partial)+m]
		if err != nil && m == 0 {
			if err == io.EOF && len(p.partial) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// ErrQuiet says that nothing came in the time given.
var ErrQuiet = errors.New("nothing came")

// Next reads the next answer to any request. Its error is [ErrQuiet] when none
// came in time, an *uasc.ErrorMessage when the server ended the channel, and
// io.EOF when it closed the connection without a word.
func (p *Peer) Next(patience time.Duration) (requestID uint32, answer ua.Structure, err error) {
	p.t.Helper()
	p.Conn.SetReadDeadline(time.Now().Add(patience))
	for {
		frame, err := p.tryFrame()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return 0, nil, ErrQuiet
		case err != nil:
			return 0, nil, err
		case string(frame[:3]) == "ERR":
			var e uasc.ErrorMessage
			if err := e.Decode(frame); err != nil {
				p.t.Fatal(err)
			}
			return 0, nil, &e
		}
		m, err := p.Opener.Open(frame)
		if err != nil {
			p.t.Fatalf("an answer cannot be opened: %v", err)
		}
		if m.Aborted != ua.Good {
			return m.RequestID, nil, m.Aborted
		}
		if m.Done {
			answer := p.decode(m.Body)
			p.Opener.Recycle()
			return m.RequestID, answer, nil
		}
	}
}

// Wait reads until the request is answered; answers to others are kept for
// their own Wait.
func (p *Peer) Wait(requestID uint32) ua.Structure {
	p.t.Helper()
	for {
		if answer, ok := p.pending[requestID]; ok {
			delete(p.pending, requestID)
			return answer
		}
		n, answer, err := p.Next(p.Config.Patience)
		if err != nil {
			p.t.Fatalf("waiting for the answer to request %d: %v", requestID, err)
		}
		p.pending[n] = answer
	}
}

// Quiet fails the test when anything comes within the time.
func (p *Peer) Quiet(d time.Duration) {
	p.t.Helper()
	if n, answer, err := p.Next(d); !errors.Is(err, ErrQuiet) {
		p.t.Fatalf("something came: request %d, %#v, %v", n, answer, err)
	}
}

// Refusal reads until the Error message and the end of the connection, and
// returns the code.
func (p *Peer) Refusal() ua.StatusCode {
	p.t.Helper()
	p.Conn.SetReadDeadline(time.Now().Add(p.Config.Patience))
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
			p.t.Errorf("the Error message tells a reason: %q", e.Reason)
		}
		if _, err := p.tryFrame(); err == nil {
			p.t.Error("the connection goes on after its Error message")
		}
		return e.Code
	}
}

// decode decodes a message and checks that nothing is left behind it.
func (p *Peer) decode(body []byte) ua.Structure {
	p.t.Helper()
	d := codec.NewDecoder(body, nil)
	var typeID ua.NodeID
	typeID.DecodeFrom(d)
	m := ua.NewStructure(typeID)
	if m == nil {
		p.t.Fatalf("an answer of unknown type %v", typeID)
	}
	m.DecodeFrom(d)
	if d.Err() != nil {
		p.t.Fatalf("decoding %T: %v", m, d.Err())
	}
	if d.Remaining() > 0 {
		p.t.Fatalf("%T has %d bytes too many", m, d.Remaining())
	}
	if Inspect != nil {
		Inspect(p.t, m, body)
	}
	return m
}
