package uasc

import (
	"crypto"
)

// OpenHeader is the part of an OPN chunk that is readable without a key.
type OpenHeader struct {
	ChannelID          uint32
	PolicyURI          string
	SenderCertificate  []byte // chain, leaf first; aliases the chunk; nil when absent
	ReceiverThumbprint []byte // 20 bytes or nil; aliases the chunk
	start              int    // of the sequence header, where encryption starts
}

// ParseOpen reads the plain header.
func ParseOpen(chunk []byte) (OpenHeader, error) { return OpenHeader{}, nil }

// OpenAsymmetric decrypts and verifies.
func OpenAsymmetric(h OpenHeader, p *Policy, key crypto.Decrypter, senderPub crypto.PublicKey, chunk []byte) (seq, requestID uint32, body []byte, err error) {
	return 0, 0, nil, nil
}

// SealAsymmetric appends a whole OPN frame.
func SealAsymmetric(dst []byte, p *Policy, key crypto.Signer, localCert, remoteCert []byte, remotePub crypto.PublicKey, channelID, seq, requestID uint32, body []byte) ([]byte, error) {
	return dst, nil
}

// SplitChain ...
func SplitChain(chain []byte) ([][]byte, error) { return nil, nil }

// Sign ...
func (p *Policy) Sign(key crypto.Signer, parts ...[]byte) ([]byte, error) { return nil, nil }

// Verify ...
func (p *Policy) Verify(pub crypto.PublicKey, sig []byte, parts ...[]byte) error { return nil }

// Encrypt ...
func (p *Policy) Encrypt(pub crypto.PublicKey, plain []byte) ([]byte, error) { return nil, nil }

// Decrypt ...
func (p *Policy) Decrypt(key crypto.Decrypter, cipher []byte) ([]byte, error) { return nil, nil }

// EncryptSecret ...
func EncryptSecret(p *Policy, pub crypto.PublicKey, secret, serverNonce []byte) ([]byte, error) {
	return nil, nil
}

// DecryptSecret ...
func DecryptSecret(p *Policy, key crypto.Decrypter, cipher, nonce []byte) ([]byte, error) {
	return nil, nil
}
