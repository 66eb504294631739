package attack

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"io/fs"
	"math/big"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// Chunks without an end, large or empty, of strangers and of users, are given up
// within the limits of a message, and within one budget for all of them.
func TestThreat_S1_ChunkFlood(t *testing.T) {
	x := newTarget(t, onTCP)
	x.watch()
	m := measure()
	var peers sync.WaitGroup
	for i := range 20 {
		p := x.open()
		if i%2 == 0 {
			p.Session()
		}
		size := []int{0, 1, 60_000}[i%3]
		peers.Go(func() {
			for range 100_000 {
				chunk := p.Seal(uasc.TypeMessage, 77, make([]byte, size))
				chunk[3] = 'C'
				if _, err := p.Conn.Write(chunk); err != nil {
					return
				}
			}
			t.Error("100,000 chunks were taken")
		})
	}
	peers.Wait()
	m.check(t, 200, 20)
	if n := x.server.Stats().Channels; n.ProtocolErrors < 20 {
		t.Errorf("%+v", n)
	}
}

// The memory of unfinished messages is free when their connections end.
func TestThreat_S2_PartialChunksThenDisconnect(t *testing.T) {
	x := newTarget(t, onTCP)
	m := measure()
	for i := range scale(500, 20_000) {
		p := x.open()
		chunk := p.Seal(uasc.TypeMessage, 1, make([]byte, 30_000))
		chunk[3] = 'C'
		p.Conn.Write(chunk)
		if i%2 == 0 {
			p.Conn.Write(p.Seal(uasc.TypeMessage, 1, make([]byte, 50_000))[:20_000])
		}
		p.Conn.Close()
	}
	eventually(t, "all is given back", func() bool {
		n := x.server.Stats().Channels
		return n.Channels == 0 && n.AssemblyBytes == 0
	})
	m.check(t, 200, scale(10, 40)) // the peers themselves are kept until the test ends
}

// Chunks of two messages do not mix, an abort drops one message only, and a
// renewal may come between chunks.
func TestThreat_S3_S4_InterleavedAndAborted(t *testing.T) {
	x := newTarget(t, onTCP)
	for _, config := range []rawpeer.Config{{}, x.secure(uasc.Aes256Sha256RsaPss, uasc.ModeSignAndEncrypt)} {
		part := func(p *rawpeer.Peer, id uint32, kind byte, body []byte) []byte {
			dst, mark := p.Layout.Begin(nil)
			dst, err := p.Layout.End(append(dst, body...), mark, uasc.TypeMessage, id)
			if err != nil {
				t.Fatal(err)
			}
			dst[3] = kind
			if err := p.Sealer.SealAll(dst); err != nil {
				t.Fatal(err)
			}
			return dst
		}
		p := rawpeer.Connect(t, x.dial(), config)
		s := p.Session()
		body := p.Prepare(s.Token, readState())
		p.Write(part(p, 50, 'C', body[:30]))
		p.Write(p.Seal(uasc.TypeMessage, 51, body))
		if code := ended(t, p); !code.IsBad() {
			t.Errorf("interleaved: %v", code)
		}

		p = rawpeer.Connect(t, x.dial(), config)
		s = p.Session()
		body = p.Prepare(s.Token, readState())
		p.Write(part(p, 60, 'C', body[:30]))
		p.Write(part(p, 60, 'A', append([]byte{0, 0, 2, 0x80}, 0xFF, 0xFF, 0xFF, 0xFF)))
		p.Write(part(p, 61, 'C', body[:30]))
		renewed := p.Open(ua.SecurityTokenRequestTypeRenew)
		p.Write(part(p, 61, 'C', body[30:40]))
		p.Use(renewed)
		p.Write(part(p, 61, 'F', body[40:]))
		if code := s.ResultOf(61); code != ua.Good {
			t.Errorf("after an abort and a renewal: %v", code)
		}
		abort := part(p, 62, 'A', []byte{0, 0, 2, 0x80, 0xFF, 0xFF, 0xFF, 0xFF})
		if !p.Config.Policy.Secure() {
			continue
		}
		abort[len(abort)-1] ^= 1
		p.Write(abort)
		if code := ended(t, p); code != ua.BadSecurityChecksFailed {
			t.Errorf("abort with a bad signature: %v", code)
		}
	}
}

