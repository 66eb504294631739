package sessionactor

import (
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// exchange is one request and its answer, while both are on the reader's
// goroutine. It lives in the batch's scratch and is gone when Serve returns: a
// handler that answers later takes a [deferred] from it.
type exchange struct {
	service *Service
	batch   *channelactor.Batch
	channel *channelactor.Channel
	conv    *conversation
	session *Session          // nil for services that need none
	rights  *addrspace.Rights // of the session
	entry   *entry
	id      uint32
	header  ua.RequestHeader
	body    codec.Decoder // behind the header; strings alias the receive buffer
	raw     []byte        // the request behind its type id, header included
	owned   bool          // the memory of the request is used for nothing else
	now     time.Time
	start   int  // where the response starts in the batch
	late    bool // its time is over

	gathered gathered // that the batch has answered and not sent yet

	// Requests and responses that hot services use again and again.
	operation ua.ReadValueID // of a Read, one after the other
	write     ua.WriteRequest
	browse    ua.BrowseRequest
	publish   ua.PublishRequest
}

// decode reads the request's parameters into a structure that was generated for
// them, whose strings alias the receive buffer. The header was decoded before.
func (x *exchange) decode(req ua.Request) ua.StatusCode {
	*req.Header() = x.header
	req.DecodeParameters(&x.body)
	return ua.StatusOf(x.body.Finish())
}

// decodeCopy decodes the whole request for a handler that keeps it: nothing aliases.
func (x *exchange) decodeCopy(req ua.Structure) ua.StatusCode {
	d := &x.body
	d.Reset(x.raw, &x.service.decoding)
	d.Alias(false)
	req.DecodeFrom(d)
	return ua.StatusOf(d.Finish())
}

// begin starts the response with its type id and header; the caller appends the
// rest and calls end. It is the path of services whose response is not built as
// a structure first.
func (x *exchange) begin(encodingID uint32, result ua.StatusCode) []byte {
	dst := x.batch.Begin()
	x.start = len(dst)
	dst = ua.NumericID(0, encodingID).AppendTo(dst)
	return appendResponseHeader(dst, x.now, x.header.RequestHandle, result)
}

// end finishes the response. One that is larger than the peer takes becomes a
// fault, and the result is false.
func (x *exchange) end(dst []byte) bool {
	if x.session != nil && x.session.refuses(len(dst)-x.start+x.batch.Shared()) {
		x.batch.Drop(dst)
		x.fault(ua.BadResponseTooLarge)
		return false
	}
	if err := x.batch.End(dst, x.id); err != nil {
		x.fault(ua.StatusOf(err))
		return false
	}
	x.count(ua.Good)
	return true
}

// respond answers with a structure; header is the response's own, filled here.
func (x *exchange) respond(resp ua.Structure, header *ua.ResponseHeader) {
	x.fill(header)
	dst := x.batch.Begin()
	x.start = len(dst)
	x.end(channelactor.AppendMessage(dst, resp))
}

// respondOr answers with the response unless the code is Bad; then with a fault.
func (x *exchange) respondOr(code ua.StatusCode, resp ua.Structure, header *ua.ResponseHeader) {
	if code.IsBad() {
		x.fault(code)
		return
	}
	x.respond(resp, header)
}

// overtime reports whether a request has had its time where it arrived, or
// nobody waits for it any more. It is asked before each operation, and looks at
// the clock before every few of them where each is cheap.
func (x *exchange) overtime(operation, every int) bool {
	if x.late || operation == 0 || operation%every != 0 || time.Since(x.now) < x.service.limits.ServeTime/32 {
		return x.late
	}
	select {
	case <-x.channel.Done():
		x.late = true
	default:
		x.late = time.Since(x.now) > x.service.limits.ServeTime
	}
	return x.late
}

func (x *exchange) fill(header *ua.ResponseHeader) {
	header.Timestamp = ua.DateTimeOf(x.now)
	header.RequestHandle = x.header.RequestHandle
}

// fault answers with a ServiceFault (Part 4, 7.34). No text goes with it.
func (x *exchange) fault(code ua.StatusCode) {
	x.count(code)
	dst := appendFault(x.batch.Begin(), x.now, x.header.RequestHandle, code)
	if err := x.batch.End(dst, x.id); err != nil {
		x.channel.Close(ua.BadResponseTooLarge)
	}
}

func (x *exchange) count(code ua.StatusCode) {
	x.gathered.add(x.entry.index, !code.IsBad())
	if code.IsBad() {
		x.service.meter.faults[x.entry.index].Add(uint32(code), 1)
	}
	if x.session != nil {
		x.session.count(x.entry, code)
	}
}
