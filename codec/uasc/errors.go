package uasc

import (
	"errors"

	"github.com/uahive/uahive/codec/ua"
)

// Error is a failure that ends the channel or the connection it happened on.
//
// Code is what the peer is told, in an ERR message. Detail says more to the
// operator and must never leave the process: Part 6, 6.7.3 forbids any hint of
// why security checks failed.
type Error struct {
	Code   ua.StatusCode
	Detail string
}

// Error returns the code's name followed by the detail, for a log line.
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Code.Error()
	}
	return e.Code.Error() + ": " + e.Detail
}

// Unwrap makes the StatusCode reachable for errors.As and ua.StatusOf.
func (e *Error) Unwrap() error { return e.Code }

// AppendError appends the ERR frame for an error that ends a connection: its
// StatusCode and, on purpose, not a word more. An error without a bad StatusCode
// is BadTcpInternalError.
func AppendError(dst []byte, err error) []byte {
	m := ErrorMessage{Code: ua.BadTcpInternalError}
	var code ua.StatusCode
	if errors.As(err, &code) && code.IsBad() {
		m.Code = code
	}
	return m.AppendTo(dst)
}

// The errors of this package are fixed values: none carries anything that the
// peer sent, none costs an allocation while under attack, and two failures that
// must look alike are alike because they are the same pointer.
var (
	errMessageType     = &Error{ua.BadTcpMessageTypeInvalid, "unknown message type or chunk type"}
	errUnexpectedType  = &Error{ua.BadTcpMessageTypeInvalid, "message type not expected here"}
	errInterleaved     = &Error{ua.BadTcpMessageTypeInvalid, "chunks of two messages are interleaved"}
	errFrameSize       = &Error{ua.BadTcpMessageTooLarge, "message size below the header's or above the receive buffer's"}
	errMessageTooLarge = &Error{ua.BadTcpMessageTooLarge, "message exceeds the size limit"}
	errTooManyChunks   = &Error{ua.BadTcpMessageTooLarge, "message exceeds the chunk count limit"}
	errNoBudget        = &Error{ua.BadTcpNotEnoughResources, "no memory left for messages in assembly"}
	errTruncated       = &Error{ua.BadDecodingError, "frame ends before its fields do"}
	errTrailing        = &Error{ua.BadDecodingError, "frame goes on after its last field"}
	errEndpointURL     = &Error{ua.BadTcpEndpointURLInvalid, "endpoint URL too long or not UTF-8"}
	errBufferSize      = &Error{ua.BadConnectionRejected, "peer wants buffers below 8192 bytes"}
	errVersion         = &Error{ua.BadProtocolVersionUnsupported, "server acknowledges a protocol version not asked for"}
	errChannelID       = &Error{ua.BadTcpSecureChannelUnknown, "secure channel id is not this channel's"}
	errTokenID         = &Error{ua.BadSecureChannelTokenUnknown, "token id unknown or token expired"}
	errNoToken         = &Error{ua.BadSecureChannelClosed, "no token to seal with"}
	errSequence        = &Error{ua.BadSecurityChecksFailed, "sequence number out of order (BadSequenceNumberInvalid)"}
	errSecurity        = &Error{ua.BadSecurityChecksFailed, ""}
	errNonce           = &Error{ua.BadNonceInvalid, "nonce has the wrong length or is all zero"}
	errPolicy          = &Error{ua.BadSecurityPolicyRejected, "security policy does not allow this operation"}
	errMode            = &Error{ua.BadSecurityModeRejected, "security mode does not fit the security policy"}
	errTokenZero       = &Error{ua.BadInternalError, "token id 0 is reserved"}
	errCertificate     = &Error{ua.BadCertificateInvalid, "certificate missing, too large or malformed"}
	errThumbprint      = &Error{ua.BadCertificateInvalid, "receiver thumbprint malformed"}
	errKeySize         = &Error{ua.BadCertificateInvalid, "key type or size not allowed by the security policy"}
	errPolicyURI       = &Error{ua.BadSecurityPolicyRejected, "security policy URI too long"}
	errSecret          = &Error{ua.BadIdentityTokenRejected, ""}
	errSecretTooLong   = &Error{ua.BadIdentityTokenInvalid, "secret longer than the server will accept"}
	errFrames          = &Error{ua.BadInternalError, "frames to seal are not laid out by this channel"}
)