// Sequence numbers, ids of channels and tokens, and replayed chunks.
func TestThreat_S5_S6_S7_Sequence(t *testing.T) {
	x := newTarget(t, onTCP)
	for _, config := range []rawpeer.Config{{}, x.secure(uasc.Basic256Sha256, uasc.ModeSign)} {
		for name, attack := range map[string]func(p *rawpeer.Peer, s *rawpeer.Session) []byte{
			"replay": func(p *rawpeer.Peer, s *rawpeer.Session) []byte {
				b := p.Seal(uasc.TypeMessage, 9, p.Prepare(s.Token, readState()))
				p.Write(bytes.Clone(b))
				s.ResultOf(9)
				return b
			},
			"gap": func(p *rawpeer.Peer, s *rawpeer.Session) []byte {
				p.Sealer.NextSequence()
				return p.Seal(uasc.TypeMessage, 9, p.Prepare(s.Token, readState()))
			},
			"channel": func(p *rawpeer.Peer, s *rawpeer.Session) []byte {
				b := p.Seal(uasc.TypeMessage, 9, p.Prepare(s.Token, readState()))
				b[8] ^= 1
				return b
			},
			"token": func(p *rawpeer.Peer, s *rawpeer.Session) []byte {
				b := p.Seal(uasc.TypeMessage, 9, p.Prepare(s.Token, readState()))
				b[12] ^= 1
				return b
			},
		} {
			p := rawpeer.Connect(t, x.dial(), config)
			s := p.Session()
			p.Write(attack(p, s))
			if code := ended(t, p); !code.IsBad() {
				t.Errorf("%s: %v", name, code)
			}
			s.On(x.open()) // the server lives
		}
	}
	// A whole conversation, recorded and played on a new connection.
	var tape recorder
	tape.Conn = x.dial()
	p := rawpeer.Connect(t, &tape, rawpeer.Config{})
	s := p.Session()
	if code := s.Result(readState()); code != ua.Good {
		t.Fatal(code)
	}
	before := x.settled()
	again := x.bare()
	again.Conn.Write(tape.sent.Bytes())
	if code := again.Refusal(); !code.IsBad() {
		t.Errorf("replayed conversation: %v", code)
	}
	if after := x.settled(); after.Created != before.Created || after.Requests != before.Requests {
		t.Errorf("the replay did something: %+v, %+v", before, after)
	}
}

// recorder keeps what is sent.
type recorder struct {
	net.Conn
	sent bytes.Buffer
}

func (r *recorder) Write(b []byte) (int, error) {
	r.sent.Write(b)
	return r.Conn.Write(b)
}

