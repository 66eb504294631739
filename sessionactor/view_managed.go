package sessionactor

import (
	"context"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// browsesManaged reports whether a manager has something to say about one of
// the nodes.
func (s *Service) browsesManaged(req *ua.BrowseRequest) bool {
	for i := range req.NodesToBrowse {
		if s.browser(req.NodesToBrowse[i].NodeID) != nil {
			return true
		}
	}
	return false
}

func (s *Service) browser(node ua.NodeID) addrspace.Browser {
	browser, _ := s.config.Space.Manager(node.Namespace()).(addrspace.Browser)
	return browser
}

// browseLater runs a Browse with managers on the worker pool.
func (x *exchange) browseLater() {
	req := new(ua.BrowseRequest)
	if code := x.decodeCopy(req); code != ua.Good {
		x.fault(code)
		return
	}
	r := x.deferCall()
	x.later(r, func(ctx context.Context) {
		first := r.session.firstPoint()
		dst := r.service.appendManaged(ctx, r.begin(id.BrowseResponse_Encoding_DefaultBinary), r, req)
		if dst == nil {
			r.session.releasePoints(first)
			r.fault(ua.BadResponseTooLarge)
			return
		}
		r.respondEncoded(append(dst, 0xFF, 0xFF, 0xFF, 0xFF)) // no diagnostic infos
	})
}

// appendManaged asks each manager once, and appends the results in the order of
// the request. The result is nil when they are too large for a response.
func (s *Service) appendManaged(ctx context.Context, dst []byte, r *deferred, req *ua.BrowseRequest) []byte {
	answers := s.askBrowsers(ctx, req)
	dst = codec.AppendInt32(dst, int32(len(req.NodesToBrowse)))
	most := r.channel.MaxResponse()
	for i := range req.NodesToBrowse {
		rights := r.session.rights()
		c, code := s.cursor(rights, &req.NodesToBrowse[i], req.RequestedMaxReferencesPerNode)
		if answer := answers[i]; answer != nil {
			switch {
			case code == ua.BadNodeIDUnknown && answer.Result == ua.Good:
				// The node is the manager's alone.
				c, code = s.filterOnly(rights, &req.NodesToBrowse[i], req.RequestedMaxReferencesPerNode)
			case code == ua.BadNodeIDUnknown:
				code = answer.Result
			}
			if code == ua.Good && answer.Result == ua.Good {
				c.extra = s.filterExtra(answer.References, &c)
			}
		}
		if code != ua.Good {
			dst = appendBrowseFailure(dst, code)
			continue
		}
		if dst = r.session.appendBrowse(dst, &c); len(dst) > most {
			return nil
		}
	}
	return dst
}

func (s *Service) askBrowsers(ctx context.Context, req *ua.BrowseRequest) []*addrspace.BrowseItem {
	answers := make([]*addrspace.BrowseItem, len(req.NodesToBrowse))
	batches := make(map[uint16][]int)
	for i := range req.NodesToBrowse {
		if node := req.NodesToBrowse[i].NodeID; s.browser(node) != nil {
			batches[node.Namespace()] = append(batches[node.Namespace()], i)
		}
	}
	for ns, indices := range batches {
		browser, ok := s.config.Space.Manager(ns).(addrspace.Browser)
		if !ok {
			continue // unmounted meanwhile
		}
		items := make([]addrspace.BrowseItem, len(indices))
		for k, i := range indices {
			items[k] = addrspace.BrowseItem{NodeID: req.NodesToBrowse[i].NodeID, Result: ua.BadNodeIDUnknown}
		}
		failed := ua.Good
		s.guard("Browse", ua.NodeID{}, &failed, func() { browser.Browse(ctx, items) })
		for k, i := range indices {
			if failed != ua.Good {
				items[k].References, items[k].Result = nil, failed
			}
			answers[i] = &items[k]
		}
	}
	return answers
}

// filterOnly is cursor for a node that is not in the space.
func (s *Service) filterOnly(rights *addrspace.Rights, d *ua.BrowseDescription, requested uint32) (c cursor, code ua.StatusCode) {
	if code := rights.CheckAbsent(d.NodeID.Namespace(), ua.PermissionTypeBrowse); code != ua.Good {
		return c, code
	}
	types, ok := s.config.Space.ReferenceTypes(d.ReferenceTypeID, d.IncludeSubtypes)
	if !ok {
		return c, ua.BadReferenceTypeIDInvalid
	}
	return cursor{filter: filterOf(rights, d, types), most: s.pageSize(requested)}, ua.Good
}

// filterExtra keeps the references of a manager that fit, with the fields that
// were asked for.
func (s *Service) filterExtra(refs []ua.ReferenceDescription, c *cursor) []ua.ReferenceDescription {
	var kept []ua.ReferenceDescription
	for _, ref := range refs {
		if c.filter.Direction != ua.BrowseDirectionBoth && ref.IsForward != (c.filter.Direction == ua.BrowseDirectionForward) {
			continue
		}
		if t := s.config.Space.Node(ref.ReferenceTypeID); t == nil || !c.filter.Types.Has(t) {
			continue
		}
		if !c.filter.WantsClass(ref.NodeClass) || !s.mayBrowse(c.filter.Rights, &ref.NodeID) {
			continue
		}
		kept = append(kept, mask(ref, c.filter.Mask))
	}
	return kept
}

// mayBrowse reports whether the target of a manager's reference may be seen.
func (s *Service) mayBrowse(rights *addrspace.Rights, target *ua.ExpandedNodeID) bool {
	if target.ServerIndex != 0 || target.NamespaceURI != "" {
		return true // of another server
	}
	if node := s.config.Space.Node(target.NodeID); node != nil {
		return rights.May(node, ua.PermissionTypeBrowse)
	}
	return rights.CheckAbsent(target.NodeID.Namespace(), ua.PermissionTypeBrowse) == ua.Good
}

// mask clears the fields that were not asked for.
func mask(ref ua.ReferenceDescription, m ua.BrowseResultMask) ua.ReferenceDescription {
	if m&ua.BrowseResultMaskReferenceTypeID == 0 {
		ref.ReferenceTypeID = ua.NodeID{}
	}
	ref.IsForward = ref.IsForward && m&ua.BrowseResultMaskIsForward != 0
	if m&ua.BrowseResultMaskBrowseName == 0 {
		ref.BrowseName = ua.QualifiedName{}
	}
	if m&ua.BrowseResultMaskDisplayName == 0 {
		ref.DisplayName = ua.LocalizedText{}
	}
	if m&ua.BrowseResultMaskNodeClass == 0 {
		ref.NodeClass = 0
	}
	if m&ua.BrowseResultMaskTypeDefinition == 0 {
		ref.TypeDefinition = ua.ExpandedNodeID{}
	}
	return ref
}
