package uasc

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
)

// Sign signs the concatenation of parts with the policy's asymmetric signature
// algorithm. It allocates and costs about a millisecond: not for an actor's
// goroutine.
func (p *Policy) Sign(key crypto.Signer, parts ...[]byte) ([]byte, error) {
	if !p.Secure() {
		return nil, errPolicy
	}
	if err := p.CheckKey(key.Public()); err != nil {
		return nil, err
	}
	var opts crypto.SignerOpts = crypto.SHA256
	if p.pss {
		opts = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}
	}
	return key.Sign(rand.Reader, digest(parts), opts)
}

// Verify checks a signature made by Sign. Every failure, a key that the policy
// does not allow included, is the same BadSecurityChecksFailed.
func (p *Policy) Verify(pub crypto.PublicKey, sig []byte, parts ...[]byte) error {
	if !p.Secure() || p.CheckKey(pub) != nil {
		return errSecurity
	}
	key := pub.(*rsa.PublicKey)
	var err error
	if p.pss {
		// The salt's length is free for a verifier: peers differ in it, and no
		// length is weaker than another.
		err = rsa.VerifyPSS(key, crypto.SHA256, digest(parts), sig, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto})
	} else {
		err = rsa.VerifyPKCS1v15(key, crypto.SHA256, digest(parts), sig)
	}
	if err != nil {
		return errSecurity
	}
	return nil
}

func digest(parts [][]byte) []byte {
	h := sha256.New()
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}

// plainBlock returns how many bytes OAEP can put into a block of keySize bytes.
func (p *Policy) plainBlock(keySize int) int { return keySize - 2*p.oaep.Size() - 2 }

// Encrypt encrypts plain in as many RSA blocks as it needs.
func (p *Policy) Encrypt(pub crypto.PublicKey, plain []byte) ([]byte, error) {
	if !p.Secure() {
		return nil, errPolicy
	}
	if err := p.CheckKey(pub); err != nil {
		return nil, err
	}
	key := pub.(*rsa.PublicKey)
	size := p.plainBlock(key.Size())
	out := make([]byte, 0, (len(plain)+size-1)/size*key.Size())
	for len(plain) > 0 {
		n := min(size, len(plain))
		block, err := rsa.EncryptOAEP(p.hash(), rand.Reader, key, plain[:n], nil)
		if err != nil {
			return nil, errKeySize
		}
		out = append(out, block...)
		plain = plain[n:]
	}
	return out, nil
}

// Decrypt decrypts what Encrypt made, at most MaxOpenBlocks blocks. Every
// failure is the same BadSecurityChecksFailed and takes the same time: all
// blocks are decrypted whichever of them is bad.
func (p *Policy) Decrypt(key crypto.Decrypter, cipher []byte) ([]byte, error) {
	plain, ok := p.decrypt(key, cipher)
	if !ok {
		return nil, errSecurity
	}
	return plain, nil
}

// decrypt is Decrypt for callers that go on after a failure so as not to show
// it: a bad block is replaced by zeros.
func (p *Policy) decrypt(key crypto.Decrypter, cipher []byte) (plain []byte, ok bool) {
	if !p.Secure() || key == nil || p.CheckKey(key.Public()) != nil {
		return nil, false
	}
	size := key.Public().(*rsa.PublicKey).Size()
	blocks := len(cipher) / size
	if blocks == 0 || blocks > MaxOpenBlocks || len(cipher)%size != 0 {
		return nil, false
	}
	opts := &rsa.OAEPOptions{Hash: p.oaep}
	plain, ok = make([]byte, 0, blocks*p.plainBlock(size)), true
	for ; len(cipher) > 0; cipher = cipher[size:] {
		block, err := key.Decrypt(rand.Reader, cipher[:size], opts)
		if err != nil {
			ok = false
			block = make([]byte, p.plainBlock(size))
		}
		plain = append(plain, block...)
	}
	return plain, ok
}
