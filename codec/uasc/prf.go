package uasc

import (
	"crypto/hmac"
	"crypto/sha256"
)

// pSHA256 fills out with the P_SHA256 stream of RFC 5246, 5, from which Part 6,
// 6.7.6 derives the keys of a token.
func pSHA256(out, secret, seed []byte) {
	mac := hmac.New(sha256.New, secret)
	mac.Write(seed)
	a := mac.Sum(nil)
	var block [sha256.Size]byte
	for len(out) > 0 {
		mac.Reset()
		mac.Write(a)
		mac.Write(seed)
		out = out[copy(out, mac.Sum(block[:0])):]
		mac.Reset()
		mac.Write(a)
		a = mac.Sum(a[:0])
	}
}
