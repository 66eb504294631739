package sessionactor

import (
	"slices"

	"github.com/uahive/uahive/codec/ua"
)

// registerNodes serves RegisterNodes (Part 4, 5.9.5). Nodes are found by their
// ids at no cost that an alias could save, so the ids come back as they are.
// The number is counted, as a client's promise to unregister is not relied on.
func registerNodes(x *exchange) {
	var req ua.RegisterNodesRequest
	if code := x.decode(&req); code != ua.Good {
		x.fault(code)
		return
	}
	switch {
	case len(req.NodesToRegister) == 0:
		x.fault(ua.BadNothingToDo)
		return
	case len(req.NodesToRegister) > x.service.limits.NodesPerRegister:
		x.fault(ua.BadTooManyOperations)
		return
	case slices.ContainsFunc(req.NodesToRegister, ua.NodeID.IsNull):
		x.fault(ua.BadNodeIDInvalid)
		return
	case !x.session.register(len(req.NodesToRegister)):
		x.fault(ua.BadTooManyOperations)
		return
	}
	resp := &ua.RegisterNodesResponse{RegisteredNodeIDs: req.NodesToRegister}
	x.respond(resp, &resp.ResponseHeader)
}

// unregisterNodes serves UnregisterNodes (Part 4, 5.9.6). Ids that were never
// registered are ignored, as the clause says.
func unregisterNodes(x *exchange) {
	var req ua.UnregisterNodesRequest
	if code := x.decode(&req); code != ua.Good {
		x.fault(code)
		return
	}
	switch {
	case len(req.NodesToUnregister) == 0:
		x.fault(ua.BadNothingToDo)
		return
	case len(req.NodesToUnregister) > x.service.limits.NodesPerRegister:
		x.fault(ua.BadTooManyOperations)
		return
	}
	x.session.unregister(len(req.NodesToUnregister))
	resp := new(ua.UnregisterNodesResponse)
	x.respond(resp, &resp.ResponseHeader)
}

func (s *Session) register(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.registered+n > s.service.limits.RegisteredNodes {
		return false
	}
	s.registered += n
	return true
}

func (s *Session) unregister(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registered = max(0, s.registered-n)
}
