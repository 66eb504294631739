package uasc

import (
	"bytes"
	"crypto"
	"crypto/hmac"
	"testing"
	"time"
	"unsafe"

	"github.com/uahive/uahive/codec/ua"
)

// The P_SHA256 vector that was published on the IETF TLS list for TLS 1.2: its
// seed is the label followed by the seed proper.
func TestPSHA256KnownVector(t *testing.T) {
	secret := golden(t, "9b be 43 6b a9 40 f0 17 b1 76 52 84 9a 71 db 35")
	seed := append([]byte("test label"), golden(t, "a0 ba 9f 93 6c da 31 18 27 a6 f7 96 ff d5 19 8c")...)
	want := golden(t, `
		e3 f2 29 ba 72 7b e1 7b 8d 12 26 20 55 7c d4 53 c2 aa b2 1d 07 c3 d4 95
		32 9b 52 d4 e6 1e db 5a 6b 30 17 91 e9 0d 35 c9 c9 a4 6b 4e 14 ba f9 af
		0f a0 22 f7 07 7d ef 17 ab fd 37 97 c0 56 4b ab 4f bc 91 66 6e 9d ef 9b
		97 fc e3 4f 79 67 89 ba a4 80 82 d1 22 ee 42 c5 a7 2e 5a 51 10 ff f7 01 87 34 7b 66`)
	for n := range 101 {
		part := make([]byte, n)
		pHash(crypto.SHA256, part, secret, seed)
		if !bytes.Equal(part, want[:n]) {
			t.Fatalf("%d bytes:\n got %x\nwant %x", n, part, want[:n])
		}
	}
}

func TestMACEqualsHMAC(t *testing.T) {
	// RFC 2202, RFC 4231, test cases 2.
	for _, c := range []struct {
		algorithm *macAlgorithm
		want      string
	}{
		{macSHA1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"},
		{macSHA256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		{macSHA384, "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649"},
	} {
		e := c.algorithm.engine()
		var k wideKey
		inner, outer := k.inner[:c.algorithm.value], k.outer[:c.algorithm.value]
		c.algorithm.absorb(inner, outer, []byte("Jefe"))
		if got := e.compute(inner, outer, []byte("what do ya want for nothing?")); !bytes.Equal(got, golden(t, c.want)) {
			t.Fatalf("case 2: got %x, want %s", got, c.want)
		}
		key := pattern(32)
		c.algorithm.absorb(inner, outer, key)
		for n := range 300 {
			h := hmac.New(c.algorithm.new, key)
			h.Write(pattern(n))
			if got := e.compute(inner, outer, pattern(n)); !bytes.Equal(got, h.Sum(nil)) {
				t.Fatalf("%d bytes: got %x", n, got)
			}
		}
		e.release()
	}
}

// What one side seals with is what the other opens with, and the two directions
// differ (Part 6, 6.7.6).
func TestTokenKeysMirror(t *testing.T) {
	for _, s := range suites[1:] {
		client, server := s.tokens(t, 1)
		halves := func(inner, outer []byte) string { return string(inner) + string(outer) }
		clientSends, clientReceives := halves(client.sendMAC()), halves(client.recvMAC())
		if clientSends != halves(server.recvMAC()) || clientReceives != halves(server.sendMAC()) || clientSends == clientReceives {
			t.Errorf("%v: signing keys do not mirror", s)
		}
		if client.send.iv != server.recv.iv || client.recv.iv != server.send.iv {
			t.Errorf("%v: initialization vectors do not mirror", s)
		}
		if (client.send.cbc != nil) != (s.mode == ModeSignAndEncrypt) {
			t.Errorf("%v: encrypts %v", s, client.send.cbc != nil)
		}
	}
}

func TestNewTokenRefusesBadInput(t *testing.T) {
	p := Basic256Sha256
	good := TokenConfig{Policy: p, Mode: ModeSign, ID: 1, Local: p.NewShare(), RemoteNonce: p.NewShare().Nonce}
	for _, c := range []struct {
		name string
		code ua.StatusCode
		edit func(*TokenConfig)
	}{
		{"token id 0", ua.BadInternalError, func(c *TokenConfig) { c.ID = 0 }},
		{"mode invalid", ua.BadSecurityModeRejected, func(c *TokenConfig) { c.Mode = ModeInvalid }},
		{"mode None under a policy", ua.BadSecurityModeRejected, func(c *TokenConfig) { c.Mode = ModeNone }},
		{"mode 4", ua.BadSecurityModeRejected, func(c *TokenConfig) { c.Mode = 4 }},
		{"mode 257", ua.BadSecurityModeRejected, func(c *TokenConfig) { c.Mode = 257 }},
		{"None with Sign", ua.BadSecurityModeRejected, func(c *TokenConfig) { c.Policy = PolicyNone }},
		{"no nonce", ua.BadNonceInvalid, func(c *TokenConfig) { c.RemoteNonce = nil }},
		{"short nonce", ua.BadNonceInvalid, func(c *TokenConfig) { c.RemoteNonce = pattern(31) }},
		{"long nonce", ua.BadNonceInvalid, func(c *TokenConfig) { c.RemoteNonce = pattern(33) }},
		{"zero nonce", ua.BadNonceInvalid, func(c *TokenConfig) { c.RemoteNonce = make([]byte, 32) }},
		{"zero own nonce", ua.BadNonceInvalid, func(c *TokenConfig) { c.Local.Nonce = make([]byte, 32) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := good
			c.edit(&cfg)
			_, err := NewToken(cfg)
			wantCode(t, err, c.code)
		})
	}
	if _, err := NewToken(good); err != nil {
		t.Fatal(err)
	}
}

// The footprint that Token documents: the struct and two AES states.
func TestTokenFootprint(t *testing.T) {
	const aesState = 512 // 480 bytes of key schedules, rounds, vector; by size class
	if got := unsafe.Sizeof(Token{}) + 2*aesState; got > 1300 {
		t.Fatalf("a token takes %d bytes", got)
	}
	var before, after uint64
	s := suites[2]
	kept := make([]*Token, 2000)
	cfg := TokenConfig{Policy: s.policy, Mode: s.mode, ID: 1, Local: s.policy.NewShare(), RemoteNonce: s.policy.NewShare().Nonce}
	before = heapInUse()
	for i := range kept {
		kept[i] = must(NewToken(cfg))(t)
	}
	after = heapInUse()
	per := int64(after-before) / int64(len(kept))
	t.Logf("%d bytes of heap per token", per)
	if per > 1536 {
		t.Fatalf("%d bytes of heap per token", per)
	}
	kept[0].Created = time.Time{}
}
