package sessionactor

import (
	"github.com/uahive/uahive/codec/ua"
)

// closeSession serves CloseSession (Part 4, 5.7.4). A session that was not yet
// activated is closed too, on the channel that created it.
func closeSession(x *exchange) {
	var req ua.CloseSessionRequest
	if code := x.decode(&req); code != ua.Good {
		x.fault(code)
		return
	}
	session, known := x.service.sessions.Load(req.RequestHeader.AuthenticationToken)
	if !known {
		x.auditRefusedClose(ua.BadSessionIDInvalid)
		x.fault(ua.BadSessionIDInvalid)
		return
	}
	if bound := session.bound.Load(); bound == nil || bound.channel != x.channel {
		x.auditRefusedClose(ua.BadSecureChannelIDInvalid)
		x.fault(ua.BadSecureChannelIDInvalid)
		return
	}
	x.conv.last = nil
	r := x.deferCall()
	if !session.mailbox.Post(message{kind: messageClose, closing: r, deleting: req.DeleteSubscriptions}) {
		r.fault(ua.BadSessionIDInvalid)
	}
}

// cancelRequests serves Cancel (Part 4, 5.7.5): requests of this session with
// the handle are answered with BadRequestCancelledByClient, parked Publish
// requests included.
func cancelRequests(x *exchange) {
	var req ua.CancelRequest
	if code := x.decode(&req); code != ua.Good {
		x.fault(code)
		return
	}
	x.auditCancel(req.RequestHandle)
	count := uint32(0)
	for _, r := range x.conv.pick(func(r *deferred) bool {
		return r.session == x.session && r.handle == req.RequestHandle
	}) {
		// The answer comes first and ends the context: user code that sees its
		// context end answers too, and must come too late.
		if r.fault(ua.BadRequestCancelledByClient) {
			count++
		}
	}
	count += uint32(x.session.queue.Cancel(req.RequestHandle))
	resp := &ua.CancelResponse{CancelCount: count}
	x.respond(resp, &resp.ResponseHeader)
}
