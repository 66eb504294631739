package uasc

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding"
	"hash"
	"sync"
)

// macKey is an HMAC-SHA256 key as the two hash states that remain once the
// padded key has been absorbed: 64 bytes, where crypto/hmac keeps some 700.
// Ten thousand channels hold forty thousand of them.
type macKey struct {
	inner, outer [sha256.Size]byte
}

// The serialized state of crypto/sha256 is a magic, the chaining value, the
// unfinished block and the length. After exactly one block the last two are the
// same whatever was absorbed, so that the chaining value alone is worth keeping.
const (
	stateValue  = 4
	stateLength = stateValue + sha256.Size + sha256.BlockSize + 8
)

// stateTemplate is the state after one block of zeros; its chaining value is
// replaced by a key's.
var stateTemplate = func() (t [stateLength]byte) {
	h := sha256.New()
	h.Write(make([]byte, sha256.BlockSize))
	if s := marshalState(h); len(s) == stateLength {
		copy(t[:], s)
	}
	return t
}()

func marshalState(h hash.Hash) []byte {
	m, ok := h.(encoding.BinaryMarshaler)
	if !ok {
		return nil
	}
	s, err := m.MarshalBinary()
	if err != nil {
		return nil
	}
	return s
}

// newMACKey absorbs a key of at most one hash block.
func newMACKey(key []byte) (k macKey) {
	var pad [sha256.BlockSize]byte
	for state, fill := range map[*[sha256.Size]byte]byte{&k.inner: 0x36, &k.outer: 0x5c} {
		for i := range pad {
			pad[i] = fill
		}
		subtle.XORBytes(pad[:], pad[:], key)
		h := sha256.New()
		h.Write(pad[:])
		s := marshalState(h)
		if len(s) != stateLength {
			panic("uasc: crypto/sha256 has another state format")
		}
		copy(state[:], s[stateValue:])
	}
	return k
}

// macEngine is the working memory of a MAC. It is borrowed for a batch of
// chunks instead of being kept per channel.
type macEngine struct {
	hash  hash.Hash
	load  encoding.BinaryUnmarshaler
	state [stateLength]byte
	sum   [sha256.Size]byte
}

var macEngines = sync.Pool{New: func() any {
	h := sha256.New()
	return &macEngine{hash: h, load: h.(encoding.BinaryUnmarshaler), state: stateTemplate}
}}

// compute returns the MAC of data under k. The result is overwritten by the
// next call.
func (e *macEngine) compute(k *macKey, data []byte) []byte {
	e.begin(&k.inner)
	e.hash.Write(data)
	e.hash.Sum(e.sum[:0])
	e.begin(&k.outer)
	e.hash.Write(e.sum[:])
	return e.hash.Sum(e.sum[:0])
}

func (e *macEngine) begin(state *[sha256.Size]byte) {
	copy(e.state[stateValue:], state[:])
	if err := e.load.UnmarshalBinary(e.state[:]); err != nil {
		panic("uasc: crypto/sha256 refuses its own state: " + err.Error())
	}
}
