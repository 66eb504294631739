package uasc

// Fixed limits, each with the abuse that it stops.
const (
	// MinBufferSize is the smallest chunk buffer that RSA policies may
	// negotiate (Part 6, 7.1.2.3). It stops a peer from making every response a
	// thousand chunks. ECC policies will lower it to 1024.
	MinBufferSize = 8192

	// MaxEndpointURLLength is the standard's bound on the URL in HEL and RHE
	// (Part 6, 7.1.2.3).
	MaxEndpointURLLength = 4096

	// MaxReasonLength is the standard's bound on the text in ERR and in an
	// abort chunk (Part 6, 6.7.3); a longer one is dropped on receipt.
	MaxReasonLength = 4096

	// MaxCertificateLength bounds the sender's certificate chain in an OPN
	// before anything parses it.
	MaxCertificateLength = 16 << 10

	// MaxChainLength bounds the number of certificates in that chain.
	MaxChainLength = 8

	// MaxOpenBlocks bounds the RSA blocks of an OPN, and with them what a
	// stranger's garbage can cost. A request needs two or three.
	MaxOpenBlocks = 8

	// MaxSecretLength bounds a decrypted password. The standard allows 64 bytes
	// for the legacy format (Part 4, 7.40.2.1); peers use more.
	MaxSecretLength = 1024

	// MaxHelloLength and MaxReverseHelloLength are the largest valid HEL and
	// RHE frames. A reader that awaits one accepts no larger frame, and needs no
	// larger buffer, from a stranger.
	MaxHelloLength        = headerSize + 5*4 + 4 + MaxEndpointURLLength
	MaxReverseHelloLength = headerSize + 2*(4+MaxEndpointURLLength)
)

// Default limits of a connection; see Limits.
const (
	DefaultBuffer         = 65535
	DefaultMaxMessage     = 4 << 20
	DefaultMaxChunks      = 128
	DefaultMaxSendMessage = 64 << 20
	DefaultMaxSendChunks  = 16 << 10
)

// Limits are the sizes of one connection. As configuration, a zero field takes
// its default. As the result of Negotiate or Accept every field is set.
type Limits struct {
	// ReceiveBuffer and SendBuffer are the largest chunks received and sent, in
	// bytes with all headers. Default 65,535, at least 8,192.
	ReceiveBuffer uint32
	SendBuffer    uint32

	// MaxMessage and MaxChunks bound a received message: bytes of its plain
	// body, and its chunks. Default 4 MiB and 128. There is no way to say
	// "unlimited".
	MaxMessage uint32
	MaxChunks  uint32

	// MaxSendMessage and MaxSendChunks bound a message sent, whatever the peer
	// declares. Default 64 MiB and 16,384. A peer's 0 means only that the peer
	// sets no limit; ours stands.
	MaxSendMessage uint32
	MaxSendChunks  uint32
}

// withDefaults replaces what is zero and raises buffers to the minimum.
func (l Limits) withDefaults() Limits {
	l.ReceiveBuffer = max(orDefault(l.ReceiveBuffer, DefaultBuffer), MinBufferSize)
	l.SendBuffer = max(orDefault(l.SendBuffer, DefaultBuffer), MinBufferSize)
	l.MaxMessage = orDefault(l.MaxMessage, DefaultMaxMessage)
	l.MaxChunks = orDefault(l.MaxChunks, DefaultMaxChunks)
	l.MaxSendMessage = orDefault(l.MaxSendMessage, DefaultMaxSendMessage)
	l.MaxSendChunks = orDefault(l.MaxSendChunks, DefaultMaxSendChunks)
	return l
}

func orDefault(v, def uint32) uint32 {
	if v == 0 {
		return def
	}
	return v
}

// Hello returns the HEL message of a client with these limits.
func (l Limits) Hello(endpointURL string) Hello {
	l = l.withDefaults()
	return Hello{
		ReceiveBufferSize: l.ReceiveBuffer,
		SendBufferSize:    l.SendBuffer,
		MaxMessageSize:    l.MaxMessage,
		MaxChunkCount:     l.MaxChunks,
		EndpointURL:       endpointURL,
	}
}

// Negotiate is the server's side of the handshake: from its own limits and the
// client's HEL it returns the ACK to send and the limits that hold from then
// on. Any protocol version is accepted and answered with 0 (Part 6, 7.1.2.4).
func Negotiate(local Limits, h Hello) (Acknowledge, Limits, error) {
	local = local.withDefaults()
	if h.ReceiveBufferSize < MinBufferSize || h.SendBufferSize < MinBufferSize {
		return Acknowledge{}, Limits{}, errBufferSize
	}
	n := local
	n.ReceiveBuffer = min(local.ReceiveBuffer, h.SendBufferSize)
	n.SendBuffer = min(local.SendBuffer, h.ReceiveBufferSize)
	n.MaxSendMessage = tighter(local.MaxSendMessage, h.MaxMessageSize)
	n.MaxSendChunks = tighter(local.MaxSendChunks, h.MaxChunkCount)
	return Acknowledge{
		ReceiveBufferSize: n.ReceiveBuffer,
		SendBufferSize:    n.SendBuffer,
		MaxMessageSize:    n.MaxMessage,
		MaxChunkCount:     n.MaxChunks,
	}, n, nil
}

// Accept is the client's side: from the limits that its HEL announced and the
// server's ACK it returns the limits that hold from then on. A server that
// acknowledges buffers below the standard's minimum is refused. One that
// acknowledges larger ones than it was offered breaks the standard (Part 6,
// 7.1.2.4) but is only held to the offer: a chunk beyond it still ends the
// connection.
func Accept(local Limits, a Acknowledge) (Limits, error) {
	local = local.withDefaults()
	if a.ProtocolVersion != 0 {
		return Limits{}, errVersion
	}
	if a.ReceiveBufferSize < MinBufferSize || a.SendBufferSize < MinBufferSize {
		return Limits{}, errBufferSize
	}
	n := local
	n.ReceiveBuffer = min(local.ReceiveBuffer, a.SendBufferSize)
	n.SendBuffer = min(local.SendBuffer, a.ReceiveBufferSize)
	n.MaxSendMessage = tighter(local.MaxSendMessage, a.MaxMessageSize)
	n.MaxSendChunks = tighter(local.MaxSendChunks, a.MaxChunkCount)
	return n, nil
}

// tighter combines our own limit with a peer's, whose 0 stands for none.
func tighter(own, peer uint32) uint32 {
	if peer == 0 {
		return own
	}
	return min(own, peer)
}
