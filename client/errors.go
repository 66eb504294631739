package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// ErrClosed is the error of every use of a client after Close, or after its
// reconnecting ended.
var ErrClosed = errors.New("client: closed")

// ErrBusy is returned by [Client.Go] and [Client.Send] when Config.MaxInFlight
// requests wait for an answer, or the peer does not take more bytes.
var ErrBusy = errors.New("client: too many requests in flight")

// ErrNotConnected is returned by [Client.Go] and [Client.Send] while the
// client reconnects.
var ErrNotConnected = errors.New("client: not connected")

var errNoRoom = ErrBusy

// What a ConnectionError names.
const (
	opDial  = "dial"
	opHello = "hello"
)

// ConnectionError says that a connection could not be opened, or broke. Its
// StatusCode is what the server said, or BadConnectionClosed.
type ConnectionError struct {
	Op  string // what failed
	Err error
}

func (e *ConnectionError) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap makes the reason reachable, and a StatusCode in any case.
func (e *ConnectionError) Unwrap() []error { return []error{e.Err, ua.BadConnectionClosed} }

// busyError adds to a refusal when the server wants to see the client again.
type busyError struct {
	ua.StatusCode
	hint string
}

func (e *busyError) Error() string { return e.StatusCode.Error() + ": " + e.hint }
func (e *busyError) Unwrap() error { return e.StatusCode }

// RetryAfter returns how long a server that refused a connection or a session
// asked the client to stay away. The standard has no field for that: the hint
// is the word "retry-after", then '=' or ':' or a space, then a number of
// seconds or a duration with its unit ("retry-after=1.5s"), anywhere in the
// reason of an ERR message or in the string table of a ServiceFault.
func RetryAfter(err error) (time.Duration, bool) {
	var msg *uasc.ErrorMessage
	if errors.As(err, &msg) {
		return parseRetryAfter(msg.Reason)
	}
	var busy *busyError
	if errors.As(err, &busy) {
		return parseRetryAfter(busy.hint)
	}
	return 0, false
}

func parseRetryAfter(text string) (time.Duration, bool) {
	const word = "retry-after"
	i := 0
	for i+len(word) <= len(text) && !strings.EqualFold(text[i:i+len(word)], word) {
		i++
	}
	if i+len(word) > len(text) {
		return 0, false
	}
	rest := strings.TrimLeft(text[i+len(word):], "=: ")
	end := strings.IndexFunc(rest, func(r rune) bool {
		return (r < '0' || r > '9') && r != '.' && r != 'm' && r != 's' && r != 'h'
	})
	if end >= 0 {
		rest = rest[:end]
	}
	rest = strings.TrimRight(rest, ".")
	if seconds, err := strconv.ParseFloat(rest, 64); err == nil && seconds >= 0 && seconds < 1e6 {
		return min(time.Duration(seconds*float64(time.Second)), retryCap), true
	}
	if d, err := time.ParseDuration(rest); err == nil && d >= 0 {
		return min(d, retryCap), true
	}
	return 0, false
}

// withHint looks for a retry hint in the header of a fault that says that the
// server is too busy.
func withHint(err error, body []byte) error {
	code := ua.StatusOf(err)
	if code.Code() != ua.BadServerTooBusy && code.Code() != ua.BadTooManySessions {
		return err
	}
	var d codec.Decoder
	d.Reset(body, nil)
	var h ua.ResponseHeader
	h.DecodeFrom(&d)
	if d.Err() != nil {
		return err
	}
	for _, s := range h.StringTable {
		if _, ok := parseRetryAfter(s); ok {
			return &busyError{code, s}
		}
	}
	return err
}

// ended is the error of a context that is over: its own, so that it is found with errors.Is, and the cause
// that it was given. It is nil while the context is not over. A deadline that has passed counts before
// the context's timer has run.
func ended(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
			return context.DeadlineExceeded
		}
		return nil
	}
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// ofContext adds to an error that the caller's context is over, where that may well be the reason: the server
// gave up at the same moment, because it was told how long the client waits.
func ofContext(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	switch ua.StatusOf(err).Code() {
	case ua.BadTimeout, ua.BadRequestTimeout, ua.BadRequestCancelledByClient, ua.BadRequestCancelledByRequest, ua.BadServerNotConnected:
		if over := ended(ctx); over != nil {
			return fmt.Errorf("%w: %w", over, err)
		}
	}
	return err
}

// wrap adds what was attempted to an error.
func wrap(op string, err error) error {
	if err == nil || errors.Is(err, ErrClosed) {
		return err
	}
	return fmt.Errorf("client: %s: %w", op, err)
}

// serviceName is the name of the service that a request belongs to.
func serviceName(req ua.Structure) string {
	name := fmt.Sprintf("%T", req)
	name = name[strings.LastIndexByte(name, '.')+1:]
	return strings.TrimSuffix(name, "Request")
}

// isConnectionError says that a request failed without an answer of the
// service, so that nothing is known of what the server did.
func isConnectionError(err error) bool {
	var c *ConnectionError
	return errors.As(err, &c) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// isSessionGone says that a service result means that the session cannot be
// used on this channel any more (Part 4, 5.7).
func isSessionGone(err error) bool {
	code, ok := err.(ua.StatusCode)
	if !ok {
		return false
	}
	switch code.Code() {
	case ua.BadSessionIDInvalid, ua.BadSessionClosed, ua.BadSessionNotActivated, ua.BadSecureChannelIDInvalid:
		return true
	}
	return false
}
