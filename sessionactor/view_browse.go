package sessionactor

import (
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// browse serves Browse (Part 4, 5.9.2). References in memory are encoded
// straight into the response; a request that touches a node of a manager goes
// to the worker pool.
func browse(x *exchange) {
	req := &x.browse
	if code := x.decode(req); code != ua.Good {
		x.fault(code)
		return
	}
	if code := x.service.checkBrowse(x.rights, req); code != ua.Good {
		x.fault(code)
		return
	}
	if x.service.browsesManaged(req) {
		x.browseLater()
		return
	}
	dst := x.begin(id.BrowseResponse_Encoding_DefaultBinary, ua.Good)
	dst = codec.AppendInt32(dst, int32(len(req.NodesToBrowse)))
	start, most := len(dst), x.channel.MaxResponse()
	first := x.session.firstPoint()
	for i := range req.NodesToBrowse {
		cursor, code := x.service.cursor(x.rights, &req.NodesToBrowse[i], req.RequestedMaxReferencesPerNode)
		if x.overtime(i, 8) {
			code = ua.BadTimeout
		}
		if code != ua.Good {
			dst = appendBrowseFailure(dst, code)
			continue
		}
		dst = x.session.appendBrowse(dst, &cursor)
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

func (s *Service) checkBrowse(rights *addrspace.Rights, req *ua.BrowseRequest) ua.StatusCode {
	if view := &req.View; !view.ViewID.IsNull() {
		node := s.config.Space.Node(view.ViewID)
		if node == nil || node.Class() != ua.NodeClassView || !rights.May(node, ua.PermissionTypeBrowse) {
			return ua.BadViewIDUnknown
		}
		if view.Timestamp != 0 && view.ViewVersion != 0 {
			return ua.BadViewParameterMismatch
		}
	}
	switch {
	case len(req.NodesToBrowse) == 0:
		return ua.BadNothingToDo
	case len(req.NodesToBrowse) > s.limits.NodesPerBrowse:
		return ua.BadTooManyOperations
	}
	return ua.Good
}

// cursor is where a browse of one node stands. It is what a continuation point
// keeps: a snapshot of the references, so that paging sees neither doubles nor
// holes while nodes come and go.
type cursor struct {
	node   *addrspace.Node // nil where only a manager knows it
	refs   addrspace.Refs
	extra  []ua.ReferenceDescription // of a manager, after the node's own
	pos    int                       // in refs, then in extra
	filter addrspace.Filter
	most   int
}

// cursor checks a BrowseDescription and starts at its first reference.
func (s *Service) cursor(rights *addrspace.Rights, d *ua.BrowseDescription, requested uint32) (c cursor, code ua.StatusCode) {
	if d.BrowseDirection < ua.BrowseDirectionForward || d.BrowseDirection > ua.BrowseDirectionBoth {
		return c, ua.BadBrowseDirectionInvalid
	}
	node := s.config.Space.Node(d.NodeID)
	if node == nil {
		return c, ua.BadNodeIDUnknown
	}
	types, ok := s.config.Space.ReferenceTypes(d.ReferenceTypeID, d.IncludeSubtypes)
	if !ok {
		return c, ua.BadReferenceTypeIDInvalid
	}
	if code := rights.Check(node, ua.PermissionTypeBrowse); code != ua.Good {
		return c, code
	}
	return cursor{node: node, refs: node.References(), filter: filterOf(rights, d, types), most: s.pageSize(requested)}, ua.Good
}

func filterOf(rights *addrspace.Rights, d *ua.BrowseDescription, types *addrspace.ReferenceTypes) addrspace.Filter {
	return addrspace.Filter{
		Rights:    rights,
		Direction: d.BrowseDirection, Types: types,
		Classes: ua.NodeClass(d.NodeClassMask), Mask: ua.BrowseResultMask(d.ResultMask),
	}
}

func (s *Service) pageSize(requested uint32) int {
	most := s.limits.ReferencesPerNode
	if requested > 0 && int64(requested) < int64(most) {
		most = int(requested)
	}
	return most
}

// appendPage appends the next references that pass the filter, at most so many
// as a page has, and returns how many they are.
func (c *cursor) appendPage(dst []byte) (_ []byte, count int) {
	if c.pos < c.refs.Len() {
		dst, c.pos, count = c.refs.AppendTo(dst, c.pos, &c.filter, c.most)
	}
	for ; count < c.most && c.more(); count++ {
		dst = c.extra[c.pos-c.refs.Len()].AppendTo(dst)
		c.pos++
	}
	return dst, count
}

// more moves on to the next reference that passes, and reports whether there is
// one.
func (c *cursor) more() bool {
	c.pos = c.refs.Skip(c.pos, &c.filter)
	return c.pos < c.refs.Len()+len(c.extra)
}

// appendBrowse appends one BrowseResult (Part 4, 7.6). When references remain,
// it keeps a continuation point for them.
func (s *Session) appendBrowse(dst []byte, c *cursor) []byte {
	statusAt := len(dst)
	dst = codec.AppendUint32(dst, uint32(ua.Good))
	pointAt := len(dst)
	dst = codec.AppendInt32(dst, -1)
	countAt := len(dst)
	dst = codec.AppendInt32(dst, 0)
	dst, count := c.appendPage(dst)
	if count == c.most && c.more() {
		point, code := s.keepPoint(c)
		if code != ua.Good {
			return appendBrowseFailure(dst[:statusAt], code)
		}
		// The point goes in front of the references.
		dst = append(dst, point[:]...)
		copy(dst[pointAt+4+len(point):], dst[countAt:len(dst)-len(point)])
		copy(dst[pointAt+4:], point[:])
		patchCount(dst, pointAt, len(point))
		countAt += len(point)
	}
	patchCount(dst, countAt, count)
	return dst
}

func appendBrowseFailure(dst []byte, code ua.StatusCode) []byte {
	dst = codec.AppendUint32(dst, uint32(code))
	dst = codec.AppendInt32(dst, -1)           // continuation point
	return append(dst, 0xFF, 0xFF, 0xFF, 0xFF) // references
}
