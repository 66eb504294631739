package channelactor

import "time"

// Limits bounds what one peer, and all peers together, can take from the
// server before and after they have proven who they are. A zero field takes
// its default.
type Limits struct {
	// Channels is the number of connections that are open at once. At the
	// limit the oldest one without an activated session makes room; when there
	// is none, the new connection is refused with BadTcpServerTooBusy. It stops
	// connection floods. Default 20,100: two for each of 10,000 sessions and a
	// reserve.
	Channels int
	// ChannelsPerPeer is the number of connections from one IP address.
	// Default 0: no limit of its own, since gateways and load tests share one
	// address.
	ChannelsPerPeer int
	// HelloTimeout is the time from accept to a complete Hello message. It
	// stops sockets that are opened and left silent, or fed byte by byte.
	// Default 10 s.
	HelloTimeout time.Duration
	// OpenTimeout is the time from Hello to an open secure channel. Default 10 s.
	OpenTimeout time.Duration
	// LaneWait is how long a private-key operation, of OpenSecureChannel,
	// CreateSession or ActivateSession, may have to wait for its turn. What would
	// wait longer, because too many clients come at once, is refused before it
	// costs anything: with BadTcpServerTooBusy or BadServerTooBusy and when to come
	// back. It should be below the time after which clients give up, so that no
	// work is done for those who have. Default 4 s.
	LaneWait time.Duration
	// IdleTimeout is how long a channel lives without an activated session.
	// Default 30 s.
	IdleTimeout time.Duration
	// WriteTimeout is how long a peer may leave the send buffer full. It stops
	// clients that request and do not read. Default 10 s.
	WriteTimeout time.Duration
	// MinTokenLifetime and MaxTokenLifetime bound the revised lifetime of a
	// security token. The minimum stops renewal floods, the maximum bounds the
	// use of one key. Defaults 10 s and 1 h.
	MinTokenLifetime, MaxTokenLifetime time.Duration
	// ReceiveBuffer and SendBuffer are the largest chunks in bytes, in each
	// direction. Default 65,535 bytes.
	ReceiveBuffer, SendBuffer uint32
	// MaxMessage is the largest request and the largest response in bytes.
	// Default 4 MiB.
	MaxMessage uint32
	// MaxChunks is the largest number of chunks in one message. It stops
	// messages made of empty chunks. Default: what MaxMessage needs in chunks
	// of 8 KiB, but at least 128.
	MaxChunks uint32
	// AssemblyBytes is the memory that unfinished messages of all channels may
	// hold together. It stops many peers that each stay below MaxMessage.
	// Default 256 MiB, and never less than two messages.
	AssemblyBytes int64
	// SendQueueBytes is how much memory may be queued for a peer that reads
	// slowly before its requests are no longer read. Default 1 MiB.
	SendQueueBytes int64
	// MaxSendQueueBytes is how much a channel may have queued at all: answers
	// to earlier requests and notifications come though nothing more is read.
	// Beyond it the channel is closed. Default 32 MiB and two messages.
	MaxSendQueueBytes int64
	// UnprovenMessage is the largest request on a channel without an activated
	// session. What comes before a session is small; it stops strangers from
	// holding the memory of large messages, and of what they decode to. Default
	// 256 KiB.
	UnprovenMessage uint32
	// InFlight is the number of requests of one channel that wait for the
	// worker pool; beyond it the socket is not read. Parked Publish requests do
	// not count. Default 1,000.
	InFlight int
}

// minBuffer is the smallest chunk size that both ends must support (Part 6, 7.1.2.3).
const minBuffer = 8192

// WithDefaults returns the limits with every zero field replaced.
func (l Limits) WithDefaults() Limits {
	setDefault(&l.Channels, 20_100)
	setDefault(&l.HelloTimeout, 10*time.Second)
	setDefault(&l.OpenTimeout, 10*time.Second)
	setDefault(&l.LaneWait, 4*time.Second)
	setDefault(&l.IdleTimeout, 30*time.Second)
	setDefault(&l.WriteTimeout, 10*time.Second)
	setDefault(&l.MinTokenLifetime, 10*time.Second)
	setDefault(&l.MaxTokenLifetime, time.Hour)
	setDefault(&l.ReceiveBuffer, 65_535)
	setDefault(&l.SendBuffer, 65_535)
	l.ReceiveBuffer = max(l.ReceiveBuffer, minBuffer)
	l.SendBuffer = max(l.SendBuffer, minBuffer)
	setDefault(&l.MaxMessage, 4<<20)
	l.MaxMessage = max(l.MaxMessage, minBuffer)
	setDefault(&l.MaxChunks, max(128, l.MaxMessage/minBuffer+2))
	setDefault(&l.AssemblyBytes, 256<<20)
	l.AssemblyBytes = max(l.AssemblyBytes, 2*int64(l.MaxMessage))
	setDefault(&l.SendQueueBytes, 1<<20)
	setDefault(&l.MaxSendQueueBytes, 32<<20+2*int64(l.MaxMessage))
	l.MaxSendQueueBytes = max(l.MaxSendQueueBytes, l.SendQueueBytes)
	setDefault(&l.UnprovenMessage, 256<<10)
	l.UnprovenMessage = min(max(l.UnprovenMessage, 64<<10), l.MaxMessage)
	setDefault(&l.InFlight, 1000)
	return l
}

func setDefault[T int | int64 | uint32 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}
