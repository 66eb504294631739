package uasc

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
)

// padding is how a message is made the size of an RSA key. The zero value is for
// policies that do not encrypt with RSA.
type padding uint8

const (
	paddingNone padding = iota
	paddingOAEP
	paddingPKCS1 // rsa-1_5
)

// Encrypts reports whether the policy encrypts with certificates' keys: RSA does,
// ECC and None do not.
func (p *Policy) Encrypts() bool { return p.padding != paddingNone }

// plainBlock returns how many bytes go into a block of keySize bytes.
func (p *Policy) plainBlock(keySize int) int {
	if p.padding == paddingPKCS1 {
		return keySize - 11
	}
	return keySize - 2*p.oaep.Size() - 2
}

// Encrypt encrypts plain in as many RSA blocks as it needs.
func (p *Policy) Encrypt(pub crypto.PublicKey, plain []byte) ([]byte, error) {
	if !p.Encrypts() {
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
		block, err := p.encryptBlock(key, plain[:n])
		if err != nil {
			return nil, errKeySize
		}
		out = append(out, block...)
		plain = plain[n:]
	}
	return out, nil
}

func (p *Policy) encryptBlock(key *rsa.PublicKey, plain []byte) ([]byte, error) {
	if p.padding == paddingPKCS1 {
		//lint:ignore SA1019 it is what Basic128Rsa15 is; who encrypts with it is not in danger
		return rsa.EncryptPKCS1v15(rand.Reader, key, plain)
	}
	return rsa.EncryptOAEP(p.oaep.New(), rand.Reader, key, plain, nil)
}

// Decrypt decrypts what Encrypt made, at most MaxOpenBlocks blocks. Every
// failure is the same BadSecurityChecksFailed and takes the same time: all
// blocks are decrypted whichever of them is bad. Under Basic128Rsa15 the plain
// text must fill all its blocks, see decryptBlock, and there is no failure for bad
// padding: the result is then random.
func (p *Policy) Decrypt(key crypto.Signer, cipher []byte) ([]byte, error) {
	plain, ok := p.decrypt(key, cipher)
	if !ok {
		return nil, errSecurity
	}
	return plain, nil
}

// decrypt is Decrypt for callers that go on after a failure so as not to show
// it: a bad block is replaced by zeros.
func (p *Policy) decrypt(key crypto.Signer, cipher []byte) (plain []byte, ok bool) {
	own, able := key.(crypto.Decrypter)
	if !p.Encrypts() || !able || p.CheckKey(own.Public()) != nil {
		return nil, false
	}
	size := own.Public().(*rsa.PublicKey).Size()
	blocks := len(cipher) / size
	if blocks == 0 || blocks > MaxOpenBlocks || len(cipher)%size != 0 {
		return nil, false
	}
	plain, ok = make([]byte, 0, blocks*p.plainBlock(size)), true
	for ; len(cipher) > 0; cipher = cipher[size:] {
		block, err := p.decryptBlock(own, cipher[:size], p.plainBlock(size))
		if err != nil {
			ok = false
			block = make([]byte, p.plainBlock(size))
		}
		plain = append(plain, block...)
	}
	return plain, ok
}

// decryptBlock decrypts one block.
//
// The padding of rsa-1_5 tells whoever learns whether it was right how to decrypt
// everything, given a million questions (threat S15). So nobody learns it, this
// program included: a block whose padding is wrong, or whose text is not exactly
// full, becomes random bytes of the same length, in the same time and without an
// error. In an OpenSecureChannel message all blocks are full, and the signature
// within fails for random bytes as for any others that the asker could not sign.
func (p *Policy) decryptBlock(key crypto.Decrypter, block []byte, full int) ([]byte, error) {
	if p.padding == paddingPKCS1 {
		//lint:ignore SA1019 this is the one use that gives nothing away, for the reason above
		return key.Decrypt(rand.Reader, block, &rsa.PKCS1v15DecryptOptions{SessionKeyLen: full})
	}
	return key.Decrypt(rand.Reader, block, &rsa.OAEPOptions{Hash: p.oaep})
}
