package uasc

import (
	"crypto/subtle"
	"encoding/binary"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// Message is what one chunk brought.
type Message struct {
	Type      MessageType // TypeMessage or TypeClose
	RequestID uint32
	TokenID   uint32 // of the token that secured the chunk

	// Done says that the message is complete and Body is all of it. Otherwise
	// the chunk was an intermediate one, or an abort.
	Done bool
	Body []byte
	// Owned says that the memory of Body is used for nothing else, ever: it may
	// be kept after Recycle. See OpenerConfig.Foresee.
	Owned bool

	// Aborted is not Good when the sender gave the message up (Part 6, 6.7.3):
	// what came of it has been dropped, the channel goes on, and a client ends
	// the request with this code. Reason is the sender's text.
	Aborted ua.StatusCode
	Reason  string
}

// maxTokens is how many tokens an Opener holds: the one in use and two
// renewals, for a client that renews twice before it uses what it got. A flood
// of renewals replaces tokens and holds no more memory (threat S10).
const maxTokens = 3

// Opener owns the receive state of a channel: the tokens, the expected sequence
// number and the message in assembly. It is not safe for concurrent use; its
// owner is the reader.
type Opener struct {
	channelID uint32
	seq       Sequence
	tokens    [maxTokens]*Token // oldest first, the rest nil
	asm       assembly
}

// OpenerConfig says what an Opener accepts.
type OpenerConfig struct {
	// Limits are the negotiated ones; MaxMessage and MaxChunks are used.
	Limits Limits
	// Policy is the channel's, for its sequence numbers. Nil stands for one that
	// counts as RSA does.
	Policy *Policy
	// Budget is shared by all connections; nil means none.
	Budget Budget
	// Foresee, if not nil, looks at the body of the first of several chunks and
	// says how many bytes the whole message will have at most, 0 when it does not
	// know, and which of them is to stand at an address divisible by 8. Such a
	// message is put together in memory of its own. What it says is what a peer
	// says, and held against the limits and the budget.
	Foresee func(first []byte) (size, align int)
}

// NewOpener returns an Opener that awaits its first OPN.
func NewOpener(c OpenerConfig) *Opener {
	lim := c.Limits.withDefaults()
	o := &Opener{}
	o.seq.Strict = c.Policy != nil && c.Policy.StrictSequence
	o.asm.maxBytes = int(min(lim.MaxMessage, 1<<31-1))
	o.asm.maxChunks = int(min(lim.MaxChunks, 1<<31-1))
	o.asm.budget, o.asm.foresee = c.Budget, c.Foresee
	return o
}

// Install adds a token that was issued. The first one also sets the channel's
// id. A renewed one becomes current when the peer first uses it, and everything
// older is then forgotten; until then, or until it expires, the old one is
// accepted (Part 4, 5.6.2.1). Of too many renewals the oldest that was not used
// is given up, never the token in use.
func (o *Opener) Install(tok *Token) {
	o.channelID = tok.ChannelID
	for i, t := range o.tokens {
		if t == nil {
			o.tokens[i] = tok
			return
		}
	}
	copy(o.tokens[1:], o.tokens[2:])
	o.tokens[maxTokens-1] = tok
}

// Token returns the token that the peer used last, nil before the first Install.
// When it changes, a server hands it to its Sealer.
func (o *Opener) Token() *Token { return o.tokens[0] }

// Newest returns the token that was installed last, which the peer may not have
// used yet; nil before the first Install.
func (o *Opener) Newest() (newest *Token) {
	for _, t := range o.tokens {
		if t != nil {
			newest = t
		}
	}
	return newest
}

// Reuses reports whether nonce is the ephemeral key of a token that is still
// held: see [Token.Reuses].
func (o *Opener) Reuses(nonce []byte) bool {
	for _, t := range o.tokens {
		if t != nil && t.Reuses(nonce) {
			return true
		}
	}
	return false
}

// AcceptSequence checks the sequence number of a received OPN, which shares the
// sequence with everything else. An OPN may arrive between the chunks of a
// message: it is a message of its own, always whole, and what is in assembly
// simply goes on, under the old or the new token.
func (o *Opener) AcceptSequence(n uint32) error {
	if !o.seq.Accept(n) {
		return errSequence
	}
	return nil
}

// Open is OpenAt with the time of the call.
func (o *Opener) Open(chunk []byte) (Message, error) { return o.OpenAt(chunk, time.Now()) }

// OpenAt takes one whole MSG or CLO chunk, checks and decrypts it in place and
// adds it to its message. now is only held against the token's lifetime, so one
// reading of the clock may serve all chunks of a read.
//
// The Body of a message of one chunk aliases chunk. The Body of a longer one is
// the Opener's and stays until Recycle, or until the next call.
//
// Every error is fatal for the channel. Chunks of two messages must not be
// interleaved (Part 6, 6.7.3); a CLO drops what is in assembly.
func (o *Opener) OpenAt(chunk []byte, now time.Time) (Message, error) {
	if len(chunk) < prefixSize || binary.LittleEndian.Uint32(chunk[4:]) != uint32(len(chunk)) {
		return Message{}, errFrameSize
	}
	m := Message{Type: typeOf(chunk)}
	switch kind := chunk[3]; {
	case m.Type == TypeMessage && (kind == ChunkFinal || kind == ChunkIntermediate || kind == ChunkAbort):
	case m.Type == TypeClose && kind == ChunkFinal:
	default:
		return Message{}, errUnexpectedType
	}
	if binary.LittleEndian.Uint32(chunk[headerSize:]) != o.channelID || o.tokens[0] == nil {
		return Message{}, errChannelID
	}
	m.TokenID = binary.LittleEndian.Uint32(chunk[headerSize+4:])
	pos := o.find(m.TokenID, now)
	if pos < 0 {
		return Message{}, errTokenID
	}
	body, err := o.tokens[pos].open(chunk)
	if err != nil {
		return Message{}, err
	}
	if !o.seq.Accept(binary.LittleEndian.Uint32(chunk[sequenceStart:])) {
		return Message{}, errSequence
	}
	// Only now is it certain that the peer knows the token's keys.
	if pos > 0 {
		n := copy(o.tokens[:], o.tokens[pos:])
		clear(o.tokens[n:])
	}
	m.RequestID = binary.LittleEndian.Uint32(chunk[sequenceStart+4:])
	err = o.asm.add(&m, chunk[3], body)
	if o.asm.own != nil {
		o.asm.own.chunk = len(chunk)
	}
	return m, err
}

// find returns the position of a token that may still be used, or -1.
func (o *Opener) find(id uint32, now time.Time) int {
	for i, t := range o.tokens {
		if t != nil && t.ID == id && !t.Expired(now) {
			return i
		}
	}
	return -1
}

// open verifies a chunk, decrypts it in place and returns its body. The
// signature is verified before the padding is looked at, so that the padding is
// known to be the sender's; and whatever fails, fails alike.
func (t *Token) open(chunk []byte) ([]byte, error) {
	signature := t.Policy.signature
	if signature == 0 {
		return chunk[prefixSize:], nil
	}
	encrypted := t.recv.cbc != nil
	smallest := prefixSize + signature
	if encrypted {
		smallest++
		if (len(chunk)-sequenceStart)%t.Policy.block != 0 {
			return nil, errSecurity
		}
	}
	if len(chunk) < smallest {
		return nil, errSecurity
	}
	if encrypted {
		t.recv.crypt(chunk[sequenceStart:])
	}
	end := len(chunk) - signature
	engine := t.Policy.mac.engine()
	inner, outer := t.recvMAC()
	ok := subtle.ConstantTimeCompare(engine.compute(inner, outer, chunk[:end]), chunk[end:])
	engine.release()
	if ok != 1 {
		return nil, errSecurity
	}
	body := chunk[prefixSize:end]
	if !encrypted {
		return body, nil
	}
	pad := int(body[len(body)-1])
	if pad >= len(body) {
		return nil, errSecurity
	}
	for _, b := range body[len(body)-1-pad:] {
		if int(b) != pad {
			return nil, errSecurity
		}
	}
	return body[:len(body)-1-pad], nil
}

// Assembling reports whether a message is waiting for more chunks.
func (o *Opener) Assembling() bool { return o.asm.active }

// LimitMessage sets the largest message from now on, one that is in assembly
// included. It allows a peer more, or less, than when the Opener was made.
func (o *Opener) LimitMessage(bytes uint32) { o.asm.maxBytes = int(min(bytes, 1<<31-1)) }

// Recycle frees the buffer of the last assembled message: its Body must not be
// used any more. Call it once the message has been dealt with, since otherwise
// an idle channel keeps the buffer until the next chunk.
func (o *Opener) Recycle() { o.asm.recycle() }

// Release frees everything. Every way that ends a channel must come through
// here, or the budget shrinks for all (threat S2). The Opener accepts nothing
// afterwards.
func (o *Opener) Release() {
	o.asm.release()
	o.tokens = [maxTokens]*Token{}
}
