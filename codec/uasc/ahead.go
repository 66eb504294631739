package uasc

import "github.com/uahive/uahive/codec"

// aheadSize is the smallest chunk that is received where its body stays. Smaller
// ones are better taken several at a time.
const aheadSize = 16 << 10

// Ahead returns where to receive the next chunk, so that its body need not be
// copied, or nil where that makes no difference. It is for a message whose size
// was foreseen: the memory returned is the message's own, and as long as its last
// chunk or what is left of it. The header comes to lie over the last bytes of what
// came before; the Opener keeps them and puts them back when it opens the next
// chunk, wherever that was received. Until then the memory is the caller's.
func (o *Opener) Ahead() []byte {
	if !o.asm.active || o.asm.own == nil {
		return nil
	}
	return o.asm.own.ahead()
}

// ownMemory is what a message of foreseen size is put together in.
type ownMemory struct {
	buf   codec.Buffer
	chunk int              // size of the last chunk
	lent  bool             // the last bytes of buf are lent to a header
	kept  [prefixSize]byte // what stood there
}

func (m *ownMemory) ahead() []byte {
	start := len(m.buf.B) - prefixSize
	room := min(m.chunk, cap(m.buf.B)-start)
	if start < 0 || room < aheadSize {
		return nil
	}
	if !m.lent {
		copy(m.kept[:], m.buf.B[start:])
		m.lent = true
	}
	return m.buf.B[start : start+room : start+room]
}

// reclaim puts back what the header of a chunk lay over.
func (m *ownMemory) reclaim() {
	if m != nil && m.lent {
		copy(m.buf.B[len(m.buf.B)-prefixSize:], m.kept[:])
		m.lent = false
	}
}

// holds reports whether a body already stands where it belongs.
func (m *ownMemory) holds(body []byte) bool {
	if m == nil || len(body) == 0 {
		return false
	}
	have := len(m.buf.B)
	return len(body) <= cap(m.buf.B)-have && &body[0] == &m.buf.B[:have+1][have]
}