// A flipped bit anywhere behind the ids of a secured chunk gets the same answer,
// whether it hits ciphertext, padding, signature or length.
func TestThreat_S8_TamperedChunks(t *testing.T) {
	x := newTarget(t, onTCP)
	policies := []*uasc.Policy{uasc.Basic256Sha256, uasc.Aes128Sha256RsaOaep, uasc.Aes256Sha256RsaPss}
	for i, policy := range policies {
		for _, mode := range []uasc.Mode{uasc.ModeSign, uasc.ModeSignAndEncrypt} {
			config := x.secure(policy, mode)
			for at := 16 + i; ; at += 37 {
				p := rawpeer.Connect(t, x.dial(), config)
				frame := p.Seal(uasc.TypeMessage, 5, rawpeer.Encode(&ua.GetEndpointsRequest{EndpointURL: "opc.tcp://h:1"}))
				if at >= len(frame) {
					break
				}
				frame[at] ^= 1 << (at % 8)
				p.Write(frame)
				if code := ended(t, p); code != ua.BadSecurityChecksFailed {
					t.Errorf("%s/%v, byte %d: %v", policy.Name, mode, at, code)
				}
			}
			for _, length := range []int{24, 25, 40, 56, 72, 88} {
				p := rawpeer.Connect(t, x.dial(), config)
				frame := p.Seal(uasc.TypeMessage, 5, make([]byte, 200))[:length]
				binary.LittleEndian.PutUint32(frame[4:], uint32(length))
				p.Write(frame)
				if code := ended(t, p); code != ua.BadSecurityChecksFailed {
					t.Errorf("%s/%v, %d bytes: %v", policy.Name, mode, length, code)
				}
			}
		}
		// The same for the asymmetric part of an OPN.
		config := x.secure(policy, uasc.ModeSignAndEncrypt)
		p := rawpeer.New(t, x.dial(), config)
		p.Hello()
		frame := p.SealOpen(&ua.OpenSecureChannelRequest{SecurityMode: ua.MessageSecurityModeSignAndEncrypt, ClientNonce: policy.Nonce()})
		for at := len(frame) - 511 + i; at < len(frame); at += 101 {
			p := rawpeer.New(t, x.dial(), config)
			p.Hello()
			bad := bytes.Clone(frame)
			bad[at] ^= 0x10
			p.Write(bad)
			if code := ended(t, p); code != ua.BadSecurityChecksFailed {
				t.Errorf("%s, byte %d of %d of an OPN: %v", policy.Name, at, len(frame), code)
			}
		}
	}
}

// Renewals without number do not make a channel grow.
func TestThreat_S10_RenewalFlood(t *testing.T) {
	x := newTarget(t, onTCP)
	p := x.open()
	s := p.Session()
	m := measure()
	var last *uasc.Token
	for range scale(3000, 50_000) {
		last = p.Open(ua.SecurityTokenRequestTypeRenew)
	}
	m.check(t, 64, 2)
	p.Use(last)
	if code := s.Result(readState()); code != ua.Good {
		t.Error(code)
	}
}

// OPN requests that cost a private-key operation and are garbage behind a good
// certificate do not keep others out.
func TestThreat_S11_HandshakeFlood(t *testing.T) {
	x := newTarget(t, onTCP)
	x.watch()
	m := measure()
	config := x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt)
	stop := make(chan struct{})
	var flood sync.WaitGroup
	model := rawpeer.New(t, x.dial(), config)
	model.Hello()
	bad := model.SealOpen(&ua.OpenSecureChannelRequest{SecurityMode: ua.MessageSecurityModeSignAndEncrypt, ClientNonce: make([]byte, 32)})
	bad[len(bad)-1] ^= 1
	hello := uasc.Limits{}.Hello("opc.tcp://h:1")
	first := hello.AppendTo(nil)
	for i := range 200 {
		// From one address, and most of it from another than the client's.
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
		if i%10 == 0 {
			dialer.LocalAddr = nil
		}
		flood.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				conn, err := dialer.Dial("tcp", strings.TrimPrefix(x.url, "opc.tcp://"))
				if err != nil {
					t.Error(err)
					return
				}
				conn.Write(append(bytes.Clone(first), bad...))
				conn.SetReadDeadline(time.Now().Add(10 * time.Second))
				for b := make([]byte, 256); ; {
					if _, err := conn.Read(b); err != nil {
						break
					}
				}
				conn.Close()
			}
		})
	}
	for range 5 {
		start := time.Now()
		s := rawpeer.Connect(t, x.dial(), config).Session()
		t.Logf("a client needed %v", time.Since(start))
		if d := time.Since(start); d > 3*time.Second && !raceEnabled {
			t.Errorf("a client needed %v to come in", d)
		}
		if code := s.Result(readState()); code != ua.Good {
			t.Error(code)
		}
	}
	close(stop)
	flood.Wait()
	if n := x.server.Stats().Channels.RefusedSecurity; n < 16 {
		t.Errorf("%d refused", n)
	}
	m.check(t, 100, 20)
}

