package uasc

import (
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// assembly puts the chunks of one message together, within limits that are
// decided as soon as they cannot be kept: an intermediate chunk promises one
// more, so the last permitted chunk must be a final one (threats S1, C14).
type assembly struct {
	maxBytes  int
	maxChunks int
	budget    Budget // nil: none
	foresee   func(first []byte) (size, align int)

	active    bool // chunks came, the final one did not
	requestID uint32
	chunks    int
	buf       *codec.Buffer // of the message in assembly or just handed out
	taken     int           // bytes that buf has of the budget
	own       *ownMemory    // what buf is the buffer of, when it is the message's own and not pooled
}

// add takes the body of one verified chunk and completes m.
func (a *assembly) add(m *Message, kind byte, body []byte) error {
	a.own.reclaim()
	if !a.active {
		a.recycle()
	}
	if m.Type == TypeClose {
		a.release()
		m.Done, m.Body = true, body
		return nil
	}
	if a.active && m.RequestID != a.requestID {
		return errInterleaved
	}
	if kind == ChunkAbort {
		a.release()
		m.Aborted, m.Reason = abortOf(body)
		return nil
	}
	have := 0
	if a.buf != nil {
		have = len(a.buf.B)
	}
	if len(body) > a.maxBytes-have {
		return errMessageTooLarge
	}
	if !a.active && kind == ChunkFinal {
		m.Done, m.Body = true, body
		return nil
	}
	a.active, a.requestID = true, m.RequestID
	a.chunks++
	if a.chunks > a.maxChunks || a.chunks == a.maxChunks && kind != ChunkFinal {
		return errTooManyChunks
	}
	if a.chunks == 1 {
		a.prepare(body)
	}
	if err := a.append(body, kind == ChunkFinal); err != nil {
		return err
	}
	if kind == ChunkFinal {
		m.Done, m.Body, m.Owned = true, a.buf.B, a.own != nil
		a.active, a.chunks = false, 0
	}
	return nil
}

// prepare takes memory for a whole message whose first chunk says how large it
// will be. It is not pooled: what is decoded from the message may stay in it.
// What does not fit into the limits is put together like any other message, and
// fails when it is seen not to fit.
func (a *assembly) prepare(first []byte) {
	if a.foresee == nil {
		return
	}
	size, align := a.foresee(first)
	if size <= len(first) || size > a.maxBytes {
		return
	}
	if a.budget != nil && !a.budget.Take(size) {
		return
	}
	const word = 8
	pad := (word - align%word) % word
	a.own = &ownMemory{buf: codec.Buffer{B: codec.Uncleared(size + word)[pad : pad : pad+size]}}
	a.buf, a.taken = &a.own.buf, size
}

// append adds a body to the buffer, in a larger one where it does not fit. The
// budget is asked before memory is.
func (a *assembly) append(body []byte, final bool) error {
	if a.own.holds(body) {
		a.buf.B = a.buf.B[:len(a.buf.B)+len(body)]
		return nil
	}
	if a.buf == nil || len(body) > cap(a.buf.B)-len(a.buf.B) {
		need := len(body)
		if a.buf != nil {
			need += len(a.buf.B)
		}
		size := need
		if !final {
			// More is to come; growing by a factor keeps the copying linear.
			size = min(2*need, max(a.maxBytes, need))
		}
		size = poolSize(size)
		if a.budget != nil && !a.budget.Take(size) {
			return errNoBudget
		}
		larger := codec.GetBuffer(size)
		if a.buf != nil {
			larger.B = append(larger.B, a.buf.B...)
			a.free()
		}
		a.buf, a.taken, a.own = larger, size, nil
	}
	a.buf.B = append(a.buf.B, body...)
	return nil
}

// poolSize rounds up to what a pooled buffer of n bytes really holds, so that
// the budget counts memory and not wishes.
func poolSize(n int) int {
	for size := 4 << 10; size <= 1<<20; size *= 4 {
		if n <= size {
			return size
		}
	}
	return n
}

// recycle frees the buffer of a message that was handed out.
func (a *assembly) recycle() {
	if !a.active {
		a.free()
	}
}

// release frees the buffer whatever its state.
func (a *assembly) release() {
	a.active, a.chunks = false, 0
	a.free()
}

func (a *assembly) free() {
	if a.buf == nil {
		return
	}
	if a.own == nil {
		a.buf.Release()
	}
	a.buf, a.own = nil, nil
	if a.budget != nil {
		a.budget.Give(a.taken)
	}
	a.taken = 0
}

// abortOf decodes the body of an abort chunk. The sender has been verified and
// the channel goes on in any case, so a malformed body only loses its meaning.
func abortOf(body []byte) (ua.StatusCode, string) {
	r := reader{b: body}
	code, reason := ua.StatusCode(r.uint32()), reasonText(r.bytes())
	if r.bad || !code.IsBad() {
		return ua.BadUnexpectedError, ""
	}
	return code, reason
}
