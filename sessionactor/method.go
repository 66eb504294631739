package sessionactor

import (
	"context"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
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
		dst := x.begin(id.CallResponse_Encoding_DefaultBinary, ua.Good)
		dst, fits := x.service.appendCalls(ctx, x.session, dst, req, x.channel.MaxResponse(), x.overtime)
		if !fits {
			x.batch.Drop(dst)
			x.fault(ua.BadResponseTooLarge)
			return
		}
		x.end(append(dst, 0xFF, 0xFF, 0xFF, 0xFF)) // no diagnostic infos
		return
	}
	r := x.deferCall()
	x.later(r, func(ctx context.Context) {
		dst := r.begin(id.CallResponse_Encoding_DefaultBinary)
		dst, fits := r.service.appendCalls(ctx, r.session, dst, req, r.channel.MaxResponse(), nil)
		if !fits {
			r.fault(ua.BadResponseTooLarge)
			return
		}
		r.respondEncoded(append(dst, 0xFF, 0xFF, 0xFF, 0xFF)) // no diagnostic infos
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

// appendCalls calls each method and appends the results; what a manager answers
// for it gets in one batch for each run of consecutive calls, so that the order
// is kept. When the results are larger than a response may be, it calls no
// further and returns false: nobody would learn of the rest. Before each call it
// asks over, if there is one, whether the time is up, and the session what it may
// do: a right that the one call takes away is gone for the next.
func (s *Service) appendCalls(
	ctx context.Context, session *Session, dst []byte, req *ua.CallRequest, most int, over func(operation, every int) bool,
) (_ []byte, fits bool) {
	start := len(dst)
	dst = codec.AppendInt32(dst, int32(len(req.MethodsToCall)))
	for i := 0; i < len(req.MethodsToCall); {
		if len(dst)-start > most {
			return dst, false
		}
		code := ua.StatusOf(ctx.Err())
		if over != nil && over(i, 1) {
			code = ua.BadTimeout
		}
		if code != ua.Good {
			result := ua.CallMethodResult{StatusCode: code}
			dst = result.AppendTo(dst)
			i++
			continue
		}
		m := &req.MethodsToCall[i]
		caller := s.methodManager(m)
		if caller == nil {
			u := s.auditCalls(ctx, req.MethodsToCall[i:i+1])
			result := s.callOne(ctx, session.rights(), m)
			u.called(result)
			dst = result.AppendTo(dst)
			i++
			continue
		}
		end := i + 1
		for end < len(req.MethodsToCall) && req.MethodsToCall[end].ObjectID.Namespace() == m.ObjectID.Namespace() &&
			s.methodManager(&req.MethodsToCall[end]) != nil {
			end++
		}
		u := s.auditCalls(ctx, req.MethodsToCall[i:end])
		results := s.callManaged(ctx, session.rights(), caller, req.MethodsToCall[i:end])
		u.called(results...)
		for k := 0; k < len(results) && len(dst)-start <= most; k++ {
			dst = results[k].AppendTo(dst)
		}
		i = end
	}
	return dst, len(dst)-start <= most
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

func (s *Service) callOne(ctx context.Context, rights *addrspace.Rights, m *ua.CallMethodRequest) (result ua.CallMethodResult) {
	node, run, code := s.config.Space.FindMethod(m.ObjectID, m.MethodID)
	if node != nil {
		denied := s.checkCall(rights, m, node)
		switch {
		case denied != ua.Good:
			code = denied
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

// checkCall checks the permission to call a method, which both the object and the
// method have to give (Part 3, 8.55). What the client named counts as well as what
// runs for it, which may be the method of the same name at the object itself.
func (s *Service) checkCall(rights *addrspace.Rights, m *ua.CallMethodRequest, method *addrspace.Node) ua.StatusCode {
	for _, node := range [...]*addrspace.Node{s.config.Space.Node(m.ObjectID), s.config.Space.Node(m.MethodID), method} {
		if node == nil {
			continue // removed meanwhile
		}
		if code := rights.Check(node, ua.PermissionTypeCall); code != ua.Good {
			return code
		}
	}
	return ua.Good
}

func (s *Service) callManaged(
	ctx context.Context, rights *addrspace.Rights, caller addrspace.Caller, calls []ua.CallMethodRequest,
) []ua.CallMethodResult {
	results := make([]ua.CallMethodResult, len(calls))
	if code := rights.CheckAbsent(calls[0].ObjectID.Namespace(), ua.PermissionTypeCall); code != ua.Good {
		// They are all of one namespace, whose default is what holds for them.
		for i := range results {
			results[i].StatusCode = code
		}
		return results
	}
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
	return results
}