// Client nonces of a wrong length are refused, and none is remembered.
func TestThreat_S12_Nonces(t *testing.T) {
	x := newTarget(t, onTCP)
	config := x.secure(uasc.Aes128Sha256RsaOaep, uasc.ModeSignAndEncrypt)
	for _, n := range []int{0, 1, 15, 17, 31, 33, 64, 300} {
		p := rawpeer.New(t, x.dial(), config)
		p.Hello()
		p.Write(p.SealOpen(&ua.OpenSecureChannelRequest{SecurityMode: ua.MessageSecurityModeSignAndEncrypt, ClientNonce: make([]byte, n)}))
		if code := ended(t, p); code != ua.BadNonceInvalid && code != ua.BadSecurityChecksFailed {
			t.Errorf("OPN with a nonce of %d bytes: %v", n, code)
		}
	}
	seen := make(map[string]bool)
	for range 20 {
		p := rawpeer.Connect(t, x.dial(), config)
		for _, n := range []int{0, 31} {
			req := p.CreateRequest()
			req.ClientNonce = make([]byte, n)
			if code := (&rawpeer.Session{Peer: p}).Result(req); code != ua.BadNonceInvalid {
				t.Errorf("CreateSession with a nonce of %d bytes: %v", n, code)
			}
		}
		s := p.CreateSession()
		if len(s.Nonce) < 32 || seen[string(s.Nonce)] {
			t.Error("a server nonce is short or came before")
		}
		seen[string(s.Nonce)] = true
	}
}

// forge makes a certificate of the given template changes.
func forge(t *testing.T, key, signer any, change func(*x509.Certificate)) []byte {
	t.Helper()
	uri, _ := url.Parse(rawpeer.ApplicationURI)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "forged"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), URIs: []*url.URL{uri}, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageDataEncipherment | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	var public any
	switch k := key.(type) {
	case *rsa.PrivateKey:
		public = &k.PublicKey
	case *ecdsa.PrivateKey:
		public = &k.PublicKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, signer)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// Certificates that are no certificates, or bombs, are refused at once.
func TestThreat_S13_CertificateBombs(t *testing.T) {
	x := newTarget(t, onTCP)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := forge(t, clientKey(), clientKey(), nil)
	modulus := clientKey().N.Bytes()
	replace := func(old, new []byte) []byte {
		b := bytes.Replace(good, old, new, 1)
		if bytes.Equal(b, good) {
			t.Fatal("nothing to replace")
		}
		return b
	}
	even := bytes.Clone(modulus)
	even[len(even)-1] &^= 1
	nested := bytes.Repeat([]byte{0x30, 0x80}, 8000)
	certs := map[string][]byte{
		"none": nil, "empty sequence": {0x30, 0}, "text": []byte("-----BEGIN CERTIFICATE-----"), "nested": nested,
		"EC key": forge(t, curve, curve, nil), "even modulus": replace(modulus, even), "zero modulus": replace(modulus, make([]byte, len(modulus))),
		"e=1":   replace([]byte{2, 3, 1, 0, 1}, []byte{2, 3, 0, 0, 1}),
		"e=2":   replace([]byte{2, 3, 1, 0, 1}, []byte{2, 3, 0, 0, 2}),
		"chain": bytes.Repeat(good, 16<<10/len(good)), "long chain": bytes.Repeat(good, 1000), "megabyte": make([]byte, 50_000),
		"length": append([]byte{0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF}, good...), "indefinite": append([]byte{0x30, 0x80}, good...),
		"trailing": append(bytes.Clone(good), 1, 2, 3),
		"name": forge(t, clientKey(), clientKey(), func(c *x509.Certificate) {
			c.Subject.CommonName = "../../../../etc/passwd\x00\r\n" + string(bytes.Repeat([]byte("x"), 300))
		}),
		"own": x.server.PKI().Certificate().DER,
	}
	for i := 4; i < len(good); i += 23 {
		b := bytes.Clone(good)
		b[i] ^= 0xFF
		certs["byte "+big.NewInt(int64(i)).String()] = b
	}
	for name, der := range certs {
		policy := uasc.Basic256Sha256
		p := rawpeer.New(t, x.dial(), rawpeer.Config{Policy: policy, Mode: uasc.ModeSign, Patience: 5 * time.Second})
		p.Hello()
		// A header by hand: what stands behind it is of no use without the key.
		frame := append([]byte("OPNF"), 0, 0, 0, 0, 0, 0, 0, 0)
		field := func(b []byte) {
			frame = binary.LittleEndian.AppendUint32(frame, uint32(len(b)))
			frame = append(frame, b...)
		}
		field([]byte(policy.URI))
		field(der)
		thumbprint := x.server.PKI().Certificate().Thumbprint
		field(thumbprint[:])
		frame = append(frame, bytes.Repeat([]byte{0x5A}, 512)...)
		binary.LittleEndian.PutUint32(frame[4:], uint32(len(frame)))
		start := time.Now()
		p.Conn.Write(frame)
		code := ended(t, p)
		if !code.IsBad() {
			t.Errorf("%s: %v", name, code)
		}
		if d := time.Since(start); d > time.Second && !raceEnabled {
			t.Errorf("%s: refused after %v", name, d)
		}
	}
}

