package sessionactor

import (
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// translateBrowsePaths serves TranslateBrowsePathsToNodeIds (Part 4, 5.9.4).
func translateBrowsePaths(x *exchange) {
	var req ua.TranslateBrowsePathsToNodeIDsRequest
	if code := x.decode(&req); code != ua.Good {
		x.fault(code)
		return
	}
	switch {
	case len(req.BrowsePaths) == 0:
		x.fault(ua.BadNothingToDo)
		return
	case len(req.BrowsePaths) > x.service.limits.NodesPerTranslate:
		x.fault(ua.BadTooManyOperations)
		return
	}
	dst := x.begin(id.TranslateBrowsePathsToNodeIdsResponse_Encoding_DefaultBinary, ua.Good)
	dst = codec.AppendInt32(dst, int32(len(req.BrowsePaths)))
	start, most := len(dst), x.channel.MaxResponse()
	for i := range req.BrowsePaths {
		result := ua.BrowsePathResult{StatusCode: ua.BadTimeout}
		if !x.overtime(i, 1) {
			result.Targets, result.StatusCode = x.service.follow(x.rights, &req.BrowsePaths[i])
		}
		if dst = result.AppendTo(dst); len(dst)-start > most {
			x.batch.Drop(dst)
			x.fault(ua.BadResponseTooLarge)
			return
		}
	}
	x.end(append(dst, 0xFF, 0xFF, 0xFF, 0xFF)) // no diagnostic infos
}

// follow walks one relative path, breadth first and without recursion. The
// nodes reached at each step are a set, and their number is bounded, so that a
// path cannot multiply by bouncing forward and back. What the user may not browse
// is not there for it, at no step.
func (s *Service) follow(rights *addrspace.Rights, path *ua.BrowsePath) ([]ua.BrowsePathTarget, ua.StatusCode) {
	elements := path.RelativePath.Elements
	switch {
	case len(elements) == 0:
		return nil, ua.BadNothingToDo
	case len(elements) > s.limits.PathElements:
		return nil, ua.BadTooManyOperations
	}
	start := s.config.Space.Node(path.StartingNode)
	if start == nil {
		return nil, ua.BadNodeIDUnknown
	}
	if code := rights.Check(start, ua.PermissionTypeBrowse); code != ua.Good {
		return nil, code
	}
	for i := range elements {
		// A RelativePath may end without a name, but not in this service
		// (Part 4, 5.9.4.2).
		if elements[i].TargetName.Name == "" {
			return nil, ua.BadBrowseNameInvalid
		}
	}
	reached := []*addrspace.Node{start}
	for i := range elements {
		next, code := s.step(rights, reached, &elements[i])
		if code != ua.Good {
			return nil, code
		}
		reached = next
	}
	targets := make([]ua.BrowsePathTarget, len(reached))
	for i, node := range reached {
		targets[i] = ua.BrowsePathTarget{
			TargetID:           ua.ExpandedNodeID{NodeID: node.ID()},
			RemainingPathIndex: ^uint32(0), // the whole path was processed
		}
	}
	return targets, ua.Good
}

func (s *Service) step(rights *addrspace.Rights, from []*addrspace.Node, e *ua.RelativePathElement) ([]*addrspace.Node, ua.StatusCode) {
	types, ok := s.config.Space.ReferenceTypes(e.ReferenceTypeID, e.IncludeSubtypes)
	if !ok {
		return nil, ua.BadNoMatch
	}
	direction := ua.BrowseDirectionForward
	if e.IsInverse {
		direction = ua.BrowseDirectionInverse
	}
	var found []*addrspace.Node
	seen := make(map[*addrspace.Node]struct{})
	for _, node := range from {
		for target := range node.Named(e.TargetName, direction, types) {
			if _, dup := seen[target]; dup || !rights.May(target, ua.PermissionTypeBrowse) {
				continue
			}
			if len(found) >= s.limits.PathTargets {
				return nil, ua.BadTooManyMatches
			}
			seen[target] = struct{}{}
			found = append(found, target)
		}
	}
	if len(found) == 0 {
		return nil, ua.BadNoMatch
	}
	return found, ua.Good
}
