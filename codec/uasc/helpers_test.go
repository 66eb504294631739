package uasc

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

func TestMain(m *testing.M) {
	codec.CheckBuffers(true)
	os.Exit(m.Run())
}

// suite is one combination of policy and mode that a channel can have.
type suite struct {
	policy *Policy
	mode   Mode
}

func (s suite) String() string { return fmt.Sprintf("%v-%v", s.policy, s.mode) }

var suites = []suite{
	{PolicyNone, ModeNone},
	{Basic256Sha256, ModeSign},
	{Basic256Sha256, ModeSignAndEncrypt},
	{Aes128Sha256RsaOaep, ModeSign},
	{Aes128Sha256RsaOaep, ModeSignAndEncrypt},
	{Aes256Sha256RsaPss, ModeSign},
	{Aes256Sha256RsaPss, ModeSignAndEncrypt},
	{Basic128Rsa15, ModeSign},
	{Basic128Rsa15, ModeSignAndEncrypt},
	{Basic256, ModeSign},
	{Basic256, ModeSignAndEncrypt},
	{ECCNistP256, ModeSign},
	{ECCNistP256, ModeSignAndEncrypt},
	{ECCNistP384, ModeSign},
	{ECCNistP384, ModeSignAndEncrypt},
}

var securePolicies = []*Policy{Basic256Sha256, Aes128Sha256RsaOaep, Aes256Sha256RsaPss}

// otherPolicies are the secure ones that are no securePolicies.
var otherPolicies = []*Policy{Basic128Rsa15, Basic256, ECCNistP256, ECCNistP384}

// tokens returns the two ends' tokens of the same id.
func (s suite) tokens(t testing.TB, id uint32) (client, server *Token) {
	t.Helper()
	cs, ss := s.policy.NewShare(), s.policy.NewShare()
	cfg := TokenConfig{
		Policy: s.policy, Mode: s.mode, ChannelID: 7, ID: id,
		Local: cs, RemoteNonce: ss.Nonce, Created: time.Now(), Lifetime: time.Hour,
	}
	client = must(NewToken(cfg))(t)
	cfg.Local, cfg.RemoteNonce, cfg.Server = ss, cs.Nonce, true
	server = must(NewToken(cfg))(t)
	return client, server
}

// link is one direction of a channel: a client that sends and a server that
// receives.
type link struct {
	layout *Layout
	sealer *Sealer
	opener *Opener
}

func (s suite) link(t testing.TB, lim Limits, budget Budget) *link {
	t.Helper()
	client, server := s.tokens(t, 1)
	l := &link{
		layout: must(NewLayout(s.policy, s.mode, lim, 7, false))(t),
		sealer: &Sealer{},
		opener: NewOpener(OpenerConfig{Limits: lim, Policy: s.policy, Budget: budget}),
	}
	l.sealer.Begin(s.policy)
	l.sealer.Use(client)
	l.opener.Install(server)
	return l
}

// frame lays out one message.
func (l *link) frame(t testing.TB, dst []byte, requestID uint32, body []byte) []byte {
	t.Helper()
	dst, mark := l.layout.Begin(dst)
	return must(l.layout.End(append(dst, body...), mark, TypeMessage, requestID))(t)
}

// seal lays out and seals one message.
func (l *link) seal(t testing.TB, requestID uint32, body []byte) []byte {
	t.Helper()
	frames := l.frame(t, nil, requestID, body)
	if err := l.sealer.SealAll(frames); err != nil {
		t.Fatal(err)
	}
	return frames
}

// split cuts frames at their sizes.
func split(frames []byte) (chunks [][]byte) {
	for len(frames) > 0 {
		n := binary.LittleEndian.Uint32(frames[4:])
		chunks = append(chunks, frames[:n:n])
		frames = frames[n:]
	}
	return chunks
}

// open feeds all chunks and returns what the last one brought.
func (l *link) open(t testing.TB, frames []byte) Message {
	t.Helper()
	var m Message
	for i, chunk := range split(frames) {
		if m.Done {
			t.Fatal("message done before its last chunk")
		}
		var err error
		if m, err = l.opener.Open(chunk); err != nil {
			t.Fatalf("chunk %d: %v", i, err)
		}
	}
	return m
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantCode fails unless err carries code.
func wantCode(t testing.TB, err error, code ua.StatusCode) {
	t.Helper()
	var got ua.StatusCode
	if !errors.As(err, &got) || got != code {
		t.Fatalf("error %v, want %v", err, code)
	}
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// identity is an application with a key and a self-signed certificate.
type identity struct {
	key  crypto.Signer
	cert []byte
}

var (
	identityMu sync.Mutex
	identities = map[string]*identity{}
)

// app returns the identity of that name and key size, made once per run.
func app(t testing.TB, name string, bits int) *identity {
	t.Helper()
	identityMu.Lock()
	defer identityMu.Unlock()
	return identityOf(t, fmt.Sprintf("%s/%d", name, bits), func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, bits) })
}

// appFor returns the identity of that name with a key as the policy wants it.
func appFor(t testing.TB, name string, p *Policy) *identity {
	t.Helper()
	if p.Curve == nil {
		return app(t, name, 2048)
	}
	identityMu.Lock()
	defer identityMu.Unlock()
	return identityOf(t, name+p.Name, func() (crypto.Signer, error) { return ecdsa.GenerateKey(p.Curve, rand.Reader) })
}

// identityOf makes an identity once per run. The lock is held.
func identityOf(t testing.TB, k string, newKey func() (crypto.Signer, error)) *identity {
	t.Helper()
	if id := identities[k]; id != nil {
		return id
	}
	key := must(newKey())(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(int64(len(identities) + 1)), NotAfter: time.Now().Add(time.Hour)}
	id := &identity{key: key, cert: must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)}
	identities[k] = id
	return id
}

func wantBody(t testing.TB, m Message, requestID uint32, body []byte) {
	t.Helper()
	if !m.Done || m.RequestID != requestID || !bytes.Equal(m.Body, body) {
		t.Fatalf("message of request %d, done %v, %d bytes; want request %d, %d bytes", m.RequestID, m.Done, len(m.Body), requestID, len(body))
	}
}

// heapInUse returns the live heap in bytes.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
