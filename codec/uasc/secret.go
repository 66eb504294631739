package uasc

import (
	"bytes"
	"crypto"
	"crypto/subtle"
	"encoding/binary"

	"github.com/uahive/uahive/codec/ua"
)

// SignNonce proves possession of key by signing the peer's certificate and its
// last nonce, as CreateSession and ActivateSession want it from either side
// (Part 4, 5.7.2 and 5.7.3). certificate is what the peer sent, chain included.
// Under None there is nothing to sign and the result is empty.
func SignNonce(p *Policy, key crypto.Signer, certificate, nonce []byte) (ua.SignatureData, error) {
	if !p.Secure() {
		return ua.SignatureData{}, nil
	}
	sig, err := p.Sign(key, certificate, nonce)
	if err != nil {
		return ua.SignatureData{}, err
	}
	return ua.SignatureData{Algorithm: p.SignatureURI, Signature: sig}, nil
}

// VerifyNonce checks what the peer made with SignNonce of our certificate and
// our last nonce. Where certificate is a chain, a signature over its leaf alone
// is accepted too, since peers differ. Under None everything passes.
//
// Every failure is the same BadSecurityChecksFailed; which code goes to the
// peer depends on whose key it was (BadApplicationSignatureInvalid,
// BadUserSignatureInvalid) and is the caller's to say.
func VerifyNonce(p *Policy, pub crypto.PublicKey, sig ua.SignatureData, certificate, nonce []byte) error {
	if !p.Secure() {
		return nil
	}
	// The algorithms of the ECC policies have no URI; peers leave the field empty or
	// put names of their own into it.
	if sig.Algorithm != p.SignatureURI && p.Curve == nil || len(nonce) == 0 {
		return errSecurity
	}
	err := p.Verify(pub, sig.Signature, certificate, nonce)
	if err == nil {
		return nil
	}
	if leaf, rest, bad := firstCertificate(certificate); bad == nil && len(rest) > 0 {
		return p.Verify(pub, sig.Signature, leaf, nonce)
	}
	return err
}

// EncryptSecret encrypts a password for a UserNameIdentityToken in the format
// that the RSA policies share (Part 4, 7.40.2.2): a length, the secret and the
// server's last nonce, in blocks for the server certificate's key. p is the
// user token policy's, one of RSA; its EncryptionURI goes into the token.
func EncryptSecret(p *Policy, pub crypto.PublicKey, secret, serverNonce []byte) ([]byte, error) {
	if len(secret) > MaxSecretLength {
		return nil, errSecretTooLong
	}
	plain := make([]byte, 0, 4+len(secret)+len(serverNonce))
	plain = binary.LittleEndian.AppendUint32(plain, uint32(len(secret)+len(serverNonce)))
	plain = append(plain, secret...)
	plain = append(plain, serverNonce...)
	out, err := p.Encrypt(pub, plain)
	clear(plain)
	return out, err
}

// DecryptSecret takes apart what EncryptSecret made. nonce is the last one that
// the server gave to this session; the secret is refused without it, or with
// another, since it could be a replay. Bytes behind the stated length are
// padding of some clients and ignored.
//
// Every failure is the same BadIdentityTokenRejected, so that a peer cannot use
// the server to decrypt what it recorded (threat U5).
func DecryptSecret(p *Policy, key crypto.Signer, cipher, nonce []byte) ([]byte, error) {
	// Under rsa-1_5 the length of the last block would have to come from its
	// padding, and what is wrong with it could not be kept secret.
	if p.padding != paddingOAEP {
		return nil, errSecret
	}
	plain, ok := p.decrypt(key, cipher)
	defer clear(plain)
	if !ok || len(plain) < 4 || len(nonce) == 0 {
		return nil, errSecret
	}
	size := uint64(binary.LittleEndian.Uint32(plain))
	data := plain[4:]
	if size > uint64(len(data)) || size < uint64(len(nonce)) || size-uint64(len(nonce)) > MaxSecretLength {
		return nil, errSecret
	}
	secret, got := data[:size-uint64(len(nonce))], data[size-uint64(len(nonce)):size]
	if subtle.ConstantTimeCompare(got, nonce) != 1 {
		return nil, errSecret
	}
	return bytes.Clone(secret), nil
}
