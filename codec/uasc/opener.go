package uasc

import (
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// Message is what one chunk brought.
type Message struct {
	Type      MessageType // TypeMessage or TypeClose
	RequestID uint32
	TokenID   uint32        // the token that secured the chunk
	Body      []byte        // the whole message, when Done; see Opener.Open for its life
	Done      bool          // false: an intermediate or an abort chunk
	Aborted   ua.StatusCode // not Good: the sender aborted the message
	Reason    string        // of the abort
}

// Opener owns the receive state of a channel.
type Opener struct {
	seq Sequence
}

// OpenerConfig ...
type OpenerConfig struct {
	Limits    Limits
	ChannelID uint32
	Budget    Budget // nil: none
	Strict    bool
}

// NewOpener ...
func NewOpener(c OpenerConfig) *Opener { return nil }

// Install adds a token; it becomes current when the peer first uses it.
func (o *Opener) Install(tok *Token) {}

// AcceptSequence checks the sequence number of an OPN.
func (o *Opener) AcceptSequence(n uint32) error { return nil }

// Open is OpenAt with the time of the call.
func (o *Opener) Open(chunk []byte) (Message, error) { return o.OpenAt(chunk, time.Now()) }

// OpenAt ...
func (o *Opener) OpenAt(chunk []byte, now time.Time) (Message, error) { return Message{}, nil }

// Recycle frees the buffer of the last reassembled message.
func (o *Opener) Recycle() {}

// Release frees everything.
func (o *Opener) Release() {}
