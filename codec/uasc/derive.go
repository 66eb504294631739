package uasc

import (
	"crypto"
	"crypto/hkdf"
	"crypto/hmac"
	"encoding/binary"
)

// pHash fills out with the P_hash stream of RFC 5246, 5, from which Part 6, 6.7.6
// derives the keys of a token under the RSA policies.
func pHash(h crypto.Hash, out, secret, seed []byte) {
	mac := hmac.New(h.New, secret)
	mac.Write(seed)
	a := mac.Sum(nil)
	var block []byte
	for len(out) > 0 {
		mac.Reset()
		mac.Write(a)
		mac.Write(seed)
		block = mac.Sum(block[:0])
		out = out[copy(out, block):]
		mac.Reset()
		mac.Write(a)
		a = mac.Sum(a[:0])
	}
}

// The labels that tell the keys of the two directions, and those of secrets,
// apart (Part 6, 6.8.1 and 6.8.3).
const (
	labelClient = "opcua-client"
	labelServer = "opcua-server"
	labelSecret = "opcua-secret"
)

// agreed derives n bytes of key material from a common secret with HKDF (RFC
// 5869). The salt, which is the info too, is the length, a label, and the public
// shares of who uses the keys to send and of who receives.
func agreed(h crypto.Hash, n int, secret []byte, label string, sender, receiver []byte) ([]byte, error) {
	salt := make([]byte, 0, 2+len(label)+len(sender)+len(receiver))
	salt = binary.LittleEndian.AppendUint16(salt, uint16(n))
	salt = append(salt, label...)
	salt = append(salt, sender...)
	salt = append(salt, receiver...)
	return hkdf.Key(h.New, secret, salt, string(salt), n)
}
