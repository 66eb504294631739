package uasc

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/uahive/uahive/codec/ua"
)

// Hello is the client's first message (Part 6, 7.1.2.3). Sizes are in bytes; 0
// in MaxMessageSize and MaxChunkCount means that the client sets no limit.
type Hello struct {
	ProtocolVersion   uint32
	ReceiveBufferSize uint32
	SendBufferSize    uint32
	MaxMessageSize    uint32
	MaxChunkCount     uint32
	EndpointURL       string
}

// AppendTo appends the whole HEL frame. An EndpointURL beyond
// MaxEndpointURLLength is cut, since no server may accept it.
func (h *Hello) AppendTo(dst []byte) []byte {
	url := truncate(h.EndpointURL, MaxEndpointURLLength)
	dst = appendHeader(dst, TypeHello, ChunkFinal, uint32(headerSize+5*4+4+len(url)))
	dst = appendSizes(dst, h.ProtocolVersion, h.ReceiveBufferSize, h.SendBufferSize, h.MaxMessageSize, h.MaxChunkCount)
	return appendText(dst, url)
}

// Decode reads a whole HEL frame, header included. The frame must hold exactly
// its fields; a URL beyond 4,096 bytes or not in UTF-8 is
// BadTcpEndpointUrlInvalid, anything else malformed is BadDecodingError.
func (h *Hello) Decode(frame []byte) error {
	r, err := frameReader(frame, TypeHello)
	if err != nil {
		return err
	}
	*h = Hello{
		ProtocolVersion:   r.uint32(),
		ReceiveBufferSize: r.uint32(),
		SendBufferSize:    r.uint32(),
		MaxMessageSize:    r.uint32(),
		MaxChunkCount:     r.uint32(),
	}
	url := r.bytes()
	if err := r.finish(); err != nil {
		return err
	}
	h.EndpointURL, err = checkURL(url)
	return err
}

// Acknowledge is the server's answer to Hello (Part 6, 7.1.2.4).
type Acknowledge struct {
	ProtocolVersion   uint32
	ReceiveBufferSize uint32
	SendBufferSize    uint32
	MaxMessageSize    uint32
	MaxChunkCount     uint32
}

// AppendTo appends the whole ACK frame.
func (a *Acknowledge) AppendTo(dst []byte) []byte {
	dst = appendHeader(dst, TypeAcknowledge, ChunkFinal, headerSize+5*4)
	return appendSizes(dst, a.ProtocolVersion, a.ReceiveBufferSize, a.SendBufferSize, a.MaxMessageSize, a.MaxChunkCount)
}

// Decode reads a whole ACK frame, header included.
func (a *Acknowledge) Decode(frame []byte) error {
	r, err := frameReader(frame, TypeAcknowledge)
	if err != nil {
		return err
	}
	*a = Acknowledge{
		ProtocolVersion:   r.uint32(),
		ReceiveBufferSize: r.uint32(),
		SendBufferSize:    r.uint32(),
		MaxMessageSize:    r.uint32(),
		MaxChunkCount:     r.uint32(),
	}
	return r.finish()
}

// ReverseHello is what a server sends first on a connection that it opened
// itself (Part 6, 7.1.2.6).
type ReverseHello struct {
	ServerURI   string
	EndpointURL string
}

// AppendTo appends the whole RHE frame, both texts cut at 4,096 bytes.
func (h *ReverseHello) AppendTo(dst []byte) []byte {
	uri, url := truncate(h.ServerURI, MaxEndpointURLLength), truncate(h.EndpointURL, MaxEndpointURLLength)
	dst = appendHeader(dst, TypeReverseHello, ChunkFinal, uint32(headerSize+4+len(uri)+4+len(url)))
	return appendText(appendText(dst, uri), url)
}

// Decode reads a whole RHE frame, header included.
func (h *ReverseHello) Decode(frame []byte) error {
	r, err := frameReader(frame, TypeReverseHello)
	if err != nil {
		return err
	}
	uri, url := r.bytes(), r.bytes()
	if err = r.finish(); err != nil {
		return err
	}
	if h.ServerURI, err = checkURL(uri); err != nil {
		return err
	}
	h.EndpointURL, err = checkURL(url)
	return err
}

// ErrorMessage tells the peer why the connection ends (Part 6, 7.1.2.5).
type ErrorMessage struct {
	Code   ua.StatusCode
	Reason string
}

// Error makes a received ErrorMessage usable as an error. The reason is the
// peer's text: quote it when it is logged.
func (e *ErrorMessage) Error() string {
	if e.Reason == "" {
		return e.Code.Error()
	}
	return e.Code.Error() + ": " + e.Reason
}

// Unwrap makes the StatusCode reachable for errors.As.
func (e *ErrorMessage) Unwrap() error { return e.Code }

// AppendTo appends the whole ERR frame. The reason is cut at 4,096 bytes.
func (e *ErrorMessage) AppendTo(dst []byte) []byte {
	reason := truncate(e.Reason, MaxReasonLength)
	dst = appendHeader(dst, TypeError, ChunkFinal, uint32(headerSize+4+4+len(reason)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(e.Code))
	return appendText(dst, reason)
}

// Decode reads a whole ERR frame, header included. A reason that is too long or
// not UTF-8 is ignored, as Part 6, 7.1.2.5 asks of a client.
func (e *ErrorMessage) Decode(frame []byte) error {
	r, err := frameReader(frame, TypeError)
	if err != nil {
		return err
	}
	e.Code = ua.StatusCode(r.uint32())
	e.Reason = reasonText(r.bytes())
	return r.finish()
}

func reasonText(b []byte) string {
	if len(b) > MaxReasonLength || !utf8.Valid(b) {
		return ""
	}
	return string(b)
}

func checkURL(b []byte) (string, error) {
	if len(b) > MaxEndpointURLLength || !utf8.Valid(b) {
		return "", errEndpointURL
	}
	return string(b), nil
}

func appendSizes(dst []byte, sizes ...uint32) []byte {
	for _, v := range sizes {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	return dst
}

// appendText writes a String as the handshake does it: an empty one is null.
func appendText(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, 0xff, 0xff, 0xff, 0xff)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)))
	return append(dst, s...)
}

// truncate cuts s to at most n bytes without cutting a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// reader takes little-endian fields off a frame. Its first failure sticks, and
// every later field is zero.
type reader struct {
	b   []byte
	bad bool
}

// frameReader checks that frame is one whole frame of type t and returns a
// reader behind its header.
func frameReader(frame []byte, t MessageType) (reader, error) {
	if len(frame) < headerSize {
		return reader{}, errTruncated
	}
	h, err := ParseHeader(frame, uint32(min(len(frame), 1<<31-1)))
	if err != nil {
		return reader{}, err
	}
	if h.Type != t {
		return reader{}, errUnexpectedType
	}
	if int(h.Size) != len(frame) {
		return reader{}, errTrailing
	}
	return reader{b: frame[headerSize:]}, nil
}

func (r *reader) uint32() uint32 {
	if len(r.b) < 4 {
		r.b, r.bad = nil, true
		return 0
	}
	v := binary.LittleEndian.Uint32(r.b)
	r.b = r.b[4:]
	return v
}

// bytes reads a length-prefixed field, aliasing the frame. Only -1 is null; any
// other negative length is an error.
func (r *reader) bytes() []byte {
	n := int32(r.uint32())
	if n == -1 || r.bad {
		return nil
	}
	if n < 0 || int(n) > len(r.b) {
		r.b, r.bad = nil, true
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) finish() error {
	if r.bad {
		return errTruncated
	}
	if len(r.b) != 0 {
		return errTrailing
	}
	return nil
}