// The server's own certificate is nobody else's, so it is not a client.
func TestThreat_S16_Reflection(t *testing.T) {
	x := newTarget(t, onTCP)
	config := x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt)
	config.Own = x.server.PKI()
	p := rawpeer.New(t, x.dial(), config)
	p.Hello()
	p.Write(p.SealOpen(&ua.OpenSecureChannelRequest{SecurityMode: ua.MessageSecurityModeSignAndEncrypt, ClientNonce: config.Policy.Nonce()}))
	if code := ended(t, p); code != ua.BadSecurityChecksFailed {
		t.Errorf("OPN with the server's certificate: %v", code)
	}
	p = rawpeer.Connect(t, x.dial(), x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt))
	req := p.CreateRequest()
	req.ClientCertificate = x.server.PKI().Certificate().DER
	if code := (&rawpeer.Session{Peer: p}).Result(req); !code.IsBad() {
		t.Errorf("CreateSession with the server's certificate: %v", code)
	}
}

// What a certificate says is no file name, and the store of refused certificates
// does not grow without bound.
func TestThreat_S17_RejectedStore(t *testing.T) {
	dir := t.TempDir()
	x := newTarget(t, onTCP, func(c *uahive.Config) { c.PKI, c.TrustAll = dir, false })
	for i := range 60 {
		der := forge(t, clientKey(), clientKey(), func(c *x509.Certificate) {
			c.SerialNumber = big.NewInt(int64(i + 2))
			c.Subject.CommonName = "../../evil/../\x00" + string(rune('a'+i%26))
		})
		p := rawpeer.New(t, x.dial(), rawpeer.Config{Policy: uasc.Basic256Sha256, Patience: 10 * time.Second})
		p.Hello()
		frame := append([]byte("OPNF"), 0, 0, 0, 0, 0, 0, 0, 0)
		thumbprint := x.server.PKI().Certificate().Thumbprint
		for _, b := range [][]byte{[]byte(uasc.Basic256Sha256.URI), der, thumbprint[:]} {
			frame = binary.LittleEndian.AppendUint32(frame, uint32(len(b)))
			frame = append(frame, b...)
		}
		frame = append(frame, make([]byte, 512)...)
		binary.LittleEndian.PutUint32(frame[4:], uint32(len(frame)))
		p.Conn.Write(frame)
		if code := ended(t, p); !code.IsBad() {
			t.Errorf("a stranger's certificate: %v", code)
		}
	}
	checkStore(t, dir)
}

// checkStore fails the test when a file lies where none should.
func checkStore(t *testing.T, dir string) {
	t.Helper()
	name := regexp.MustCompile(`^[0-9a-fA-F]{40,64}\.der$`)
	rejected := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch folder := filepath.Base(filepath.Dir(path)); {
		case folder == "own":
		case folder == "rejected" && name.MatchString(d.Name()):
			rejected++
		default:
			t.Errorf("a file %q", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rejected == 0 || rejected > 200 {
		t.Errorf("%d refused certificates are kept", rejected)
	}
	if outside, _ := filepath.Glob(filepath.Join(dir, "..", "*")); len(outside) > 1 {
		t.Errorf("%q", outside)
	}
}
