package uasc

import (
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
}

// keys secure one direction.
type keys struct {
	mac macKey
	cbc blockMode // nil unless the mode encrypts
	iv  [aes.BlockSize]byte
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
	ChannelID   uint32
	ID          uint32 // never 0: a widespread client takes 0 for "no token"
	LocalNonce  []byte // the nonce that this side sent; ignored under None
	RemoteNonce []byte // the nonce that the peer sent; ignored under None
	Created     time.Time
	Lifetime    time.Duration // as revised; 0: does not expire
}

// NewToken derives a token's keys (Part 6, 6.7.6). It fails with
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
	for _, nonce := range [][]byte{c.LocalNonce, c.RemoteNonce} {
		if err := c.Policy.CheckNonce(nonce); err != nil {
			return nil, err
		}
	}
	// A side's keys come from the other side's nonce as the secret and its own
	// as the seed, which reads the same for client and server.
	if err := t.send.derive(c.Policy, c.Mode, c.RemoteNonce, c.LocalNonce, cipher.NewCBCEncrypter); err != nil {
		return nil, err
	}
	if err := t.recv.derive(c.Policy, c.Mode, c.LocalNonce, c.RemoteNonce, cipher.NewCBCDecrypter); err != nil {
		return nil, err
	}
	return t, nil
}

func (k *keys) derive(p *Policy, mode Mode, secret, seed []byte, newCBC func(cipher.Block, []byte) cipher.BlockMode) error {
	material := make([]byte, p.signingKey+p.encryptionKey+p.block)
	pSHA256(material, secret, seed)
	k.mac = newMACKey(material[:p.signingKey])
	if mode == ModeSignAndEncrypt {
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
	}
	clear(material)
	return nil
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
