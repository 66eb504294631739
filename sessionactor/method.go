package sessionactor

import (
	"context"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// call serves Call (Part 4, 5.12.2). Methods run on the worker pool, one after
// the other in the order of the request, unless all of them are inline.
func call(x *exchange) {
	req := new(ua.CallRequest)
	if code := x.decodeCopy(req); code != ua.Good {
		x.fault(code)
		return
	}
	switch {
	case len(req.MethodsToCall) == 0:
		x.fault(ua.BadNothingToDo)
		return
	case len(req.MethodsToCall) > x.service.limits.MethodsPerCall:
		x.fault(ua.BadTooManyOperations)
		return
	}
	if x.service.callsInline(req) {
		ctx := context.WithValue(x.service.base, callerKey{}, x.caller())
		resp := &ua.CallResponse{Results: x.service.callAll(ctx, req)}
		x.respond(resp, &resp.ResponseHeader)
		return
	}
	r := x.deferCall()
	x.later(r, func(ctx context.Context) {
		resp := &ua.CallResponse{Results: r.service.callAll(ctx, req)}
		r.respond(resp, &resp.ResponseHeader)
	})
}

func (s *Service) callsInline(req *ua.CallRequest) bool {
	for i := range req.MethodsToCall {
		m := &req.MethodsToCall[i]
		if s.config.Space.Manager(m.ObjectID.Namespace()) != nil {
			return false
		}
		_, run, code := s.config.Space.FindMethod(m.ObjectID, m.MethodID)
		if code == ua.Good && !run.Inline {
			return false
		}
	}
	return true
}

// callAll calls each method; what a manager answers for it gets in one batch
// for each run of consecutive calls, so that the order is kept.
func (s *Service) callAll(ctx context.Context, req *ua.CallRequest) []ua.CallMethodResult {
	results := make([]ua.CallMethodResult, len(req.MethodsToCall))
	for i := 0; i < len(req.MethodsToCall); {
		if ctx.Err() != nil {
			results[i].StatusCode = ua.StatusOf(ctx.Err())
			i++
			continue
		}
		m := &req.MethodsToCall[i]
		caller := s.methodManager(m)
		if caller == nil {
			results[i] = s.callOne(ctx, m)
			i++
			continue
		}
		end := i + 1
		for end < len(req.MethodsToCall) && req.MethodsToCall[end].ObjectID.Namespace() == m.ObjectID.Namespace() &&
			s.methodManager(&req.MethodsToCall[end]) != nil {
			end++
		}
		s.callManaged(ctx, caller, req.MethodsToCall[i:end], results[i:end])
		i = end
	}
	return results
}

// methodManager returns the manager that answers for an object which is not in
// the space.
func (s *Service) methodManager(m *ua.CallMethodRequest) addrspace.Caller {
	if s.config.Space.Node(m.ObjectID) != nil {
		return nil
	}
	caller, _ := s.config.Space.Manager(m.ObjectID.Namespace()).(addrspace.Caller)
	return caller
}

func (s *Service) callOne(ctx context.Context, m *ua.CallMethodRequest) (result ua.CallMethodResult) {
	node, run, code := s.config.Space.FindMethod(m.ObjectID, m.MethodID)
	if node != nil {
		switch {
		case !node.Executable():
			code = ua.BadNotExecutable
		case !node.UserExecutable():
			code = ua.BadUserAccessDenied
		}
	}
	if code != ua.Good {
		result.StatusCode = code
		return result
	}
	code, inputResults := s.config.Space.CheckArguments(node.InputArguments(), m.InputArguments)
	if code != ua.Good {
		result.StatusCode, result.InputArgumentResults = code, inputResults
		return result
	}
	c := addrspace.Call{Object: m.ObjectID, Method: m.MethodID, Inputs: m.InputArguments}
	s.guard("method", node.ID(), &code, func() { code = ua.StatusOf(run.Func(ctx, &c)) })
	result.StatusCode = code
	if code.IsBad() {
		if code.Code() == ua.BadInvalidArgument {
			result.InputArgumentResults = c.InputResults
		}
		return result
	}
	result.OutputArguments = c.Outputs
	return result
}

func (s *Service) callManaged(ctx context.Context, caller addrspace.Caller, calls []ua.CallMethodRequest, results []ua.CallMethodResult) {
	items := make([]addrspace.CallItem, len(calls))
	for i := range calls {
		items[i] = addrspace.CallItem{
			Call:   addrspace.Call{Object: calls[i].ObjectID, Method: calls[i].MethodID, Inputs: calls[i].InputArguments},
			Result: ua.BadNodeIDUnknown,
		}
	}
	failed := ua.Good
	s.guard("Call", calls[0].ObjectID, &failed, func() { caller.Call(ctx, items) })
	for i := range items {
		results[i] = ua.CallMethodResult{
			StatusCode: items[i].Result, OutputArguments: items[i].Outputs, InputArgumentResults: items[i].InputResults,
		}
		if failed != ua.Good {
			results[i] = ua.CallMethodResult{StatusCode: failed}
		}
	}
}
