package sessionactor

import (
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/publishloop"
)

// managed makes the handler of a service that publishloop serves: it decodes a
// copy of the request, since monitored items keep parts of it, checks the number
// of operations, and answers.
func managed[Q, P any, PQ interface {
	*Q
	ua.Structure
}, PP interface {
	*P
	ua.Response
}](
	serve func(m *publishloop.Manager, q *publishloop.Queue, req *Q, resp *P) ua.StatusCode,
	operations func(req *Q) int,
) func(x *exchange) {
	return func(x *exchange) {
		req, resp := new(Q), new(P)
		if code := x.decodeCopy(PQ(req)); code != ua.Good {
			x.fault(code)
			return
		}
		if operations != nil && operations(req) > x.service.limits.ItemsPerCall {
			x.fault(ua.BadTooManyOperations)
			return
		}
		code := serve(x.service.config.Subscriptions, x.session.queue, req, resp)
		x.respondOr(code, PP(resp), PP(resp).Header())
	}
}

// The Subscription service set (Part 4, 5.14).
var (
	createSubscription  = managed((*publishloop.Manager).CreateSubscription, nil)
	modifySubscription  = managed((*publishloop.Manager).ModifySubscription, nil)
	setPublishingMode   = managed((*publishloop.Manager).SetPublishingMode, func(r *ua.SetPublishingModeRequest) int { return len(r.SubscriptionIDs) })
	deleteSubscriptions = managed((*publishloop.Manager).DeleteSubscriptions, func(r *ua.DeleteSubscriptionsRequest) int { return len(r.SubscriptionIDs) })
)

// transferSubscriptions serves TransferSubscriptions (Part 4, 5.14.7).
func transferSubscriptions(x *exchange) {
	managed(func(m *publishloop.Manager, q *publishloop.Queue, req *ua.TransferSubscriptionsRequest, resp *ua.TransferSubscriptionsResponse) ua.StatusCode {
		code := m.TransferSubscriptions(q, req, resp)
		x.auditTransfer(code, resp)
		return code
	}, func(r *ua.TransferSubscriptionsRequest) int { return len(r.SubscriptionIDs) })(x)
}

// publish serves Publish (Part 4, 5.14.5): the request is answered at once or
// parked, in either case by the session's queue.
func publish(x *exchange) {
	req := &x.publish
	if code := x.decode(req); code != ua.Good {
		x.fault(code)
		return
	}
	// What the batch holds came before: it must not be overtaken.
	x.batch.Flush()
	x.session.queue.Publish(x.id, req, x.session.responder(x.channel))
	x.session.count(x.entry, ua.Good) // the service's own counters wait for the answer
}

// republish serves Republish (Part 4, 5.14.6).
func republish(x *exchange) {
	var req ua.RepublishRequest
	if code := x.decode(&req); code != ua.Good {
		x.fault(code)
		return
	}
	dst := x.begin(id.RepublishResponse_Encoding_DefaultBinary, ua.Good)
	dst, code := x.service.config.Subscriptions.AppendRepublish(dst, x.session.queue, req.SubscriptionID, req.RetransmitSequenceNumber)
	if code != ua.Good {
		x.batch.Drop(dst)
		x.fault(code)
		return
	}
	x.end(dst)
}
