package uasc

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"time"
)

// Token is one security token of a channel: its ids, its life and the keys of
// both directions. The sending half is used by the Sealer alone and the
// receiving half by the Opener alone, so the two may live on different
// goroutines; everything else is immutable.
//
// A Token of an encrypting channel takes about 1.3 KiB: two AES key schedules
// of 512 bytes each, two HMAC keys of 64, and itself.
type Token struct {
	ChannelID uint32
	ID        uint32
	Mode      Mode
	Policy    *Policy
	Created   time.Time
	Lifetime  time.Duration // 0: does not expire

	send, recv keys
	rare       *rareKeys // nil for most policies
}

// keys secure one direction.
type keys struct {
	mac macKey    // of HMAC-SHA256; other algorithms have theirs in rareKeys
	cbc blockMode // nil unless the mode encrypts
	iv  [aes.BlockSize]byte
}

// rareKeys is what the tokens of most policies do without.
type rareKeys struct {
	send, recv wideKey // where the MAC is not HMAC-SHA256
	// remote is the peer's ephemeral key, which must not come a second time;
	// nil for RSA.
	remote []byte
}

// blockMode is a CBC state that can be put back to its start, which the RSA
// policies do for every chunk.
type blockMode interface {
	cipher.BlockMode
	SetIV(iv []byte)
}

// TokenConfig says what a Token is made of.
type TokenConfig struct {
	Policy      *Policy
	Mode        Mode
	Server      bool // this side is the server; of no account for RSA
	ChannelID   uint32
	ID          uint32 // never 0: a widespread client takes 0 for "no token"
	Local       Share  // whose nonce this side sent; ignored under None
	RemoteNonce []byte // the nonce that the peer sent; ignored under None
	Created     time.Time
	Lifetime    time.Duration // as revised; 0: does not expire
}

// NewToken derives a token's keys (Part 6, 6.7.6 and 6.8.1). It fails with
// BadSecurityModeRejected when mode and policy do not fit, and with
// BadNonceInvalid when either nonce is not what the policy asks for.
func NewToken(c TokenConfig) (*Token, error) {
	if c.ID == 0 {
		return nil, errTokenZero
	}
	if err := c.Policy.CheckMode(c.Mode); err != nil {
		return nil, err
	}
	t := &Token{
		ChannelID: c.ChannelID, ID: c.ID, Policy: c.Policy, Mode: c.Mode,
		Created: c.Created, Lifetime: c.Lifetime,
	}
	if !c.Policy.Secure() {
		return t, nil
	}
	for _, nonce := range [][]byte{c.Local.Nonce, c.RemoteNonce} {
		if err := c.Policy.CheckNonce(nonce); err != nil {
			return nil, err
		}
	}
	if c.Policy.mac != macSHA256 || c.Policy.agree != nil {
		t.rare = new(rareKeys)
	}
	send, recv, err := c.material()
	if err != nil {
		return nil, err
	}
	defer clear(send)
	defer clear(recv)
	if c.Policy.agree != nil {
		t.rare.remote = bytes.Clone(c.RemoteNonce)
	}
	if err := t.send.set(c.Policy, c.Mode, send, cipher.NewCBCEncrypter); err != nil {
		return nil, err
	}
	if err := t.recv.set(c.Policy, c.Mode, recv, cipher.NewCBCDecrypter); err != nil {
		return nil, err
	}
	sendInner, sendOuter := t.sendMAC()
	c.Policy.mac.absorb(sendInner, sendOuter, send[:c.Policy.signingKey])
	recvInner, recvOuter := t.recvMAC()
	c.Policy.mac.absorb(recvInner, recvOuter, recv[:c.Policy.signingKey])
	return t, nil
}

// material derives the key material of both directions.
func (c *TokenConfig) material() (send, recv []byte, err error) {
	p := c.Policy
	n := p.signingKey + p.encryptionKey + p.block
	if p.agree == nil {
		// A side's keys come from the other side's nonce as the secret and its own
		// as the seed, which reads the same for client and server.
		send, recv = make([]byte, n), make([]byte, n)
		pHash(p.derive, send, c.RemoteNonce, c.Local.Nonce)
		pHash(p.derive, recv, c.Local.Nonce, c.RemoteNonce)
		return send, recv, nil
	}
	secret, err := c.Local.secret(p, c.RemoteNonce)
	if err != nil {
		return nil, nil, err
	}
	defer clear(secret)
	if c.Mode == ModeSign {
		// The length is a part of the salt, and where nothing is encrypted that of
		// the other keys counts as 0 (Part 6, 6.8.1).
		n = p.signingKey
	}
	own, other := labelClient, labelServer
	if c.Server {
		own, other = other, own
	}
	if send, err = agreed(p.derive, n, secret, own, c.Local.Nonce, c.RemoteNonce); err != nil {
		return nil, nil, errPolicy
	}
	if recv, err = agreed(p.derive, n, secret, other, c.RemoteNonce, c.Local.Nonce); err != nil {
		return nil, nil, errPolicy
	}
	return send, recv, nil
}

// set takes the encrypting key and the initialization vector from a direction's
// material.
func (k *keys) set(p *Policy, mode Mode, material []byte, newCBC func(cipher.Block, []byte) cipher.BlockMode) error {
	if mode != ModeSignAndEncrypt {
		return nil
	}
	iv := material[p.signingKey+p.encryptionKey:]
	block, err := aes.NewCipher(material[p.signingKey : p.signingKey+p.encryptionKey])
	if err != nil {
		return errPolicy
	}
	cbc, ok := newCBC(block, iv).(blockMode)
	if !ok {
		return errPolicy
	}
	k.cbc = cbc
	copy(k.iv[:], iv)
	return nil
}

// sendMAC returns the two states of the key that signs what is sent.
func (t *Token) sendMAC() (inner, outer []byte) {
	if t.Policy.mac != macSHA256 {
		return t.rare.send.inner[:t.Policy.mac.value], t.rare.send.outer[:t.Policy.mac.value]
	}
	return t.send.mac.inner[:], t.send.mac.outer[:]
}

// recvMAC returns the two states of the key that verifies what is received.
func (t *Token) recvMAC() (inner, outer []byte) {
	if t.Policy.mac != macSHA256 {
		return t.rare.recv.inner[:t.Policy.mac.value], t.rare.recv.outer[:t.Policy.mac.value]
	}
	return t.recv.mac.inner[:], t.recv.mac.outer[:]
}

// Reuses reports whether nonce is the ephemeral key that the peer gave for this
// token. A renewal with it would not renew the secret. It is always false under
// the policies that have no such keys.
func (t *Token) Reuses(nonce []byte) bool {
	return t.rare != nil && t.rare.remote != nil && bytes.Equal(t.rare.remote, nonce)
}

// crypt encrypts or decrypts whole blocks in place, starting over from the
// token's initialization vector.
func (k *keys) crypt(b []byte) {
	k.cbc.SetIV(k.iv[:])
	k.cbc.CryptBlocks(b, b)
}

// Expired reports whether the token's lifetime and the quarter of it that Part
// 4, 5.6.2.1 adds for a slow renewal have passed.
func (t *Token) Expired(now time.Time) bool {
	return t.Lifetime > 0 && now.Sub(t.Created) > t.Lifetime+t.Lifetime/4
}
