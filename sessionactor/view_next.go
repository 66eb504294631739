package sessionactor

import (
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// browseNext serves BrowseNext (Part 4, 5.9.3). A continuation point is used
// once: what remains gets a new one.
func browseNext(x *exchange) {
	var req ua.BrowseNextRequest
	if code := x.decode(&req); code != ua.Good {
		x.fault(code)
		return
	}
	switch {
	case len(req.ContinuationPoints) == 0:
		x.fault(ua.BadNothingToDo)
		return
	case len(req.ContinuationPoints) > x.service.limits.NodesPerBrowse:
		x.fault(ua.BadTooManyOperations)
		return
	}
	dst := x.begin(id.BrowseNextResponse_Encoding_DefaultBinary, ua.Good)
	dst = codec.AppendInt32(dst, int32(len(req.ContinuationPoints)))
	start, most := len(dst), x.channel.MaxResponse()
	first := x.session.firstPoint()
	for _, name := range req.ContinuationPoints {
		cursor := x.session.takePoint(name)
		switch {
		case cursor == nil:
			dst = appendBrowseFailure(dst, ua.BadContinuationPointInvalid)
		case req.ReleaseContinuationPoints:
			dst = appendBrowseFailure(dst, ua.Good) // no references, no point
		case cursor.node != nil && !x.rights.May(cursor.node, ua.PermissionTypeBrowse):
			// The user, or its rights, may be others than when the browse began.
			dst = appendBrowseFailure(dst, x.rights.Check(cursor.node, ua.PermissionTypeBrowse))
		case len(cursor.extra) > 0 && cursor.filter.Rights != x.rights:
			// What a manager told was for somebody else, and it is not asked again.
			dst = appendBrowseFailure(dst, ua.BadContinuationPointInvalid)
		default:
			cursor.filter.Rights = x.rights
			dst = x.session.appendBrowse(dst, cursor)
		}
		if len(dst)-start > most {
			x.session.releasePoints(first)
			x.batch.Drop(dst)
			x.fault(ua.BadResponseTooLarge)
			return
		}
	}
	if !x.end(append(dst, 0xFF, 0xFF, 0xFF, 0xFF)) { // no diagnostic infos
		x.session.releasePoints(first)
	}
}
