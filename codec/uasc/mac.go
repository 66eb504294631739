package uasc

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding"
	"hash"
	"sync"
)

// macAlgorithm is an HMAC over one hash function.
type macAlgorithm struct {
	new     func() hash.Hash
	value   int    // bytes of the hash function's chaining value
	initial []byte // state after one block; its chaining value is replaced by a key's
	engines sync.Pool
}

var (
	macSHA1   = newMACAlgorithm(sha1.New, 20)
	macSHA256 = newMACAlgorithm(sha256.New, sha256.Size)
	macSHA384 = newMACAlgorithm(sha512.New384, sha512.Size)
)

// stateValue is where the chaining value stands in the serialized state of Go's
// hash functions: a magic, the value, the unfinished block, the length. After
// exactly one block the last two are the same whatever was absorbed, so that the
// chaining value alone is worth keeping.
const stateValue = 4

func newMACAlgorithm(newHash func() hash.Hash, value int) *macAlgorithm {
	a := &macAlgorithm{new: newHash, value: value}
	h := newHash()
	h.Write(make([]byte, h.BlockSize()))
	a.initial = marshalState(h)
	if len(a.initial) != stateValue+value+h.BlockSize()+8 {
		panic("uasc: a hash function has another state format")
	}
	a.engines.New = func() any {
		h := newHash()
		return &macEngine{
			algorithm: a, hash: h, load: h.(encoding.BinaryUnmarshaler),
			state: append([]byte(nil), a.initial...), sum: make([]byte, 0, h.Size()),
		}
	}
	return a
}

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

// absorb writes the hash states that remain once a key of at most one hash block
// has been padded and absorbed, which is all that there is to know of it.
func (a *macAlgorithm) absorb(inner, outer, key []byte) {
	h := a.new()
	pad := make([]byte, h.BlockSize())
	for _, half := range []struct {
		state []byte
		fill  byte
	}{{inner, 0x36}, {outer, 0x5c}} {
		for i := range pad {
			pad[i] = half.fill
		}
		subtle.XORBytes(pad, pad, key)
		h.Reset()
		h.Write(pad)
		copy(half.state, marshalState(h)[stateValue:][:a.value])
	}
}

// macKey is an HMAC key as two hash states: 64 bytes, where crypto/hmac keeps
// some 700. Ten thousand channels hold forty thousand of them.
type macKey struct {
	inner, outer [sha256.Size]byte
}

// wideKey is a macKey for any of the algorithms.
type wideKey struct {
	inner, outer [sha512.Size]byte
}

// macEngine is the working memory of a MAC. It is borrowed for a batch of
// chunks instead of being kept per channel.
type macEngine struct {
	algorithm *macAlgorithm
	hash      hash.Hash
	load      encoding.BinaryUnmarshaler
	state     []byte
	sum       []byte
}

func (a *macAlgorithm) engine() *macEngine { return a.engines.Get().(*macEngine) }

func (e *macEngine) release() { e.algorithm.engines.Put(e) }

// compute returns the MAC of data under a key's two states. The result is
// overwritten by the next call.
func (e *macEngine) compute(inner, outer, data []byte) []byte {
	e.begin(inner)
	e.hash.Write(data)
	e.sum = e.hash.Sum(e.sum[:0])
	e.begin(outer)
	e.hash.Write(e.sum)
	e.sum = e.hash.Sum(e.sum[:0])
	return e.sum
}

func (e *macEngine) begin(state []byte) {
	copy(e.state[stateValue:], state)
	if err := e.load.UnmarshalBinary(e.state); err != nil {
		panic("uasc: a hash function refuses its own state: " + err.Error())
	}
}
